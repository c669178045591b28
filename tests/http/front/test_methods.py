"""All routes of the description with all methods: Allow, preflights, refusals, and the heads of answers."""

import json
import re
import socket

import numpy as np
import pytest
from arrays import write_values
from live import ROOT

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
READING_POSTS = ("slices", "chunks")  # the last words of templates whose POST changes nothing
OWN = "https://app.example"
FOREIGN = "https://evil.example"
HEAD_BYTES = 8192  # http.connection_bytes

ROUTES = [(template, frozenset(name.upper() for name in item if name.upper() in METHODS) | ({"HEAD"} if "get" in item else set()))
          for template, item in DOCUMENT["paths"].items()]


def target_of(template, dataset):
    return template.replace("{d}", dataset).replace("{path}", "a").replace("{key}", "a/zarr.json")


def writes_of(template, methods):
    changing = {"POST"} if "POST" in methods and template.split("/")[4] not in READING_POSTS else set()
    return methods & ({"PUT", "PATCH", "DELETE"} | changing)


def listed(answer, name="allow"):
    return frozenset(answer.headers[name].split(", "))


def preflight(server, target, **headers):
    answer = server.request("OPTIONS", target, {"Access-Control-Request-Method": "PUT",
                                                "Access-Control-Request-Private-Network": "true", **headers})
    assert answer.status == 204 and "origin" in answer.headers["vary"].lower()
    return answer


@pytest.fixture(scope="module")
def both(serve_module, tmp_path_factory):
    """Dataset `w` takes writes, `r` does not; pages of OWN may write."""
    folders = {name: tmp_path_factory.mktemp(name) for name in "wr"}
    for folder in folders.values():
        (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
        write_values(folder / "a", np.arange(8.0), [4])
    places = {name: {"location": str(folder), "writable": name == "w"} for name, folder in folders.items()}
    return serve_module("--set", f"http.cors_origins=http://localhost:3000 {OWN}", config={"datasets": places})


@pytest.mark.parametrize("template, methods", ROUTES, ids=[template for template, _ in ROUTES])
@pytest.mark.parametrize("dataset", ["w", "r"])
def test_allow_preflight_and_refusals_agree(both, dataset, template, methods):
    target = target_of(template, dataset)
    writes = writes_of(template, methods)
    allowed = (methods if dataset == "w" else methods - writes) | {"OPTIONS"}
    for origin, used in [(None, allowed), (OWN, allowed), (f"http://127.0.0.1:{both.port}", allowed), (FOREIGN, allowed - writes),
                         ("null", allowed - writes)]:
        answer = preflight(both, target, **({"Origin": origin} if origin else {}))
        assert listed(answer) == allowed
        assert listed(answer, "access-control-allow-methods") == used, origin
        assert answer.headers["access-control-allow-origin"] == "*"
        assert ("access-control-allow-private-network" in answer.headers) == (origin not in (FOREIGN, "null"))
    for method in set(METHODS) - allowed:
        answer = both.request(method, target)
        assert answer.status == 405 and listed(answer) == allowed, method
        assert method == "HEAD" or answer.code == ("read_only" if method in methods else "method_not_allowed"), method


@pytest.mark.parametrize("template, methods", ROUTES, ids=[template for template, _ in ROUTES])
def test_a_foreign_page_reads_and_does_not_write(both, template, methods):
    target = target_of(template, "w")
    before = both.get("/v1/datasets/w/tree/").body
    for method in sorted(methods - {"HEAD"}):
        if template.endswith("/events"):
            continue  # it never ends
        answer = both.request(method, target, {"Origin": FOREIGN, "Content-Type": "text/plain"}, b"{}")
        if method in writes_of(template, methods):
            assert answer.status == 403 and answer.code == "forbidden" and "http.cors_origins" in answer.json()["detail"]
        else:
            assert answer.status != 403
    assert both.get("/v1/datasets/w/tree/").body == before


def test_pages_of_the_origins_named_may_write(both):
    for origin in (OWN, "http://localhost:3000", f"http://127.0.0.1:{both.port}"):
        answer = both.request("POST", "/v1/datasets/w/consolidate/", {"Origin": origin})
        assert answer.status == 200


def test_an_origin_that_alone_may_read_may_write(serve, tmp_path):
    """Who named it in http.cors_origin trusts it; all others neither read nor write."""
    server = serve("--set", f"http.cors_origin={OWN}", "--writable", f"w={tmp_path}")
    for origin, methods in [(OWN, {"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"}), (FOREIGN, {"GET", "HEAD", "OPTIONS"})]:
        answer = preflight(server, "/v1/datasets/w/nodes/", Origin=origin)
        assert listed(answer, "access-control-allow-methods") == methods
        assert answer.headers["access-control-allow-origin"] == OWN


def head_of(port, head):
    """Status and fields of the answer to the bytes of a head; None: no answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        s.sendall(head)
        received = b""
        while b"\r\n\r\n" not in received and (piece := s.recv(65536)):
            received += piece
    if not received:
        return None
    lines = received.split(b"\r\n\r\n")[0].decode().split("\r\n")
    return int(lines[0].split()[1]), [line.split(":")[0].lower() for line in lines[1:]]


@pytest.mark.parametrize("template, methods", ROUTES, ids=[template for template, _ in ROUTES])
def test_heads_of_every_length_are_answered(both, template, methods):
    """What is asked may be as long as the limit says, and the answer still has its place."""
    target = target_of(template, "w")
    for method in ["OPTIONS", *sorted(methods & {"GET", "HEAD"})]:
        for name in ("Access-Control-Request-Headers", "If-None-Match", "X-Request-Id", "Other"):
            start = f"{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOrigin: {FOREIGN}\r\n{name}: "
            most = HEAD_BYTES - len(start) - 4
            for n in (1, 128, 510, 514, 1500, 5000, 7000, most - 1, most):
                answer = head_of(both.port, f"{start}{'x' * n}\r\n\r\n".encode())
                assert answer is not None and answer[0] < 431, (method, name, n)
            assert head_of(both.port, f"{start}{'x' * (most + 1)}\r\n\r\n".encode())[0] == 431


def test_many_long_fields_have_room(serve, tmp_path):
    """What arrays say in fields is bounded together, beside the longest head of a request."""
    rank = 30
    names = [f"{d}{'n' * 33}" for d in range(rank)]
    write_values(tmp_path / "a", np.zeros((1,) * rank), [1] * rank, dimension_names=names)
    server = serve(f"d={tmp_path}")
    start = "GET /v1/datasets/d/slices/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nOther: "
    for n in (1, HEAD_BYTES - len(start) - 4):
        status, fields = head_of(server.port, f"{start}{'x' * n}\r\n\r\n".encode())
        assert status == 200 and {"zarr-shape", "zarr-dtype", "etag", "content-length"} <= set(fields)
