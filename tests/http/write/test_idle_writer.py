"""What writers need in a store is gone when nothing is written: users find there what they have stored, and nothing else."""

import concurrent.futures
import json
import os
import struct
import subprocess
import time

import pytest
from client import BYTES, DEADLINE_S, JSON, wait_until
from live import Server
from workload import DATASET, array

NODES = f"/v1/datasets/{DATASET}/nodes"
SLICES = f"/v1/datasets/{DATASET}/slices"
KEYS = f"/zarr/{DATASET}"
CHUNK = 128
N_ROUNDS = 3
HIDDEN = ".zarrd-tmp-writers"


def config(folder):
    return {"datasets": {DATASET: {"location": str(folder), "writable": True, "revalidate_ms": 0}}}


def put(server, i, value):
    answer = server.request("PUT", f"{KEYS}/a/c/{i}", BYTES, struct.pack("<i", value) * CHUNK)
    assert answer.status in (200, 201, 204), answer


def make(server):
    document = json.dumps(array([64 * CHUNK], [CHUNK], "int32")).encode()
    assert server.request("PUT", f"{NODES}/a", JSON, document).status == 201


def hidden(folder):
    """All that no client has stored."""
    return [name for _, folders, names in os.walk(folder) for name in folders + names if name.startswith(".zarrd")]


def comes_to_rest(folder):
    end = time.monotonic() + DEADLINE_S
    while hidden(folder):
        assert time.monotonic() < end, hidden(folder)
        time.sleep(0.01)


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


def test_nothing_is_left_after_the_last_write_and_the_next_one_works(serve, store):
    server = serve(config=config(store))
    assert hidden(store) == []  # a start makes nothing
    make(server)
    for value in range(N_ROUNDS):
        put(server, 0, value)
        comes_to_rest(store)
        assert server.request("PUT", f"{SLICES}/a?slice=100:200", BYTES, struct.pack("<i", value) * 100).status == 200
        comes_to_rest(store)
        assert server.request("DELETE", f"{KEYS}/a/c/0").status in (200, 204)
        comes_to_rest(store)
    assert server.get(f"{SLICES}/a?slice=128:200").body == struct.pack("<i", N_ROUNDS - 1) * 72


def test_nothing_is_left_at_the_end(store):
    server = Server(config=config(store))
    make(server)
    wait_until(lambda: put(server, 0, 1) or (store / HIDDEN).is_dir())  # at rest, where this machine has stood still since
    server.stop()
    assert hidden(store) == []


def test_it_lasts_while_a_write_does(serve, store):
    server = serve(config=config(store), faults={})
    make(server)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with server.faulting("fdatasync.wait"):
            writing = pool.submit(put, server, 0, 1)
            server.until_waiting("fdatasync")
            time.sleep(2.5)  # when another store would have come to rest
            assert (store / HIDDEN / "lock").exists()
        writing.result(DEADLINE_S)
    comes_to_rest(store)


def test_two_servers_come_and_go_at_will(serve, store):
    """Both write without and with pauses: nothing is lost, refused or left."""
    servers = [serve(config=config(store)) for _ in range(2)]
    make(servers[0])

    def work(i):
        for value in range(N_ROUNDS):
            for key in range(i, 64, 4):
                put(servers[i % 2], key, value)
            time.sleep(1 + 0.05 * i)  # some come while others leave

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    comes_to_rest(store)
    for server in servers:
        assert server.get(f"{SLICES}/a").body == struct.pack("<i", N_ROUNDS - 1) * CHUNK * 64


def test_the_rest_of_a_killed_server_goes_when_another_is_idle(serve, store):
    server = serve(config=config(store))
    victim = Server(config=config(store), faults={})
    make(server)
    with concurrent.futures.ThreadPoolExecutor(1) as pool, victim.faulting("fdatasync.wait"):
        writing = pool.submit(victim.request, "PUT", f"{KEYS}/a/c/0", BYTES, bytes(4 * CHUNK))
        victim.until_waiting("fdatasync")
        victim.process.kill()
        assert writing.exception(DEADLINE_S) is not None
    victim.abandon()
    put(server, 1, 7)
    comes_to_rest(store)
    assert server.get(f"{KEYS}/a/c/0").status == 404 and server.get(f"{KEYS}/a/c/1").status == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a tmpfs of its own")
def test_a_full_disk_can_be_emptied(tmp_path):
    """On it the directory stays: there would be no room for another one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    try:
        store = disk / "store"
        store.mkdir()
        server = Server(config=config(store))
        make(server)
        put(server, 0, 1)
        with pytest.raises(OSError, match="No space"), open(disk / "filler", "wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        assert server.request("PUT", f"{KEYS}/a/c/1", BYTES, bytes(4 * CHUNK)).status == 507
        time.sleep(2.5)
        assert server.request("DELETE", f"{NODES}/a").status in (200, 204)
        (disk / "filler").unlink()
        make(server)
        comes_to_rest(store)
        server.stop()
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
