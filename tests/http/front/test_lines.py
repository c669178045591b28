"""Lists that come in several field lines are one list (RFC 9110, 5.3)."""

import itertools
import json

import pytest
from client import JSON
from live import RawClient

GROUP = json.dumps({"zarr_format": 3, "node_type": "group"}).encode()
ARRAY = json.dumps({"zarr_format": 3, "node_type": "array", "shape": [300], "data_type": "uint8",
                    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [300]}},
                    "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}).encode()
V1 = "/v1/datasets/w/"


def lines(name, *values):
    """Headers of that name, one a line: the client sends each spelling by itself."""
    cases = itertools.product(*({c.lower(), c.upper()} for c in name if c.isalpha()))
    spellings = []
    for letters in itertools.islice(cases, len(values)):
        rest = iter(letters)
        spellings.append("".join(next(rest) if c.isalpha() else c for c in name))
    return dict(zip(spellings, values, strict=True))


@pytest.fixture
def w(serve):
    server = serve("-w", "w=mem:")
    assert server.request("PUT", V1 + "nodes/a", JSON, ARRAY).status == 201
    assert server.request("PUT", V1 + "slices/a", None, bytes(range(150)) * 2).status == 200
    return server


READS = ["/zarr/w/a/zarr.json", "/zarr/w/a/c/0", V1 + "nodes/a", V1 + "tree/", V1 + "slices/a?slice=1:5", V1 + "chunks/a?index=0"]


@pytest.mark.parametrize("target", READS)
def test_every_line_of_a_condition_counts_for_readers(w, target):
    tag = w.get(target).headers["etag"]
    for n in range(2):  # also when the answer is kept
        assert w.get(target, lines("If-None-Match", '"x"', tag)).status == 304, n
        assert w.get(target, lines("If-None-Match", tag, '"x"')).status == 304, n
        assert w.get(target, lines("If-None-Match", '"x"', '"y", "z"', f'"u", {tag}')).status == 304, n
        assert w.get(target, lines("If-None-Match", '"x"', "*")).status == 304, n
        assert w.get(target, lines("If-None-Match", '"x"', '"y"')).status == 200, n
        assert w.get(target, lines("If-Match", '"x"', tag)).status == 200, n
        assert w.get(target, lines("If-Match", '"x"', '"y"')).status == 412, n
        assert w.get(target).status == 200, n


WRITES = [
    ("PUT", "/zarr/w/a/zarr.json", JSON, ARRAY),
    ("PUT", "/zarr/w/a/c/0", {}, bytes(300)),
    ("PUT", V1 + "nodes/a", JSON, ARRAY),
    ("PATCH", V1 + "nodes/a", {"Content-Type": "application/merge-patch+json"}, b'{"attributes": {"n": 1}}'),
    ("PUT", V1 + "slices/a?slice=1:5", {}, b"abcd"),
    ("PUT", V1 + "chunks/a?index=0", {}, bytes(300)),
]


@pytest.mark.parametrize("method, target, headers, body", WRITES)
def test_every_line_of_a_condition_counts_for_writers(w, method, target, headers, body):
    tag = w.get(target).headers["etag"]

    def write(name, *values):
        return w.request(method, target, {**headers, **lines(name, *values)}, body).status

    assert write("If-None-Match", '"x"', tag) == 412
    assert write("If-None-Match", '"x"', "*") == 412
    assert write("If-Match", '"x"', '"y"') == 412
    assert w.get(target).headers["etag"] == tag
    assert write("If-Match", '"x"', '"y"', tag) == 200


def test_every_line_of_accept_counts(w):
    def media_type(*values, target=V1 + "slices/a"):
        return w.get(target, lines("Accept", *values)).headers["content-type"]

    assert media_type("text/csv;q=0.1", "application/json") == "application/json"
    assert media_type("image/png", "text/csv;q=0.5", "application/json;q=0.4").startswith("text/csv")
    for _ in range(2):
        assert w.get(V1 + "nodes/a", lines("Accept", "text/html", "application/json;q=0.1")).status == 200
        assert w.get(V1 + "nodes/a", lines("Accept", "text/html", "image/png")).status == 406


def test_every_line_of_accept_encoding_counts(w):
    for _ in range(2):
        for values, coding in [(("br", "gzip"), "gzip"), (("gzip;q=0.5", "zstd"), "zstd"), (("zstd;q=0", "*;q=0", "gzip"), "gzip")]:
            assert w.get("/v1/extensions", lines("Accept-Encoding", *values)).headers["content-encoding"] == coding


@pytest.mark.parametrize("target", ["/zarr/w/a/c/0", V1 + "slices/a", V1 + "chunks/a?index=0"])
def test_every_line_of_a_content_coding_counts(w, target):
    tag = w.get(target).headers["etag"]
    for values in [("identity", "gzip"), ("gzip", "identity"), ("gzip",)]:
        answer = w.request("PUT", target, lines("Content-Encoding", *values), bytes(300))
        assert (answer.status, answer.code) == (415, "unsupported_media_type"), values
        assert w.get(target).headers["etag"] == tag
    assert w.request("PUT", target, lines("Content-Encoding", "identity"), bytes(300)).status == 200


def test_a_head_may_have_that_many_lines(w):
    tag = w.get(READS[0]).headers["etag"]
    head = b"GET /zarr/w/a/zarr.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    client = RawClient(w.port)
    client.send(head + b"".join(b'If-None-Match: "%d"\r\n' % i for i in range(90)) + f"If-None-Match: {tag}\r\n\r\n".encode())
    assert client.receive()[0] == 304
    client.socket.close()
