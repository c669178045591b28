"""Changes of nodes: made, replaced, patched, erased, and judged before anything is stored."""

import concurrent.futures
import json
import threading

import pytest
from client import FRESH, JSON, NODES, PATCH, check, consolidate, delete_node, is_sanitized, nodes, patch_node, put_node, stored
from documents import ARRAY, GROUP, LITTLE
from files import contents
from live import CORPUS

Z = "/zarr/w/"


@pytest.fixture(params=["file", "mem"])
def w(request, serve, tmp_path):
    return serve("-w", f"w={tmp_path}" if request.param == "file" else "w=mem:")


def test_a_node_is_made_with_its_missing_parents(w):
    answer = put_node(w, "a/b/c", ARRAY)
    assert answer.status == 201, answer
    assert answer.json()["array"]["shape"] == [7, 8]
    assert stored(w) == stored(w, "a/zarr.json") == stored(w, "a/b/zarr.json") == GROUP
    assert stored(w, "a/b/c/zarr.json") == ARRAY
    assert w.get(NODES + "a/b/c").headers["etag"] == answer.headers["etag"]
    assert w.get(NODES + "a/b/c").json() == answer.json()


def test_a_document_is_replaced(w):
    first = put_node(w, "a", {**GROUP, "attributes": {"n": 1}})
    second = put_node(w, "a", {**GROUP, "attributes": {"n": 2}})
    assert (first.status, second.status) == (201, 200)
    assert first.headers["etag"] != second.headers["etag"]
    assert stored(w, "a/zarr.json")["attributes"] == {"n": 2}


def test_a_dry_run_stores_nothing(w):
    answer = put_node(w, "a/b", ARRAY, "?dry_run=1")
    assert answer.status == 201 and answer.json()["array"]["shape"] == [7, 8]
    assert "etag" not in answer.headers or stored(w, "a/b/zarr.json") is None
    assert stored(w) is None and stored(w, "a/zarr.json") is None


def test_below_an_array_there_is_nothing(w):
    put_node(w, "a", ARRAY)
    answer = put_node(w, "a/b/c", GROUP)
    assert (answer.status, answer.code) == (409, "parent_is_array")
    assert nodes(w) == ["", "a"]


def test_a_group_with_children_becomes_no_array(w):
    put_node(w, "g/a", ARRAY)
    for query in ["", "?erase_chunks=1"]:
        answer = put_node(w, "g", ARRAY, query)
        assert (answer.status, answer.code) == (409, "not_empty")
    assert nodes(w) == ["", "g", "g/a"]


@pytest.mark.parametrize("name", ["__x", "...", "a/__b", "zarr.json"])
def test_no_node_gets_a_reserved_name(w, name):
    answer = put_node(w, name, GROUP)
    assert (answer.status, answer.code) == (400, "bad_path")


def test_every_fault_is_told_at_once(w):
    document = {**ARRAY, "zarr_format": 3, "shape": [-1, 8], "fill_value": "x", "foo": 1,
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "-"}}}
    answer = put_node(w, "a", document)
    assert (answer.status, answer.code) == (422, "invalid_metadata")
    assert {error["pointer"] for error in answer.json()["errors"]} == {
        "/shape/0", "/fill_value", "/foo", "/chunk_key_encoding/configuration/separator"}
    assert nodes_absent(w)


def nodes_absent(server):
    return stored(server) is None and server.get(NODES + "a").status == 404


@pytest.mark.parametrize("body", [b"{", b"", b"[1", b"{\"a\":NaN}", b"\xef\xbb\xbf{}", b"{\"a\":1,\"a\":2}"])
def test_a_body_that_is_not_json(w, body):
    answer = put_node(w, "a", body)
    assert (answer.status, answer.code) == (400, "bad_body")
    assert nodes_absent(w)


def test_a_body_of_another_type(w):
    answer = w.request("PUT", NODES + "a", {"Content-Type": "text/plain"}, json.dumps(GROUP).encode())
    assert (answer.status, answer.code) == (415, "unsupported_media_type")
    put_node(w, "a", GROUP)
    answer = w.request("PATCH", NODES + "a", JSON, b"{}")
    assert (answer.status, answer.json()["allowed"]) == (415, ["application/merge-patch+json"])


def test_read_only_datasets_stay_so(serve):
    server = serve("w=mem:")
    answer = put_node(server, "a", GROUP)
    assert (answer.status, answer.code) == (405, "read_only")


