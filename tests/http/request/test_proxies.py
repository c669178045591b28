"""What trusted proxies say of their clients, and what nobody else may say."""

import re

import numpy as np
import pytest
from arrays import write_values

CLIENT = "203.0.113.9"
LIES = [
    ("X-Forwarded-Prefix", "//evil.example"), ("X-Forwarded-Prefix", "/a/../b"), ("X-Forwarded-Prefix", "https://evil.example"),
    ("X-Forwarded-Prefix", '/"><script>'), ("X-Forwarded-Prefix", "/" + "a" * 1000), ("X-Forwarded-Prefix", "/data,"),
    ("X-Forwarded-For", "unknown"), ("X-Forwarded-For", "<script>"), ("X-Forwarded-For", ","), ("X-Forwarded-For", "1.2.3.4.5"),
    ("Forwarded", 'for="_hidden"'), ("Forwarded", 'for="'), ("Forwarded", ";;;==,,"), ("Forwarded", "for=1.2.3.4;for=1.2.3.5"),
    ("X-Forwarded-Proto", "javascript"), ("X-Forwarded-Host", "a b"),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_values(folder / "a", np.arange(8.0), [4])
    return folder


def start(serve_module, store, trusted):
    config = {"datasets": {"d": {"location": str(store), "writable": True}}, "http": {"trusted_proxies": trusted}}
    return serve_module(config=config, environment={"ZARRD_HTTP_HOSTS": "data.example"})


@pytest.fixture(scope="module")
def behind(serve_module, store):
    """A server whose proxies are all of this machine."""
    return start(serve_module, store, "127.0.0.0/8 ::1")


@pytest.fixture(scope="module")
def alone(serve_module, store):
    """One that trusts others."""
    return start(serve_module, store, "192.0.2.7 2001:db8::/32")


def links_of(server, headers=None):
    found = []
    for target in ("/", "/v1", "/v1/datasets", "/v1/datasets/d", "/v1/datasets/d/nodes/", "/v1/datasets/d/nodes/a"):
        document = server.get(target, headers).json()
        for part in [document, *document.get("datasets", [])]:
            found += part.get("links", {}).values()
    pages = [server.get(target, {"Accept": "text/html", **(headers or {})}).body.decode() for target in ("/", "/zarr/", "/explore/d/a")]
    return found + re.findall(r'(?:href|src)="([^#"][^"]*)"', "".join(pages))




def test_links_have_the_prefix_of_a_trusted_proxy(behind):
    plain, moved = links_of(behind), links_of(behind, {"X-Forwarded-Prefix": "/data/one/"})
    assert len(plain) > 20 and all(link.startswith("/") for link in plain)
    assert moved == ["/data/one" + link for link in plain]
    assert links_of(behind) == plain  # no prepared answer of others
    assert links_of(behind, {"X-Forwarded-Prefix": "/other, /data/one"}) == moved
    redirect = behind.get("/zarr/d", {"X-Forwarded-Prefix": "/data/one"})
    assert redirect.status == 301 and redirect.headers["location"] == "d/"  # relative to wherever it is


def test_nobody_else_says_where_links_lead(alone):
    plain = links_of(alone)
    assert links_of(alone, {"X-Forwarded-Prefix": "/data", "X-Forwarded-For": "192.0.2.7", "Forwarded": "for=192.0.2.7"}) == plain


@pytest.mark.parametrize("name, value", LIES)
def test_a_lie_is_in_no_link(behind, name, value):
    assert links_of(behind, {name: value}) == links_of(behind)


def test_the_host_that_the_client_asked_for_is_judged(behind, alone):
    for server, headers, status in (
            (behind, {"X-Forwarded-Host": "data.example"}, 200), (behind, {"X-Forwarded-Host": "evil.example"}, 421),
            (behind, {"Forwarded": f"for={CLIENT};host=data.example"}, 200), (behind, {"Forwarded": f"for={CLIENT};host=evil.example"}, 421),
            (behind, {"Forwarded": f"for={CLIENT};host=\"evil.example:80\""}, 421), (behind, {"X-Forwarded-Host": "e\x7fvil"}, None),
            (alone, {"X-Forwarded-Host": "evil.example"}, 200)):
        answer = server.get("/v1/datasets", headers)
        assert answer.status == status or (status is None and answer.status in (200, 400)), headers
    for server in (behind, alone):
        for headers in ({"X-Forwarded-Host": "localhost"}, {"Forwarded": "for=127.0.0.1;host=localhost"}):
            assert server.get("http://evil.example/v1/datasets", headers).status == 421  # a rebound page can send these


def test_who_comes_over_a_proxy_of_this_machine_is_no_program_of_it(behind, alone):
    def write(server, headers):
        return server.request("PUT", "/v1/datasets/d/nodes/b", {"Content-Type": "application/json", **headers}, b'{"node_type": "group"}').status

    for headers in ({"X-Forwarded-For": CLIENT}, {"Forwarded": f"for={CLIENT}"}, {"Forwarded": 'for="[2001:db8::9]"'}, {"X-Forwarded-For": f"127.0.0.1, {CLIENT}"}):
        assert write(behind, headers) == 401
        assert write(alone, headers) != 401
    assert write(behind, {}) != 401
    assert write(behind, {"X-Forwarded-For": "127.0.0.1"}) != 401


def test_long_lists_are_no_burden(behind):
    many = ", ".join(["198.51.100.7"] * 400)
    assert behind.get("/v1", {"X-Forwarded-For": many}).status == 200
    assert behind.get("/v1", {"Forwarded": many.replace("198", "for=198")[:6000]}).status == 200
    assert behind.get("/v1", {"X-Forwarded-For": ", ".join(["127.0.0.1"] * 400)}).status == 200
