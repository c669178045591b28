"""Stored consolidated metadata: whatever is written, it is read again, and never in the way."""

import itertools
import json
import threading

import pytest
from client import FRESH, JSON, NODES, check, consolidate, delete_node, nodes, patch_node, put_node, stored
from documents import ARRAY, GROUP


def deep(levels):
    """A group whose document has that many levels."""
    return '{"zarr_format":3,"node_type":"group","attributes":' + '{"a":' * (levels - 1) + "1" + "}" * levels


def wide(n_values):
    return {**GROUP, "attributes": {"a": [1] * n_values}}


def is_readable(server, path=""):
    return "refused" not in server.get(NODES + path).json()


@pytest.fixture
def w(serve):
    return serve("-w", "w=mem:")


def test_the_deepest_document_has_its_place_in_a_listing(w):
    put_node(w, "g/a", GROUP)
    assert consolidate(w).json()["check"] == FRESH
    assert put_node(w, "g/deep", deep(64)).status == 201
    assert is_readable(w) and check(w) == FRESH
    assert consolidate(w).status == 200 and is_readable(w) and check(w) == FRESH
    assert w.request("PUT", "/zarr/w/raw/zarr.json", JSON, deep(64).encode()).status in (200, 201)
    assert is_readable(w) and check(w) == FRESH
    assert put_node(w, "g/deeper", deep(65)).status == 413
    assert delete_node(w, "g/deep").status == 204 and check(w) == FRESH


def test_the_deepest_document_of_all_settings(serve):
    server = serve("-w", "w=mem:", "--set", "limits.document_depth=96")
    put_node(server, "a", GROUP)
    assert consolidate(server).status == 200
    assert put_node(server, "deep", deep(96)).status == 201
    assert is_readable(server) and check(server) == FRESH
    assert server.get(NODES + "deep").json()["metadata"] == json.loads(deep(96))
    assert server.get("/v1/datasets/w/tree/?format=zarr").json()["consolidated_metadata"]["metadata"]["deep"]


# A listing may have as many values as that many documents.
FEW = ["--set", "limits.document_nodes=100", "--set", "limits.document_bytes=4KiB", "--set", "limits.consolidated_bytes=16KiB"]


def test_a_listing_of_more_values_than_are_read_is_dropped(serve):
    server = serve("-w", "w=mem:", *FEW)
    put_node(server, "g/c", GROUP)
    assert consolidate(server, "g").json()["check"] == FRESH
    for i in range(8):
        assert put_node(server, f"g/k{i}", wide(90)).status == 201
        assert is_readable(server, "g")
        assert check(server, "g") in (FRESH, {**check(server, "g"), "stored": False})
    assert "consolidated_metadata" not in stored(server, "g/zarr.json")
    assert delete_node(server, "g/k0").status == 204


def test_consolidating_stores_nothing_unreadable(serve):
    server = serve("-w", "w=mem:", *FEW)
    for i in range(8):
        put_node(server, f"g/k{i}", wide(90))
    for query in ["", "?dry_run=1"]:
        answer = consolidate(server, "g", query)
        assert (answer.status, answer.code) == (413, "too_large") and answer.json()["limit"] == 400, answer
    assert is_readable(server, "g") and check(server, "g")["stored"] is False


@pytest.mark.parametrize("value, n, status", [("1", 100, 201), ("1", 1900, 201), ("1e9", 900, 413)])
def test_a_document_is_stored_only_so_that_it_is_read(serve, value, n, status):
    """Indented it is several times as long as it came, and so may its numbers be."""
    server = serve("-w", "w=mem:", "--set", "limits.document_bytes=4KiB", "--set", "limits.document_nodes=2000")
    text = '{"zarr_format":3,"node_type":"group","attributes":{"a":[' + ",".join([value] * n) + "]}}"
    assert len(text) < 4096
    answer = put_node(server, "g", text)
    assert answer.status == status, answer
    if status == 413:
        assert answer.code == "too_large" and server.get(NODES + "g").status == 404
    else:
        assert is_readable(server, "g") and stored(server, "g/zarr.json") == json.loads(text)


def test_an_old_listing_gives_way_to_a_new_document(serve):
    server = serve("-w", "w=mem:", *FEW)
    for i in range(4):
        put_node(server, f"g/k{i}", wide(80))
    assert consolidate(server, "g").json()["check"] == FRESH
    assert put_node(server, "g", wide(90)).status == 200
    assert is_readable(server, "g") and check(server, "g")["stored"] is False


UNREADABLE = {**GROUP, "attributes": {"t": "root"}, "consolidated_metadata": {
    "kind": "inline", "must_understand": False, "metadata": {"x": json.loads(deep(70))}}}


def by_others(serve, tmp_path, document):
    """A dataset with nodes below a group that somebody else has written."""
    for path in ["g", "g/a", "g/b", "g/b/c", "g/d"]:
        (tmp_path / path).mkdir()
        (tmp_path / path / "zarr.json").write_text(json.dumps(GROUP))
    (tmp_path / "zarr.json").write_text(document if isinstance(document, str) else json.dumps(document))
    return serve("-w", f"w={tmp_path}")


