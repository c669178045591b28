"""Clients that take what they can get: others are served beside each kind of them. Completed requests are counted, nothing is timed."""

import concurrent.futures
import io
import json
import select
import socket

import numpy as np
import pytest
from arrays import write_array, write_node, write_values
from client import soon, until_idle, until_under_way, wait_until
from documents import LITTLE
from files import below

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


def until_left(folder, expected):
    """Until nothing else is there: staged objects may go after the answer."""
    assert soon(lambda: sorted(str(path.relative_to(folder)) for path in below(folder)), expected) == expected


@pytest.mark.parametrize("item", BEGINS.values(), ids=BEGINS)
def test_a_body_that_trickles_keeps_no_writer_out(server, item):
    trickle = Trickle(server, item)
    until_under_way(server, 1)
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
    until_under_way(server, 1)
    assert server.request("DELETE", "/v1/datasets/d/nodes/g?recursive=1").status == 204
    assert trickle.finish() == 409
    until_left(tmp_path, ["zarr.json"])


def test_a_body_that_trickles_writes_nothing_into_another_array(server, tmp_path):
    trickle = Trickle(server, "1:,:")
    until_under_way(server, 1)
    assert server.request("PATCH", "/v1/datasets/d/nodes/g/a", MERGE, b'{"shape": [8, 4]}').status == 200
    assert trickle.finish() == 409
    until_left(tmp_path / "g/a/c", ["0", "0/0"])


def stream(server, address):
    """The status of a stream of events for a client of that address, and the connection that keeps it open."""
    s = socket.create_connection(("127.0.0.1", server.port), timeout=60, source_address=(address, 0))
    s.sendall(b"GET /v1/datasets/d/events HTTP/1.1\r\nHost: a\r\n\r\n")
    return int(s.recv(4096).split()[1]), s


def test_a_single_address_cannot_have_all_streams_of_events(serve, tmp_path):
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


