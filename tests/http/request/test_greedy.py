"""Clients that take what they can get: others are served beside each kind of them. Completed requests are counted, nothing is timed."""

import json
import socket
import time

import numpy as np
import pytest
from arrays import write_node, write_values

N, CHUNK = 4096, 512
MERGE = {"Content-Type": "application/merge-patch+json"}
GROUP = {"zarr_format": 3, "node_type": "group"}
SLICES = "/v1/datasets/d/slices/g/a"
BEGINS = {"a single object": f"0:{CHUNK},0:1", "parts of many objects": f"1:{N},0:1", "many bands": "1:,:"}


@pytest.fixture
def server(serve, tmp_path):
    write_node(tmp_path, GROUP)
    write_node(tmp_path / "g", GROUP)
    write_values(tmp_path / "g/a", np.zeros((N, 4), "f4"), (CHUNK, 4))
    return serve("-w", f"d={tmp_path}", "--set", "http.stream_bytes=16KiB", "--set", "http.body_ms=30000")


class Trickle:
    """A slice whose body stops half way."""

    def __init__(self, server, item, append=None):
        rows, columns = (slice(*(int(n) if n else None for n in part.split(":"))) for part in item.split(","))
        self.body = np.ones((N, 4), "f4")[rows, columns].tobytes()
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self.half = len(self.body) // 2
        where = f"slice={item}" if append is None else f"append={append}"
        head = f"PUT {SLICES}?{where} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {len(self.body)}\r\n\r\n"
        self.socket.sendall(head.encode() + self.body[:self.half])

    def finish(self):
        """The status of the answer."""
        with self.socket as s:
            s.sendall(self.body[self.half:])
            return int(s.makefile("rb").readline().split()[1])


def until_receiving(server, n):
    """Until so many requests are under way, and have done all that they can."""
    while server.metrics()["http_requests_in_flight"] < n + 1:  # this one counts too
        pass
    for _ in range(20):
        server.get("/livez")


def until_left(folder, expected):
    """Until nothing else is there: staged objects may go after the answer."""
    end = time.monotonic() + 60
    left = None
    while left != expected and time.monotonic() < end:
        time.sleep(0.01)
        left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if ".zarrd-tmp-writers" not in path.parts)
    assert left == expected


@pytest.mark.parametrize("item", BEGINS.values(), ids=BEGINS)
def test_a_body_that_trickles_keeps_no_writer_out(server, item):
    trickle = Trickle(server, item)
    until_receiving(server, 1)
    for row in (0, CHUNK, N - 1):  # each in an object that the long body covers, or another one
        assert server.request("PUT", f"{SLICES}?slice={row},3", body=np.float32(7).tobytes()).status == 200
    document = json.dumps({"attributes": {"seen": True}}).encode()
    assert server.request("PATCH", "/v1/datasets/d/nodes/g/a", MERGE, document).status == 200
    assert server.request("PATCH", "/v1/datasets/d/nodes/g", MERGE, document).status == 200
    assert server.post("/v1/datasets/d/consolidate/", {}).status == 200
    assert server.request("PUT", "/zarr/d/g/a/c/1/0", body=np.full((CHUNK, 4), 5, "f4").tobytes()).status == 200
    assert trickle.finish() == 200
    now = np.frombuffer(server.get(f"{SLICES}").body, "f4").reshape(N, 4)
    expected = np.zeros((N, 4), "f4")
    expected[[0, CHUNK, N - 1], 3] = 7
    expected[CHUNK:2 * CHUNK] = 5
    rows, columns = (slice(*(int(n) if n else None for n in part.split(":"))) for part in item.split(","))
    expected[rows, columns] = 1
    np.testing.assert_array_equal(now, expected)  # the long body was stored last, and took nobody's elements away


@pytest.mark.parametrize("item", BEGINS.values(), ids=BEGINS)
def test_a_body_that_trickles_keeps_no_deletion_out(server, item, tmp_path):
    trickle = Trickle(server, item)
    until_receiving(server, 1)
    assert server.request("DELETE", "/v1/datasets/d/nodes/g?recursive=1").status == 204
    assert trickle.finish() == 409
    until_left(tmp_path, ["zarr.json"])


def test_a_body_that_trickles_writes_nothing_into_another_array(server, tmp_path):
    trickle = Trickle(server, "1:,:")
    until_receiving(server, 1)
    assert server.request("PATCH", "/v1/datasets/d/nodes/g/a", MERGE, b'{"shape": [8, 4]}').status == 200
    assert trickle.finish() == 409
    until_left(tmp_path / "g/a/c", ["0", "0/0"])


def stream(server, address):
    """The status of a stream of events for a client of that address, and the connection that keeps it open."""
    s = socket.create_connection(("127.0.0.1", server.port), timeout=60, source_address=(address, 0))
    s.sendall(b"GET /v1/datasets/d/events HTTP/1.1\r\nHost: a\r\n\r\n")
    return int(s.recv(4096).split()[1]), s


def test_one_address_cannot_have_all_streams_of_events(serve, tmp_path):
    server = serve(f"d={tmp_path}", "--set", "events.readers=8", "--set", "events.address_readers=5")
    greedy = [stream(server, "127.0.0.1") for _ in range(8)]
    others = [stream(server, "127.0.0.2") for _ in range(3)]
    assert [status for status, _ in greedy] == [200] * 5 + [503] * 3
    assert [status for status, _ in others] == [200] * 3
    greedy[0][1].close()
    while (again := stream(server, "127.0.0.1"))[0] != 200:  # its place is free once that has been noticed
        again[1].close()
    for _, s in [*greedy, *others, again]:
        s.close()


def test_who_waits_too_long_for_a_lock_is_told_what_is_busy(serve, tmp_path):
    server = serve("-w", f"d={tmp_path}", "--set", "limits.lock_ms=300", "--set", "http.body_ms=30000")
    write_node(tmp_path, GROUP)
    write_node(tmp_path / "g", GROUP)
    write_values(tmp_path / "g/a", np.zeros((N, 4), "f4"), (CHUNK, 4))
    append = Trickle(server, "0:8,:", append="0")  # its shape depends on nobody else's
    until_receiving(server, 1)
    for method, target, headers, body in (
            ("PATCH", "/v1/datasets/d/nodes/g/a", MERGE, b'{"attributes": {}}'),
            ("DELETE", "/v1/datasets/d/nodes/g?recursive=1", {}, None),
            ("PUT", f"{SLICES}?append=0", {}, np.zeros((1, 4), "f4").tobytes())):
        answer = server.request(method, target, headers, body)
        assert answer.status == 503 and answer.code == "overloaded", answer
        assert ('"g/a"' if "/a" in target else '"g"') in answer.json()["detail"] and "retry-after" in answer.headers, answer
    assert server.request("PUT", f"{SLICES}?slice=0,0", body=np.float32(7).tobytes()).status == 200
    assert server.request("PATCH", "/v1/datasets/d/nodes/", MERGE, b'{"attributes": {"b": 1}}').status == 200
    assert append.finish() == 200
    assert server.get("/v1/datasets/d/nodes/g/a?fields=array.shape").json()["array"]["shape"] == [N + 8, 4]
