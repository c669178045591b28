"""deploy/proxy: haproxy and nginx take the configurations, and bring TLS, HTTP/2 and large bodies to three replicas, unbuffered."""

import http.client
import json
import os
import signal
import ssl
import subprocess

import balancers
import numpy as np
import pytest
from client import DEADLINE_S, until_idle, wait_until
from documents import GROUP
from live import Answer, Server

BIG_BYTES = 64 << 20
SHAPE = (64, 64)
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": SHAPE, "data_type": "float32", "fill_value": 0,
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [16, 64]}}, "chunk_key_encoding": {"name": "default"},
         "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}
DATA = np.arange(SHAPE[0] * SHAPE[1], dtype="<f4").reshape(SHAPE)
N_REPLICAS = 3
N_PATHS = 60
NEWER_NGINX = 'the "listen ... http2" directive is deprecated'  # from 1.25.1 on; that of Debian 12 knows no other way
# A stream ends when a comment finds nobody.
SETTINGS = ("--set", "http.drain_lag_ms=600000", "--set", "http.trusted_proxies=127.0.0.1", "--set", "events.heartbeat_ms=100")
# Clients of loopback may write, whoever sent them: what X-Forwarded-For says is another test's.
WRITABLE = ("--writable", "--set", "access.anonymous=write")


class Front:
    """A balancer, and what is behind it."""

    def __init__(self, balancer, replicas):
        self.balancer = balancer
        self.replicas = replicas
        self.context = ssl.create_default_context(cafile=balancer.authority)

    def connection(self):
        return http.client.HTTPSConnection("localhost", self.balancer.port, context=self.context, timeout=DEADLINE_S)

    def get(self, target, method="GET", body=None, headers=None):
        connection = self.connection()
        connection.request(method, target, body, headers or {})
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def curl(self, target, *arguments):
        """(version of HTTP, status, body)"""
        done = subprocess.run(["curl", "--silent", "--show-error", "--cacert", self.balancer.authority, "--write-out", "%{stderr}%{http_version} %{http_code}",
                               *arguments, self.balancer.url + target], capture_output=True, timeout=DEADLINE_S, check=True)
        version, status = done.stderr.decode().split()
        return version, int(status), done.stdout

    def n_in_flight(self):
        """Without those that ask."""
        return sum(replica.metrics()["http_requests_in_flight"] for replica in self.replicas) - N_REPLICAS


@pytest.fixture(scope="module", params=["haproxy", "nginx"])
def front(request, tmp_path_factory):
    if balancers.program(request.param) is None:
        pytest.skip(f"{request.param} not installed (deploy/packages/engines)")
    folder = tmp_path_factory.mktemp("proxies")
    store = folder / "store"
    (store / "x" / "c" / "0").mkdir(parents=True)
    (store / "zarr.json").write_text(json.dumps(GROUP))
    (store / "x" / "zarr.json").write_text(json.dumps(ARRAY))
    for i in range(4):
        (store / "x" / "c" / str(i)).mkdir(exist_ok=True)
        (store / "x" / "c" / str(i) / "0").write_bytes(DATA[16 * i:16 * i + 16].tobytes())
    os.truncate(os.open(store / "big", os.O_CREAT | os.O_WRONLY), BIG_BYTES)
    servers = [Server(*WRITABLE, f"w={store}", *SETTINGS) for _ in range(N_REPLICAS)]
    quick = {"inter 1s": "inter 200ms"} if request.param == "haproxy" else {}
    balancer = balancers.Balancer(request.param, folder / "balancer", [server.port for server in servers], quick)
    status, words = balancer.check()
    warnings = [line for line in words.lower().splitlines() if "warn" in line and NEWER_NGINX not in line]
    assert status == 0 and not warnings, words
    with balancer:
        yield Front(balancer, servers)
    for server in servers:
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)  # the lag
            wait_until(lambda server=server: "stopping" in server.log)
        server.stop()


def test_a_slice_over_http_2(front):
    target = "/v1/datasets/w/slices/x?slice=3:40,::2"
    version, status, body = front.curl(target, "--http2")
    assert (version, status) == ("2", 200)
    assert np.array_equal(np.frombuffer(body, "<f4").reshape(37, 32), DATA[3:40, ::2])
    version, status, body = front.curl(target, "--http1.1", "--header", "Accept-Encoding: identity")
    assert (version, status, len(body)) == ("1.1", 200, 37 * 32 * 4)


def test_plain_http_is_sent_to_tls(front):
    connection = http.client.HTTPConnection("127.0.0.1", front.balancer.plain_port, timeout=DEADLINE_S)
    connection.request("GET", "/v1?pretty=1", headers={"Host": "localhost"})
    answer = Answer(connection.getresponse())
    assert answer.status == 308 and answer.headers["location"] == "https://localhost/v1?pretty=1"


