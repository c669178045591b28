"""Secrets stay out of the log, the audit file and traces, wherever a client puts them and however it spells them."""

import base64
import hashlib
import itertools
import json
import random
import socket

import numpy as np
import pytest
from arrays import write_values
from client import DEADLINE_S, wait_until
from collector import Collector
from live import ROOT

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
METHODS = ("get", "post", "put", "patch", "delete")
ROUTES = [(method.upper(), template) for template, item in DOCUMENT["paths"].items() for method in METHODS if method in item]
WINDOW = 12  # characters of a secret that nobody writes by chance
SEED = random.randrange(1 << 32)
CHANCE = random.Random(SEED)
SHORT = "Hunter2-is-it"  # no shape: only its place tells what it is


def encoded(text):
    return "".join(f"%{byte:02x}" for byte in text.encode())


def text_of(n_bytes):
    return base64.urlsafe_b64encode(CHANCE.randbytes(n_bytes)).decode().rstrip("=")


TOKEN = CHANCE.randbytes(32).hex()  # as --new-token makes them; the servers here know it
SHAPED = [TOKEN, CHANCE.randbytes(16).hex().upper(), text_of(32), f"eyJ{text_of(30)}.{text_of(60)}.{text_of(32)}"]

NAMES = ["access_token", "ACCESS_TOKEN", "Access_Token", "access-token", "accessToken", "access%5Ftoken", "access_token%20", "acess_token", "_token",
         "token", "TOKEN", "tok", "t", "signature", "%73ignature", "Signature", "sig", "X-Amz-Signature", "X-Amz-Security-Token", "api_key", "apikey", "key",
         "secret", "password", "jwt", "bearer", "authorization", "auth", "client_secret", "credentials", "access_token[]", "token[0]", "(token)"]
# Before a target; all but the last two are names that say what follows.
PREFIXES = ["/t/{}", "/T/{}", "/%74/{}", "/%54/{}", "//t/{}", "/t//{}", "/./t/{}", "/token/{}", "/TOKEN/{}", "/access_token/{}", "/bearer/{}", "/zarr/t/{}",
            "/v1/t/{}", "/a/T/{}", "/t%2f{}", "/%2574/{}", "http://h/T/{}", "http://{}@localhost", "http://ada:{}@localhost", "//{}@localhost"]
PLAIN_PREFIXES = ["/{}", "/a-{}", "//ada@{}", "http://ada@{}:80"]
HEADERS = ["Authorization", "Cookie", "Referer", "Host", "User-Agent", "Origin", "Accept", "Accept-Encoding", "Content-Encoding", "Content-Type",
           "If-Match", "If-None-Match", "If-Range", "If-Modified-Since", "Range", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Prefix",
           "X-Api-Key", "X-Auth-Token", "traceparent", "tracestate", "Last-Event-ID", "Expect", "Transfer-Encoding", "Content-Length", "Via"]


def targets(target, token, is_shaped):
    mark = "&" if "?" in target else "?"
    for name in NAMES:
        yield f"{target}{mark}{name}={token}"
        yield f"{target}{mark}pretty=1&{name}={token}&x"
    yield f"{target}{mark}x=1;token={token}"
    for scheme in ("x=Bearer%20", "x=bearer+", "Authorization:Bearer%20", "Bearer%20"):
        yield f"{target}{mark}{scheme}{token}"
    yield f"{target}/Bearer%20{token}"
    yield f"{target}{mark}{encoded('token=' + token)}"
    for prefix in PREFIXES:
        yield prefix.format(token) + target
        yield prefix.format(encoded(token)) + target
    yield f"/t/{token}/t/{token}{target}"
    yield f"/t/{token}{target}{mark}x={token}"
    yield f"{target}{mark}access_token={token}&y={encoded(token)}"
    if is_shaped:
        for prefix in PLAIN_PREFIXES:
            yield prefix.format(token) + target
        for name in ("x", "slice", "sel", "format", "index", token):
            yield f"{target}{mark}{name}={token}"
        yield f"{target}{mark}{token}"
        yield f"{target}/{token}"
        yield f"{target}/{encoded(token)}"
        yield target.replace("/d", f"/{token}")
        yield target.replace("/a", f"/{token}")


def head(method, target, headers=(), body=b""):
    lines = {"Host": "localhost", "Connection": "close", **dict(headers)}
    if body:
        lines.setdefault("Content-Length", len(body))
    return (f"{method} {target} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n").encode() + body


def with_headers(method, target, token):
    for name, value in itertools.product(HEADERS, (token, f"Bearer {token}", f'"{token}"', f"x={token}, {token}")):
        yield head(method, target, {name: value})
    yield head(method, f"{target}/{token}", {"Authorization": f"Bearer {token}"})
    yield head(method, target, {"Authorization": f"Bearer {token}", token: token})


def of_bodies(method, target, token):
    for body in (token, json.dumps(token), json.dumps({token: 1, "token": token}), json.dumps({"zarr_format": 3, "node_type": token}),
                 json.dumps({"zarr_format": 3, "node_type": "group", token: {"name": token}}), f"token={token}", json.dumps({"method": token, "path": token})):
        for kind in ("application/json", "application/merge-patch+json", token):
            yield head(method, target, {"Content-Type": kind}, body.encode())


