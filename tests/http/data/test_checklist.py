"""The checklist of the reference, section 8, rows J (v2), K (drafts) and L (N5): what stores made by hand show over HTTP. Rows about documents
alone are facts of the dialects' unit tests."""

import json
import struct
import zlib

import numcodecs
import numpy as np
import pytest
from documents import GROUP, array_document

VALUES = np.arange(6, dtype="<i4").reshape(2, 3)
STRUCTURE = np.array([(1, 2), (-3, 4)], [("a", "<i4"), ("b", "|u1")])
TEXTS = np.array(["ab", "\u00e4"], "<U2")


def zarray(shape, dtype="<i4", **more):
    return {"zarr_format": 2, "shape": shape, "chunks": shape, "dtype": dtype, "compressor": None, "fill_value": 0, "order": "C",
            "filters": None, **more}


def chain(values, *codecs):
    data = values
    for codec in codecs:
        data = codec.encode(data)
    return bytes(data)


DELTA, ZLIB = numcodecs.Delta("<i4"), numcodecs.Zlib(1)
AUTO = numcodecs.Blosc("lz4", 5, numcodecs.Blosc.AUTOSHUFFLE)
# Row: the array's document, its chunks, what its elements are.
J = {
    "192 minimal": (zarray([2, 3]), {"0.0": VALUES.tobytes()}, VALUES),
    "192 an unknown member": (zarray([2, 3], colour="red"), {"0.0": VALUES.tobytes()}, VALUES),
    "193 no fill value": (zarray([2, 3], fill_value=None), {}, np.zeros((2, 3), "<i4")),
    "194 order F": (zarray([2, 3], order="F"), {"0.0": VALUES.tobytes("F")}, VALUES),
    "195 big-endian": (zarray([2, 3], ">i4"), {"0.0": VALUES.astype(">i4").tobytes()}, VALUES),
    "196 a fill value in base64": (zarray([2], "|S3", fill_value="YWI="), {}, np.array([b"ab", b"ab"], "|S3")),
    "197 text": (zarray([2], "<U2", fill_value=""), {"0": TEXTS.tobytes()}, TEXTS),
    "198 a structure": (zarray([2], [["a", "<i4"], ["b", "|u1"]], fill_value=None), {"0": STRUCTURE.tobytes()}, STRUCTURE),
    "199 no filters": (zarray([2, 3], filters=[]), {"0.0": VALUES.tobytes()}, VALUES),
    "200 slashes": (zarray([2, 6], chunks=[2, 3], dimension_separator="/"), {"0/1": VALUES.tobytes()},
                    np.hstack([np.zeros((2, 3), "<i4"), VALUES])),
    "201 a scalar": (zarray([]), {"0": b"\7\0\0\0"}, np.array(7, "<i4")),
    "201 a scalar with slashes": (zarray([], dimension_separator="/"), {"0": b"\7\0\0\0"}, np.array(7, "<i4")),
    "202 the shuffle that the frame says": (zarray([2, 3], compressor=AUTO.get_config()), {"0.0": chain(VALUES, AUTO)}, VALUES),
    "203 delta and zlib": (zarray([2, 3], filters=[DELTA.get_config()], compressor=ZLIB.get_config()),
                           {"0.0": chain(VALUES.ravel(), DELTA, ZLIB)}, VALUES),
}


def write(place, data):
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())


def number(rows, name):
    return str(list(rows).index(name))


@pytest.fixture(scope="module")
def old(serve_module, tmp_path_factory):
    """Row 208: no group above an array has a document."""
    root = tmp_path_factory.mktemp("checklist") / "old"
    for name, (document, chunks, _) in J.items():
        place = root / "no/group" / number(J, name)
        write(place / ".zarray", document)
        for key, data in chunks.items():
            write(place / key, data)
    write(root / "objects/.zarray", zarray([2], "|O", filters=[{"id": "vlen-utf8"}], fill_value=""))
    write(root / "objects/0", chain(np.array(["a", "\u00e4"], object), numcodecs.VLenUTF8()))
    write(root / "pickled/.zarray", zarray([2], "|O", filters=[{"id": "pickle", "protocol": 5}], fill_value=""))
    write(root / "pickled/0", b"\x80\5.")
    write(root / "named/.zarray", zarray([2, 3]))
    write(root / "named/.zattrs", {"_ARRAY_DIMENSIONS": ["y", "x"]})
    write(root / "both/.zarray", zarray([2, 3]))
    write(root / "both/zarr.json", array_document((4,), (4,)))
    return serve_module(f"old={root}")


def elements(server, path, dtype):
    answer = server.get(f"/v1/datasets/old/slices/{path}")
    assert answer.status == 200, answer
    return np.frombuffer(answer.body, dtype).reshape([int(n) for n in answer.headers["zarr-shape"].split(",") if n])


