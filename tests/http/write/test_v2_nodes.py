"""Nodes of Zarr v2 made, replaced, patched and erased: several documents each, all of them or none."""

import json
import urllib.parse

import numpy as np
import pytest
import zarr
from client import NODES, delete_node, nodes, patch_node, put_node, stored
from documents import BIG, GROUP, LITTLE, array_document, blosc, shard, transpose
from live import SHARED, STORES

GZIP = {"name": "gzip", "configuration": {"level": 1}}
KEYS = {"name": "v2", "configuration": {"separator": "."}}
ZGROUP = {"zarr_format": 2}


def document(**more):
    return {**array_document([7, 8], [4, 6], "int16"), "chunk_key_encoding": KEYS, **more}


def zarray(**more):
    return {"zarr_format": 2, "shape": [7, 8], "chunks": [4, 6], "dtype": "<i2", "compressor": None, "fill_value": 0,
            "order": "C", "filters": None, "dimension_separator": ".", **more}


def stores():
    for folder in (STORES / "v2", SHARED / "stores/v2", SHARED / "stores/real"):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_dir() and any(path.rglob(".zarray")):
                yield pytest.param(path, id=f"{folder.parents[1].name}-{path.name}")


@pytest.fixture(params=["file", "mem"])
def w(request, serve, tmp_path):
    server = serve("-w", f"w={tmp_path}" if request.param == "file" else "w=mem:")
    assert put_node(server, "", ZGROUP).status == 201
    return server


def test_the_first_document_is_of_either_format(serve):
    for body, dialect, key in ((ZGROUP, "v2", ".zgroup"), (GROUP, "v3", "zarr.json")):
        server = serve("-w", "w=mem:")
        answer = put_node(server, "", body)
        assert answer.status == 201 and answer.json()["dialect"] == dialect
        assert stored(server, key) == body


def test_a_node_takes_the_dialect_of_its_parent(w):
    answer = put_node(w, "a/b/c", document())
    assert answer.status == 201 and answer.json()["dialect"] == "v2" and answer.json()["warnings"] == []
    assert answer.json()["metadata"] == document()
    assert stored(w) is None and stored(w, "a/zarr.json") is None
    assert stored(w, "a/.zgroup") == stored(w, "a/b/.zgroup") == ZGROUP
    assert stored(w, "a/b/c/.zarray") == zarray() and stored(w, "a/b/c/.zattrs") is None
    assert w.get(NODES + "a/b/c").headers["etag"] == answer.headers["etag"]
    assert w.get(NODES + "a/b/c").json() == answer.json()
    assert put_node(w, "g", {**GROUP, "attributes": {"n": 1}}).json()["dialect"] == "v2"
    assert stored(w, "g/.zgroup") == ZGROUP and stored(w, "g/.zattrs") == {"n": 1}


