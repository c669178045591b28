"""Half-written, mixed and unknown hierarchies: each says what is wrong with it and where; nothing is guessed."""

import json

import pytest
from documents import GROUP, array_document

ARRAY = array_document([2], [2], "int32")
ZARRAY = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "compressor": None, "fill_value": 0, "order": "C", "filters": None}
ZGROUP = {"zarr_format": 2}
N5 = {"n5": "4.0.0", "dimensions": [2], "blockSize": [2], "dataType": "int32", "compression": {"type": "raw"}}
CORE = "https://purl.org/zarr/spec/protocol/core/3.0"
ENTRY = {"zarr_format": CORE, "metadata_encoding": CORE, "metadata_key_suffix": ".json", "extensions": []}
DRAFT = {"shape": [2], "data_type": "<i4", "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"},
         "chunk_memory_layout": "C", "fill_value": 0, "extensions": [], "attributes": {}}


def cut(document):
    return json.dumps(document)[:-9]


# What is stored of a hierarchy, the node that is asked for, its dialect, and code and place of why it is refused, or of its warnings.
REFUSED = {
    "v3 cut off": ({"zarr.json": cut(ARRAY)}, "", "v3", "invalid_metadata", ""),
    "v3 of nothing": ({"zarr.json": ""}, "", "v3", "invalid_metadata", ""),
    "v3 of zeros": ({"zarr.json": "\0" * 100}, "", "v3", "invalid_metadata", ""),
    "v3 of a list": ({"zarr.json": "[]"}, "", "v3", "invalid_metadata", ""),
    "v3 without its kind": ({"zarr.json": {"zarr_format": 3}}, "", "v3", "invalid_metadata", "/node_type"),
    "v3 of the next version": ({"zarr.json": {**GROUP, "zarr_format": 4}}, "", "v3", "invalid_metadata", "/zarr_format"),
    "v3 that says 2": ({"zarr.json": {**GROUP, "zarr_format": 2}}, "", "v3", "invalid_metadata", "/zarr_format"),
    "v3 cut off beside v2": ({"zarr.json": cut(GROUP), ".zgroup": ZGROUP}, "", "v3", "invalid_metadata", ""),
    "v2 cut off": ({".zarray": cut(ZARRAY)}, "", "v2", "invalid_metadata", ""),
    "v2 of nothing": ({".zarray": ""}, "", "v2", "invalid_metadata", ""),
    "v2 group that says 3": ({".zgroup": {"zarr_format": 3}}, "", "v2", "invalid_metadata", "/zarr_format"),
    "v2 group of a list": ({".zgroup": "[]"}, "", "v2", "invalid_metadata", ""),
    "v2 attributes cut off": ({".zarray": ZARRAY, ".zattrs": '{"a": '}, "", "v2", "invalid_metadata", ""),
    "v2 attributes of a list": ({".zgroup": ZGROUP, ".zattrs": "[1]"}, "", "v2", "invalid_metadata", ""),
    "v2 array cut off beside its group": ({".zgroup": ZGROUP, ".zarray": "{"}, "", "v2", "invalid_metadata", ""),
    "N5 cut off": ({"attributes.json": {"n5": "4.0.0"}, "s/attributes.json": cut(N5)}, "s", "n5", "invalid_metadata", ""),
    "N5 without a type": ({"attributes.json": {name: N5[name] for name in N5 if name != "dataType"}}, "", "n5", "invalid_metadata",
                          "/dataType"),
    "draft cut off": ({"zarr.json": ENTRY, "meta/root/a.array.json": cut(DRAFT)}, "a", "draft-2020", "invalid_metadata", ""),
    "draft without a shape": ({"zarr.json": ENTRY, "meta/root/a.array.json": {name: DRAFT[name] for name in DRAFT if name != "shape"}},
                              "a", "draft-2020", "invalid_metadata", "/shape"),
    "entry point cut off": ({"zarr.json": cut(ENTRY), "meta/root/a.array.json": DRAFT}, "", "v3", "invalid_metadata", ""),
}
WARNED = {
    "v2 array and group": ({".zarray": ZARRAY, ".zgroup": ZGROUP}, "", "v2", "two_documents"),
    "v3 and v2": ({"zarr.json": GROUP, ".zgroup": ZGROUP}, "", "v3", "two_dialects"),
    "v3 and half of v2": ({"zarr.json": GROUP, ".zarray": "{"}, "", "v3", "two_dialects"),
    "v3 and N5": ({"zarr.json": ARRAY, "attributes.json": N5}, "", "v3", "two_dialects"),
    "v2 and N5": ({".zarray": ZARRAY, "attributes.json": N5}, "", "v2", "two_dialects"),
    "v2 and a draft": ({".zgroup": ZGROUP, "zarr.json": ENTRY}, "", "v2", "two_dialects"),
    "draft array and group": ({"zarr.json": ENTRY, "meta/root/a.array.json": DRAFT, "meta/root/a.group.json": {"attributes": {}}},
                              "a", "draft-2020", "two_documents"),
}
MISSING = {
    "attributes of v2 alone": ({".zgroup": ZGROUP, "a/.zattrs": {"a": 1}}, "a"),
    "chunks of v2 alone": ({".zgroup": ZGROUP, "a/0.0": "x"}, "a"),
    "chunks of v3 alone": ({"zarr.json": GROUP, "a/c/0": "x"}, "a"),
    "a document in place of a directory": ({"zarr.json": GROUP, "a": "x"}, "a"),
}


