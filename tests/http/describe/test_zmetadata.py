"""Consolidated metadata of v2, `.zmetadata`: read as that of v3 is, and never in the way."""

import json

import pytest
from arrays import write_node
from client import FRESH, READS, is_sanitized, memory_bytes, wait_until
from documents import GROUP as V3_GROUP
from documents import array_document, shard
from live import SHARED

T = "/v1/datasets/p/tree/"
ROOT = "/v1/datasets/p/nodes/"
MIB = 1 << 20
GROUP = {"zarr_format": 2}
ARRAY = {"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i2", "compressor": None, "fill_value": 0, "order": "C",
         "filters": None}
DOCUMENTS = {".zgroup": GROUP, ".zattrs": {"title": "old"}, "a/.zarray": ARRAY, "a/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]},
             "g/.zgroup": GROUP, "g/b/.zarray": ARRAY}
PATHS = ["", "a", "g", "g/b"]


def listing(documents, **more):
    return {"metadata": documents, "zarr_consolidated_format": 1, **more}


def write(root, documents):
    for key, document in documents.items():
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))


@pytest.fixture
def old(tmp_path):
    write(tmp_path, DOCUMENTS)
    write(tmp_path, {".zmetadata": listing(DOCUMENTS)})
    return tmp_path


def paths(answer):
    assert answer.status == 200, answer
    return [node["path"] for node in answer.json()["nodes"]]


def stored_paths(server):
    answer = server.get(T + "?mode=stored")
    return paths(answer) if answer.status == 200 else None


def check(server, path=""):
    return server.get(f"{T}{path}?check=1").json()["check"]


def test_the_stored_listing_is_shown_as_the_live_one(serve, old):
    server = serve(f"p={old}")
    live, stored = (server.get(f"{T}?mode={mode}").json() for mode in ("live", "stored"))
    assert (live["source"], stored["source"]) == ("live", "stored") and live["nodes"] == stored["nodes"]
    assert [node["path"] for node in stored["nodes"]] == PATHS
    assert stored["nodes"][1]["array"]["dimension_names"] == ["x"] and stored["nodes"][1]["dialect"] == "v2"
    assert check(server) == FRESH
    assert server.get(ROOT).json()["warnings"] == []
    whole = server.get(T + "?mode=stored&format=zarr").json()
    assert whole == server.get(T + "?format=zarr").json() and list(whole["consolidated_metadata"]["metadata"]) == PATHS[1:]
    answer = server.get(T + "g?mode=stored")
    assert (answer.status, answer.code) == (400, "bad_parameter")


def test_only_an_immutable_dataset_trusts_it(serve, old):
    location = {"location": str(old)}
    server = serve(config={"datasets": {"p": {**location, "immutable": True}, "q": location}})
    assert [server.get(f"/v1/datasets/{name}/tree/").json()["source"] for name in "pq"] == ["stored", "live"]


def test_stored_listings_are_compared_with_the_nodes(serve, old):
    changed = {**DOCUMENTS, ".zattrs": {"title": "older"}, "a/.zattrs": {"_ARRAY_DIMENSIONS": ["y"]}, "h/.zgroup": GROUP}
    del changed["g/b/.zarray"]
    write(old, {".zmetadata": listing(changed)})
    server = serve(f"p={old}")
    for mode in ("live", "stored"):
        answer = server.get(f"{T}?mode={mode}&check=1")
        assert answer.json()["check"] == {
            "missing": ["g/b"], "surplus": ["h"], "differing": ["", "a"], "stored": True}
        assert paths(answer) == (PATHS if mode == "live" else ["", "a", "g", "h"])


def test_a_listing_below_the_root_is_of_its_group(serve, old):
    write(old, {"g/.zmetadata": listing({".zgroup": GROUP, "b/.zarray": {**ARRAY, "shape": [5]}})})
    server = serve(f"p={old}")
    assert paths(server.get(T + "g?mode=stored")) == ["g", "g/b"]
    assert check(server, "g") == {**FRESH, "differing": ["g/b"]} and check(server) == FRESH


