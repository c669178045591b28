"""What trusted proxies say of their clients, what nobody else may say, and that no field makes anybody local."""

import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess

import balancers
import numpy as np
import pytest
from arrays import write_values
from client import DEADLINE_S, wait_until
from live import Answer

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


def start(serve_module, store, trusted, **more):
    config = {"datasets": {"d": {"location": str(store), "writable": True}}, "http": {"trusted_proxies": trusted}, **more}
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
    for headers in ({"Forwarded": "x"}, {"Forwarded": "for=127.0.0.1;host=localhost", "X-Forwarded-For": "127.0.0.1"}):
        assert behind.get("/v1/datasets", {"X-Forwarded-Host": "evil.example", **headers}).status == 421  # nor hide what its proxy says
    for server in (behind, alone):
        for headers in ({"X-Forwarded-Host": "localhost"}, {"Forwarded": "for=127.0.0.1;host=localhost"}):
            assert server.get("http://evil.example/v1/datasets", headers).status == 421  # a rebound page can send these


FIELDS = ["Forwarded", "X-Forwarded-For", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "X-Forwarded-Server",
          "X-Original-Forwarded-For", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP", "Forwarded-For"]


def put(server, headers, name="b"):
    return server.request("PUT", f"/v1/datasets/d/nodes/{name}", {"Content-Type": "application/json", **headers}, b'{"zarr_format": 3, "node_type": "group"}')


def test_a_program_of_this_machine_writes_and_whoever_came_through_a_proxy_does_not(behind, alone):
    assert put(alone, {}).status in (200, 201)
    refused = put(behind, {})
    assert refused.status == 401 and "http.trusted_proxies" in refused.json()["detail"]
    for name in FIELDS:
        for value in ("", "127.0.0.1", "&", "for=127.0.0.1"):
            for server in (behind, alone):
                refused = put(server, {name: value})
                assert refused.status == 401 and name in refused.json()["detail"] and "access.anonymous=write" in refused.json()["detail"]


# ---- all combinations ----

VALUES = {
    "Forwarded": ["", " ", "x", "for=unknown", "for=_hidden", "for=127.0.0.1", 'for="[::1]"', "for=127.0.0.1;host=localhost;proto=http", "for=", ",", 'for="',
                  "for=127.0.0.1, for=127.0.0.1", f"for={CLIENT}", "for=127.0.0.2", 'for="127.0.0.1, for=127.0.0.1"'],
    "X-Forwarded-For": ["", " ", "x", "unix:", "unknown", "_hidden", "127.0.0.1", "::1", "[::1]:80", "127.0.0.1:1", "::ffff:127.0.0.1", ",", "127.0.0.1,",
                        "127.0.0.1, 127.0.0.1", CLIENT, "127.0.0.2", "127.1", '"'],
    "X-Real-IP": ["", "127.0.0.1", "x"],
    "Via": ["", "1.1 localhost", "x"],
    "X-Forwarded-Host": ["", "localhost", "data.example"],
    "X-Forwarded-Proto": ["", "http", "https", "x"],
    "X-Forwarded-Prefix": ["", "/data", "x"],
    "X-Client-IP": ["", "127.0.0.1"],
    "Connection": ["close, X-Forwarded-For", "keep-alive, Via, Forwarded"],
}
SOURCE = "127.0.0.2"  # of whoever is remote: no test has another machine
COMBINATIONS_N = 150
GROUP = b'{"zarr_format": 3, "node_type": "group"}'
CHANGES = [("PUT", "/v1/datasets/d/nodes/c", GROUP), ("DELETE", "/v1/datasets/d/nodes/a", None), ("PUT", "/zarr/d/k", b"x"), ("DELETE", "/zarr/d/a/c/0", None),
           ("PATCH", "/v1/datasets/d/nodes/a", b'{"attributes": {"x": 1}}'), ("PUT", "/v1/datasets/d/slices/a?slice=0:1", b"x" * 8),
           ("POST", "/v1/datasets/d/consolidate/", b"")]


def combination(chance):
    """Lines of a head: some fields, each once or twice."""
    names = chance.sample(list(VALUES), chance.randint(1, 4))
    lines = [(name, chance.choice(VALUES[name])) for name in names for _ in range(chance.choice((1, 1, 1, 2)) if name != "Connection" else 1)]
    chance.shuffle(lines)
    return lines


def send(port, method, target, lines, body, source=SOURCE):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S, source_address=(source, 0))
    with contextlib.closing(connection):
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in [*lines, ("Content-Length", str(len(body or b""))), ("Content-Type", "application/merge-patch+json" if method == "PATCH" else "application/json")]:
            connection.putheader(name, value)
        connection.endheaders(body or None)
        return Answer(connection.getresponse())