def test_only_one_creator_wins(w):
    def create(number):
        return put_node(w, "a/b", {**GROUP, "attributes": {"n": number}}, **{"If-None-Match": "*"}).status

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for turn in range(5):
            statuses = sorted(pool.map(create, range(8)))
            assert statuses == [201] + [412] * 7
            assert delete_node(w, "a", "?recursive=1").status == 204


# ---- the examples of the reference ----

EXAMPLES = CORPUS / "documents"
WAYS = ["nodes", "keys"]


def put_either_way(server, way, text):
    if way == "keys":
        return server.request("PUT", Z + "a/zarr.json", JSON, text)
    return put_node(server, "a", text)


@pytest.mark.parametrize("way", WAYS)
def test_valid_examples_are_stored(serve, way):
    server = serve(config={"datasets": {"w": {"location": "mem:", "writable": True}}})
    paths = [path for path in sorted(EXAMPLES.glob("valid/*.json")) if path.name[:3] in ("v3-", "zep")]
    assert len(paths) > 10
    for path in paths:
        answer = put_either_way(server, way, path.read_bytes())
        assert answer.status in (200, 201), (path, answer)
        if way == "keys":
            assert server.get(Z + "a/zarr.json").body == path.read_bytes()
        assert delete_node(server, "a").status == 204


@pytest.mark.parametrize("way", WAYS)
def test_invalid_examples_are_not_stored(serve, way):
    server = serve(config={"datasets": {"w": {"location": "mem:", "writable": True, "accept_unknown": True}}})
    paths = sorted(EXAMPLES.glob("invalid/*.json"))
    assert len(paths) > 20
    for path in paths:
        answer = put_either_way(server, way, path.read_bytes())
        assert (answer.status, answer.code) == (422, "invalid_metadata"), (path, answer)
        assert all(error["pointer"] for error in answer.json()["errors"]), path
        assert server.get(NODES + "a").status == 404 and stored(server) is None


@pytest.mark.parametrize("name", ["draft2022-b-entry-point", "v2-zarray-zlib"])
def test_documents_of_other_dialects_are_no_v3(w, name):
    answer = put_node(w, "a", (EXAMPLES / "valid" / f"{name}.json").read_bytes())
    assert (answer.status, answer.code) == (422, "invalid_metadata")
    assert answer.json()["pointer"] == "/zarr_format"


# ---- what is not known ----

IGNORABLE = {"must_understand": False}


@pytest.mark.parametrize("change, code, pointer", [
    ({"codecs": [LITTLE, {"name": "example.c"}]}, "unsupported_codec", "/codecs/1"),
    ({"codecs": [LITTLE, {"name": "example.c", **IGNORABLE}]}, "unsupported_codec", "/codecs/1"),
    ({"data_type": "example.t"}, "unsupported_data_type", "/data_type"),
    ({"chunk_grid": {"name": "example.g"}}, "unsupported_grid", "/chunk_grid"),
    ({"chunk_key_encoding": "example.k"}, "unsupported_grid", "/chunk_key_encoding"),
    ({"storage_transformers": [{"name": "example.s"}]}, "unsupported_extension", "/storage_transformers/0"),
    ({"storage_transformers": [{"name": "example.s", **IGNORABLE}]}, "unsupported_extension", "/storage_transformers/0"),
])
def test_unknown_names_are_stored_where_the_dataset_accepts_them(serve, change, code, pointer):
    server = serve(config={"datasets": {
        "w": {"location": "mem:", "writable": True, "accept_unknown": True}, "x": {"location": "mem:", "writable": True}}})
    body = json.dumps({**ARRAY, **change}).encode()
    refused = server.request("PUT", "/v1/datasets/x/nodes/a", JSON, body)
    assert (refused.status, refused.code) == (422, code)
    assert [error["pointer"] for error in refused.json()["errors"]] == [pointer]
    assert server.get("/v1/datasets/x/nodes/a").status == 404
    answer = server.request("PUT", NODES + "a", JSON, body)
    assert answer.status == 201
    assert [(warning["code"], warning["pointer"]) for warning in answer.json()["warnings"]] == [(code, pointer)]
    assert stored(server, "a/zarr.json") == {**ARRAY, **change}
    assert patch_node(server, "a", {"attributes": {"n": 1}}).status == 200