@pytest.mark.parametrize("name", J)
def test_an_array_of_v2_has_these_elements(old, name):
    path, expected = f"no/group/{number(J, name)}", J[name][2]
    found = elements(old, path, expected.dtype)
    assert found.shape == expected.shape and found.tobytes() == expected.tobytes()
    node = old.get(f"/v1/datasets/old/nodes/{path}").json()
    assert node["array"]["itemsize"] == expected.dtype.itemsize
    assert [one["code"] for one in node["warnings"]] == (["unknown_member"] if "unknown" in name else [])


def test_objects_of_v2_are_texts_and_never_code(old):
    """Row 204."""
    assert old.get("/v1/datasets/old/slices/objects?format=json").json()["data"] == ["a", "\u00e4"]
    refused = old.get("/v1/datasets/old/slices/pickled?format=json")
    assert (refused.status, refused.code) == (422, "unsupported_codec") and "pickle" in refused.json()["detail"]


def test_names_of_dimensions_and_the_winner_of_two_documents(old):
    """Rows 207 and 205."""
    assert old.get("/v1/datasets/old/nodes/named").json()["array"]["dimension_names"] == ["y", "x"]
    node = old.get("/v1/datasets/old/nodes/both").json()
    assert (node["dialect"], node["array"]["shape"], [one["code"] for one in node["warnings"]]) == ("v3", [4], ["two_dialects"])


@pytest.mark.parametrize("target, status", [
    ("/zarr/old/no//group/0/.zarray", 200), ("/zarr/old//no/group///0/.zarray", 200), ("/zarr/old/no/group/0/", 200),
    ("/zarr/old/no/../no/group/0/.zarray", 400), ("/zarr/old/no/./group/0/.zarray", 400), ("/zarr/old/no%5Cgroup/0/.zarray", 400),
    ("/v1/datasets/old/nodes/no//group/0", 400), ("/v1/datasets/old/nodes/no/../no/group/0", 400), ("/v1/datasets/old/nodes/no%5Cgroup", 400),
])
def test_slashes_collapse_and_no_path_leads_upwards(old, target, status):
    """Row 206: a backslash is no slash here, and refused."""
    assert old.get(target).status == status


# ---- drafts ----

URI = "https://purl.org/zarr/spec/"
ENTRIES = {
    "draft-2019": ({"zarr_format": "http://purl.org/zarr/spec/protocol/core/3.0", "metadata_encoding": "application/json", "extensions": []},
                   "meta/root.group"),
    "draft-2020": ({"zarr_format": URI + "protocol/core/3.0", "metadata_encoding": URI + "protocol/core/3.0",
                    "metadata_key_suffix": ".json", "extensions": []}, "meta/root.group.json"),
    "draft-2023-01": ({"zarr_format": URI + "core/3.0", "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"},
                       "extensions": []}, "meta/group.json"),
    "v3": (GROUP, "meta/root.group.json"),
}


def test_a_draft_is_told_by_its_entry_point(serve, tmp_path):
    """Rows 209 and 210: all documents of groups are there, and only what is in zarr.json counts."""
    for dialect, (entry, _) in ENTRIES.items():
        write(tmp_path / dialect / "zarr.json", entry)
        for _, group in ENTRIES.values():
            write(tmp_path / dialect / group, {"attributes": {}})
    server = serve(tmp_path)
    for dialect in ENTRIES:
        assert server.get(f"/v1/datasets/{dialect}").json()["dialect"] == dialect
        node = server.get(f"/v1/datasets/{dialect}/nodes/").json()
        assert (node["dialect"], node["node_type"], "refused" in node) == (dialect, "group", False)


def array_c(**more):
    return {"shape": [2, 3], "data_type": "int32", "chunk_grid": {"type": "regular", "chunk_shape": [2, 3], "separator": "/"},
            "chunk_memory_layout": "C", "fill_value": 0, "extensions": [], "attributes": {}, **more}


@pytest.mark.parametrize("path", ["foo", "foo/baz", ""])
def test_an_implied_group_is_listed_and_neither_tree_erased(serve, tmp_path, path):
    """Row 215, as far as a draft is written to: it is not."""
    write(tmp_path / "zarr.json", ENTRIES["draft-2023-01"][0])
    write(tmp_path / "meta/foo/baz.array.json", array_c(chunk_memory_layout="F"))
    write(tmp_path / "data/foo/baz/c0/0", VALUES.tobytes("F"))
    server = serve("-w", f"old={tmp_path}")
    rows = server.get("/v1/datasets/old/tree/").json()["nodes"]
    assert [(row["path"], row["node_type"]) for row in rows] == [("", "group"), ("foo", "group"), ("foo/baz", "array")]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refused = server.request("DELETE", f"/v1/datasets/old/nodes/{path}?recursive=1")
    assert (refused.status, refused.code) == (405, "read_only"), refused
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert (elements(server, "foo/baz", "<i4") == VALUES).all()


