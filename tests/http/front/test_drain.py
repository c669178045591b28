"""Signals while answers are under way: each of them ends whole, whatever other connections do."""

import json
import os
import random
import signal
import socket
import threading
import time

import pytest
from client import DEADLINE_S, wait_until
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
