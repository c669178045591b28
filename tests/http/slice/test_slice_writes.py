"""PUT of slices: every layout, type and form against numpy; what may not be written; many writers at once; bodies that stream."""

import base64
import concurrent.futures
import io
import json
import os
import random
import socket
import threading

import numpy as np
import pytest
import zarr
from live import RawClient, Server

SEED = int(os.environ.get("ZD_SEED", "20261122"))
SHAPE = (13, 10, 7)
CHUNK = (4, 5, 3)
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
BIG = {"name": "bytes", "configuration": {"endian": "big"}}
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
CRC = {"name": "crc32c"}
BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0}}
TRANSPOSE = {"name": "transpose", "configuration": {"order": [2, 0, 1]}}


def shard(inner, codecs, location="end"):
    return {"name": "sharding_indexed", "configuration": {
        "chunk_shape": list(inner), "codecs": codecs, "index_codecs": [LITTLE, CRC], "index_location": location}}


LAYOUTS = {
    "plain": (CHUNK, [LITTLE]),
    "big": (CHUNK, [BIG]),
    "one chunk": (SHAPE, [LITTLE, ZSTD]),
    "every element a chunk": ((1, 1, 1), [LITTLE]),
    "larger than the array": ((20, 20, 20), [LITTLE, GZIP]),
    "compressed": (CHUNK, [LITTLE, BLOSC, CRC]),
    "transposed": (CHUNK, [TRANSPOSE, BIG, ZSTD]),
    "sharded": ((8, 10, 6), [shard((4, 5, 3), [LITTLE, ZSTD])]),
    "sharded, index first": ((8, 10, 6), [shard((4, 5, 3), [LITTLE], "start")]),
    "transposed in shards": ((8, 10, 6), [TRANSPOSE, shard((2, 2, 2), [BIG])]),
    "nested shards": ((8, 10, 12), [shard((4, 10, 6), [shard((2, 5, 3), [LITTLE, ZSTD])])]),
}
TYPES = {
    "bool": "?", "int8": "<i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint8": "<u1", "uint16": "<u2",
    "uint32": "<u4", "uint64": "<u8", "float16": "<f2", "float32": "<f4", "float64": "<f8", "complex64": "<c8",
    "complex128": "<c16", "r16": "V2", "r24": "V3",
}


def fill_of(dtype):
    if dtype.startswith("r"):
        return [7] * (int(dtype[1:]) // 8)
    return {"bool": True, "complex64": [1, -1], "complex128": [1, -1]}.get(dtype, 3)


def fill_element(dtype):
    fill = fill_of(dtype)
    if dtype.startswith("r"):
        return np.array([bytes(fill)], TYPES[dtype])[0]
    return np.array(complex(*fill) if isinstance(fill, list) else fill, TYPES[dtype])


def make_array(folder, shape=SHAPE, chunk=CHUNK, codecs=None, dtype="float32", fill=None, **more):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill_of(dtype) if fill is None else fill, "codecs": codecs or [LITTLE], **more}))


def start(serve, tmp_path, **options):
    return serve(config={"datasets": {"work": {"location": str(tmp_path), "writable": True, "durable": False, **options}}})


def put(server, path, values, text="", form="raw", query="", **headers):
    content_type, body = BODIES[form](np.asarray(values))
    target = f"/v1/datasets/work/slices/{path}?slice={text}{query}"
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.request("PUT", target, {"Content-Type": content_type, **headers}, body)


def get(server, path, text="", dtype="<f4", **headers):
    answer = server.get(f"/v1/datasets/work/slices/{path}?slice={text}", headers)
    assert answer.status == 200, answer
    shape = [int(n) for n in answer.headers["zarr-shape"].split(",") if n]
    return np.frombuffer(answer.body, dtype).reshape(shape)


# ---- forms of bodies ----

def as_npy(values, version=(1, 0), swap=False):
    out = io.BytesIO()
    if swap and values.dtype.kind != "V":
        values = values.astype(values.dtype.newbyteorder(">"))
    np.lib.format.write_array(out, values, version=version)
    return out.getvalue()


def spell(value):
    if isinstance(value, (np.void, bytes)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, (complex, np.complexfloating)):
        return [spell(value.real), spell(value.imag)]
    if isinstance(value, (float, np.floating)):
        value = float(value)
        if value != value:
            return "NaN"
        return value if abs(value) != float("inf") else "Infinity" if value > 0 else "-Infinity"
    return bool(value) if isinstance(value, np.bool_) else int(value)


def nested(values):
    return spell(values[()]) if values.ndim == 0 else [nested(values[i]) for i in range(len(values))]


def as_answer(values):
    return {"shape": list(values.shape), "data_type": "x", "dimensions": [None] * values.ndim, "selection": "...", "data": nested(values)}


BODIES = {
    "raw": lambda values: ("application/octet-stream", values.tobytes()),
    "npy": lambda values: ("application/x-npy", as_npy(values)),
    "npy2": lambda values: ("application/x-npy", as_npy(values, (2, 0))),
    "npy3, swapped": lambda values: ("application/x-npy; x=y", as_npy(values, (3, 0), True)),
    "json": lambda values: ("application/json", json.dumps(nested(values)).encode()),
    "json, pretty": lambda values: ("application/json; charset=utf-8", json.dumps(as_answer(values), indent=3).encode()),
}


# ---- random slices ----

def random_item(rng, size):
    kind = rng.randrange(5)
    if kind == 0 and size > 0:
        i = rng.randrange(-size, size)
        return i, str(i)
    bounds = [rng.choice([None, rng.randrange(-size - 2, size + 3)]) for _ in range(2)]
    step = rng.choice([None, 1, 1, 2, 3, -1, -2, size + 1])
    if kind == 1:
        bounds, step = [None, None], None
    text = ":".join("" if bound is None else str(bound) for bound in bounds)
    return slice(*bounds, step), text if step is None else f"{text}:{step}"


