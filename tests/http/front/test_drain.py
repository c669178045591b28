"""Signals while answers are under way: each of them ends whole, whatever other connections do."""

import os
import random
import signal
import socket
import threading
import time

import pytest
from client import DEADLINE_S
from live import RawClient, Server

BIG_BYTES = 16 << 20
REQUEST = b"GET /zarr/a/big HTTP/1.1\r\nHost: localhost\r\n\r\n"
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
