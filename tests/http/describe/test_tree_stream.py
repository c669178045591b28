"""Listings longer than one lot: sent while they are made, in memory that does not grow with the number of nodes."""

import gzip
import http.client
import json
import os

import numcodecs
import pytest
from arrays import write_node
from client import is_sanitized, memory_bytes
from documents import ARRAY, GROUP
from search_rounds import rounds

T = "/v1/datasets/p/tree/"
CODINGS = {"gzip": gzip.decompress, "zstd": lambda body: bytes(numcodecs.Zstd().decode(body))}
LITTLE_MEMORY = "--set=memory.bytes=128MiB"
N_FLAT = 18000  # more than one page of a group's children
N_GROUPS, N_EACH = rounds(12, 4), 1000
LINKS_MAX = 30000  # of one file, where a file system has such a limit


def make_arrays(folder, n):
    """Arrays with one document: links to it."""
    write_node(folder, GROUP)
    document = None
    for i in range(n):
        array = folder / f"a{i:05}"
        array.mkdir()
        if i % LINKS_MAX == 0:
            document = array / "zarr.json"
            document.write_text(json.dumps(ARRAY))
        else:
            os.link(document, array / "zarr.json")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """More nodes than a lot has, and their paths in pre-order."""
    root = tmp_path_factory.mktemp("large")
    write_node(root, GROUP)
    groups = {"flat": N_FLAT, **{f"g{i:02}": N_EACH for i in range(N_GROUPS)}}
    for name, n in groups.items():
        make_arrays(root / name, n)
    return root, ["", *(path for name, n in groups.items() for path in [name, *(f"{name}/a{i:05}" for i in range(n))])]


def paths(nodes):
    return [node["path"] for node in nodes]


@pytest.mark.large
def test_a_long_listing_takes_no_memory_that_grows_with_it(serve, large):
    root, expected = large
    server = serve(f"p={root}", LITTLE_MEMORY)
    assert len(server.get(T + "g00").json()["nodes"]) == N_EACH + 1
    before = memory_bytes(server, "VmHWM")
    answer = server.get(T)
    if not is_sanitized(server):
        assert memory_bytes(server, "VmHWM") < 64 << 20
        assert memory_bytes(server, "VmHWM") - before < 24 << 20
    listing = answer.json()
    assert paths(listing["nodes"]) == expected
    assert (listing["path"], listing["next"], listing["source"]) == ("", None, "live")
    assert "etag" not in answer.headers


@pytest.mark.large
def test_a_long_listing_is_its_pages(serve, large):
    root, expected = large
    server = serve(f"p={root}", LITTLE_MEMORY)
    whole = server.get(T).json()["nodes"]
    for limit in (700, 7000):  # whole pages, and pages that are streamed
        nodes, cursor = [], ""
        while cursor is not None:
            page = server.get(f"{T}?limit={limit}{cursor and '&cursor='}{cursor}").json()
            assert len(page["nodes"]) == limit or page["next"] is None
            nodes += page["nodes"]
            cursor = page["next"]
        assert nodes == whole


@pytest.mark.large
def test_a_long_listing_is_shown_in_part(serve, large):
    root, expected = large
    server = serve(f"p={root}", LITTLE_MEMORY)
    assert paths(server.get(T + "?match=*/a*7").json()["nodes"]) == [path for path in expected if path.endswith("7") and "/" in path]
    assert paths(server.get(T + "?node_type=group").json()["nodes"]) == [path for path in expected if "/" not in path]
    assert server.get(T + "?fields=path&pretty=1").json() == server.get(T + "?fields=path").json()
    metadata = server.get(T + "?format=zarr").json()["consolidated_metadata"]["metadata"]
    assert list(metadata) == expected[1:] and metadata["flat/a17999"] == ARRAY


def test_a_long_page_ends_at_its_bytes(serve, large):
    root, expected = large
    server = serve(f"p={root}", "--set=limits.tree_bytes=1MiB")
    answer = server.get(T + "flat?fields=array.shape,array.chunk_shape,metadata")
    assert 1 << 20 <= len(answer.body) < (1 << 20) + 4096
    nodes = answer.json()["nodes"]
    following = server.get(f"{T}flat?limit=1&cursor={answer.json()['next']}").json()["nodes"]
    assert paths(nodes + following) == expected[1:len(nodes) + 2]


@pytest.mark.parametrize("coding, decode", CODINGS.items())
@pytest.mark.large
def test_a_long_listing_is_compressed_on_the_way(serve, large, coding, decode):
    root, expected = large
    server = serve(f"p={root}", LITTLE_MEMORY)
    answer = server.get(T, {"Accept-Encoding": coding})
    assert answer.headers["content-encoding"] == coding and "Accept-Encoding" in answer.headers["vary"].split(", ")
    listing = json.loads(decode(answer.body))
    assert paths(listing["nodes"]) == expected and len(answer.body) < 3 << 20
    if not is_sanitized(server):
        assert memory_bytes(server, "VmHWM") < 64 << 20


@pytest.mark.large
def test_conditions_on_a_long_listing(serve, large):
    """It has no tag, so none can be the same."""
    server = serve(f"p={large[0]}")
    assert server.get(T, {"If-None-Match": '"x"', "Range": "bytes=0-9"}).status == 200
    assert server.get(T, {"If-None-Match": "*"}).status == 304
    assert server.get(T, {"If-Match": '"x"'}).status == 412
    head = server.head(T)
    assert head.status == 200 and "etag" not in head.headers and not head.body


@pytest.mark.large
def test_a_group_that_cannot_be_listed_cuts_a_long_listing(serve, tmp_path):
    write_node(tmp_path, GROUP)
    make_arrays(tmp_path / "a", 3000)
    write_node(tmp_path / "z", GROUP)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder.name.startswith(("pytest-", "popen-", "test_")):
            folder.chmod(0o755)
    (tmp_path / "z").chmod(0o311)
    server = serve(f"p={tmp_path}", as_nobody=True)
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        server.get(T)
    # What comes before it is told.
    assert len(server.get(T + "?limit=3001").json()["nodes"]) == 3001
    assert server.get(T + "z").code == "store_error"
    (tmp_path / "z").chmod(0o755)
