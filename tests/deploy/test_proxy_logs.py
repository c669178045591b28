"""deploy/proxy: no file that haproxy or nginx writes has a token or a signature, whatever becomes of requests and replicas."""

import concurrent.futures
import contextlib
import http.client
import signal
import socket
import ssl

import balancers
import pytest
from client import DEADLINE_S, wait_until
from live import Server

SECRET = "Zq7tokenNobodyMayRead"
METHOD = "ZQTOKENNOBODYMAYREAD"
N_PATHS = 24  # of each spelling: every replica has some
TARGETS = ["/t/{}/v1/datasets/{}", "/T/{}/v1/datasets/{}", "/v1/datasets/x?access_token={}&n={}", "/v1/datasets/x?signature={}&n={}", "/zarr/d/{}/{}",
           "/v1/%74/{}/{}"]
SETTINGS = ("--set", "http.drain_lag_ms=0", "--set", "http.trusted_proxies=127.0.0.1")


def ask(balancer, context, target, method="GET"):
    """The status, or what went wrong."""
    connection = http.client.HTTPSConnection("localhost", balancer.port, context=context, timeout=DEADLINE_S)
    try:
        connection.request(method, target, headers={"Referer": f"https://x/t/{SECRET}/", "Cookie": SECRET, "Authorization": f"Bearer {SECRET}"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException) as fault:
        return fault
    finally:
        connection.close()


def ask_plainly(balancer, request):
    """To the port without TLS, byte for byte."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", balancer.plain_port), timeout=DEADLINE_S) as client:
        client.sendall(request.encode())
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096):
            pass


@pytest.fixture(params=["haproxy", "nginx"])
def balancer(request, tmp_path):
    if balancers.program(request.param) is None:
        pytest.skip(f"{request.param} not installed (deploy/packages/engines)")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    servers = [Server(f"d={tmp_path / 'store'}", *SETTINGS) for _ in range(3)]
    try:
        with balancers.Balancer(request.param, tmp_path / "balancer", [server.port for server in servers]) as running:
            yield running, servers
    finally:
        for server in servers:
            server.process.kill()
            server.process.wait(DEADLINE_S)


def written(balancer):
    """All that the program wrote."""
    return {path.name: path.read_bytes().decode(errors="replace") for path in balancer.folder.rglob("*") if path.is_file()}


def test_no_log_of_a_proxy_has_a_secret(balancer):
    running, servers = balancer
    context = ssl.create_default_context(cafile=running.authority)

    def ask_all():
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda target: ask(running, context, target), [t.format(SECRET, i) for t in TARGETS for i in range(N_PATHS)]))

    ask_all()
    servers[0].process.send_signal(signal.SIGSTOP)  # holds what it has
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        under_way = pool.submit(ask_all)
        servers[0].process.kill()
        under_way.result(DEADLINE_S)
    for server in servers[1:]:
        server.process.kill()
        server.process.wait(DEADLINE_S)
    assert any(status in (502, 503, 504) for status in ask_all())
    for method in (METHOD, "PUT", "DELETE"):
        ask(running, context, f"/t/{SECRET}/v1", method)
    for request in (f"GET /t/{SECRET}/v1 HTTP/1.1\r\nHost: a\r\n\r\n", f"GET /t/{SECRET}/ HTTP/9\r\n\r\n", f"{METHOD} / HTTP/1.1\r\nHost: a\r\n\r\n",
                    f"GET /t/{SECRET}/%zz\x01 HTTP/1.1\r\nHost: a\r\n\r\n", f"GET /t/{SECRET}/v1 HTTP/1.1\r\nHost: a\r\nbad header {SECRET}\r\n\r\n",
                    f"GET /?access_token={SECRET}{'x' * 70000} HTTP/1.1\r\n\r\n", f"{SECRET}\r\n\r\n"):
        ask_plainly(running, request)
    wait_until(lambda: any("OTHER" in text or METHOD in text for name, text in written(running).items() if "log" in name))
    for name, text in written(running).items():
        for secret in (SECRET, METHOD):
            assert secret not in text, (name, [line for line in text.splitlines() if secret in line][:3])
