"""Shared caches: nobody gets by one what the server would not say, and Vary names all that an answer depends on."""

import http.client
import json
import os
import random
import subprocess

import numpy as np
import pytest
from arrays import write_values
from balancers import free_port, program
from client import DEADLINE_S, wait_until
from live import ROOT, Answer
from tokens import bearer, entry, write_tokens

ROUTES = [template for template, item in json.loads((ROOT / "openapi" / "openapi.json").read_text())["paths"].items() if "get" in item]
SEED = int(os.environ.get("ZARRD_SEED", random.randrange(10**6)))
REQUESTS = 800
KEPT = ("content-type", "content-encoding", "access-control-allow-origin", "location", "etag", "zarr-shape", "timing-allow-origin")
CONFIGURATION = """daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 256; }}
http {{
    access_log off; {places}
    proxy_cache_path {folder}/cache keys_zone=answers:1m;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{server}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
            proxy_cache answers; proxy_cache_valid any 1m; add_header X-Cache $upstream_cache_status always;
        }}
    }}
}}
"""
HEADERS = {
    "Authorization": [None, *(f"Bearer {name}-secret" for name in ("all", "part", "private", "nobody"))],
    "X-Forwarded-Prefix": [None, "/a", "/b", "//evil"],
    "X-Forwarded-Host": [None, "localhost", "evil.example"],
    "Origin": [None, "http://localhost:3000", "http://a.localhost", "https://named.example", "https://evil.example", "null"],
    "Accept": [None, "*/*", "text/html", "application/json", "text/csv", "image/png", "application/octet-stream"],
    "Accept-Encoding": [None, "gzip", "zstd", "identity"],
    "Host": [None, "localhost", "a.localhost:80", "evil.example"],
}
SETTINGS = {"immutable": True}, {"cache_control": "Public, max-age=600, s-maxage=900"}, {"cache_control": 'private="x", max-age=600'}, {}
TARGETS = ["/", "/v1", "/docs", "/explore/", "/v1/datasets", "/zarr/", "/nope"] + [
    target.replace("{d}", dataset)
    for dataset in ("d0", "d1", "d2", "d3", "hidden")
    for target in ("/v1/datasets/{d}", "/v1/datasets/{d}/nodes/", "/v1/datasets/{d}/nodes/g/a", "/v1/datasets/{d}/tree/", "/zarr/{d}/", "/zarr/{d}",
                   "/zarr/{d}/g/a/zarr.json", "/zarr/{d}/g/a/c/0", "/v1/datasets/{d}/slices/g/a", "/v1/datasets/{d}/slices/g/a?format=json",
                   "/v1/datasets/{d}/slices/g/a?plan=1", "/v1/datasets/{d}/slices/s?arrays=s", "/v1/datasets/{d}/stats/g/a", "/v1/datasets/{d}/nodes/x")
]


@pytest.fixture(scope="module")
def server(serve_module, tmp_path_factory):
    """On loopback, behind a proxy that it trusts: all that an answer may depend on counts."""
    folder = tmp_path_factory.mktemp("caches")
    store = folder / "store"
    write_values(store / "g" / "a", np.arange(600.0), [300])
    write_values(store / "s", np.arange(600.0), [300])
    for group in (store, store / "g"):
        (group / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {"text": "%s"}}' % ("long " * 400))
    tokens = write_tokens(folder / "tokens.json", entry("all", "read"), entry("part", "read", datasets=["d*"], paths=["s/**"]),
                          entry("private", "read", datasets=["hidden"]))
    datasets = {f"d{i}": {"location": str(store), **settings} for i, settings in enumerate(SETTINGS)}
    datasets["hidden"] = {"location": str(store), "access": "private", "immutable": True}
    config = {"datasets": datasets, "http": {"trusted_proxies": "127.0.0.1", "cors_origins": "https://named.example"},
              "access": {"tokens_file": str(tokens)}}
    return serve_module(config=config, environment={"ZARRD_HTTP_CORS_ORIGIN": ""})


