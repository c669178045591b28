"""Clients that take an answer too slowly: they hold memory and the place of a request, and are cut. Bytes are counted, nothing is timed."""

import json
import re
import socket
import time

import pytest
from arrays import write_array, write_node
from client import wait_until
from documents import LITTLE

BYTES = 64 << 20
WAIT_S = 60
PIECE_BYTES = 64
HEAD_BYTES_MAX = 2000
GROUP = {"zarr_format": 3, "node_type": "group"}
LARGE = {"a slice": "/v1/datasets/d/slices/long", "text": "/v1/datasets/d/slices/long?format=json", "a file": "/zarr/d/file",
         "a part of a file": "/zarr/d/file", "chunks": None}


@pytest.fixture
def data(tmp_path):
    write_node(tmp_path, GROUP)
    write_array(tmp_path / "long", (BYTES // 4,), (1 << 16,), [LITTLE])  # fill values: nothing is stored
    write_array(tmp_path / "short", (4,), (4,), [LITTLE])
    with open(tmp_path / "file", "wb") as file:
        file.truncate(BYTES)
    return tmp_path


class Reader:
    """A client with a small window, which has asked for much."""

    def __init__(self, server, name):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(WAIT_S)
        self.socket.connect(("127.0.0.1", server.port))
        if LARGE[name] is None:
            body = json.dumps({"indices": [[i] for i in range(256)], "decoded": True})
            head = f"POST /v1/datasets/d/chunks/long HTTP/1.1\r\nContent-Length: {len(body)}"
        else:
            body, head = "", f"GET {LARGE[name]} HTTP/1.1"
        part = "Range: bytes=1-\r\n" if "part" in name else ""
        self.socket.sendall(f"{head}\r\nHost: a\r\nContent-Type: application/json\r\n{part}\r\n{body}".encode())
        self.n = 0

    def crawl(self):
        """A few bytes at a time, until the connection is reset; how many there were. What has come is read before the reset shows."""
        end = time.monotonic() + WAIT_S
        try:
            while (piece := self.socket.recv(PIECE_BYTES)) and time.monotonic() < end:
                self.n += len(piece)
                time.sleep(.01)
        except ConnectionResetError:
            return self.n
        raise AssertionError(f"not reset after {self.n} bytes")


def until(server, is_so):
    end = time.monotonic() + WAIT_S
    while not is_so(server.metrics()):
        assert time.monotonic() < end
        time.sleep(.02)


def logged_cut(server):
    """The bytes of the one request that the log shows as cut."""
    line = re.compile(r"^.*/d/.* 20[06] (\d+) \S+ \S+ from 127\.0\.0\.1 cut$", re.MULTILINE)
    wait_until(lambda: line.search(server.log))
    (n_bytes,) = line.findall(server.log)
    return int(n_bytes)


@pytest.mark.parametrize("name", LARGE)
def test_a_reader_that_is_too_slow_is_reset(serve, data, name):
    server = serve(f"d={data}", "--set", "http.reader_ms=300", "--set", "http.reader_least_bytes=256KiB")
    with server.cost() as cost:
        n = Reader(server, name).crawl()
    assert 0 < n < BYTES
    assert cost["zarrd_slow_readers_total"] == 1
    until(server, lambda metrics: metrics["http_requests_in_flight"] == 1 and metrics["http_connections"] == 1)
    assert n - HEAD_BYTES_MAX < logged_cut(server) < BYTES


@pytest.mark.parametrize("name", LARGE)
def test_the_log_shows_what_was_sent_to_a_client_that_left(serve, data, name):
    server = serve(f"d={data}", "--set", "http.stream_bytes=256MiB")  # answers from memory, but for the file
    reader = Reader(server, name)
    assert reader.socket.recv(1)
    reader.socket.close()
    assert 0 <= logged_cut(server) < BYTES


def test_slow_readers_give_their_places_back(serve, data):
    """They have all places of large requests, and others get one."""
    server = serve(f"d={data}", "--set", "http.reader_ms=300", "--set", "http.reader_least_bytes=256KiB", "--set", "admission.running=2",
                   "--set", "admission.bytes=24MiB")
    slow = [Reader(server, "a slice") for _ in range(4)]
    for reader in slow:
        reader.socket.recv(1)
    end = time.monotonic() + WAIT_S
    while (status := server.get("/v1/datasets/d/slices/long?slice=0:4000000").status) != 200:
        assert status == 503 and time.monotonic() < end
    until(server, lambda metrics: metrics["zarrd_slow_readers_total"] + metrics["zarrd_unavailable_total"] >= 2
          if "zarrd_unavailable_total" in metrics else metrics["zarrd_slow_readers_total"] >= 2)
    for reader in slow:
        reader.socket.close()


def test_any_rate_is_allowed_where_none_is_asked(serve, data):
    server = serve(f"d={data}", "--set", "http.reader_ms=100", "--set", "http.reader_least_bytes=0")
    reader = Reader(server, "a file")
    for _ in range(50):
        time.sleep(.02)
        reader.n += len(reader.socket.recv(1))
    while reader.n < BYTES:
        piece = reader.socket.recv(1 << 20)
        assert piece
        reader.n += len(piece)
    assert server.metrics()["zarrd_slow_readers_total"] == 0


def test_a_client_that_waits_for_us_need_not_hurry(serve, data):
    """Events that do not come, and an answer that was taken whole, on a connection that is used again."""
    server = serve("-w", f"d={data}", "--set", "http.reader_ms=100", "--set", "http.reader_least_bytes=1GiB", "--set", "events.heartbeat_ms=50")
    with socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S) as s, s.makefile("rb") as file:
        s.sendall(b"GET /v1/datasets/d/events HTTP/1.1\r\nHost: a\r\n\r\n")
        n = 0
        while n < 20:  # comments, for a second
            n += file.readline().startswith(b":")
        server.request("PATCH", "/v1/datasets/d/nodes/short", {"Content-Type": "application/merge-patch+json"}, b'{"attributes": {"a": 1}}')
        while b"short" not in file.readline():
            pass
    connection = server.connection()
    for _ in range(3):
        assert server.get("/v1/datasets/d/slices/short", connection=connection).status == 200
        time.sleep(.3)
    connection.close()
    assert server.metrics()["zarrd_slow_readers_total"] == 0
