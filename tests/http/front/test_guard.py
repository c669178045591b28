"""Requests that are none: each is refused once, with a problem document, and its connection ends."""

import json
import re
import select
import socket
import time

import numpy as np
import pytest
from arrays import write_node, write_values
from client import DEADLINE_S, memory_bytes, wait_until
from live import RawClient
from slices import as_npy

KEY = b"/zarr/codecs/zarr.json"
HOST = b"Host: a\r\n"
TRIES_N = 20
GET = b"GET /livez HTTP/1.1\r\n"
POST = b"POST /v1/datasets/codecs/slices/gzip_1 HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
BODY = b'{"slice": "0:1", "format": "json"}'
NEXT = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
ANY = (400,)


def get(target):
    return b"GET " + target + b" HTTP/1.1\r\nHost: a\r\n\r\n"


def with_fields(*lines):
    return GET + HOST + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


def chunked(body):
    return POST + b"Transfer-Encoding: chunked\r\n\r\n" + body


def with_length(value, body=b"hello"):
    return POST + b"Content-Length: " + value + b"\r\n\r\n" + body


FRAMING = {
    # the request line
    "no version": (b"GET /livez\r\n\r\n", ANY),
    "nothing but a method": (b"GET\r\n\r\n", ANY),
    "no method": (b" /livez HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "no target": (b"GET  HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "two spaces before the target": (b"GET  /livez HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "two spaces after the target": (b"GET /livez  HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "a tab for a space": (b"GET\t/livez\tHTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "a space in the target": (b"GET /live z HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "a space after the version": (b"GET /livez HTTP/1.1 \r\nHost: a\r\n\r\n", ANY),
    "a space before the request line": (b" GET /livez HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "a method that is no token": (b"G(T /livez HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "a NUL in the method": (b"G\0ET /livez HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "HTTP/0.9": (b"GET /livez HTTP/0.9\r\nHost: a\r\n\r\n", ANY),
    "HTTP/2.0": (b"GET /livez HTTP/2.0\r\nHost: a\r\n\r\n", ANY),
    "HTTP/1.2": (b"GET /livez HTTP/1.2\r\nHost: a\r\n\r\n", ANY),
    "HTTP/1.10": (b"GET /livez HTTP/1.10\r\nHost: a\r\n\r\n", ANY),
    "HTTP/11": (b"GET /livez HTTP/11\r\nHost: a\r\n\r\n", ANY),
    "http/1.1": (b"GET /livez http/1.1\r\nHost: a\r\n\r\n", ANY),
    "HTTPS/1.1": (b"GET /livez HTTPS/1.1\r\nHost: a\r\n\r\n", ANY),
    "HTTP/1.1 and more": (b"GET /livez HTTP/1.1x\r\nHost: a\r\n\r\n", ANY),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ANY),
    "the beginning of TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64), ANY),
    "an empty line without CR before": (b"\n" + GET + HOST + b"\r\n", ANY),
    "five empty lines before": (b"\r\n" * 5 + GET + HOST + b"\r\n", ANY),
    "a CR alone before": (b"\r" + GET + HOST + b"\r\n", ANY),
    # targets
    "a fragment": (get(b"/livez#x"), ANY),
    "a relative target": (get(b"livez"), ANY),
    "a relative target with dots": (get(b"../livez"), ANY),
    "an asterisk to GET": (get(b"*"), ANY),
    "an asterisk and more to OPTIONS": (b"OPTIONS *x HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "an authority to CONNECT": (b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", ANY),
    "another scheme": (get(b"ftp://a/livez"), ANY),
    "a scheme without slashes": (get(b"http:livez"), ANY),
    "an absolute target without a host": (get(b"http:///livez"), ANY),
    "an absolute target with a user": (get(b"http://me@a/livez"), ANY),
    "an absolute target with a bad port": (get(b"http://a:8x/livez"), ANY),
    "a control character in the target": (get(b"/livez\x01"), ANY),
    "a NUL in the target": (get(b"/livez\0.html"), ANY),
    "a DEL in the target": (get(b"/livez\x7f"), ANY),
    "a bare CR in the target": (get(b"/livez\r"), ANY),
    "a bare LF in the target": (get(b"/livez\n"), ANY),
    "a tab in the target": (get(b"/livez\tx"), ANY),
    # the ends of lines
    "LF alone everywhere": (b"GET /livez HTTP/1.1\nHost: a\n\n", ANY),
    "LF alone after the request line": (b"GET /livez HTTP/1.1\nHost: a\r\n\r\n", ANY),
    "LF alone after a field": (GET + b"Host: a\n\r\n", ANY),
    "LF alone at the end of the head": (GET + b"Host: a\r\n\n", ANY),
    "CR alone after the request line": (b"GET /livez HTTP/1.1\rHost: a\r\n\r\n", ANY),
    "CR alone after a field": (GET + b"Host: a\rX: y\r\n\r\n", ANY),
    "CR CR LF": (GET + b"Host: a\r\r\n\r\n", ANY),
    # fields
    "a space before the colon": (with_fields(b"X : y"), ANY),
    "a tab before the colon": (with_fields(b"X\t: y"), ANY),
    "a space before the colon of Content-Length": (POST + b"Content-Length : 5\r\n\r\nhello", ANY),
    "a space before the colon of Transfer-Encoding": (POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", ANY),
    "a field continued on the next line": (with_fields(b"X: y", b" z"), ANY),
    "a field continued after a tab": (with_fields(b"X: y", b"\tz"), ANY),
    "a space before the first field": (GET + b" Host: a\r\n\r\n", ANY),
    "a continued Transfer-Encoding": (POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", ANY),
    "a line without a colon": (with_fields(b"nonsense"), ANY),
    "a field without a name": (with_fields(b": y"), ANY),
    "a name with a space": (with_fields(b"X Y: z"), ANY),
    "a name with parentheses": (with_fields(b"X(Y): z"), ANY),
    "a name with a slash": (with_fields(b"X/Y: z"), ANY),
    "a name with a quote": (with_fields(b'"X": z'), ANY),
    "a name with a NUL": (with_fields(b"X\0: z"), ANY),
    "a name that is not ASCII": (with_fields("é: z".encode()), ANY),
    "a control character in a value": (with_fields(b"X: a\x01b"), ANY),
    "a NUL in a value": (with_fields(b"X: a\0b"), ANY),
    "a NUL far inside a value": (with_fields(b"X: " + b"a" * 33 + b"\0b"), ANY),
    "a DEL in a value": (with_fields(b"X: abcdefghij\x7f"), ANY),
    "a vertical tab in a value": (with_fields(b"X: a\x0bb"), ANY),
    "an escape in a value": (with_fields(b"X: \x1b[31m"), ANY),
    "a NUL after Transfer-Encoding": (POST + b"Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n", ANY),
    # Host
    "no Host": (GET + b"\r\n", ANY),
    "no Host but other fields": (GET + b"Accept: */*\r\n\r\n", ANY),
    "two Hosts": (with_fields(b"Host: b"), ANY),
    "the same Host twice": (with_fields(b"Host: a"), ANY),
    "a Host with a user": (GET + b"Host: me@a\r\n\r\n", ANY),
    "a Host with a path": (GET + b"Host: a/b\r\n\r\n", ANY),
    "a Host with a query": (GET + b"Host: a?b\r\n\r\n", ANY),
    "a Host with a fragment": (GET + b"Host: a#b\r\n\r\n", ANY),
    "a Host with a scheme": (GET + b"Host: http://a\r\n\r\n", ANY),
    "a Host with a space": (GET + b"Host: a b\r\n\r\n", ANY),
    "a Host with a bad port": (GET + b"Host: a:8o\r\n\r\n", ANY),
    "a Host with two ports": (GET + b"Host: a:80:80\r\n\r\n", ANY),
    "a Host with half a bracket": (GET + b"Host: [::1\r\n\r\n", ANY),
    "a Host with letters after the bracket": (GET + b"Host: [::1]a\r\n\r\n", ANY),
    # Content-Length
    "two lengths": (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", ANY),
    "the same length twice": (POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", ANY),
    "a list of lengths": (with_length(b"5, 5"), ANY),
    "a length with a plus": (with_length(b"+5"), ANY),
    "a length with a minus": (with_length(b"-5"), ANY),
    "a length in hexadecimal": (with_length(b"0x5"), ANY),
    "a length with a fraction": (with_length(b"5.0"), ANY),
    "a length with an exponent": (with_length(b"5e0"), ANY),
    "a length with a space inside": (with_length(b"1 0"), ANY),
    "a length with an underscore": (with_length(b"1_0"), ANY),
    "a length that is a word": (with_length(b"five"), ANY),
    "an empty length": (with_length(b""), ANY),
    "a length of 2^64": (with_length(b"18446744073709551616"), ANY),
    "a length of 2^64 + 5": (with_length(b"18446744073709551621"), ANY),
    "a length of 2^64 - 1": (with_length(b"18446744073709551615"), (413,)),
    "a length that is too large": (with_length(b"1048577"), (413,)),
    "a length in quotes": (with_length(b'"5"'), ANY),
    # Transfer-Encoding
    "a length and chunks": (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ANY),
    "chunks and a length": (POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", ANY),
    "a length of 0 and chunks": (POST + b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ANY),
    "two Transfer-Encodings": (POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ANY),
    "chunked twice": (POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", ANY),
    "gzip and chunked": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", ANY),
    "chunked and identity": (POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", ANY),
    "identity": (POST + b"Transfer-Encoding: identity\r\n\r\n", ANY),
    "an unknown coding": (POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", ANY),
    "a coding that begins as chunked": (POST + b"Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n", ANY),
    "half a coding": (POST + b"Transfer-Encoding: chunke\r\n\r\n0\r\n\r\n", ANY),
    "an empty coding": (POST + b"Transfer-Encoding:\r\n\r\n0\r\n\r\n", ANY),
    "a coding in quotes": (POST + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n', ANY),
    "a coding with a parameter": (POST + b"Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n", ANY),
    "a coding after a vertical tab": (POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", ANY),
    "chunks in HTTP/1.0": (b"POST /livez HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ANY),
    # chunks
    "a chunk without a size": (chunked(b"\r\nhello\r\n0\r\n\r\n"), ANY),
    "a size that is no number": (chunked(b"xyz\r\nhello\r\n0\r\n\r\n"), ANY),
    "a size with 0x": (chunked(b"0x5\r\nhello\r\n0\r\n\r\n"), ANY),
    "a size with a sign": (chunked(b"+5\r\nhello\r\n0\r\n\r\n"), ANY),
    "a negative size": (chunked(b"-5\r\nhello\r\n0\r\n\r\n"), ANY),
    "a space before the size": (chunked(b" 5\r\nhello\r\n0\r\n\r\n"), ANY),
    "a space after the size": (chunked(b"5 \r\nhello\r\n0\r\n\r\n"), ANY),
    "a size of 17 digits": (chunked(b"0" * 16 + b"5\r\nhello\r\n0\r\n\r\n"), ANY),
    "a size of 2^64 - 1": (chunked(b"ffffffffffffffff\r\nhello\r\n0\r\n\r\n"), (413,)),
    "a size of 2^64": (chunked(b"10000000000000000\r\nhello\r\n0\r\n\r\n"), ANY),
    "a size that is too large": (chunked(b"100001\r\nhello"), (413,)),
    "chunks that are too large together": (chunked(b"80000\r\n" + b"x" * 0x80000 + b"\r\n80001\r\nx"), (413,)),
    "LF alone after a size": (chunked(b"5\nhello\r\n0\r\n\r\n"), ANY),
    "CR alone after a size": (chunked(b"5\rhello\r\n0\r\n\r\n"), ANY),
    "LF alone after a chunk": (chunked(b"5\r\nhello\n0\r\n\r\n"), ANY),
    "nothing after a chunk": (chunked(b"5\r\nhello0\r\n\r\n"), ANY),
    "a chunk that is longer than its size": (chunked(b"4\r\nhello\r\n0\r\n\r\n"), ANY),
    "a chunk that is shorter than its size": (chunked(b"6\r\nhello\r\n0\r\n\r\n"), ANY),
    "LF alone in an extension": (chunked(b"5;a\nhello\r\n0\r\n\r\n"), ANY),
    "a NUL in an extension": (chunked(b"5;a=\0\r\nhello\r\n0\r\n\r\n"), ANY),
    "an extension without a name": (chunked(b"5;\r\nhello\r\n0\r\n\r\n"), ANY),
    "an extension with an open quote": (chunked(b'5;a="b\r\nhello\r\n0\r\n\r\n'), ANY),
    "too many extensions": (chunked((b"1;" + b"a" * 1000 + b"\r\nx\r\n") * 5 + b"0\r\n\r\n"), ANY),
    "a last chunk with LF alone": (chunked(b"0\n\r\n"), ANY),
    "an end of the trailers with LF alone": (chunked(b"0\r\n\n"), ANY),
    "a trailer without a colon": (chunked(b"0\r\nnonsense\r\n\r\n"), ANY),
    "a trailer with a space before the colon": (chunked(b"0\r\nX : y\r\n\r\n"), ANY),
    "a trailer continued on the next line": (chunked(b"0\r\nX: y\r\n z\r\n\r\n"), ANY),
    "a trailer that frames the request": (chunked(b"0\r\nContent-Length: 5\r\n\r\n"), ANY),
    "too many trailers": (chunked(b"0\r\n" + b"X: y\r\n" * 200 + b"\r\n"), (431,)),
    # sizes
    "a target of 9 kB": (get(b"/" + b"x" * 9000), (414,)),
    "a target of 40 kB": (get(b"/" + b"x" * 40000), (414,)),
    "an absolute target whose host is 40 kB": (get(b"http://" + b"x" * 40000 + b"/"), (414,)),
    "a method of 40 kB": (b"X" * 40000 + b" / HTTP/1.1\r\nHost: a\r\n\r\n", (431,)),
    "101 fields": (with_fields(*[b"X: y"] * 100), (431,)),
    "5,000 fields": (with_fields(*[b"X-%d: y" % i for i in range(5000)]), (431,)),
    "a value of 9 kB": (with_fields(b"X: " + b"y" * 9000), (431,)),
    "a name of 9 kB": (with_fields(b"X" * 9000 + b": y"), (431,)),
    "a thousand parameters": (get(b"/livez?" + b"a&" * 1000), (431,)),
    "a thousand cookies": (with_fields(b"Cookie: " + b"a=b; " * 1000), (431,)),
}

# The head is a request, but what it asks for cannot be: no need to end the connection.
PATHS = [b"/zarr/codecs/../codecs/zarr.json", b"/zarr/codecs/./zarr.json", b"/zarr/codecs/%2e%2e/codecs/zarr.json", b"/../etc/passwd",
         b"/zarr/codecs/%2e./zarr.json", b"/zarr/codecs/..%2fzarr.json", b"/zarr/codecs%2fzarr.json", b"/zarr/codecs/a%5cb",
         b"/zarr/codecs/a\\b", b"/zarr/codecs/zarr.json%00", b"/zarr/codecs/%00", b"/zarr/codecs/%0a", b"/zarr/codecs/%7f", b"/zarr/codecs/%",
         b"/zarr/codecs/%4", b"/zarr/codecs/%zz", b"/zarr/codecs/%ff", b"/zarr/codecs/\xff", b"/zarr/codecs/%c0%af", b"/zarr/codecs/%ed%a0%80",
         b"//livez", b"/v1//datasets", b"/v1/datasets//codecs", b"/v1/datasets/codecs/nodes//a", b"http://a/zarr/codecs/../x",
         b"/v1/limits?pretty=%zz", b"/v1/limits?pretty=%00", b"/v1/limits?x=1"]

VALID = {
    "an empty line before": (b"\r\n" + GET + HOST + b"\r\n", 200),
    "two empty lines before": (b"\r\n\r\n" + GET + HOST + b"\r\n", 200),
    "an absolute target": (get(b"http://a/livez"), 200),
    "an absolute target of https with a port": (get(b"HTTPS://a:443/livez"), 200),
    "an absolute target of an IPv6 address": (get(b"http://[::1]:80/livez"), 200),
    "an absolute target that is no path": (get(b"http://a"), 200),
    "an asterisk to OPTIONS": (b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 204),
    "an unknown method": (b"QUERY /livez HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    "an odd method": (b"!#$%&'*+-.^_`|~9 /livez HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    "names in any case": (b"GET /livez HTTP/1.1\r\nhOsT: a\r\nCONNECTION: Keep-Alive\r\n\r\n", 200),
    "tabs around values": (GET + b"Host:\t a \t\r\nX:\t\ty\t\r\n\r\n", 200),
    "no space before a value": (GET + b"Host:a\r\nX:y\r\n\r\n", 200),
    "empty values": (with_fields(b"X:", b"Y: ", b"Accept-Encoding:"), 200),
    "values that are not ASCII": (with_fields("X: é€".encode(), b"Y: \xff\xfe"), 200),
    "a Host with a port": (GET + b"Host: a.b-c_d:8080\r\n\r\n", 200),
    "a Host that is an IPv6 address": (GET + b"Host: [::1]:8080\r\n\r\n", 200),
    "an empty Host": (GET + b"Host:\r\n\r\n", 421),
    "Connection with a list": (with_fields(b"Connection: keep-alive, x"), 200),
    "90 fields": (with_fields(*[b"X-%d: y" % i for i in range(30)]), 200),
    "a field of 7 kB": (with_fields(b"X: " + b"y" * 7000), 200),
    "a target of 7 kB": (get(KEY + b"?" + b"x" * 7000), 200),
    "40 parameters": (get(KEY + b"?" + b"a=b&" * 40), 200),
    "cookies": (with_fields(b"Cookie: a=b; c=d"), 200),
    "letters that RFC 3986 forbids": (get(KEY + b"?x={a}|\"<b>^`"), 200),
    "a target with raw UTF-8": (get("/zarr/codecs/é".encode()), 404),
    "a plus and encoded letters": (get(b"/zarr/codecs/%7aarr.jso%6E"), 200),
    "runs of slashes in a key": (get(b"/zarr/codecs//zarr.json"), 200),
    "a body": (POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY, 200),
    "spaces after a length": (POST + b"Content-Length: %d \t\r\n\r\n" % len(BODY) + BODY, 200),
    "a length with zeros before": (POST + b"Content-Length: 000%d\r\n\r\n" % len(BODY) + BODY, 200),
    "a body to GET": (GET + HOST + b"Content-Length: 5\r\n\r\nhello", 200),
    "chunks": (chunked(b"5\r\n" + BODY[:5] + b"\r\n%X\r\n" % (len(BODY) - 5) + BODY[5:] + b"\r\n0\r\n\r\n"), 200),
    "a size with zeros before": (chunked(b"00000%x\r\n" % len(BODY) + BODY + b"\r\n000\r\n\r\n"), 200),
    "chunks byte by byte": (chunked(b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"), 200),
    "Transfer-Encoding in capitals": (
        POST + b"TRANSFER-ENCODING: \tCHUNKED \t\r\n\r\n%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n", 200),
    "extensions of chunks": (
        chunked(b'%x ;a;b = c; d="e;\\" f"\r\n' % len(BODY) + BODY + b"\r\n0;last\r\n\r\n"), 200),
    "trailers": (chunked(b"%x\r\n" % len(BODY) + BODY + b"\r\n0\r\nX: y\r\nX-Checksum: abc\r\n\r\n"), 200),
}


def receive(s):
    """All that comes until the other side hangs up."""
    s.settimeout(DEADLINE_S)
    received = b""
    while True:
        try:
            piece = s.recv(65536)
        except ConnectionResetError:
            return received
        if not piece:
            return received
        received += piece


def answers(received):
    """(status, headers, body) of each answer; each must have a length."""
    found = []
    while received:
        head, end, received = received.partition(b"\r\n\r\n")
        assert end, head
        status_line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", 0))
        found.append((int(re.match(r"HTTP/1\.1 (\d{3}) \S", status_line)[1]), headers, received[:length]))
        received = received[length:]
    return found


def assert_refused(answer, statuses):
    status, headers, body = answer
    assert status in statuses, body
    document = json.loads(body)
    assert headers["content-type"] == "application/problem+json" and document["status"] == status
    assert document["instance"] == headers["x-request-id"] and document["detail"]
    assert headers["connection"] == "close" and headers["access-control-allow-origin"] == "*" and "etag" in headers[
        "access-control-expose-headers"].lower() and headers["date"]


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)


@pytest.mark.parametrize("name", FRAMING)
def test_bytes_that_are_no_request_are_refused_once(server, name):
    request, statuses = FRAMING[name]
    with connect(server) as s:
        s.sendall(request + NEXT)
        s.shutdown(socket.SHUT_WR)
        [answer] = answers(receive(s))
    assert_refused(answer, statuses)
    assert server.get("/livez").status == 200


@pytest.mark.parametrize("name", FRAMING)
def test_it_is_refused_without_the_end_of_the_client(server, name):
    """The client waits: for some the fault is only there once more comes."""
    request, statuses = FRAMING[name]
    with connect(server) as s:
        s.sendall(request + NEXT)
        [answer] = answers(receive(s))
    assert_refused(answer, statuses)


@pytest.mark.parametrize("name", VALID)
def test_odd_but_valid_documents_are_served(server, name):
    request, status = VALID[name]
    with connect(server) as s:
        s.sendall(request + GET + HOST + b"Connection: close\r\n\r\n")
        first, second = answers(receive(s))
    assert (first[0], second[0]) == (status, 200)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_cannot_be_is_refused(server, path):
    with connect(server) as s:
        s.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        [(status, headers, body)] = answers(receive(s))
    assert status == 400 and json.loads(body)["code"] in ("bad_path", "unknown_parameter")


def send_in_pieces(s, pieces, every_s=0):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for piece in pieces:
        try:
            s.sendall(piece)
        except OSError:  # it has hung up already
            return
        time.sleep(every_s)


@pytest.mark.parametrize("name", [name for name, (request, _) in FRAMING.items() if len(request) < 300])
def test_byte_by_byte_the_verdict_is_the_same(server, name):
    request, statuses = FRAMING[name]
    with connect(server) as s:
        send_in_pieces(s, [bytes([byte]) for byte in request + NEXT])
        [answer] = answers(receive(s))
    assert_refused(answer, statuses)


@pytest.mark.parametrize("name", [name for name, (request, _) in VALID.items() if len(request) < 400])
def test_byte_by_byte_it_is_served_too(server, name):
    request, status = VALID[name]
    with connect(server) as s:
        send_in_pieces(s, [bytes([byte]) for byte in request + GET + HOST + b"Connection: close\r\n\r\n"])
        first, second = answers(receive(s))
    assert (first[0], second[0]) == (status, 200)


@pytest.mark.parametrize("name, status", [
    ("CR CR LF", 400), ("a continued Transfer-Encoding", 400), ("two lengths", 400), ("LF alone after a chunk", 400),
    ("a trailer without a colon", 400), ("extensions of chunks", 200), ("trailers", 200), ("an empty line before", 200)])
def test_cut_at_every_place_the_verdict_is_the_same(server, name, status):
    request = FRAMING[name][0] if name in FRAMING else VALID[name][0]
    for cut in range(1, len(request)):
        with connect(server) as s:
            send_in_pieces(s, [request[:cut], request[cut:] + NEXT.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")])
            statuses = [answer[0] for answer in answers(receive(s))]
        assert statuses == ([400] if status == 400 else [status, 404]), cut


def test_earlier_requests_are_answered_first(server):
    """Documents and slices, answered at once or by a worker; then the refusal, then the end."""
    targets = [b"/livez", b"/v1/datasets/codecs/slices/gzip_9?format=json", b"/zarr/codecs/absent", b"/v1/datasets/codecs/tree/"]
    for n in range(1, len(targets) + 1):
        with connect(server) as s:
            s.sendall(b"".join(get(target) for target in targets[:n]) + b"GET / HTTP/1.1\nHost: a\n\n" + NEXT)
            found = answers(receive(s))
        assert [answer[0] for answer in found] == [200, 200, 404, 200][:n] + [400]
        assert_refused(found[-1], ANY)


def test_after_an_answer_that_ends_the_connection_nothing_is_refused(server):
    with connect(server) as s:
        s.sendall(GET + HOST + b"Connection: close\r\n\r\n" + b"GET / HTTP/1.1\nHost: a\n\n")
        assert [answer[0] for answer in answers(receive(s))] == [200]


def test_bytes_after_the_last_answer_cost_no_earlier_answer(server):
    """It is read and dropped: a close with bytes unread is a reset, which answers on their way do not survive."""
    request = GET + HOST + b"\r\n"
    for _ in range(5):
        with connect(server) as s:
            s.sendall(request * 50 + GET + HOST + b"Connection: close\r\n\r\n" + request * 500)
            assert [answer[0] for answer in answers(receive(s))] == [200] * 51


def test_a_refusal_of_head_has_no_body(server):
    with connect(server) as s:
        s.sendall(b"HEAD /livez HTTP/1.1\r\nHost : a\r\n\r\n")
        head, _, body = receive(s).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ") and b"Content-Length: " in head and body == b""


@pytest.mark.parametrize("request_bytes", [GET, GET + b"Host: a\r\n\r", POST + b"Content-Length: 5\r\n\r\nhell", chunked(b"5\r\nhello\r\n0\r\n")])
def test_a_request_that_ends_too_early_is_refused(server, request_bytes):
    with connect(server) as s:
        s.sendall(request_bytes)
        s.shutdown(socket.SHUT_WR)
        [answer] = answers(receive(s))
    assert_refused(answer, ANY)


def test_a_refusal_arrives_although_the_client_goes_on_sending(server):
    """A close with bytes unread would reset the connection, and the answer might be lost."""
    for _ in range(10):
        with connect(server) as s:
            s.sendall(with_length(b"99999999", b""))
            for _ in range(20):
                s.sendall(b"x" * 65536)
                time.sleep(.001)
            s.shutdown(socket.SHUT_WR)
            [answer] = answers(receive(s))
        assert_refused(answer, (413,))
        assert json.loads(answer[2])["limit"] == 1 << 20


REFUSALS = {
    "a bare line feed": (b"GET / HTTP/1.1\nHost: a\n\n", "GET", "/"),
    "no host": (b"DELETE /zarr/d/a?b=c HTTP/1.1\r\n\r\n", "DELETE", "/zarr/d/a?b=c"),
    "a control character": (b"GET /zarr/\x01d HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "/zarr/"),
    "a target that is none": (b"GET livez HTTP/1.1\r\nHost: a\r\n\r\n", "GET", "-"),
    "no method": (b" / HTTP/1.1\r\nHost: a\r\n\r\n", "-", "-"),
    "a body cut off": (b"PUT /zarr/d/a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nb", "PUT", "/zarr/d/a"),
    "a long target": (b"GET /" + b"x" * 9000, "GET", "/" + "x" * 91),
}


@pytest.mark.parametrize("request_bytes, method, target", REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals_are_counted_and_logged(serve, tmp_path, request_bytes, method, target):
    server = serve("--writable", f"d={tmp_path}", "--set", "log.format=json")
    before = server.metrics()
    with connect(server) as s:
        s.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n" + request_bytes)
        s.shutdown(socket.SHUT_WR)
        [_, answer] = answers(receive(s))
    wait_until(lambda: answer[1]["x-request-id"] in server.log)
    after = server.metrics()
    assert [after[name] - before[name] for name in ("zarrd_refused_total", "zarrd_problems_total")] == [1, 1]
    [line] = [json.loads(line) for line in server.log.splitlines() if answer[1]["x-request-id"] in line]
    assert line["status"] == int(answer[0]) and line["code"] == json.loads(answer[2])["code"]
    assert (line["method"], line["target"], line["client"]) == (method, target, "127.0.0.1")


# ---- time ----

@pytest.fixture
def hasty(serve, tmp_path):
    """A server whose clients have 300 ms for a head, and for each 10 bytes of a body."""
    return serve(f"d={tmp_path}", "--set", "http.head_ms=300", "--set", "http.body_ms=300", "--set", "http.body_least_bytes=10")


def trickle(s, data, every_s):
    """Byte by byte, until the server answers or all is sent; what it then says."""
    for byte in data:
        if select.select([s], [], [], every_s)[0]:
            break
        s.sendall(bytes([byte]))
    return answers(receive(s))


@pytest.mark.parametrize("begin, rest", [
    (b"", GET * 100),
    (GET + HOST, b"X: " + b"y" * 1000),
    (GET + HOST + b"\r\n" + GET, b"X: " + b"y" * 1000),
    (b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n", b"x" * 1000),
    (b"POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 1000),
    (b"POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"y" * 1000),
])
def test_a_trickling_client_is_ended(hasty, begin, rest):
    with connect(hasty) as s:
        s.sendall(begin)
        found = trickle(s, rest, .05)
    assert_refused(found[-1], (408,))
    assert [answer[0] for answer in found[:-1]] == [200] * begin.count(b"\r\n\r\nG")
    assert hasty.get("/livez").status == 200


def test_a_client_that_stops_in_the_middle_is_ended(hasty):
    for part in (b"G", GET, GET + HOST, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"):
        with connect(hasty) as s:
            s.sendall(part)
            [answer] = answers(receive(s))
        assert_refused(answer, (408,))


def test_a_body_that_goes_on_may_last(hasty):
    """All in all for longer than http.body_ms. Where this machine has stood still for as long, the client comes again."""
    body = b"x" * 200
    statuses = []
    while statuses[-1:] != [405] and len(statuses) < TRIES_N:
        with connect(hasty) as s:
            s.sendall(b"POST /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
            send_in_pieces(s, [body[i:i + 20] for i in range(0, len(body), 20)], .1)
            [answer] = answers(receive(s))
        statuses.append(answer[0])
    assert statuses[-1] == 405 and set(statuses[:-1]) <= {408}


STREAMED = {"a slice": "slice=", "an append": "append=0"}


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("name", STREAMED)
def test_a_streamed_body_that_comes_too_slowly_is_ended_wherever_it_is(serve, tmp_path, name, is_chunked):
    """After any of its bytes: no band that is stored, and no window that was full, gives it more time than its length does."""
    n = 1 << 16
    write_node(tmp_path, {"zarr_format": 3, "node_type": "group"})
    write_values(tmp_path / "a", np.zeros(n, "u1"), (1 << 12,))
    server = serve("-w", f"d={tmp_path}", "--set", "http.body_ms=300", "--set", "http.body_least_bytes=10", "--set", "http.stream_bytes=4KiB")
    body = as_npy(np.ones(n, "u1"))
    for n_fast in (0, 100, 5000, n // 2, n - 40):
        framing = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: %d" % len(body)
        with connect(server) as s:
            s.sendall(b"PUT /v1/datasets/d/slices/a?%s HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-npy\r\n%s\r\n\r\n"
                      % (STREAMED[name].encode(), framing))
            if n_fast:
                s.sendall(b"%x\r\n%s\r\n" % (n_fast, body[:n_fast]) if is_chunked else body[:n_fast])
            rest = b"%x\r\n" % (len(body) - n_fast) + body[n_fast:] if is_chunked else body[n_fast:]
            found = trickle(s, rest, .06)
        assert_refused(found[-1], (408,))
    assert server.get("/v1/datasets/d/slices/a?format=raw").body == bytes(n)
    wait_until(lambda: server.metrics()["http_requests_in_flight"] == 1)


def test_between_requests_there_is_no_hurry(hasty):
    client = RawClient(hasty.port)
    time.sleep(.7)  # before the first one too
    for _ in range(3):
        client.send(GET + HOST + b"\r\n")
        assert client.receive()[0] == 200
        time.sleep(.7)
        client.send(b"\r\n")  # what some clients send after a body
        time.sleep(.7)


def test_many_slow_clients_are_ended_all(hasty):
    slow = [connect(hasty) for _ in range(200)]
    for s in slow:
        s.sendall(GET)
    for s in slow:
        [answer] = answers(receive(s))
        assert_refused(answer, (408,))
        s.close()
    wait_until(lambda: hasty.metrics()["http_connections"] == 1)


# ---- limits of connections ----

LATE_REQUESTS = [b"", GET + HOST + b"\r\n", b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n", b"\0\r\n\r\n",
                 b"PUT /zarr/d/a HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n\r\n" + b"x" * 1000000]


def assert_turned_away(late, status, code):
    """With an answer, and an end in good order: a reset would raise."""
    received = b""
    while piece := late.recv(65536):
        received += piece
    [(found, headers, body)] = answers(received)
    assert found == status and json.loads(body)["code"] == code and int(headers["retry-after"]) > 0
    assert headers["connection"] == "close"


@pytest.mark.parametrize("setting, most, status, code", [
    ("http.connections", 16, 503, "overloaded"), ("http.address_connections", 4, 429, "rate_limited")])
def test_connections_beyond_a_limit_are_told_so(serve, tmp_path, setting, most, status, code):
    server = serve(f"d={tmp_path}", "--set", f"{setting}={most}")
    clients = [RawClient(server.port) for _ in range(most)]
    for client in clients:
        client.send(GET + HOST + b"\r\n")
        assert client.receive()[0] == 200
    for request in LATE_REQUESTS:
        with connect(server) as late:
            if len(request) < 100000:
                late.sendall(request)
            else:
                late.send(request)
            assert_turned_away(late, status, code)
    crowd = [connect(server) for _ in range(50)]
    for late in crowd:
        late.sendall(LATE_REQUESTS[1])
    for late in crowd:
        assert_turned_away(late, status, code)
        late.close()
    with socket.socket() as other:
        other.bind(("127.0.0.2", 0))
        other.settimeout(DEADLINE_S)
        other.connect(("127.0.0.1", server.port))
        other.sendall(GET + HOST + b"Connection: close\r\n\r\n")
        assert answers(receive(other))[0][0] == (200 if status == 429 else 503)
    clients[0].send(GET + HOST + b"\r\n")
    assert clients[0].receive()[0] == 200
    for client in clients[most // 2:]:
        client.file.close()
        client.socket.close()
    end = time.monotonic() + DEADLINE_S
    while (answer := server.get("/livez")).status != 200:
        assert answer.status == status and time.monotonic() < end
    if status == 503:
        assert 'zarrd_unavailable_total{reason="connections"}' in server.get("/metrics").body.decode()


def test_a_crowd_beyond_a_limit_is_told_so_in_turn(serve, tmp_path):
    """More than are told so at a time wait to be accepted; nobody is reset."""
    server = serve(f"d={tmp_path}", "--set", "http.connections=16")
    clients = [RawClient(server.port) for _ in range(16)]
    for client in clients:
        client.send(GET + HOST + b"\r\n")
        assert client.receive()[0] == 200
    crowd = [connect(server) for _ in range(300)]
    for late in crowd:
        late.sendall(LATE_REQUESTS[1])
    for late in crowd:
        assert_turned_away(late, 503, "overloaded")
        late.close()
    for client in clients:
        client.file.close()
        client.socket.close()


def test_an_idle_connection_costs_at_most_17_kib(serve, tmp_path):
    """16 KiB with the libmicrohttpd of Debian 12; that of Debian 13 needs 100 bytes more."""
    server = serve(f"d={tmp_path}")
    if re.search("asan|tsan", open(f"/proc/{server.process.pid}/maps").read()):
        return  # their own memory is not ours
    warm = [RawClient(server.port) for _ in range(50)]
    for client in warm:
        client.send(GET + HOST + b"\r\n")
        assert client.receive()[0] == 200
    before = memory_bytes(server, "VmRSS")
    n = 1000
    clients = [RawClient(server.port) for _ in range(n)]
    for client in clients:
        client.send(GET + HOST + b"\r\n")
        assert client.receive()[0] == 200
    assert (memory_bytes(server, "VmRSS") - before) / n <= 17 * 1024
