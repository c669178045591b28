"""Nodes: what is shown of groups, arrays and refused nodes."""

import json
import os

import pytest
from arrays import write_array, write_node
from documents import GROUP, LITTLE

N = "/v1/datasets/p/nodes/"
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [7, 8], "data_type": "float32",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
         "chunk_key_encoding": {"name": "default"}, "fill_value": "NaN", "codecs": [LITTLE],
         "attributes": {"units": "K", "nested": {"a": 1, "b": 2}}, "dimension_names": ["lat", None]}
SHARDED = {**ARRAY, "shape": [8, 12], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
           "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
                      {"name": "sharding_indexed", "configuration": {
                          "chunk_shape": [3, 2], "codecs": [LITTLE], "index_codecs": [LITTLE], "index_location": "end"}}]}


@pytest.fixture
def root(tmp_path):
    write_node(tmp_path / "", {**GROUP, "attributes": {"title": "all"}})
    write_node(tmp_path / "a", ARRAY)
    write_node(tmp_path / "g", GROUP)
    write_node(tmp_path / "g/a b", ARRAY)
    write_node(tmp_path / "sharded", SHARDED)
    write_node(tmp_path / "tolerated", {**ARRAY, "dimension_names": None, "old": {"must_understand": False}})
    write_node(tmp_path / "bare", json.dumps({**ARRAY, "fill_value": None, "attributes": {}}).replace("null", "NaN", 1))
    write_node(tmp_path / "refused", {**GROUP, "extensions": ["example.a", {"name": "example.b", "must_understand": False}]})
    write_node(tmp_path / "refused/below", GROUP)
    write_node(tmp_path / "broken", "{")
    (tmp_path / "not_a_node").mkdir()
    (tmp_path / "__hidden").mkdir()
    write_node(tmp_path / "__hidden", GROUP)
    return tmp_path


@pytest.fixture
def p(serve, root):
    return serve(f"p={root}")


def test_an_array_says_all_of_itself(p):
    answer = p.get(N + "a")
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    node = answer.json()
    assert list(node) == ["path", "node_type", "dialect", "metadata", "array", "warnings", "links"]
    assert (node["path"], node["node_type"], node["dialect"], node["warnings"]) == ("a", "array", "v3", [])
    array = node["array"]
    assert {"csv", "json", "npy", "npz", "raw"} <= set(array.pop("formats"))
    assert array == {
        "shape": [7, 8], "dtype": "<f4", "data_type": "float32", "itemsize": 4, "dimension_names": ["lat", None],
        "chunk_shape": [4, 6], "inner_chunk_shape": None, "chunk_grid_shape": [2, 2], "fill_value": "NaN",
        "codecs": ["bytes"], "n_elements": 56, "n_bytes": 224, "can": {"slice": True, "write": False}}
    metadata = node["metadata"]
    assert list(metadata) == ["zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding",
                              "fill_value", "codecs", "attributes", "dimension_names"]
    assert metadata["chunk_key_encoding"] == {"name": "default", "configuration": {"separator": "/"}}
    assert answer.headers["last-modified"] and answer.headers["cache-control"] == "no-cache"


def test_every_link_leads_somewhere(p):
    for path in ("", "a", "g", "g/a%20b"):
        links = p.get(N + path).json()["links"]
        assert ("parent" in links) == (path != "")
        for name, link in links.items():
            if name == "chunks":
                link += "?present=1"
            if name == "keys":
                link = link.rstrip("/") + "/zarr.json"
            assert p.get(link).status == 200, (path, name, link)


def test_inner_chunks_are_told_in_the_axes_of_the_array(p):
    array = p.get(N + "sharded").json()["array"]
    assert array["chunk_shape"] == [4, 6] and array["inner_chunk_shape"] == [2, 3]
    assert array["codecs"] == ["transpose", "sharding_indexed"]


@pytest.mark.parametrize("target", ["/v1/datasets/p/nodes", "/v1/datasets/p/nodes/"])
def test_a_group_lists_its_children(p, target):
    node = p.get(target).json()
    assert node["path"] == "" and node["metadata"]["attributes"] == {"title": "all"}
    assert node["children"] == [
        {"name": "a", "node_type": "array"}, {"name": "bare", "node_type": "array"},
        {"name": "broken", "node_type": None}, {"name": "g", "node_type": "group"},
        {"name": "refused", "node_type": "group"}, {"name": "sharded", "node_type": "array"},
        {"name": "tolerated", "node_type": "array"}]
    assert p.get(N + "g").json()["children"] == [{"name": "a b", "node_type": "array"}]