@pytest.mark.parametrize("change, pointer", [
    ({"data_type": {"name": "example.t", **IGNORABLE}}, "/data_type/must_understand"),
    ({"chunk_grid": {"name": "example.g", **IGNORABLE}}, "/chunk_grid/must_understand"),
    ({"chunk_key_encoding": {"name": "example.k", **IGNORABLE}}, "/chunk_key_encoding/must_understand"),
    ({"codecs": [LITTLE, {"name": "Example"}]}, "/codecs/1/name"),
    ({"codecs": []}, "/codecs"),
    ({"codecs": [], "data_type": "example.t"}, "/codecs"),
    ({"foo": {}}, "/foo"),
])
def test_accepting_unknown_names_excuses_nothing_else(serve, change, pointer):
    server = serve(config={"datasets": {"w": {"location": "mem:", "writable": True, "accept_unknown": True}}})
    answer = put_node(server, "a", {**ARRAY, **change})
    assert (answer.status, answer.code) == (422, "invalid_metadata")
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]


def test_ignorable_members_and_unknown_extensions_are_stored_with_a_warning(w):
    answer = put_node(w, "a", {**ARRAY, "foo": IGNORABLE, "bar": {"name": "bar", **IGNORABLE},
                          "extensions": ["example.x", {"name": "https://e.com/x", **IGNORABLE}]})
    assert answer.status == 201
    assert [warning["pointer"] for warning in answer.json()["warnings"]] == ["/foo", "/bar", "/extensions/0", "/extensions/1"]
    assert answer.json()["refused"]["names"] == ["example.x"]


def test_strict_datasets_take_no_extensions(serve):
    server = serve(config={"datasets": {"w": {"location": "mem:", "writable": True, "extensions": "strict"}}})
    answer = put_node(server, "a", {**GROUP, "extensions": [{"name": "example.x", **IGNORABLE}]})
    assert (answer.status, [error["pointer"] for error in answer.json()["errors"]]) == (422, ["/extensions"])
    assert put_node(server, "a", GROUP).status == 201
    assert patch_node(server, "a", {"extensions": ["example.x"]}).status == 422


def test_levels_of_a_group_must_be_arrays(w):
    def levels(*paths):
        return {**GROUP, "extensions": [{"name": "example.multiscale-arrays", "must_understand": False, "configuration": {
            "multiscale": {"datasets": list(paths)}}}]}

    put_node(w, "g/s0", ARRAY)
    put_node(w, "g/h", GROUP)
    answer = put_node(w, "g", levels("s0", "s1", "h"))
    assert (answer.status, answer.code) == (422, "invalid_metadata")
    assert [(error["code"], error["pointer"].rsplit("/", 1)[1]) for error in answer.json()["errors"]] == [
        ("missing_array", "1"), ("not_an_array", "2")]
    assert stored(w, "g/zarr.json") == GROUP
    assert put_node(w, "g", levels("s0")).status == 200
    assert patch_node(w, "g", {"extensions": levels("s1")["extensions"]}).status == 422


# ---- merge patches ----

ODD = """{
  "zarr_format": 3, "foo": {"must_understand": false, "n": 1e400, "big": 123456789012345678901234567890},
  "attributes": {"z": 1.50, "a": {"x": [1, 2.0], "y": null}, "\\u0062": "\\/"},
  "extensions": [{"name": "example.unknown", "must_understand": false, "configuration": {"b": 1, "a": 2}}],
  "node_type": "group"
}"""


def test_a_patch_keeps_what_it_does_not_name(serve, tmp_path):
    (tmp_path / "g").mkdir()
    (tmp_path / "zarr.json").write_text(json.dumps(GROUP))
    (tmp_path / "g" / "zarr.json").write_text(ODD)
    server = serve("-w", f"w={tmp_path}")
    answer = patch_node(server, "g", {"attributes": {"a": {"x": None, "new": "n"}, "z": 2, "b": None}})
    assert answer.status == 200, answer
    expected = ODD.replace("1.50", "2").replace('"x": [1, 2.0], "y": null', '"y": null,"new": "n"').replace(
        ', "\\u0062": "\\/"', "")
    text = (tmp_path / "g" / "zarr.json").read_text()
    assert text.replace(" ", "") == expected.replace(" ", "")
    assert {warning["code"] for warning in answer.json()["warnings"]} == {"ignored_extension"}


