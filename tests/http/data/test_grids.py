"""Chunk grids and key encodings that are not the usual ones, on stores that are written here."""

import io
import itertools
import json
import random

import numpy as np
import pytest
import zarr
from arrays import write_array, write_chunk, write_node
from client import READ_BYTES
from documents import BIG, LITTLE, array_document, transpose
from files import contents
from irregular import Grid, edges_of, random_slice, rectilinear
from slices import SEED

VALUES = np.arange(24, dtype="<i4").reshape(4, 6)


def suffixed(suffix, base):
    return {"name": "suffix", "configuration": {"suffix": suffix, "base_encoding": base}}


ENCODINGS = [  # and the key of chunk (1, 0)
    (suffixed(".tiff", {"name": "default"}), "c/1/0.tiff"),
    (suffixed("_", {"name": "default", "configuration": {"separator": "."}}), "c.1.0_"),
    (suffixed(".raw.bin", "v2"), "1.0.raw.bin"),
    (suffixed("", {"name": "v2", "configuration": {"separator": "/"}}), "1/0"),
]


@pytest.fixture(scope="module")
def keys(serve_module, tmp_path_factory):
    """Each array as it would be with usual keys, its chunks renamed; one chunk is absent."""
    root = tmp_path_factory.mktemp("keys")
    for i, (encoding, key) in enumerate(ENCODINGS):
        folder = root / str(i)
        write_array(folder, (4, 6), (2, 4), [LITTLE], VALUES, "int32", skip=[(0, 1)], fill_value=-1,
                    chunk_key_encoding=encoding)
        for place in ((0, 0), (1, 0), (1, 1)):
            new = folder / key.replace("1", str(place[0]), 1)[::-1].replace("0", str(place[1]), 1)[::-1]
            new.parent.mkdir(parents=True, exist_ok=True)
            folder.joinpath("c", *map(str, place)).rename(new)
    return serve_module(config={"datasets": {"keys": {"location": str(root), "writable": True, "durable": False}}}), root


@pytest.mark.parametrize("i", range(len(ENCODINGS)))
def test_chunks_are_found_by_keys_with_a_suffix(keys, i):
    server, root = keys
    wanted = VALUES.copy()
    wanted[:2, 4:] = -1
    answer = server.get(f"/v1/datasets/keys/slices/{i}")
    assert answer.status == 200 and answer.body == wanted.tobytes()
    stored = (root / str(i) / ENCODINGS[i][1]).read_bytes()
    assert server.get(f"/v1/datasets/keys/chunks/{i}?index=1,0").body == stored
    assert server.get(f"/zarr/keys/{i}/{ENCODINGS[i][1]}").body == stored
    assert server.get(f"/v1/datasets/keys/chunks/{i}?present=1").json()["n_present"] == 3
    # What readers know that never heard of this encoding.
    view = zarr.open_array(f"{server.url}/v3/keys/{i}", mode="r")
    assert (view[:] == wanted).all()


@pytest.mark.parametrize("length", [0, -1])
def test_a_chunk_of_a_grid_has_an_element_or_more(keys, length):
    server, _ = keys
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[length, 4], 4]}}
    answer = server.request("PUT", "/v1/datasets/keys/nodes/new", {}, json.dumps(
        {**array_document([4, 4], [4, 4], "int32"), "chunk_grid": grid}).encode())
    [fault] = answer.json()["errors"]
    assert (answer.status, fault["pointer"]) == (422, "/chunk_grid/configuration/chunk_shapes/0/0")
    assert (fault["expected"], fault["found"]) == ("1 or more", str(length)) and fault["detail"].endswith("must be 1 or more")


@pytest.mark.parametrize("i", range(len(ENCODINGS)))
def test_keys_of_a_proposal_are_only_read(keys, i):
    server, root = keys
    before = contents(root)
    node = f"/v1/datasets/keys/nodes/{i}"
    document = server.get(node).json()
    assert document["metadata"]["chunk_key_encoding"]["configuration"]["suffix"] == ENCODINGS[i][0]["configuration"]["suffix"]
    can = document["array"]["can"]
    assert can["slice"] and not can["write"] and "suffix" in can["reason"]
    for method, target, body in [("PUT", f"/v1/datasets/keys/slices/{i}?slice=0,0", b"1234"),
                                 ("PUT", f"/v1/datasets/keys/slices/{i}?append=0", VALUES[:1].tobytes()),
                                 ("PUT", f"/v1/datasets/keys/chunks/{i}?index=0,0&decoded=1", bytes(32)),
                                 ("DELETE", f"/v1/datasets/keys/chunks/{i}?index=0,0", None)]:
        answer = server.request(method, target, {}, body)
        assert answer.status == 405 and answer.code == "read_only", (target, answer)
        assert "suffix" in answer.json()["detail"]
    answer = server.request("PUT", node, {}, json.dumps(document["metadata"]).encode())
    assert answer.status == 422 and answer.code == "unsupported_grid", answer
    assert answer.json()["errors"][0]["pointer"] == "/chunk_key_encoding"
    assert contents(root) == before


