"""Writing to arrays whose chunks differ in length: slices, chunks, appends, resizing, documents."""

import json
import random

import numpy as np
import pytest
from arrays import write_node
from client import JSON, PATCH
from documents import LITTLE, array_document
from files import contents
from irregular import Grid, random_slice, rectilinear
from slices import BODIES, SEED, append, get, put, start

N_GRIDS = 12
FILL = -7
DATASET = "work"  # of support/slices
NODES = f"/v1/datasets/{DATASET}/nodes/"
CHUNKS = f"/v1/datasets/{DATASET}/chunks/a"
KEYS = f"/zarr/{DATASET}/"


def random_ints(rng, shape):
    return np.array([rng.randint(1, 9) for _ in range(int(np.prod(shape)))], "<i4").reshape(shape)


def random_grid(rng, i):
    return Grid.random(rng, tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 3))) if i % 3 == 0 else None)


def whole_chunks(folder, grid):
    """Every stored chunk has the shape that the grid says."""
    for index in grid.indices():
        path = folder.joinpath("c", *map(str, index))
        if path.exists():
            assert grid.decode(index, path.read_bytes(), "<i4", FILL).shape == grid.chunk_shape(index)


@pytest.fixture
def work(serve, tmp_path):
    return start(serve, tmp_path)


@pytest.mark.parametrize("i", range(N_GRIDS))
def test_random_slices_are_stored_as_numpy_stores_them(work, tmp_path, i):
    rng = random.Random(f"{SEED} irregular writes {i}")
    grid = random_grid(rng, i)
    write_node(tmp_path / "a", grid.document("int32", FILL))
    expected = np.full(grid.shape, FILL, "<i4")
    for turn in range(20):
        text, item = random_slice(rng, grid.shape)
        values = random_ints(rng, expected[item].shape)
        if rng.randrange(4) == 0:
            values[...] = FILL
        form = rng.choice(sorted(BODIES))
        answer = put(work, "a", values, text, form)
        assert answer.status == 200, (SEED, grid.entries, text, answer)
        expected[item] = values
        assert np.array_equal(get(work, "a", dtype="<i4"), expected), (SEED, i, turn, grid.entries, text)
    whole_chunks(tmp_path / "a", grid)
    assert np.array_equal(grid.read(tmp_path / "a", "<i4", FILL), expected), (SEED, i, grid.entries)


@pytest.mark.parametrize("i", range(N_GRIDS))
def test_chunks_are_stored_with_the_shape_of_their_own(work, tmp_path, i):
    rng = random.Random(f"{SEED} irregular chunks {i}")
    grid = random_grid(rng, i)
    write_node(tmp_path / "a", grid.document("int32", FILL))
    expected = np.full([sum(edges) for edges in grid.edges], FILL, "<i4")
    for index in grid.indices():
        chunk = random_ints(rng, grid.chunk_shape(index))
        target = f"{CHUNKS}?index=" + ",".join(map(str, index))
        if rng.randrange(2):
            answer = work.request("PUT", target + "&decoded=1", {}, chunk.tobytes())
        else:
            answer = work.request("PUT", target, {}, grid.encode(index, chunk))
        assert answer.status in (200, 201), (SEED, grid.entries, index, answer)
        expected[grid.box(index)] = chunk
        if rng.randrange(3) == 0:
            assert work.request("DELETE", target).status == 204
            expected[grid.box(index)] = FILL
    inside = expected[tuple(slice(0, n) for n in grid.shape)]
    assert np.array_equal(get(work, "a", dtype="<i4"), inside)
    whole_chunks(tmp_path / "a", grid)


def test_bodies_of_other_chunks_are_refused(work, tmp_path):
    grid = Grid((6, 4), [[1, 2, 3], [[2, 2]]])
    write_node(tmp_path / "a", grid.document("int32", codecs=[LITTLE]))
    target = CHUNKS + "?index=1,0"
    for n in (8, 24, 0):
        answer = work.request("PUT", target + "&decoded=1", {}, bytes(n))
        assert answer.status == 400 and answer.code == "bad_body" and "16" in answer.json()["detail"], answer
        answer = work.request("PUT", target, {}, bytes(n))
        assert answer.status == 422 and answer.code == "corrupt_chunk", answer
        answer = work.request("PUT", KEYS + "a/c/1/0", {}, bytes(n))
        assert answer.status == 422 and answer.code == "corrupt_chunk", answer
    assert work.request("PUT", KEYS + "a/c/1/0", {}, b"\1\0\0\0" * 4).status in (200, 201)
    assert get(work, "a", dtype="<i4").sum() == 4
    assert work.request("PUT", KEYS + "a/c/3/0", {}, bytes(8)).status >= 400


def batch(server, indices, decoded):
    headers = {"Accept": "application/vnd.zarrd.frames"}
    body = server.post(CHUNKS, {"indices": indices, "decoded": decoded}, headers).body
    parts = []
    while body:
        n = int.from_bytes(body[4:12], "little")
        parts.append(None if n == 2**64 - 1 else body[12:12 + n])
        body = body[12 + (0 if parts[-1] is None else n):]
    return parts


