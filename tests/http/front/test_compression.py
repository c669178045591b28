"""Compressed answers: only JSON below /v1, each form with its own tag, made once and kept."""

import concurrent.futures
import gzip
import json
import time

import numcodecs
import numpy as np
import pytest
from arrays import write_array, write_node
from client import READS
from documents import GROUP, LITTLE

COMPRESSIONS = "zarrd_compressions_total"
CODINGS = {"gzip": gzip.decompress, "zstd": lambda body: bytes(numcodecs.Zstd().decode(body))}
NODE = "/v1/datasets/p/nodes/a"
TREE = "/v1/datasets/p/tree/"
SLICE = "/v1/datasets/p/slices/a?format=json"
LONG = [NODE, TREE, SLICE, "/v1/limits", "/v1/extensions"]
SHORT = ["/v1/datasets/p/nodes/g?fields=path", SLICE + "&slice=0,0", "/v1/datasets/p"]


@pytest.fixture
def root(tmp_path):
    write_array(tmp_path / "a", (64, 64), (32, 32), [LITTLE], np.arange(4096, dtype="<f4").reshape(64, 64))
    document = json.loads((tmp_path / "a/zarr.json").read_text())
    write_node(tmp_path / "a", {**document, "attributes": {f"name {i}": "value" for i in range(200)}})
    write_node(tmp_path / "", GROUP)
    write_node(tmp_path / "g", GROUP)
    return tmp_path


@pytest.fixture
def p(serve, root):
    return serve(config={"datasets": {"p": {"location": str(root), "revalidate_ms": 600000}}})


def coded(server, target, coding, headers=None, method="GET"):
    return server.request(method, target, {"Accept-Encoding": coding, **(headers or {})})


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("target", LONG)
def test_a_long_document_is_compressed_for_those_who_accept_it(p, target, coding):
    plain = p.get(target)
    for _ in range(3):  # made, then kept
        answer = coded(p, target, coding)
        assert answer.status == 200 and answer.headers["content-encoding"] == coding
        assert CODINGS[coding](answer.body) == plain.body and len(answer.body) < len(plain.body)
        assert answer.headers["content-length"] == str(len(answer.body))
        assert answer.headers["vary"] == plain.headers["vary"] and "Accept-Encoding" in answer.headers["vary"]
        assert "content-encoding" not in plain.headers
        assert answer.headers["etag"] == plain.headers["etag"][:-1] + f'-{coding}"'
        of_each = {"etag", "content-length", "x-request-id", "date", "server-timing", "timing-allow-origin"}
        same = set(plain.headers) - of_each
        assert {name: answer.headers[name] for name in same} == {name: plain.headers[name] for name in same}
        assert p.get(target).body == plain.body


@pytest.mark.parametrize("target", LONG)
def test_a_304_is_about_the_form_that_the_client_would_get(p, target):
    plain = p.get(target).headers["etag"]
    for coding in CODINGS:
        tag = coded(p, target, coding).headers["etag"]
        for known in (tag, f'"x", W/{tag}', "*"):
            answer = coded(p, target, coding, {"If-None-Match": known})
            assert answer.status == 304 and answer.body == b"", (known, answer)
            assert "Accept-Encoding" in answer.headers["vary"].split(", ")
            if known != "*":
                assert answer.headers["etag"] == tag
        assert p.get(target, {"If-None-Match": tag}).status == 200
        assert coded(p, target, coding, {"If-Match": '"other"'}).status == 412
        assert coded(p, target, coding, {"If-Match": tag}).status == 200
    assert p.get(target, {"If-None-Match": plain}).status == 304
    if target != SLICE:  # whose body is not made for a tag that was given out
        assert coded(p, target, "gzip", {"If-None-Match": plain}).status == 200


@pytest.mark.parametrize("target", [target for target in LONG if target != SLICE])
def test_head_tells_of_the_compressed_form(p, target):
    for coding in CODINGS:
        whole = coded(p, target, coding)
        head = coded(p, target, coding, method="HEAD")
        assert head.status == 200 and head.body == b""
        for name in ("content-encoding", "content-length", "etag", "vary", "content-type"):
            assert head.headers[name] == whole.headers[name], name


@pytest.mark.parametrize("accept, coding", [
    ("gzip, deflate, br, zstd", "zstd"),
    ("gzip;q=1, zstd;q=0.5", "gzip"),
    ("*", "zstd"),
    ("zstd;q=0, *", "gzip"),
    ("br", None),
    ("", None),
    ("gzip;q=0", None),
    ("identity;q=1, gzip;q=0.5", None),
    ("identity;q=0", None),
])
def test_the_header_chooses(p, accept, coding):
    assert coded(p, NODE, accept).headers.get("content-encoding") == coding


@pytest.mark.parametrize("target", SHORT)
def test_a_short_document_stays_plain(p, target):
    answer = coded(p, target, "gzip, zstd")
    assert len(answer.body) < 1024 and answer.status == 200
    assert "content-encoding" not in answer.headers and "Accept-Encoding" in answer.headers["vary"].split(", ")
    assert answer.headers["etag"] == p.get(target).headers["etag"]
    refused = coded(p, target, "gzip, identity;q=0")
    assert gzip.decompress(refused.body) == answer.body