ODD = {
    "damaged": ('{"metadata": {', None, "not_json"),
    "nothing": ("", None, "not_json"),
    "no map": ({"zarr_consolidated_format": 1}, None, "missing_member"),
    "another format": (listing(DOCUMENTS, zarr_consolidated_format=2), None, "unsupported_version"),
    "without a format": ({"metadata": DOCUMENTS}, PATHS, "missing_member"),
    "leading slashes": (listing({"/" + key: document for key, document in DOCUMENTS.items()}), PATHS, None),
    "unknown keys": (listing({**DOCUMENTS, ".nczgroup": {}, "x": 1, "a//b/.zarray": ARRAY}), PATHS, "bad_path"),
    "attributes of nothing": (listing({**DOCUMENTS, "z/.zattrs": {}}), PATHS, "inconsistent_listing"),
    "a bare NaN": (json.dumps(listing({**DOCUMENTS, "a/.zarray": {**ARRAY, "fill_value": float("nan"), "dtype": "<f4"}})),
                   PATHS, "bare_nonfinite"),
    "as zarr-python 3": (listing({**DOCUMENTS, "g/.zgroup": {**GROUP, "consolidated_metadata": {
        "metadata": {}, "must_understand": False, "kind": "inline"}}}), PATHS, None),
    "past the limit": (listing({**DOCUMENTS, "a/.zattrs": {"x": "y" * 70000}}), None, "too_large"),
}


@pytest.mark.parametrize("text, shown, warning", ODD.values(), ids=ODD)
def test_an_odd_listing_costs_a_warning(serve, old, text, shown, warning):
    write(old, {".zmetadata": text})
    server = serve(f"p={old}", "--set=limits.consolidated_bytes=64KiB", "--set=limits.document_bytes=32KiB")
    assert stored_paths(server) == shown
    node = server.get(ROOT).json()
    assert "refused" not in node and [w["code"] for w in node["warnings"]][:1] == ([warning] if warning else [])
    assert paths(server.get(T)) == PATHS and server.get("/v1/datasets/p/slices/a").status == 200
    assert check(server)["stored"] == (shown is not None)


def test_a_listing_that_comes_changes_and_goes(serve, old):
    server = serve(f"p={old}")
    tags = {server.get(ROOT).headers["etag"]}

    def has_new_tag():
        n = len(tags)
        tags.add(server.get(ROOT).headers["etag"])
        return len(tags) > n

    for documents, expected in (({".zgroup": GROUP}, [""]), (DOCUMENTS, PATHS)):
        write(old, {".zmetadata": listing(documents)})
        wait_until(lambda expected=expected: stored_paths(server) == expected)
        wait_until(has_new_tag)
    (old / ".zmetadata").unlink()
    wait_until(lambda: server.get(T + "?mode=stored").status == 400)
    wait_until(has_new_tag)
    write(old, {".zmetadata": listing({})})
    wait_until(lambda: stored_paths(server) == [""])
    wait_until(has_new_tag)


def test_the_form_of_v2_has_the_documents_that_are_stored(serve, old):
    own = {**DOCUMENTS["a/.zarray"], "nobody": {"knows": "this"}}
    write(old, {"a/.zarray": own, "g/b/.zattrs": '{"x": NaN, "y": [1e400, -Infinity]}', "u/.zarray": {**ARRAY, "compressor": {"id": "pickle"}},
                "bad/.zarray": {"zarr_format": 2}})
    server = serve(f"p={old}")
    [bad] = server.get(T + "?format=zmetadata").json()["warnings"]
    assert (bad["path"], bad["code"]) == ("bad", "left_out") and "shape" in bad["detail"]
    for query, expected in (
            ("", {**DOCUMENTS, "a/.zarray": own, "g/b/.zattrs": {"x": "NaN", "y": [float("inf"), "-Infinity"]},
                  "u/.zarray": {**ARRAY, "compressor": {"id": "pickle"}}}),
            ("&mode=stored", DOCUMENTS), ("&node_type=array&mode=stored", {key: DOCUMENTS[key] for key in (
                ".zgroup", ".zattrs", "a/.zarray", "a/.zattrs", "g/b/.zarray")})):
        answer = server.get(f"{T}?format=zmetadata{query}")
        found = answer.json()
        assert (found.pop("warnings", []), found.pop("n_left_out", 0)) == (([bad], 1) if query == "" else ([], 0))
        assert found == listing(expected) and list(found) == ["metadata", "zarr_consolidated_format"], query
        json.loads(answer.body, parse_constant=lambda token: pytest.fail(token))
    assert server.get(T + "g?format=zmetadata").json()["metadata"].keys() == {".zgroup", "b/.zarray", "b/.zattrs"}
    for query in ("&limit=3", "&check=1", "&fields=path"):
        assert server.get(f"{T}?format=zmetadata{query}").code == "bad_parameter"
    assert server.get(T + "a?format=zmetadata").code == "not_a_group"


