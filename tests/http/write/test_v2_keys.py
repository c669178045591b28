"""Documents and chunks of Zarr v2 written by their keys: in any order, each judged by itself, with caches, listings and events in step."""

import json
import urllib.parse

import numpy as np
import pytest
from files import contents
from live import SHARED, STORES, Server

GROUP = {"zarr_format": 2}
CHUNK = np.arange(6, dtype="<u2").tobytes()


def zarray(**more):
    return {"zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<u2", "compressor": None, "fill_value": 7, "order": "C",
            "filters": None, **more}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("v2_keys")


@pytest.fixture(scope="module")
def keys(folder):
    server = Server(config={"datasets": {
        "f": {"location": str(folder), "writable": True},
        "m": {"location": "mem:", "writable": True},
        "unknown": {"location": "mem:", "writable": True, "accept_unknown": True},
    }})
    yield server
    server.stop()


@pytest.fixture(params=["f", "m"])
def d(request):
    return request.param


def put(server, key, body, headers=None):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return server.request("PUT", f"/zarr/{key}", headers, data)


def store(server, key, body, headers=None):
    answer = put(server, key, body, headers)
    assert answer.status == 200, (key, answer)
    return answer


def delete(server, key, headers=None):
    return server.request("DELETE", f"/zarr/{key}", headers)


def node_of(server, d, path):
    answer = server.get(f"/v1/datasets/{d}/nodes/{path}")
    return answer.json() if answer.status == 200 else answer.status


# ---- the order of documents ----

@pytest.mark.parametrize("order", [(".zarray", ".zattrs", "1.1"), (".zattrs", ".zarray", "1.1"), ("1.1", ".zattrs", ".zarray"),
                                   (".zattrs", "1.1", ".zarray")])
def test_documents_and_chunks_come_in_any_order(keys, d, order):
    path = "order/" + "-".join(key.strip(".") for key in order)
    bodies = {".zarray": zarray(), ".zattrs": {"units": "m", "_ARRAY_DIMENSIONS": ["y", "x"]}, "1.1": CHUNK}
    for key in order:
        assert node_of(keys, d, path) == 404 or key != ".zarray"
        store(keys, f"{d}/{path}/{key}", bodies[key])
    node = node_of(keys, d, path)
    assert node["dialect"] == "v2" and node["warnings"] == [] and node["array"]["dimension_names"] == ["y", "x"]
    assert node["metadata"]["attributes"]["units"] == "m"
    values = keys.get(f"/v1/datasets/{d}/slices/{path}?format=json").json()["data"]
    assert values == [[7] * 6, [7] * 6, [7, 7, 7, 0, 1, 2], [7, 7, 7, 3, 4, 5]]
    for key, body in bodies.items():
        found = keys.get(f"/zarr/{d}/{path}/{key}").body
        assert found == (body if isinstance(body, bytes) else json.dumps(body).encode())  # byte for byte


def test_a_node_goes_and_changes_with_its_documents(keys, d):
    path = "turns/a"
    assert delete(keys, f"{d}/{path}/.zattrs").status == 204  # there is nothing
    store(keys, f"{d}/{path}/.zattrs", {"a": 1})
    store(keys, f"{d}/{path}/.zattrs", {"a": 2})  # no node, and replaced all the same
    assert node_of(keys, d, path) == 404
    store(keys, f"{d}/{path}/.zgroup", GROUP)
    assert node_of(keys, d, path)["metadata"] == {"zarr_format": 3, "node_type": "group", "attributes": {"a": 2}}
    store(keys, f"{d}/{path}/.zarray", zarray())
    node = node_of(keys, d, path)
    assert node["node_type"] == "array" and [warning["code"] for warning in node["warnings"]] == ["two_documents"]
    assert delete(keys, f"{d}/{path}/.zattrs").status == 204
    assert "attributes" not in node_of(keys, d, path)["metadata"]
    assert delete(keys, f"{d}/{path}/.zarray").status == 204
    assert node_of(keys, d, path)["node_type"] == "group"
    store(keys, f"{d}/{path}/.zattrs", {"a": 3})
    assert delete(keys, f"{d}/{path}/.zgroup").status == 204
    assert node_of(keys, d, path) == 404 and keys.get(f"/zarr/{d}/{path}/.zattrs").json() == {"a": 3}
    assert delete(keys, f"{d}/{path}/.zattrs").status == 204
    assert keys.get(f"/zarr/{d}/{path}/.zattrs").status == 404


