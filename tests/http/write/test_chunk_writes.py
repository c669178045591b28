"""PUT and DELETE of chunks: every codec and type that is encoded, read back by zarr-python; what is no chunk; many
writers of one shard, in one process and in two."""

import concurrent.futures
import gzip
import json
import os
import random
import struct
import threading

import numpy as np
import pytest
import zarr
from client import BYTES, SANITIZED, memory_bytes, until_under_way
from documents import BIG, CRC, GZIP, LITTLE, ZSTD, blosc, shard, transpose
from files import contents

SEED = int(os.environ.get("ZD_SEED", "20261122"))
SHAPE = (13, 10)
CHUNK = (8, 4)
LAYOUTS = {
    "plain": ([LITTLE], None),
    "big": ([BIG], None),
    "gzip": ([LITTLE, GZIP], None),
    "zstd": ([LITTLE, ZSTD, CRC], None),
    "blosclz": ([LITTLE, blosc("blosclz", "shuffle", 4, 5)], None),
    "lz4": ([LITTLE, blosc("lz4", "bitshuffle", 4, 5)], None),
    "lz4hc": ([LITTLE, blosc("lz4hc", "noshuffle", 4, 5)], None),
    "blosc zlib": ([LITTLE, blosc("zlib", "shuffle", 4, 5)], None),
    "blosc zstd": ([LITTLE, blosc("zstd", "shuffle", 4, 5)], None),
    "transposed": ([transpose(1, 0), BIG, ZSTD], None),
    "sharded": ([shard((4, 2), [LITTLE, ZSTD])], (4, 2)),
    "sharded, index first": ([shard((2, 4), [BIG, CRC], "start")], (2, 4)),
    "transposed in shards": ([transpose(1, 0), shard((2, 4), [transpose(1, 0), LITTLE])], (4, 2)),
    "nested shards": ([shard((4, 4), [shard((2, 2), [LITTLE, GZIP])])], (4, 4)),
}
# Name: its numpy type, and a fill value that is none of those that are written.
TYPES = {
    "bool": ("?", False), "int8": ("<i1", 0), "int16": ("<i2", 3), "int32": ("<i4", -4), "int64": ("<i8", 5), "uint8": ("<u1", 6),
    "uint16": ("<u2", 7), "uint32": ("<u4", 0), "uint64": ("<u8", 2**63), "float16": ("<f2", 0.5), "float32": ("<f4", "NaN"),
    "float64": ("<f8", "-Infinity"), "complex64": ("<c8", [0.0, 1.0]), "complex128": ("<c16", [0.0, "NaN"]),
}


def make_array(folder, codecs, dtype="int32", shape=SHAPE, chunk=CHUNK, fill=0, **more):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill, "codecs": codecs, **more}))


def start(serve, tmp_path, settings=None, faults=None, **options):
    return serve(faults=faults, config={"datasets": {"w": {"location": str(tmp_path), "writable": True, "durable": False, **options}},
                         **(settings or {})})


def target(path, index, **query):
    return f"/v1/datasets/w/chunks/{path}?index={','.join(map(str, index))}" + "".join(f"&{k}={v}" for k, v in query.items())


def put(server, path, index, body, headers=None, connection=None, **query):
    return server.request("PUT", target(path, index, **query), {**BYTES, **(headers or {})}, body, connection)


def delete(server, path, index, headers=None, **query):
    return server.request("DELETE", target(path, index, **query), headers)


def get(server, path, index, **query):
    return server.get(target(path, index, **query))


def counts(written=0, erased=0, unchanged=0):
    return {"chunks": {"written": written, "erased": erased, "unchanged": unchanged}}


def random_elements(rng, dtype, shape):
    """Any bits, so that signs of zero and payloads of NaN are among them."""
    raw = rng.integers(0, 256, int(np.prod(shape)) * np.dtype(dtype).itemsize, np.uint8)
    return (raw % 2).astype(bool).reshape(shape) if dtype == "?" else raw.view(dtype).reshape(shape)