def test_a_batch_has_chunks_of_every_length(work, tmp_path):
    grid = Grid((6, 4), [[1, 2, 3], [[2, 2]]])
    values = np.arange(24, dtype="<i4").reshape(6, 4)
    grid.write(tmp_path / "a", values, skip={(2, 1)})
    indices = [list(index) for index in grid.indices()]
    for index, part in zip(grid.indices(), batch(work, indices, True)):
        chunk = values[grid.box(index)] if index != (2, 1) else np.zeros((3, 2), "<i4")
        assert part == chunk.tobytes()
    assert [part is None for part in batch(work, indices, False)] == [index == [2, 1] for index in indices]


# ---- shapes ----

def test_an_array_grows_as_far_as_its_chunks_go(work, tmp_path):
    grid = Grid((4, 6), [[2, 3, [5, 2]], [4, 2]])
    write_node(tmp_path / "a", grid.document("int32", FILL))
    expected = np.full((4, 6), FILL, "<i4")
    for n in (1, 6, 4):
        values = np.arange(n * 6, dtype="<i4").reshape(n, 6)
        answer = append(work, "a", values, "0")
        assert answer.status == 200, answer
        expected = np.concatenate([expected, values])
        assert np.array_equal(get(work, "a", dtype="<i4"), expected)
    before = work.get(NODES + "a").json()["metadata"]
    answer = append(work, "a", np.ones((1, 6), "<i4"), "0")
    assert answer.status == 422, answer
    error = answer.json()
    assert error["pointer"] == "/chunk_grid/configuration/chunk_shapes/0"
    assert "end at 15, but the array ends at 16" in error["detail"]
    assert work.get(NODES + "a").json()["metadata"] == before
    answer = work.request("PATCH", NODES + "a", PATCH, b'{"shape": [16, 6]}')
    assert answer.status == 422 and answer.json()["errors"][0]["pointer"] == error["pointer"]
    # What the message says: more chunks first, while the shape stays and no chunk is touched.
    more = {**before, "chunk_grid": rectilinear([2, 3, [5, 3], [1, 100]], [4, 2])}
    assert work.request("PUT", NODES + "a", JSON, json.dumps(more).encode()).status == 200
    assert append(work, "a", np.full((9, 6), 3, "<i4"), "0").status == 200
    assert np.array_equal(get(work, "a", dtype="<i4"), np.concatenate([expected, np.full((9, 6), 3, "<i4")]))


def test_other_chunks_are_refused_while_some_are_stored(work, tmp_path):
    grid = Grid((6,), [[1, 2, 3]])
    grid.write(tmp_path / "a", np.arange(6, dtype="<i4"))
    document = work.get(NODES + "a").json()["metadata"]
    for shapes in ([1, 2, 1, 2], [1, 5], [[1, 6]], 3, [2, 1, 3]):
        body = json.dumps({**document, "chunk_grid": rectilinear(shapes)}).encode()
        assert work.request("PUT", NODES + "a", JSON, body).status == 409, shapes
    assert get(work, "a", dtype="<i4").tolist() == list(range(6))
    # The same chunks in another spelling, and fewer behind the array.
    body = json.dumps({**document, "chunk_grid": rectilinear([[1, 1], 2, 3, [9, 9]])}).encode()
    assert work.request("PUT", NODES + "a", JSON, body).status == 200
    body = json.dumps({**document, "chunk_grid": rectilinear([1, 2, 3, 9])}).encode()
    assert work.request("PUT", NODES + "a", JSON, body).status == 409
    assert get(work, "a", dtype="<i4").tolist() == list(range(6))


def test_chunks_outside_a_smaller_shape_go(work, tmp_path):
    grid = Grid((6, 3), [[1, 2, 3], [3]])
    grid.write(tmp_path / "a", np.ones((6, 3), "<i4"))
    assert work.request("PATCH", NODES + "a", PATCH, b'{"shape": [2, 3]}').status == 200
    assert list(contents(tmp_path / "a" / "c")) == ["0/0", "1/0"]
    assert work.request("PATCH", NODES + "a", PATCH, b'{"shape": [6, 3]}').status == 200
    assert get(work, "a", dtype="<i4").tolist() == [[1] * 3] * 3 + [[0] * 3] * 3


def test_a_document_is_stored_in_runs(work):
    shapes = [[2, 2, 2, 3, [3, 4]], 4]
    document = array_document([20, 8], [1, 1], "int16", chunk_grid=rectilinear(*shapes))
    assert work.request("PUT", NODES + "new", JSON, json.dumps(document).encode()).status == 201
    assert work.get(KEYS + "new/zarr.json").json()["chunk_grid"] == rectilinear([[2, 3], [3, 5]], 4)
    assert put(work, "new", np.arange(160, dtype="<i2").reshape(20, 8)).status == 200
    assert get(work, "new", "17", "<i2").tolist() == list(range(136, 144))