# ---- what is judged ----

FAULTS = {
    "no member": ({"zarr_format": 2}, [f"/{name}" for name in zarray() if name != "zarr_format"], "missing_member"),
    "a type": (zarray(dtype="<q9"), ["/dtype"], None),
    "no number of dimensions": (zarray(chunks=[2]), ["/chunks"], None),
    "a chunk of nothing": (zarray(chunks=[2, 0]), ["/chunks/1"], None),
    "a negative length": (zarray(shape=[-1, 6]), ["/shape/0"], None),
    "another format": (zarray(zarr_format=3), ["/zarr_format"], None),
    "an order": (zarray(order="A"), ["/order"], None),
    "a separator": (zarray(dimension_separator="-"), ["/dimension_separator"], None),
    "a level": (zarray(compressor={"id": "zlib", "level": 99}), ["/compressor/level"], None),
    "no id": (zarray(filters=[{"level": 1}]), ["/filters/0"], None),
    "a codec that executes": (zarray(compressor={"id": "pickle"}), ["/compressor"], None),
    "a fill value": (zarray(fill_value="x"), ["/fill_value"], None),
    "a list": ([], [""], None),
    # What is tolerated where others have stored it (reference 13.2).
    "a real number for integers": (zarray(fill_value=0.0), ["/fill_value"], "integral_float"),
    "a number for a bool": (zarray(dtype="|b1", fill_value=0), ["/fill_value"], "legacy_spelling"),
    "a number for a complex one": (zarray(dtype="<c8", fill_value=1.5), ["/fill_value"], "legacy_spelling"),
    "the size of items": (zarray(filters=[{"id": "shuffle", "elementsize": 0}]), ["/filters/0/elementsize"], "implied_elementsize"),
    "a parameter of GDAL": (zarray(compressor={"id": "lzma", "delta": 1}), ["/compressor/delta"], "unknown_codec_parameter"),
    "a word of GDAL": (zarray(compressor={"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": "BIT", "blocksize": 0}),
                       ["/compressor/shuffle"], None),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_document_is_refused_with_the_place(keys, folder, d, name):
    document, pointers, code = FAULTS[name]
    answer = put(keys, f"{d}/bad/.zarray", document)
    assert answer.status == 422 and answer.code in ("invalid_metadata", "unsupported_codec", "unsupported_data_type"), answer
    errors = answer.json()["errors"]
    assert [error["pointer"] for error in errors] == pointers, errors
    assert code is None or {error["code"] for error in errors} == {code}
    assert keys.get(f"/zarr/{d}/bad/.zarray").status == 404 and not (folder / "bad").exists()


@pytest.mark.parametrize("key, body, status", [
    (".zattrs", [1], 422), (".zattrs", None, 422), (".zattrs", b"{", 400), (".zattrs", b"", 400), (".zgroup", {}, 422),
    (".zgroup", {"zarr_format": "2"}, 422), (".zgroup", b"zarr", 400), (".zarray", b"[", 400), (".zattrs", b'{"a": NaN}', 400),
])
def test_other_documents_are_judged_too(keys, d, key, body, status):
    answer = put(keys, f"{d}/bad/{key}", body)
    assert answer.status == status and answer.code == ("bad_body" if status == 400 else "invalid_metadata"), answer
    assert status == 400 or answer.json()["errors"][0]["pointer"] == ("/zarr_format" if key == ".zgroup" else "")
    assert keys.get(f"/zarr/{d}/bad/{key}").status == 404


def test_foreign_keys_beside_a_document_are_not_its_fault(serve, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/.zattrs").write_text("[")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/.zarray").write_text("{}")
    server = serve("-w", f"d={tmp_path}")
    store(server, "d/a/.zarray", zarray())
    assert node_of(server, "d", "a")["refused"]["code"] == "invalid_metadata"
    store(server, "d/a/.zattrs", {})
    assert node_of(server, "d", "a")["node_type"] == "array" and "refused" not in node_of(server, "d", "a")
    store(server, "d/b/.zattrs", {"a": 1})
    store(server, "d/b/.zarray", zarray())
    assert node_of(server, "d", "b")["metadata"]["attributes"] == {"a": 1}


def test_members_that_nobody_knows_are_taken(keys, d):
    document = zarray(_NCZARR_ARRAY={"dimrefs": ["/y", "/x"]}, note=1)
    store(keys, f"{d}/members/.zarray", document)
    assert [warning["pointer"] for warning in node_of(keys, d, "members")["warnings"]] == ["/note"]
    assert keys.get(f"/zarr/{d}/members/.zarray").json() == document


def test_unknown_extensions_are_taken_where_the_dataset_allows_it(keys):
    document = zarray(compressor={"id": "example"})
    assert put(keys, "m/strange/.zarray", document).code == "unsupported_codec"
    store(keys, "unknown/strange/.zarray", document)
    store(keys, "unknown/strange/0.0", b"whatever that codec makes")
    assert node_of(keys, "unknown", "strange")["refused"]["pointer"] == "/compressor"


def test_chunks_are_judged(keys, folder, d):
    for name, separator in (("dots", "."), ("slashes", "/")):
        store(keys, f"{d}/chunks/{name}/.zarray", zarray(dimension_separator=separator))
        for body in (b"", CHUNK[:-1], CHUNK + b"x"):
            answer = put(keys, f"{d}/chunks/{name}/0{separator}1", body)
            assert (answer.status, answer.code) == (422, "corrupt_chunk") and f"{name}/0{separator}1" in answer.json()["detail"]
        assert put(keys, f"{d}/chunks/{name}/2{separator}0", CHUNK).code == "out_of_bounds"
        store(keys, f"{d}/chunks/{name}/0{separator}1", CHUNK)
        store(keys, f"{d}/chunks/{name}/note", b"no chunk")
    assert put(keys, f"{d}/chunks/dots/b/.zgroup", GROUP).code == "parent_is_array"
    assert put(keys, f"{d}/chunks/dots/b/.zattrs", {}).code == "parent_is_array"


@pytest.mark.parametrize("change", [{"chunks": [2, 2]}, {"dtype": "<f4"}, {"dtype": ">u2"}, {"order": "F"},
                                    {"compressor": {"id": "zlib", "level": 1}}])
def test_a_document_that_spoils_chunks_is_refused(keys, d, change):
    path = f"{d}/spoilt"
    store(keys, f"{path}/.zarray", zarray())
    store(keys, f"{path}/.zarray", zarray(**change))  # there is nothing to spoil
    store(keys, f"{path}/.zarray", zarray())
    store(keys, f"{path}/1.1", CHUNK)
    answer = put(keys, f"{path}/.zarray", zarray(**change))
    assert (answer.status, answer.code) == (409, "chunks_exist"), answer
    assert keys.get(f"/zarr/{path}/.zarray").json() == zarray()
    for key, harmless in ((".zarray", zarray(shape=[40, 60])), (".zattrs", {"a": 1}), (".zgroup", GROUP), (".zarray", zarray(fill_value=0))):
        store(keys, f"{path}/{key}", harmless)
    assert keys.get(f"/v1/datasets/{d}/chunks/spoilt?index=1,1&decoded=1").body == CHUNK
    for key in ("1.1", ".zarray", ".zgroup", ".zattrs"):
        assert delete(keys, f"{path}/{key}").status == 204


def test_conditions_hold(keys, d):
    for path in ("conditions", "conditions/lone"):
        key = f"{d}/{path}/.zattrs"
        tag = store(keys, key, {"a": 1}, {"If-None-Match": "*"}).headers["etag"]
        assert put(keys, key, {"a": 2}, {"If-None-Match": "*"}).status == 412
        assert put(keys, key, {"a": 2}, {"If-Match": '"x-1"'}).status == 412
        assert delete(keys, key, {"If-Match": '"x-1"'}).status == 412
        tag = store(keys, key, {"a": 2}, {"If-Match": tag}).headers["etag"]
        assert keys.get(f"/zarr/{key}").headers["etag"] == tag and keys.get(f"/zarr/{key}").json() == {"a": 2}
        if path == "conditions":
            store(keys, f"{d}/{path}/.zgroup", GROUP)
            assert node_of(keys, d, path)["metadata"]["attributes"] == {"a": 2}
            tag = store(keys, key, {"a": 3}, {"If-Match": tag}).headers["etag"]
        else:
            assert delete(keys, key, {"If-Match": tag}).status == 204


# ---- what else there is ----

class Events:
    """What is told of nodes."""

    def __init__(self, server, d):
        self.connection = server.connection()
        self.connection.request("GET", f"/v1/datasets/{d}/events")
        self.stream = self.connection.getresponse()

    def until(self, path):
        """Changes of nodes up to that of a path."""
        told = []
        while not told or told[-1][0] != path:
            line = self.stream.readline()
            assert line, told
            if line.startswith(b"data:"):
                self.last = json.loads(line[5:])
                told.append((self.last["path"], self.last["change"]))
        return told[:-1]


def test_events_tell_of_nodes_and_not_of_documents_that_make_none(keys, d):
    events = Events(keys, d)
    for method, key, body in (("PUT", ".zattrs", {}), ("PUT", ".zarray", zarray()), ("PUT", ".zattrs", {"a": 1}), ("PUT", ".zgroup", GROUP),
                              ("DELETE", ".zarray", None), ("DELETE", ".zattrs", None), ("DELETE", ".zgroup", None),
                              ("PUT", ".zattrs", {}), ("DELETE", ".zattrs", None)):
        answer = put(keys, f"{d}/told/{key}", body) if method == "PUT" else delete(keys, f"{d}/told/{key}")
        assert answer.status in (200, 204), (method, key, answer)
    for key, body in ((".zattrs", {"a": 1}), (".zarray", zarray())):
        store(keys, f"{d}/end/{key}", body)
    assert events.until("end") == [("told", "created")] + 4 * [("told", "changed")] + [("told", "deleted")]
    assert events.last["etag"] == keys.get(f"/v1/datasets/{d}/nodes/end").headers["etag"]
    for key in (".zattrs", ".zarray"):
        assert delete(keys, f"{d}/end/{key}").status == 204
    events.connection.close()


def test_a_node_of_v3_hides_what_is_written_beside_it(keys, d):
    v3 = {"zarr_format": 3, "node_type": "group", "attributes": {"v": 3}}
    store(keys, f"{d}/hidden/zarr.json", v3)
    store(keys, f"{d}/hidden/a/zarr.json", v3)
    assert keys.request("POST", f"/v1/datasets/{d}/consolidate/hidden").status == 200
    events = Events(keys, d)
    for attributes in ({"v": 1}, {"v": 2}):
        store(keys, f"{d}/hidden/a/.zgroup", GROUP)
        store(keys, f"{d}/hidden/a/.zattrs", attributes)
    store(keys, f"{d}/hidden/b/zarr.json", v3)
    assert events.until("hidden/b") == []
    events.connection.close()
    node = node_of(keys, d, "hidden/a")
    assert node["dialect"] == "v3" and [warning["code"] for warning in node["warnings"]] == ["two_dialects"]
    listed = keys.get(f"/zarr/{d}/hidden/zarr.json").json()["consolidated_metadata"]["metadata"]
    assert sorted(listed) == ["a", "b"] and listed["a"]["attributes"] == {"v": 3}
    assert delete(keys, f"{d}/hidden/a/zarr.json").status == 204
    assert node_of(keys, d, "hidden/a")["metadata"]["attributes"] == {"v": 2}
    store(keys, f"{d}/hidden/a/zarr.json", v3)
    assert delete(keys, f"{d}/hidden/a/.zgroup").status == 204 and delete(keys, f"{d}/hidden/a/.zattrs").status == 204
    assert node_of(keys, d, "hidden/a")["warnings"] == []


NO_WARNING = {"blosc_bit"}  # GDAL's word for it: the head of a chunk says how it is shuffled
INDULGENCE = {"integral_float", "legacy_spelling", "implied_elementsize", "unknown_codec_parameter"}


def stores():
    for root in (STORES / "v2", SHARED / "stores/v2", SHARED / "stores/real"):
        for path in sorted(root.iterdir()) if root.is_dir() else ():
            if path.is_dir() and not path.name.endswith(".unpacked"):
                yield pytest.param(path, id=f"{root.parents[1].name}-{path.name}")


@pytest.mark.parametrize("source", stores())
def test_stores_of_other_libraries_are_taken_key_by_key(serve, tmp_path, source):
    """As an uploader sends them, in the order of their names. Refused are the documents that cannot be read either, and those that are
    read with indulgence."""
    server = serve(f"there={source}", "-w", f"here={tmp_path}")
    found = contents(source)
    refused = set()
    for key, body in found.items():
        answer = put(server, f"here/{urllib.parse.quote(key)}", body)
        if answer.status == 422:
            assert key.endswith(".zarray") and all(error["pointer"] for error in answer.json()["errors"]), (key, answer)
            refused.add(key.removesuffix(".zarray").strip("/"))
        else:
            assert answer.status == 200 and (tmp_path / key).read_bytes() == body, (key, answer)
    nodes = {path: node_of(server, "there", urllib.parse.quote(path))
             for path in (key.removesuffix(".zarray").strip("/") for key in found if key.endswith(".zarray"))}
    assert refused == {path for path, node in nodes.items() if path in NO_WARNING or "refused" in node or
                       INDULGENCE & {warning["code"] for warning in node["warnings"]}}
    for path, node in nodes.items():
        if path not in refused:
            assert node_of(server, "here", urllib.parse.quote(path))["metadata"] == node["metadata"]


# ---- consolidated metadata ----

def listing(**documents):
    return {"zarr_consolidated_format": 1, "metadata": documents}


@pytest.mark.parametrize("body, status, pointer", [
    ([], 422, "/metadata"), ({}, 422, "/metadata"), ({"metadata": []}, 422, "/metadata"),
    ({"metadata": {}, "zarr_consolidated_format": 2}, 422, "/zarr_consolidated_format"), (b"{", 422, ""),
])
def test_a_listing_has_a_map_of_documents(keys, d, body, status, pointer):
    store(keys, f"{d}/listed/bad/.zgroup", GROUP)
    answer = put(keys, f"{d}/listed/bad/.zmetadata", body)
    assert answer.status == status or (body == b"{" and answer.status == 400), answer
    assert answer.status == 400 or pointer in [error["pointer"] for error in answer.json()["errors"]], answer
    assert keys.get(f"/zarr/{d}/listed/bad/.zmetadata").status == 404


def test_a_listing_is_stored_as_it_is_and_kept_true(keys, d):
    path = f"{d}/listed/good"
    documents = {".zgroup": GROUP, ".zattrs": {"a": 1}, "x/.zarray": zarray(), "x/.zattrs": {}, "gone/.zarray": {"of": "nobody"}}
    body = listing(**documents)
    store(keys, f"{path}/.zmetadata", body)  # before its group: a client copies keys in any order
    store(keys, f"{path}/.zmetadata", body)
    assert delete(keys, f"{path}/.zmetadata").status == 204 and keys.get(f"/zarr/{path}/.zmetadata").status == 404
    for key in (".zgroup", ".zattrs", "x/.zarray", "x/.zattrs"):
        store(keys, f"{path}/{key}", documents[key])
    store(keys, f"{path}/.zmetadata", body)
    assert keys.get(f"/zarr/{path}/.zmetadata").json() == body
    for key in (".zgroup", ".zattrs"):
        store(keys, f"{path}/{key}", documents[key])  # again: nothing has changed
    assert keys.get(f"/zarr/{path}/.zmetadata").json() == body
    store(keys, f"{path}/x/.zarray", zarray(shape=[8, 6]))
    found = keys.get(f"/zarr/{path}/.zmetadata")
    assert found.status == 404 or found.json()["metadata"]["x/.zarray"]["shape"] == [8, 6]
    for change in (lambda: store(keys, f"{path}/.zattrs", {"a": 2}), lambda: delete(keys, f"{path}/.zattrs")):
        store(keys, f"{path}/.zmetadata", body)
        assert change().status in (200, 204)
        found = keys.get(f"/zarr/{path}/.zmetadata")
        assert found.status == 404 or found.json()["metadata"].get(".zattrs", {}) == node_of(keys, d, "listed/good")["metadata"].get("attributes", {})