def held(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


NGINX = """daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 64; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{to}; proxy_http_version 1.1;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        }}
    }}
}}
"""
HAPROXY = """global
    maxconn 100
defaults
    mode http
    timeout connect 60s
    timeout client 60s
    timeout server 60s
    option forwardfor
frontend f
    bind 127.0.0.1:{port}
    default_backend b
backend b
    server s 127.0.0.1:{to}
"""


@contextlib.contextmanager
def running(name, folder, to):
    """A proxy as its manual shows it, which removes nothing that clients send; gives its port."""
    if balancers.program(name) is None:
        pytest.skip(f"{name} not installed (deploy/packages/engines)")
    port = balancers.free_port()
    text = {"nginx": NGINX, "haproxy": HAPROXY}[name].format(folder=folder, port=port, to=to, user="user root;" if os.geteuid() == 0 else "")
    (folder / "conf").write_text(text)
    options = ["-c", folder / "conf", "-e", folder / "error.log"] if name == "nginx" else ["-f", folder / "conf"]
    with open(folder / "output", "wb") as output:
        process = subprocess.Popen([balancers.program(name), *options], stdout=output, stderr=output)
    try:
        wait_until(lambda: process.poll() is not None or answers(port))
        assert process.poll() is None, (folder / "output").read_text()
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(DEADLINE_S)


def answers(port):
    with contextlib.suppress(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S).close()
        return True
    return False


def clients_of(path):
    """{request id: the client that the audit file names}"""
    return {line["id"]: line["client"] for line in map(json.loads, path.read_text().splitlines()) if "id" in line}


@pytest.mark.parametrize("trusted", ["", "127.0.0.1", "127.0.0.1 ::1 203.0.113.0/24"])
@pytest.mark.parametrize("way", ["raw", "nginx", "haproxy"])
def test_no_combination_of_fields_gives_more_than_none(serve, tmp_path, way, trusted):
    """A remote client changes nothing, whatever it sends, and is never called by the proxy's address when it cannot be read."""
    seed = random.randrange(1 << 32)
    print("seed:", seed)
    chance = random.Random(seed)
    store = tmp_path / "store"
    store.mkdir()
    (store / "zarr.json").write_bytes(GROUP)
    write_values(store / "a", np.arange(8.0), [4])
    before = held(store)
    server = start(serve, store, trusted)
    with running(way, tmp_path, server.port) if way != "raw" else contextlib.nullcontext(server.port) as port:
        source = SOURCE if way != "raw" else "127.0.0.1"  # raw: a proxy on this machine that passes all on
        plain = [send(port, *change[:2], [], change[2], source) for change in CHANGES if way != "raw" or trusted]
        assert all(answer.status == 401 for answer in plain)
        for i in range(COMBINATIONS_N):
            lines = combination(chance)
            names = {name for name, _ in lines}
            if way == "raw" and names == {"Connection"}:
                continue  # as from a program of this machine
            method, target, body = chance.choice(CHANGES)
            answer = send(port, method, target, [*lines, ("X-Request-Id", f"r{i}")], body, source)
            assert answer.status in (400, 401, 421), (lines, answer)
        assert held(store) == before
    for line in server.log.splitlines():
        match = re.search(r" (r\d+) .*from (\S+)", line)
        if match and way != "raw" and trusted:
            assert match[2] != "127.0.0.1", line


def names_of(lines):
    """What a client may be called, by a simpler rule than the server's: its proxy writes X-Forwarded-For, it alone writes Forwarded."""
    sent = [value for name, value in lines if name == "Forwarded"]
    if not sent:
        return {SOURCE}
    return {SOURCE, "unknown"} if f"for={SOURCE}" in sent else {"unknown"}


@pytest.mark.parametrize("way", ["nginx", "haproxy"])
def test_logs_name_the_client_or_nobody(serve, tmp_path, way):
    seed = random.randrange(1 << 32)
    print("seed:", seed)
    chance = random.Random(seed)
    store, audit = tmp_path / "store", tmp_path / "audit"
    store.mkdir()
    (store / "zarr.json").write_bytes(GROUP)
    server = start(serve, store, "127.0.0.1", log={"audit_file": str(audit)}, access={"anonymous": "write"})
    expected = {}
    with running(way, tmp_path, server.port) as port:
        for i in range(COMBINATIONS_N):
            lines = [line for line in combination(chance) if line[0] not in ("X-Forwarded-Host", "Connection")]
            lines = [(name, value) for name, value in lines if "host=" not in value]
            answer = send(port, "PUT", "/zarr/d/k", [*lines, ("X-Request-Id", f"r{i}")], b"x")
            assert answer.status in (200, 201), (lines, answer)
            expected[f"r{i}"] = names_of(lines)
        found = clients_of(audit)
        assert found.keys() == expected.keys() and all(found[name] in expected[name] for name in found)
        n_unknown = list(found.values()).count("unknown")
        assert 0 < n_unknown < COMBINATIONS_N
        wait_until(lambda: server.metrics()["zarrd_unknown_clients_total"] >= n_unknown)
        assert server.metrics()["zarrd_unknown_clients_total"] == n_unknown
        assert put(server, {}).status == 201  # the proxy asks for itself
        assert set(clients_of(audit).values()) == {SOURCE, "unknown", "127.0.0.1"}


def test_unknown_clients_share_no_rate_with_others(serve, store):
    server = start(serve, store, "127.0.0.1", access={"requests_per_s": 1})
    unknown = [{"Forwarded": "x"}, {"Forwarded": "for=_a"}, {"X-Forwarded-For": "unix:"}, {"Forwarded": f"for={CLIENT}", "X-Forwarded-For": "127.0.0.1"},
               {"X-Forwarded-For": ""}, {"Via": "1.1 x"}]
    for _ in range(2000):
        answer = server.get("/v1", random.choice(unknown))
        if answer.status == 429:
            break
    assert answer.status == 429 and "X-Forwarded-For" in answer.json()["detail"]
    wait_until(lambda: re.search(r" 429 .* from unknown", server.log))
    for headers in ({}, {"X-Forwarded-For": CLIENT}, {"Forwarded": f"for={CLIENT}"}, {"X-Forwarded-For": "127.0.0.1"}):
        assert server.get("/v1", headers).status == 200


def test_bytes_of_a_proxy_that_are_no_request_have_no_client(behind, alone):
    for server, name in ((behind, "unknown"), (alone, "127.0.0.1")):
        with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
            s.sendall(b"NO REQUEST\r\n\r\n")
            assert b" 400 " in s.recv(65536)
        wait_until(lambda server=server, name=name: re.search(rf" 400 .* from {re.escape(name)}", server.log))


def test_long_lists_are_no_burden(behind):
    many = ", ".join(["198.51.100.7"] * 400)
    assert behind.get("/v1", {"X-Forwarded-For": many}).status == 200
    assert behind.get("/v1", {"Forwarded": many.replace("198", "for=198")[:6000]}).status == 200
    assert behind.get("/v1", {"X-Forwarded-For": ", ".join(["127.0.0.1"] * 400)}).status == 200
