"""Who may do what without a credential: by address, setting, origin and route."""

import json
import socket

import numpy as np
import pytest
from arrays import write_values
from client import DEADLINE_S
from files import TEMPORARY, below
from live import ROOT

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
METHODS = ("get", "post", "put", "patch", "delete")
READING_POSTS = ("slices", "chunks")  # words of templates whose POST changes nothing
ROUTES = [(method.upper(), template) for template, item in DOCUMENT["paths"].items() for method in METHODS if method in item
          and template != "/v1/sign"]  # to which everybody needs a credential
OPEN = {"/livez": 200, "/readyz": 200, "/healthz": 200, "/health": 200, "/docs": 200, "/docs.js": 200, "/docs.css": 200,
        "/": 200, "/explore/{path}": 200, "/explorer/{path}": 404}  # no data: nobody needs a credential
OWN, FOREIGN = "https://app.example", "https://evil.example"
CHALLENGE = 'Bearer realm="zarrd"'
OUTSIDE = ("--listen", "0.0.0.0:0")  # beside 127.0.0.1: other machines could ask


def writes(method, template):
    return method in ("PUT", "PATCH", "DELETE") or (method == "POST" and not set(template.split("/")) & set(READING_POSTS))


def target_of(template, dataset="w"):
    return template.replace("{d}", dataset).replace("{path}", "a").replace("{key}", "a/zarr.json")


def held(folder):
    return {path: path.read_bytes() for path in below(folder) if path.is_file() and not path.name.startswith(TEMPORARY)}


def refused(answer, says):
    assert answer.status == 401 and answer.code == "unauthorized" and says in answer.json()["detail"]
    assert answer.headers["www-authenticate"] == CHALLENGE
    return True


@pytest.fixture
def store(tmp_path):
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_values(tmp_path / "a", np.arange(8.0), [4])
    return tmp_path


@pytest.fixture
def start(serve, store):
    """A server of which `w` takes writes and `r` does not."""
    places = {name: {"location": str(store), "writable": name == "w", "revalidate_ms": 600000} for name in "wr"}
    return lambda *arguments: serve(*arguments, config={"datasets": places})


def test_where_other_machines_ask_nobody_writes(start, store):
    server = start(*OUTSIDE, "--set", f"http.cors_origins={OWN}")
    before = held(store)
    for method, template in ROUTES:
        if template.endswith("/events"):
            continue  # it never ends
        for headers in ({}, {"Origin": OWN}, {"Origin": FOREIGN}, {"X-Forwarded-Host": "localhost"}, {"X-Forwarded-For": "127.0.0.1"}):
            answer = server.request(method, target_of(template), headers, b"{}")
            if writes(method, template):
                refused(answer, "access.anonymous=write")
            else:
                assert answer.status not in (401, 403), (method, template)
        if writes(method, template):
            assert server.request(method, target_of(template, "r"), {}, b"{}").status == 405
            assert server.request(method, target_of(template, "nothing"), {}, b"{}").status == 404
    assert held(store) == before
    assert server.request("OPTIONS", "/v1/datasets/w/nodes/a", {"Origin": OWN}).status == 204
    assert "accept changes from clients with a credential only, because other machines" in server.log


def test_a_refused_body_is_not_asked_for(start):
    server = start(*OUTSIDE)
    for target in ("/zarr/w/b", "/v1/datasets/w/slices/a", "/v1/datasets/w/nodes/b"):
        for framing in ("Content-Length: 100000000", "Transfer-Encoding: chunked"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
                s.sendall(f"PUT {target} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n{framing}\r\n\r\n".encode())
                assert s.recv(65536).startswith(b"HTTP/1.1 401 ")


def test_everybody_may_write_where_the_setting_says_so(start):
    server = start(*OUTSIDE, "--set", "access.anonymous=write", "--set", f"http.cors_origins={OWN}")
    for headers in ({}, {"Origin": OWN}, {"Sec-Fetch-Site": "none"}):
        assert server.request("PUT", "/zarr/w/b", headers, b"x").status in (200, 201)
    for headers in ({"Origin": FOREIGN}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = server.request("PUT", "/zarr/w/b", headers, b"y")
        assert answer.status == 403 and answer.code == "forbidden" and "http.cors_origins" in answer.json()["detail"]
    assert server.get("/zarr/w/b").body == b"x"
    assert "accept changes from every client" in server.log


def test_on_loopback_programs_write_and_pages_that_are_named(start):
    server = start("--set", f"http.cors_origins={OWN}")
    for n, headers in enumerate([{}, {"Origin": OWN}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"},
                                 {"Origin": OWN, "Sec-Fetch-Site": "cross-site"}]):
        assert server.request("PUT", "/zarr/w/b", headers, b"%d" % n).status in (200, 201)
        assert server.get("/zarr/w/b").body == b"%d" % n
    pages = [{"Origin": origin} for origin in (FOREIGN, "null", "", f"http://127.0.0.1:{server.port}", "http://localhost", OWN + ":443", "http://app.example")]
    for headers in [*pages, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": FOREIGN, "Sec-Fetch-Site": "same-origin"}]:
        for method, target in [("PUT", "/zarr/w/b"), ("DELETE", "/v1/datasets/w/nodes/a"), ("POST", "/v1/datasets/w/consolidate/")]:
            refused(server.request(method, target, {**headers, "Content-Type": "text/plain"}, b"{}"), "http.cors_origins")
    assert server.get("/zarr/w/b").body == b"4" and server.get("/v1/datasets/w/nodes/a").status == 200
    assert "accept changes from programs on this machine" in server.log


@pytest.mark.parametrize("more", [(), OUTSIDE])
def test_nobody_is_answered_where_the_setting_says_so(start, store, more):
    server = start(*more, "--set", "access.anonymous=none", "--set", f"http.cors_origins={OWN}")
    before = held(store)
    for method, template in ROUTES:
        for dataset in ("w", "nothing"):
            answer = server.request(method, target_of(template, dataset), {"Origin": OWN}, b"{}")
            assert answer.status == OPEN[template] if template in OPEN else refused(answer, "access.anonymous")
        assert server.request("OPTIONS", target_of(template), {"Origin": OWN}).status == 204
        if method == "GET":
            head = server.head(target_of(template))
            assert head.status == OPEN.get(template, 401) and head.body == b""
    for method, target in [("GET", "/nothing"), ("GET", "/livez/v1"), ("GET", "/v1/"), ("GET", "//livez"), ("GET", "/v1/%2e%2e/livez"), ("POST", "/livez"),
                           ("QUERY", "/v1"), ("GET", "/livez/../v1"), ("GET", "/zarr/w/livez"), ("GET", "http://localhost/v1")]:
        refused(server.request(method, target), "access.anonymous")
    assert held(store) == before


def test_a_changed_method_is_not_obeyed(start):
    server = start(*OUTSIDE)
    for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
        assert server.get("/zarr/w/a/zarr.json", {name: "DELETE"}).status == 200
        assert server.request("POST", "/v1/datasets/w/slices/a", {name: "PUT"}, b"{}").status != 401
        refused(server.request("DELETE", "/zarr/w/a/zarr.json", {name: "GET"}), "access.anonymous=write")
    assert server.get("/zarr/w/a/zarr.json").status == 200
