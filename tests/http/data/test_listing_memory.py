"""What listings of remote stores hold is bounded, together; what one held is there for others when it ends."""

import contextlib
import socket

import pytest
from client import JSON, wait_until
from origin import Origin
from s3_stub import S3Stub

N_NAMES, NAME_CHARS = 40_000, 240  # 9.6 MB; as answers of stores 13 and 17 MB, and of zarrd more than all buffers on the way hold
NAMES = [f"{i:06}".ljust(NAME_CHARS, "n") for i in range(N_NAMES)]


@pytest.fixture(scope="module")
def engine():
    """All names come on one page."""
    with S3Stub() as running:
        running.switch("ignores_max_keys")
        running.store("zarr.json", b"{}")
        for name in NAMES:
            running.store(f"many/{name}", b"")
        yield running


@pytest.fixture(scope="module")
def origin():
    with Origin() as running:
        running.put("/zarr.json", b"{}")
        for name in NAMES:
            running.put(f"/many/{name}", b"")
        yield running


@pytest.fixture(params=["s3", "http"])
def start(request, serve):
    def started(memory):
        place = request.getfixturevalue("engine" if request.param == "s3" else "origin")
        dataset = {"location": "s3://test/", "endpoint": place.url} if request.param == "s3" else {"location": f"{place.url}/"}
        return serve("--set", f"memory.bytes={memory}", config={"datasets": {"d": dataset}}, environment=getattr(place, "environment", None))
    return started


def test_a_listing_that_is_more_than_all_may_hold_is_too_large(start):
    server = start("64MiB")
    for _ in range(2):
        answer = server.get("/zarr/d/many/", JSON)
        assert (answer.status, answer.code, answer.json()["limit"]) == (413, "too_large", 8 << 20)
    assert server.get("/zarr/d/").status == 200


@contextlib.contextmanager
def slow_reader(server, target):
    """Whoever asks for it and reads no more than how it begins."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert client.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 200"
        yield client


def until(server, status):
    answers = []
    wait_until(lambda: answers.append(server.get("/zarr/d/many/")) or answers[-1].status == status)
    return answers[-1]


def test_listings_that_are_under_way_leave_others_no_room(start):
    server = start("160MiB")
    with slow_reader(server, "/zarr/d/many/"):
        refused = until(server, 503)
        assert refused.code == "overloaded" and "listings" in refused.json()["detail"] and "retry-after" in refused.headers
        assert server.get("/zarr/d/").status == 200
    assert until(server, 200).body.count(b"href=") == N_NAMES + 1