def test_filters_among_the_attributes_of_draft_2020_are_applied_and_hidden(serve, tmp_path):
    """Row 221."""
    write(tmp_path / "zarr.json", ENTRIES["draft-2020"][0])
    write(tmp_path / "meta/root/a.array.json", array_c(
        data_type="<i4", compressor={"codec": URI + "codec/zlib/1.0", "configuration": {"level": 1}},
        attributes={"filters": [{"id": "delta", "dtype": "<i4"}], "units": "m"}))
    write(tmp_path / "data/root/a/c0/0", chain(VALUES.ravel(), DELTA, ZLIB))
    server = serve(f"old={tmp_path}")
    assert (elements(server, "a", "<i4") == VALUES).all()
    assert server.get("/v1/datasets/old/nodes/a").json()["metadata"]["attributes"] == {"units": "m"}


# ---- N5 ----


def n5(**more):
    return {"dimensions": [5, 3], "blockSize": [2, 2], "dataType": "uint16", "compression": {"type": "raw"}, **more}


def block(values, encode=bytes):
    return struct.pack(f">HH{values.ndim}I", 0, values.ndim, *values.shape) + encode(values.astype(">u2").tobytes("F"))


NUMBERS = np.arange(1, 16, dtype="<u2").reshape(5, 3)


def blocks(folder, is_full=lambda i, j: False, encode=bytes):
    for i in range(3):
        for j in range(2):
            part = NUMBERS[2 * i:2 * i + 2, 2 * j:2 * j + 2]
            if is_full(i, j):
                whole = np.full((2, 2), 77, "<u2")
                whole[:part.shape[0], :part.shape[1]] = part
                part = whole
            write(folder / f"{i}/{j}", block(part, encode))


def test_the_root_of_n5_may_be_a_dataset(serve, tmp_path):
    """Row 225: its member `dimensions` says so, whatever the directory is called; a zarr.json beside it wins."""
    for name in ("alone", "beside"):
        write(tmp_path / name / "attributes.json", n5())
        blocks(tmp_path / name)
    write(tmp_path / "beside/zarr.json", GROUP)
    server = serve(f"old={tmp_path}/alone", f"new={tmp_path}/beside")
    assert server.get("/v1/datasets/old").json()["dialect"] == "n5"
    assert (elements(server, "", "<u2") == NUMBERS).all()
    node = server.get("/v1/datasets/new/nodes/").json()
    assert (node["dialect"], node["node_type"], [one["code"] for one in node["warnings"]]) == ("v3", "group", ["two_dialects"])


@pytest.mark.parametrize("member", ["dataType", "blockSize", "compression"])
def test_a_dataset_that_lacks_a_member_is_listed_with_the_reason(serve, tmp_path, member):
    """Row 231."""
    write(tmp_path / "attributes.json", {"n5": "2.0.0"})
    write(tmp_path / "a/attributes.json", {name: value for name, value in n5().items() if name != member})
    rows = serve(f"old={tmp_path}").get("/v1/datasets/old/tree/").json()["nodes"]
    assert [(row["path"], row.get("refused", {}).get("pointer")) for row in rows] == [("", None), ("a", f"/{member}")]


@pytest.mark.parametrize("axes", ["dimensions", "reversed"])
def test_blocks_at_the_edges_are_cut_or_full(serve, tmp_path, axes):
    """Rows 239 to 241: whole datasets of either, and one of both."""
    fulls = {"cut": lambda i, j: False, "full": lambda i, j: True, "mixed": lambda i, j: (i + j) % 2 == 0}
    for name, is_full in fulls.items():
        write(tmp_path / name / "attributes.json", n5())
        blocks(tmp_path / name, is_full)
    server = serve(config={"datasets": {"old": {"location": str(tmp_path), "n5_axes": axes}}})
    for name in fulls:
        assert (elements(server, name, "<u2") == (NUMBERS if axes == "dimensions" else NUMBERS.T)).all()


def test_a_block_that_is_smaller_is_filled_up_with_zeros(serve, tmp_path):
    """Rows 242 and 245: so is one that is not there."""
    write(tmp_path / "a/attributes.json", n5(compression={"type": "gzip", "useZlib": True}))
    write(tmp_path / "a/0/0", block(NUMBERS[:1, :1], zlib.compress))
    server = serve(f"old={tmp_path}")
    expected = np.zeros((5, 3), "<u2")
    expected[0, 0] = NUMBERS[0, 0]
    assert (elements(server, "a", "<u2") == expected).all()
    assert server.get("/v1/datasets/old/chunks/a?index=1,0").code == "chunk_absent"
    decoded = server.get("/v1/datasets/old/chunks/a?index=1,0&decoded=1")
    assert (decoded.status, decoded.body, decoded.headers["zarr-chunk"]) == (200, bytes(8), "absent")
