"""Every byte that a request makes the server hold is budgeted before it is taken: under memory.bytes=128MiB the largest
requests of every kind are answered or refused with the figures, and the process stays below 192 MiB."""

import concurrent.futures
import json
import re
import socket
import urllib.parse

import numpy as np
import pytest

from client import DEADLINE_S, is_sanitized, memory_bytes, wait_until

pytestmark = pytest.mark.large

MIB = 1 << 20
GIB = 1 << 30
BUDGET = 128 * MIB
RESIDENT_MAX = 192 * MIB
REFUSED = (413, 503, 507)


def document(shape, chunks, codecs=(), dtype="uint8"):
    return {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype, "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default"}, "codecs": [*codecs, {"name": "bytes"}]}


SHARDED = {"name": "sharding_indexed",
           "configuration": {"chunk_shape": [16], "codecs": [{"name": "bytes"}],
                             "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}
ARRAYS = {
    "huge": document([1 << 40], [MIB]),        # as long as anybody may ask for
    "wide": document([GIB], [128 * MIB]),      # chunks larger than the budget of one request
    "many": document([100_000], [1]),          # as many stored objects as one slice may have
    "shards": {**document([1 << 30], [1 << 24]), "codecs": [SHARDED]},
    "plain": document([64, MIB], [1, MIB]),
    "gaps": {**document([MIB], [1 << 16]), "codecs": [SHARDED]},
}


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "store"
    path.mkdir()
    (path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for name, meta in ARRAYS.items():
        (path / name).mkdir()
        (path / name / "zarr.json").write_text(json.dumps(meta))
    return path


@pytest.fixture
def server(serve, store):
    return serve(f"w={store}", "--writable", "--set", f"memory.bytes={BUDGET}")


def stays_small(server):
    assert is_sanitized(server) or memory_bytes(server, "VmHWM") < RESIDENT_MAX


def put(server, target, body=b"\1"):
    return server.request("PUT", f"/v1/datasets/w/{target}", {}, body)


def get(server, target):
    return server.get(f"/v1/datasets/w/{target}")


def figures(answer):
    problem = answer.json()
    assert problem["requested"] > problem["limit"] > 0, problem


# What is asked, and the statuses that are right; the body of a PUT.
LARGEST = {
    "dry broadcast beyond limits.upload_bytes": (put, f"slices/huge?slice=0:{1 << 34 | 1}&dry_run=1&broadcast=1", (413,)),
    "dry broadcast": (put, f"slices/huge?slice=0:{1 << 28}&dry_run=1&broadcast=1", (200,)),
    "broadcast over every object": (put, "slices/many?slice=:&dry_run=1&broadcast=1", (413,)),
    "part of a large chunk": (put, "slices/wide?slice=0:1", (413,)),
    "large chunks": (get, "slices/wide?slice=::1048576", (200, 413)),
    "all objects": (get, "slices/many?slice=:", (200,)),
    "all objects, computed": (get, "stats/many", (200,)),
    "one element of a shard": (get, "slices/shards?slice=5", (200,)),
    "a long slice": (get, "slices/plain?slice=:", (200,)),
    "a chunk": (get, "chunks/wide?index=0&decoded=1", (200, 404, 413)),
}


@pytest.mark.parametrize("name", LARGEST)
def test_the_largest_request_stays_within_the_budget(server, name):
    ask, target, expected = LARGEST[name]
    answer = ask(server, target)
    assert answer.status in expected, answer.body[:1000]
    if answer.status == 413:
        figures(answer)
    stays_small(server)


@pytest.mark.parametrize("name", LARGEST)
def test_many_of_them_at_once_do_too(server, name):
    ask, target, expected = LARGEST[name]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for answer in pool.map(lambda _: ask(server, target), range(8)):
            assert answer.status in (*expected, *REFUSED)
    stays_small(server)
    assert server.get("/livez").status == 200


def test_changes_that_wait_for_a_lock_are_in_the_account(serve, store):
    """Each is as large as a body may be; the array is locked by a slice whose body does not end."""
    server = serve(f"w={store}", "--writable", "--set", f"memory.bytes={BUDGET}", "--set", "admission.wait_ms=500")
    text = json.dumps({"attributes": {"a": [0] * 49_000, "b": "x" * 800_000}}, separators=(",", ":")).encode()
    target, headers = "/v1/datasets/w/nodes/plain", {"Content-Type": "application/merge-patch+json"}
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as writer:
        writer.sendall(f"PUT /v1/datasets/w/slices/plain?slice=: HTTP/1.1\r\nHost: a\r\nContent-Length: {64 * MIB}\r\n\r\nx".encode())
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            changes = [pool.submit(server.request, "PATCH", target, headers, text) for _ in range(64)]
            wait_until(lambda: sum(change.done() for change in changes) >= 40)
            writer.shutdown(socket.SHUT_RDWR)
            answers = [change.result() for change in changes]
    assert {answer.status for answer in answers} <= {200, 503}
    stays_small(server)
    assert server.get("/livez").status == 200


GROUP = b'{"zarr_format": 3, "node_type": "group"}'
JSON = {"Content-Type": "application/json"}
DEEP = "/".join("a" * 500)
CHANGES = {
    "PUT": ("PUT", "/v1/datasets/w/nodes/{i}/" + DEEP, JSON, GROUP, (201, 503)),
    "DELETE": ("DELETE", "/v1/datasets/w/nodes/{i}/" + DEEP, {}, None, (404, 503)),
    "PUT of a key": ("PUT", "/zarr/w/{i}/" + DEEP[2:] + "/zarr.json", {}, GROUP, (200, 503)),
    "DELETE of a key": ("DELETE", "/zarr/w/{i}/" + DEEP[2:] + "/zarr.json", {}, None, (204, 503)),
    "PUT, too long": ("PUT", "/v1/datasets/w/nodes/{i}/" + 3 * DEEP, JSON, GROUP, (400, 503)),
    "DELETE, too long": ("DELETE", "/v1/datasets/w/nodes/{i}/" + 3 * DEEP, {}, None, (404, 503)),
    "PATCH with many objects": ("PATCH", "/v1/datasets/w/nodes/plain", {"Content-Type": "application/merge-patch+json"},
                                b'{"attributes": {"a": [' + b"{}," * 49_000 + b"{}]}}", (200, 503)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_in_the_account_with_each_node_on_their_way(serve, store, name):
    server = serve(f"w={store}", "--writable", "--set", f"memory.bytes={BUDGET}", "--set", "workers.count=2")
    method, target, headers, body, expected = CHANGES[name]
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(lambda i: server.request(method, target.format(i=i), headers, body), range(64)))
    statuses = [answer.status for answer in answers]
    assert set(statuses) <= set(expected) and expected[0] in statuses, statuses
    assert is_sanitized(server) or memory_bytes(server, "VmHWM") < 128 * MIB
    assert server.get("/livez").status == 200


def test_the_index_of_a_large_directory_is_made_while_it_is_sent(serve, tmp_path):
    """Of 10 MB each, 32 at once."""
    names = [f"{i:05}{'&' * 100}" for i in range(10_000)]
    (tmp_path / "store" / "many").mkdir(parents=True)
    for name in names:
        (tmp_path / "store" / "many" / name).touch()
    server = serve(f"w={tmp_path / 'store'}", "--set", f"memory.bytes={BUDGET}")
    answer = server.get("/zarr/w/many/")
    links = re.findall(r'<a href="([^"]*)">', answer.body.decode())
    assert answer.status == 200 and links == ["../", *(urllib.parse.quote(name, safe="") for name in names)]
    assert answer.body.endswith(b"</pre></body></html>\n")
    assert server.request("HEAD", "/zarr/w/many/").status == 200
    assert server.request("GET", "/zarr/w/many/", {"If-Match": '"x"'}).status == 412
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: get_index(server), range(32)))
    assert all(n == len(answer.body) if status == 200 else status == 503 for status, n in answers), answers
    assert is_sanitized(server) or memory_bytes(server, "VmHWM") < 96 * MIB


def get_index(server):
    answer = server.get("/zarr/w/many/")
    return answer.status, len(answer.body)


N_LARGE = 100
LARGE_ATTRIBUTES = {"a": [0] * 49_000, "b": "x" * 800_000}


@pytest.fixture
def large_nodes(store):
    """A group of nodes that take some 4 MiB each in memory."""
    (store / "large").mkdir()
    (store / "large" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for i in range(N_LARGE):
        (store / "large" / f"{i:03}").mkdir()
        text = json.dumps({**document([8], [8]), "attributes": {"i": i, **LARGE_ATTRIBUTES}}, separators=(",", ":"))
        (store / "large" / f"{i:03}" / "zarr.json").write_text(text)


@pytest.mark.parametrize("n_clients", [1, 8])
def test_large_nodes_are_counted_before_they_are_consolidated(large_nodes, server, n_clients):
    with concurrent.futures.ThreadPoolExecutor(n_clients) as pool:
        answers = list(pool.map(lambda _: server.request("POST", "/v1/datasets/w/consolidate/large?dry_run=1"), range(n_clients)))
    for answer in answers:
        assert answer.status == 413, answer
        figures(answer)
    assert is_sanitized(server) or memory_bytes(server, "VmHWM") < 64 * MIB


def test_counted_keys_are_then_listed(serve, tmp_path):
    """More nodes than are kept without memory for them: they are read twice."""
    n = 400
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for i in range(n):
        (tmp_path / f"{i:03}").mkdir()
        (tmp_path / f"{i:03}" / "zarr.json").write_text(json.dumps({**document([8], [8]), "attributes": {"n": [i] * 50}}))
    server = serve(f"w={tmp_path}", "--writable", "--set", f"memory.bytes={BUDGET}")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: server.request("POST", "/v1/datasets/w/consolidate/"), range(8)))
    for answer in answers:
        shown = answer.json()
        assert answer.status == 200 and len(shown["nodes"]) == n + 1
        assert shown["check"] == {"missing": [], "surplus": [], "differing": [], "stored": True}
    listed = json.loads((tmp_path / "zarr.json").read_text())["consolidated_metadata"]["metadata"]
    assert {path: entry["attributes"]["n"][0] for path, entry in listed.items()} == {f"{i:03}": i for i in range(n)}


@pytest.mark.parametrize("n_clients", [1, 8])
def test_a_walk_holds_few_large_nodes_ahead(large_nodes, server, n_clients):
    with concurrent.futures.ThreadPoolExecutor(n_clients) as pool:
        answers = list(pool.map(lambda _: server.get("/v1/datasets/w/tree/large"), range(n_clients)))
    shown = [answer.json() for answer in answers if answer.status == 200]
    assert shown and {answer.status for answer in answers} <= {200, 503}
    for tree in shown:
        paths = [node["path"] for node in tree["nodes"]]
        assert paths == ["large", *(f"large/{i:03}" for i in range(len(paths) - 1))]
    assert is_sanitized(server) or memory_bytes(server, "VmHWM") < 64 * MIB


def test_a_dataset_in_memory_has_a_bound(serve):
    server = serve("w=mem:", "--writable", "--set", f"memory.bytes={BUDGET}")
    put_node = server.request("PUT", "/v1/datasets/w/nodes/a", {"Content-Type": "application/json"},
                              json.dumps(ARRAYS["plain"]).encode())
    assert put_node.status == 201
    rows = [np.full(MIB, i, "u1").tobytes() for i in range(1, 65)]
    answers = [put(server, f"slices/a?slice={i}", row) for i, row in enumerate(rows, 1) if i < 64]
    statuses = [answer.status for answer in answers]
    n_stored = statuses.index(507)
    assert 24 <= n_stored < 32 and set(statuses[n_stored:]) == {507}, statuses
    assert answers[n_stored].code == "no_space"
    figures(answers[n_stored])
    assert server.get("/v1/datasets/w/slices/a?slice=1").body == rows[0]
    assert server.request("DELETE", "/v1/datasets/w/nodes/a").status == 204
    stays_small(server)


def test_datasets_in_memory_share_one_bound(serve):
    server = serve("a=mem:", "b=mem:", "--writable", "--set", f"memory.bytes={BUDGET}")
    statuses = [server.request("PUT", f"/zarr/{'ab'[i % 2]}/{i}", {}, bytes(MIB)).status for i in range(64)]
    n_stored = statuses.index(507)
    assert 24 <= n_stored < 32 and set(statuses[n_stored:]) == {507}, statuses
    refused = server.request("PUT", "/zarr/b/more", {}, bytes(MIB))
    assert refused.code == "no_space"
    figures(refused)
    assert all(server.request("DELETE", f"/zarr/a/{i}").status == 204 for i in range(0, n_stored, 2))
    assert server.request("PUT", "/zarr/b/more", {}, bytes(MIB)).status == 200  # of what a has given back
    stays_small(server)


def test_long_raw_keys_are_stored_while_they_come(server, store):
    """Each is longer than all memory for requests; alone, and several at once."""
    body = np.random.default_rng(1).integers(0, 256, 96 * MIB, "u1").tobytes()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: server.request("PUT", f"/zarr/w/long/{i}.bin", {}, body), range(4)))
    assert [answer.status for answer in answers] == [200] * 4, answers
    for i in range(4):
        assert (store / "long" / f"{i}.bin").read_bytes() == body
    stays_small(server)


