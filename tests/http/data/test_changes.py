"""Stores that change under the server: what was replaced is seen in time, and no tag names bytes of another state."""

import itertools
import os
import threading
import time

import numpy as np
import pytest
import zarr
from arrays import write_array
from client import DEADLINE_S
from documents import LITTLE, shard

REVALIDATE_MS = 400
WRITES = 150


def replace(path, data):
    """Whole or not at all, as writers of Zarr do it."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_bytes(data)
    os.replace(temporary, path)


def sharded(folder, n):
    """An array of one shard whose inner chunks hold n; its stored bytes differ in length from one n to the next."""
    values = np.zeros((8, 64), "<f4")
    values[:, : n % 64 + 1] = n
    array = zarr.create_array(folder, shape=values.shape, chunks=(2, 16), shards=(8, 64), dtype="<f4", overwrite=True)
    array[:] = values
    return values, (folder / "c/0/0").read_bytes()


def paged(folder, n):
    """An array of one shard that holds n; its index of 32,768 inner chunks is read by pages. Its stored bytes differ in length."""
    write_array(folder, (8, 4096), (8, 4096), [shard((1, 1), [{"name": "bytes"}], index=[LITTLE])], dtype="uint8")
    folder.joinpath("c/0").mkdir(parents=True, exist_ok=True)
    entries = np.stack([np.arange(n, n + 8 * 4096, dtype="<u8"), np.ones(8 * 4096, "<u8")], 1)
    return bytes([n]) * (n + 8 * 4096) + entries.tobytes()


def test_passing_an_object_on_does_not_make_it_younger(serve, tmp_path):
    """The status that revalidates a chunk may be known for a while itself."""
    values = np.arange(64, dtype="<f4").reshape(8, 8)
    write_array(tmp_path / "a", values.shape, (8, 8), [LITTLE], values)
    server = serve(config={"datasets": {"work": {"location": str(tmp_path), "revalidate_ms": REVALIDATE_MS}}})
    slices = "/v1/datasets/work/slices/a"
    server.get(slices)
    time.sleep(REVALIDATE_MS * .7 / 1000)
    server.head(slices)
    asked = time.monotonic()
    replace(tmp_path / "a/c/0/0", (values + 1).tobytes())
    time.sleep(REVALIDATE_MS * .4 / 1000)
    server.get(slices)
    time.sleep(max(0, asked + REVALIDATE_MS * 1.1 / 1000 - time.monotonic()))
    assert server.get(slices).body == (values + 1).tobytes()


def test_an_inner_chunk_that_was_absent_is_seen_in_time(serve, tmp_path):
    values, _ = sharded(tmp_path / "a", 5)
    stored = (tmp_path / "a/c/0/0").read_bytes()
    (tmp_path / "a/c/0/0").unlink()
    server = serve(config={"datasets": {"work": {"location": str(tmp_path), "revalidate_ms": REVALIDATE_MS}}})
    slices = "/v1/datasets/work/slices/a?slice="
    assert not server.get(slices + "0:2,0:16").body.strip(b"\0")
    time.sleep(REVALIDATE_MS * .7 / 1000)
    assert not server.get(slices + "2:4,0:16").body.strip(b"\0")
    time.sleep(REVALIDATE_MS * .4 / 1000)
    assert not server.get(slices + "2:4,16:32").body.strip(b"\0")  # the index is asked about again
    asked = time.monotonic()
    replace(tmp_path / "a/c/0/0", stored)
    time.sleep(REVALIDATE_MS * .8 / 1000)
    server.get(slices + "4:6,0:16")
    time.sleep(max(0, asked + REVALIDATE_MS * 1.1 / 1000 - time.monotonic()))
    assert server.get(slices + "4:6,0:16").body == np.ascontiguousarray(values[4:6, 0:16]).tobytes()


TARGETS = {
    "raw key": "/zarr/work/{a}/c/0/0",
    "chunk": "/v1/datasets/work/chunks/{a}?index=0,0",
    "decoded chunk": "/v1/datasets/work/chunks/{a}?index=0,0&decoded=1",
    "slice": "/v1/datasets/work/slices/{a}?slice=1:8",
    "text": "/v1/datasets/work/slices/{a}?slice=::3&format=csv",
    "pages": "/v1/datasets/work/slices/{a}?slice=::7,::4095",
    "inner chunk": "/v1/datasets/work/chunks/{a}?index=0,0&level=inner",
}
KINDS = {name: ["plain", "shard"] for name in ["raw key", "chunk", "decoded chunk", "slice", "text"]} | {
    "pages": ["paged"], "inner chunk": ["shard", "paged"]}


@pytest.mark.parametrize("revalidate_ms", [0, 5])
@pytest.mark.parametrize("target,kind", [(target, kind) for target in TARGETS for kind in KINDS[target]])
def test_a_tag_names_the_same_bytes_whatever_is_replaced_meanwhile(serve, tmp_path, target, kind, revalidate_ms):
    states = []
    for n in range(1, 9):
        if kind == "paged":
            states.append(paged(tmp_path / "a", n))
            (tmp_path / "a/c/0/0").write_bytes(states[-1])
        elif kind == "shard":
            states.append(sharded(tmp_path / "a", n)[1])
        else:
            write_array(tmp_path / "a", (8, 64), (8, 64), [LITTLE], np.full((8, 64), n, "<f4"))
            states.append((tmp_path / "a/c/0/0").read_bytes())
    server = serve(config={"datasets": {"work": {"location": str(tmp_path), "revalidate_ms": revalidate_ms}}})
    url = TARGETS[target].format(a="a")
    seen = {}
    stop = threading.Event()
    wrong = []

    def read():
        connection = server.connection()
        while not stop.is_set():
            answer = server.get(url, connection=connection)
            if answer.status != 200:
                if answer.status != 502 or "was replaced while" not in answer.json()["detail"]:  # as it may be for a starved server
                    wrong.append(answer)
            elif "etag" in answer.headers and seen.setdefault(answer.headers["etag"], answer.body) != answer.body:
                wrong.append((answer.headers["etag"], seen[answer.headers["etag"]], answer.body))
            elif "etag" in answer.headers and kind == "paged" and len(set(answer.body)) != 1:
                wrong.append((answer.headers["etag"], answer.body))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    end = time.monotonic() + DEADLINE_S
    for i in itertools.count():
        if i >= WRITES and (len(seen) > 1 or wrong or time.monotonic() > end):
            break
        replace(tmp_path / "a/c/0/0", states[i % len(states)])
        time.sleep(.002)
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong, wrong[0]
    assert len(seen) > 1