@pytest.mark.parametrize("target", [
    "/zarr/p/a/zarr.json",
    "/zarr/p/a/c/0/0",
    "/zarr/p/",
    "/v1/datasets/p/chunks/a?index=0,0",
    "/v1/datasets/p/slices/a",
    "/v1/datasets/p/slices/a?format=npy",
    "/v1/datasets/p/slices/a?format=csv",
    "/v1/datasets/p/slices/a?slice=100,100",
    "/zarr/p/a/c/7/7",
    "/openapi.json",
    "/metrics",
])
def test_nothing_else_is_compressed(p, target):
    for _ in range(2):
        answer = coded(p, target, "gzip, zstd, identity;q=0")
        assert "content-encoding" not in answer.headers
        assert "Accept-Encoding" not in answer.headers.get("vary", "")


def test_a_negotiated_slice_varies_by_both(p):
    target = SLICE.replace("format=json", "slice=:")
    for accept in ("gzip", "br"):
        answer = coded(p, target, accept, {"Accept": "application/json"})
        assert answer.headers["content-type"] == "application/json"
        assert {"Accept", "Accept-Encoding"} <= set(answer.headers["vary"].split(", "))


def test_the_result_of_a_post_is_compressed(p):
    target = SLICE.split("?")[0]
    document = {"slice": ":", "format": "json"}
    answer = p.post(target, document, {"Accept-Encoding": "gzip"})
    assert gzip.decompress(answer.body) == p.post(target, document).body
    assert answer.headers["content-encoding"] == "gzip" and "Accept-Encoding" in answer.headers["vary"].split(", ")


def test_a_range_of_a_document_is_its_whole(p):
    assert coded(p, NODE, "gzip", {"Range": "bytes=0-9"}).status == 200


@pytest.mark.parametrize("identifier", ["short", "exactly-sixteen.", "a" * 128])
def test_the_request_id_is_the_clients(p, identifier):
    for _ in range(3):
        for coding in CODINGS:
            answer = coded(p, TREE, coding, {"X-Request-Id": identifier})
            assert answer.headers["x-request-id"] == identifier
            assert answer.headers["content-encoding"] == coding


def hierarchy(root, n):
    for i in range(n):
        write_node(root / f"many/{i}", {"zarr_format": 3, "node_type": "group", "attributes": {"text": str(i) * 200}})
    write_node(root / "many", GROUP)


def test_50_requests_compress_once(serve, root):
    hierarchy(root, 300)
    p = serve(config={"datasets": {"p": {"location": str(root), "revalidate_ms": 600000}}})
    with p.cost() as cost, concurrent.futures.ThreadPoolExecutor(50) as pool:
        bodies = {answer.body for answer in pool.map(lambda _: coded(p, TREE, "gzip"), range(50))}
    assert len(bodies) == 1
    assert cost[COMPRESSIONS] == 1
    with p.cost() as cost:
        answers = [coded(p, TREE, "gzip") for _ in range(50)]
    assert {answer.body for answer in answers} == bodies
    assert cost[COMPRESSIONS] == 0 and cost[READS] == 0


def test_a_listing_found_unchanged_is_neither_made_nor_compressed_again(serve, root):
    hierarchy(root, 300)
    p = serve(config={"datasets": {"p": {"location": str(root), "revalidate_ms": 1}}})
    first = coded(p, TREE, "zstd")
    with p.cost() as cost:
        for _ in range(20):
            time.sleep(0.003)
            assert coded(p, TREE, "zstd").headers["etag"] == first.headers["etag"]
    assert cost[COMPRESSIONS] == 0 and cost[READS] == 0
    write_node(root / "many/5", {"zarr_format": 3, "node_type": "group", "attributes": {"text": "another"}})
    time.sleep(0.003)
    changed = coded(p, TREE, "zstd")
    assert changed.headers["etag"] != first.headers["etag"]
    assert json.loads(CODINGS["zstd"](changed.body)) == p.get(TREE).json()


def test_a_kept_listing_asks_the_store_for_nothing(p):
    p.get(TREE)
    with p.cost() as cost:
        for _ in range(10):
            assert p.get(TREE).status == 200
    assert cost["zarrd_store_statuses_total"] == cost["zarrd_store_lists_total"] == cost[READS] == 0
    assert cost["zarrd_jobs_total"] == 0


def test_a_listing_too_large_to_keep_is_compressed_each_time(serve, root):
    hierarchy(root, 760)
    p = serve("--set", "cache.metadata_bytes=1MiB", f"p={root}")
    plain = p.get(TREE)
    assert len(plain.body) > 512 << 10
    with p.cost() as cost:
        for _ in range(2):
            assert gzip.decompress(coded(p, TREE, "gzip").body) == plain.body
    assert cost[COMPRESSIONS] == 2
