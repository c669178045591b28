"""Structures: what is stored, in every answer, and written in every form of body, against NumPy and zarr-python."""

import base64
import csv
import io
import json

import numpy as np
import pytest
from arrays import write_chunk, write_node
from documents import BIG, LITTLE, array_document

INNER = {"name": "struct", "configuration": {"fields": [
    {"name": "u", "data_type": "uint16"},
    {"name": "t", "data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}}]}}
FIELDS = [
    {"name": "x", "data_type": "float32"},
    {"name": "in", "data_type": INNER},
    {"name": "b", "data_type": "bool"},
    {"name": "\u00e9\"'", "data_type": {"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}},
    {"name": "c", "data_type": "complex64"},
    {"name": "r", "data_type": "r24"},
]
STRUCT = {"name": "struct", "configuration": {"fields": FIELDS}}
DTYPE = np.dtype([("x", "<f4"), ("in", [("u", "<u2"), ("t", "<M8[s]")]), ("b", "?"), ("\u00e9\"'", "<U2"), ("c", "<c8"), ("r", "V3")])
FILL = {"x": "NaN", "in": {"u": 7, "t": "NaT"}, "b": True, "\u00e9\"'": "\u20ac", "c": [1.0, -2.0], "r": [1, 2, 3]}
FILL_ITEM = np.array([(np.nan, (7, np.datetime64("NaT", "s")), True, "\u20ac", 1 - 2j, b"\1\2\3")], DTYPE)
VALUES = np.array([
    (1.5, (1, np.datetime64(5, "s")), False, "ab", 3 + 4j, b"abc"),
    (-np.inf, (65535, np.datetime64(-1, "s")), True, "", 0j, b"\0\0\0"),
    (0.1, (2, np.datetime64("NaT", "s")), True, '",', 1j, b"xyz")], DTYPE)


def as_json(item):
    x = float(item["x"])
    return {
        "x": "NaN" if np.isnan(x) else "-Infinity" if np.isinf(x) else float(str(item["x"])),
        "in": {"u": int(item["in"]["u"]), "t": str(item["in"]["t"])},
        "b": bool(item["b"]),
        "\u00e9\"'": str(item["\u00e9\"'"]),
        "c": [float(item["c"].real), float(item["c"].imag)],
        "r": base64.b64encode(item["r"].tobytes()).decode(),
    }


def start(serve, folder):
    return serve(config={"datasets": {"s": {"location": str(folder), "writable": True, "durable": False}}})


def get(server, path, query):
    answer = server.get(f"/v1/datasets/s/slices/{path}?{query}")
    assert answer.status == 200, answer
    return answer


def put(server, path, body, content_type, query=""):
    return server.request("PUT", f"/v1/datasets/s/slices/{path}?{query}", {"Content-Type": content_type}, body)


@pytest.mark.parametrize("codec", [LITTLE, BIG], ids=["little", "big"])
def test_fields_are_what_numpy_has_in_every_format(serve, tmp_path, codec):
    stored = VALUES.astype(DTYPE.newbyteorder(">" if codec is BIG else "<")).tobytes()
    stored = stored[:14] + b"\xff" + stored[15:] if VALUES["b"][0] else stored
    write_node(tmp_path / "a", array_document([5], [3], STRUCT, FILL, codecs=[codec]))
    write_chunk(tmp_path / "a", [0], stored)
    server = start(serve, tmp_path)
    wanted = np.concatenate([VALUES, FILL_ITEM, FILL_ITEM])
    raw = get(server, "a", "format=raw")
    assert raw.body == wanted.tobytes()
    typestr = [["x", "<f4"], ["in", [["u", "<u2"], ["t", "<M8[s]"]]], ["b", "|b1"], ["\u00e9\"'", "<U2"], ["c", "<c8"], ["r", "|V3"]]
    assert json.loads(raw.headers["zarr-dtype"]) == typestr and raw.headers["zarr-data-type"] == "struct"
    loaded = np.load(io.BytesIO(get(server, "a", "format=npy").body))
    assert loaded.dtype == DTYPE and loaded.tobytes() == wanted.tobytes()
    assert get(server, "a", "format=json").json()["data"] == [as_json(item) for item in wanted]
    rows = list(csv.reader(io.StringIO(get(server, "a", "format=csv").body.decode(), newline="")))
    assert [json.loads(row[0]) for row in rows] == [as_json(item) for item in wanted]
    node = server.get("/v1/datasets/s/nodes/a").json()
    assert node["metadata"]["data_type"] == STRUCT and node["metadata"]["fill_value"] == FILL
    assert node["array"]["dtype"] == typestr and node["array"]["itemsize"] == DTYPE.itemsize
    assert node["warnings"] == []


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def test_every_written_form_is_read_again(serve, tmp_path):
    plain = {"name": "struct", "configuration": {"fields": [FIELDS[0], FIELDS[1], FIELDS[2]]}}
    values = np.array([item.item()[:3] for item in VALUES[["x", "in", "b"]]], [(name, DTYPE[name]) for name in ("x", "in", "b")])
    fill = {name: FILL[name] for name in ("x", "in", "b")}
    bodies = {
        "raw": ("application/octet-stream", values.tobytes()),
        "npy": ("application/x-npy", npy(values)),
        "big": ("application/x-npy", npy(values.astype(values.dtype.newbyteorder(">")))),
        "json": ("application/json", json.dumps([{name: value for name, value in as_json(item).items() if name in fill}
                                                 for item in VALUES]).encode()),
    }
    for form in bodies:
        write_node(tmp_path / form, array_document([4], [2], plain, fill, codecs=[BIG]))
    server = start(serve, tmp_path)
    for form, (content_type, body) in bodies.items():
        answer = put(server, form, body, content_type, "slice=1:")
        assert answer.status == 200, (form, answer)
        assert get(server, form, "slice=1:").body == values.tobytes(), form
    wrong = np.zeros(3, [("x", "<f4"), ("in", DTYPE["in"]), ("c", "?")])
    for body, content_type in ((npy(wrong), "application/x-npy"), (b'[{"x":1},{},{}]', "application/json"),
                               (b'[1,2,3]', "application/json"), (bytes(7), "application/octet-stream")):
        answer = put(server, "raw", body, content_type, "slice=1:")
        assert answer.status == 400 and answer.json()["code"] == "bad_body", answer


# Of v2: fields of both byte orders, and array fields.
OLD = np.dtype([("a", ">i2"), ("p", [("u", "<u4"), ("v", ">f8", (2,))]), ("m", "<f4", (2, 3)), ("s", "S2", (2,)), ("t", ">M8[s]")])
OLD_TYPESTR = [["a", "<i2"], ["p", [["u", "<u4"], ["v", "<f8", [2]]]], ["m", "<f4", [2, 3]], ["s", "|S2", [2]], ["t", "<M8[s]"]]


def old_values():
    values = np.zeros(5, OLD)
    values["a"] = [1, -2, 3, 32767, -32768]
    values["p"]["u"] = [0, 1, 2**32 - 1, 7, 8]
    values["p"]["v"] = np.arange(10).reshape(5, 2) / 4
    values["m"] = np.arange(30).reshape(5, 2, 3)
    values["m"][0, 1, 2] = np.nan
    values["s"] = [["a", ""], ["bc", "d"], ["", ""], ["e", "f"], ["gh", "ij"]]
    values["t"] = np.array(range(5), "M8[s]")
    return values


def write_old(folder, values, fill=None):
    """Chunks of two elements; the last one is missing."""
    folder.mkdir()
    document = {"zarr_format": 2, "shape": [7], "chunks": [2], "fill_value": fill, "order": "C", "filters": None, "compressor": None,
                "dtype": [["a", ">i2"], ["p", [["u", "<u4"], ["v", ">f8", [2]]]], ["m", "<f4", [2, 3]], ["s", "|S2", [2]], ["t", ">M8[s]"]]}
    (folder / ".zarray").write_text(json.dumps(document))
    for i in range(2):
        (folder / str(i)).write_bytes(values[2 * i:2 * i + 2].tobytes())
    (folder / "2").write_bytes(values[[4, 4]].tobytes())


def old_as_json(item):
    numbers = [[float(x) if x == x else "NaN" for x in row] for row in item["m"].tolist()]
    return {"a": int(item["a"]), "p": {"u": int(item["p"]["u"]), "v": item["p"]["v"].tolist()}, "m": numbers,
            "s": [base64.b64encode(text).decode() for text in item["s"].tolist()], "t": str(item["t"])}


def test_fields_of_v2_have_their_own_byte_order_and_shape(serve, tmp_path):
    values, fill = old_values(), old_values()[3:4]
    write_old(tmp_path / "old", values, base64.b64encode(fill.tobytes()).decode())
    server = start(serve, tmp_path)
    little = OLD.newbyteorder("<")
    wanted = np.concatenate([values, values[[4]], fill]).astype(little)
    raw = get(server, "old", "format=raw")
    assert raw.body == wanted.tobytes()
    assert json.loads(raw.headers["zarr-dtype"]) == OLD_TYPESTR
    loaded = np.load(io.BytesIO(get(server, "old", "format=npy&slice=1:6:2").body))
    assert loaded.dtype == little and loaded.tobytes() == wanted[1:6:2].tobytes()
    assert get(server, "old", "format=json").json()["data"] == [old_as_json(item) for item in wanted]
    rows = list(csv.reader(io.StringIO(get(server, "old", "format=csv").body.decode(), newline="")))
    assert [json.loads(row[0]) for row in rows] == [old_as_json(item) for item in wanted]
    node = server.get("/v1/datasets/s/nodes/old").json()
    assert node["array"]["dtype"] == OLD_TYPESTR and node["array"]["itemsize"] == OLD.itemsize and node["warnings"] == []


def test_views_of_v3_have_fields_of_any_byte_order_and_no_arrays(serve, tmp_path):
    write_old(tmp_path / "old", old_values())
    mixed = np.array([(1, 2.5), (-3, np.inf)], [("a", ">i2"), ("b", "<f8")])
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed/.zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": [["a", ">i2"], ["b", "<f8"]], "fill_value": None, "order": "C",
        "filters": None, "compressor": None}))
    (tmp_path / "mixed/0").write_bytes(mixed.tobytes())
    (tmp_path / ".zgroup").write_text('{"zarr_format":2}')
    server = start(serve, tmp_path)
    document = server.get("/v3/s/mixed/zarr.json").json()
    assert [one["name"] for one in document["codecs"]] == ["bytes"] and document["codecs"][0]["configuration"] == {"endian": "little"}
    assert server.get("/v3/s/mixed/c/0").body == mixed.astype(mixed.dtype.newbyteorder("<")).tobytes()
    for key in ("zarr.json", "c/0"):
        answer = server.get(f"/v3/s/old/{key}")
        assert (answer.status, answer.code) == (404, "key_not_found") and "array fields" in answer.json()["detail"], answer
    assert set(server.get("/v3/s/zarr.json").json()["consolidated_metadata"]["metadata"]) == {"mixed"}


def field(name, data_type):
    return {"name": name, "data_type": data_type}


def deep(n):
    return "int8" if n == 0 else struct(field("a", deep(n - 1)))


def struct(*fields):
    return {"name": "struct", "configuration": {"fields": list(fields)}}


LEGACY = {"name": "structured", "configuration": {"fields": [["a", "int16"]]}}
FAULTS = [
    (struct(), {}, "/data_type"),
    ("struct", {}, "/data_type"),
    (struct(field("a", "int8"), field("a", "int8")), {"a": 0}, "/data_type/configuration/fields/1"),
    (struct(field("", "int8")), {"": 0}, "/data_type/configuration/fields/0"),
    (struct(field("a", "string")), {"a": ""}, "/data_type/configuration/fields/0/data_type"),
    (struct(field("a", "int7")), {"a": 0}, "/data_type/configuration/fields/0/data_type"),
    (struct({"name": "a", "data_type": "int8", "more": 1}), {"a": 0}, "/data_type/configuration/fields/0"),
    (struct(["a", "int8"]), {"a": 0}, "/data_type/configuration/fields/0"),
    (struct(field("a", struct())), {"a": {}}, "/data_type/configuration/fields/0"),
    (struct(field("a", "struct")), {"a": {}}, "/data_type/configuration/fields/0"),
    (struct(*(field(str(i), "int8") for i in range(1025))), {}, "/data_type/configuration/fields"),
    (struct(field("a", "r524288"), field("b", "int8")), {}, "/data_type/configuration/fields"),
    (deep(9), {}, "/data_type/configuration/fields/0"),
    (deep(12), {}, "/data_type/configuration/fields/0"),
    (struct(field("a", "int8"), field("b", "int8")), {"a": 0}, "/fill_value"),
    (struct(field("a", "int8")), {"a": 0, "b": 0}, "/fill_value"),
    (struct(field("a", "int8")), {"a": 128}, "/fill_value"),
    (struct(field("a", "int8")), "AA==", "/fill_value"),
    (LEGACY, "AAA=", "/data_type"),  # is only read
]


def test_documents_with_faults_are_refused_with_their_place(serve, tmp_path):
    server = start(serve, tmp_path)
    for data_type, fill, pointer in FAULTS:
        answer = server.request("PUT", "/v1/datasets/s/nodes/a", {"Content-Type": "application/json"},
                                json.dumps(array_document([2], [2], data_type, fill)).encode())
        assert answer.status in (400, 422), (data_type, fill, answer)
        if answer.status == 422:
            pointers = [error["pointer"] for error in answer.json()["errors"]]
            assert any(found.startswith(pointer) for found in pointers), (data_type, fill, pointers)


def test_deepest_structure_is_read(serve, tmp_path):
    fill = 5
    for _ in range(8):
        fill = {"a": fill}
    write_node(tmp_path / "a", array_document([2], [2], deep(8), fill))
    server = start(serve, tmp_path)
    assert get(server, "a", "format=json").json()["data"] == [fill, fill]


def test_the_legacy_spelling_is_read_with_a_warning(serve, tmp_path):
    for name, fill in (("a", "/v8="), ("b", {"a": 32766})):
        document = array_document([2], [2], LEGACY, fill, codecs=[{"name": "bytes"}])
        write_node(tmp_path / name, document)
    server = start(serve, tmp_path)
    assert np.frombuffer(get(server, "a", "").body, "<i2").tolist() == [-2] * 2
    assert np.frombuffer(get(server, "b", "").body, "<i2").tolist() == [32766] * 2
    node = server.get("/v1/datasets/s/nodes/a").json()
    assert node["metadata"]["data_type"] == struct(field("a", "int16")) and node["metadata"]["fill_value"] == {"a": -2}
    assert [warning["code"] for warning in node["warnings"]] == ["legacy_spelling"]


V2 = [
    ([["a", ">i4"], ["b", "|u1"]], "AAAAAf8=", 200, [1, 255]),
    ([["a", "<i4"], ["b", ">i2"]], None, 200, [0, 0]),
    ([["a", "<i4", [2]]], None, 200, [[0, 0]]),
    ([["a", "<i4", [0]]], None, 422, "/dtype/0/1"),
    ([["a", "<i4", 2]], None, 422, "/dtype/0/1"),
    ([["a", [["b", "<i4"]], [2]]], None, 422, "/dtype/0"),
    ([["a", "<i4", []]], None, 200, [0]),
    ([["a", "<q4"]], None, 422, "/dtype/0/1"),
    ([["a", "|O"]], None, 422, "/dtype/0/1"),
    ([["a"]], None, 422, "/dtype/0"),
    ([["a", "|i1"], ["a", "|i1"]], None, 422, "/dtype/1/1"),
    ([], None, 422, "/dtype"),
    ([["a", []]], None, 422, "/dtype"),
    ([["a", "|i1"]], "AAA=", 422, "/fill_value"),
]


def test_lists_of_fields_of_v2(serve, tmp_path):
    for i, (dtype, fill, _, _) in enumerate(V2):
        (tmp_path / str(i)).mkdir()
        (tmp_path / str(i) / ".zarray").write_text(json.dumps(
            {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": dtype, "compressor": None, "fill_value": fill, "order": "C",
             "filters": None}))
    server = start(serve, tmp_path)
    for i, (dtype, _, status, wanted) in enumerate(V2):
        answer = server.get(f"/v1/datasets/s/slices/{i}?format=json")
        assert answer.status == status, (dtype, answer)
        if status == 200:
            assert list(answer.json()["data"][0].values()) == wanted
        else:
            assert answer.json()["pointer"] == wanted, (dtype, answer.json())


def test_zeros_keep_their_sign(serve, tmp_path):
    """Without a point too: JSON has -0."""
    inner = {"name": "struct", "configuration": {"fields": [{"name": "z", "data_type": "complex64"}]}}
    fields = [{"name": "a", "data_type": "float32"}, {"name": "n", "data_type": "int8"}, {"name": "in", "data_type": inner}]
    write_node(tmp_path / "a", array_document([3], [3], {"name": "struct", "configuration": {"fields": fields}},
                                              {"a": 0, "n": 0, "in": {"z": [0, 0]}}, codecs=[LITTLE]))
    server = serve(config={"datasets": {"d": {"location": str(tmp_path), "writable": True, "revalidate_ms": 0}}})
    body = b'[{"a":-0,"n":-0,"in":{"z":[0,-0]}},{"in":{"z":[-0,0]},"n":0,"a":0},{"a":1,"n":0,"in":{"z":[-0,-0]}}]'
    assert server.request("PUT", "/v1/datasets/d/slices/a", {"Content-Type": "application/json"}, body).status == 200
    numbers = np.frombuffer(server.get("/v1/datasets/d/slices/a").body, [("a", "<f4"), ("n", "i1"), ("re", "<f4"), ("im", "<f4")])
    assert [np.signbit(numbers[name]).tolist() for name in ("a", "re", "im")] == [
        [True, False, False], [False, True, True], [True, False, True]]
    assert '"a":-0.0' in server.get("/v1/datasets/d/slices/a?format=json").body.decode()
