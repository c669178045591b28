"""Types that NumPy lacks: every code of them in every answer and body, as the smallest type of NumPy that holds it."""

import csv
import io
import json
import math

import numpy as np
import pytest
from arrays import write_chunk, write_node
from documents import BIG, LITTLE, array_document
from small_floats import COMPLEX, FORMATS, INTEGERS, code_type, meanings, n_codes

CODES = {"int2": [1, 0, 3, 2], "uint2": [0, 1, 2, 3], "int4": list(range(16)), "uint4": list(range(16))}


def integers(name):
    """What the low bits mean."""
    n_bits = int(name[-1])
    values = np.array(CODES[name], INTEGERS[name])
    return np.where(values >= 1 << n_bits - 1, values - (1 << n_bits), values).astype(INTEGERS[name]) if name[0] == "i" else values


def case(name):
    """The bytes of an array, and the values that it has."""
    if name in INTEGERS:
        junk = np.array([(code | 0xF0) if i % 2 else code for i, code in enumerate(CODES[name])], "u1")
        return (junk if int(name[-1]) == 4 else np.array(CODES[name], "u1")), integers(name)
    if name in COMPLEX:
        part = COMPLEX[name]
        stored = np.arange(n_codes(part), dtype=code_type(part)).repeat(2)
        stored[1::2] = stored[::-2]
        return stored, meanings(part)[stored].view("<f4").view("<c8")
    return np.arange(n_codes(name), dtype=code_type(name)), meanings(name).view("<f4")


NAMES = [*FORMATS, *COMPLEX, *INTEGERS]
FILLS = {"float8_e8m0fnu": 1, "complex_float8_e8m0fnu": [1, 2]}


def fill_of(name):
    return FILLS.get(name, [0, 1] if name in COMPLEX else 1)


@pytest.fixture(scope="module")
def small(serve_module, tmp_path_factory):
    """An array of each; the second chunk is absent."""
    root = tmp_path_factory.mktemp("small")
    for name in NAMES:
        stored, values = case(name)
        for endian in (LITTLE, BIG):
            folder = root / f"{name}.{endian['configuration']['endian']}"
            write_node(folder, array_document([len(values) + 1], [len(values)], name, fill_of(name), codecs=[endian]))
            write_chunk(folder, [0], stored.astype(stored.dtype.newbyteorder(">" if endian is BIG else "<")).tobytes())
    return serve_module(f"small={root}")


def get(server, path, query):
    answer = server.get(f"/v1/datasets/small/slices/{path}?{query}")
    assert answer.status == 200, answer
    return answer


def expected(name):
    _, values = case(name)
    fill = fill_of(name)
    return np.append(values, np.array(complex(*fill) if isinstance(fill, list) else fill, values.dtype))


def as_float(text):
    return float(text.replace("Infinity", "inf")) if isinstance(text, str) else text


def as_values(data, dtype):
    parts = [complex(*map(as_float, item)) if isinstance(item, list) else as_float(item) for item in data]
    return np.array(parts, dtype)


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("name", NAMES)
def test_every_code_is_what_the_registry_says(small, name, endian):
    wanted = expected(name)
    raw = get(small, f"{name}.{endian}", "format=raw")
    assert raw.headers["zarr-dtype"] == wanted.dtype.str and raw.headers["zarr-data-type"] == name
    assert int(raw.headers["content-length"]) == wanted.nbytes
    assert raw.body == wanted.tobytes()
    loaded = np.load(io.BytesIO(get(small, f"{name}.{endian}", "format=npy&slice=::-1").body))
    assert loaded.dtype == wanted.dtype and loaded.tobytes() == wanted[::-1].tobytes()
    data = as_values(get(small, f"{name}.{endian}", "format=json").json()["data"], wanted.dtype)
    assert np.array_equal(data, wanted, equal_nan=wanted.dtype.kind in "fc")
    rows = csv.reader(io.StringIO(get(small, f"{name}.{endian}", "format=csv").body.decode()))
    data = as_values([json.loads(row[0].replace("NaN", '"NaN"').replace("-Infinity", '"-I"').replace("Infinity", '"Infinity"')
                                 .replace('"-I"', '"-Infinity"')) for row in rows], wanted.dtype)
    assert np.array_equal(data, wanted, equal_nan=wanted.dtype.kind in "fc")