@pytest.mark.parametrize("change, status, code", [
    ({"data_type": "int32"}, 400, "bad_body"),
    ({"node_type": "group"}, 400, "bad_body"),
    ({"zarr_format": None}, 400, "bad_body"),
    ([1], 400, "bad_body"),
    ({"attributes": []}, 422, "invalid_metadata"),
    ({"shape": [7]}, 422, "invalid_metadata"),
    ({"shape": None}, 422, "invalid_metadata"),
    ({"shape": [-1, 8]}, 422, "invalid_metadata"),
    ({"dimension_names": ["x"]}, 422, "invalid_metadata"),
    ({"extensions": []}, 422, "invalid_metadata"),
    ({"extensions": [{"extension": "http://e.com/x"}]}, 422, "invalid_metadata"),
])
def test_patches_that_are_refused(w, change, status, code):
    put_node(w, "a", ARRAY)
    answer = patch_node(w, "a", change)
    assert (answer.status, answer.code) == (status, code)
    assert status == 400 or all(error["pointer"] for error in answer.json()["errors"])
    assert stored(w, "a/zarr.json") == ARRAY


def test_a_patch_of_each_member(w):
    put_node(w, "a", ARRAY)
    answer = patch_node(w, "a", {"attributes": {"units": "K"}, "dimension_names": ["x", None], "shape": [9, 8],
                            "extensions": [{"name": "example.unknown", "must_understand": False}]})
    assert answer.status == 200
    assert answer.json()["array"]["shape"] == [9, 8] and answer.json()["array"]["dimension_names"] == ["x", None]
    assert patch_node(w, "a", {"attributes": None, "dimension_names": None, "extensions": None}).status == 200
    assert stored(w, "a/zarr.json") == {**ARRAY, "shape": [9, 8]}


def test_a_patch_of_nothing(w):
    answer = patch_node(w, "a", {"attributes": {}})
    assert (answer.status, answer.code) == (404, "node_not_found")


# ---- conditions ----

def test_conditions_compare_the_tag_of_get(w):
    tag = put_node(w, "a", ARRAY).headers["etag"]
    assert patch_node(w, "a", {"attributes": {"n": 1}}, **{"If-Match": '"other"'}).status == 412
    assert patch_node(w, "a", {"attributes": {"n": 1}}, **{"If-Match": f'W/{tag}'}).status == 412
    changed = patch_node(w, "a", {"attributes": {"n": 1}}, **{"If-Match": f'"x", {tag}'})
    assert changed.status == 200
    assert patch_node(w, "a", {"attributes": {"n": 2}}, **{"If-Match": tag}).status == 412
    gzip = w.get(NODES + "a", {"Accept-Encoding": "gzip"}).headers["etag"]
    assert patch_node(w, "a", {"attributes": {"n": 3}}, **{"If-Match": gzip}).status == 200
    assert put_node(w, "none", GROUP, **{"If-Match": "*"}).status == 412
    assert delete_node(w, "a", **{"If-Match": tag}).status == 412
    assert delete_node(w, "a", **{"If-Match": "*"}).status == 204


def test_patches_with_conditions_lose_nothing(w):
    put_node(w, "a", {**GROUP, "attributes": {"n": 0}})

    def add(_):
        won = 0
        connection = w.connection()
        for _turn in range(12):
            node = w.request("GET", NODES + "a", connection=connection)
            n = node.json()["metadata"]["attributes"]["n"]
            answer = w.request("PATCH", NODES + "a", {**PATCH, "If-Match": node.headers["etag"]},
                               json.dumps({"attributes": {"n": n + 1}}).encode(), connection=connection)
            assert answer.status in (200, 412), answer
            won += answer.status == 200
        return won

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        won = sum(pool.map(add, range(8)))
    assert stored(w, "a/zarr.json")["attributes"] == {"n": won} and won > 0


def test_patches_of_different_members_all_land(w):
    put_node(w, "a", GROUP)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: patch_node(w, "a", {"attributes": {f"k{i}": i}}).status, range(40)))
    assert answers == [200] * 40
    assert stored(w, "a/zarr.json")["attributes"] == {f"k{i}": i for i in range(40)}


def test_parents_are_made_once(w):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: put_node(w, f"p/q/r{i}", ARRAY).status, range(24)))
    assert answers == [201] * 24
    assert nodes(w) == sorted(["", "p", "p/q"] + [f"p/q/r{i}" for i in range(24)])


# ---- chunks ----

