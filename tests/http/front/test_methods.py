"""All routes of the description with all methods: Allow, preflights, refusals, and the heads of answers."""

import json
import socket

import numpy as np
import pytest
from arrays import write_values
from live import ROOT

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
READING_POSTS = ("slices", "chunks")  # words of templates whose POST changes nothing
OWN = "https://app.example"
FOREIGN = "https://evil.example"
HEAD_BYTES = 8192  # http.connection_bytes

ROUTES = [(template, frozenset(name.upper() for name in item if name.upper() in METHODS) | ({"HEAD"} if "get" in item else set()))
          for template, item in DOCUMENT["paths"].items() if template != "/v1/sign"]  # to which everybody needs a credential


def target_of(template, dataset):
    return template.replace("{d}", dataset).replace("{path}", "a").replace("{key}", "a/zarr.json")


def writes_of(template, methods):
    changing = {"POST"} if "POST" in methods and not set(template.split("/")) & set(READING_POSTS) else set()
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
    for origin, used in [(None, allowed), (OWN, allowed), (f"http://127.0.0.1:{both.port}", allowed - writes), (FOREIGN, allowed - writes),
                         ("null", allowed - writes)]:
        answer = preflight(both, target, **({"Origin": origin} if origin else {}))
        assert listed(answer) == allowed
        assert listed(answer, "access-control-allow-methods") == used, origin
        assert answer.headers["access-control-allow-origin"] == (OWN if origin == OWN else "*")
        assert ("access-control-allow-private-network" in answer.headers) == (origin in (None, OWN))
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
            assert answer.status == 401 and answer.code == "unauthorized" and "http.cors_origins" in answer.json()["detail"]
        else:
            assert answer.status not in (401, 403)
    assert both.get("/v1/datasets/w/tree/").body == before


def test_pages_of_the_origins_named_may_write(both):
    for origin in (OWN, "http://localhost:3000"):
        answer = both.request("POST", "/v1/datasets/w/consolidate/", {"Origin": origin})
        assert answer.status == 200


def test_an_answer_to_a_page_that_may_write_is_its_own(both):
    for method, target, status in [("POST", "/v1/datasets/w/consolidate/", 200), ("POST", "/v1/datasets/w/slices/a", 400),
                                   ("PUT", "/v1/datasets/w/nodes/b", 400), ("DELETE", "/v1/datasets/r/nodes/a", 405)]:
        for origin, allowed in [(OWN, OWN), (OWN.upper(), OWN.upper()), (OWN + ".evil.example", "*"), (None, "*")]:
            answer = both.request(method, target, {"Origin": origin} if origin else {}, b"" if status == 200 else b"{")
            assert answer.status == status or allowed == "*"
            assert answer.headers["access-control-allow-origin"] == allowed and answer.headers["vary"].split(", ").count("Origin") == 1
    for origin in (OWN, FOREIGN, None):  # what is read is the same for all
        for target in ("/v1/datasets/w", "/v1/datasets/w/slices/a", "/zarr/w/a/c/0", "/zarr/w/nothing"):
            for method in ("GET", "HEAD"):
                answer = both.request(method, target, {"Origin": origin} if origin else {})
                assert answer.headers["access-control-allow-origin"] == "*" and "Origin" not in answer.headers.get("vary", "")


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


READS = ["/", "/livez", "/readyz", "/healthz", "/health", "/metrics", "/docs", "/docs.js", "/docs.css", "/openapi.json", "/v1", "/v1/colormaps", "/v1/extensions", "/v1/limits",
         "/v1/datasets", "/v1/datasets/w",
         "/v1/datasets/w/nodes/", "/v1/datasets/w/nodes/a", "/v1/datasets/w/tree/", "/v1/datasets/w/tree/?pretty=1",
         "/v1/datasets/w/chunks/a?index=0", "/v1/datasets/w/chunks/a?present=1", "/v1/datasets/w/slices/a", "/v1/datasets/w/stats/a", "/v1/datasets/w/images/a",
         "/v1/datasets/w/slices/a?format=json", "/v1/datasets/w/slices/a?format=csv", "/v1/datasets/w/slices/a?format=npy",
         "/explore/w/a", "/explorer/none/app.js",
         "/zarr/", "/zarr/w", "/zarr/w/", "/zarr/w/a", "/zarr/w/a/", "/zarr/w/zarr.json", "/zarr/w/a/c/0", "/zarr/w/absent", "/zarr/w//a", "/zarr/r/a",
         "/v3/w/", "/v3/w/zarr.json", "/v3/w/a/zarr.json", "/v3/w/a/c/0", "/v3/w/a/c/9", "/v3/w//a", "/v3-unsharded/w/a/zarr.json",
         "/v3-unsharded/w/a/c/0",
         "/v1/datasets/w/consolidate/a", "/absent", "/v1/datasets/absent", "/v1/datasets/w/nodes/absent",
         "/v1/datasets/w/slices/a?slice=x", "/v1//x", "/%00"]