def test_a_long_raw_key_that_ends_early_leaves_nothing(server, store):
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as client:
        client.sendall(f"PUT /zarr/w/gone/long.bin HTTP/1.1\r\nHost: a\r\nContent-Length: {64 * MIB}\r\n\r\n".encode())
        client.sendall(bytes(32 * MIB))
        wait_until(lambda: any(store.glob(".zarrd-tmp-*-*")))
    wait_until(lambda: not any(store.glob(".zarrd-tmp-*-*")))
    assert server.get("/zarr/w/gone/long.bin").status == 404 and not (store / "gone").exists()


def test_a_long_document_or_chunk_is_refused_before_it_comes(server):
    for key in ("plain/zarr.json", "wide/c/0"):
        answer = server.request("PUT", f"/zarr/w/{key}", {"Content-Length": str(GIB)})
        assert answer.status == 413, answer
        figures(answer)
    stays_small(server)


@pytest.mark.parametrize("name", ["plain", "gaps"])
def test_stored_objects_longer_than_any_chunk_are_not_read(server, store, name):
    """A write of a part of one reads it first; here it is a gap of 1 GiB."""
    key = store / name / "c" / ("0/0" if name == "plain" else "0")
    key.parent.mkdir(parents=True)
    with open(key, "wb") as file:
        file.truncate(GIB)
    answer = put(server, f"slices/{name}?slice={'0,5' if name == 'plain' else '5'}")
    assert answer.status == (500 if name == "plain" else 413), answer.body[:1000]
    assert answer.code == ("corrupt_chunk" if name == "plain" else "too_large")
    if name == "gaps":
        figures(answer)
    stays_small(server)


OBJECT_BYTES_MAX = 9500  # of each stored object of one write, while it is under way: what zd_edit_set_bytes counts, about


@pytest.mark.parametrize("location", ["mem:", "file"])
def test_a_write_of_many_objects_holds_little_of_each(serve, tmp_path, location):
    n = 20_000
    server = serve(config={"datasets": {"w": {"location": str(tmp_path) if location == "file" else location,
                                              "writable": True, "durable": False}}})
    meta = json.dumps(document([n], [1])).encode()
    assert server.request("PUT", "/v1/datasets/w/nodes/a", {"Content-Type": "application/json"}, meta).status == 201
    assert put(server, "slices/a?slice=0:10", bytes(10)).status == 200
    before = memory_bytes(server, "VmHWM")
    for value in (b"\1", b"\2"):  # made, and replaced: the old ones are kept until the end
        assert put(server, "slices/a?slice=:", value * n).status == 200
    assert is_sanitized(server) or memory_bytes(server, "VmHWM") - before < n * OBJECT_BYTES_MAX
    assert get(server, "slices/a?slice=:").body == b"\2" * n