def with_chunks(tmp_path, array, keys):
    (tmp_path / "zarr.json").write_text(json.dumps(GROUP))
    for key in keys:
        path = tmp_path / "a" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(48))
    (tmp_path / "a" / "zarr.json").write_text(json.dumps(array))


def files_of(tmp_path):
    """What is stored, without the store's own."""
    return sorted(contents(tmp_path))


ALL = ["c/0/0", "c/0/1", "c/1/0", "c/1/1"]


def keys_of(tmp_path):
    return sorted(contents(tmp_path / "a"))


@pytest.mark.parametrize("shape, left", [
    ([7, 8], ALL), ([8, 12], ALL), ([100, 100], ALL), ([5, 7], ALL),
    ([4, 8], ["c/0/0", "c/0/1"]), ([7, 6], ["c/0/0", "c/1/0"]), ([1, 1], ["c/0/0"]), ([0, 8], []),
])
def test_a_resize_erases_what_falls_outside(serve, tmp_path, shape, left):
    with_chunks(tmp_path, ARRAY, [*ALL, "note.txt"])
    server = serve("-w", f"w={tmp_path}")
    assert patch_node(server, "a", {"shape": shape}, "?dry_run=1").status == 200
    assert keys_of(tmp_path) == sorted([*ALL, "note.txt", "zarr.json"])
    answer = patch_node(server, "a", {"shape": shape})
    assert answer.status == 200 and answer.json()["array"]["shape"] == shape
    assert keys_of(tmp_path) == sorted([*left, "note.txt", "zarr.json"])


@pytest.mark.parametrize("change", [
    {"shape": [9, 8]}, {"data_type": "uint16"}, {"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]},
    {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}}},
    {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "."}}},
])
def test_chunks_are_not_orphaned(serve, tmp_path, change):
    with_chunks(tmp_path, ARRAY, ALL)
    server = serve("-w", f"w={tmp_path}")
    new = {**ARRAY, **change}
    answer = put_node(server, "a", new)
    assert (answer.status, answer.code) == (409, "chunks_exist")
    assert stored(server, "a/zarr.json") == ARRAY and keys_of(tmp_path) == sorted([*ALL, "zarr.json"])
    assert put_node(server, "a", new, "?erase_chunks=1&dry_run=1").status == 200
    assert put_node(server, "a", new, "?erase_chunks=1").status == 200
    assert stored(server, "a/zarr.json") == new and keys_of(tmp_path) == ["zarr.json"]


def test_changes_that_do_not_concern_chunks_keep_them(serve, tmp_path):
    with_chunks(tmp_path, ARRAY, ALL)
    server = serve("-w", f"w={tmp_path}")
    assert put_node(server, "a", {**ARRAY, "attributes": {"n": 1}, "fill_value": 7}).status == 200
    assert put_node(server, "a", {**ARRAY, "attributes": {"n": 2}}, "?erase_chunks=1").status == 200
    assert keys_of(tmp_path) == sorted([*ALL, "zarr.json"])


def test_an_array_becomes_a_group(serve, tmp_path):
    with_chunks(tmp_path, ARRAY, ALL)
    server = serve("-w", f"w={tmp_path}")
    assert put_node(server, "a", GROUP).code == "chunks_exist"
    assert put_node(server, "a", GROUP, "?erase_chunks=1").status == 200
    assert keys_of(tmp_path) == ["zarr.json"]
    assert put_node(server, "a/b", ARRAY).status == 201


def test_an_array_does_not_adopt_chunks(serve, tmp_path):
    with_chunks(tmp_path, ARRAY, ALL)
    (tmp_path / "a" / "zarr.json").unlink()
    server = serve("-w", f"w={tmp_path}")
    assert put_node(server, "a", ARRAY).code == "chunks_exist"
    assert put_node(server, "a", ARRAY, "?erase_chunks=1").status == 201
    assert keys_of(tmp_path) == ["zarr.json"]