CONDITIONS = [{}, {"If-None-Match": "*"}, {"If-Match": '"x"'}, {"Accept-Encoding": "gzip"}, {"Accept": "image/png"}, {"Accept": "text/html"},
              {"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}, {"If-Unmodified-Since": "Thu, 01 Jan 1970 00:00:01 GMT"}]


def test_every_route_that_reads_is_among_them():
    for template, methods in ROUTES:
        if "GET" in methods and not template.endswith("/events"):
            start = template.replace("{d}", "w").removesuffix("{path}").removesuffix("{key}")
            assert any(target.startswith(start) for target in READS), template


@pytest.mark.parametrize("target", READS)
def test_head_has_the_fields_of_get(both, target):
    for headers in CONDITIONS:
        for _ in range(2):  # the second answer may be kept
            get, head = (both.request(method, target, {**headers, "X-Request-Id": "same"}) for method in ("GET", "HEAD"))
            assert head.status == get.status and head.body == b"", headers
            for fields in (get.headers, head.headers):
                for name in ("date", "x-request-id", "transfer-encoding", "server-timing", *(["etag"] if target == "/metrics" else [])):
                    fields.pop(name, None)
            if "content-length" not in head.headers or target in ("/metrics", "/readyz"):
                get.headers.pop("content-length", None)  # not known beforehand
                head.headers.pop("content-length", None)
            assert head.headers == get.headers, headers


def statuses_of(server, requests):
    """Each status with how its answers say where they end; the requests share a connection, so that none of them may lie."""
    seen = {}
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as s:
        file = s.makefile("rb")
        for method, target, fields, body in requests:
            lines = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "a", "Content-Length": len(body), **fields}.items())
            s.sendall(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode() + body)
            line = file.readline()
            assert line.startswith(b"HTTP/1.1 "), (method, target, line)
            status = int(line.split()[1])
            head = {}
            while line := file.readline().strip():
                name, _, value = line.partition(b": ")
                assert name.lower() not in (b"content-length", b"transfer-encoding") or name.lower() not in head
                head[name.lower()] = value
            seen.setdefault(status, set()).add(frozenset(head) & {b"content-length", b"transfer-encoding"})
            assert head.get(b"connection") != b"close", (method, target)
            if method != "HEAD" and status not in (204, 304):
                length = head.get(b"content-length")
                while length is None and (n := int(file.readline(), 16)) > 0:
                    file.read(n + 2)
                file.read(int(length) if length is not None else 2)
    return seen


def test_answers_without_body_have_no_length_and_all_others_one(serve, tmp_path):
    write_values(tmp_path / "a", np.arange(8.0), [4])
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    server = serve("--writable", f"w={tmp_path}", f"r={tmp_path}", "--set", "http.stream_bytes=4KiB")
    requests = [(method, target, {**headers, **known}, b"") for target in READS for headers in CONDITIONS for method in ("GET", "HEAD")
                for known in ({}, {"X-Request-Id": "mine"})]
    requests += [("OPTIONS", target, {}, b"") for target in READS]
    node = (tmp_path / "a" / "zarr.json").read_bytes()
    for name in ("b", "c"):
        requests += [("PUT", f"/v1/datasets/w/nodes/{name}", {"Content-Type": "application/json"}, node),
                     ("PATCH", f"/v1/datasets/w/nodes/{name}", {"Content-Type": "application/merge-patch+json"}, b'{"attributes": {}}'),
                     ("DELETE", f"/v1/datasets/w/chunks/{name}?index=0", {}, b""), ("DELETE", f"/zarr/w/{name}/c/0", {}, b"x" * 100),
                     ("DELETE", f"/v1/datasets/w/nodes/{name}", {}, b""), ("POST", "/livez", {}, b"x")]
    seen = statuses_of(server, requests)
    assert {200, 201, 204, 301, 304, 400, 404, 405, 406, 412} <= set(seen)
    for status, ways in seen.items():
        expected = [set()] if status in (204, 304) else [{b"content-length"}, {b"transfer-encoding"}, set()]
        assert all(way in expected for way in ways), status
        assert status in (200, 204, 304) or ways == {frozenset({b"content-length"})}, status


BODIES = {"slices": {"slice": [3]}, "chunks": {"indices": [[0]]}, "consolidate": {}}


@pytest.mark.parametrize("template", [template for template, methods in ROUTES if "POST" in methods])
def test_json_sent_by_curl_is_answered(both, template):
    target = target_of(template, "w").removesuffix("consolidate/a") + ("consolidate/" if "consolidate" in template else "")
    answer = both.post(target, BODIES[template.split("/")[4]], {"Accept": "application/json"})
    assert answer.status == 200
