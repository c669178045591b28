"""Stored listings: kept as text, shown entry by entry, in memory that does not grow with what they would be parsed."""

import gzip
import json

import pytest
from arrays import write_node
from client import is_sanitized, memory_bytes
from documents import ARRAY, GROUP

T = "/v1/datasets/p/tree/"
MIB = 1 << 20
N_GROUPS, N_EACH = 40, 500
N_LIVE = 3  # groups of it that are there


def with_listing(entries):
    return {**GROUP, "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": entries}}


def entries_of(n_groups, n_each):
    entries = {}
    for i in range(n_groups):
        entries[f"g{i:02}"] = GROUP
        entries |= {f"g{i:02}/a{j:03}": {**ARRAY, "attributes": {"n": j}} for j in range(n_each)}
    return entries


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A listing of 20,040 entries, 7 MB as text, of which 1,503 are there; one is not as it is listed, one not listed."""
    root = tmp_path_factory.mktemp("listed")
    entries = entries_of(N_GROUPS, N_EACH)
    write_node(root, with_listing(entries))
    for path, document in entries.items():
        if int(path[1:3]) < N_LIVE:
            write_node(root / path, document)
    write_node(root / "g00/a007", {**ARRAY, "attributes": {"n": -1}})
    write_node(root / "g01/b", GROUP)
    return root, entries


def paths(answer):
    return [node["path"] for node in answer.json()["nodes"]]


@pytest.mark.large
def test_a_stored_listing_is_not_held_parsed(serve, large):
    root, entries = large
    server = serve(f"p={root}", "--set=memory.bytes=128MiB")
    before = memory_bytes(server, "VmHWM")
    answer = server.get(T + "?mode=stored")
    assert paths(answer) == ["", *entries] and answer.json()["source"] == "stored"
    assert server.get("/v1/datasets/p/nodes/").status == 200
    if not is_sanitized(server):
        assert memory_bytes(server, "VmHWM") - before < 24 * MIB


@pytest.mark.large
def test_a_long_stored_listing_has_a_tag(serve, large):
    server = serve(f"p={large[0]}")
    answer = server.get(T + "?mode=stored")
    tag = answer.headers["etag"]
    assert server.get(T + "?mode=stored").headers["etag"] == tag
    again = server.get(T + "?mode=stored", {"If-None-Match": tag})
    assert (again.status, again.headers["etag"], again.body) == (304, tag, b"")
    coded = server.get(T + "?mode=stored", {"Accept-Encoding": "gzip"})
    assert coded.headers["etag"] == tag[:-1] + '-gzip"' and gzip.decompress(coded.body) == answer.body
    assert server.get(T + "?mode=stored", {"Accept-Encoding": "gzip", "If-None-Match": coded.headers["etag"]}).status == 304
    assert server.get(T + "?mode=stored", {"If-Match": '"x"'}).status == 412
    assert server.head(T + "?mode=stored").headers["etag"] == tag


@pytest.mark.large
def test_a_long_stored_listing_is_its_pages(serve, large):
    root, entries = large
    server = serve(f"p={root}")
    for more in ("", "&node_type=group", "&match=*/a00*", "&depth=1"):
        whole = server.get(T + "?mode=stored" + more).json()["nodes"]
        nodes, cursor = [], ""
        while cursor is not None:
            page = server.get(f"{T}?mode=stored&limit={len(whole) // 3 + 1}{more}{cursor and '&cursor='}{cursor}").json()
            nodes += page["nodes"]
            cursor = page["next"]
        assert nodes == whole and len(nodes) > N_GROUPS
    assert server.get(T + "?mode=stored&format=zarr").json()["consolidated_metadata"]["metadata"] == entries


@pytest.mark.parametrize("mode", ["live", "stored"])
@pytest.mark.large
def test_a_long_listing_is_compared_on_the_way(serve, large, mode):
    root, entries = large
    server = serve(f"p={root}", "--set=memory.bytes=128MiB")
    before = memory_bytes(server, "VmHWM")
    answer = server.get(f"{T}?mode={mode}&check=1")
    check = answer.json()["check"]
    assert check["stored"] is True and (check["missing"], check["differing"]) == (["g01/b"], ["g00/a007"])
    assert check["surplus"] == [path for path in entries if int(path[1:3]) >= N_LIVE]
    assert "etag" not in answer.headers and answer.json()["next"] is None
    assert len(paths(answer)) == (1 + len(entries) if mode == "stored" else 2 + N_LIVE * (N_EACH + 1))
    page = server.get(f"{T}?mode={mode}&check=1&limit=2").json()
    assert len(page["nodes"]) == 2 and page["next"] is not None and page["check"] == check
    if not is_sanitized(server):
        assert memory_bytes(server, "VmHWM") - before < 48 * MIB


def test_bodies_that_do_not_fit_are_refused_with_the_figures(serve, large):
    server = serve(f"p={large[0]}", "--set=memory.bytes=32MiB")
    before = memory_bytes(server, "VmHWM")
    for target in (T + "?mode=stored", "/v1/datasets/p/nodes/", T + "?check=1"):
        answer = server.get(target)
        assert answer.status == 413 and answer.json()["requested"] > answer.json()["limit"] > 0
    assert server.get("/v1/datasets/p/nodes/g00/a001").status == 200
    if not is_sanitized(server):
        assert memory_bytes(server, "VmHWM") - before < 8 * MIB


def test_a_name_twice_in_an_entry_refuses_that_entry(serve, tmp_path):
    entries = json.dumps({"a": GROUP, "b": "@", "c": GROUP}).replace('"@"', '{"zarr_format":3,"node_type":"group","node_type":"group"}')
    write_node(tmp_path, json.dumps(with_listing({})).replace('"metadata": {}', '"metadata": ' + entries))
    server = serve(f"p={tmp_path}")
    assert "refused" not in server.get("/v1/datasets/p/nodes/").json()
    nodes = server.get(T + "?mode=stored").json()["nodes"]
    assert {node["path"]: "duplicate object key" in str(node.get("refused")) for node in nodes} == {
        "": False, "a": False, "b": True, "c": False}


def test_a_listing_that_changed_is_read_with_its_node(serve, tmp_path):
    """The node is trusted for an hour: its listing is of another generation than the one that is there now."""
    write_node(tmp_path, with_listing(entries_of(4, 500)))
    server = serve(config={"datasets": {"p": {"location": str(tmp_path), "revalidate_ms": 3600_000}}})
    assert server.get("/v1/datasets/p/nodes/").status == 200
    for n in (3, 5):
        write_node(tmp_path, with_listing(entries_of(n, 500)))
        answer = server.get(f"{T}?mode=stored&limit={9000 + n}")
        assert paths(answer) == ["", *entries_of(n, 500)]