def test_the_path_arrives_as_it_was_sent(front):
    assert front.get("/zarr/w//x///zarr.json").json() == ARRAY | {"shape": list(SHAPE)}
    assert front.get("/zarr/w/%7A%61rr.json").json() == GROUP
    assert front.get("/v1/datasets/w//nodes").code == "bad_path"
    assert front.get("/zarr/w/a%2Fb").code == "bad_path"


def test_long_targets_are_judged_by_zarrd(front):
    assert front.get("/zarr/w/zarr.json?" + "a" * 6000).status == 200
    assert front.get("/zarr/w/zarr.json?" + "a" * 9000).code == "uri_too_long"


def test_a_large_answer_is_not_buffered(front):
    """Whoever reads nothing more holds up the replica, not the memory or the disk of the balancer."""
    connection = front.connection()
    connection.request("GET", "/zarr/w/big")
    response = connection.getresponse()
    assert response.status == 200 and response.length == BIG_BYTES
    n = len(response.read(1 << 20))
    for replica in front.replicas:
        until_idle(replica)
    assert front.n_in_flight() == 1
    while part := response.read(1 << 20):
        assert not part.strip(b"\0")
        n += len(part)
    assert n == BIG_BYTES
    assert not list(front.balancer.folder.glob("proxy/**/0*"))


def test_an_upload_arrives_while_it_is_sent(front):
    body = np.ascontiguousarray(DATA[::-1]).tobytes()
    front.get("/v1/datasets/w/nodes/y", "PUT", json.dumps(ARRAY).encode(), {"Content-Type": "application/json"})
    connection = front.connection()
    connection.putrequest("PUT", "/v1/datasets/w/slices/y?slice=...")
    connection.putheader("Content-Length", str(len(body)))
    connection.putheader("Content-Type", "application/octet-stream")
    connection.endheaders(body[:5000])
    wait_until(lambda: front.n_in_flight() == 1)
    connection.send(body[5000:])
    answer = Answer(connection.getresponse())
    assert answer.status in (200, 204), answer
    assert front.get("/v1/datasets/w/slices/y?slice=...").body == body


def test_events_come_at_once(front):
    command = ["curl", "--silent", "--no-buffer", "--http2", "--cacert", front.balancer.authority,
               front.balancer.url + "/v1/datasets/w/events"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as stream:
        try:
            assert stream.stdout.readline()  # the replica that has the stream tells of its own changes
            for replica in front.replicas:
                assert replica.request("PUT", "/zarr/w/z/zarr.json", body=json.dumps(GROUP).encode()).status in (200, 201, 204)
            while b"node" not in (line := stream.stdout.readline()):
                assert line
        finally:
            stream.kill()


def test_clients_are_known_by_what_the_balancer_says(front):
    links = front.get("/v1", headers={"X-Forwarded-Host": "evil.example", "X-Forwarded-Prefix": "/evil", "Forwarded": "host=evil.example"})
    assert links.status == 200 and b"evil" not in links.body
    answer = front.get("/v1", headers={"X-Request-Id": "mine"})
    assert answer.headers["x-request-id"] == "mine" and "strict-transport-security" in answer.headers


def test_a_path_has_its_replica(front):
    """Whatever the query; and each replica has paths, when no other request makes one of them busier than its share."""
    wait_until(lambda: front.n_in_flight() == 0)
    connection = front.connection()
    for i in range(N_PATHS):
        for query in ("", "?x"):
            connection.request("GET", f"/zarr/w/p{i}{query}", headers={"X-Request-Id": f"path-{i}-{len(query)}."})
            assert Answer(connection.getresponse()).code == "key_not_found"

    def found():
        logs = [replica.log for replica in front.replicas]
        return [[[n for n, log in enumerate(logs) if f"path-{i}-{len(query)}." in log] for query in ("", "?x")] for i in range(N_PATHS)]

    wait_until(lambda: all(plain and asked for plain, asked in found()))
    assert all(plain == asked and len(plain) == 1 for plain, asked in found())
    assert {plain[0] for plain, _ in found()} == set(range(N_REPLICAS))


def test_a_replica_that_stops_gets_nothing_new(front):
    """The last of this module: two replicas are left. haproxy asks /readyz; nginx learns it when the replica is gone."""
    targets = [f"/zarr/w/c{i}/zarr.json" for i in range(30)]
    first = front.replicas[0]
    first.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "stopping" in first.log)
    if front.balancer.name == "nginx":
        first.process.send_signal(signal.SIGTERM)
        first.process.wait(DEADLINE_S)
    else:
        wait_until(lambda: "zarrd1 is DOWN" in front.balancer.log)
    logged = first.log.count("/zarr/w/c")
    for target in targets:
        assert front.get(target).code == "key_not_found"
    assert first.log.count("/zarr/w/c") == logged