def test_nobody_reads_old_chunks_as_the_new_array(serve, tmp_path):
    n = 300
    server = serve(config={"datasets": {"w": {"location": str(tmp_path), "writable": True, "revalidate_ms": 0}}})
    chunked = {**ARRAY, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}}}
    old = {**chunked, "shape": [n], "data_type": "int32"}
    new = {**chunked, "shape": [n + 1], "data_type": "float32"}  # the length of an answer tells which one was read
    is_over = threading.Event()
    seen = {"old": 0, "new": 0, 404: 0}

    def read():
        while not is_over.is_set():
            answer = server.get("/v1/datasets/w/slices/a")
            if answer.status == 200 and len(answer.body) == 4 * (n + 1):
                assert not any(answer.body), "chunks of the old array"
                seen["new"] += 1
            else:
                assert answer.status in (404, 409) or (answer.status == 200 and len(answer.body) == 4 * n), answer
                seen["old" if answer.status == 200 else 404] += 1

    for _ in range(4):
        assert put_node(server, "a", old, "?erase_chunks=1").status in (200, 201)
        data = b"\1" * (4 * n)
        assert server.request("PUT", "/v1/datasets/w/slices/a", {"Content-Type": "application/octet-stream"}, data).status == 200
        is_over.clear()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            readers = [pool.submit(read) for _ in range(2)]
            try:
                answer = put_node(server, "a", new, "?erase_chunks=1")
            finally:
                is_over.set()
            for reader in readers:
                reader.result()
        assert answer.status == 200, answer
        assert not any(server.get("/v1/datasets/w/slices/a").body)
    assert keys_of(tmp_path) == ["zarr.json"]


# ---- erasing ----

def test_a_node_goes_with_all_below_it(serve, tmp_path):
    with_chunks(tmp_path, ARRAY, ALL)
    server = serve("-w", f"w={tmp_path}")
    put_node(server, "g/h/i", ARRAY)
    (tmp_path / "g" / "h" / "stray").write_text("x")
    assert delete_node(server, "g").code == "not_empty"
    assert delete_node(server, "a", "?dry_run=1").status == 204
    assert nodes(server) == ["", "a", "g", "g/h", "g/h/i"]
    assert delete_node(server, "a").status == 204
    assert delete_node(server, "g", "?recursive=1").status == 204
    assert nodes(server) == [""]
    assert files_of(tmp_path) == ["zarr.json"]
    assert delete_node(server, "g").code == "node_not_found"


def test_a_node_with_much_metadata_is_erased_in_little_memory(serve, tmp_path):
    """More of it than is held to be put back: reading ends when that is known."""
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "zarr.json").write_text(json.dumps(GROUP))
    for i in range(240):
        (tmp_path / "g" / f"n{i}").mkdir()
        with open(tmp_path / "g" / f"n{i}" / "zarr.json", "wb") as file:
            file.truncate(1 << 20)
    server = serve("-w", f"w={tmp_path}")

    def peak():
        status = open(f"/proc/{server.process.pid}/status").read()
        return int(status.split("VmHWM:")[1].split()[0]) << 10

    before = peak()
    assert delete_node(server, "g", "?recursive=1").status == 204
    assert not (tmp_path / "g").exists()
    if not is_sanitized(server):  # they keep what is freed
        assert peak() - before < 160 << 20


# What lies below a path, and how many entries of it are directly there.
BELOW = {
    "files": ({"p/readme.txt": "x", "p/deep/er/data.bin": "y"}, 2),
    "a v2 store": ({"p/old/.zgroup": '{"zarr_format":2}', "p/old/.zattrs": "{}"}, 1),
    "a v3 store": ({"p/new/zarr.json": json.dumps(GROUP)}, 1),
    "an array": ({"p/a/zarr.json": json.dumps(ARRAY), "p/a/c/0/0": "12"}, 1),
    "chunks without their array": ({"p/c/0/0": "12", "p/c/0/1": "34"}, 1),
    "something damaged": ({"p/n/zarr.json": "{"}, 1),
}


@pytest.mark.parametrize("query", ["", "?recursive=0", "?recursive=1", "?dry_run=1", "?recursive=1&dry_run=1"])
@pytest.mark.parametrize("what", BELOW)
def test_a_path_without_a_node_is_not_erased(serve, tmp_path, what, query):
    for name, text in BELOW[what][0].items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    server = serve("-w", f"w={tmp_path}")
    for path in ["p", "", "absent", *(name.removesuffix("/" + name.split("/")[-1]) for name in before)]:
        if server.get(NODES + path).status == 404:
            assert delete_node(server, path, query).code == "node_not_found", path
    assert contents(tmp_path) == before