def random_slice(rng, shape):
    items = [random_item(rng, size) for size in shape]
    if rng.randrange(6) == 0:
        keep = rng.randrange(len(shape) + 1)
        items = items[:keep] + [(Ellipsis, "...")]
    return tuple(item for item, _ in items), ",".join(text for _, text in items)


def random_values(rng, shape, dtype):
    kind = np.dtype(TYPES[dtype])
    n = int(np.prod(shape))
    data = np.frombuffer(rng.randbytes(n * kind.itemsize), np.uint8)
    if kind.kind in "fc":
        values = np.frombuffer(rng.randbytes(2 * n), "<i2").astype("<f4")[:n].astype(kind)
        if n > 0 and rng.randrange(3) == 0:
            values[rng.randrange(n)] = rng.choice([np.nan, np.inf, -np.inf])
        return values.reshape(shape)
    if kind.kind == "b":
        return (data & 1).astype(bool).reshape(shape)
    return data.view(kind).reshape(shape)


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def run_random(server, tmp_path, path, dtype, shape, rng, n_slices):
    expected = np.full(shape, fill_element(dtype), TYPES[dtype])
    for _ in range(n_slices):
        index, text = random_slice(rng, shape)
        values = random_values(rng, expected[index].shape, dtype)
        form = rng.choice(sorted(BODIES))
        if rng.randrange(5) == 0:
            values = np.broadcast_to(random_values(rng, (), dtype), values.shape)
            answer = put(server, path, values.ravel()[0] if values.size else random_values(rng, (), dtype), text, form, "&broadcast=1")
        else:
            answer = put(server, path, values, text, form)
        assert answer.status == 200, (SEED, path, text, form, answer)
        expected[index] = values
        found = get(server, path, text, TYPES[dtype])
        assert same(found, expected[index]), (SEED, path, text, form)
    assert same(get(server, path, "", TYPES[dtype]), expected), (SEED, path)
    return expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_random_slices_of_every_layout_are_what_numpy_makes_of_them(serve, tmp_path, layout):
    chunk, codecs = LAYOUTS[layout]
    make_array(tmp_path / "a", SHAPE, chunk, codecs)
    server = start(serve, tmp_path)
    expected = run_random(server, tmp_path, "a", "float32", SHAPE, random.Random(f"{SEED} {layout}"), 40)
    assert same(np.asarray(zarr.open_array(tmp_path / "a", mode="r")[:]), expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_random_slices_of_every_type_are_what_numpy_makes_of_them(serve, tmp_path, dtype):
    chunk, codecs = LAYOUTS["transposed"] if dtype[0] == "f" else LAYOUTS["sharded"]
    make_array(tmp_path / "a", SHAPE, chunk, codecs, dtype)
    server = start(serve, tmp_path)
    expected = run_random(server, tmp_path, "a", dtype, SHAPE, random.Random(f"{SEED} {dtype}"), 25)
    if dtype[0] != "r":
        assert same(np.asarray(zarr.open_array(tmp_path / "a", mode="r")[:]), expected)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (5, 0, 3), (3, 1, 1, 2, 1, 2)])
def test_small_and_empty_arrays(serve, tmp_path, shape):
    make_array(tmp_path / "a", shape, [2] * len(shape), dtype="int16")
    server = start(serve, tmp_path)
    run_random(server, tmp_path, "a", "int16", shape, random.Random(SEED), 12)


# ---- what it costs, and what it tells ----

def chunks(answer):
    assert answer.status == 200, answer
    return tuple(answer.json()["chunks"][name] for name in ("written", "erased", "unchanged"))


def test_whole_chunks_are_written_without_reading(serve, tmp_path):
    make_array(tmp_path / "a", (8, 8), (2, 4))
    server = start(serve, tmp_path)
    whole = np.arange(64, dtype="<f4").reshape(8, 8) + 1
    assert chunks(put(server, "a", whole)) == (8, 0, 0)
    with server.cost() as cost:
        assert chunks(put(server, "a", whole + 1)) == (8, 0, 0)
    assert cost["zarrd_store_read_bytes_total"] == 0 and cost["zarrd_store_writes_total"] == 2 * 8  # staged, committed
    with server.cost() as cost:
        assert chunks(put(server, "a", whole[:3, :4], "0:3,0:4")) == (2, 0, 0)
    assert cost["zarrd_store_read_bytes_total"] == 32 and cost["zarrd_store_writes_total"] == 2 * 2
    with server.cost() as cost:
        assert chunks(put(server, "a", whole[:2, :4], "0:2,0:4")) == (1, 0, 0)
    assert cost["zarrd_store_read_bytes_total"] == 0 and cost["zarrd_store_writes_total"] == 1


def test_the_edge_of_the_array_is_read_for_what_may_lie_beyond(serve, tmp_path):
    """Another process may know the array to be longer, and have elements there."""
    make_array(tmp_path / "a", (5,), (4,))
    server = start(serve, tmp_path)
    assert chunks(put(server, "a", np.ones(5, "<f4"))) == (2, 0, 0)
    (tmp_path / "a" / "c" / "1").write_bytes(np.arange(4, dtype="<f4").tobytes())
    with server.cost() as cost:
        assert chunks(put(server, "a", np.ones(1, "<f4") * 2, "4:")) == (1, 0, 0)
    assert cost["zarrd_store_read_bytes_total"] == 16
    assert np.fromfile(tmp_path / "a" / "c" / "1", "<f4").tolist() == [2, 1, 2, 3]
    (tmp_path / "a" / "c" / "1").write_bytes(b"torn")
    assert chunks(put(server, "a", np.ones(1, "<f4") * 4, "4:")) == (1, 0, 0)
    fill = fill_of("float32")
    assert np.fromfile(tmp_path / "a" / "c" / "1", "<f4").tolist() == [4, fill, fill, fill]


