"""Many clients at once: nothing stalls, nothing is answered twice, nothing is lost when clients leave."""

import concurrent.futures
import contextlib
import gzip
import json
import random
import select
import socket
import struct
import threading
import time

import numpy as np
import pytest
from arrays import write_array
from client import DEADLINE_S, wait_until
from documents import GZIP, LITTLE
from live import RawClient, Server


@pytest.mark.parametrize("n_connections", [1, 16, 127, 128, 129, 256, 384, 512, 1000])
def test_no_stall_when_that_many_connections_are_ready_at_once(server, n_connections):
    request = b"GET /zarr/codecs/zarr.json HTTP/1.1\r\nHost: a\r\n\r\n"
    clients = [RawClient(server.port) for _ in range(n_connections)]
    bodies = set()
    for _ in range(5):
        for client in clients:
            client.send(request)
        for client in clients:
            status, body = client.receive()
            assert status == 200
            bodies.add(body)
    assert len(bodies) == 1


def test_mixed_requests_from_many_clients_all_get_their_own_answer(server):
    targets = ["/zarr/codecs/zarr.json", "/v1/datasets/codecs/tree/", "/v1/datasets/codecs/slices/gzip_6?slice=0:5&format=json",
               "/v1/datasets/sharding/tree/?depth=1", "/zarr/codecs/absent", "/v1/datasets/codecs/slices/zstd_3_ck?slice=x",
               "/livez", "/metrics", "/v1/datasets/codecs/nodes/gzip_1"]
    expected = {target: server.get(target) for target in targets}

    def client(n):
        connection = server.connection()
        for i in range(40):
            target = targets[(n * 7 + i) % len(targets)]
            answer = server.get(target, connection=connection)
            assert answer.status == expected[target].status, target
            if target not in ("/metrics",) and answer.status == 200:
                assert answer.body == expected[target].body, target
        connection.close()

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        list(pool.map(client, range(32)))