def test_a_listing_that_is_not_read_hides_nothing(serve, tmp_path):
    server = by_others(serve, tmp_path, UNREADABLE)
    group = server.get(NODES).json()
    assert "refused" not in group and group["metadata"] == {**GROUP, "attributes": {"t": "root"}}
    assert [(warning["code"], warning["pointer"]) for warning in group["warnings"]] == [
        ("too_large", "/consolidated_metadata")]
    assert nodes(server) == ["", "g", "g/a", "g/b", "g/b/c", "g/d"]


@pytest.mark.parametrize("change", [
    lambda server: put_node(server, "new", GROUP),
    lambda server: patch_node(server, "g/a", {"attributes": {"n": 1}}),
    lambda server: delete_node(server, "g/a"),
    lambda server: server.request("DELETE", "/zarr/w/g/a/zarr.json"),
])
def test_a_listing_that_is_not_read_goes_with_the_first_change(serve, tmp_path, change):
    server = by_others(serve, tmp_path, UNREADABLE)
    answer = change(server)
    assert answer.status in (200, 201, 204), answer
    assert stored(server) == {**GROUP, "attributes": {"t": "root"}}


def test_a_group_whose_listing_is_not_read_can_be_changed(serve, tmp_path):
    server = by_others(serve, tmp_path, UNREADABLE)
    answer = patch_node(server, "", {"attributes": {"n": 1}})
    assert answer.status == 200, answer
    assert stored(server)["attributes"] == {"t": "root", "n": 1}
    assert consolidate(server).json()["check"] == FRESH
    assert stored(server)["attributes"] == {"t": "root", "n": 1}


def test_nodes_below_an_unknown_document_can_be_changed_and_erased(serve, tmp_path):
    server = by_others(serve, tmp_path, "{")
    assert patch_node(server, "g/a", {"attributes": {"n": 1}}).status == 200
    assert delete_node(server, "g/b", "?recursive=1").status == 204
    assert not (tmp_path / "g/b/c/zarr.json").exists()
    answer = put_node(server, "new", GROUP)
    assert (answer.status, answer.code) == (409, "parent_is_array")
    assert put_node(server, "g/d", {**GROUP, "attributes": {"n": 2}}).status == 200
    assert (tmp_path / "zarr.json").read_text() == "{"


def test_foreign_keys_below_an_array_can_be_changed_and_erased(serve, tmp_path):
    """All but the chunks of the array."""
    (tmp_path / "a/c/0").mkdir(parents=True)
    (tmp_path / "a/c/0/0").write_bytes(bytes(48))
    for path, document in [("a", ARRAY), ("a/c", GROUP), ("a/x", GROUP)]:
        (tmp_path / path).mkdir(exist_ok=True)
        (tmp_path / path / "zarr.json").write_text(json.dumps(document))
    server = serve("-w", f"w={tmp_path}")
    assert patch_node(server, "a/x", {"attributes": {"n": 1}}).status == 200
    assert (put_node(server, "a/x", GROUP).code, put_node(server, "a/y", GROUP).code) == ("parent_is_array",) * 2
    assert delete_node(server, "a/x").status == 204 and delete_node(server, "a/c", "?recursive=1").status == 204
    assert not (tmp_path / "a/x/zarr.json").exists() and not (tmp_path / "a/c/zarr.json").exists()
    assert (tmp_path / "a/c/0/0").exists() and delete_node(server, "a/c/0").code == "node_not_found"


def test_documents_are_shared_by_all_who_list_them(serve, tmp_path):
    """Listings are made on workers, of documents that the loop and others hold: a thread sanitizer watches their counts."""
    w = serve("-w", f"w={tmp_path}")
    groups = [f"g{i}" for i in range(4)]
    for group in groups:
        put_node(w, group, {**GROUP, "attributes": {"a": [1, 2, {"b": "c"}]}})
        for i in range(8):
            put_node(w, f"{group}/a{i}", {**ARRAY, "attributes": {"x": {"y": [i]}}})
    number = itertools.count()
    faults = []

    def repeat(ask):
        for _ in range(12):
            answer = ask()
            if answer.status not in (200, 409):
                faults.append(answer)

    asks = [lambda path=path: consolidate(w, path) for path in ("", "g0", "g1")]
    asks += [lambda target=target: w.get("/v1/datasets/w/" + target) for target in (
        "tree/?mode=live&pretty=1", "tree/?check=1", "tree/g0?depth=1", "nodes/g0/a1", "nodes/g1?pretty=1")]
    asks += [lambda path=path: patch_node(w, path, {"attributes": {"n": next(number)}}) for path in ("g0/a1", "g2")]
    threads = [threading.Thread(target=repeat, args=(ask,)) for ask in asks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert consolidate(w).status == 200 and check(w) == FRESH
