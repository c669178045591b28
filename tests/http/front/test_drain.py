"""Signals while answers are under way: each of them ends whole, whatever other connections do."""

import json
import os
import random
import re
import signal
import socket
import threading
import time

import pytest
from client import DEADLINE_S, until_under_way, wait_until
from live import RawClient, Server
from origin import Origin
from s3_stub import S3Stub

BIG_BYTES = 16 << 20
REQUEST = b"GET /zarr/a/big HTTP/1.1\r\nHost: localhost\r\n\r\n"
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [16], "data_type": "uint8", "fill_value": 0,
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "codecs": [{"name": "bytes"}],
         "chunk_key_encoding": {"name": "default"}}
SLICE = b"GET /v1/datasets/w/slices/x?slice=... HTTP/1.1\r\nHost: localhost\r\n\r\n"
STORE = b"PUT /zarr/w/x/c/0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nabcd"
FILL = (b"PUT /v1/datasets/w/slices/x?slice=... HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
        b"Content-Length: 16\r\n\r\n" + b"abcd" * 4)
PING = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


def read_body(client):
    received = bytearray()
    while len(received) < BIG_BYTES + 64 and (part := client.recv(1 << 16)):
        received += part
        if b"\r\n\r\n" in received[:4096] and len(received) == received.index(b"\r\n\r\n") + 4 + BIG_BYTES:
            break
    return received[received.index(b"\r\n\r\n") + 4:]


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_under_way_ends_whole(tmp_path, seed):
    rng = random.Random(seed)
    print("seed", seed)
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    body = os.urandom(BIG_BYTES)
    (folder / "big").write_bytes(body)
    more = rng.choice([[], ["--set", "http.stream_bytes=1MiB"], ["--set", "cache.encoded_bytes=0"]])
    server = Server(folder, "--set", "http.drain_ms=60000", *more)
    idle = [RawClient(server.port) for _ in range(rng.choice([1, 3]))]
    for one in idle:
        one.send(PING)
        assert one.receive()[0] == 200
    readers = []
    for _ in range(rng.choice([1, 3])):
        reader = socket.socket()
        reader.settimeout(DEADLINE_S)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rng.choice([4096, 16384, 1 << 18]))
        reader.connect(("127.0.0.1", server.port))
        reader.sendall(REQUEST)
        assert reader.recv(1, socket.MSG_PEEK)  # it is under way
        readers.append(reader)
    server.process.send_signal(signal.SIGTERM)
    while "stopping" not in server.log:
        time.sleep(0.002)
    for reader in readers:
        assert read_body(reader) == body
    server.stop()


def stop(server, phrase="requests are running"):
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: phrase in server.log)


def last_line(server):
    """What the server says about its end."""
    assert server.process.wait(DEADLINE_S) == 0, server.log
    return re.sub(r"in \d+ ms", "in N ms", server.log.splitlines()[-1].split(" ", 1)[1])


def head_of(client):
    """Status and fields of the next answer's head."""
    status = int(client.file.readline().split()[1])
    fields = dict(line.decode().lower().split(": ", 1) for line in iter(lambda: client.file.readline().strip(), b""))
    return status, fields


def answer_of(client):
    status, fields = head_of(client)
    return status, fields.get("connection"), client.file.read(int(fields.get("content-length", 0)))


def test_slow_readers_of_streamed_slices_get_all(serve, tmp_path):
    """Beside connections that are kept: none of them stalls another."""
    data = random.Random(1).randbytes(8 << 20)
    array = {**ARRAY, "shape": [len(data)], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 20]}}}
    (tmp_path / "x" / "c").mkdir(parents=True)
    (tmp_path / "x" / "zarr.json").write_text(json.dumps(array))
    for i in range(8):
        (tmp_path / "x" / "c" / str(i)).write_bytes(data[i << 20:i + 1 << 20])
    server = serve(f"w={tmp_path}", "--set", "http.drain_ms=600000", "--set", "http.stream_bytes=256KiB")
    kept = [RawClient(server.port) for _ in range(8)]
    for client in kept:
        client.send(PING)
        assert answer_of(client)[0] == 200
    readers = kept[4:]
    for client in readers:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        client.send(SLICE)
        assert head_of(client)[0] == 200
    stop(server)
    received = [bytearray() for _ in readers]
    while len(received[-1]) < len(data):
        for client, body in zip(readers, received):
            body += client.file.read(1 << 18)
    assert all(body == data for body in received)
    assert last_line(server) == "info stopped: 4 answers finished, 0 cut, in N ms"


def test_during_the_lag_all_is_as_ever_but_the_readiness(serve, tmp_path):
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    server = serve(f"a={tmp_path}", "--set", "http.drain_lag_ms=600000")
    kept = RawClient(server.port)
    kept.send(PING)
    assert answer_of(kept)[:2] == (200, None)
    stop(server, "http.drain_lag_ms")
    answer = server.get("/readyz")  # on a new connection
    assert (answer.status, answer.code) == (503, "draining") and "retry-after" in answer.headers
    for client in [kept, RawClient(server.port)]:
        for _ in range(2):  # the second time, a prepared answer
            client.send(b"GET /zarr/a/zarr.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert answer_of(client)[:2] == (200, None)
    server.process.send_signal(signal.SIGINT)
    assert last_line(server) == "info stopped: 5 answers finished, 0 cut, in N ms"


def test_after_the_lag_each_connection_ends_with_its_answer(serve, tmp_path):
    """As long as a request is under way, those that stay open are answered."""
    server = serve(f"a={tmp_path}", "--set", "http.drain_lag_ms=10", "--set", "http.drain_ms=600000")
    kept = [RawClient(server.port) for _ in range(3)]
    for client in kept:
        client.send(PING)
        assert answer_of(client)[:2] == (200, None)
    upload = RawClient(server.port)
    upload.send(b"POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab")
    until_under_way(server, 1)
    stop(server)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port))
    for client in kept[:2]:
        client.send(PING)
        assert answer_of(client)[:2] == (200, "close") and client.file.read() == b""
    upload.send(b"cd")
    assert answer_of(upload)[:2] == (405, "close")
    assert last_line(server) == "info stopped: 3 answers finished, 0 cut, in N ms"
    assert kept[2].file.read() == b""