def test_clients_that_leave_do_not_hurt(serve, tmp_path):
    values = np.random.default_rng(1).normal(size=(16, 512, 512)).astype("<f4")
    write_array(tmp_path / "a", values.shape, (1, 512, 512), [LITTLE, GZIP])
    for i, chunk in enumerate(values):
        (tmp_path / f"a/c/{i}/0").mkdir(parents=True)
        (tmp_path / f"a/c/{i}/0/0").write_bytes(gzip.compress(chunk.tobytes(), 1))
    server = serve(f"work={tmp_path}", "--set", "cache.decoded_bytes=0")
    for i in range(60):
        s = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)
        s.sendall(b"GET /v1/datasets/work/slices/a HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.001 * (i % 10))
        s.close()
    answer = server.get("/v1/datasets/work/slices/a?slice=3")
    assert answer.status == 200 and answer.body == values[3].tobytes()
    end = time.monotonic() + DEADLINE_S
    while server.metrics()["http_requests_in_flight"] > 1:  # the one that asks
        assert time.monotonic() < end
        time.sleep(0.05)


def test_pipelined_requests_are_answered_in_order(server):
    client = RawClient(server.port)
    names = [f"gzip_{n}" for n in (0, 1, 6, 9)] * 5
    client.send(b"".join(
        f"GET /v1/datasets/codecs/nodes/{name}?fields=path HTTP/1.1\r\nHost: a\r\n\r\n".encode() for name in names))
    for name in names:
        status, body = client.receive()
        assert status == 200 and json.loads(body)["path"] == name


def test_a_request_that_never_waits_lets_others_go_first(serve, tmp_path):
    """Its statuses are all answered at once, 100,000 of them: a request that comes later does not wait for the last."""
    n_tries = 10  # where this client stands still meanwhile, it sees nothing of it
    for i in range(n_tries):
        write_array(tmp_path / f"a{i}", (100000,), (1,), [LITTLE])
    server = serve(f"d={tmp_path}")
    was_first = []
    while not any(was_first) and len(was_first) < n_tries:
        before = server.metrics()["zarrd_store_statuses_total"]
        first = RawClient(server.port)
        first.send(b"GET /v1/datasets/d/chunks/a%d?present=1 HTTP/1.1\r\nHost: a\r\n\r\n" % len(was_first))
        wait_until(lambda: server.metrics()["zarrd_store_statuses_total"] >= before + 100, 0)
        was_first.append(not select.select([first.socket], [], [], 0)[0])
        status, body = first.receive()
        assert status == 200 and json.loads(body)["n_present"] == 0
    assert any(was_first)


STORM = [b"/v1/datasets/work/slices/a", b"/v1/datasets/work/slices/a?slice=:,3,4", b"/v1/datasets/work/slices/a?slice=1&format=csv",
         b"/zarr/work/a/c/0/0/0", b"/v1/datasets/work/chunks/a?index=1,0,0&decoded=1", b"/v1/datasets/work/tree/", b"/zarr/work/a/",
         b"/v1/datasets/work/chunks/a?present=1", b"/zarr/work/absent", b"/v1/datasets/work/slices/a?slice=7"]


def storm(port, seed, stop):
    """One client after another, each of which leaves in its own way at its own moment."""
    rng = random.Random(seed)
    while not stop.is_set():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as s:
            request = b"".join(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % rng.choice(STORM) for _ in range(rng.randrange(1, 5)))
            s.sendall(request[:rng.choice([len(request), rng.randrange(1, len(request))])])
            way = rng.choice(["resets", "shuts", "reads slowly", "reads", "leaves"])
            if way == "resets":
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif way == "shuts":
                s.shutdown(socket.SHUT_WR)
            for _ in range(rng.randrange(20) if "reads" in way else 0):
                s.recv(100 if way == "reads slowly" else 1 << 20)
            time.sleep(rng.random() * .02)


@pytest.mark.parametrize("seed", range(4))
def test_a_stop_in_the_middle_of_a_storm_is_clean(tmp_path, seed):
    values = np.random.default_rng(1).normal(size=(8, 256, 256)).astype("<f4")
    write_array(tmp_path / "a", values.shape, (1, 256, 256), [LITTLE, GZIP])
    for i, chunk in enumerate(values[:7]):
        (tmp_path / f"a/c/{i}/0").mkdir(parents=True)
        (tmp_path / f"a/c/{i}/0/0").write_bytes(gzip.compress(chunk.tobytes(), 1))
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    settings = [("cache.decoded_bytes", 0), ("cache.encoded_bytes", 0), ("workers.inline_us", 0), ("http.request_ms", 100)]
    rng = random.Random(seed)
    chosen = [f"--set={name}={value}" for name, value in settings if rng.random() < .5]
    server = Server(f"work={tmp_path}", f"--set=http.drain_ms={[0, 0, 30, 10000][seed]}", *chosen)
    stop = threading.Event()
    clients = [threading.Thread(target=storm, args=(server.port, seed * 100 + n, stop)) for n in range(16)]
    for client in clients:
        client.start()
    time.sleep(1)
    try:
        server.stop()
    finally:
        stop.set()
        for client in clients:
            client.join()


@pytest.mark.parametrize("method, target", [
    ("GET", "/v1/datasets/codecs/tree/"), ("GET", "/zarr/codecs/zarr.json"),
    ("HEAD", "/v1/datasets/codecs/slices/gzip_6?format=json"), ("HEAD", "/zarr/codecs/zarr.json"),
    ("HEAD", "/v1/datasets/codecs/tree/"), ("HEAD", "/zarr/codecs/absent"),
])
def test_no_byte_follows_an_answer_without_a_body(server, method, target):
    """RFC 9112, 6.3: a byte that follows would be read as the next answer."""
    tag = server.get(target).headers.get("etag", '"none"') if method == "GET" else '"none"'
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as client:
        client.sendall(f"{method} {target} HTTP/1.1\r\nHost: a\r\nIf-None-Match: {tag}\r\n\r\n"
                       "GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        with client.makefile("rb") as file:
            head, _, rest = file.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 304" if method == "GET" else b"HTTP/1.1 ")
    assert b"transfer-encoding" not in head.lower()
    closed = b"connection: close" in head.lower()
    assert rest == b"" if closed else rest.startswith(b"HTTP/1.1 200 OK\r\n")