def test_chunks_of_nothing_but_the_fill_value_are_left_out(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,), fill=3)
    server = start(serve, tmp_path)
    assert chunks(put(server, "a", np.array([1, 1, 3, 3, 3, 3, 2, 3], "<f4"))) == (2, 0, 2)
    assert sorted(path.name for path in (tmp_path / "a" / "c").iterdir()) == ["0", "3"]
    assert chunks(put(server, "a", np.array([1, 1, 3, 3, 3, 3, 3, 3], "<f4"))) in [(1, 1, 2), (0, 1, 3)]
    assert [path.name for path in (tmp_path / "a" / "c").iterdir()] == ["0"]


def test_chunks_of_fill_are_stored_where_the_dataset_says_so(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,), fill=3)
    server = start(serve, tmp_path, write_empty_chunks=True)
    assert chunks(put(server, "a", np.full(8, 3, "<f4"))) == (4, 0, 0)
    assert len(list((tmp_path / "a" / "c").iterdir())) == 4


def test_a_dry_run_says_what_would_be_and_stores_nothing(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,))
    server = start(serve, tmp_path)
    before = server.get("/v1/datasets/work/slices/a")
    for text in ["", "1:2", "1:7"]:
        dry = put(server, "a", np.ones(8, "<f4")[:get(server, "a", text).size], text, query="&dry_run=1")
        assert dry.status == 200
        assert not (tmp_path / "a" / "c").exists()
        assert server.get("/v1/datasets/work/slices/a").headers["etag"] == before.headers["etag"]
        wet = put(server, "a", np.ones(8, "<f4")[:get(server, "a", text).size], text)
        assert wet.json() == dry.json()
        assert put(server, "a", np.array(3, "<f4"), "", query="&broadcast=1").status == 200
    assert put(server, "a", np.ones(7, "<f4"), query="&dry_run=1").code == "bad_body"


def test_a_reader_sees_at_once_what_was_written(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,))
    server = start(serve, tmp_path, immutable=True)
    for i in range(20):
        first = server.get("/v1/datasets/work/slices/a")
        answer = put(server, "a", np.full(8, i, "<f4"))
        then = server.get("/v1/datasets/work/slices/a")
        assert then.headers["etag"] == answer.headers["etag"] != first.headers["etag"]
        assert np.frombuffer(then.body, "<f4").tolist() == [i] * 8


# ---- conditions ----

def test_the_tag_of_any_form_is_good_for_if_match(serve, tmp_path):
    make_array(tmp_path / "a", (4, 4), (2, 2))
    server = start(serve, tmp_path)
    forms = ["raw", "npy", "json", "csv", "json&nan=null", "json&pretty=1&ints=string", "csv&nan=null"]
    for form in forms:
        tag = server.get(f"/v1/datasets/work/slices/a?slice=1:3&format={form}").headers["etag"]
        stale = put(server, "a", np.ones((2, 4), "<f4"), "1:3", If_Match='"x", W/' + tag)
        assert stale.code == "precondition_failed" and stale.status == 412
        answer = put(server, "a", np.ones((2, 4), "<f4") * 2, "1:3", If_Match='"x", ' + tag.strip('"'))
        assert answer.status == 200
        assert put(server, "a", np.ones((2, 4), "<f4") * 3, "1:3", If_Match=tag).status == 412
        assert put(server, "a", np.ones((2, 4), "<f4") * 3, "1:3", If_Match=answer.headers["etag"]).status == 200
    coded = server.get("/v1/datasets/work/slices/a?slice=1:3&format=json", {"Accept-Encoding": "gzip, identity;q=0"}).headers["etag"]
    assert coded.endswith('-gzip"') and put(server, "a", np.ones((2, 4), "<f4"), "1:3", If_Match=coded).status == 200
    assert get(server, "a", "1:3").tolist() == np.ones((2, 4)).tolist()


def test_if_match_fails_when_a_touched_chunk_has_changed_and_only_then(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,))
    server = start(serve, tmp_path)
    tag = server.get("/v1/datasets/work/slices/a?slice=1:3").headers["etag"]
    assert put(server, "a", np.ones(4, "<f4"), "4:8").status == 200  # beside it
    assert put(server, "a", np.ones(2, "<f4"), "1:3", If_Match=tag).status == 200
    tag = server.get("/v1/datasets/work/slices/a?slice=1:3").headers["etag"]
    assert put(server, "a", np.ones(1, "<f4") * 5, "0").status == 200  # in the same chunk
    assert put(server, "a", np.ones(2, "<f4"), "1:3", If_Match=tag).status == 412
    assert put(server, "a", np.ones(2, "<f4"), "1:3", If_None_Match="*").status == 412
    assert put(server, "a", np.ones(2, "<f4"), "1:3", If_Match="*").status == 200
    assert get(server, "a").tolist() == [5, 1, 1, 3, 1, 1, 1, 1]


# ---- what may not be ----

def body(server, path, content_type, data, query="", **headers):
    return server.request("PUT", f"/v1/datasets/work/slices/{path}{query}", {"Content-Type": content_type, **headers}, data)