@pytest.mark.parametrize("path", ["p", ""])
@pytest.mark.parametrize("what", BELOW)
def test_a_group_that_is_not_empty_stays_unless_asked_for(serve, tmp_path, what, path):
    below, n_children = BELOW[what]
    for name, text in {f"{path}/zarr.json".lstrip("/"): json.dumps(GROUP), **below}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = contents(tmp_path)
    server = serve("-w", f"w={tmp_path}")
    for query in ["", "?recursive=0", "?dry_run=1"]:
        answer = delete_node(server, path, query)
        assert (answer.status, answer.code) == (409, "not_empty")
        assert answer.json()["n_children"] == (n_children if path else 1)
    assert delete_node(server, path, "?recursive=1&dry_run=1").status == 204
    assert contents(tmp_path) == before
    assert delete_node(server, path, "?recursive=1").status == 204
    assert contents(tmp_path) == {}


def test_an_array_takes_its_chunks_and_no_other_files(serve, tmp_path):
    with_chunks(tmp_path, ARRAY, ALL)
    (tmp_path / "a" / "notes.txt").write_text("mine")
    server = serve("-w", f"w={tmp_path}")
    assert delete_node(server, "a").status == 204
    assert keys_of(tmp_path) == ["notes.txt"]
    assert server.get(NODES + "a").status == 404


def test_nodes_below_an_array_are_asked_for(serve, tmp_path):
    with_chunks(tmp_path, ARRAY, ALL)
    (tmp_path / "a" / "b").mkdir()
    (tmp_path / "a" / "b" / "zarr.json").write_text(json.dumps(GROUP))
    before = contents(tmp_path)
    server = serve("-w", f"w={tmp_path}")
    assert delete_node(server, "a").code == "not_empty"
    assert contents(tmp_path) == before
    assert delete_node(server, "a", "?recursive=1").status == 204
    assert files_of(tmp_path) == ["zarr.json"]


def test_an_empty_group_goes_and_an_empty_root_is_asked_for(serve, tmp_path):
    server = serve("-w", f"w={tmp_path}")
    put_node(server, "g", GROUP)
    (tmp_path / "g" / "empty").mkdir()
    assert delete_node(server, "g").status == 204
    (tmp_path / "g" / "empty").rmdir()
    (tmp_path / "g").rmdir()
    answer = delete_node(server, "")
    assert (answer.code, answer.json()["n_children"]) == ("not_empty", 0)
    assert delete_node(server, "", "?recursive=1").status == 204
    assert delete_node(server, "", "?recursive=1").status == 404


def test_chunks_of_an_array_are_no_node_to_erase(serve, tmp_path):
    with_chunks(tmp_path, ARRAY, ALL)
    server = serve("-w", f"w={tmp_path}")
    assert delete_node(server, "a/c", "?recursive=1").code == "node_not_found"
    assert keys_of(tmp_path) == sorted([*ALL, "zarr.json"])


def test_ten_thousand_keys_go(serve, tmp_path):
    with_chunks(tmp_path, {**ARRAY, "shape": [400, 600]}, [f"c/{i}/{k}" for i in range(100) for k in range(100)])
    server = serve(config={"datasets": {"w": {"location": str(tmp_path), "writable": True, "durable": False}}})
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        erasing = pool.submit(delete_node, server, "a")
        while not erasing.done():
            assert server.get("/livez").status == 200
        assert erasing.result().status == 204
    assert files_of(tmp_path) == ["zarr.json"]


# ---- consolidated metadata ----


def test_a_group_is_consolidated(w):
    put_node(w, "a/b", ARRAY)
    put_node(w, "c", {**GROUP, "foo": {"must_understand": False}})
    assert check(w)["stored"] is False and check(w)["missing"] == ["a", "a/b", "c"]
    dry = consolidate(w, "", "?dry_run=1")
    assert dry.status == 200 and dry.json()["check"] == FRESH and check(w)["stored"] is False
    answer = consolidate(w)
    assert answer.status == 200 and answer.json()["check"] == FRESH
    assert [node["path"] for node in answer.json()["nodes"]] == ["", "a", "a/b", "c"]
    assert answer.json()["nodes"] == w.get("/v1/datasets/w/tree/").json()["nodes"]
    assert stored(w)["consolidated_metadata"] == {"kind": "inline", "must_understand": False, "metadata": {
        "a": GROUP, "a/b": ARRAY, "c": {**GROUP, "foo": {"must_understand": False}}}}
    assert check(w) == FRESH
    assert consolidate(w, "a/b").code == "not_a_group"
    assert consolidate(w, "none").code == "node_not_found"