@pytest.fixture(scope="module")
def cache(server, tmp_path_factory):
    if program("nginx") is None:
        pytest.skip("nginx not installed (deploy/packages/test)")
    folder = tmp_path_factory.mktemp("nginx")
    places = "".join(f"{kind}_temp_path {folder}/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    port = free_port()
    (folder / "conf").write_text(CONFIGURATION.format(
        folder=folder, places=places, port=port, server=server.port, user="user root;" if os.geteuid() == 0 else ""))
    process = subprocess.Popen([program("nginx"), "-c", folder / "conf", "-e", folder / "error.log"])
    wait_until(lambda: (folder / "pid").exists() and (folder / "pid").read_text())
    yield port
    process.terminate()
    process.wait(DEADLINE_S)


def ask(server, target, headers, method="GET", port=None):
    """The headers and no others: http.client would add Host and Accept-Encoding."""
    connection = http.client.HTTPConnection("127.0.0.1", port or server.port, timeout=DEADLINE_S)
    connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    for name, value in {"Host": "localhost", "X-Request-Id": "the-same", **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    try:
        return Answer(connection.getresponse())
    finally:
        connection.close()


def chosen(rng, names=tuple(HEADERS)):
    values = {name: rng.choice(HEADERS[name]) for name in names if rng.random() < 0.4}
    return {name: value for name, value in values.items() if value is not None}


def said(answer):
    return answer.status, {name: answer.headers.get(name) for name in KEPT}, answer.body


def test_a_cache_changes_nothing(server, cache):
    rng = random.Random(SEED)
    n_hits = 0
    for i in range(REQUESTS):
        target, headers = rng.choice(TARGETS), chosen(rng)
        direct, cached = ask(server, target, headers), ask(server, target, headers, port=cache)
        assert said(cached) == said(direct), (SEED, i, target, headers, direct, cached)
        n_hits += cached.headers.get("x-cache") == "HIT"
    assert n_hits > REQUESTS / 100, (SEED, n_hits)


def get_targets():
    rows = []
    for template in ROUTES:
        if not template.endswith("/events"):
            for dataset in ("d0", "hidden", "nope") if "{d}" in template else ("",):
                for path in ("g/a", "", "x") if "{" in template.replace("{d}", "") else ("",):
                    rows.append(template.replace("{d}", dataset).replace("{path}", path).replace("{key}", path + "/zarr.json").replace("//", "/"))
    return sorted(set(rows))


def is_kept_for_none(answer):
    return any(word in answer.headers["cache-control"].split(", ") for word in ("private", "no-store"))


@pytest.mark.parametrize("target", get_targets())
def test_vary_names_what_an_answer_depends_on(server, target):
    """Two requests that differ in one header get the same, or both answers say that they do not."""
    rng = random.Random(f"{SEED}{target}")
    moves = target in ("/metrics", "/v1/limits", "/readyz")  # by itself
    for _ in range(3):
        for name, values in HEADERS.items():
            others = chosen(rng, [other for other in HEADERS if other != name])
            answers = [ask(server, target, {**others, **({} if value is None else {name: value})}) for value in values]
            for one in answers:
                for other in answers:
                    same = one.status == other.status if moves else said(one) == said(other)
                    named = all(name in answer.headers.get("vary", "").split(", ") for answer in (one, other))
                    assert same or named or (is_kept_for_none(one) and is_kept_for_none(other)), (SEED, target, others, name, one, other)


@pytest.mark.parametrize("target", get_targets())
def test_a_304_varies_as_its_answer(server, target):
    for headers in ({}, bearer("all"), {"X-Forwarded-Prefix": "/a"}, {"Accept-Encoding": "gzip"}, {"Origin": "http://localhost:1"}):
        whole = ask(server, target, headers)
        if whole.status != 200 or "etag" not in whole.headers:
            continue
        for method in ("GET", "HEAD"):
            same = ask(server, target, {**headers, "If-None-Match": whole.headers["etag"]}, method)
            if same.status == 304:
                for name in ("vary", "cache-control", "access-control-allow-origin"):
                    assert same.headers.get(name) == whole.headers.get(name), (target, headers, name, same, whole)


def test_an_answer_to_a_credential_is_for_its_client_alone(server):
    for dataset, control in (("d0", "private, max-age=31536000, immutable"), ("d1", "private, max-age=600"), ("d2", "private, max-age=600"),
                             ("d3", "private, no-cache"), ("hidden", "private, max-age=31536000, immutable")):
        name = "private" if dataset == "hidden" else "all"
        for target in (f"/zarr/{dataset}/s/c/0", f"/v1/datasets/{dataset}/nodes/s"):
            for _ in range(3):
                answer = ask(server, target, bearer(name))
                assert answer.status == 200 and answer.headers["cache-control"] == control, answer
                assert "Authorization" in answer.headers["vary"].split(", ")
                if dataset == "d0":
                    public = ask(server, target, {})
                    assert public.headers["cache-control"] == "public, max-age=31536000, immutable"
                    assert "Authorization" in public.headers["vary"].split(", ")


@pytest.mark.parametrize("origin, may", [
    ("http://localhost", True), ("https://localhost:3000", True), ("http://127.0.0.1:8000", True), ("http://[::1]:1", True),
    ("http://app.localhost:1", True), ("https://named.example", True), ("https://evil.example", False), ("null", False),
    ("http://localhost.evil.example", False), ("http://127.0.0.1.evil.example", False), ("http://evil@localhost", False),
    ("http://localhost@evil.example", False), ("file://localhost", False), ("http://192.168.0.1", False)])
def test_pages_of_other_sites_read_nothing_on_loopback(server, origin, may):
    allowed = origin if may else None
    for method, target in (("GET", "/zarr/d0/s/c/0"), ("GET", "/v1/datasets/d3/slices/s"), ("GET", "/nope"), ("HEAD", "/v1"),
                           ("OPTIONS", "/v1/datasets"), ("GET", "/v1/datasets/d3/stats/s")):
        for _ in range(2):
            answer = ask(server, target, {"Origin": origin}, method)
            assert answer.headers.get("access-control-allow-origin") == allowed, (method, target, answer)
            assert answer.headers.get("timing-allow-origin") in (None, allowed)
            assert "Origin" in answer.headers["vary"].split(", ")
            assert "access-control-allow-origin" not in ask(server, target, {}, method).headers
    assert "access-control-allow-origin" not in ask(server, "/" + "x" * 9000, {"Origin": origin}).headers


def test_a_server_that_others_reach_is_read_by_all_pages(serve, tmp_path):
    server = serve("--listen", "0.0.0.0:0", tmp_path, environment={"ZARRD_HTTP_CORS_ORIGIN": ""})
    for origin in ("https://evil.example", "null"):
        assert server.get("/v1", {"Origin": origin}).headers["access-control-allow-origin"] == "*"
