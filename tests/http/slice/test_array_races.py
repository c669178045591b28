"""Several arrays of one answer are of one moment, whoever writes meanwhile."""

import io
import json
import os
import threading

import numpy as np
import pytest
from arrays import write_array, write_node
from documents import LITTLE

N = 300
S = "/v1/datasets/work/slices/"


def make(root, n_chunks=1):
    write_node(root, {"zarr_format": 3, "node_type": "group"})
    for name in ("u", "v"):
        write_array(root / name, (4 * n_chunks,), (4,), [LITTLE], np.zeros(4 * n_chunks, "<i8"), dtype="int64")


def store(root, name, chunk, values):
    """As other writers do it: the object is replaced as a whole."""
    key = root / name / "c" / str(chunk)
    part = key.with_name(f".part-{chunk}")
    part.write_bytes(np.asarray(values, "<i8").tobytes())
    os.replace(part, key)


class Writer:
    """Counts both arrays up, u before v, until it is left."""

    def __init__(self, root, step):
        self.root, self.step = root, step
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        i = 0
        while not self.stopped.is_set():
            i += 1
            self.step(i)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


def pair(answer):
    assert answer.status == 200, answer
    archive = np.load(io.BytesIO(answer.body))
    assert len(set(archive["u"])) == len(set(archive["v"])) == 1
    return int(archive["u"][0]), int(archive["v"][0])


@pytest.mark.parametrize("revalidate_ms", [0, 60_000])
def test_arrays_are_never_of_two_moments(serve, tmp_path, revalidate_ms):
    """u is written first: it is as new as v, or one step newer."""
    root = tmp_path / "work"
    make(root)
    server = serve(config={"datasets": {"work": {"location": str(root), "revalidate_ms": revalidate_ms}}})

    def step(i):
        store(root, "u", 0, [i] * 4)
        store(root, "v", 0, [i] * 4)

    found = set()
    with Writer(root, step):
        for _ in range(N):
            answer = server.get(S + "?arrays=v,u")
            if answer.status != 409:
                u, v = pair(answer)
                assert v <= u <= v + 1, (u, v)
                found.add(u)
    assert len(found) > 1


def test_another_programs_change_shows_at_once(serve, tmp_path):
    """However long what was read is trusted: a second look would otherwise never agree with it."""
    root = tmp_path / "work"
    make(root)
    server = serve(config={"datasets": {"work": {"location": str(root), "revalidate_ms": 600_000}}})
    first = server.get(S + "?arrays=u,v")
    assert pair(first) == (0, 0)
    for name in ("v", "u"):
        store(root, name, 0, [7] * 4)
    second = server.get(S + "?arrays=u,v", headers={"If-None-Match": first.headers["etag"]})
    assert pair(second) == (7, 7)
    document = json.loads((root / "u" / "zarr.json").read_text())
    store(root, "u", 1, [7] * 4)
    (root / "u" / "zarr.json").write_text(json.dumps({**document, "shape": [6]}))
    third = server.get(S + "?arrays=u,v")
    assert np.load(io.BytesIO(third.body))["u"].tolist() == [7] * 6
    (root / "u" / "zarr.json").unlink()
    assert server.get(S + "?arrays=u,v").code == "node_not_found"


@pytest.mark.parametrize("change", [{"attributes": {"units": "m"}}, {"shape": [3]}, None])
def test_a_coordinate_that_another_program_changed_shows_at_once(serve, tmp_path, change):
    """All that was planned with the old one is planned again."""
    root = tmp_path / "work"
    make(root)
    for name in ("u", "v"):
        document = json.loads((root / name / "zarr.json").read_text())
        (root / name / "zarr.json").write_text(json.dumps({**document, "dimension_names": ["v"]}))
    server = serve(config={"datasets": {"work": {"location": str(root), "revalidate_ms": 600_000}}})
    queries = [S + "u?format=netcdf", S + "?arrays=u&format=npz&coords=1"]
    before = [server.get(query) for query in queries]
    assert np.load(io.BytesIO(before[1].body)).files == ["u", "v"]
    if change is None:
        (root / "v" / "zarr.json").unlink()
    else:
        document = json.loads((root / "v" / "zarr.json").read_text())
        (root / "v" / "zarr.json").write_text(json.dumps({**document, **change}))
    for query, old in zip(queries, before):
        answer = server.get(query)
        assert answer.status == 200 and answer.headers["etag"] != old.headers["etag"], answer
        names = ("zarr-shape", "zarr-selection", "content-disposition")
        assert [answer.headers.get(name) for name in names] == [old.headers.get(name) for name in names]
    assert ("v" in np.load(io.BytesIO(answer.body)).files) == (change is not None and "shape" not in change)


def test_an_array_that_changes_all_the_time_is_409(serve, tmp_path):
    root = tmp_path / "work"
    n_chunks = 4000
    make(root, n_chunks)
    server = serve(config={"datasets": {"work": {"location": str(root), "revalidate_ms": 0}}})
    codes = set()
    with Writer(root, lambda i: store(root, "v", i % 8, [i] * 4)):
        while "changed" not in codes:
            answer = server.get(S + "?arrays=u,v")
            codes.add(answer.code if answer.status != 200 else "")
    assert codes <= {"changed", ""}


def test_writes_through_the_server_are_of_one_moment(serve, tmp_path):
    root = tmp_path / "work"
    make(root)
    server = serve(config={"datasets": {"work": {"location": str(root), "writable": True, "revalidate_ms": 60_000}}})
    connection = server.connection()

    def step(i):
        for name in ("u", "v"):
            assert server.request("PUT", S + name, body=np.full(4, i, "<i8").tobytes(), connection=connection).status == 200

    found = set()
    with Writer(root, step):
        for _ in range(N):
            answer = server.get(S + "?arrays=u,v")
            if answer.status != 409:
                u, v = pair(answer)
                assert v <= u <= v + 1, (u, v)
                found.add(u)
    assert len(found) > 1