def npy(header, data=b"", version=b"\x01\x00"):
    header = header.encode() + b"\n"
    length = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + version + length + header + data


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
ZEROS = bytes(24)
BAD_BODIES = {
    "raw, short": ("application/octet-stream", bytes(23)),
    "raw, long": ("application/octet-stream", bytes(25)),
    "raw, none": ("application/octet-stream", b""),
    "npy, no magic": ("application/x-npy", b"NUMPY" + bytes(200)),
    "npy, another version": ("application/x-npy", npy(GOOD, ZEROS, b"\x04\x00")),
    "npy, another minor version": ("application/x-npy", npy(GOOD, ZEROS, b"\x01\x01")),
    "npy, another shape": ("application/x-npy", npy(GOOD.replace("(3, 2)", "(2, 3)"), ZEROS)),
    "npy, another rank": ("application/x-npy", npy(GOOD.replace("(3, 2)", "(6,)"), ZEROS)),
    "npy, a shape that is no tuple": ("application/x-npy", npy(GOOD.replace("(3, 2)", "(6)"), ZEROS)),
    "npy, another type": ("application/x-npy", npy(GOOD.replace("f4", "i4"), ZEROS)),
    "npy, another size": ("application/x-npy", npy(GOOD.replace("f4", "f8"), bytes(48))),
    "npy, fields": ("application/x-npy", npy(GOOD.replace("'<f4'", "[('a', '<f4')]"), ZEROS)),
    "npy, objects": ("application/x-npy", npy(GOOD.replace("<f4", "|O"), ZEROS)),
    "npy, Fortran order": ("application/x-npy", npy(GOOD.replace("False", "True"), ZEROS)),
    "npy, a member more": ("application/x-npy", npy(GOOD.replace(", }", ", 'x': True}"), ZEROS)),
    "npy, a member less": ("application/x-npy", npy(GOOD.replace("'fortran_order': False, ", ""), ZEROS)),
    "npy, a member twice": ("application/x-npy", npy(GOOD.replace(", }", ", 'shape': (3, 2)}"), ZEROS)),
    "npy, code": ("application/x-npy", npy(GOOD.replace("False", "not 1"), ZEROS)),
    "npy, short": ("application/x-npy", npy(GOOD, bytes(23))),
    "npy, long": ("application/x-npy", npy(GOOD, bytes(25))),
    "npy, cut in the header": ("application/x-npy", npy(GOOD, ZEROS)[:40]),
    "npy, a header of all": ("application/x-npy", b"\x93NUMPY\x02\x00" + b"\xff" * 100),
    "json, none": ("application/json", b""),
    "json, cut": ("application/json", b"[[1, 2], [3, 4], [5, 6]"),
    "json, more": ("application/json", b"[[1, 2], [3, 4], [5, 6]]]"),
    "json, another shape": ("application/json", b"[[1, 2, 3], [4, 5, 6]]"),
    "json, ragged": ("application/json", b"[[1, 2], [3], [5, 6]]"),
    "json, too deep": ("application/json", b"[[[1], 2], [3, 4], [5, 6]]"),
    "json, too flat": ("application/json", b"[1, 2, 3, 4, 5, 6]"),
    "json, too few": ("application/json", b"[[1, 2], [3, 4]]"),
    "json, too many": ("application/json", b"[[1, 2], [3, 4], [5, 6], [7, 8]]"),
    "json, a word": ("application/json", b'[[1, 2], [3, 4], [5, "six"]]'),
    "json, null": ("application/json", b"[[1, 2], [3, 4], [5, null]]"),
    "json, bare NaN": ("application/json", b"[[1, 2], [3, 4], [5, NaN]]"),
    "json, trailing comma": ("application/json", b"[[1, 2], [3, 4], [5, 6],]"),
    "json, no comma": ("application/json", b"[[1, 2], [3 4], [5, 6]]"),
    "json, an object without data": ("application/json", b'{"shape": [3, 2]}'),
    "json, another member": ("application/json", b'{"data": [[1, 2], [3, 4], [5, 6]], "date": 1}'),
    "json, data twice": ("application/json", b'{"data": [[1, 2], [3, 4], [5, 6]], "data": 1}'),
    "json, not UTF-8": ("application/json", b'[[1, 2], [3, 4], [5, "\xff"]]'),
}


