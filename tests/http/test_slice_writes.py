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
from live import Server

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


def test_the_edge_of_the_array_is_whole_too(serve, tmp_path):
    make_array(tmp_path / "a", (5,), (4,))
    server = start(serve, tmp_path)
    assert chunks(put(server, "a", np.ones(5, "<f4"))) == (2, 0, 0)
    with server.cost() as cost:
        assert chunks(put(server, "a", np.ones(1, "<f4") * 2, "4:")) == (1, 0, 0)
    assert cost["zarrd_store_read_bytes_total"] == 0


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
