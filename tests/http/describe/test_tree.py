"""The consolidated listing."""

import json

import pytest
from arrays import write_node
from documents import ARRAY, GROUP

T = "/v1/datasets/p/tree/"
PATHS = ["", "A", "a", "a b", "a-b", "a/b", "a/b/c", "a/ba", "z"]
ORDERED = ["", "A", "a", "a/b", "a/b/c", "a/ba", "a b", "a-b", "z"]  # children by the bytes of their names
ARRAYS = {"a b", "a/b/c", "z"}


@pytest.fixture
def root(tmp_path):
    for path in PATHS:
        write_node(tmp_path / path, ARRAY if path in ARRAYS else GROUP)
    write_node(tmp_path / "z/below", GROUP)  # arrays have no children
    write_node(tmp_path / "__x", GROUP)
    (tmp_path / "no_node").mkdir()
    write_node(tmp_path / "no_node/orphan", GROUP)  # no implicit groups
    return tmp_path


@pytest.fixture
def p(serve, root):
    return serve(f"p={root}")


def paths(answer):
    assert answer.status == 200, answer
    return [node["path"] for node in answer.json()["nodes"]]


def test_a_304_does_not_guess_the_length(p):
    """RFC 9110, 8.6: the Content-Length of a 304 is that of the 200, or it is not there."""
    whole = p.get(T)
    answer = p.get(T, {"If-None-Match": whole.headers["etag"]})
    assert answer.status == 304
    assert answer.headers.get("content-length", str(len(whole.body))) == str(len(whole.body))


def test_the_whole_hierarchy_in_pre_order(p):
    answer = p.get(T)
    tree = answer.json()
    assert list(tree) == ["path", "nodes", "next", "source"]
    assert (tree["path"], tree["next"], tree["source"]) == ("", None, "live")
    assert paths(answer) == ORDERED
    for node in tree["nodes"]:
        assert node["dialect"] == "v3" and node["metadata"]["zarr_format"] == 3
        assert ("array" in node) == (node["path"] in ARRAYS)
    shown = next(node for node in tree["nodes"] if node["path"] == "a/b/c")
    assert shown["array"] == p.get("/v1/datasets/p/nodes/a/b/c").json()["array"]


def test_every_store_of_real_writers_is_listed(server):
    for dataset in server.get("/v1/datasets").json()["datasets"]:
        answer = server.get(f"/v1/datasets/{dataset['name']}/tree/")
        if answer.status == 404:  # no_root_group: there is no node at the root
            continue
        assert answer.status == 200 and answer.json()["nodes"], dataset


@pytest.mark.parametrize("query, expected", [
    ("?depth=0", [""]),
    ("?depth=1", ["", "A", "a", "a b", "a-b", "z"]),
    ("?depth=18446744073709551615", ORDERED),
    ("a", ["a", "a/b", "a/b/c", "a/ba"]),
    ("a?depth=1", ["a", "a/b", "a/ba"]),
    ("z", ["z"]),
    ("?node_type=array", ["a/b/c", "a b", "z"]),
    ("?node_type=group", ["", "A", "a", "a/b", "a/ba", "a-b"]),
    ("?match=a*", ["a", "a b", "a-b"]),
    ("?match=a/**", ["a/b", "a/b/c", "a/ba"]),
    ("?match=**/c", ["a/b/c"]),
    ("?match=?", ["A", "a", "z"]),
    ("?match=nothing", []),
    ("?match=**&node_type=array&depth=1", ["a b", "z"]),
    ("?limit=3", ["", "A", "a"]),
])
def test_listings(p, query, expected):
    assert paths(p.get(T + query)) == expected


@pytest.mark.parametrize("query", ["", "node_type=array&", "match=a**&", "depth=1&"])
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_pages_make_the_whole(p, query, limit):
    whole = paths(p.get(f"{T}?{query}limit=1000"))
    seen, cursor = [], ""
    while True:
        answer = p.get(f"{T}?{query}limit={limit}{cursor}")
        page = paths(answer)
        assert 1 <= len(page) <= limit
        seen += page
        if answer.json()["next"] is None:
            break
        assert len(page) == limit
        cursor = "&cursor=" + answer.json()["next"]
    assert seen == whole


