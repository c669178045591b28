"""A server on loopback answers for no name of a stranger: a page whose name was made to mean this machine reads and changes nothing."""

import json
import socket

import numpy as np
import pytest
from arrays import write_values
from client import DEADLINE_S
from files import TEMPORARY, below

EVIL = "evil.example:8080"
OWN = ["localhost", "LOCALHOST:80", "localhost.", "a.localhost:80", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:65535", "192.0.2.7:80", "data.example", "Data.Example:443"]
OTHERS = [EVIL, "", ":80", "localhost..", ".localhost", "localhost.evil.example", "127.0.0.1.", "127.0.0.1.evil.example", "127.1", "0x7f.1",
          "2130706433", "data.example.", "data.example.evil.example", "[evil.example]"]
CHANGES = [("PUT", "/v1/datasets/w/nodes/b"), ("PATCH", "/v1/datasets/w/nodes/a"), ("DELETE", "/v1/datasets/w/nodes/a"),
           ("PUT", "/v1/datasets/w/slices/a"), ("PUT", "/v1/datasets/w/chunks/a?index=0"), ("DELETE", "/v1/datasets/w/chunks/a?index=0"),
           ("POST", "/v1/datasets/w/consolidate/"), ("PUT", "/zarr/w/a/c/0"), ("DELETE", "/zarr/w/a/zarr.json")]


@pytest.fixture
def store(tmp_path):
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_values(tmp_path / "a", np.arange(8.0), [4])
    return tmp_path


@pytest.fixture
def local(serve, store):
    config = {"datasets": {"w": {"location": str(store), "writable": True, "revalidate_ms": 600000}}}
    return serve(config=config, environment={"ZARRD_HTTP_HOSTS": "data.example"})


def held(folder):
    return {path: path.read_bytes() for path in below(folder) if path.is_file() and not path.name.startswith(TEMPORARY)}


def exchange(server, request):
    """Status, head and body of the one answer to these bytes; what comes after it is an error."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
        s.sendall(request)
        with s.makefile("rb") as file:
            status = int(file.readline().split()[1])
            head = {}
            while line := file.readline().strip():
                name, _, value = line.decode().partition(": ")
                head[name.lower()] = value
            return status, head, file.read(int(head.get("content-length", 0)) if not request.startswith(b"HEAD") else 0)


def ask(server, host, target="/v1/datasets", method="GET", fields="", body=b""):
    return exchange(server, f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}\r\n".encode() + body)


@pytest.mark.parametrize("host", OWN)
def test_this_machine_is_asked_by_address_and_by_names_that_are_its_own(local, host):
    assert ask(local, host)[0] == 200
    assert ask(local, host, "/v1/datasets/w/nodes/b", "DELETE")[0] == 404


@pytest.mark.parametrize("host", OTHERS)
def test_other_hosts_are_answered_by_a_problem_with_its_remedy(local, host):
    status, head, body = ask(local, host)
    problem = json.loads(body)
    assert status == problem["status"] == 421 and problem["code"] == "misdirected" and head["content-type"] == "application/problem+json"
    assert problem["found"] == host and "http.hosts" in problem["detail"] and f"'{host}'" in problem["detail"]
    assert problem["instance"] == head["x-request-id"] and "etag" not in head


@pytest.mark.parametrize("target", ["/", "/livez", "/readyz", "/metrics", "/openapi.json", "/nothing", "/v1/datasets/w/events", "/zarr/w/a/c/0", "*"])
def test_no_resource_and_no_method_is_excepted(local, target):
    for method in ("OPTIONS",) if target == "*" else ("GET", "HEAD", "OPTIONS", "POST", "DELETE", "QUERY"):
        status, head, body = ask(local, EVIL, target, method)
        assert status == 421 and "access-control-allow-methods" not in head and "etag" not in head, method
        assert (method == "HEAD") == (body == b"")


@pytest.mark.parametrize("target", ["/v1/datasets/w/nodes/a", "/v1/datasets/w/slices/a?format=json", "/zarr/w/a/c/0", "/zarr/w/nothing"])
def test_a_prepared_answer_is_not_given_to_another_host(local, target):
    for fields in ("", "Range: bytes=0-3\r\n", "Accept-Encoding: gzip\r\n"):
        known = [ask(local, "localhost", target, fields=fields) for _ in range(3)][-1]
        assert known[0] in (200, 206, 404)
        tag = f"If-None-Match: {known[1].get('etag', '*')}\r\n"
        for method, more in [("GET", fields), ("HEAD", fields), ("GET", tag)]:
            status, head, _ = ask(local, EVIL, target, method, more)
            assert status == 421 and "etag" not in head
    assert ask(local, "localhost", target)[0] in (200, 404)  # nor is the refusal given to this one


@pytest.mark.parametrize("method, target", CHANGES)
def test_another_host_changes_nothing_and_is_not_asked_for_a_body(local, store, method, target):
    before = held(store)
    for origin in ("", f"Origin: http://{EVIL}\r\n"):
        waits = f"{origin}Expect: 100-continue\r\nContent-Length: 100000\r\n"
        assert ask(local, EVIL, target, method, waits)[0] == 421
        assert ask(local, EVIL, target, method, f"{origin}Content-Length: 2\r\n", b"{}")[0] == 421
        assert ask(local, EVIL, target, method, f"{origin}Transfer-Encoding: chunked\r\n", b"2\r\n{}\r\n0\r\n\r\n")[0] == 421
    assert held(store) == before


def test_a_refused_body_leaves_the_connection_to_the_next_request(local):
    connection = local.connection()
    for _ in range(3):
        refused = local.request("PUT", "/zarr/w/b", {"X-Http-Method-Override": "GET"}, b"x" * 1000, connection=connection)
        assert refused.status in (200, 201)
        connection.putrequest("PUT", "/zarr/w/b", skip_host=True)
        connection.putheader("Host", EVIL)
        connection.putheader("Content-Length", "1000")
        connection.endheaders(b"y" * 1000)
        misdirected = connection.getresponse()
        assert misdirected.status == 421 and misdirected.read()
    assert local.get("/zarr/w/b", connection=connection).body == b"x" * 1000


def test_an_absolute_target_says_the_host(local):
    """RFC 9112, 3.2.2: whatever the header says."""
    assert ask(local, "localhost", f"http://{EVIL}/v1/datasets")[0] == 421
    assert ask(local, "localhost", "HTTPS://evil.example")[0] == 421
    assert ask(local, "localhost", "http://evil.example?http://localhost/")[0] == 421
    assert ask(local, EVIL, "http://localhost:1/v1/datasets")[0] == 200
    assert ask(local, EVIL, "http://[::1]/v1/datasets")[0] == 200
    assert ask(local, EVIL, "/http://localhost/")[0] == 421


def test_each_request_has_one_host(local):
    for lines, status in [("Host: localhost\r\nHost: localhost\r\n", 400), (f"Host: localhost\r\nHost: {EVIL}\r\n", 400), ("", 400),
                          (f"X-Forwarded-Host: localhost\r\nHost: {EVIL}\r\n", 421), (f"X-Forwarded-Host: {EVIL}\r\nHost: localhost\r\n", 200)]:
        assert exchange(local, f"GET /livez HTTP/1.1\r\n{lines}Connection: close\r\n\r\n".encode())[0] == status, lines


def test_http_1_0_may_have_none(local):
    for target, lines, status in [("/livez", "", 200), ("/livez", f"Host: {EVIL}\r\n", 421), (f"http://{EVIL}/livez", "", 421),
                                  ("/livez", "Host: localhost\r\n", 200)]:
        assert exchange(local, f"GET {target} HTTP/1.0\r\n{lines}\r\n".encode())[0] == status


def test_each_request_of_a_connection_is_judged(local):
    with socket.create_connection(("127.0.0.1", local.port), timeout=DEADLINE_S) as s:
        hosts = ["localhost", EVIL] * 8
        s.sendall(b"".join(b"HEAD /livez HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode() for host in hosts))
        s.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: s.recv(65536), b""))
    assert [int(head[9:12]) for head in received.split(b"\r\n\r\n")[:-1]] == [200, 421] * 8


def test_a_server_that_others_reach_has_names_that_it_does_not_know(serve, store):
    server = serve("--listen", "0.0.0.0:0", f"w={store}", environment={"ZARRD_HTTP_HOSTS": ""})
    assert ask(server, EVIL)[0] == 200


def test_all_names_may_be_allowed(serve, store):
    server = serve(f"w={store}", "--set", "http.hosts=*", environment={"ZARRD_HTTP_HOSTS": ""})
    assert ask(server, EVIL)[0] == 200 and ask(server, "")[0] == 200


def test_a_long_host_is_shown_in_part(local):
    status, _, body = ask(local, "x" * 3000)
    assert status == 421 and len(body) < 2000