def broken(token):
    """Never requests: the guard refuses them."""
    for line in (f"{token} / HTTP/1.1", f"GET{token} /v1 HTTP/1.1", f"GET /t/{token} /v1 HTTP/1.1", f"GET  /t/{token} HTTP/1.1", f"GET /t/{token}/v1 HTTP/3.1",
                 f"GET /T/{token}/v1", f"GET/t/{token}/v1 HTTP/1.1", f"GET /v1?access_token={token}\x01 HTTP/1.1", f"GET t/{token} HTTP/1.1",
                 f"GET /v1?TOKEN={token} HTTP/{token}", f"CONNECT {token}:443 HTTP/1.1", f"/t/{token}", token):
        yield (line + "\r\nHost: localhost\r\nConnection: close\r\n\r\n").encode()
    yield f"GET /t/{token}/v1 HTTP/1.1\r\nHost: localhost\r\n{token} : 1\r\n\r\n".encode()
    yield f"GET /T/{token}/v1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: {token}\r\n\r\n".encode()
    yield f"GET /T/{token}/{'x' * 20000} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def places(method, template, token, is_shaped):
    target = template.replace("{d}", "d").replace("{path}", "a").replace("{key}", "a/zarr.json")
    yield from (head(method, spelled) for spelled in targets(target, token, is_shaped))
    if is_shaped:
        yield from with_headers(method, target, token)
        yield from of_bodies(method, target, token)


def send(port, request):
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        status = client.recv(12)
    return status[9:12].decode()


def found(token, text):
    """A part of the token that is there, or None."""
    text = text.lower()
    pieces = (token[i:i + WINDOW] for i in range(0, max(1, len(token) - WINDOW + 1), WINDOW // 2))
    return next((piece for piece in pieces if piece.lower() in text), None)


@pytest.fixture(scope="module", params=["text", "json"])
def watched(request, serve_module, tmp_path_factory):
    """A server with all that can record a request: (server, what was recorded so far; of the log what stands after so many bytes)."""
    folder = tmp_path_factory.mktemp("secrets")
    store = folder / "store"
    store.mkdir()
    (store / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_values(store / "a", np.arange(8.0), [4])
    tokens = folder / "tokens.json"
    known = {"name": "ada", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest(), "scopes": ["read", "write", "admin"]}
    tokens.write_text(json.dumps({"tokens": [known]}))
    tokens.chmod(0o600)
    with Collector() as collector:
        settings = {"log.format": request.param, "log.level": "debug", "log.audit_file": folder / "audit", "access.tokens_file": tokens,
                    "trace.url": collector.url, "trace.per_million": 1000000, "trace.send_ms": 10, "trace.spans": 65536}
        options = itertools.chain.from_iterable(("--set", f"{name}={value}") for name, value in settings.items())
        server = serve_module("--writable", f"d={store}", *options)

        def log_after(n_bytes):
            with open(server.log_path, "rb") as log:
                log.seek(n_bytes)
                return log.read().decode(errors="replace")

        def recorded(n_bytes):
            server.get("/livez", {"X-Request-Id": f"last-{server.n_seen}"})
            server.n_seen += 1
            wait_until(lambda: f"last-{server.n_seen - 1}" in log_after(n_bytes))
            spans = "".join(f"{span.name} {span.attributes}" for span in collector.spans)
            return {"log": log_after(n_bytes), "audit": (folder / "audit").read_text(), "traces": spans}

        server.n_seen = 0
        yield server, recorded


def judge(watched, requests, token):
    server, recorded = watched
    recorded(server.log_path.stat().st_size)
    n_bytes = server.log_path.stat().st_size
    for request in requests:
        send(server.port, request)
    assert server.process.poll() is None
    for name, text in recorded(n_bytes).items():
        piece = found(token, text)
        assert piece is None, (f"seed {SEED}", name, [line for line in text.splitlines() if piece.lower() in line.lower()][:3])


@pytest.mark.parametrize("method, template", [pytest.param(*route, id=" ".join(route)) for route in ROUTES if route[1] != "/v1/datasets/{d}/events"])
def test_no_route_records_a_secret(watched, method, template):
    for token in [CHANCE.choice(SHAPED[1:]), TOKEN, SHORT]:
        judge(watched, places(method, template, token, token != SHORT), token)


@pytest.mark.parametrize("token", SHAPED, ids=["own", "short", "signature", "jwt"])
def test_no_broken_request_is_recorded_with_its_secret(watched, token):
    judge(watched, broken(token), token)


def test_ordinary_targets_stay_readable(watched):
    server, recorded = watched
    names = ["/zarr/d/t/c/0/0", "/v1/datasets/d/slices/a?slice=0:4&format=json", "/v1/datasets/t/nodes/surface_air_temperature_at_2_metres_above_ground",
             "/zarr/d/550e8400-e29b-41d4-a716-446655440000/zarr.json", "/v1/datasets/d/slices/a?sel=time:2020-01-01T00:00:00/2021-01-01"]
    for name in names:
        send(server.port, head("GET", name))
    log = recorded(0)["log"]
    assert all(name in log for name in names)


def test_the_client_still_learns_which_path_it_asked_for(watched):
    answer = watched[0].get(f"/T/{SHORT}/v1")
    assert answer.status == 404 and SHORT in answer.json()["detail"]