@pytest.mark.parametrize("name", NAMES)
def test_the_node_says_both_types(small, name):
    node = small.get(f"/v1/datasets/small/nodes/{name}.little").json()["array"]
    wanted = expected(name)
    assert (node["dtype"], node["data_type"]) == (wanted.dtype.str, name)
    assert (node["itemsize"], node["n_bytes"]) == (wanted.itemsize, wanted.nbytes)
    netcdf = [] if wanted.dtype.kind == "c" else ["netcdf"]
    assert node["formats"] == ["csv", "json", *netcdf, "npy", "npz", "raw"]


def test_a_decoded_chunk_is_as_it_is_in_memory(small):
    answer = small.get("/v1/datasets/small/chunks/bfloat16.big?index=0&decoded=1")
    assert answer.headers["zarr-dtype"] == "|V2" and answer.headers["zarr-data-type"] == "bfloat16"
    assert answer.body == case("bfloat16")[0].tobytes()
    answer = small.get("/v1/datasets/small/chunks/int4.big?index=0&decoded=1")
    assert answer.headers["zarr-dtype"] == "|i1" and answer.body == integers("int4").tobytes()


def test_a_range_of_widened_elements_is_the_whole(small):
    answer = small.get("/v1/datasets/small/slices/bfloat16.big?format=raw", {"Range": "bytes=0-7"})
    assert answer.status == 200 and answer.body == expected("bfloat16").tobytes()
    answer = small.get("/v1/datasets/small/slices/int4.big?format=raw", {"Range": "bytes=0-7"})
    assert answer.status == 206 and answer.body == expected("int4").tobytes()[:8]


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fnuz", "float8_e8m0fnu", "float6_e3m2fn", "int4", "uint2"])
def test_extremes_are_those_of_the_values(small, name):
    answer = small.get(f"/v1/datasets/small/stats/{name}.big?fields=min,max,n_nan").json()
    wanted = expected(name)
    with np.errstate(all="ignore"):
        assert as_float(answer["min"]) == np.nanmin(wanted) and as_float(answer["max"]) == np.nanmax(wanted)
    assert answer["n_nan"] == np.isnan(wanted).sum()


def start(serve, folder):
    return serve(config={"datasets": {"small": {"location": str(folder), "writable": True, "durable": False}}})


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def as_json(values):
    def number(value):
        return float(value) if math.isfinite(value) else str(float(value)).replace("nan", "NaN").replace("inf", "Infinity")
    if values.dtype.kind == "c":
        return json.dumps([[number(value.real), number(value.imag)] for value in values])
    return json.dumps([number(value) if values.dtype.kind == "f" else int(value) for value in values])


BODIES = {
    "raw": lambda values: ("application/octet-stream", values.tobytes()),
    "npy": lambda values: ("application/x-npy", npy(values)),
    "npy, big-endian": lambda values: ("application/x-npy", npy(values.astype(values.dtype.newbyteorder(">")))),
    "json": lambda values: ("application/json", as_json(values).encode()),
}


def put(server, path, body, content_type, query=""):
    return server.request("PUT", f"/v1/datasets/small/slices/{path}?{query}", {"Content-Type": content_type}, body)


@pytest.mark.parametrize("name", NAMES)
def test_written_text_is_stored_as_its_codes(serve, tmp_path, name):
    stored, values = case(name)
    if name in INTEGERS:
        stored = values  # written with the sign
    for i, form in enumerate(BODIES):
        write_node(tmp_path / str(i), array_document([len(values)], [len(values)], name, fill_of(name)))
    server = start(serve, tmp_path)
    for i, (form, body_of) in enumerate(BODIES.items()):
        content_type, body = body_of(values)
        answer = put(server, str(i), body, content_type)
        assert answer.status == 200, (form, answer)
        found = np.frombuffer((tmp_path / str(i) / "c" / "0").read_bytes(), stored.dtype)
        if form != "json":
            assert found.tobytes() == stored.tobytes(), form
        else:  # which has one NaN
            is_nan = np.isnan(values.view("f4")) if values.dtype.kind in "fc" else np.zeros(len(stored), bool)
            assert (found == stored)[~is_nan].all()
        read = np.frombuffer(get(server, str(i), "format=raw").body, values.dtype)
        assert np.array_equal(read, values, equal_nan=values.dtype.kind in "fc"), form


