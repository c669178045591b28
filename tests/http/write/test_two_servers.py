"""Two server processes on one store: neither loses what the other has written, and the death of one does not stop the other."""

import concurrent.futures
import contextlib
import json
import re
import signal
import socket
import struct
import time

import numpy as np
import pytest
from client import BYTES, DEADLINE_S, FRESH, JSON, PATCH
from files import contents
from live import Server
from workload import DATASET, array, litter, tidied

NODES = f"/v1/datasets/{DATASET}/nodes"
SLICES = f"/v1/datasets/{DATASET}/slices"
KEYS = f"/zarr/{DATASET}"
CHUNK = 128
N_RACERS = 8
N_CHANGERS = 64


@pytest.fixture
def pair(tmp_path):
    """Two servers that ask the store each time; servers[0] obeys switches of faults."""
    config = {"datasets": {DATASET: {"location": str(tmp_path), "writable": True, "revalidate_ms": 0}}}
    servers = [Server(config=config, faults={}), Server(config=config)]
    servers[0].root = tmp_path
    servers[0].config = config
    document = json.dumps(array([4 * CHUNK], [CHUNK], "int32")).encode()
    assert servers[0].request("PUT", f"{NODES}/a", JSON, document).status == 201
    yield servers
    for server in servers:
        if server.process.returncode is None:
            server.stop()


def reload(server, datasets):
    """SIGHUP with other datasets: they are served when this is over."""
    (server.folder / "config.json").write_text(json.dumps({"datasets": datasets}))
    server.process.send_signal(signal.SIGHUP)
    end = time.monotonic() + DEADLINE_S
    while "reload: datasets:" not in server.log:
        assert time.monotonic() < end, server.log
        time.sleep(0.01)


def together(pair, n, act):
    """act(server, connection, i) of n clients, half of them at each server."""
    def run(i):
        server = pair[i % 2]
        connection = server.connection()
        try:
            return act(server, connection, i)
        finally:
            connection.close()

    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return list(pool.map(run, range(n)))


@pytest.mark.parametrize("target, headers, created, make", [
    (f"{KEYS}/a/c/0", BYTES, 200, lambda i: struct.pack("<i", i + 1) * CHUNK),
    (f"{NODES}/new/x", JSON, 201, lambda i: json.dumps(array([4], [2], "int32", attributes={"racer": i})).encode()),
    (f"{KEYS}/k/zarr.json", JSON, 200, lambda i: json.dumps(array([4], [2], "int32", attributes={"racer": i})).encode()),
])
def test_a_single_creator_wins(pair, target, headers, created, make):
    for _ in range(12):
        answers = together(pair, N_RACERS, lambda server, connection, i: server.request(
            "PUT", target, {**headers, "If-None-Match": "*"}, make(i), connection=connection))
        assert sorted(answer.status for answer in answers) == [created] + [412] * (N_RACERS - 1), answers
        winner = [answer.status for answer in answers].index(created)
        for server in pair:
            body = server.get(target).body
            assert body == make(winner) if target.startswith(KEYS) else json.loads(body)["metadata"]["attributes"] == {"racer": winner}
        assert pair[0].request("DELETE", target).status == 204