def write(folder, files):
    for key, text in files.items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_text(text if isinstance(text, str) else json.dumps(text))


def dataset_of(name):
    return name.replace(" ", "-").lower()


@pytest.fixture(scope="module")
def server(tmp_path_factory, serve_module):
    root = tmp_path_factory.mktemp("half")
    rows = {**REFUSED, **WARNED, **MISSING}
    for name, row in rows.items():
        write(root / dataset_of(name), row[0])
    return serve_module(*(f"{dataset_of(name)}={root / dataset_of(name)}" for name in rows))


@pytest.mark.parametrize("name", REFUSED)
def test_half_written_documents_are_refused_with_their_place(server, name):
    _, path, dialect, code, pointer = REFUSED[name]
    place = f"/v1/datasets/{dataset_of(name)}"
    node = server.get(f"{place}/nodes/{path}").json()
    assert node["dialect"] == dialect, node
    assert (node["refused"]["code"], node["refused"]["pointer"]) == (code, pointer), node["refused"]
    for what in ("slices", "stats", "chunks"):
        problem = server.get(f"{place}/{what}/{path}?{'index=0' if what == 'chunks' else ''}")
        assert (problem.status, problem.code, problem.json()["pointer"]) == (422, code, pointer), problem
    rows = {row["path"]: row for row in server.get(f"{place}/tree/").json()["nodes"]}
    assert rows[path]["refused"]["code"] == code
    view = server.get(f"/v3/{dataset_of(name)}/{path + '/' if path else ''}zarr.json")
    assert view.status in (404, 200) and (view.status == 404 or json.loads(view.body))


@pytest.mark.parametrize("name", WARNED)
def test_a_node_in_two_formats_is_read_as_one_with_a_warning(server, name):
    _, path, dialect, code = WARNED[name]
    node = server.get(f"/v1/datasets/{dataset_of(name)}/nodes/{path}").json()
    assert node["dialect"] == dialect and "refused" not in node, node
    assert [warning["code"] for warning in node["warnings"]] == [code]


@pytest.mark.parametrize("name", MISSING)
def test_a_path_without_a_document_is_no_node(server, name):
    place = f"/v1/datasets/{dataset_of(name)}"
    answer = server.get(f"{place}/nodes/{MISSING[name][1]}")
    assert (answer.status, answer.code) == (404, "node_not_found")
    assert [row["path"] for row in server.get(f"{place}/tree/").json()["nodes"]] == [""]