def stalled(server, address):
    """A client of that address that asks for a long answer and takes nothing of it."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.bind((address, 0))
    s.connect(("127.0.0.1", server.port))
    s.sendall(b"GET /v1/datasets/d/slices/a HTTP/1.1\r\nHost: a\r\n\r\n")
    return s


def answered(clients):
    return {s for s in clients if select.select([s], [], [], 0)[0]}


def test_a_single_address_leaves_others_a_part_of_the_large_lane(serve, tmp_path):
    """It never gives back what it has; it may have much, and more than half only while nobody waits."""
    write_array(tmp_path / "a", (32, 512, 512), (1, 512, 512), [LITTLE])
    server = serve(f"d={tmp_path}", "--set", "admission.bytes=32MiB", "--set", "admission.wait_ms=600000", "--set", "http.stream_bytes=64KiB",
                   "--set", "http.reader_ms=3600000")

    def lane():
        return server.get("/v1/limits").json()["admission"]["large"]

    def take_all(address, n_known):
        """Requests of that address until one has to wait, which is the last."""
        taken, n_waiting = [], lane()["waiting"]
        while lane()["waiting"] == n_waiting:
            taken.append(stalled(server, address))
            wait_until(lambda: lane()["n_admitted"] + lane()["waiting"] == n_known + len(taken))
        return taken

    held = take_all("127.0.0.1", 0)
    others = take_all("127.0.0.2", len(held))
    greedy, late = held.pop(), others.pop()
    assert len(held) > 2 * len(others) and len(others) >= 2
    wait_until(lambda: len(answered(others)) == len(others))
    assert answered([greedy, late]) == set()
    held.pop().close()
    wait_until(lambda: answered([greedy, late]))
    assert answered([greedy, late]) == {late}
    for s in [*held, *others, greedy, late]:
        s.close()


def test_a_wait_for_a_lock_that_is_too_long_names_the_busy_path(serve, tmp_path):
    server = serve("-w", f"d={tmp_path}", "--set", "limits.lock_ms=300", faults={})
    write_node(tmp_path, GROUP)
    write_node(tmp_path / "g", GROUP)
    write_values(tmp_path / "g/a", np.zeros((N, 4), "f4"), (CHUNK, 4))
    rows = np.zeros((8, 4), "f4").tobytes()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with server.faulting("fdatasync.wait"):
            append = pool.submit(server.request, "PUT", f"{SLICES}?append=0", None, rows)
            server.until_waiting("fdatasync")
            for method, target, headers, body in (
                    ("PATCH", "/v1/datasets/d/nodes/g/a", MERGE, b'{"attributes": {}}'),
                    ("DELETE", "/v1/datasets/d/nodes/g?recursive=1", {}, None),
                    ("PUT", f"{SLICES}?append=0", {}, rows)):
                answer = server.request(method, target, headers, body)
                assert answer.status == 503 and answer.code == "overloaded", answer
                assert ('"g/a"' if "/a" in target else '"g"') in answer.json()["detail"] and "retry-after" in answer.headers, answer
        assert append.result().status == 200
    assert length(server) == N + 8


# ---- turns: who wants something else waits for few of those who all want the same ----

N_GREEDY = 24
TURNS_MAX = 8  # before the other is answered: the one under way and one in front, for each lock that it takes
MANY = {  # what each of them asks for, and what others ask for beside them: from where, and whether in the same array
    "consolidation": (lambda i: ("POST", "/v1/datasets/d/consolidate/", {}, None),
                      [("127.0.0.1", "slice"), ("127.0.0.2", "slice"), ("127.0.0.2", "append"), ("127.0.0.2", "patch")]),
    "patches of one node": (lambda i: ("PATCH", "/v1/datasets/d/nodes/g/a", MERGE, b'{"attributes": {"n": %d}}' % i),
                            [("127.0.0.1", "slice"), ("127.0.0.1", "patch"), ("127.0.0.2", "same")]),
    "patches of many nodes": (lambda i: ("PATCH", f"/v1/datasets/d/nodes/m/{i}", MERGE, b'{"attributes": {"n": %d}}' % i),
                              [("127.0.0.1", "slice"), ("127.0.0.2", "patch"), ("127.0.0.2", "append")]),
}
OTHERS = {
    "slice": ("PUT", "/v1/datasets/d/slices/b?slice=0", {}, bytes(16)),
    "append": ("PUT", "/v1/datasets/d/slices/b?append=0", {}, bytes(16)),
    "patch": ("PATCH", "/v1/datasets/d/nodes/b", MERGE, b'{"attributes": {"seen": true}}'),
    "same": ("PATCH", "/v1/datasets/d/nodes/g/a?dry_run=0", MERGE, b'{"attributes": {"seen": true}}'),
}


def ask_from(server, address, request):
    """A client of that address whose whole request is sent."""
    method, target, headers, body = request
    body = body or b""
    lines = [f"{method} {target} HTTP/1.1", "Host: a", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    s = socket.create_connection(("127.0.0.1", server.port), timeout=60, source_address=(address, 0))
    s.sendall("\r\n".join([*lines, "", ""]).encode() + body)
    return s


def status_of(s):
    with s, s.makefile("rb") as answer:
        return int(answer.readline().split()[1])


def requests_logged(server):
    return [line for line in server.log.splitlines() if " /v1/datasets/d/" in line]


def until_asked(server, client, n):
    """Until the client is answered, or its request and n others are under way and have got as far as they can."""
    wait_until(lambda: answered([client]) or server.metrics()["http_requests_in_flight"] >= n + 2)  # this one counts too
    until_idle(server)


@pytest.mark.parametrize("name", MANY)
def test_many_who_want_the_same_keep_nobody_waiting_who_wants_something_else(serve, tmp_path, name):
    """The first of them hangs, and the others stand in line. The log says in which order all are answered."""
    greedy, beside = MANY[name]
    for path in ("", "g", "m", *(f"m/{i}" for i in range(N_GREEDY))):
        write_node(tmp_path / path, GROUP)
    write_values(tmp_path / "g/a", np.zeros((N, 4), "f4"), (CHUNK, 4))
    write_values(tmp_path / "b", np.zeros((4, 4), "f4"), (1, 4))
    for address, other in beside:
        server = serve("-w", f"d={tmp_path}", faults={})
        with server.faulting("fdatasync.wait"):
            clients = [ask_from(server, "127.0.0.1", greedy(i)) for i in range(N_GREEDY)]
            server.until_waiting("fdatasync")
            until_under_way(server, N_GREEDY)
            clients.append(ask_from(server, address, OTHERS[other]))
            until_asked(server, clients[-1], N_GREEDY)
        assert {status_of(s) for s in clients} == {200}
        wait_until(lambda: len(requests_logged(server)) == N_GREEDY + 1)
        place = next(i for i, line in enumerate(requests_logged(server)) if f" {OTHERS[other][1]} " in line)
        assert place <= TURNS_MAX, (address, other, place)


# ---- appends: all of a body comes before the array is locked ----

def length(server):
    return server.get("/v1/datasets/d/nodes/g/a?fields=array.shape").json()["array"]["shape"][0]


def as_npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


class Append:
    """An append whose body stops after so many bytes."""

    FORMS = {"raw": (None, lambda values: values.tobytes()),
             "npy": ("application/x-npy", as_npy),
             "json": ("application/json", lambda values: json.dumps(values.tolist()).encode())}

    def __init__(self, server, form="raw", n_rows=8, n_sent=None, is_chunked=False, value=1):
        media_type, encode = self.FORMS[form]
        body = encode(np.full((n_rows, 4), value, "f4"))
        self.n_rows, self.value, self.is_chunked = n_rows, value, is_chunked
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(body)}"
        head = f"PUT {SLICES}?append=0 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{framing}\r\n"
        head += f"Content-Type: {media_type}\r\n\r\n" if media_type else "\r\n"
        n_sent = len(body) // 2 if n_sent is None else n_sent
        self.rest = body[n_sent:]
        self.socket.sendall(head.encode() + self.piece(body[:n_sent]))

    def piece(self, data):
        return b"%x\r\n%s\r\n" % (len(data), data) if self.is_chunked and data else data

    def finish(self):
        with self.socket as s:
            s.sendall(self.piece(self.rest) + (b"0\r\n\r\n" if self.is_chunked else b""))
            return int(s.makefile("rb").readline().split()[1])


APPENDS = {
    "raw": {"form": "raw"}, "no byte yet": {"form": "raw", "n_sent": 0}, "longer than a window": {"form": "raw", "n_rows": 4 * CHUNK},
    "npy": {"form": "npy"}, "npy, in its head": {"form": "npy", "n_sent": 3}, "npy, chunked": {"form": "npy", "is_chunked": True},
    "npy, chunked, longer than a window": {"form": "npy", "is_chunked": True, "n_rows": 4 * CHUNK},
    "json": {"form": "json"}, "json, long": {"form": "json", "n_rows": 4 * CHUNK},
}


@pytest.mark.parametrize("more", APPENDS.values(), ids=APPENDS)
def test_an_append_that_trickles_keeps_no_writer_out(server, more):
    """It goes to the end that the array has when its body is complete."""
    trickle = Append(server, **more)
    until_under_way(server, 1)
    rows = np.full((3, 4), 7, "f4")
    assert server.request("PUT", f"{SLICES}?append=0", body=rows.tobytes()).status == 200
    assert server.request("PUT", f"{SLICES}?slice={N - 1}", body=rows[0].tobytes()).status == 200
    document = json.dumps({"attributes": {"seen": True}}).encode()
    assert server.request("PATCH", "/v1/datasets/d/nodes/g/a", MERGE, document).status == 200
    assert server.post("/v1/datasets/d/consolidate/", {}).status == 200
    assert trickle.finish() == 200
    now = np.frombuffer(server.get(SLICES).body, "f4").reshape(-1, 4)
    expected = np.concatenate([np.zeros((N - 1, 4), "f4"), np.full((4, 4), 7, "f4"), np.ones((trickle.n_rows, 4), "f4")])
    np.testing.assert_array_equal(now, expected)
    assert server.get("/v1/datasets/d/nodes/g/a").json()["metadata"]["attributes"] == {"seen": True}


@pytest.mark.parametrize("more", APPENDS.values(), ids=APPENDS)
def test_an_append_that_trickles_keeps_no_deletion_out(server, more, tmp_path):
    trickle = Append(server, **more)
    until_under_way(server, 1)
    assert server.request("DELETE", "/v1/datasets/d/nodes/g?recursive=1").status == 204
    assert trickle.finish() in (404, 409)
    until_left(tmp_path, ["zarr.json"])


def test_an_append_is_not_stored_as_what_it_was_not_sent_for(server, tmp_path):
    """Rows of four elements, when the array has become one of rows of two."""
    trickle = Append(server)
    until_under_way(server, 1)
    assert server.request("PATCH", "/v1/datasets/d/nodes/g/a", MERGE, b'{"shape": [8, 2]}').status == 200
    assert trickle.finish() == 409
    assert length(server) == 8


def test_many_appends_that_trickle_all_land_whole(server):
    n = 12
    appends = [Append(server, form=["raw", "npy", "json"][i % 3], n_rows=5 + i, value=i + 1) for i in range(n)]
    until_under_way(server, n)
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        assert set(pool.map(Append.finish, appends)) == {200}
    rows = np.frombuffer(server.get(f"{SLICES}?slice={N}:").body, "f4").reshape(-1, 4)
    values, counts = np.unique(rows[:, 0], return_counts=True)
    assert (rows == rows[:, :1]).all() and dict(zip(values, counts)) == {i + 1: 5 + i for i in range(n)}
    assert len(np.flatnonzero(np.diff(rows[:, 0]))) == n - 1  # each in one piece


@pytest.mark.parametrize("n_others, status", [(0, 200), (1, 409)])
def test_an_append_too_long_to_be_held_waits_for_nobody_and_keeps_nobody_out(serve, tmp_path, n_others, status):
    """It comes band by band, for the end that the array has at the beginning."""
    write_node(tmp_path, GROUP)
    write_node(tmp_path / "g", GROUP)
    write_values(tmp_path / "g/a", np.zeros((N, 4), "f4"), (CHUNK, 4))
    server = serve("-w", f"d={tmp_path}", "--set", "http.stream_bytes=16KiB", "--set", "limits.write_bytes=32KiB",
                   "--set", "http.body_ms=30000")
    trickle = Append(server, n_rows=8 * CHUNK)
    until_under_way(server, 1)
    for _ in range(n_others):
        assert server.request("PUT", f"{SLICES}?append=0", body=np.full((3, 4), 7, "f4").tobytes()).status == 200
    assert server.request("PATCH", "/v1/datasets/d/nodes/g/a", MERGE, b'{"attributes": {"seen": true}}').status == 200
    assert trickle.finish() == status
    assert length(server) == N + (3 * n_others if status == 409 else 8 * CHUNK)
    assert server.request("PUT", f"{SLICES}?append=0", body=np.full((3, 4), 7, "f4").tobytes()).status == 200


# ---- writers of other objects ----

def slow_reader(server, target):
    """A client that asks for much, and takes the head of it."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(60)
    s.connect(("127.0.0.1", server.port))
    s.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    assert s.recv(12).split()[1] in (b"200", b"503")
    return s