@pytest.mark.parametrize("target", [f"{KEYS}/a/c/1", f"{SLICES}/a?slice=0:8"])
def test_conditional_changes_lose_no_update(pair, target):
    """A counter, read and written with If-Match: it ends at the number of writes that were told to have succeeded."""
    size = 4 * (CHUNK if target.startswith(KEYS) else 8)
    assert pair[0].request("PUT", target, BYTES, bytes([1, 0, 0, 0]) * (size // 4)).status == 200

    def count(server, connection, _):
        n_done = 0
        for _ in range(4):
            seen = server.get(target, connection=connection)
            value = struct.unpack_from("<i", seen.body)[0] + 1
            answer = server.request("PUT", target, {**BYTES, "If-Match": seen.headers["etag"]}, struct.pack("<i", value) * (size // 4),
                                    connection=connection)
            assert answer.status in (200, 412), answer
            n_done += answer.status == 200
        return n_done

    n_done = sum(together(pair, N_CHANGERS, count))
    for server in pair:
        assert server.get(target).body == struct.pack("<i", 1 + n_done) * (size // 4)
    assert n_done > 4


def test_disjoint_parts_of_one_chunk_all_survive(pair):
    n_each = CHUNK // N_CHANGERS
    for turn in range(1, 4):
        answers = together(pair, N_CHANGERS, lambda server, connection, i: server.request(
            "PUT", f"{SLICES}/a?slice={i * n_each}:{(i + 1) * n_each}", BYTES, struct.pack("<i", turn * 1000 + i) * n_each,
            connection=connection))
        assert {answer.status for answer in answers} == {200}
        values = struct.unpack(f"<{CHUNK}i", pair[turn % 2].get(f"{SLICES}/a?slice=0:{CHUNK}").body)
        assert values == tuple(turn * 1000 + i // n_each for i in range(CHUNK))


def test_a_killed_lock_holder_keeps_nobody_waiting(pair):
    """It dies within the step that no two may take at once; its file is swept by who comes next."""
    victim, other = pair
    body = struct.pack("<i", 7) * CHUNK
    with concurrent.futures.ThreadPoolExecutor(2) as pool, victim.faulting("rename.wait"):
        hanging = pool.submit(lambda: pytest.raises(OSError, victim.request, "PUT", f"{KEYS}/a/c/2", BYTES, body))
        victim.until_waiting("rename")
        assert len(litter(victim.root)) == 1
        waiting = pool.submit(other.request, "PUT", f"{KEYS}/a/c/2", BYTES, struct.pack("<i", 8) * CHUNK)
        assert other.get(f"{KEYS}/a/c/2").status == 404
        assert not waiting.done()  # a lock of another process holds it
        victim.process.kill()
        assert waiting.result(DEADLINE_S).status == 200
        hanging.result()
    victim.abandon()
    assert other.get(f"{KEYS}/a/c/2").body == struct.pack("<i", 8) * CHUNK
    third = Server(config=victim.config)
    assert tidied(victim.root)
    assert third.get(f"{KEYS}/a/c/2").body == struct.pack("<i", 8) * CHUNK
    third.stop()


@contextlib.contextmanager
def stopped(server, body):
    """A server that stands still, not dead, within the step that no two may take at once: for a/c/2. -> its answer, later"""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with server.faulting("rename.wait"):
            hanging = pool.submit(server.request, "PUT", f"{KEYS}/a/c/2", BYTES, body)
            server.until_waiting("rename")
            server.process.send_signal(signal.SIGSTOP)
            try:
                yield hanging
            finally:
                server.process.send_signal(signal.SIGCONT)


def test_a_stopped_lock_holder_is_waited_for_for_a_while(pair):
    victim, _ = pair
    old, new, last = (struct.pack("<i", i) * CHUNK for i in (7, 8, 9))
    other = Server("--set", "limits.lock_ms=100", config=victim.config)
    assert other.request("PUT", f"{KEYS}/a/c/2", BYTES, old).status == 200
    tag = {**BYTES, "If-Match": other.get(f"{SLICES}/a").headers["etag"]}
    with stopped(victim, new) as hanging:
        for method, target, headers, data in [
                ("PUT", f"{KEYS}/a/c/2", BYTES, last),
                ("DELETE", f"{KEYS}/a/c/2", {}, b""),
                ("PUT", f"{SLICES}/a?slice={2 * CHUNK}:{2 * CHUNK + 2}", BYTES, last[:8]),
                ("PUT", f"{SLICES}/a", tag, last * 4)]:
            answer = other.request(method, target, headers, data)
            assert (answer.status, answer.code) == (504, "store_timeout"), answer
            assert ".zarrd-tmp-writers/lock" in answer.json()["detail"]
        assert other.request("PUT", f"{KEYS}/a/c/3", BYTES, last).status == 200
        assert other.get(f"{KEYS}/a/c/2").body == old
        end = time.monotonic() + DEADLINE_S
        while len(litter(victim.root)) > 1:  # what was staged in vain goes after the answer
            assert time.monotonic() < end
            time.sleep(0.002)
        assert len(litter(victim.root)) == 1 and not hanging.done()
    assert hanging.result(DEADLINE_S).status == 200
    assert other.get(f"{KEYS}/a/c/2").body == new
    assert other.request("PUT", f"{KEYS}/a/c/2", BYTES, last).status == 200
    assert victim.get(f"{KEYS}/a/c/2").body == last
    assert tidied(victim.root)
    other.stop()


@pytest.mark.parametrize("is_retired", [False, True], ids=["served", "retired"])
def test_a_server_that_waits_for_a_stopped_one_can_be_stopped(pair, is_retired):
    victim, _ = pair
    body = struct.pack("<i", 8) * CHUNK
    other = Server("--set", "limits.lock_ms=3600000", "--set", "http.drain_ms=0", config=victim.config)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, stopped(victim, body) as hanging:
        waiting = pool.submit(other.request, "PUT", f"{KEYS}/a/c/2", BYTES, body)
        end = time.monotonic() + DEADLINE_S
        while len(litter(victim.root)) < 2:
            assert time.monotonic() < end
            time.sleep(0.002)
        if is_retired:
            reload(other, {DATASET: {**victim.config["datasets"][DATASET], "title": "Another"}})
        other.stop()
        answer = waiting.result(DEADLINE_S)
        assert (answer.status, answer.code) == (503, "draining"), answer
        assert len(litter(victim.root)) == 1
    assert hanging.result(DEADLINE_S).status == 200
    assert tidied(victim.root)


def test_a_starting_server_sweeps_nothing_of_a_living_one(pair):
    """What a living server is about to write is there when it is done with it, however many start meanwhile."""
    slow, _ = pair
    body = struct.pack("<i", 9) * CHUNK
    with concurrent.futures.ThreadPoolExecutor(1) as pool, slow.faulting("fdatasync.wait"):
        hanging = pool.submit(slow.request, "PUT", f"{KEYS}/a/c/3", BYTES, body)
        slow.until_waiting("fdatasync")
        kept = litter(slow.root)
        assert len(kept) == 1
        for _ in range(3):
            third = Server(config=slow.config)
            assert third.request("PUT", f"{KEYS}/a/c/0", BYTES, body).status == 200
            third.stop()
        assert litter(slow.root) == kept and not hanging.done()
    assert hanging.result(DEADLINE_S).status == 200
    assert slow.get(f"{KEYS}/a/c/3").body == body


# ---- arrays that another process changes ----

@pytest.fixture
def forgetful(tmp_path):
    """servers[0] asks the store about what it knows only when it must: an hour later; servers[1] changes things."""
    configs = [{"datasets": {DATASET: {"location": str(tmp_path), "writable": True, "revalidate_ms": ms}}} for ms in (3600_000, 0)]
    servers = [Server("--set", "http.stream_bytes=4KiB", config=config) for config in configs]
    for server in servers:
        server.root = tmp_path
    yield servers
    for server in servers:
        server.stop()


def put_node(server, path, shape, chunk, dtype="int32", query="", status=201):
    answer = server.request("PUT", f"{NODES}/{path}{query}", JSON, json.dumps(array(shape, chunk, dtype)).encode())
    assert answer.status == status, answer


def put_slice(server, path, text, values, form="i"):
    return server.request("PUT", f"{SLICES}/{path}?slice={text}", BYTES, struct.pack(f"<{len(values)}{form}", *values))


def slice_of(server, path, form="i"):
    answer = server.get(f"{SLICES}/{path}")
    assert answer.status == 200, answer
    return list(struct.unpack(f"<{len(answer.body) // struct.calcsize(form)}{form}", answer.body))


def test_a_slice_is_judged_by_the_array_as_it_is_now(forgetful):
    writer, other = forgetful
    put_node(writer, "b", [8], [4])
    assert put_slice(writer, "b", "0:8", range(8)).status == 200
    assert slice_of(writer, "b") == list(range(8))
    put_node(other, "b", [8], [4], "float64", "?erase_chunks=1", 200)
    answer = put_slice(writer, "b", "0:4", range(4))
    assert (answer.status, answer.json()["code"]) == (400, "bad_body"), answer
    assert slice_of(other, "b", "d") == [0] * 8
    assert put_slice(writer, "b", "0:4", range(4), "d").status == 200
    assert slice_of(other, "b", "d") == [0, 1, 2, 3, 0, 0, 0, 0]


def test_a_server_with_an_old_shape_erases_nothing_beyond_it(forgetful):
    writer, other = forgetful
    put_node(writer, "a", [5], [4])
    assert put_slice(writer, "a", "0:5", [1, 2, 3, 4, 5]).status == 200
    assert slice_of(writer, "a") == [1, 2, 3, 4, 5]
    assert other.request("PATCH", f"{NODES}/a", PATCH, b'{"shape":[8]}').status == 200
    assert put_slice(other, "a", "5:8", [60, 70, 80]).status == 200
    assert put_slice(writer, "a", "4:5", [50]).status == 200
    assert slice_of(other, "a") == [1, 2, 3, 4, 50, 60, 70, 80]


def slowly(server, path, text, values, meanwhile, form="i"):
    """A slice (None: an append) whose last element comes when `meanwhile` is over. -> status, document"""
    query = "append=0" if text is None else f"slice={text}"
    data = struct.pack(f"<{len(values)}{form}", *values)
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
        s.sendall(f"PUT {SLICES}/{path}?{query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                  f"Content-Type: application/octet-stream\r\nExpect: 100-continue\r\nContent-Length: {len(data)}\r\n\r\n".encode())
        with s.makefile("rb") as answer:
            assert answer.readline().startswith(b"HTTP/1.1 100 ") and answer.readline() == b"\r\n"  # the array was judged
            s.sendall(data[:-4])
            meanwhile()
            s.sendall(data[-4:])
            status = int(answer.readline().split()[1])
            return status, json.loads(answer.read().partition(b"\r\n\r\n")[2])


@pytest.mark.parametrize("text, values", [("0:3", [1, 2, 3]), ("0:5", [1, 2, 3, 4, 5])])
@pytest.mark.parametrize("shape, dtype, form", [([5], "float64", "d"), ([2], "int32", "i")])
def test_an_array_that_changes_while_the_slice_comes_refuses_it(forgetful, text, values, shape, dtype, form):
    writer, other = forgetful
    put_node(writer, "a", [5], [4])
    status, problem = slowly(writer, "a", text, values, lambda: put_node(
        other, "a", shape, [4], dtype, "?erase_chunks=1", 200))
    assert (status, problem["code"]) == (409, "shape_mismatch")
    assert slice_of(other, "a", form) == [0] * shape[0]
    assert tidied(writer.root)


@pytest.mark.parametrize("text, values", [("4:5", [50]), ("0:5", [10, 20, 30, 40, 50])])
def test_an_array_that_grows_while_the_slice_comes_keeps_what_is_new(forgetful, text, values):
    writer, other = forgetful
    put_node(writer, "a", [5], [4])

    def grow():
        appended = other.request("PUT", f"{SLICES}/a?append=0", BYTES, struct.pack("<3i", 60, 70, 80))
        assert appended.status == 200, appended

    assert slowly(writer, "a", text, values, grow)[0] == 200
    assert slice_of(other, "a") == [0] * (5 - len(values)) + values + [60, 70, 80]


@pytest.mark.parametrize("text, data", [("slice=0:1,0:1", [7]), ("append=1", [7, 8, 9])])
def test_a_staged_long_slice_is_of_one_state(forgetful, text, data):
    """Rows that end before their chunks do; each is a band, so that none can be made again."""
    writer, other = forgetful
    width = 1500
    put_node(writer, "a", [3, width], [1, 2048])
    assert put_slice(writer, "a", "0:3", [1] * (3 * width)).status == 200

    def meddle():
        end = time.monotonic() + DEADLINE_S
        while len(litter(writer.root)) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        assert len(litter(writer.root)) == 2
        answer = other.request("PUT", f"{SLICES}/a?{text}", BYTES, struct.pack(f"<{len(data)}i", *data))
        assert answer.status == 200, answer

    status, problem = slowly(writer, "a", "0:3", [2] * (3 * width), meddle)
    assert (status, problem["code"]) in [(412, "precondition_failed")], problem
    rows = np.array(slice_of(other, "a")).reshape(3, -1)
    if len(data) == 1:
        assert rows[0, 0] == 7 and (rows.ravel()[1:] == 1).all()
    else:
        assert rows[:, -1].tolist() == data and (rows[:, :-1] == 1).all()
    assert tidied(writer.root)
    assert put_slice(writer, "a", "0:3", [3] * rows.size).status == 200
    assert slice_of(other, "a") == [3] * rows.size


def test_appending_goes_on_when_other_parts_of_the_document_change(forgetful):
    writer, other = forgetful
    put_node(writer, "a", [5], [4])

    def annotate():
        assert other.request("PATCH", f"{NODES}/a", PATCH, b'{"attributes":{"by":"other"}}').status == 200

    status, answer = slowly(writer, "a", None, [6, 7, 8], annotate)
    assert (status, answer.get("shape")) == (200, [8]), answer
    assert slice_of(other, "a") == [0, 0, 0, 0, 0, 6, 7, 8]
    assert other.get(f"{NODES}/a").json()["metadata"]["attributes"] == {"by": "other"}


def test_a_tag_of_another_server_is_good_for_a_slice(forgetful):
    writer, other = forgetful
    put_node(writer, "a", [8], [4])
    assert put_slice(writer, "a", "0:8", range(8)).status == 200
    slice_of(writer, "a")
    assert put_slice(other, "a", "0:8", range(8, 16)).status == 200
    headers = {**BYTES, "If-Match": other.get(f"{SLICES}/a").headers["etag"]}
    assert writer.request("PUT", f"{SLICES}/a", headers, struct.pack("<8i", *range(16, 24))).status == 200
    assert slice_of(other, "a") == list(range(16, 24))


N_CHUNKS = 100


def long_array(servers):
    """One whose chunks take several batches to go."""
    document = json.dumps(array([N_CHUNKS], [1], "int32")).encode()
    assert servers[0].request("PUT", f"{NODES}/long", JSON, document).status == 201
    target = f"{SLICES}/long?slice=&broadcast=1"
    assert servers[0].request("PUT", target, BYTES, struct.pack("<i", 5)).status == 200
    return document


def chunks_left(server):
    return sorted(map(int, contents(server.root / "long" / "c")))


def test_a_node_that_another_server_makes_again_loses_nothing(pair):
    slow, other = pair
    document = long_array(pair)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, slow.faulting("unlink.wait", "1"):  # the document goes
        erasing = pool.submit(slow.request, "DELETE", f"{NODES}/long")
        slow.until_waiting("unlink")
        assert other.request("PUT", f"{KEYS}/long/zarr.json", JSON, document).status == 200
        assert other.request("PUT", f"{KEYS}/long/c/99", BYTES, struct.pack("<i", 6)).status == 200
    assert erasing.result(DEADLINE_S).status == 204
    for server in pair:
        assert server.get(f"{KEYS}/long/zarr.json").body == document
        assert server.get(f"{KEYS}/long/c/99").body == struct.pack("<i", 6)


def test_an_array_that_another_server_grows_again_loses_nothing(pair):
    slow, other = pair
    long_array(pair)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, slow.faulting("unlink.wait"):
        shrinking = pool.submit(slow.request, "PATCH", f"{NODES}/long", PATCH, b'{"shape": [2]}')
        slow.until_waiting("unlink")
        assert other.request("PATCH", f"{NODES}/long", PATCH, b'{"shape": [100]}').status == 200
        assert other.request("PUT", f"{KEYS}/long/c/99", BYTES, struct.pack("<i", 6)).status == 200
    assert shrinking.result(DEADLINE_S).status == 200
    assert other.get(f"{SLICES}/long?slice=99").body == struct.pack("<i", 6)
    # and one that stays small loses all that is outside
    assert slow.request("PATCH", f"{NODES}/long", PATCH, b'{"shape": [2]}').status == 200
    assert chunks_left(slow) == [0, 1]


def test_a_listing_that_cannot_be_refreshed_is_dropped(pair):
    server, _ = pair
    assert server.request("POST", "/v1/datasets/%s/consolidate/" % DATASET).status == 200
    assert b"consolidated_metadata" in server.get(f"{KEYS}/zarr.json").body
    document = json.dumps(array([4], [2], "int32")).encode()
    server.fault("rename", "5 1")  # the node is stored, then EIO
    assert server.request("PUT", f"{NODES}/b", JSON, document).status == 201
    assert b"consolidated_metadata" not in server.get(f"{KEYS}/zarr.json").body
    assert server.get(f"{NODES}/b").status == 200


SMALL = json.dumps(array([4], [2], "int32")).encode()
GROUP = b'{"zarr_format":3,"node_type":"group"}'


def check(server):
    return server.get(f"/v1/datasets/{DATASET}/tree/?check=1").json()["check"]


@pytest.mark.parametrize("mine, others, listed", [
    (("PATCH", "a", PATCH, b'{"attributes":{"by":"me"}}'), [("PATCH", "a", PATCH, b'{"attributes":{"too":1}}')], True),
    (("PATCH", "a", PATCH, b'{"attributes":{"by":"me"}}'), [("DELETE", "a", {}, b"")], True),
    (("DELETE", "a", {}, b""), [("PUT", "a", JSON, SMALL)], True),
    # what is below it is known to the other one only: no listing is true, one that lacks it is not
    (("DELETE", "a", {}, b""), [("PUT", "a", JSON, GROUP), ("PUT", "a/b", JSON, SMALL)], False),
])
def test_a_late_listing_shows_another_processs_changes(pair, mine, others, listed):
    """One has stored the document and not listed it yet; the other changes it, and lists that."""
    slow, other = pair
    assert slow.request("POST", f"/v1/datasets/{DATASET}/consolidate/").status == 200

    def change(server, method, path, headers, body):
        return server.request(method, f"{NODES}/{path}", headers, body).status

    with concurrent.futures.ThreadPoolExecutor(1) as pool, slow.faulting("fsync-directory.wait"):
        changing = pool.submit(change, slow, *mine)
        slow.until_waiting("fsync-directory")
        assert {change(other, *step) for step in others} <= {200, 201, 204}
    assert changing.result(DEADLINE_S) in (200, 201, 204)
    for server in pair:
        assert check(server) == FRESH if listed else check(server)["stored"] is False


def until_logged(server, status):
    """Until a request has ended with that status."""
    end = time.monotonic() + DEADLINE_S
    while not re.search(rf"POST \S+ {status} ", server.log):
        assert time.monotonic() < end, server.log
        time.sleep(0.002)


def test_a_consolidation_keeps_what_it_lists_when_its_client_leaves(pair):
    """Nothing below the group changes until the listing is stored."""
    server, _ = pair
    assert server.request("PUT", f"{KEYS}/a/c/0", BYTES, struct.pack("<i", 7) * CHUNK).status == 200
    with concurrent.futures.ThreadPoolExecutor(1) as pool, server.faulting("rename.wait"):
        client = server.connection()
        client.request("POST", f"/v1/datasets/{DATASET}/consolidate/")
        server.until_waiting("rename")
        client.close()
        until_logged(server, "499")
        erasing = pool.submit(server.request, "DELETE", f"{KEYS}/a/c/0")
        for _ in range(50):
            assert server.get(f"{KEYS}/a/c/0").status == 200
        assert not erasing.done()
    assert erasing.result(DEADLINE_S).status == 204
    assert b"consolidated_metadata" in server.get(f"{KEYS}/zarr.json").body