def test_requests_before_the_signal_are_answered(serve, tmp_path):
    """Also on connections that nobody has accepted yet, and that were idle."""
    server = serve(f"a={tmp_path}")
    kept = [RawClient(server.port) for _ in range(10)]
    for client in kept:
        client.send(PING)
        assert answer_of(client)[0] == 200
    server.process.send_signal(signal.SIGSTOP)
    new = [RawClient(server.port) for _ in range(40)]
    for client in kept + new:
        client.send(PING)
    server.process.send_signal(signal.SIGTERM)
    server.process.send_signal(signal.SIGCONT)
    for client in kept + new:
        assert answer_of(client)[0] == 200
    assert last_line(server).endswith("0 cut, in N ms")


@pytest.mark.parametrize("readers", [1, 3])
def test_a_cut_answer_says_so(serve, tmp_path, readers):
    (tmp_path / "big").write_bytes(bytes(BIG_BYTES))
    server = serve(f"a={tmp_path}", "--set", "http.drain_ms=100")
    clients = [RawClient(server.port) for _ in range(readers)]
    for client in clients:
        client.send(REQUEST)
        assert head_of(client)[0] == 200
    stop(server)
    assert last_line(server) == f"warning stopped: 0 answers finished, {readers} cut, in N ms: http.drain_ms is over"


def test_an_answer_that_only_the_kernel_has_is_not_finished(serve, tmp_path):
    """It would go with the network of a container."""
    (tmp_path / "small").write_bytes(bytes(256 << 10))
    server = serve(f"a={tmp_path}", "--set", "http.drain_ms=100")
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", server.port))
    client.sendall(b"GET /zarr/a/small HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert client.recv(1, socket.MSG_PEEK)
    stop(server)
    assert ", 1 cut, in N ms: http.drain_ms is over" in last_line(server)
    client.close()


def test_further_signals_leave_the_exit_status(tmp_path):
    """Whenever they come, up to the very end: a supervisor takes death by a signal for a crash."""
    for _ in range(5):
        server = Server(tmp_path)
        while server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.0002)
        server.stop()


def test_signals_do_not_stall_an_answer(serve, tmp_path):
    """A signal makes sendfile(2) return early: a short count is no full socket."""
    body = os.urandom(4 * BIG_BYTES)
    (tmp_path / "big").write_bytes(body)
    server = serve(f"a={tmp_path}")
    done = threading.Event()

    def reload():
        while not done.wait(0.0005):
            server.process.send_signal(signal.SIGHUP)

    reloading = threading.Thread(target=reload)
    reloading.start()
    try:
        for _ in range(5):
            assert server.get("/zarr/a/big").body == body
    finally:
        done.set()
        reloading.join()


def ended_while_it_hangs(server, origin, request, method, path):
    """The server, asked to stop while a request waits for a store that says nothing more."""
    fault = origin.fault("black_hole", path=path, method=method, times=None)
    client = RawClient(server.port)
    client.send(request)
    wait_until(lambda: fault.n >= 1)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(DEADLINE_S) == 0, server.log


def config_of(location, **members):
    """No silence is too long: what ends the wait is the end of the process."""
    return {"datasets": {"w": {"location": location, **members}}, "http": {"drain_ms": 10}, "remote": {"silence_ms": 3600000}}


@pytest.mark.parametrize("hole", ["x/zarr.json", "x/c/0"])
def test_a_remote_store_that_hangs_does_not_hold_up_the_end(serve, hole):
    with Origin() as origin:
        origin.put("s/zarr.json", b'{"zarr_format": 3, "node_type": "group"}')
        origin.put("s/x/zarr.json", json.dumps(ARRAY).encode())
        origin.put("s/x/c/0", b"abcd")
        ended_while_it_hangs(serve(config=config_of(f"{origin.url}/s")), origin, SLICE, "GET", hole)


@pytest.mark.parametrize("method, request_bytes", [("GET", SLICE), ("PUT", STORE), ("PUT", FILL)], ids=["read", "written", "filled"])
def test_a_bucket_that_hangs_does_not_hold_up_the_end(serve, method, request_bytes):
    with S3Stub() as engine:
        engine.store("lake/zarr.json", b'{"zarr_format": 3, "node_type": "group"}')
        engine.store("lake/x/zarr.json", json.dumps(ARRAY).encode())
        engine.store("lake/x/c/0", b"dcba")
        server = serve(config=config_of("s3://test/lake", endpoint=engine.url, writable=True), environment=engine.environment)
        ended_while_it_hangs(server, engine, request_bytes, method, "x/c/0")