def test_a_cursor_stays_true_when_nodes_come_and_go(serve, root):
    server = serve(config={"datasets": {"p": {"location": str(root), "revalidate_ms": 0}}})
    cursor = server.get(T + "?limit=4").json()["next"]  # the last one told is a/b
    write_node(root / "B", GROUP)  # before it
    write_node(root / "y", GROUP)  # after it
    (root / "a/b/zarr.json").unlink()
    assert paths(server.get(f"{T}?cursor={cursor}")) == ["a/ba", "a b", "a-b", "y", "z"]


def test_fields_keep_the_path(p):
    nodes = p.get(T + "?fields=array.shape&match=a*").json()["nodes"]
    assert nodes == [{"path": "a"}, {"path": "a b", "array": {"shape": [7, 8]}}, {"path": "a-b"}]


@pytest.mark.parametrize("query", [
    "depth=-1", "depth=x", "depth=18446744073709551616", "limit=0", "limit=-1", "node_type=leaf", "cursor=!", "cursor=",
    "fields=nothing", "mode=best", "mode=stored", "check=2", "check=1&cursor=p61", "format=zarr&limit=3",
    "format=zarr&fields=path",
])
def test_bad_parameters(p, query):
    answer = p.get(T + "?" + query)
    assert answer.status == 400 and answer.code == "bad_parameter", answer


def test_a_cursor_of_another_listing_is_refused(p):
    assert p.get(T + "a?cursor=p7a").code == "bad_parameter"


@pytest.mark.parametrize("path", ["absent", "no_node", "a/absent", "z/below/absent"])
def test_a_start_that_is_no_node_is_404(p, path):
    answer = p.get(T + path)
    assert answer.status == 404 and answer.code == "node_not_found"


def test_formats_that_cannot_be(p):
    answer = p.get(f"{T}?format=xml")
    assert answer.status == 406 and answer.code == "not_acceptable"
    assert answer.json()["allowed"] == ["json", "zarr", "zmetadata"]


def test_format_zarr_is_a_group_with_consolidated_metadata(p):
    document = p.get(T + "a?format=zarr").json()
    assert document["zarr_format"] == 3 and document["node_type"] == "group"
    block = document["consolidated_metadata"]
    assert (block["kind"], block["must_understand"]) == ("inline", False)
    assert list(block["metadata"]) == ["b", "b/c", "ba"]
    assert block["metadata"]["b/c"] == p.get("/v1/datasets/p/nodes/a/b/c").json()["metadata"]
    assert p.get(T + "z?format=zarr").code == "not_a_group"


def test_nodes_that_cannot_be_interpreted_are_listed_with_their_reason(serve, root):
    write_node(root / "bad", {**ARRAY, "codecs": [*ARRAY["codecs"], {"name": "example.squash"}]})
    write_node(root / "broken", "{")
    write_node(root / "closed", {**GROUP, "extensions": ["example.a"]})
    write_node(root / "closed/below", GROUP)
    (root / "loop").mkdir()
    (root / "loop" / "zarr.json").symlink_to("zarr.json")
    server = serve(f"p={root}")
    nodes = {node["path"]: node for node in server.get(T).json()["nodes"]}
    assert set(nodes) == {*PATHS, "bad", "broken", "closed", "loop"}  # what is refused is not entered
    assert nodes["bad"]["refused"]["names"] == ["example.squash"] and "array" not in nodes["bad"]
    assert nodes["broken"]["refused"]["code"] == "invalid_metadata" and nodes["broken"]["node_type"] is None
    assert nodes["closed"]["refused"]["code"] == "unsupported_extension"
    assert nodes["loop"]["refused"]["code"] == "store_error"
    # A document for others holds what is valid, whether it is supported here or not.
    metadata = server.get(T + "?format=zarr").json()["consolidated_metadata"]["metadata"]
    assert "bad" in metadata and "broken" not in metadata and "loop" not in metadata
    assert server.get(T + "closed?format=zarr").status == 422


def block(**entries):
    return {**GROUP, "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": entries}}


@pytest.fixture
def stale(root):
    entries = {"A": GROUP, "a": GROUP, "a b": {**ARRAY, "shape": [1, 1]}, "gone": ARRAY, "/z": ARRAY}
    write_node(root / "", block(**entries))
    return root