@pytest.mark.parametrize("fields, expected", [
    ("path", {"path": "a"}),
    ("metadata.attributes,array.shape", {"metadata": {"attributes": ARRAY["attributes"]}, "array": {"shape": [7, 8]}}),
    ("metadata.attributes.nested.b", {"metadata": {"attributes": {"nested": {"b": 2}}}}),
    ("array.can,warnings", {"array": {"can": {"slice": True, "write": False}}, "warnings": []}),
    ("metadata.absent", {"metadata": {}}),
    ("children,refused", {}),
])
def test_fields_project(p, fields, expected):
    assert p.get(N + "a?fields=" + fields).json() == expected


@pytest.mark.parametrize("query, code", [
    ("fields=nothing", "bad_parameter"), ("fields=path,", "bad_parameter"), ("field=path", "unknown_parameter"),
    ("fields=path&fields=path", "unknown_parameter"),
])
def test_bad_parameters(p, query, code):
    answer = p.get(N + "a?" + query)
    assert answer.status == 400 and answer.code == code


def test_tolerated_faults_are_told(p):
    node = p.get(N + "tolerated").json()
    assert {(w["code"], w["pointer"]) for w in node["warnings"]} == {
        ("null_dimension_names", "/dimension_names"), ("ignored_extension", "/old")}
    assert all(w["detail"] for w in node["warnings"])
    assert "dimension_names" not in node["metadata"]
    assert node["metadata"]["old"] == {"must_understand": False}
    node = p.get(N + "bare").json()
    assert [w["code"] for w in node["warnings"]] == ["bare_nonfinite"]
    assert node["metadata"]["fill_value"] == "NaN"


def test_a_refused_node_says_why(p):
    node = p.get(N + "refused").json()
    assert "array" not in node and "children" not in node
    assert node["refused"] == {"code": "unsupported_extension", "names": ["example.a"], "pointer": "/extensions/0",
                               "detail": node["refused"]["detail"]}
    assert [w["code"] for w in node["warnings"]] == ["ignored_extension"]
    broken = p.get(N + "broken").json()
    assert broken["node_type"] is None and broken["metadata"] is None
    assert broken["refused"]["code"] == "invalid_metadata"


@pytest.mark.parametrize("path", ["absent", "not_a_node", "a/c", "g/absent"])
def test_a_path_without_a_node_is_404(p, path):
    answer = p.get(N + path)
    assert answer.status == 404 and answer.code == "node_not_found"


def test_strict_datasets_know_no_extensions(serve, root):
    server = serve(config={"datasets": {"p": {"location": str(root), "extensions": "strict"}}})
    assert server.get(N + "refused").json()["refused"]["names"] == ["extensions"]


def test_tags_follow_the_node_and_its_children(serve, root):
    server = serve(config={"datasets": {"p": {"location": str(root), "revalidate_ms": 0}}})
    array, group = (server.get(N + path).headers["etag"] for path in ("a", "g"))
    assert server.get(N + "a", {"If-None-Match": array}).status == 304
    assert server.get(N + "g", {"If-None-Match": group}).status == 304
    assert server.get(N + "a?fields=path").headers["etag"] != array
    write_node(root / "g/new", GROUP)
    assert server.get(N + "g", {"If-None-Match": group}).status == 200
    assert server.get(N + "a", {"If-None-Match": array}).status == 304
    write_node(root / "a", {**ARRAY, "attributes": {"units": "degC"}})
    answer = server.get(N + "a", {"If-None-Match": array})
    assert answer.status == 200 and answer.json()["metadata"]["attributes"] == {"units": "degC"}
    os.remove(root / "a" / "zarr.json")
    assert server.get(N + "a").status == 404


def test_head_and_pretty(p):
    get, head = p.get(N + "a"), p.head(N + "a")
    assert head.status == 200 and head.body == b"" and head.headers["etag"] == get.headers["etag"]
    assert head.headers["content-length"] == str(len(get.body))
    pretty = p.get(N + "a?pretty=1")
    assert pretty.body.count(b"\n") > 20 and pretty.json() == get.json()


def test_other_methods_are_refused(p):
    answer = p.request("POST", N + "a", body=b"{}")
    assert answer.status == 405 and answer.code in ("method_not_allowed", "read_only")


def test_huge_arrays_are_shown_without_overflow(serve, tmp_path):
    write_array(tmp_path / "big", (2**40, 2**23), (1000, 1000), [LITTLE])
    write_array(tmp_path / "more", (2**40, 2**22), (1000, 1000), [LITTLE])
    server = serve(f"p={tmp_path}")
    array = server.get(N + "big").json()["array"]
    assert array["n_elements"] == 2**63 and array["n_bytes"] is None  # 2**65 does not fit 64 bits
    assert server.get(N + "more").json()["array"]["n_bytes"] is None


def test_only_json_is_offered(p):
    for path in ("a", "g"):
        assert p.get(N + path).status == 200  # kept prepared from here on
        answer = p.get(N + path, {"Accept": "image/png"})
        assert answer.status == 406 and answer.code == "not_acceptable" and answer.json()["allowed"] == ["application/json"]
        assert p.get(N + path, {"Accept": "text/html, */*;q=0.1"}).status == 200