@pytest.mark.parametrize("name", NAMES)
def test_packed_elements_have_their_bits_and_no_others(serve, tmp_path, name):
    stored, values = case(name)
    if name in INTEGERS:
        stored, n_bits = values.view("u1"), int(name[-1])
    else:
        n_bits = (n_codes(COMPLEX.get(name, name)) - 1).bit_length()
    write_node(tmp_path / "a", array_document([len(values)], [len(values)], name, fill_of(name), codecs=[{"name": "packbits"}]))
    server = start(serve, tmp_path)
    assert put(server, "a", values.tobytes(), "application/octet-stream").status == 200
    bits = np.unpackbits(stored.astype("<u2").view("u1").reshape(-1, 2), axis=1, bitorder="little")[:, :n_bits]
    assert (tmp_path / "a" / "c" / "0").read_bytes() == np.packbits(bits.ravel(), bitorder="little").tobytes()
    assert get(server, "a", "").body == values.tobytes()


REFUSED = [
    ("int4", np.array([8], "i1")),
    ("int4", np.array([-9], "i1")),
    ("uint2", np.array([4], "u1")),
    ("float8_e4m3fnuz", np.array([np.inf], "f4")),
    ("float8_e4m3fnuz", np.array([1e9], "f4")),
    ("float6_e2m3fn", np.array([np.nan], "f4")),
    ("float4_e2m1fn", np.array([7], "f4")),
    ("float8_e8m0fnu", np.array([0], "f4")),
    ("complex_float4_e2m1fn", np.array([1 + 9j], "c8")),
]


def test_numbers_that_a_type_has_nothing_for_are_refused(serve, tmp_path):
    for name in {name for name, _ in REFUSED}:
        write_node(tmp_path / name, array_document([1], [1], name, fill_of(name)))
    server = start(serve, tmp_path)
    for name, values in REFUSED:
        for form, body_of in BODIES.items():
            content_type, body = body_of(values)
            answer = put(server, name, body, content_type)
            assert answer.status == 400 and answer.json()["code"] == "bad_body", (name, form, answer)
        assert not (tmp_path / name / "c").exists()


def test_numbers_are_rounded_and_may_be_appended_and_broadcast(serve, tmp_path):
    write_node(tmp_path / "a", array_document([2], [4], "bfloat16", 0, dimension_names=["x"]))
    server = start(serve, tmp_path)
    assert put(server, "a", np.array([1.001, 1.005], "<f4").tobytes(), "application/octet-stream").status == 200
    assert put(server, "a", np.array([3, 4, 5], "<f4").tobytes(), "application/octet-stream", "append=x").status == 200
    assert put(server, "a", np.array(7, "<f4").tobytes(), "application/octet-stream", "slice=3:&broadcast=1").status == 200
    assert np.frombuffer(get(server, "a", "").body, "<f4").tolist() == [1, 1.0078125, 3, 7, 7]
    answer = put(server, "a", bytes(10), "application/octet-stream", "slice=:3")
    assert answer.status == 400 and answer.json()["expected"] == "12 bytes"
    answer = put(server, "a", bytes(10), "application/octet-stream", "append=x")
    assert answer.status == 400 and answer.json()["expected"] == "a multiple of 4 bytes"


def test_long_bodies_are_converted_piece_by_piece(serve, tmp_path):
    n = 3_000_001
    values = np.arange(n, dtype="u4").astype("u2").astype("u4") << 16
    write_node(tmp_path / "a", array_document([n], [70_000], "bfloat16", 0, codecs=[BIG]))
    server = start(serve, tmp_path)
    assert put(server, "a", values.astype("<u4").tobytes(), "application/octet-stream").status == 200
    assert get(server, "a", "").body == values.astype("<u4").tobytes()
    assert np.load(io.BytesIO(get(server, "a", "format=npy&slice=1:").body)).tobytes() == values[1:].astype("<u4").tobytes()