def test_a_stored_listing_is_shown_on_request_only(serve, stale):
    server = serve(f"p={stale}")
    assert server.get(T).json()["source"] == "live"
    answer = server.get(T + "?mode=stored")
    assert answer.json()["source"] == "stored"
    assert paths(answer) == ["", "A", "a", "a b", "gone", "z"]
    assert answer.json()["nodes"][3]["array"]["shape"] == [1, 1]
    assert paths(server.get(T + "?mode=stored&node_type=array&limit=1")) == ["a b"]
    assert server.get(T + "a?mode=stored").code == "bad_parameter"  # that group has none of its own


def test_an_immutable_dataset_trusts_its_stored_listing(serve, stale):
    server = serve(config={"datasets": {"p": {"location": str(stale), "immutable": True}}})
    assert server.get(T).json()["source"] == "stored"
    assert server.get(T + "?mode=live").json()["source"] == "live"
    assert server.get(T + "a").json()["source"] == "live"


def test_check_compares_stored_and_live(serve, stale):
    server = serve(f"p={stale}")
    check = server.get(T + "?check=1&depth=0")
    assert paths(check) == [""]  # everything is compared, whatever is shown
    assert check.json()["check"] == {
        "missing": ["a/b", "a/b/c", "a/ba", "a-b"], "surplus": ["gone"], "differing": ["a b"], "stored": True}
    assert paths(server.get(T + "?check=1&mode=stored&depth=1")) == ["", "A", "a", "a b", "gone", "z"]


def test_check_without_a_stored_listing(p):
    assert p.get(T + "?check=1").json()["check"] == {
        "missing": ORDERED[1:], "surplus": [], "differing": [], "stored": False}


def test_real_consolidated_stores_agree_with_themselves(server):
    for place in ("consolidated/tree/", "consolidated_nested/tree/sub"):
        check = server.get(f"/v1/datasets/{place}?check=1").json()["check"]
        assert check == {"missing": [], "surplus": [], "differing": [], "stored": True}, place
    check = server.get("/v1/datasets/consolidated_stale/tree/?check=1").json()["check"]
    assert check["stored"] and "added_later" in check["missing"]


def test_tags(serve, root):
    server = serve(config={"datasets": {"p": {"location": str(root), "revalidate_ms": 0}}})
    tag = server.get(T).headers["etag"]
    assert server.get(T, {"If-None-Match": tag}).status == 304
    assert server.get(T + "?depth=1").headers["etag"] != tag
    write_node(root / "a/b/c", {**ARRAY, "attributes": {}})
    assert server.get(T, {"If-None-Match": tag}).status == 200
    tag = server.get(T).headers["etag"]
    (root / "a/ba/zarr.json").unlink()
    assert server.get(T, {"If-None-Match": tag}).status == 200
    assert server.head(T).headers["content-length"] == str(len(server.get(T).body))


def test_more_nodes_than_the_limit_come_in_pages(serve, root):
    server = serve(f"p={root}", "--set", "limits.tree_nodes=3")
    answer = server.get(T)
    assert paths(answer) == ORDERED[:3] and answer.json()["next"]
    assert server.get(T + "?limit=4").code == "bad_parameter"
    assert server.get(T + "?format=zarr").code == "too_large"
    assert server.get(T + "?check=1").code == "too_large"


def test_a_listing_over_its_bytes_goes_on_in_pages(serve, root):
    server = serve(f"p={root}", "--set", "limits.tree_bytes=1KiB")
    seen, cursor = [], ""
    while cursor is not None:
        answer = server.get(T + (cursor and f"?cursor={cursor}"))
        page = answer.json()
        assert page["nodes"] and len(answer.body) < 3 * 1024
        seen += [node["path"] for node in page["nodes"]]
        cursor = page["next"]
    assert seen == ORDERED
    document = server.get(T + "?format=zarr")
    assert document.status == 413 and document.code == "too_large" and document.json()["limit"] == 1024


def test_a_client_that_leaves_costs_nothing_more(serve, tmp_path):
    write_node(tmp_path / "", GROUP)
    for i in range(2000):
        write_node(tmp_path / f"g{i:04}", GROUP)
    server = serve(f"p={tmp_path}")
    for _ in range(20):
        connection = server.connection()
        connection.putrequest("GET", T)
        connection.endheaders()
        connection.sock.close()
    assert len(paths(server.get(T))) == 2001
    assert json.loads(server.get(T + "?limit=1").body)["next"]