# ---- chunks that differ in length ----

N_GRIDS = 24


@pytest.fixture(scope="module")
def grids(serve_module, tmp_path_factory):
    """Random arrays, a third of them of shards; some chunks are absent."""
    root = tmp_path_factory.mktemp("grids")
    rng = random.Random(f"{SEED} grids")
    arrays = []
    for i in range(N_GRIDS):
        inner = tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 3))) if i % 3 == 0 else None
        grid = Grid.random(rng, inner)
        values = np.array([rng.randint(-9, 9) for _ in range(int(np.prod(grid.shape)))], "<i4").reshape(grid.shape)
        skip = {index for index in grid.indices() if rng.randrange(6) == 0}
        for index in skip:
            values[grid.box(index)] = 0
        grid.write(root / str(i), values, skip)
        arrays.append((grid, values, skip))
    return serve_module(f"grids={root}"), root, arrays


@pytest.mark.parametrize("i", range(N_GRIDS))
def test_slices_of_irregular_grids_are_what_numpy_takes(grids, i):
    server, _, arrays = grids
    grid, values, _ = arrays[i]
    rng = random.Random(f"{SEED} slices {i}")
    for _ in range(12):
        text, item = random_slice(rng, values.shape)
        wanted = values[item]
        answer = server.get(f"/v1/datasets/grids/slices/{i}?slice={text}")
        assert answer.status == 200, answer
        assert answer.headers["zarr-shape"] == ",".join(map(str, wanted.shape)), (SEED, text)
        assert answer.body == wanted.tobytes(), (SEED, grid.entries, text)
        npy = server.get(f"/v1/datasets/grids/slices/{i}?slice={text}&format=npy")
        assert np.array_equal(np.load(io.BytesIO(npy.body)), wanted)
        assert server.get(f"/v1/datasets/grids/slices/{i}?slice={text}&format=json").json()["data"] == wanted.tolist()
        if wanted.ndim == 1 and wanted.size > 0:
            lines = server.get(f"/v1/datasets/grids/slices/{i}?slice={text}&format=csv").body.split()
            assert [int(line) for line in lines] == wanted.tolist()


@pytest.mark.parametrize("i", range(N_GRIDS))
def test_irregular_chunks_have_the_shape_of_their_own(grids, i):
    server, root, arrays = grids
    grid, values, skip = arrays[i]
    chunks = f"/v1/datasets/grids/chunks/{i}"
    array = server.get(f"/v1/datasets/grids/nodes/{i}").json()["array"]
    assert array["chunk_shape"] is None and array["chunk_grid_shape"] == list(grid.counts)
    assert [edges_of(entry, n) for entry, n in zip(array["chunk_shapes"], grid.shape)] == grid.edges
    assert array["inner_chunk_shape"] == (list(grid.inner) if grid.inner else None)
    for index in itertools.islice(grid.indices(), 40):
        text = ",".join(map(str, index))
        decoded = server.get(f"{chunks}?index={text}&decoded=1")
        shape = grid.chunk_shape(index)
        assert decoded.status == 200 and decoded.headers["zarr-shape"] == ",".join(map(str, shape)), decoded
        assert len(decoded.body) == 4 * int(np.prod(shape))
        head = server.head(f"{chunks}?index={text}&decoded=1")
        assert head.headers["content-length"] == str(len(decoded.body))
        inside = values[grid.box(index)]
        found = np.frombuffer(decoded.body, "<i4").reshape(shape)[tuple(slice(0, n) for n in inside.shape)]
        assert np.array_equal(found, inside)
        stored = server.get(f"{chunks}?index={text}")
        assert stored.status == (404 if index in skip else 200)
        if index not in skip:
            assert stored.body == root.joinpath(str(i), "c", *map(str, index)).read_bytes()
            assert server.get(f"/zarr/grids/{i}/c/" + "/".join(map(str, index))).body == stored.body
    present = server.get(f"{chunks}?present=1").json()
    assert present["chunk_grid_shape"] == list(grid.counts)
    assert present["n_present"] == int(np.prod(grid.counts)) - len(skip)
    outside = ",".join(map(str, grid.counts))
    assert server.get(f"{chunks}?index={outside}").code == "out_of_bounds"
    stats = server.get(f"/v1/datasets/grids/stats/{i}").json()
    assert (stats["min"], stats["max"]) == (int(values.min()), int(values.max()))