def sender(server, data):
    s = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    s.sendall(data)
    return s


GREEDY = {
    "slices that trickle": lambda server: Trickle(server, "1:,:"),
    "appends that trickle": lambda server: Append(server, n_rows=4 * CHUNK),
    "documents that trickle": lambda server: sender(server, b"PATCH /v1/datasets/d/nodes/g/a HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n{"),
    "keys that trickle": lambda server: sender(server, b"PUT /zarr/d/g/a/c/1/0 HTTP/1.1\r\nHost: a\r\nContent-Length: 8192\r\n\r\nx"),
    "heads that trickle": lambda server: sender(server, b"GET / HTTP/1.1\r\nHo"),
    "readers of slices": lambda server: slow_reader(server, "/v1/datasets/d/slices/long"),
    "readers of JSON": lambda server: slow_reader(server, "/v1/datasets/d/slices/long?format=json"),
    "readers of files": lambda server: slow_reader(server, "/zarr/d/file"),
    "readers of events": lambda server: slow_reader(server, "/v1/datasets/d/events"),
}


@pytest.mark.parametrize("greedy", GREEDY.values(), ids=GREEDY)
def test_writers_of_other_objects_always_get_in(serve, tmp_path, greedy):
    n_greedy, n = 40, 30
    write_node(tmp_path, GROUP)
    write_node(tmp_path / "g", GROUP)
    write_values(tmp_path / "g/a", np.zeros((N, 4), "f4"), (CHUNK, 4))
    write_values(tmp_path / "b", np.zeros((n, 4), "f4"), (1, 4))
    write_array(tmp_path / "long", (1 << 24,), (1 << 16,), [LITTLE])  # 64 MiB that nobody has stored
    with open(tmp_path / "file", "wb") as file:
        file.truncate(64 << 20)
    server = serve("-w", f"d={tmp_path}", "--set", "http.body_ms=30000", "--set", "http.stream_bytes=64KiB")
    clients = [greedy(server) for _ in range(n_greedy)]
    until_idle(server)
    row = np.full(4, 3, "f4").tobytes()
    statuses = [answer.status for i in range(n) for answer in (
        server.request("PUT", f"/v1/datasets/d/slices/b?slice={i}", body=row),
        server.request("PUT", f"/zarr/d/b/c/{i}/0", body=row),
        server.request("PUT", "/v1/datasets/d/slices/b?append=0", body=row),
        server.request("PATCH", "/v1/datasets/d/nodes/b", MERGE, b'{"attributes": {"i": %d}}' % i))]
    assert statuses == [200] * 4 * n, statuses
    assert np.frombuffer(server.get("/v1/datasets/d/slices/b").body, "f4").tolist() == [3] * 8 * n
    for client in clients:
        getattr(client, "socket", client).close()