def states(folder):
    """Every file but those that the store keeps for itself, and its time of change."""
    paths = [path for path in folder.rglob("*") if path.is_file() and "/.zarrd" not in str(path)]
    return sorted((str(path), path.stat().st_mtime_ns) for path in paths)


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A server over one array that no test of this module may change."""
    folder = tmp_path_factory.mktemp("strict")
    make_array(folder / "a", (3, 2), (2, 2))
    make_array(folder / "g" / "b", (3, 2), (2, 2))
    (folder / "g" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    make_array(folder / "huge", (1 << 20, 1 << 20), (1 << 10, 1 << 10))
    server = Server(config={"datasets": {"work": {"location": str(folder), "writable": True}, "fixed": {"location": str(folder)}}})
    before = states(folder)
    yield server
    after = states(folder)
    server.stop()
    assert before == after


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_is_not_the_slice_changes_nothing(strict, name):
    content_type, data = BAD_BODIES[name]
    for target in ["a", "a?slice=:,:", "a?slice=::-1&dry_run=1"]:
        path, _, query = target.partition("?")
        answer = body(strict, path, content_type, data, "?" + query if query else "")
        assert answer.status == 400 and answer.code == "bad_body", answer
    document = answer.json()
    if "expected" not in document:
        assert "json" in name or "cut" in name or "header of all" in name, document


@pytest.mark.parametrize("path,query,status,code", [
    ("a", "?slice=3", 400, "out_of_bounds"),
    ("a", "?slice=a", 400, "bad_slice"),
    ("a", "?slice=0:1:0", 400, "bad_slice"),
    ("a", "?slice=0,0,0", 400, "bad_slice"),
    ("a", "?format=raw", 400, "unknown_parameter"),
    ("a", "?slice=0&slice=1", 400, "unknown_parameter"),
    ("a", "?broadcast=yes", 400, "bad_parameter"),
    ("a", "?dry_run=2", 400, "bad_parameter"),
    ("a", "?expected_shape=3,3", 409, "shape_mismatch"),
    ("a", "?expected_shape=x", 400, "bad_parameter"),
    ("g", "", 400, "not_an_array"),
    ("none", "", 404, "node_not_found"),
    ("huge", "", 413, "too_large"),
    ("huge", "?slice=0:1,:&broadcast=0", 400, "bad_body"),
])
def test_what_cannot_be_is_refused_before_the_body_comes(strict, path, query, status, code):
    """No byte of it is sent, and no 100 (Continue) asks for it."""
    with socket.create_connection(("127.0.0.1", strict.port), timeout=60) as s:
        s.sendall(f"PUT /v1/datasets/work/slices/{path}{query} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                  "Content-Length: 24000\r\n\r\n".encode())
        received = b""
        while piece := s.recv(65536):
            received += piece
    head, _, document = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), head
    assert json.loads(document)["code"] == code


def test_a_slice_too_large_comes_with_pieces_that_are_not(strict):
    document = body(strict, "huge", "application/octet-stream", None, "", **{"Content-Length": "0"}).json()
    assert document["code"] == "too_large" and document["suggestions"] and document["n_suggestions"] >= len(document["suggestions"])


def test_other_types_of_bodies_are_refused_with_those_that_are_not(strict):
    for content_type in ["text/csv", "application/x-npz", "application/jsonx", "multipart/form-data"]:
        answer = body(strict, "a", content_type, bytes(24))
        assert answer.status == 415 and answer.code == "unsupported_media_type"
        assert sorted(answer.json()["allowed"]) == ["application/json", "application/octet-stream", "application/x-npy"]


@pytest.mark.parametrize("headers,status,code", [
    ({"Content-Encoding": "gzip"}, 415, "unsupported_media_type"),
    ({"Content-Range": "bytes 0-7/8"}, 400, "bad_request"),
])
def test_parts_and_coded_bodies_are_refused(serve, tmp_path, headers, status, code):
    make_array(tmp_path / "a", (4,), (2,), dtype="int32", fill=0)
    server = start(serve, tmp_path)
    raw = ("application/octet-stream", b"12345678", "?slice=0:2")
    answer = body(server, "a", *raw, **headers)
    assert (answer.status, answer.json()["code"]) == (status, code)
    assert get(server, "a", dtype="<i4").tolist() == [0] * 4
    assert body(server, "a", *raw, **{"Content-Encoding": "identity"}).status == 200


def test_a_read_only_dataset_takes_no_slices(strict):
    answer = strict.request("PUT", "/v1/datasets/fixed/slices/a", {}, bytes(24))
    assert answer.status == 405 and answer.code == "read_only"


def test_the_connection_lives_on_after_a_small_body_that_was_refused(strict):
    connection = strict.connection()
    for _ in range(3):
        answer = strict.request("PUT", "/v1/datasets/work/slices/a?slice=9", {}, bytes(20000), connection=connection)
        assert answer.status == 400 and "close" not in answer.headers.get("connection", "")
    connection.close()


def test_a_long_body_that_is_refused_is_not_read(strict):
    with socket.create_connection(("127.0.0.1", strict.port), timeout=60) as s:
        s.sendall(b"PUT /v1/datasets/work/slices/a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n" + bytes(300000))
        received = b""
        while piece := s.recv(65536):
            received += piece
    assert received.startswith(b"HTTP/1.1 400 ") and b"Connection: close" in received and b"bad_body" in received


# ---- several at once ----

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
    with running[0].cost() as cost:
        answers = at_once(lambda i: put(running[i % n_servers], "a", np.full(8, i + 1, "<i4"), str(i)), N_CLIENTS)
    assert {answer.status for answer in answers} == {200}
    expected = np.repeat(np.arange(1, 65, dtype="<i4")[:, None], 8, 1)
    assert same(np.asarray(zarr.open_array(tmp_path / "a", mode="r")[:]), expected)
    for server in running:
        assert same(get(server, "a", dtype="<i4"), expected)
    if n_servers == 1 and chunk[0] >= 64:
        assert cost["zarrd_store_writes_total"] < N_CLIENTS  # those who wait are merged


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


# ---- append ----

def append(server, path, values, dim, form="raw", query="", **headers):
    content_type, data = BODIES[form](np.asarray(values))
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.request("PUT", f"/v1/datasets/work/slices/{path}?append={dim}{query}", {"Content-Type": content_type, **headers}, data)


@pytest.mark.parametrize("layout", ["plain", "sharded", "transposed", "every element a chunk", "larger than the array"])
def test_appends_of_every_form_are_what_numpy_makes_of_them(serve, tmp_path, layout):
    chunk, codecs = LAYOUTS[layout]
    rng = random.Random(f"{SEED} append {layout}")
    make_array(tmp_path / "a", (0, 3, 2), chunk, codecs, "int32", 0, dimension_names=["time", None, "x"])
    server = start(serve, tmp_path)
    expected = np.zeros((0, 3, 2), "<i4")
    for i in range(12):
        dim, name = rng.choice([(0, "time"), (0, "0"), (0, "time"), (2, "x"), (2, "2"), (1, "1")])
        shape = list(expected.shape)
        shape[dim] = rng.randrange(4)
        values = random_values(rng, shape, "int32")
        answer = append(server, "a", values, name, rng.choice(sorted(BODIES)), "&expected_shape=" + ",".join(map(str, expected.shape)))
        assert answer.status == 200, answer
        start_at = expected.shape[dim]
        expected = np.concatenate([expected, values], dim)
        assert answer.json()["shape"] == list(expected.shape)
        where = answer.json()["selection"]
        if values.size:
            found = server.get(f"/v1/datasets/work/slices/a?slice={where}")
            assert same(np.frombuffer(found.body, "<i4").reshape(values.shape), values)
            assert where.split(",")[dim] == f"{start_at}:{expected.shape[dim]}:1"
        assert same(get(server, "a", dtype="<i4"), expected)
    stored = zarr.open_array(tmp_path / "a", mode="r")
    assert same(np.asarray(stored[:]), expected)


def test_the_answer_of_an_append_goes_on(serve, tmp_path):
    make_array(tmp_path / "a", (3,), (2,))
    server = start(serve, tmp_path)
    answer = append(server, "a", np.ones(4, "<f4"), "0")
    found = server.get("/v1/datasets/work/slices/a?slice=" + answer.json()["selection"])
    assert found.headers["etag"] == answer.headers["etag"]
    assert put(server, "a", np.ones(4, "<f4") * 2, answer.json()["selection"], If_Match=answer.headers["etag"]).status == 200


def test_a_dry_append_says_what_would_be(serve, tmp_path):
    make_array(tmp_path / "a", (3,), (2,))
    server = start(serve, tmp_path)
    before = states(tmp_path)
    for n in [1, 6]:
        answer = append(server, "a", np.ones(n, "<f4"), "0", query="&dry_run=1")
        assert answer.json()["shape"] == [3 + n] and answer.json()["chunks"]["written"] == {1: 1, 6: 4}[n]
    assert states(tmp_path) == before


LONG = b"[" + b"1, " * 400000 + b"1]"


@pytest.mark.parametrize("query,content_type,data,status,code", [
    ("append=1", "application/octet-stream", bytes(8), 400, "bad_parameter"),
    ("append=", "application/octet-stream", bytes(8), 400, "bad_parameter"),
    ("append=y", "application/octet-stream", bytes(8), 400, "bad_parameter"),
    ("append=0&slice=0", "application/octet-stream", bytes(8), 400, "bad_parameter"),
    ("append=0&broadcast=1", "application/octet-stream", bytes(4), 400, "bad_parameter"),
    ("append=0&expected_shape=4", "application/octet-stream", bytes(8), 409, "shape_mismatch"),
    ("append=0&expected_shape=4", "application/json", b"[1, 2]", 409, "shape_mismatch"),
    ("append=0", "application/octet-stream", bytes(7), 400, "bad_body"),
    ("append=0", "application/json", b"5", 400, "bad_body"),
    ("append=0", "application/json", b"[1, [2]]", 400, "bad_body"),
    ("append=0", "application/json", b"[1, 2", 400, "bad_body"),
    ("append=0", "application/json", LONG, 413, "too_large"),
    ("append=0", "application/x-npy", npy(GOOD, ZEROS), 400, "bad_body"),
    ("append=0", "application/x-npy", npy(GOOD.replace("(3, 2)", "(6,)"), ZEROS[1:]), 400, "bad_body"),
    ("append=0", "application/x-npy", npy(GOOD.replace("(3, 2)", "(18446744073709551615,)")), 400, "bad_body"),
], ids=range(15))
def test_what_cannot_be_appended_changes_nothing(serve, tmp_path, query, content_type, data, status, code):
    make_array(tmp_path / "a", (3,), (2,), dimension_names=["x"])
    server = start(serve, tmp_path)
    before = states(tmp_path)
    answer = server.request("PUT", f"/v1/datasets/work/slices/a?{query}", {"Content-Type": content_type}, data)
    assert (answer.status, answer.code) == (status, code), answer
    assert states(tmp_path) == before and get(server, "a").shape == (3,)


def test_how_much_is_appended_of_nothing_is_told_by_lists_and_headers(serve, tmp_path):
    make_array(tmp_path / "a", (5, 4, 0, 3), (2, 2, 2, 3))
    server = start(serve, tmp_path)
    for dim in ["0", "1", "3"]:
        before = states(tmp_path)
        answer = append(server, "a", np.zeros(0, "<f4"), dim)
        assert (answer.status, answer.code) == (400, "bad_body") and answer.json()["expected"] == "npy or json"
        assert states(tmp_path) == before
    assert append(server, "a", np.zeros((5, 4, 0, 3), "<f4"), "0", "npy").json()["shape"] == [10, 4, 0, 3]
    assert append(server, "a", np.zeros((1, 4, 0, 3), "<f4"), "0", "json").json()["shape"] == [11, 4, 0, 3]
    assert append(server, "a", np.zeros((11, 4, 2, 3), "<f4"), "2").json()["shape"] == [11, 4, 2, 3]


def test_bounds_that_are_widened_beside_an_append_do_not_hinder_it(serve, tmp_path):
    bounds = {"name": "example.array-statistics", "configuration": {"min": 0, "max": 1}}
    make_array(tmp_path / "a", (2, 3), (2, 3), extensions=[bounds])
    server = start(serve, tmp_path)
    body = as_npy(np.full((1, 3), 5, "<f4"))
    client = RawClient(server.port)
    client.send(b"PUT /v1/datasets/work/slices/a?append=0 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                b"Content-Type: application/x-npy\r\nContent-Length: %d\r\n\r\n" % len(body))
    assert client.file.readline().startswith(b"HTTP/1.1 100") and client.file.readline() == b"\r\n"
    assert put(server, "a", np.full((1, 3), 9, "<f4"), "0:1").status == 200
    client.send(body)
    status, answer = client.receive()
    assert status == 200, answer
    assert get(server, "a").tolist() == [[9] * 3, [3] * 3, [5] * 3]
    document = server.get("/zarr/work/a/zarr.json").json()
    assert document["shape"] == [3, 3] and document["extensions"][0]["configuration"] == {"min": 0, "max": 9}


def test_what_is_appended_has_no_tag_yet(serve, tmp_path):
    make_array(tmp_path / "a", (3,), (2,))
    server = start(serve, tmp_path)
    tag = server.get("/v1/datasets/work/slices/a").headers["etag"]
    for condition in [tag, "*"]:
        assert append(server, "a", np.ones(2, "<f4"), "0", If_Match=condition).status == 412
    assert append(server, "a", np.ones(2, "<f4"), "0", If_None_Match="*").status == 200


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


def test_what_a_crashed_append_has_left_is_overwritten(serve, tmp_path):
    make_array(tmp_path / "a", (3,), (2,))
    server = start(serve, tmp_path)
    assert append(server, "a", np.arange(6, dtype="<f4"), "0").status == 200
    document = json.loads((tmp_path / "a" / "zarr.json").read_text())
    document["shape"] = [3]  # its last step was never made
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(document))
    assert append(server, "a", np.full(4, 7, "<f4"), "0").json()["shape"] == [7]
    assert get(server, "a").tolist() == [3, 3, 3, 7, 7, 7, 7]


def test_an_append_counts_from_the_origin(serve, tmp_path):
    extension = {"name": "example.offset", "must_understand": True, "configuration": {"offset": [2]}}
    make_array(tmp_path / "a", (5,), (2,), extensions=[extension])
    server = start(serve, tmp_path)
    answer = append(server, "a", np.ones(2, "<f4"), "0", query="&expected_shape=3")
    assert answer.json()["shape"] == [5] and answer.json()["selection"] == "3:5:1"
    assert put(server, "a", np.array([8], "<f4"), "0:1").status == 200
    assert get(server, "a").tolist() == [8, 3, 3, 1, 1]
    assert json.loads((tmp_path / "a" / "zarr.json").read_text())["shape"] == [7]
    assert put(server, "a", np.array([9], "<f4"), "0:1", query="&origin=stored").status == 200
    assert get(server, "a", "&origin=stored").tolist() == [9, 3, 8, 3, 3, 1, 1]


def test_a_write_never_leaves_bounds_that_are_false(serve, tmp_path):
    extension = {"name": "example.array-statistics", "must_understand": False, "configuration": {"min": 1, "max": 2}}
    make_array(tmp_path / "a", (6,), (2,), extensions=[extension])
    server = start(serve, tmp_path)

    def bounds():
        return tuple(json.loads((tmp_path / "a" / "zarr.json").read_text())["extensions"][0]["configuration"][name] for name in ("min", "max"))

    assert put(server, "a", np.array([1, 2], "<f4"), "0:2").status == 200
    assert bounds() == (1, 2)
    answer = put(server, "a", np.array([1, 5, 1], "<f4"), "0:3")
    assert answer.status == 200 and bounds() == (1, 5)
    assert server.get("/v1/datasets/work/slices/a?slice=0:3").headers["etag"] == answer.headers["etag"]
    assert put(server, "a", np.array(-7, "<f4"), "5", query="&broadcast=1").status == 200
    assert bounds() == (-7, 5)
    assert append(server, "a", np.array([9], "<f4"), "0").status == 200
    assert bounds() == (-7, 9)
    assert put(server, "a", np.array([100], "<f4"), "0:1", query="&dry_run=1").status == 200
    assert bounds() == (-7, 9)


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


# ---- bodies that stream ----

SANITIZED = any(name in os.environ.get("ZARRD_BINARY", "") for name in ("asan", "tsan", "fuzz"))
MIB = 1 << 20


def resident(server, name):
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name + ":"))


def chunked(pieces):
    for piece in pieces:
        yield b"%x\r\n" % len(piece) + piece + b"\r\n"
    yield b"0\r\n\r\n"


@pytest.mark.skipif(SANITIZED, reason="sanitizers have memory of their own")
@pytest.mark.parametrize("n_mib,offset,is_chunked", [(256, 0, False), (256, 3, True)])
def test_a_long_body_takes_little_memory(serve, tmp_path, n_mib, offset, is_chunked):
    """Rows of 1 MiB in chunks of 1 MiB: 4 rows of chunks a band."""
    shape, chunk = (n_mib + 8, 512, 512), (4, 256, 256)
    make_array(tmp_path / "a", shape, chunk, [LITTLE], "int32", 0)
    server = serve("--set", "cache.decoded_bytes=1MiB", "--set", "cache.encoded_bytes=1MiB",
                   config={"datasets": {"work": {"location": str(tmp_path), "writable": True, "durable": False}}})
    assert put(server, "a", np.ones((8, 512, 512), "<i4"), "0:8").status == 200
    before = resident(server, "VmHWM")
    row = np.arange(1 << 18, dtype="<i4")
    framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {n_mib * MIB}"
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as s:
        s.sendall(f"PUT /v1/datasets/work/slices/a?slice={offset}:{offset + n_mib} HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n".encode())
        pieces = ((row + i).tobytes() for i in range(n_mib))
        for piece in chunked(pieces) if is_chunked else pieces:
            s.sendall(piece)
        answer = s.makefile("rb").readline()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert resident(server, "VmHWM") - before < 64 * MIB
    for i in (0, 1, n_mib // 2, n_mib - 1):
        assert np.array_equal(get(server, "a", str(offset + i), "<i4").ravel(), row + i)


def wait_for(condition):
    for _ in range(2000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it does not come about")


def temporaries(folder):
    return [path for path in folder.rglob(".zarrd-tmp-*") if path.is_file()]


@pytest.mark.parametrize("n_bytes,framing", [
    (0, "Content-Length: 4194304"), (1000, "Content-Length: 4194304"), (3000000, "Content-Length: 4194304"),
    (3000000, "Transfer-Encoding: chunked")])
def test_a_client_that_leaves_midway_changes_nothing(serve, tmp_path, n_bytes, framing):
    make_array(tmp_path / "a", (1 << 20,), (1 << 14,), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    assert put(server, "a", np.array(5, "<i4"), query="&broadcast=1").status == 200
    before = states(tmp_path)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(f"PUT /v1/datasets/work/slices/a HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n".encode())
        data = bytes(n_bytes)
        s.sendall(b"%x\r\n" % n_bytes + data if "chunked" in framing else data)
    # The locks are free again, and what was staged is gone.
    assert put(server, "a", np.array(5, "<i4"), query="&broadcast=1&dry_run=1").status == 200
    wait_for(lambda: not temporaries(tmp_path))
    assert states(tmp_path) == before
    assert put(server, "a", np.array(6, "<i4"), query="&broadcast=1").json()["chunks"]["written"] == 64


def test_a_body_that_turns_out_wrong_at_its_end_changes_nothing(serve, tmp_path):
    make_array(tmp_path / "a", (64, 1 << 14), (1, 1 << 12), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    rows = [json.dumps([i] * (1 << 14)).encode() for i in range(64)]
    good = b"[" + b",".join(rows) + b"]"
    for data in [good[:-1], good + b"1", good[:-3] + b"x]]", good[:-1] + b",[1]]"]:
        answer = server.request("PUT", "/v1/datasets/work/slices/a", {"Content-Type": "application/json"}, data)
        assert answer.status == 400 and answer.code == "bad_body", answer
        wait_for(lambda: not temporaries(tmp_path))
        assert not (tmp_path / "a" / "c").exists()
    for pieces in [[bytes(1 << 22), b"x"], [bytes((1 << 22) - 1)]]:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
            s.sendall(b"PUT /v1/datasets/work/slices/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            s.sendall(b"".join(chunked(pieces)))
            received = s.recv(65536)
        assert received.startswith(b"HTTP/1.1 400 ") and b"bad_body" in received
        wait_for(lambda: not temporaries(tmp_path))
        assert not (tmp_path / "a" / "c").exists()


def test_a_store_that_fails_in_the_middle_leaves_everything_as_it_was(serve, tmp_path):
    """A directory in the way of the key of the last object but one."""
    make_array(tmp_path / "a", (64,), (4,), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    assert put(server, "a", np.array(5, "<i4"), query="&broadcast=1").status == 200
    (tmp_path / "a" / "c" / "14").unlink()
    (tmp_path / "a" / "c" / "14" / "x").mkdir(parents=True)
    before = states(tmp_path)
    for text in ["", "1:63", "::-1"]:
        values = np.arange(62 if text == "1:63" else 64, dtype="<i4")
        answer = put(server, "a", values, text)
        assert answer.status == 502 and answer.code == "store_error", answer
        wait_for(lambda: not temporaries(tmp_path))
        assert states(tmp_path) == before
    server.announced.append("store_error")


def test_corrupt_chunks_fail_what_reads_them_and_nothing_changes(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (4,), [LITTLE, CRC], "int32", 0)
    server = start(serve, tmp_path)
    assert put(server, "a", np.arange(8, dtype="<i4")).status == 200
    path = tmp_path / "a" / "c" / "1"
    path.write_bytes(bytes(20))
    before = states(tmp_path)
    answer = put(server, "a", np.ones(4, "<i4"), "2:6")
    assert answer.status == 500 and answer.code == "corrupt_chunk"
    assert states(tmp_path) == before
    assert put(server, "a", np.ones(6, "<i4"), "2:8").status == 200  # all of it is replaced
    server.announced.append("corrupt_chunk")


def test_what_is_held_at_once_is_bounded(serve, tmp_path):
    make_array(tmp_path / "a", (64, 1024), (8, 1024), [LITTLE], "int32", 0)
    server = serve("--set", "limits.write_bytes=64KiB",
                   config={"datasets": {"work": {"location": str(tmp_path), "writable": True, "durable": False}}})
    answer = put(server, "a", np.ones((64, 1024), "<i4"))
    assert answer.status == 200, answer
    make_array(tmp_path / "b", (64, 1024), (32, 1024), [LITTLE], "int32", 0)
    answer = put(server, "b", np.ones((64, 1024), "<i4"))
    assert answer.status == 413 and answer.json()["limit"] == 65536 and answer.json()["requested"] == 131072
    expected = np.zeros((64, 1024), "<i4")
    for text in answer.json()["suggestions"]:
        index = tuple(slice(*(int(n) for n in item.split(":"))) for item in text.split(","))
        expected[index] += 1
        assert put(server, "b", expected[index], text).status == 200
    assert (expected == 1).all() and same(get(server, "b", dtype="<i4"), expected)


def test_each_write_is_told_to_those_who_listen(serve, tmp_path):
    make_array(tmp_path / "a", (8,), (2,), [LITTLE], "int32", 0)
    server = start(serve, tmp_path)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"GET /v1/datasets/work/events?path=a HTTP/1.1\r\nHost: a\r\n\r\n")
        stream = s.makefile("rb")
        while not stream.readline().startswith(b"HTTP/1.1 200"):
            pass
        assert put(server, "a", np.array([1, 1, 0, 0, 5, 5], "<i4"), "0:6").status == 200
        assert put(server, "a", np.array([0, 0, 9], "<i4"), "0:3").status == 200
        found = []
        while len(found) < 3:
            line = stream.readline()
            if line.startswith(b"data:") and b"indices" in line:
                found.append(json.loads(line[5:]))
    assert [(event["change"], sorted(event["indices"])) for event in found] == [
        ("written", [[0], [2]]), ("written", [[1]]), ("erased", [[0]])]


def test_a_node_says_whether_it_can_be_written(strict):
    for dataset, can in [("work", True), ("fixed", False)]:
        assert strict.get(f"/v1/datasets/{dataset}/nodes/a").json()["array"]["can"] == {"slice": True, "write": can}
        nodes = {node["path"]: node for node in strict.get(f"/v1/datasets/{dataset}/tree/g").json()["nodes"]}
        assert nodes["g/b"]["array"]["can"]["write"] is can


def test_an_example_of_the_readme(serve, tmp_path):
    """Read, change, write, append, with an ordinary client."""
    requests = pytest.importorskip("requests")
    make_array(tmp_path / "level", (10, 3), (4, 3), [LITTLE], "float32", 0, dimension_names=["time", "x"])
    server = start(serve, tmp_path)
    url = server.url + "/v1/datasets/work/slices/level"
    read = requests.get(url, params={"slice": "0:10,:"})
    values = np.frombuffer(read.content, read.headers["Zarr-Dtype"]).reshape([int(n) for n in read.headers["Zarr-Shape"].split(",")])
    headers = {"If-Match": read.headers["ETag"]}
    assert requests.put(url, params={"slice": "0:10,:"}, data=(values + 1).tobytes(), headers=headers).status_code == 200
    assert requests.put(url, params={"slice": "0:10,:"}, data=(values + 2).tobytes(), headers=headers).status_code == 412
    assert requests.put(url, params={"append": "time"}, json=[[1.5, "NaN", 2]]).json()["shape"] == [11, 3]
    found = get(server, "level")
    assert (found[:10] == 1).all() and np.array_equal(found[10], [1.5, np.nan, 2], equal_nan=True)
