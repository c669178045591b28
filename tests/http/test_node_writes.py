"""Changes of nodes (api.md 3.2): made, replaced, patched, erased, and judged before anything is stored."""

import concurrent.futures
import json

import pytest
from live import DATA

N = "/v1/datasets/w/nodes/"
Z = "/zarr/w/"
JSON = {"Content-Type": "application/json"}
PATCH = {"Content-Type": "application/merge-patch+json"}
GROUP = {"zarr_format": 3, "node_type": "group"}
LITTLE = [{"name": "bytes", "configuration": {"endian": "little"}}]
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [7, 8], "data_type": "int16",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
         "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": 0, "codecs": LITTLE}


def put(server, path, document, query="", **headers):
    text = document if isinstance(document, (str, bytes)) else json.dumps(document)
    body = text if isinstance(text, bytes) else text.encode()
    return server.request("PUT", N + path + query, {**JSON, **headers}, body)


def patch(server, path, change, query="", **headers):
    return server.request("PATCH", N + path + query, {**PATCH, **headers}, json.dumps(change).encode())


def delete(server, path, query="", **headers):
    return server.request("DELETE", N + path + query, headers)


def stored(server, key="zarr.json"):
    """A stored document, or None."""
    answer = server.get(Z + key)
    return answer.json() if answer.status == 200 else None


def nodes(server):
    """The path of every node."""
    return [node["path"] for node in server.get("/v1/datasets/w/tree/").json()["nodes"]]


@pytest.fixture(params=["file", "mem"])
def w(request, serve, tmp_path):
    return serve("-w", f"w={tmp_path}" if request.param == "file" else "w=mem:")


def test_a_node_is_made_with_its_missing_parents(w):
    answer = put(w, "a/b/c", ARRAY)
    assert answer.status == 201, answer
    assert answer.json()["array"]["shape"] == [7, 8]
    assert stored(w) == stored(w, "a/zarr.json") == stored(w, "a/b/zarr.json") == GROUP
    assert stored(w, "a/b/c/zarr.json") == ARRAY
    assert w.get(N + "a/b/c").headers["etag"] == answer.headers["etag"]
    assert w.get(N + "a/b/c").json() == answer.json()


def test_a_document_is_replaced(w):
    first = put(w, "a", {**GROUP, "attributes": {"n": 1}})
    second = put(w, "a", {**GROUP, "attributes": {"n": 2}})
    assert (first.status, second.status) == (201, 200)
    assert first.headers["etag"] != second.headers["etag"]
    assert stored(w, "a/zarr.json")["attributes"] == {"n": 2}


def test_a_dry_run_stores_nothing(w):
    answer = put(w, "a/b", ARRAY, "?dry_run=1")
    assert answer.status == 201 and answer.json()["array"]["shape"] == [7, 8]
    assert "etag" not in answer.headers or stored(w, "a/b/zarr.json") is None
    assert stored(w) is None and stored(w, "a/zarr.json") is None


def test_below_an_array_there_is_nothing(w):
    put(w, "a", ARRAY)
    answer = put(w, "a/b/c", GROUP)
    assert (answer.status, answer.code) == (409, "parent_is_array")
    assert nodes(w) == ["", "a"]


def test_a_group_with_children_becomes_no_array(w):
    put(w, "g/a", ARRAY)
    for query in ["", "?erase_chunks=1"]:
        answer = put(w, "g", ARRAY, query)
        assert (answer.status, answer.code) == (409, "not_empty")
    assert nodes(w) == ["", "g", "g/a"]


@pytest.mark.parametrize("name", ["__x", "...", "a/__b", "zarr.json"])
def test_no_node_gets_a_reserved_name(w, name):
    answer = put(w, name, GROUP)
    assert (answer.status, answer.code) == (400, "bad_path")


def test_every_fault_is_told_at_once(w):
    document = {**ARRAY, "zarr_format": 3, "shape": [-1, 8], "fill_value": "x", "foo": 1,
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}}
    answer = put(w, "a", document)
    assert (answer.status, answer.code) == (422, "invalid_metadata")
    assert {error["pointer"] for error in answer.json()["errors"]} == {
        "/shape/0", "/fill_value", "/foo", "/chunk_key_encoding/configuration/separator"}
    assert nodes_absent(w)


def nodes_absent(server):
    return stored(server) is None and server.get(N + "a").status == 404


@pytest.mark.parametrize("body", [b"{", b"", b"[1", b"{\"a\":NaN}", b"\xef\xbb\xbf{}", b"{\"a\":1,\"a\":2}"])
def test_a_body_that_is_not_json(w, body):
    answer = put(w, "a", body)
    assert (answer.status, answer.code) == (400, "bad_body")
    assert nodes_absent(w)


def test_a_body_of_another_type(w):
    answer = w.request("PUT", N + "a", {"Content-Type": "text/plain"}, json.dumps(GROUP).encode())
    assert (answer.status, answer.code) == (415, "unsupported_media_type")
    put(w, "a", GROUP)
    answer = w.request("PATCH", N + "a", JSON, b"{}")
    assert (answer.status, answer.json()["allowed"]) == (415, ["application/merge-patch+json"])


def test_read_only_datasets_stay_so(serve):
    server = serve("w=mem:")
    answer = put(server, "a", GROUP)
    assert (answer.status, answer.code) == (405, "read_only")


def test_only_one_creator_wins(w):
    def create(number):
        return put(w, "a/b", {**GROUP, "attributes": {"n": number}}, **{"If-None-Match": "*"}).status

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for turn in range(5):
            statuses = sorted(pool.map(create, range(8)))
            assert statuses == [201] + [412] * 7
            assert delete(w, "a").status == 204
