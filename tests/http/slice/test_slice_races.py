"""Many writers of one array at once, on one server and on two."""

import concurrent.futures
import json
import socket
import threading

import numpy as np
import pytest
import zarr
from client import until_under_way
from documents import LITTLE, ZSTD, shard
from slices import append, get, make_array, put, same, start

N_CLIENTS = 64


def at_once(work, n_clients):
    """work(i) of every client, begun together."""
    barrier = threading.Barrier(n_clients)

    def run(i):
        barrier.wait(60)
        return work(i)

    with concurrent.futures.ThreadPoolExecutor(n_clients) as pool:
        return list(pool.map(run, range(n_clients)))


def servers(serve, tmp_path, n):
    return [start(serve, tmp_path) for _ in range(n)]


@pytest.mark.parametrize("n_servers", [1, 2])
@pytest.mark.parametrize("text,layout", [("3:5", "one object"), ("3:9", "three objects"), ("3:5", "shard")])
def test_read_modify_write_with_if_match_loses_nothing(serve, tmp_path, n_servers, text, layout):
    codecs = [shard((2,), [LITTLE])] if layout == "shard" else [LITTLE]
    make_array(tmp_path / "a", (16,), (8,) if layout == "shard" else (4,) if layout == "one object" else (3,), codecs, "int64", 0)
    running = servers(serve, tmp_path, n_servers)
    n_rounds = 4

    def client(i):
        server = running[i % n_servers]
        connection = server.connection()
        n_won = 0
        for _ in range(n_rounds):
            read = server.get(f"/v1/datasets/work/slices/a?slice={text}", connection=connection)
            values = np.frombuffer(read.body, "<i8") + 1
            written = server.request("PUT", f"/v1/datasets/work/slices/a?slice={text}", {"If-Match": read.headers["etag"]},
                                     values.tobytes(), connection=connection)
            assert written.status in (200, 412), written
            n_won += written.status == 200
        connection.close()
        return n_won

    n_won = sum(at_once(client, N_CLIENTS))
    stored = np.asarray(zarr.open_array(tmp_path / "a", mode="r")[:])
    first, last = (int(bound) for bound in text.split(":"))
    assert n_won > 0 and stored[first:last].tolist() == [n_won] * (last - first)
    assert stored.sum() == n_won * (last - first)


@pytest.mark.parametrize("n_servers", [1, 2])
@pytest.mark.parametrize("chunk,codecs", [
    ((64, 8), [LITTLE, ZSTD]), ((64, 8), [shard((3, 8), [LITTLE])]), ((8, 3), [LITTLE])], ids=["chunk", "shard", "several"])
def test_disjoint_parts_of_one_chunk_all_survive(serve, tmp_path, n_servers, chunk, codecs):
    if codecs[0]["name"] == "sharding_indexed":
        chunk = (66, 8)
    make_array(tmp_path / "a", (64, 8), chunk, codecs, "int32", 0)
    running = servers(serve, tmp_path, n_servers)
    answers = at_once(lambda i: put(running[i % n_servers], "a", np.full(8, i + 1, "<i4"), str(i)), N_CLIENTS)
    assert {answer.status for answer in answers} == {200}
    expected = np.repeat(np.arange(1, 65, dtype="<i4")[:, None], 8, 1)
    assert same(np.asarray(zarr.open_array(tmp_path / "a", mode="r")[:]), expected)
    for server in running:
        assert same(get(server, "a", dtype="<i4"), expected)


@pytest.mark.parametrize("chunk,codecs", [((64, 8), [LITTLE, ZSTD]), ((66, 8), [shard((3, 8), [LITTLE])])], ids=["chunk", "shard"])
def test_parts_of_one_chunk_that_wait_are_merged(serve, tmp_path, chunk, codecs):
    make_array(tmp_path / "a", (64, 8), chunk, codecs, "int32", 0)
    server = start(serve, tmp_path, faults={})
    with server.cost() as cost, concurrent.futures.ThreadPoolExecutor(N_CLIENTS) as pool:
        with server.faulting("rename.wait"):
            answers = [pool.submit(put, server, "a", np.full(8, i + 1, "<i4"), str(i)) for i in range(N_CLIENTS)]
            until_under_way(server, N_CLIENTS)
        assert {answer.result().status for answer in answers} == {200}
    assert get(server, "a", dtype="<i4")[:, 0].tolist() == list(range(1, N_CLIENTS + 1))
    assert cost["zarrd_store_writes_total"] < N_CLIENTS  # as few as two, when all have come before the first ends

