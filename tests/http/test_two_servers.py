"""Two server processes on one store: neither loses what the other has written, and the death of one does not stop the other."""

import concurrent.futures
import json
import struct

import pytest
from live import Server
from workload import DATASET, array, litter, tidied

DEADLINE_S = 60
NODES = f"/v1/datasets/{DATASET}/nodes"
SLICES = f"/v1/datasets/{DATASET}/slices"
KEYS = f"/zarr/{DATASET}"
JSON = {"Content-Type": "application/json"}
BYTES = {"Content-Type": "application/octet-stream"}
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
def test_of_those_who_create_one_wins(pair, target, headers, created, make):
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
def test_who_changes_what_he_has_seen_loses_no_update(pair, target):
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


def test_who_is_killed_with_a_lock_keeps_nobody_waiting(pair):
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


def test_who_starts_sweeps_nothing_of_who_lives(pair):
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