@pytest.mark.parametrize("i", range(0, N_GRIDS, 3))
def test_inner_chunks_of_irregular_shards_are_regular(grids, i):
    """Readers without irregular grids see them in the view without shards."""
    server, _, arrays = grids
    grid, values, _ = arrays[i]
    view = zarr.open_array(f"{server.url}/v3-unsharded/grids/{i}", mode="r")
    assert view.chunks == grid.inner and np.array_equal(view[:], values)
    document = server.get(f"/v3/grids/{i}/zarr.json").json()
    assert document["chunk_grid"]["name"] == "rectilinear"
    for index in np.ndindex(*(-(-n // c) for n, c in zip(grid.shape, grid.inner))):
        text = ",".join(map(str, index))
        answer = server.get(f"/v1/datasets/grids/chunks/{i}?index={text}&level=inner&decoded=1")
        place = tuple(slice(k * c, (k + 1) * c) for k, c in zip(index, grid.inner))
        inside = values[place]
        found = np.frombuffer(answer.body, "<i4").reshape(grid.inner)[tuple(slice(0, n) for n in inside.shape)]
        assert np.array_equal(found, inside), (SEED, i, index)


def test_the_draft_of_the_grid_is_read_as_the_final_one(serve, tmp_path):
    grid = Grid((12, 10), [[2, 4, 6], 4])
    values = np.arange(120, dtype="<i4").reshape(12, 10)
    old = {"name": "rectangular", "configuration": {"chunk_shape": [[2, 4, 6], 4]}}
    grid.write(tmp_path / "old", values, chunk_grid=old)
    server = serve(config={"datasets": {"d": {"location": str(tmp_path), "writable": True, "durable": False}}})
    assert server.get("/v1/datasets/d/slices/old?slice=::-1,3").body == np.ascontiguousarray(values[::-1, 3]).tobytes()
    node = server.get("/v1/datasets/d/nodes/old").json()
    assert [(w["code"], w["pointer"]) for w in node["warnings"]] == [("legacy_spelling", "/chunk_grid")]
    for document in (node["metadata"], server.get("/v3/d/old/zarr.json").json()):
        assert document["chunk_grid"] == rectilinear([2, 4, 6], 4)
    assert server.get("/zarr/d/old/zarr.json").json()["chunk_grid"] == old
    answer = server.request("PUT", "/v1/datasets/d/nodes/new", {}, json.dumps({**node["metadata"], "chunk_grid": old}).encode())
    assert answer.status == 422 and answer.json()["errors"][0]["pointer"] == "/chunk_grid", answer


def test_counts_are_not_expanded(serve, tmp_path):
    """2^60 chunks, of which three are stored."""
    n = 1 << 60
    grid = rectilinear([[1, n], [5, 2], [1, 3]], [[2, 2]])
    write_node(tmp_path, array_document([n + 13, 4], [1, 1], "int16", 7, chunk_grid=grid))
    for index, n_elements in (((5, 0), 2), ((n, 1), 10), ((n + 1, 1), 10)):
        write_chunk(tmp_path, index, np.arange(n_elements, dtype="<i2").tobytes())
    server = serve(f"d={tmp_path}")
    array = server.get("/v1/datasets/d/nodes/").json()["array"]
    assert array["chunk_grid_shape"] == [n + 5, 2] and array["chunk_shapes"] == grid["configuration"]["chunk_shapes"]
    answer = server.get(f"/v1/datasets/d/slices/?slice=4:7,:&format=json").json()
    assert answer["data"] == [[7] * 4, [0, 1, 7, 7], [7] * 4]
    answer = server.get(f"/v1/datasets/d/slices/?slice={n + 3}:{n + 8}:2,3&format=json").json()
    assert answer["data"] == [7, 1, 5]
    assert server.get(f"/v1/datasets/d/chunks/?index={n + 1},1&decoded=1").headers["zarr-shape"] == "5,2"
    assert server.get(f"/v1/datasets/d/slices/?slice=::{1 << 58},0&format=json").json()["data"] == [7] * 5


# Stored documents that are refused, and where.
REFUSED = [
    ([[2, 1], 4], "chunk_shapes/0"),  # the sum is 3
    ([[2, 2, 0], 4], "chunk_shapes/0/2"),
    ([[[2, 0], 4], 4], "chunk_shapes/0/0/1"),
    ([[[2, 1, 1]], 4], "chunk_shapes/0/0"),
    ([[[1 << 63, 2]], 4], "chunk_shapes/0/0"),
    ([[4, 1.5], 4], "chunk_shapes/0/1"),
    ([[4, -1], 4], "chunk_shapes/0/1"),
    (["4", 4], "chunk_shapes/0"),
    ([0, 4], "chunk_shapes/0"),
    ([[4]], "chunk_shapes"),
    (4, "chunk_shapes"),
    ([[], 4], "chunk_shapes/0"),
]


def test_grids_that_cannot_be_are_refused_with_their_place(serve, tmp_path):
    for i, (shapes, _) in enumerate(REFUSED):
        grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}
        write_node(tmp_path / str(i), array_document([4, 6], [1, 1], chunk_grid=grid))
    server = serve(f"d={tmp_path}")
    for i, (shapes, pointer) in enumerate(REFUSED):
        answer = server.get(f"/v1/datasets/d/slices/{i}")
        assert answer.status == 422 and answer.code == "invalid_metadata", (shapes, answer)
        assert answer.json()["pointer"] == f"/chunk_grid/configuration/{pointer}", (shapes, answer.json())


def test_a_damaged_chunk_is_one_of_its_own_length(serve, tmp_path):
    grid = Grid((6,), [[1, 2, 3]])
    values = np.arange(6, dtype="<i4")
    grid.write(tmp_path, values, codecs=[LITTLE])
    for index in range(3):
        write_chunk(tmp_path, (index,), values[:2].tobytes())  # right for the second one alone
    server = serve(f"d={tmp_path}")
    assert server.get("/v1/datasets/d/slices/?slice=1:3").body == values[:2].tobytes()
    for text in ("0", "3:6", ":"):
        answer = server.get(f"/v1/datasets/d/slices/?slice={text}")
        assert answer.status == 500 and answer.code == "corrupt_chunk" and "c/" in answer.json()["detail"], answer


@pytest.mark.parametrize("codecs, order, byte_order", [
    ([LITTLE], "C", "<"), ([BIG], "C", ">"), ([transpose(1, 0), LITTLE], "F", "<")])
def test_little_of_an_uncompressed_chunk_is_read_alone(serve, tmp_path, codecs, order, byte_order):
    edges = [[100, 300, 57], [200, [90, 2]]]
    grid = Grid((450, 370), edges)
    values = np.arange(450 * 370, dtype="<i4").reshape(450, 370)
    write_node(tmp_path, grid.document("int32", codecs=codecs))
    whole = np.zeros((457, 380), "<i4")
    whole[:450, :370] = values
    for index in grid.indices():
        write_chunk(tmp_path, index, whole[grid.box(index)].astype(byte_order + "i4").tobytes(order))
    server = serve(f"d={tmp_path}")
    rng = random.Random(f"{SEED} spans {order}")
    before = server.metrics()[READ_BYTES]
    for _ in range(10):
        i, j = rng.randrange(446), rng.randrange(366)
        answer = server.get(f"/v1/datasets/d/slices/?slice={i}:{i + 3},{j + 3}:{j}:-1")
        assert answer.body == np.ascontiguousarray(values[i:i + 3, j + 3:j:-1]).tobytes(), (SEED, i, j)
    assert server.metrics()[READ_BYTES] - before < whole.nbytes // 2
    decoded = server.get("/v1/datasets/d/chunks/?index=1,0&decoded=1")
    assert decoded.body == whole[100:400, :200].tobytes()
    (tmp_path / "c" / "2" / "1").write_bytes(bytes(4 * 300 * 90))  # the length of another chunk
    answer = server.get("/v1/datasets/d/slices/?slice=420,210")
    assert answer.status == 500 and answer.code == "corrupt_chunk", answer