def test_slices_that_cross_each_other_do_not_wait_for_ever(serve, tmp_path):
    """Rows and columns, forwards and backwards: each locks several objects that others lock too."""
    make_array(tmp_path / "a", (12, 12), (3, 3), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    texts = ["0:12", "::-1", ":,2:9", "::-1,::-1", "4:8,::-2", "10:1:-3"]

    def client(i):
        text = texts[i % len(texts)]
        return put(server, "a", np.array(i + 1, "<i4"), text, query="&broadcast=1").status

    assert set(at_once(client, 36)) == {200}
    found = get(server, "a", dtype="<i4")
    assert found[1, 10] > 0 and set(np.unique(found)) <= set(range(1, 37))


def test_a_slice_over_several_objects_is_seen_whole_or_not_at_all_by_the_next_writer(serve, tmp_path):
    """Two writers of all of it: what remains is one of them, never a mix."""
    make_array(tmp_path / "a", (64,), (4,), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    for _ in range(5):
        at_once(lambda i: put(server, "a", np.full(64, i + 1, "<i4")).status, 8)
        assert len(np.unique(get(server, "a", dtype="<i4"))) == 1


@pytest.mark.parametrize("n_servers", [1, 2])
@pytest.mark.parametrize("chunk,codecs", [((5, 2), [LITTLE]), ((40, 2), [shard((5, 1), [LITTLE])])], ids=["chunks", "shards"])
def test_appends_at_once_land_whole_or_not_at_all(serve, tmp_path, n_servers, chunk, codecs):
    make_array(tmp_path / "a", (0, 2), chunk, codecs, "int64", 0)
    running = servers(serve, tmp_path, n_servers)
    n_clients = 16

    def client(i):
        statuses = []
        for k in range(3):
            rows = np.full((7, 2), 1 + i * 10 + k, "<i8")
            answer = append(running[i % n_servers], "a", rows, "0")
            assert answer.status in (200, 409, 412), answer
            statuses.append((1 + i * 10 + k, answer.status))
        return statuses

    landed = {value for statuses in at_once(client, n_clients) for value, status in statuses if status == 200}
    if n_servers == 1:
        assert len(landed) == 3 * n_clients
    stored = np.asarray(zarr.open_array(tmp_path / "a", mode="r")[:])
    assert stored.shape == (7 * len(landed), 2) and landed
    rows = stored.reshape(-1, 14)
    assert (rows == rows[:, :1]).all() and set(rows[:, 0]) == landed


def head_of_put(path, n_bytes, **headers):
    lines = [f"PUT {path} HTTP/1.1", "Host: x", f"Content-Length: {n_bytes}"]
    return "\r\n".join(lines + [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()] + ["", ""]).encode()


def status_of(s):
    """Of the answer that comes next."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = s.recv(65536)
        assert piece, "the server hung up"
        answer += piece
    return int(answer.split(b" ", 2)[1])


def tag_of(server, path, text=""):
    return server.get(f"/v1/datasets/work/slices/{path}?slice={text}").headers["etag"]


def test_an_append_and_a_slice_under_a_condition_do_not_wait_for_each_other(serve, tmp_path):
    make_array(tmp_path / "a", (6,), (4,), dtype="int32", fill=0, dimension_names=["t"])
    server = start(serve, tmp_path)
    path = "/v1/datasets/work/slices/a"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as one, \
            socket.create_connection(("127.0.0.1", server.port), timeout=60) as other:
        one.sendall(head_of_put(path, 24, If_Match=tag_of(server, "a"), Expect="100-continue"))
        assert status_of(one) == 100  # it is judged, and its body awaited
        other.sendall(head_of_put(path + "?append=t", 4) + np.array([7], "<i4").tobytes())
        for _ in range(50):  # the other is as far as it gets
            assert server.get("/v1/datasets/work/nodes/a").status == 200
        one.sendall(np.arange(11, 17, dtype="<i4").tobytes())
        answers = (status_of(one), status_of(other))
    assert answers in ((200, 200), (200, 412), (412, 200))
    expected = list(range(11, 17)) if answers[0] == 200 else [0] * 6
    assert get(server, "a", dtype="<i4").tolist() == expected + [7] * (answers[1] == 200)


def test_appends_and_slices_under_conditions_all_end(serve, tmp_path):
    make_array(tmp_path / "a", (6,), (4,), dtype="int32", fill=0, dimension_names=["t"])
    server = start(serve, tmp_path)

    def client(i):
        ends = []
        for n in range(40):
            if i % 2:
                ends.append(append(server, "a", np.array([i], "<i4"), "t").status)
            else:
                etag = tag_of(server, "a", "0:6")
                ends.append(put(server, "a", np.full(6, n, "<i4"), "0:6", If_Match=etag).status)
        return ends

    ends = at_once(client, 6)
    assert {status for some in ends for status in some} <= {200, 412}
    n_appended = sum(some.count(200) for some in ends[1::2])
    assert get(server, "a", dtype="<i4").shape == (6 + n_appended,)


@pytest.mark.parametrize("query", ["", "?append=t"])
def test_others_need_not_wait_for_a_slow_body(serve, tmp_path, query):
    make_array(tmp_path / "a", (6,), (4,), dtype="int32", fill=0, dimension_names=["t"])
    server = start(serve, tmp_path)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as slow:
        slow.sendall(head_of_put("/v1/datasets/work/slices/a" + query, 24, Expect="100-continue"))
        assert status_of(slow) == 100
        slow.sendall(b"\1\0\0\0")
        assert put(server, "a", np.array([5, 6], "<i4"), "3:5").status == 200
        assert put(server, "a", np.array([7], "<i4"), "5").status == 200
        assert get(server, "a", dtype="<i4").tolist() == [0, 0, 0, 5, 6, 7]
        slow.sendall(b"\1\0\0\0" * 5)
        status = status_of(slow)
    expected = [1] * 6 if query == "" else [0, 0, 0, 5, 6, 7] + [1] * 6 * (status == 200)
    assert status == 200 or query != "" and status == 412
    assert get(server, "a", dtype="<i4").tolist() == expected


def test_raw_chunks_do_not_slip_into_a_slice_under_a_condition(serve, tmp_path):
    n = 64
    make_array(tmp_path / "a", (n,), (1,), dtype="int32", fill=0)
    server = start(serve, tmp_path)
    is_over = threading.Event()

    def write_chunks():
        value = 1000
        while not is_over.is_set():
            value += 1
            assert server.request("PUT", "/zarr/work/a/c/60", {}, np.array([value], "<i4").tobytes()).status == 200

    def write_slices():
        ends = []
        before = 0
        for value in range(1, 60):
            status = put(server, "a", np.full(n, value, "<i4"), If_Match=tag_of(server, "a")).status
            rest = set(np.delete(get(server, "a", dtype="<i4"), 60).tolist())
            before = value if status == 200 else before
            ends.append((status, rest == {before}))
        is_over.set()
        return ends

    ends = at_once(lambda i: [write_slices, write_chunks][i](), 2)[0]
    assert set(ends) <= {(200, True), (412, True)}


STATISTICS = {"name": "example.array-statistics", "must_understand": False, "configuration": {"min": 0, "max": 0}}


def bounds_of(folder):
    configuration = json.loads((folder / "zarr.json").read_text())["extensions"][0]["configuration"]
    return configuration["min"], configuration["max"]


def test_writers_that_widen_bounds_at_once_all_succeed(serve, tmp_path):
    make_array(tmp_path / "a", (N_CLIENTS,), (1,), dtype="int32", fill=0, extensions=[STATISTICS])
    server = start(serve, tmp_path)
    connections = [server.connection() for _ in range(N_CLIENTS)]
    with server.cost() as cost:
        for i, connection in enumerate(connections):  # in the order of their values, so that each widens what was before it
            connection.request("PUT", f"/v1/datasets/work/slices/a?slice={i}", np.array([i + 1], "<i4").tobytes())
        statuses = [connection.getresponse().status for connection in connections]
    for connection in connections:
        connection.close()
    assert statuses == [200] * N_CLIENTS
    assert get(server, "a", "", "<i4").tolist() == list(range(1, N_CLIENTS + 1)) and bounds_of(tmp_path / "a") == (0, N_CLIENTS)
    assert cost["zarrd_store_writes_total"] <= 3 * N_CLIENTS  # a chunk, and at most one change each that is staged and committed
