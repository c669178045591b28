"""Hosts of this machine are asked without the proxy of the environment: whoever runs it would answer in their place."""

import functools
import http.server
import socket
import threading

import jose
import numpy as np
import pytest
from arrays import write_values
from client import wait_until
from collector import Collector
from origin import Origin
from proxy import Proxy

VALUES = np.arange(16, dtype="<f4")
NAMES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
SETTINGS = ("--set", f"access.jwt_issuer={jose.ISSUER}", "--set", f"access.jwt_audience={jose.AUDIENCE}")
OF_THIS_MACHINE = ("127.0.0.1", "127.1", "127.0.0.1.", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "0", "localhost", "LOCALHOST.", "lake.localhost",
                   "a.b.LocalHost", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]")
SURE = ("127.0.0.1", "127.1", "2130706433", "0x7f000001", "localhost", "lake.localhost")  # they lead there on every machine


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    write_values(folder, VALUES, (4,))
    return folder


@pytest.fixture(scope="module")
def origin(store):
    with Origin(store) as running:
        yield running


def through(proxy):
    """An environment in which all that may go through a proxy does."""
    return {"no_proxy": "", "NO_PROXY": "", **dict.fromkeys(NAMES, proxy.url)}


def test_stores_of_this_machine_however_it_is_written(serve, origin):
    places = {f"d{i}": {"location": f"http://{host}:{origin.port}"} for i, host in enumerate(OF_THIS_MACHINE)}
    with Proxy({}, answer=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as proxy:
        server = serve(config={"datasets": places}, environment=through(proxy))
        for name, place in places.items():
            answer = server.get(f"/v1/datasets/{name}/slices/")
            # Where a name or an address leads nowhere, nobody else is asked.
            assert answer.body == VALUES.tobytes() if answer.status == 200 else answer.status in (502, 503, 504), (place, answer)
            assert answer.status == 200 or place["location"].split("/")[2].rpartition(":")[0] not in SURE, place
        assert proxy.asked == []
    assert origin.count() > len(SURE)


def test_a_store_at_an_address_of_ipv6(serve, store):
    class Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    try:
        there = Server(("::1", 0), functools.partial(Handler, directory=str(store)))
    except OSError:
        pytest.skip("this machine has no ::1")
    with there, Proxy({}) as proxy:
        threading.Thread(target=there.serve_forever, daemon=True).start()
        server = serve(f"d=http://[::1]:{there.server_port}", environment=through(proxy))
        assert server.get("/v1/datasets/d/slices/").body == VALUES.tobytes() and proxy.asked == []
        there.shutdown()


def test_keys_of_this_machine(serve, store, tmp_path):
    """The proxy answers with keys of its own."""
    folders = [tmp_path / name for name in ("ours", "theirs")]
    for folder in folders:
        folder.mkdir()
    ours, theirs = (jose.Key(folder, "k", "EdDSA") for folder in folders)
    body = jose.jwks(theirs)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with jose.endpoint() as told, Proxy({}, answer=head + body) as proxy:
        told.set(jose.jwks(ours))
        server = serve(f"d={store}", "--set", f"access.jwks_url={told.url}", *SETTINGS, environment=through(proxy))
        wait_until(lambda: server.get("/v1", {"Authorization": f"Bearer {ours.token('read')}"}).status == 200)
        assert server.get("/v1", {"Authorization": f"Bearer {theirs.token('read')}"}).status == 401
        assert proxy.asked == [] and told.n_asked >= 1


def test_traces_to_this_machine(serve, store):
    with Collector() as collector, Proxy({}) as proxy:
        settings = ("--set", f"trace.url={collector.url}", "--set", "trace.send_ms=10")
        server = serve(f"d={store}", *settings, environment=through(proxy))
        server.get("/v1", {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "X-Request-Id": "near"})
        assert collector.of_request("near") and proxy.asked == []


def test_a_remote_host_does_not_lead_to_this_machine(serve, origin):
    """The proxy is asked for the remote host, and nobody for what that one redirects to."""
    origin.reset()
    for code in (301, 302, 307, 308):
        answer = f"HTTP/1.1 {code} Elsewhere\r\nLocation: {origin.url}/zarr.json\r\nContent-Length: 0\r\n\r\n".encode()
        with Proxy({}, answer=answer) as proxy:
            server = serve("d=http://lake.test", "--set", "remote.retries=0", environment=through(proxy))
            assert server.get("/zarr/d/zarr.json").status in (502, 503)
            assert proxy.asked and all(target.startswith("http://lake.test/") for _, target, _ in proxy.asked)
    assert origin.count() == 0
