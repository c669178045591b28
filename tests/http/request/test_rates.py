"""How much a client may ask for. Each test has addresses of its own, which a trusted proxy names."""

import hashlib
import json
import re

import numpy as np
import pytest
from arrays import write_values
from client import soon, wait_until

REQUESTS_MAX = 2000  # that a slow machine may send before a client has spent what it has saved
AT_ONCE = 10         # what 10 s give at one a second


@pytest.fixture(scope="module")
def server(serve_module, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rates")
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_values(folder / "a", np.arange(1000.0), [1000])
    tokens = folder / "tokens.json"
    entries = {"settings": {}, "free": {"requests_per_s": 0}, "bytes": {"requests_per_s": 0, "bytes_per_s": 1}, "other": {}, "unused": {}}
    tokens.write_text(json.dumps({"tokens": [{"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": ["read", "write"], **more}
                                             for name, more in entries.items()]}))
    tokens.chmod(0o600)
    return serve_module(config={"datasets": {"d": {"location": str(folder), "writable": True}}, "http": {"trusted_proxies": "127.0.0.1"},
                                "access": {"requests_per_s": 1, "tokens_file": str(tokens)}})


def of(address, token=None):
    return {"X-Forwarded-For": address, **({"Authorization": f"Bearer {token}"} if token else {})}


def until_limited(server, headers, target="/zarr/d/zarr.json", method="GET"):
    """The answers of a client that asks until it is refused, and the refusal."""
    answers = []
    for _ in range(REQUESTS_MAX):
        answers.append(server.request(method, target, headers))
        if answers[-1].status == 429:
            return answers[:-1], answers[-1]
    raise AssertionError("never refused")


def test_a_client_beyond_its_rate_is_told_when_to_come_back(server):
    answers, refused = until_limited(server, of("192.0.2.1"))
    assert len(answers) >= AT_ONCE and all(answer.status == 200 for answer in answers)
    assert refused.code == "rate_limited" and int(refused.headers["retry-after"]) == 1
    assert refused.headers["ratelimit-policy"] == '"requests";q=10;w=10'
    assert refused.headers["ratelimit"] == '"requests";r=0;t=1'
    assert "1 requests per second" in refused.json()["detail"]
    wait_until(lambda: any(refused.headers["x-request-id"] in line and " from 192.0.2.1" in line for line in server.log.splitlines()))
    wait_until(lambda: server.get("/zarr/d/zarr.json", of("192.0.2.1")).status == 200)


@pytest.mark.parametrize("address, method, target", [
    ("198.51.100.1", "GET", "/v1"), ("198.51.100.2", "GET", "/nothing"), ("198.51.100.3", "PUT", "/zarr/d/a/c/0"),
    ("198.51.100.4", "POST", "/v1/datasets/d/slices/a"), ("198.51.100.5", "HEAD", "/zarr/d/b")])
def test_every_request_counts(server, address, method, target):
    until_limited(server, of(address), target, method)
    assert until_limited(server, of(address), "/zarr/d/zarr.json")[1].status == 429


def test_health_and_options_cost_nothing(server):
    headers = of("192.0.2.2")
    for _ in range(3 * AT_ONCE):
        assert server.get("/livez", headers).status == 200 and server.request("OPTIONS", "/v1", headers).status == 204
    until_limited(server, headers)
    assert server.get("/livez", headers).status == 200 and server.get("/readyz", headers).status == 200
    assert server.request("OPTIONS", "/v1", headers).status == 204


def test_clients_are_addresses_and_networks_of_ipv6(server):
    until_limited(server, of("192.0.2.3"))
    assert server.get("/v1", of("192.0.2.4")).status == 200
    assert server.get("/v1", of("::ffff:192.0.2.4")).status == 200
    until_limited(server, of("2001:db8:1:2::1"))
    until_limited(server, of("2001:db8:1:2:ffff::1"))
    assert server.get("/v1", of("2001:db8:1:3::1")).status == 200


def make_known(server, address, *tokens):
    """Found good once, from an address that has not used up what it may."""
    for token in tokens:
        assert server.get("/livez", of(address, token)).status == 200


def test_a_token_has_rates_of_its_own(server):
    make_known(server, "192.0.2.15", "settings", "other", "free")
    until_limited(server, of("192.0.2.5"))
    answers, refused = until_limited(server, of("192.0.2.5", "settings"))
    assert len(answers) >= AT_ONCE and "credential" in refused.json()["detail"]
    until_limited(server, of("192.0.2.6", "settings"))  # wherever it comes from
    assert server.get("/v1", of("192.0.2.5", "other")).status == 200
    for _ in range(5 * AT_ONCE):
        assert server.get("/v1", of("192.0.2.5", "free")).status == 200


@pytest.mark.parametrize("address, target", [("192.0.2.7", "/zarr/d/zarr.json"), ("192.0.2.8", "/livez"), ("192.0.2.9", "/nothing")])
def test_guessing_tokens_is_limited_by_address(server, address, target):
    make_known(server, "192.0.2.17", "free")
    answers, refused = until_limited(server, of(address, "nonsense"), target)
    assert len(answers) >= AT_ONCE and all(answer.status == 401 for answer in answers) and "address" in refused.json()["detail"]
    assert server.get("/v1", of(address, "free")).status == 200
    assert server.get("/livez", of(address)).status == 200


def test_an_address_that_has_used_up_what_it_may_tries_no_tokens(server):
    """Whether a token is good is not looked for: a good one that nobody sent before is refused, too, until there is a request left."""
    until_limited(server, of("192.0.2.10"))
    answers = [server.get("/livez", of("192.0.2.10", token)) for token in ("nonsense", "unused")]
    assert all(answer.status == 429 and answer.headers["retry-after"] == "1" and "private" in answer.headers["cache-control"] for answer in answers) or (
        server.get("/livez", of("192.0.2.10", "unused")).status == 200)  # a slow machine
    wait_until(lambda: server.get("/livez", of("192.0.2.10", "unused")).status == 200)
    for _ in range(2 * AT_ONCE):
        assert server.get("/livez", of("192.0.2.10", "unused")).status == 200


def test_bytes_are_paid_by_the_next_request(server):
    headers = of("192.0.2.11", "bytes")
    first = server.get("/zarr/d/a/zarr.json", headers)
    assert first.status == 200 and len(first.body) > 100
    assert soon(lambda: server.get("/zarr/d/a/zarr.json", headers).status, 429) == 429
    refused = server.get("/zarr/d/a/zarr.json", headers)
    wait_s = int(refused.headers["retry-after"])
    assert refused.headers["ratelimit-policy"] == '"bytes";q=10;w=10;qu="content-bytes"'
    assert re.fullmatch(r'"bytes";r=0;t=(\d+)', refused.headers["ratelimit"])[1] == refused.headers["retry-after"]
    assert 0 < wait_s <= len(first.body)  # one byte a second, and ten at once
    assert server.get("/livez", headers).status == 200


def test_without_a_limit_nobody_is_limited(serve):
    server = serve("--writable", "w=mem:")
    for _ in range(3 * AT_ONCE):
        answer = server.get("/v1")
        assert answer.status == 200 and "ratelimit" not in answer.headers