def test_a_consolidation_has_conditions(w):
    put_node(w, "g/a", ARRAY)
    tag = w.get("/v1/datasets/w/nodes/").headers["etag"]
    target = "/v1/datasets/w/consolidate/"
    for headers in ({"If-Match": '"x-1"'}, {"If-None-Match": "*"}):
        answer = w.request("POST", target, headers)
        assert (answer.status, answer.code) == (412, "precondition_failed")
        assert "consolidated_metadata" not in stored(w)
    assert w.request("POST", target, {"If-Match": tag}).status == 200
    assert "consolidated_metadata" in stored(w)
    assert w.request("POST", target, {"If-Match": tag}).status == 412  # the document is another one by now


def test_listings_follow_every_change(w):
    put_node(w, "g/a", ARRAY)
    put_node(w, "g/h/b", ARRAY)
    for path in ["g/h", "g", ""]:
        assert consolidate(w, path).json()["check"] == FRESH

    def is_fresh():
        return [check(w, path) for path in ["", "g"]] == [FRESH] * 2

    assert is_fresh()
    assert put_node(w, "g/new/deep/c", ARRAY).status == 201 and is_fresh()
    assert patch_node(w, "g/a", {"attributes": {"n": 1}}).status == 200 and is_fresh()
    assert patch_node(w, "g", {"attributes": {"n": 1}}).status == 200 and is_fresh()
    assert put_node(w, "g", {**GROUP, "attributes": {"n": 2}}).status == 200 and is_fresh()
    assert put_node(w, "g/a", {**ARRAY, "fill_value": 3}).status == 200 and is_fresh()
    assert delete_node(w, "g/new/deep", "?recursive=1").status == 204 and is_fresh()
    assert delete_node(w, "g/h/b").status == 204 and is_fresh() and check(w, "g/h") == FRESH
    assert put_node(w, "g/h", ARRAY).status == 200 and is_fresh()
    assert delete_node(w, "g/h").status == 204 and is_fresh()
    assert delete_node(w, "g", "?recursive=1").status == 204 and check(w) == FRESH


def test_a_listing_that_grows_too_large_is_dropped(serve):
    server = serve("-w", "w=mem:", "--set", "limits.consolidated_bytes=4KiB", "--set", "limits.document_bytes=4KiB")
    put_node(server, "a", ARRAY)
    assert consolidate(server).json()["check"] == FRESH
    statuses = [put_node(server, f"a{i}", {**ARRAY, "attributes": {"x": "y" * 200}}).status for i in range(12)]
    assert statuses == [201] * 12
    assert "consolidated_metadata" not in stored(server) and len(nodes(server)) == 14


def test_a_parent_that_was_missing_brings_its_children(serve, tmp_path):
    with_chunks(tmp_path, ARRAY, ALL)
    (tmp_path / "x" / "y").mkdir(parents=True)
    (tmp_path / "x" / "y" / "zarr.json").write_text(json.dumps(GROUP))
    server = serve("-w", f"w={tmp_path}")
    assert consolidate(server).json()["check"] == FRESH
    assert put_node(server, "x", GROUP).status == 201
    assert check(server)["missing"] == [] or check(server)["stored"] is False
    assert consolidate(server).json()["check"] == FRESH
    assert sorted(stored(server)["consolidated_metadata"]["metadata"]) == ["a", "x", "x/y"]


# ---- two servers on one store ----

def test_two_servers_lose_nothing_of_each_other(serve, tmp_path):
    config = {"datasets": {"w": {"location": str(tmp_path), "writable": True, "revalidate_ms": 0}}}
    servers = [serve(config=config), serve(config=config)]
    put_node(servers[0], "g/a", ARRAY)
    assert consolidate(servers[1]).json()["check"] == FRESH

    def race(change, n):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return sorted(pool.map(lambda i: change(servers[i % 2], i).status, range(n)))

    assert race(lambda server, i: patch_node(server, "g/a", {"attributes": {f"k{i}": i}}), 40) == [200] * 40
    assert race(lambda server, i: put_node(server, "n/x", GROUP, **{"If-None-Match": "*"}), 8) == [201] + [412] * 7
    assert race(lambda server, i: put_node(server, f"m/y{i}", ARRAY), 24) == [201] * 24
    assert stored(servers[0], "g/a/zarr.json")["attributes"] == {f"k{i}": i for i in range(40)}
    assert check(servers[0]) == check(servers[1]) == FRESH
