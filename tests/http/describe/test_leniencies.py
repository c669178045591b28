"""What real writers store beside the texts (reference 13): read with a warning, refused when it is written, by whatever route."""

import json
import struct

import numpy as np
import pytest
from client import JSON, NODES, put_node
from documents import BIG, CRC, GROUP, GZIP, LITTLE, array_document, regular, shard, transpose

V3, V2, N5, DRAFT_D = "v3", "v2", "n5", "draft-2023-06"
CODES = {"invalid_metadata", "bad_body", "unsupported_data_type", "unsupported_codec"}
NAN = float("nan")
ENDIAN = {"name": "endian", "configuration": {"endian": "little"}}
UNTYPED_BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "shuffle", "blocksize": 0}}


def shards(**more):
    codec = shard([1, 2])
    members = {**codec["configuration"], **more}
    return {**codec, "configuration": {name: member for name, member in members.items() if member is not None}}


def without(document, name):
    return {member: value for member, value in document.items() if member != name}


def array(**more):
    return {**array_document([2, 4], [2, 4], "int32", 7), **more}


# v3: what is stored, the dialect that it is called, its warnings, whether it may be written all the same.
OF_V3 = {
    "1 no codecs": (array(codecs=[]), V3, {"implied_bytes /codecs"}, False),
    "1 no codecs in shards": (array(codecs=[shards(codecs=[])]), V3, {"implied_bytes /codecs/0/configuration/codecs"}, False),
    "48 gzip alone": (array(codecs=[GZIP]), V3, {"implied_bytes /codecs"}, False),
    "2 bare NaN": (array(data_type="float32", fill_value=NAN), V3, {"bare_nonfinite /fill_value"}, False),
    "2 bare -Infinity": (array(data_type="float64", fill_value=-float("inf")), V3, {"bare_nonfinite /fill_value"}, False),
    "2 bare NaN in a complex number": (array(data_type="complex64", fill_value=[NAN, 0]), V3, {"bare_nonfinite /fill_value"}, False),
    "2 bare NaN in attributes": (array(attributes={"a": [{"b": NAN}]}), V3, {"bare_nonfinite /attributes"}, False),
    "3 order F": (array(codecs=[{"name": "transpose", "configuration": {"order": "F"}}, LITTLE]), V3,
                  {"letter_order /codecs/0/configuration/order"}, False),
    "3 order C": (array(codecs=[{"name": "transpose", "configuration": {"order": "C"}}, LITTLE]), V3,
                  {"letter_order /codecs/0/configuration/order"}, False),
    "11 raw_bytes": (array(data_type={"name": "raw_bytes", "configuration": {"length_bytes": 4}}, fill_value="AAAAAA==",
                           codecs=["bytes"]), V3, {"unregistered_name /data_type"}, True),
    "11 null_terminated_bytes": (array(data_type={"name": "null_terminated_bytes", "configuration": {"length_bytes": 4}}, fill_value="",
                                       codecs=["bytes"]), V3, {"unregistered_name /data_type"}, True),
    "11 variable_length_bytes": (array(data_type="variable_length_bytes", fill_value="", codecs=[{"name": "vlen-bytes"}]), V3,
                                 {"unregistered_name /data_type"}, True),
    "numcodecs.gzip": (array(codecs=[LITTLE, {"name": "numcodecs.gzip", "configuration": {"level": 1}}]), V3,
                       {"unregistered_name /codecs/1"}, True),
    "numcodecs.blosc": (array(codecs=[LITTLE, {"name": "numcodecs.blosc", "configuration": {"shuffle": 1}}]), V3,
                        {"unregistered_name /codecs/1"}, True),
    "16 structured": (array(data_type={"name": "structured", "configuration": {"fields": [["a", "int32"]]}}, fill_value="AAAAAA==",
                            codecs=["bytes"]), V3, {"legacy_spelling /data_type"}, False),
    "48 no dimension names": (array(dimension_names=None), V3, {"null_dimension_names /dimension_names"}, False),
    "48 blosc without typesize": (array(codecs=[LITTLE, UNTYPED_BLOSC]), V3, {"implied_parameter /codecs/1/configuration/typesize"}, False),
    "49 endian": (array(codecs=[ENDIAN]), DRAFT_D, {"legacy_spelling /codecs/0"}, False),
    "48 no index_codecs": (array(codecs=[shards(index_codecs=None)]), DRAFT_D,
                           {"implied_parameter /codecs/0/configuration/index_codecs"}, False),
    "49 endian in index_codecs": (array(codecs=[shards(index_codecs=[ENDIAN, CRC])]), DRAFT_D,
                                  {"legacy_spelling /codecs/0/configuration/index_codecs/0"}, False),
    "7.5 a separator in the grid": (without(array(chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2, 4], "separator": "."}}),
                                            "chunk_key_encoding"), DRAFT_D, {"legacy_spelling /chunk_grid/configuration/separator"}, False),
    "7.5 fallback": (array(data_type={"name": "strange", "configuration": {}, "fallback": "int32"}), DRAFT_D,
                     {"fallback_data_type /data_type/fallback"}, False),
    "null consolidated metadata": ({**GROUP, "consolidated_metadata": None}, V3, {"null_consolidated_metadata /consolidated_metadata"}, False),
}
# What is conforming, though not every reader knows it: no warning, and it may be written.
CONFORMING = {
    "6 inner chunks of the transposed shard": array(chunk_grid=regular(2, 4), codecs=[transpose(1, 0), shard([2, 1])]),
    "7 zfpy with its mode alone": array(data_type="float32", codecs=[{"name": "numcodecs.zfpy", "configuration": {"mode": 5}}]),
    "12 NaT as a number": array(data_type={"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}},
                                fill_value=-(2**63)),
    "14 no storage transformers": array(storage_transformers=[]),
    "15 short-hand": array(data_type="uint8", codecs=["bytes", "crc32c"]),
    "17 defaults": array(codecs=[LITTLE, {"name": "numcodecs.lz4", "configuration": {}}]),
    "17 delta without astype": array(codecs=[{"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}, BIG]),
    "17 endian of one byte": array(data_type="int8", codecs=[LITTLE]),
}
# What no leniency reaches.
REFUSED = {
    "no codecs of strings": (array(data_type="string", fill_value="", codecs=[]), "/codecs"),
    "no codec of bytes behind one that was dropped": (
        array(codecs=[{"name": "zarrd.unknown", "must_understand": False}, GZIP]), "/codecs/0"),
    "no index codecs": (array(codecs=[shards(index_codecs=[])]), "/codecs/0/configuration/index_codecs"),
    "bare NaN of an integer": (array(fill_value=NAN), "/fill_value"),
    "order A": (array(codecs=[{"name": "transpose", "configuration": {"order": "A"}}, LITTLE]), "/codecs/0/configuration/order"),
    "inner chunks of the shard that is not transposed": (
        array(chunk_grid=regular(2, 4), codecs=[transpose(1, 0), shard([1, 4])]), "/codecs/1/configuration/chunk_shape/1"),
    "0.0 of an integer": (array(fill_value=0.0), "/fill_value"),
    "an unknown parameter": (array(codecs=[LITTLE, {"name": "gzip", "configuration": {"level": 1, "x": 1}}]),
                             "/codecs/1/configuration/x"),
}


def zarray(**more):
    return {"zarr_format": 2, "shape": [2, 4], "chunks": [2, 4], "dtype": "<i4", "compressor": None, "fill_value": 7, "order": "C",
            "filters": None, **more}


OF_V2 = {
    "18 elementsize": (zarray(filters=[{"id": "shuffle", "elementsize": 0}]), {"implied_elementsize /filters/0/elementsize"}),
    "23 lzma with delta": (zarray(compressor={"id": "lzma", "delta": 1}), {"unknown_codec_parameter /compressor/delta"}),
    "24 a word for a shuffle": (zarray(compressor={"id": "blosc", "cname": "lz4", "clevel": 1, "shuffle": "BIT", "blocksize": 0}),
                                {"legacy_spelling /compressor/shuffle"}),
    "26 0.0 of an integer": (zarray(fill_value=0.0), {"integral_float /fill_value"}),
    "19 a checksum as compressor": (zarray(compressor={"id": "fletcher32"}), set()),
    "20 <i1": (zarray(dtype="<i1"), set()),
    "21 members of netcdf-c": (zarray(_NCZARR_ARRAY={"dimrefs": []}), set()),
    "25 no fill value": (zarray(fill_value=None), set()),
    "28 big-endian numbers": (zarray(dtype="<f4", filters=[{"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<f4",
                                                            "astype": ">i4"}]), set()),
    "31 zstd without checksum": (zarray(compressor={"id": "zstd", "level": 1}), set()),
    "another member": (zarray(colour="red"), {"unknown_member /colour"}),
}


def dataset(**compression):
    return {"dimensions": [2, 4], "blockSize": [2, 4], "dataType": "int32", "compression": {"type": "raw", **compression}}


OF_N5 = {
    "33 the lz4 of z5": (dataset(type="lz4", blockSize=6), {"unregistered_name /compression/type"}),
    "34 nthreads": (dataset(type="blosc", cname="lz4", clevel=1, shuffle=0, nthreads=2), set()),
    "35 members of numcodecs": (dataset(type="zstd", id="zstd", checksum=False), {"unknown_codec_parameter /compression/checksum",
                                                                               "unknown_codec_parameter /compression/id"}),
    "36 one word as units": ({**dataset(), "units": "nm"}, set()),
}


def write(folder, name, document):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(document))


@pytest.fixture(scope="module")
def w(serve_module, tmp_path_factory):
    root = tmp_path_factory.mktemp("leniencies")
    write(root, "zarr.json", GROUP)
    for group, rows, name in (("v3", OF_V3, "zarr.json"), ("v2", OF_V2, ".zarray"), ("n5", OF_N5, "attributes.json")):
        for number, row in enumerate(rows.values()):
            write(root / group / str(number), name, row[0])
    for group, rows in (("ok", CONFORMING), ("bad", REFUSED)):
        for number, row in enumerate(rows.values()):
            write(root / group / str(number), "zarr.json", row if group == "ok" else row[0])
    for group in ("v3", "v2", "n5", "ok", "bad"):
        write(root / group, "zarr.json", GROUP)
    return serve_module("-w", f"w={root}")


def place_of(group, rows, name):
    return f"{group}/{list(rows).index(name)}"


def said(node):
    return {f"{warning['code']} {warning['pointer']}" for warning in node["warnings"]}


def routes(server, path, key, document):
    """What the routes of a document say of it."""
    body = json.dumps(document).encode()
    yield put_node(server, path, document, "?erase_chunks=1")
    yield server.request("PUT", f"/zarr/w/{path}/{key}", JSON, body)


def refuse_constant(name):
    raise ValueError(name)


@pytest.mark.parametrize("name", OF_V3)
def test_a_document_of_v3_is_read_with_a_warning_and_not_written(w, name):
    document, dialect, warnings, may_be_written = OF_V3[name]
    path = place_of("v3", OF_V3, name)
    node = w.get(NODES + path).json()
    assert "refused" not in node, node
    assert (node["dialect"], said(node)) == (dialect, warnings)
    json.loads(w.get(NODES + path).body, parse_constant=refuse_constant)  # JSON, whatever is stored
    assert put_node(w, f"v3/made{path[3:]}", node["metadata"], "?dry_run=1").status in (200, 201)
    stored = w.get(f"/zarr/w/{path}/zarr.json").body
    assert stored == json.dumps(document).encode()
    if "shape" in document:
        header = w.get(f"/v1/datasets/w/slices/{path}?format=json").headers["zarr-warning"]
        assert set(header.split(",")) == {warning.split()[0] for warning in warnings}
    for answer in routes(w, f"v3/new{path[3:]}", "zarr.json", document):
        if may_be_written:
            assert answer.status in (200, 201), answer
        else:
            assert answer.status in (400, 422) and answer.code in CODES, answer


@pytest.mark.parametrize("name", CONFORMING)
def test_conforming_documents_have_no_warning_and_are_written(w, name):
    node = w.get(NODES + place_of("ok", CONFORMING, name)).json()
    assert "refused" not in node and node["warnings"] == [], node
    for answer in routes(w, f"ok/new{place_of('ok', CONFORMING, name)[3:]}", "zarr.json", CONFORMING[name]):
        assert answer.status in (200, 201), answer


@pytest.mark.parametrize("name", REFUSED)
def test_no_leniency_stands_on_another_and_none_guesses(w, name):
    refused = w.get(NODES + place_of("bad", REFUSED, name)).json()["refused"]
    assert refused["code"] in CODES and refused["pointer"] == REFUSED[name][1]


@pytest.mark.parametrize("name", OF_V2)
def test_a_document_of_v2_is_read_with_a_warning(w, name):
    document, warnings = OF_V2[name]
    path = place_of("v2", OF_V2, name)
    node = w.get(NODES + path).json()
    assert "refused" not in node, node
    assert (node["dialect"], said(node)) == (V2, warnings)
    answer = w.get(f"/v1/datasets/w/slices/{path}")
    fill = 0 if document["fill_value"] is None else document["fill_value"]
    expected = np.full((2, 4), fill, document["dtype"])
    assert answer.body == expected.tobytes()
    # What is made of it can be written as it is.
    assert put_node(w, f"v2/new{path[3:]}", node["metadata"]).status == 201


@pytest.mark.parametrize("name", OF_N5)
def test_a_document_of_n5_is_read_with_a_warning(w, name):
    node = w.get(NODES + place_of("n5", OF_N5, name)).json()
    assert "refused" not in node, node
    assert (node["dialect"], said(node)) == (N5, OF_N5[name][1])


def test_a_number_of_4_bits_has_no_other_bits(serve, tmp_path):
    """Row 10: tensorstore leaves the upper bits 0, zarrs extends the sign."""
    write(tmp_path / "a", "zarr.json", array_document([2], [2], "int4", codecs=["bytes"]))
    (tmp_path / "a" / "c").mkdir()
    (tmp_path / "a" / "c" / "0").write_bytes(b"\x0c\xfc")
    assert serve(f"w={tmp_path}").get("/v1/datasets/w/slices/a").body == struct.pack("bb", -4, -4)