# ---- what is written is read ----


@pytest.mark.parametrize("layout", LAYOUTS)
def test_zarr_python_reads_decoded_chunks_bit_by_bit(serve, tmp_path, layout):
    server = start(serve, tmp_path)
    rng = np.random.default_rng(SEED)
    codecs, inner = LAYOUTS[layout]
    for dtype, (numpy_type, fill) in TYPES.items():
        make_array(tmp_path / dtype, codecs, dtype, fill=fill)
        padded = random_elements(rng, numpy_type, (16, 12))
        size, level = (inner, "inner") if inner and dtype.endswith("64") else (CHUNK, "outer")
        grid = [-(-n // k) for n, k in zip(SHAPE, size)]
        for index in np.ndindex(*grid):
            place = tuple(slice(i * k, (i + 1) * k) for i, k in zip(index, size))
            answer = put(server, dtype, index, padded[place].tobytes(), decoded=1, level=level)
            assert answer.status == 200, (dtype, answer)
            assert answer.json() == counts(written=1)
        found = zarr.open_array(tmp_path / dtype, mode="r")[:]
        assert found.tobytes() == padded[:SHAPE[0], :SHAPE[1]].tobytes(), dtype


@pytest.mark.parametrize("layout", LAYOUTS)
def test_encoded_chunks_are_stored_as_they_are(serve, tmp_path, layout):
    server = start(serve, tmp_path)
    codecs, inner = LAYOUTS[layout]
    make_array(tmp_path / "ours", codecs)
    make_array(tmp_path / "theirs", codecs)
    elements = np.random.default_rng(SEED).integers(1, 1000, SHAPE).astype("<i4")
    zarr.open_array(tmp_path / "theirs", mode="r+")[:] = elements
    for level, size in [("outer", CHUNK)] + ([("inner", inner)] if inner else []):
        for index in np.ndindex(*[-(-n // k) for n, k in zip(SHAPE, size)]):
            chunk = get(server, "theirs", index, level=level)
            assert chunk.status == 200
            answer = put(server, "ours", index, chunk.body, level=level)
            assert (answer.status, answer.json()) == (200, counts(written=1)), answer
            assert get(server, "ours", index, level=level).body == chunk.body
            again = put(server, "ours", index, chunk.body, level=level, dry_run=1)
            assert (again.status, again.json()) == (200, counts(unchanged=1))
        found = zarr.open_array(tmp_path / "ours", mode="r")[:]
        assert (found == elements).all()
        for index in np.ndindex(*[-(-n // k) for n, k in zip(SHAPE, size)]):
            assert delete(server, "ours", index, level=level).status == 204
        assert list(contents(tmp_path / "ours")) == ["zarr.json"]


def test_rank_0_has_one_chunk(serve, tmp_path):
    server = start(serve, tmp_path)
    make_array(tmp_path / "a", [BIG], shape=(), chunk=())
    assert put(server, "a", (), struct.pack("<i", 77), decoded=1).status == 200
    assert (tmp_path / "a" / "c").read_bytes() == struct.pack(">i", 77)
    assert zarr.open_array(tmp_path / "a", mode="r")[()] == 77


# ---- fill values, tags, dry runs ----


def test_chunks_of_the_fill_value_are_left_out_unless_asked_for(serve, tmp_path):
    rng = np.random.default_rng(SEED)
    full = random_elements(rng, "<i4", CHUNK).tobytes()
    empty = np.full(CHUNK, 9, "<i4").tobytes()
    for write_empty in [False, True]:
        folder = tmp_path / str(write_empty)
        folder.mkdir()
        server = start(serve, folder, write_empty_chunks=write_empty)
        for name, codecs in {"plain": [LITTLE], "sharded": [shard((4, 2), [LITTLE])]}.items():
            make_array(folder / name, codecs, fill=9)
            assert put(server, name, (0, 0), full, decoded=1).json() == counts(written=1)
            answer = put(server, name, (0, 0), empty, decoded=1)
            assert answer.json() == (counts(written=1) if write_empty else counts(erased=1))
            assert (folder / name / "c/0/0").exists() == write_empty
            answer = put(server, name, (0, 1), empty, decoded=1)
            assert answer.json() == (counts(written=1) if write_empty else counts(unchanged=1))
            assert (folder / name / "c/0/1").exists() == write_empty
        assert put(server, "plain", (0, 0), empty).json()["chunks"]["erased"] == 0  # a client's bytes are its own
        assert (folder / "plain/c/0/0").read_bytes() == empty
        if write_empty:
            answer = get(server, "sharded", (0, 0), level="inner")
            assert answer.status == 200 and answer.body == np.full((4, 2), 9, "<i4").tobytes()


def test_an_array_may_skip_empty_chunks_whoever_made_them(serve, tmp_path):
    server = start(serve, tmp_path, write_empty_chunks=True)
    skip = [{"name": "example.skip_empty_chunks", "must_understand": False}]
    empty = np.zeros(CHUNK, "<i4").tobytes()
    for name, codecs in {"plain": [LITTLE], "sharded": [shard((4, 2), [LITTLE])]}.items():
        make_array(tmp_path / name, codecs, extensions=skip)
        full = np.arange(1, 33, dtype="<i4").reshape(CHUNK)
        assert put(server, name, (0, 0), full.tobytes(), decoded=1).json() == counts(written=1)
        assert put(server, name, (0, 0), empty, decoded=1).json() == counts(erased=1)
    assert put(server, "plain", (0, 0), empty).status == 200
    assert "plain/c/0/0" not in contents(tmp_path)
    # A shard in which a client has stored chunks of nothing but the fill value, beside one of others.
    make_array(tmp_path / "other", [shard((4, 2), [LITTLE])])
    full[:4, :2] = 0
    assert put(server, "other", (0, 0), full.tobytes(), decoded=1).json() == counts(written=1)
    body = get(server, "other", (0, 0)).body
    assert get(server, "other", (0, 0), level="inner").status == 200
    assert put(server, "sharded", (0, 0), body).json() == counts(written=1)
    assert get(server, "sharded", (0, 0), level="inner").status == 404
    assert get(server, "sharded", (0, 0), decoded=1).body == full.tobytes()


def test_tags_are_those_of_get_and_conditions_hold(serve, tmp_path):
    server = start(serve, tmp_path)
    for name, codecs in {"plain": [LITTLE], "sharded": [shard((4, 2), [LITTLE])]}.items():
        make_array(tmp_path / name, codecs)
        level = "inner" if name == "sharded" else "outer"
        size = 4 * 2 * 4 if name == "sharded" else 8 * 4 * 4
        for decoded in [0, 1]:
            index = (decoded, 0)
            query = {"level": level, "decoded": decoded}
            new = {"If-None-Match": "*"}
            assert put(server, name, index, b"1" * size, {"If-Match": "*"}, **query).status == 412
            made = put(server, name, index, b"1" * size, new, **query)
            assert made.status == 200, made
            assert made.headers["etag"] == get(server, name, index, **query).headers["etag"]
            assert put(server, name, index, b"2" * size, new, **query).status == 412
            changed = put(server, name, index, b"2" * size, {"If-Match": made.headers["etag"]}, **query)
            assert changed.status == 200 and changed.headers["etag"] != made.headers["etag"]
            refused = put(server, name, index, b"3" * size, {"If-Match": made.headers["etag"]}, **query)
            assert (refused.status, refused.code) == (412, "precondition_failed")
            assert refused.headers["etag"] == changed.headers["etag"]
            weak = {"If-Match": "W/" + changed.headers["etag"]}
            assert put(server, name, index, b"3" * size, weak, **query).status == 412
            several = {"If-Match": f'"other", {changed.headers["etag"].strip(chr(34))}'}
            assert put(server, name, index, b"4" * size, several, **query).status == 200
            tag = get(server, name, index, **query).headers["etag"]
            assert put(server, name, index, b"5" * size, {"If-None-Match": tag}, **query).status == 412
            assert delete(server, name, index, {"If-Match": made.headers["etag"]}, level=level).status == 412
            assert get(server, name, index, decoded=1, level=level).body == b"4" * size
            assert delete(server, name, index, {"If-Match": tag}, level=level).status == 204


def test_an_absent_chunk_has_a_decoded_tag_to_write_by(serve, tmp_path):
    server = start(serve, tmp_path)
    make_array(tmp_path / "a", [LITTLE])
    tag = get(server, "a", (0, 0), decoded=1).headers["etag"]
    assert put(server, "a", (0, 0), b"1" * 128, {"If-Match": tag}, decoded=1).status == 200
    assert put(server, "a", (0, 0), b"2" * 128, {"If-Match": tag}, decoded=1).status == 412


def test_a_dry_run_answers_the_same_and_stores_nothing(serve, tmp_path):
    server = start(serve, tmp_path)
    make_array(tmp_path / "a", [shard((4, 2), [LITTLE, CRC])])
    put(server, "a", (0, 0), b"1" * 128, decoded=1)
    before = contents(tmp_path)
    for level, size in [("outer", 128), ("inner", 32)]:
        with server.cost() as cost:
            answer = put(server, "a", (0, 0), b"2" * size, decoded=1, level=level, dry_run=1)
        assert (answer.status, answer.json()) == (200, counts(written=1))
        assert cost["zarrd_store_writes_total"] == 0
        assert put(server, "a", (0, 0), b"0" * size, level=level, dry_run=1).status == 422
        assert put(server, "a", (0, 0), b"2", decoded=1, level=level, dry_run=1).status == 400
        assert put(server, "a", (0, 0), b"2" * size, {"If-None-Match": "*"}, decoded=1, level=level, dry_run=1).status == 412
        assert delete(server, "a", (0, 0), level=level, dry_run=1).status == 204
    assert contents(tmp_path) == before


def test_statistics_of_the_document_are_never_false(serve, tmp_path):
    server = start(serve, tmp_path)
    bounds = [{"name": "example.array-statistics", "configuration": {"min": 5, "max": 6}, "must_understand": False}]
    for name, codecs in {"plain": [LITTLE, ZSTD], "sharded": [shard((4, 2), [LITTLE, CRC])]}.items():
        make_array(tmp_path / name, codecs, extensions=bounds)
        make_array(tmp_path / "source", codecs)
        level = "inner" if name == "sharded" else "outer"
        shape = (4, 2) if name == "sharded" else CHUNK
        put(server, name, (0, 0), np.full(shape, -7, "<i4").tobytes(), decoded=1, level=level)
        put(server, "source", (0, 0), np.full(CHUNK, 99, "<i4").tobytes(), decoded=1)
        answer = put(server, name, (1, 0), get(server, "source", (0, 0)).body)
        assert answer.status == 200
        assert answer.headers["etag"] == get(server, name, (1, 0)).headers["etag"]
        document = json.loads((tmp_path / name / "zarr.json").read_text())
        assert document["extensions"][0]["configuration"] == {"min": -7, "max": 99}
        delete(server, "source", (0, 0))


# ---- what is no chunk ----


def refusals(server, path, size, level):
    """Each is refused, with its status and code."""
    grid = {"level": level}
    length = {"expected": f"{size} bytes", "found": f"{size - 1} bytes"}
    yield put(server, path, (0, 0), b"1" * (size - 1), decoded=1, **grid), 400, "bad_body", length
    yield put(server, path, (0, 0), b"", decoded=1, **grid), 400, "bad_body", {"found": "0 bytes"}
    yield put(server, path, (0, 0), b"1" * (size + 1), decoded=1, **grid), 400, "bad_body", {}
    yield put(server, path, (0, 0), b"", **grid), 422, "corrupt_chunk", {}
    yield put(server, path, (0, 0), b"no chunk", **grid), 422, "corrupt_chunk", {}
    yield put(server, path, (99, 0), b"1" * size, decoded=1, **grid), 400, "out_of_bounds", {"dim": 0, "index": 99}
    yield put(server, path, (0, 2**64 - 1), b"1" * size, decoded=1, **grid), 400, "out_of_bounds", {"dim": 1}
    yield put(server, path, (0, -1), b"1" * size, decoded=1, **grid), 400, "out_of_bounds", {"index": -1}
    yield put(server, path, (0,), b"1" * size, decoded=1, **grid), 400, "bad_parameter", {"expected": "2 numbers"}
    yield put(server, path, (0, 0), b"1" * size, decoded=1, surplus=1, **grid), 400, "unknown_parameter", {}
    yield put(server, path, (0, 0), b"1" * size, {"Content-Encoding": "gzip"}, decoded=1, **grid), 415, "unsupported_media_type", {}
    yield (server.request("PUT", target(path, (0, 0), decoded=1, **grid), {"Content-Type": "application/json"}, b"1" * size),
           415, "unsupported_media_type", {"allowed": ["application/octet-stream"]})
    yield delete(server, path, (99, 0), **grid), 400, "out_of_bounds", {}


@pytest.mark.parametrize("layout", ["plain", "zstd", "sharded", "nested shards"])
def test_a_key_that_is_no_chunk_changes_nothing(serve, tmp_path, layout):
    server = start(serve, tmp_path)
    codecs, inner = LAYOUTS[layout]
    make_array(tmp_path / "a", codecs)
    put(server, "a", (0, 0), np.arange(32, dtype="<i4").tobytes(), decoded=1)
    before = contents(tmp_path)
    for level, shape in [("outer", CHUNK)] + ([("inner", inner)] if inner else []):
        for answer, status, code, members in refusals(server, "a", 4 * int(np.prod(shape)), level):
            assert (answer.status, answer.code) == (status, code), answer
            assert members.items() <= answer.json().items(), answer.json()
    assert contents(tmp_path) == before


def test_a_chunk_of_another_shape_is_refused(serve, tmp_path):
    server = start(serve, tmp_path)
    make_array(tmp_path / "a", [LITTLE, CRC])
    make_array(tmp_path / "b", [LITTLE, CRC], chunk=(8, 5))
    put(server, "b", (0, 0), b"1" * 160, decoded=1)
    answer = put(server, "a", (0, 0), get(server, "b", (0, 0)).body)
    assert (answer.status, answer.code) == (422, "corrupt_chunk")
    assert list(contents(tmp_path / "a")) == ["zarr.json"]


def test_every_byte_of_an_encoded_shard_is_judged(serve, tmp_path):
    server = start(serve, tmp_path)
    make_array(tmp_path / "a", [shard((4, 4), [shard((2, 2), [LITTLE, CRC])])])
    put(server, "a", (0, 0), np.arange(1, 33, dtype="<i4").tobytes(), decoded=1)
    good = get(server, "a", (0, 0)).body
    connection = server.connection()
    for i in range(len(good)):
        body = good[:i] + bytes([good[i] ^ 0x40]) + good[i + 1:]
        answer = put(server, "a", (0, 0), body, connection=connection)
        assert answer.status == 422, (i, answer)
    assert get(server, "a", (0, 0)).body == good


def test_datasets_that_are_read_only(serve, tmp_path):
    make_array(tmp_path / "a", [LITTLE])
    unknown = {"name": "https://example.com/none", "must_understand": False}
    make_array(tmp_path / "dropped", [LITTLE, unknown])
    make_array(tmp_path / "refused", [LITTLE, {**unknown, "must_understand": True}])
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    readonly = serve(f"w={tmp_path}")
    for answer in [put(readonly, "a", (0, 0), b"1" * 128, decoded=1), delete(readonly, "a", (0, 0))]:
        assert (answer.status, answer.code) == (405, "read_only")
        assert sorted(answer.headers["allow"].split(", ")) == ["GET", "HEAD", "OPTIONS", "POST"]
    server = start(serve, tmp_path)
    for path, status, code in [("dropped", 422, "unsupported_codec"), ("refused", 422, "unsupported_codec"),
                               ("", 400, "not_an_array"), ("none", 404, "node_not_found")]:
        answer = put(server, path, (0, 0), b"1" * 128, decoded=1)
        assert (answer.status, answer.code) == (status, code), answer
    assert put(server, "dropped", (0, 0), b"1" * 128).status == 422  # it cannot be sure to decode
    assert delete(server, "dropped", (0, 0)).status == 204


def test_limits_hold_before_the_body_comes(serve, tmp_path):
    server = start(serve, tmp_path, {"limits": {"object_bytes": "64KiB"}})
    make_array(tmp_path / "a", [LITTLE], shape=(1 << 20,), chunk=(1 << 20,))
    connection = server.connection()
    connection.putrequest("PUT", target("a", (0,)))
    connection.putheader("Content-Length", str(1 << 22))
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    answer = connection.getresponse()
    problem = json.loads(answer.read())
    assert (answer.status, problem["code"], problem["limit"]) == (413, "too_large", 1 << 16)
    connection.close()


def test_a_body_of_unknown_length_is_taken(serve, tmp_path):
    server = start(serve, tmp_path)
    make_array(tmp_path / "a", [LITTLE], shape=(1 << 20,), chunk=(1 << 20,))
    elements = np.random.default_rng(SEED).integers(1, 1000, 1 << 20).astype("<i4").tobytes()
    pieces = [elements[i:i + 99_991] for i in range(0, len(elements), 99_991)]
    connection = server.connection()
    connection.request("PUT", target("a", (0,), decoded=1), iter(pieces), BYTES, encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    assert (tmp_path / "a/c/0").read_bytes() == elements
    connection.close()


@pytest.mark.parametrize("layout", ["zstd", "sharded", "nested shards"])
def test_a_corrupt_object_is_told_and_not_overwritten_in_part(serve, tmp_path, layout):
    server = start(serve, tmp_path)
    codecs, inner = LAYOUTS[layout]
    make_array(tmp_path / "a", codecs)
    put(server, "a", (0, 0), np.arange(1, 33, dtype="<i4").tobytes(), decoded=1)
    path = tmp_path / "a/c/0/0"
    spoilt = path.read_bytes()[:-1] + bytes([path.read_bytes()[-1] ^ 1])
    path.write_bytes(spoilt)
    if inner:
        size = 4 * int(np.prod(inner))
        for answer in [put(server, "a", (0, 0), b"1" * size, decoded=1, level="inner"), delete(server, "a", (0, 0), level="inner")]:
            assert (answer.status, answer.code) == (500, "corrupt_chunk"), answer
            assert "a/c/0/0" in answer.json()["detail"]
        assert path.read_bytes() == spoilt
    assert put(server, "a", (0, 0), b"1" * 128, decoded=1).status == 200
    assert get(server, "a", (0, 0), decoded=1).body == b"1" * 128


# ---- many writers ----

BIG_SHARD = {"codecs": [shard((4,), [LITTLE, CRC])], "shape": (1024,), "chunk": (1024,)}  # of 256 inner chunks


def test_writers_of_one_shard_share_its_rewrites(serve, tmp_path):
    server = start(serve, tmp_path, faults={})
    make_array(tmp_path / "a", **BIG_SHARD)
    n = 64
    with server.cost() as cost, concurrent.futures.ThreadPoolExecutor(n) as pool:
        with server.faulting("rename.wait"):
            writing = [pool.submit(put, server, "a", (i,), struct.pack("<4i", *[i + 1] * 4), decoded=1, level="inner") for i in range(n)]
            until_under_way(server, n)
        answers = [write.result() for write in writing]
    assert all(answer.status == 200 and answer.json() == counts(written=1) for answer in answers)
    elements = zarr.open_array(tmp_path / "a", mode="r")[:256]
    assert elements.tolist() == [i // 4 + 1 for i in range(256)]
    assert cost["zarrd_store_writes_total"] <= 48, cost["zarrd_store_writes_total"]  # as few as two, when all have come before the first ends


def write_all(servers, path, n_clients=16, n_chunks=256):
    """Each client writes inner chunks of its own, one after the other."""
    def client(i):
        server = servers[i % len(servers)]
        connection = server.connection()
        for chunk in range(i, n_chunks, n_clients):
            body = struct.pack("<4i", *[chunk + 1] * 4)
            answer = put(server, path, (chunk,), body, connection=connection, decoded=1, level="inner")
            assert answer.status == 200, answer
        connection.close()

    with concurrent.futures.ThreadPoolExecutor(n_clients) as pool:
        for future in [pool.submit(client, i) for i in range(n_clients)]:
            future.result()


@pytest.mark.parametrize("location", ["file", "mem"])
def test_disjoint_chunks_of_one_shard_all_survive(serve, tmp_path, location):
    if location == "file":
        server = start(serve, tmp_path)
        make_array(tmp_path / "a", **BIG_SHARD)
    else:
        server = serve("-w", "w=mem:")
        make_array(tmp_path / "a", **BIG_SHARD)
        document = (tmp_path / "a/zarr.json").read_bytes()
        assert server.request("PUT", "/v1/datasets/w/nodes/a", {"Content-Type": "application/json"}, document).status == 201
    write_all([server], "a")
    elements = np.frombuffer(get(server, "a", (0,), decoded=1).body, "<i4")
    assert elements.tolist() == [i // 4 + 1 for i in range(1024)]


def test_two_processes_lose_nothing(serve, tmp_path):
    make_array(tmp_path / "a", **BIG_SHARD)
    servers = [start(serve, tmp_path), start(serve, tmp_path)]
    write_all(servers, "a", n_clients=8, n_chunks=128)
    elements = zarr.open_array(tmp_path / "a", mode="r")[:512]
    assert elements.tolist() == [i // 4 + 1 for i in range(512)]


def test_exactly_one_creator_wins_in_two_processes(serve, tmp_path):
    make_array(tmp_path / "a", **BIG_SHARD)
    servers = [start(serve, tmp_path), start(serve, tmp_path)]
    for level, size in [("inner", 16), ("outer", 4096)]:
        gate = threading.Barrier(8)

        def create(i):
            gate.wait()
            return put(servers[i % 2], "a", (0,), bytes([i + 1]) * size, {"If-None-Match": "*"}, decoded=1, level=level).status

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            statuses = sorted(pool.map(create, range(8)))
        assert statuses == [200] + [412] * 7
        assert delete(servers[0], "a", (0,)).status == 204


def test_increments_by_tag_are_not_lost_in_two_processes(serve, tmp_path):
    make_array(tmp_path / "a", **BIG_SHARD)
    servers = [start(serve, tmp_path, revalidate_ms=0), start(serve, tmp_path, revalidate_ms=0)]
    put(servers[0], "a", (0,), struct.pack("<4i", 1, 1, 1, 1), decoded=1, level="inner")

    def client(i):
        server, n_done = servers[i % 2], 0
        for _ in range(12):
            seen = get(server, "a", (0,), decoded=1, level="inner")
            value = struct.unpack("<i", seen.body[:4])[0] + 1
            answer = put(server, "a", (0,), struct.pack("<4i", *[value] * 4), {"If-Match": seen.headers["etag"]},
                         decoded=1, level="inner")
            assert answer.status in (200, 412), answer
            n_done += answer.status == 200
        return n_done

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        n_done = sum(pool.map(client, range(8)))
    assert n_done > 0
    assert struct.unpack("<4i", get(servers[0], "a", (0,), decoded=1, level="inner").body) == (n_done + 1,) * 4


def test_readers_never_see_a_torn_shard(serve, tmp_path):
    """All inner chunks of a shard are of one generation, and of another length in each."""
    server = start(serve, tmp_path, revalidate_ms=0)
    make_array(tmp_path / "a", [shard((64,), [LITTLE, GZIP])], shape=(256,), chunk=(256,))
    random.seed(SEED)
    stop = threading.Event()
    put(server, "a", (0,), np.full(256, 1, "<i4").tobytes(), decoded=1)

    def write():
        connection = server.connection()
        for value in range(2, 200):
            elements = np.full(256, value, "<i4")
            elements[::64] = [random.randrange(1 << 30) if value % 2 else value] * 4  # another length
            answer = put(server, "a", (0,), elements.tobytes(), connection=connection, decoded=1)
            assert answer.status == 200, answer
        stop.set()

    def read(level):
        connection, n = server.connection(), 0
        while not stop.is_set() or n == 0:
            if level == "slice":
                answer = server.get("/v1/datasets/w/slices/a", connection=connection)
            else:
                answer = server.get(target("a", (n % 4 if level == "inner" else 0,), decoded=1, level=level), connection=connection)
            if answer.status == 502 and "was replaced while" in answer.json()["detail"]:  # each time that a starved server read it
                continue
            assert answer.status == 200, answer
            elements = np.frombuffer(answer.body, "<i4").reshape(-1, 64)
            assert len(set(elements[:, 1:].ravel().tolist())) == 1 or level == "slice"
            assert all(len(set(row[1:].tolist())) == 1 for row in elements)
            n += 1
        return n

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, level) for level in ["inner", "outer", "slice"]]
        try:
            pool.submit(write).result()
        finally:
            stop.set()
        assert all(reader.result() > 0 for reader in readers)


def test_events_tell_of_chunks(serve, tmp_path):
    server = start(serve, tmp_path)
    make_array(tmp_path / "a", [shard((4, 2), [LITTLE])])
    connection = server.connection()
    connection.request("GET", "/v1/datasets/w/events?path=a")
    stream = connection.getresponse()
    put(server, "a", (1, 0), b"1" * 128, decoded=1)
    put(server, "a", (2, 0), b"2" * 32, decoded=1, level="inner")
    put(server, "a", (2, 0), b"2" * 32, decoded=1, level="inner")  # which changes nothing
    delete(server, "a", (1, 0))
    told = []
    while len(told) < 3:
        line = stream.readline()
        assert line, told
        if line.startswith(b"data:"):
            told.append(json.loads(line[5:]))
    connection.close()
    assert [(event["path"], event["indices"], event["change"]) for event in told] == [
        ("a", [[1, 0]], "written"), ("a", [[1, 0]], "written"), ("a", [[1, 0]], "erased")]


def test_an_empty_chunk_is_taken_out_of_a_large_shard_without_decoding_it(serve, tmp_path):
    n, side = 64, 1 << 10  # 64 chunks of 4 MiB in a shard
    pieces = [gzip.compress(np.full((side, side), i, "<i4").tobytes(), 1, mtime=0) for i in range(n)]
    offsets = np.cumsum([0] + [len(piece) for piece in pieces])
    index = np.array([(offsets[i], len(pieces[i])) for i in range(n)], "<u8")
    make_array(tmp_path / "a", [shard((side, side), [LITTLE, GZIP], index=[LITTLE])], shape=(n * side, side), chunk=(n * side, side),
               extensions=[{"name": "example.skip_empty_chunks", "must_understand": False}])
    server = start(serve, tmp_path)
    before = memory_bytes(server, "VmHWM")
    assert put(server, "a", (0, 0), b"".join(pieces) + index.tobytes()).json() == counts(written=1)
    assert SANITIZED or memory_bytes(server, "VmHWM") - before < 64 << 20
    stored = (tmp_path / "a" / "c" / "0" / "0").read_bytes()
    kept = np.frombuffer(stored[-16 * n:], "<u8").reshape(n, 2)
    assert kept[0].tolist() == [2**64 - 1] * 2
    assert [stored[first:first + size] for first, size in kept[1:].tolist()] == pieces[1:]