def test_the_form_of_v2_of_other_dialects(serve, tmp_path):
    """What v2 cannot say is left out, and why."""
    write_node(tmp_path, {**V3_GROUP, "attributes": {"title": "new"}})
    write_node(tmp_path / "g", V3_GROUP)
    write_node(tmp_path / "g/a", array_document([4, 6], [2, 3], "int16", dimension_names=["y", "x"]))
    write_node(tmp_path / "extended", {**V3_GROUP, "extensions": [{"name": "x", "must_understand": False}]})
    write_node(tmp_path / "g/sharded", array_document([4, 6], [2, 3], "int16", codecs=[shard([2, 3])]))
    server = serve(f"p={tmp_path}")
    found = server.get(T + "?format=zmetadata").json()["metadata"]
    assert list(found) == [".zattrs", ".zgroup", "g/.zgroup", "g/a/.zattrs", "g/a/.zarray"]
    assert found[".zattrs"] == {"title": "new"} and found["g/a/.zattrs"] == {"_ARRAY_DIMENSIONS": ["y", "x"]}
    assert (found["g/a/.zarray"]["shape"], found["g/a/.zarray"]["dtype"]) == ([4, 6], "<i2")
    answer = server.get(T + "?format=zmetadata").json()
    assert [(warning["path"], warning["code"], warning["pointer"]) for warning in answer["warnings"]] == [
        ("extended", "left_out", "/extensions"), ("g/sharded", "left_out", "/codecs/0")]
    assert "sharding_indexed" in answer["warnings"][1]["detail"] and answer["n_left_out"] == 2
    below = server.get(T + "g?format=zmetadata").json()
    assert [warning["path"] for warning in below["warnings"]] == ["sharded"]
    assert "warnings" not in server.get(T + "?format=zmetadata&depth=0").json()


def test_a_form_of_v2_names_the_first_nodes_that_it_leaves_out(serve, tmp_path):
    write_node(tmp_path, V3_GROUP)
    for i in range(203):
        write_node(tmp_path / f"a{i:03}", array_document([4, 6], [2, 3], "int16", codecs=[shard([2, 3])]))
    server = serve(f"p={tmp_path}")
    answer = server.get(T + "?format=zmetadata").json()
    assert [warning["path"] for warning in answer["warnings"]] == [f"a{i:03}" for i in range(200)] and answer["n_left_out"] == 203
    assert list(answer["metadata"]) == [".zgroup"] and "sharding" in answer["warnings"][0]["detail"]


def test_only_groups_are_asked_for_a_listing(serve, old):
    """zarr.json, .zarray, .zgroup, .zattrs, and two attributes.json of each node; .zmetadata of groups."""
    server = serve(f"p={old}")
    assert server.get(ROOT).status == 200
    for path, n in (("a", 6), ("g", 7), ("g/b", 6)):
        with server.cost() as cost:
            assert server.get(f"/v1/datasets/p/nodes/{path}?fields=node_type").status == 200
        assert cost[READS] <= n, path


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A listing of 50 MB: arrays with long attributes, some 20,000, of which two are there."""
    root = tmp_path_factory.mktemp("listed")
    documents = {".zgroup": GROUP}
    for i in range(20000):
        documents |= {f"a{i:05}/.zarray": ARRAY, f"a{i:05}/.zattrs": {"n": i, "text": "x" * 2250}}
    write(root, {".zmetadata": listing(documents), ".zgroup": GROUP})
    write(root, {key: documents[key] for key in documents if key.startswith(("a00000", "a19999"))})
    assert (root / ".zmetadata").stat().st_size > 48 * 10**6
    return root


@pytest.mark.large
def test_a_long_listing_is_not_held_parsed(serve, large):
    server = serve(f"p={large}", "--set=memory.bytes=1GiB")
    before = memory_bytes(server, "VmHWM")
    answer = server.get(T + "?mode=stored&fields=path")
    assert len(paths(answer)) == 20001 and answer.json()["source"] == "stored"
    checked = server.get(T + "?check=1&limit=1").json()["check"]
    assert len(checked["surplus"]) == 19998 and (checked["missing"], checked["differing"]) == ([], [])
    if not is_sanitized(server):
        assert memory_bytes(server, "VmHWM") - before < 128 * MIB


def test_bodies_that_do_not_fit_are_refused_with_the_figures(serve, large):
    server = serve(f"p={large}", "--set=memory.bytes=128MiB")
    before = memory_bytes(server, "VmHWM")
    for target in (T + "?mode=stored", ROOT):
        answer = server.get(target)
        assert answer.status == 413 and answer.json()["requested"] > answer.json()["limit"] > 0
    assert server.get(ROOT + "a00000").status == 200
    if not is_sanitized(server):
        assert memory_bytes(server, "VmHWM") - before < 16 * MIB


REAL = [path for path in sorted(SHARED.glob("stores/v2/z*_consolidated*"))] if SHARED.is_dir() else []


@pytest.mark.parametrize("store", REAL, ids=lambda path: path.name)
def test_listings_of_real_writers(serve, store):
    server = serve(f"p={store}")
    found = check(server)
    assert found["stored"] == (store / ".zmetadata").exists()
    assert (found == FRESH) == (found["stored"] and "stale" not in store.name), found