@pytest.mark.parametrize("text, said", [
    (document(codecs=[transpose(1, 0), BIG, blosc("zstd", "bitshuffle", 2, 3)], data_type="float16", fill_value="NaN"),
     zarray(order="F", dtype=">f2", fill_value="NaN",
            compressor={"id": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0})),
    (document(codecs=[LITTLE, {"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}}, GZIP]),
     zarray(filters=[{"id": "shuffle", "elementsize": 2}], compressor={"id": "gzip", "level": 1})),
    (document(data_type="string", fill_value="", codecs=[{"name": "vlen-utf8"}, GZIP]),
     zarray(dtype="|O", fill_value="", filters=[{"id": "vlen-utf8"}], compressor={"id": "gzip", "level": 1})),
    (document(data_type={"name": "numpy.datetime64", "configuration": {"unit": "us", "scale_factor": 10}}, fill_value="NaT"),
     zarray(dtype="<M8[10us]", fill_value=-2**63)),
], ids=["order and blosc", "filters", "strings", "times"])
def test_a_document_becomes_one_of_v2(w, text, said):
    answer = put_node(w, "a", {**text, "dimension_names": ["y", "x"], "attributes": {"units": "m"}})
    assert answer.status == 201, answer
    assert stored(w, "a/.zarray") == said
    assert stored(w, "a/.zattrs") == {"units": "m", "_ARRAY_DIMENSIONS": ["y", "x"]}
    made = answer.json()["metadata"]
    assert {**made, "attributes": {"units": "m"}} == {**text, "dimension_names": ["y", "x"], "attributes": {"units": "m"}}
    assert made["attributes"] == stored(w, "a/.zattrs")


def test_keys_of_chunks_are_those_of_v2(w):
    answer = put_node(w, "a", array_document([7, 8], [4, 6], "int16"))
    assert answer.status == 201
    assert [(warning["code"], warning["pointer"]) for warning in answer.json()["warnings"]] == [("changed_keys", "/chunk_key_encoding")]
    assert stored(w, "a/.zarray")["dimension_separator"] == "/"
    assert w.get(NODES + "a").json()["warnings"] == []


REFUSED = {
    "shards": (document(codecs=[shard([2, 3])]), "/codecs/0"),
    "an order of axes": (document(codecs=[transpose(0, 1), LITTLE]), "/codecs/0"),
    "a codec of v3": (document(codecs=[{"name": "reshape", "configuration": {"shape": [24]}}, LITTLE]), "/codecs/0"),
    "bits of a NaN": (document(data_type="float32", fill_value="0x7fc00001"), "/fill_value"),
    "a small float in big order": (document(data_type="bfloat16", fill_value=0, codecs=[BIG]), "/data_type"),
    "the items of blosc": (document(codecs=[LITTLE, blosc("lz4", "shuffle", 4)]), "/codecs"),
    "a nameless dimension": (document(dimension_names=["y", None]), "/dimension_names/1"),
    "two names of a dimension": (document(dimension_names=["y", "x"], attributes={"_ARRAY_DIMENSIONS": ["x", "y"]}),
                                 "/attributes/_ARRAY_DIMENSIONS"),
    "extensions": (document(extensions=[{"name": "example.offset", "configuration": {"offset": [0, 0]}}]), "/extensions"),
    "a member of nobody": (document(mine={"must_understand": False}), "/mine"),
}


@pytest.mark.parametrize("text, pointer", REFUSED.values(), ids=REFUSED)
def test_members_that_v2_lacks_are_refused(w, text, pointer):
    answer = put_node(w, "new/a", text)
    assert (answer.status, answer.code) == (422, "invalid_metadata"), answer
    errors = answer.json()["errors"]
    assert [(error["code"], error["pointer"]) for error in errors] == [("not_in_dialect", pointer)], errors
    assert nodes(w) == [""] and stored(w, "new/.zgroup") is None


def test_a_document_of_v2_is_stored(w):
    text = {**zarray(compressor={"id": "zlib", "level": 3}, filters=[{"id": "delta", "dtype": "<i2"}]), "_mine": [1]}
    answer = put_node(w, "sub/a", {**text, "attributes": {"n": 1}})
    assert answer.status == 201 and answer.json()["metadata"]["attributes"] == {"n": 1}
    assert stored(w, "sub/a/.zarray") == text and stored(w, "sub/a/.zattrs") == {"n": 1}
    assert stored(w, "sub/.zgroup") == ZGROUP
    assert put_node(w, "sub", {**ZGROUP, "attributes": {"of": "sub"}}).status == 200
    assert stored(w, "sub/.zgroup") == ZGROUP and stored(w, "sub/.zattrs") == {"of": "sub"}


@pytest.mark.parametrize("body, pointer", [
    (zarray(dtype="<i3"), "/dtype"),
    (zarray(chunks=[4]), "/chunks"),
    (zarray(compressor={"id": "nonsense"}), "/compressor"),
    ({"zarr_format": 2, "shape": [4]}, "/chunks"),
    ({**ZGROUP, "attributes": 5}, ""),
    (zarray(fill_value=0.0), "/fill_value"),  # what others write so is read
    (zarray(dtype="|b1", fill_value=0), "/fill_value"),
    (zarray(filters=[{"id": "shuffle", "elementsize": 0}]), "/filters/0/elementsize"),
    (zarray(compressor={"id": "blosc", "cname": "lz4", "clevel": 1, "shuffle": "BIT", "blocksize": 0}), "/compressor/shuffle"),
    (zarray(compressor={"id": "lzma", "delta": 1}), "/compressor/delta"),
])
def test_a_faulty_document_of_v2_is_not_stored(w, body, pointer):
    answer = put_node(w, "a", body)
    assert answer.status == 422 and pointer in [error["pointer"] for error in answer.json()["errors"]], answer
    assert nodes(w) == [""]


def test_a_document_of_v2_is_none_of_v3(serve):
    server = serve("-w", "w=mem:")
    assert put_node(server, "", GROUP).status == 201
    answer = put_node(server, "a", zarray())
    assert (answer.status, answer.json()["pointer"]) == (422, "/zarr_format")


def test_a_patch_keeps_what_it_does_not_name(w):
    assert put_node(w, "a", {**zarray(), "_mine": 1, "attributes": {"n": 1, "keep": [1.0]}}).status == 201
    answer = patch_node(w, "a", {"attributes": {"n": None, "new": 2}, "shape": [3, 8], "dimension_names": ["y", "x"]})
    assert answer.status == 200 and answer.json()["array"]["shape"] == [3, 8], answer
    assert stored(w, "a/.zarray") == {**zarray(shape=[3, 8]), "_mine": 1}
    assert stored(w, "a/.zattrs") == {"keep": [1.0], "new": 2, "_ARRAY_DIMENSIONS": ["y", "x"]}
    before = w.get("/zarr/w/a/.zarray").headers["etag"]
    answer = patch_node(w, "a", {"attributes": None})
    assert answer.json()["array"]["dimension_names"] == ["y", "x"]
    assert stored(w, "a/.zattrs") == {"_ARRAY_DIMENSIONS": ["y", "x"]}
    assert w.get("/zarr/w/a/.zarray").headers["etag"] == before
    answer = patch_node(w, "a", {"dimension_names": None})
    assert answer.json()["array"]["dimension_names"] is None and stored(w, "a/.zattrs") is None
    assert w.get(NODES + "a").headers["etag"] == answer.headers["etag"]
    assert patch_node(w, "a", {"attributes": {}}).status == 200 and stored(w, "a/.zattrs") is None


def test_a_patch_tolerates_what_others_have_written(serve, tmp_path):
    """... and keeps it as it is."""
    text = '{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i2", "compressor": null, "fill_value": 0.0, "order": "C", "filters": null}'
    (tmp_path / "a").mkdir()
    (tmp_path / "a/.zarray").write_text(text)
    w = serve("-w", f"w={tmp_path}")
    answer = patch_node(w, "a", {"attributes": {"n": 1}, "shape": [6]})
    assert answer.status == 200 and [warning["code"] for warning in answer.json()["warnings"]] == ["integral_float"], answer
    assert w.get("/zarr/w/a/.zarray").body.decode() == text.replace("[4]", "[6]") and stored(w, "a/.zattrs") == {"n": 1}


@pytest.mark.parametrize("change, pointer", [
    ({"extensions": []}, "/extensions"),
    ({"dimension_names": ["y"]}, "/dimension_names"),
    ({"dimension_names": ["y", None]}, "/dimension_names/1"),
    ({"dimension_names": "yx"}, "/dimension_names"),
    ({"dimension_names": ["y", "x"], "attributes": {"_ARRAY_DIMENSIONS": ["a", "b"]}}, "/attributes/_ARRAY_DIMENSIONS"),
    ({"attributes": 5}, "/attributes"),
    ({"shape": [7]}, "/chunks"),
    ({"shape": None}, "/shape"),
])
def test_a_faulty_patch_changes_nothing(w, change, pointer):
    put_node(w, "a", {**zarray(), "attributes": {"n": 1}})
    answer = patch_node(w, "a", change)
    assert (answer.status, answer.code) == (422, "invalid_metadata"), answer
    assert pointer in [error["pointer"] for error in answer.json()["errors"]], answer
    assert stored(w, "a/.zarray") == zarray() and stored(w, "a/.zattrs") == {"n": 1}


def test_a_smaller_array_loses_its_chunks(w):
    put_node(w, "a", zarray())
    for key in ("0.0", "0.1", "1.0", "1.1"):
        assert w.request("PUT", "/zarr/w/a/" + key, body=bytes(48)).status in (200, 201)
    assert patch_node(w, "a", {"shape": [4, 8]}).status == 200
    assert [w.get("/zarr/w/a/" + key).status for key in ("0.0", "0.1", "1.0", "1.1")] == [200, 200, 404, 404]


def test_a_node_becomes_one_of_another_type(w):
    assert put_node(w, "a", {**document(), "attributes": {"n": 1}}).status == 201
    assert put_node(w, "a", GROUP).status == 200
    assert stored(w, "a/.zgroup") == ZGROUP and stored(w, "a/.zarray") is None and stored(w, "a/.zattrs") is None
    answer = put_node(w, "a", document())
    assert answer.status == 200 and answer.json()["warnings"] == []
    assert stored(w, "a/.zarray") == zarray() and stored(w, "a/.zgroup") is None
    assert w.request("PUT", "/zarr/w/a/1.1", body=bytes(48)).status in (200, 201)
    other = document(data_type="int32")
    assert (put_node(w, "a", other).code, put_node(w, "a", GROUP).code) == ("chunks_exist", "chunks_exist")
    assert put_node(w, "a", other, "?erase_chunks=1").status == 200
    assert w.get("/zarr/w/a/1.1").status == 404 and stored(w, "a/.zarray") == zarray(dtype="<i4")


def test_a_node_goes_with_all_its_documents(w):
    put_node(w, "g/a", {**document(), "attributes": {"n": 1}})
    w.request("PUT", "/zarr/w/g/a/0.0", body=bytes(48))
    put_node(w, "g/b", {**GROUP, "attributes": {"n": 1}})
    answer = delete_node(w, "g")
    assert (answer.status, answer.code) == (409, "not_empty")
    assert delete_node(w, "g/a").status == 204
    assert [w.get("/zarr/w/g/a/" + key).status for key in (".zarray", ".zattrs", "0.0")] == [404] * 3
    assert delete_node(w, "g", "?recursive=1").status == 204
    assert nodes(w) == [""] and stored(w, "g/b/.zattrs") is None


def test_attributes_of_no_node_are_replaced(w):
    """A writer that died has left them."""
    for body, attributes in ((document(), None), (document(attributes={"n": 1}), {"n": 1})):
        assert w.request("PUT", "/zarr/w/a/.zattrs", body=b'{"old": 1}').status in (200, 201)
        assert w.get(NODES + "a").status == 404
        assert put_node(w, "a", body).status == 201
        assert stored(w, "a/.zattrs") == attributes
        assert delete_node(w, "a").status == 204


def test_conditions_are_of_all_documents(w):
    answer = put_node(w, "a", document(attributes={"n": 1}))
    assert put_node(w, "a", document(), **{"If-None-Match": "*"}).status == 412
    assert w.request("PUT", "/zarr/w/a/.zattrs", body=b'{"n": 2}').status in (200, 201)
    old = {"If-Match": answer.headers["etag"]}
    assert put_node(w, "a", document(), **old).status == 412
    assert patch_node(w, "a", {"attributes": {"n": 3}}, **old).status == 412
    assert delete_node(w, "a", **old).status == 412
    assert stored(w, "a/.zattrs") == {"n": 2}
    now = {"If-Match": w.get(NODES + "a").headers["etag"]}
    assert patch_node(w, "a", {"attributes": {"n": 3}}, **now).status == 200
    assert stored(w, "a/.zattrs") == {"n": 3}


def test_a_dry_run_says_what_would_be(w):
    answer = put_node(w, "a/b", document(attributes={"n": 1}), "?dry_run=1")
    assert answer.status == 201 and answer.json()["dialect"] == "v2" and answer.json()["metadata"]["attributes"] == {"n": 1}
    assert nodes(w) == [""] and stored(w, "a/b/.zattrs") is None
    assert put_node(w, "a/b", document(codecs=[shard([2, 3])]), "?dry_run=1").status == 422


def test_documents_of_v2_beside_a_node_of_v3_go_with_its_array(serve, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "zarr.json").write_text(json.dumps(GROUP))
    (tmp_path / "a/zarr.json").write_text(json.dumps(document()))
    (tmp_path / "a/.zarray").write_text(json.dumps(zarray()))
    (tmp_path / "g").mkdir()
    (tmp_path / "g/zarr.json").write_text(json.dumps(GROUP))
    (tmp_path / "g/.zgroup").write_text(json.dumps(ZGROUP))
    server = serve("-w", f"w={tmp_path}")
    assert delete_node(server, "a").status == 204
    assert not (tmp_path / "a").exists()
    answer = delete_node(server, "g")
    assert (answer.status, answer.code, answer.json()["n_children"]) == (409, "not_empty", 1)
    assert delete_node(server, "g", "?recursive=1").status == 204
    assert not (tmp_path / "g").exists()


def test_other_software_reads_what_was_made(serve, tmp_path):
    server = serve("-w", f"w={tmp_path}")
    put_node(server, "", {**ZGROUP, "attributes": {"title": "t"}})
    values = np.arange(56, dtype="<i2").reshape(7, 8)
    for name, codecs in (("plain", [LITTLE]), ("order", [transpose(1, 0), BIG, GZIP]),
                         ("blosc", [LITTLE, blosc("lz4", "shuffle", 2)]),
                         ("filters", [{"name": "numcodecs.delta", "configuration": {"dtype": "<i2", "astype": "<i2"}}, LITTLE,
                                      {"name": "numcodecs.zlib", "configuration": {"level": 3}}]),
                         ("zstd", [LITTLE, {"name": "zstd", "configuration": {"level": 1, "checksum": False}}])):
        assert put_node(server, "g/" + name, document(codecs=codecs, attributes={"name": name})).status == 201
        array = zarr.open_array(tmp_path / "g" / name, mode="r+", zarr_format=2)
        array[...] = values
        assert array.attrs["name"] == name
        answer = server.get(f"/v1/datasets/w/slices/g/{name}")
        assert np.array_equal(np.frombuffer(answer.body, "<i2").reshape(7, 8), values), name
    root = zarr.open_group(tmp_path, mode="r", zarr_format=2)
    assert root.attrs["title"] == "t" and sorted(name for name, _ in root["g"].members()) == [
        "blosc", "filters", "order", "plain", "zstd"]


NEVER = {"pcodec", "pickle"}  # what is not read
ONLY_V2 = {"struct_subarray", "vlen_array_i4"}  # v3 has no words for it


@pytest.mark.parametrize("store", stores())
def test_documents_of_other_writers_are_made_again(serve, store):
    """Read as v3, written as v2, and read as v3 again. What was stored then says what it said before."""
    server = serve("-w", config={"datasets": {"of": {"location": str(store)}, "w": {"location": "mem:", "writable": True}}})
    assert put_node(server, "", ZGROUP).status == 201
    arrays = sorted(str(path.parent.relative_to(store)).removeprefix(".") for path in store.rglob(".zarray"))
    assert arrays
    for path in arrays:
        node = server.get(f"/v1/datasets/of/nodes/{urllib.parse.quote(path)}").json()
        assert ("refused" in node) == (path in NEVER), (path, node.get("refused"))
        if path in NEVER:
            continue
        given = json.loads((store / path / ".zarray").read_text())
        attributes = node["metadata"].get("attributes", {})
        if path in ONLY_V2:
            assert put_node(server, "made", node["metadata"]).status == 422
        answer = put_node(server, "made", {**given, "attributes": attributes} if path in ONLY_V2 else node["metadata"])
        assert answer.status == 201, (path, answer)
        assert {"attributes": {}, **answer.json()["metadata"]} == {"attributes": {}, **node["metadata"]}, path
        made = stored(server, "made/.zarray")
        for name in ["shape", "chunks"] + (["order"] if len(given["shape"]) > 1 else []):
            assert made[name] == given[name], (path, name)
        assert (stored(server, "made/.zattrs") or {}) == attributes, path
        assert delete_node(server, "made").status == 204
