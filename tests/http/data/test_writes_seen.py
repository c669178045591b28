"""A write that was acknowledged is seen by the next request, by whatever route, whatever was kept of what was there before.

Every dataset here keeps for ever what it has read: immutable, or with a long revalidate_ms. What is read beforehand fills
every cache there is; what is under way meanwhile must not bring back what was before.
"""

import base64
import concurrent.futures
import json
import random
import struct
import threading
import zlib

import numpy as np
import pytest
from arrays import crc32c
from documents import GROUP, GZIP, LITTLE
from live import Server
from search_rounds import rounds


def document(codecs=(LITTLE,), shape=(4, 4), chunks=(2, 2), **more):
    return {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": list(codecs), **more}


def shard_document():
    return document([{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 2], "codecs": [LITTLE], "index_codecs": [LITTLE, {"name": "crc32c"}]}}], chunks=(4, 4))


def shard(*values):
    """A shard of four inner chunks, each filled with its value; None is absent."""
    body, index = b"", b""
    for value in values:
        index += struct.pack("<QQ", *((2**64 - 1, 2**64 - 1) if value is None else (len(body), 8)))
        body += b"" if value is None else np.full(4, value, "<u2").tobytes()
    return body + index + crc32c(index)


def chunk(value, codec="raw"):
    data = np.full(4, value, "<u2").tobytes()
    return data if codec == "raw" else zlib.compress(data, wbits=31)


@pytest.fixture(scope="module", params=["file-immutable", "file-long", "mem-immutable"])
def served(request, tmp_path_factory):
    kind, keeps = request.param.split("-")
    location = str(tmp_path_factory.mktemp("seen")) if kind == "file" else "mem:"
    trust = {"immutable": True} if keeps == "immutable" else {"revalidate_ms": 1000000}
    server = Server(config={"datasets": {"d": {"location": location, "writable": True, "durable": False, **trust}}})
    yield server
    server.stop()


@pytest.fixture
def name(request):
    return "t" + str(zlib.crc32(request.node.name.encode()))


def put(server, target, body, headers=None, connection=None):
    json_type = {"Content-Type": "application/json"} if isinstance(body, dict) else {}
    body = json.dumps(body).encode() if isinstance(body, dict) else body
    answer = server.request("PUT", target, {**json_type, **(headers or {})}, body, connection=connection)
    assert answer.status in (200, 201), answer
    return answer


def erase(server, target):
    answer = server.request("DELETE", target)
    assert answer.status == 204, answer


def look_key(server, key):
    answer = server.get(f"/zarr/d/{key}")
    return answer.body if answer.status == 200 else answer.status


def data_of(server, path, query="", headers=None):
    answer = server.get(f"/v1/datasets/d/slices/{path}?{query}", headers)
    return np.frombuffer(answer.body, "<u2").tolist() if answer.status == 200 else answer.status


# ---- one route after the other, everything kept before ----

def test_keys_their_absence_parts_and_heads(served, name):
    key = f"{name}/deep/key"
    target = f"/zarr/d/{key}"

    def look():
        whole, part, head = served.get(target), served.get(target, {"Range": "bytes=0-1"}), served.head(target)
        assert whole.status == head.status and whole.headers.get("etag") == head.headers.get("etag")
        assert whole.status == 404 or part.body == whole.body[:2]
        again = served.get(target, {"If-None-Match": whole.headers.get("etag", "x")})
        assert again.status == (304 if whole.status == 200 else 404)
        return whole.body if whole.status == 200 else None

    for body in (None, b"first", b"second", None, b"x" * 300000, None, b"last"):
        if body is None:
            erase(served, target)
        else:
            put(served, target, body)
        assert look() == body and look() == body


def test_directories_come_and_go(served, name):
    def look(directory):
        answer = served.get(f"/zarr/d/{directory}/")
        bare = served.get(f"/zarr/d/{directory}")
        assert bare.status == (301 if answer.status == 200 else 404)
        return answer.body.decode().count("<a href=") - 1 if answer.status == 200 else None

    directories = (name, f"{name}/a", f"{name}/a/b")
    assert [look(d) for d in directories] == [None] * 3
    put(served, f"/zarr/d/{name}/a/b/one", b"1")
    assert [look(d) for d in directories] == [1, 1, 1]
    put(served, f"/zarr/d/{name}/a/b/two", b"2")
    put(served, f"/zarr/d/{name}/three", b"3")
    assert [look(d) for d in directories] == [2, 1, 2]
    erase(served, f"/zarr/d/{name}/a/b/two")
    assert [look(d) for d in directories] == [2, 1, 1]


@pytest.mark.parametrize("route", ["nodes", "keys"])
def test_nodes_their_parents_and_listings(served, name, route):
    name += route

    def store(path, node):
        if route == "nodes":
            put(served, f"/v1/datasets/d/nodes/{path}", node)
        else:
            put(served, f"/zarr/d/{path}/zarr.json", node)

    def drop(path):
        erase(served, f"/v1/datasets/d/nodes/{path}" if route == "nodes" else f"/zarr/d/{path}/zarr.json")

    def look():
        """Every route that tells of nodes, plain and coded."""
        seen = []
        for headers in (None, {"Accept-Encoding": "gzip"}, {"Accept-Encoding": "zstd"}):
            for path in (name, f"{name}/g", f"{name}/g/a"):
                answer = served.get(f"/v1/datasets/d/nodes/{path}?fields=node_type,children,metadata.attributes", headers)
                seen.append((answer.status, answer.headers.get("etag")))
            tree = served.get(f"/v1/datasets/d/tree/{name}", headers)
            seen.append((tree.status, tree.headers.get("etag")))
        tree = served.get(f"/v1/datasets/d/tree/{name}")
        paths = [node["path"].removeprefix(name) for node in tree.json()["nodes"]] if tree.status == 200 else []
        node = served.get(f"/v1/datasets/d/nodes/{name}/g/a")
        attributes = node.json()["metadata"].get("attributes") if node.status == 200 else None
        parent = served.get(f"/v1/datasets/d/nodes/{name}/g")
        children = [child["name"] for child in parent.json()["children"]] if parent.status == 200 else None
        return paths, attributes, children, seen

    assert look()[:3] == ([], None, None)
    store(name, GROUP)
    assert look()[:3] == ([""], None, None)
    store(f"{name}/g", GROUP)
    assert look()[:3] == (["", "/g"], None, [])
    store(f"{name}/g/a", document(attributes={"n": 0}))
    assert look()[:3] == (["", "/g", "/g/a"], {"n": 0}, ["a"])
    for n in range(1, 4):
        before = look()
        assert before == look()
        store(f"{name}/g/a", document(attributes={"n": n}))
        after = look()
        assert after[:3] == (["", "/g", "/g/a"], {"n": n}, ["a"])
        for i, (_, tag) in enumerate(after[3]):  # in every coding: of the two groups, the array and the tree
            assert (tag != before[3][i][1]) == (i % 4 in (2, 3)), (i, before, after)
    drop(f"{name}/g/a")
    assert look()[:3] == (["", "/g"], None, [])


@pytest.mark.parametrize("codec", ["raw", "gzip"])
def test_chunks_slices_and_presence(served, name, codec):
    name += codec
    put(served, f"/v1/datasets/d/nodes/{name}", document([LITTLE] if codec == "raw" else [LITTLE, GZIP]))

    def look():
        tag = served.head(f"/v1/datasets/d/slices/{name}").headers["etag"]
        whole = data_of(served, name)
        assert served.get(f"/v1/datasets/d/slices/{name}", {"If-None-Match": tag}).status == 304
        assert data_of(served, name, "slice=0,0")[0] == whole[0]
        stored = served.get(f"/v1/datasets/d/chunks/{name}?index=0,0")
        decoded = served.get(f"/v1/datasets/d/chunks/{name}?index=0,0&decoded=1")
        assert np.frombuffer(decoded.body, "<u2").tolist() == whole[:2] + whole[4:6]
        present = served.get(f"/v1/datasets/d/chunks/{name}?present=1").json()
        bit = base64.b64decode(present["bitmap"])[0] & 1
        assert bit == (stored.status == 200)
        batch = served.post(f"/v1/datasets/d/chunks/{name}", {"indices": [[0, 0]], "decoded": True})
        assert decoded.body in batch.body
        return whole[0], stored.body if stored.status == 200 else None

    assert look() == (0, None) and look() == (0, None)
    for value in (1, 2, 3):
        body = chunk(value, codec)
        put(served, f"/zarr/d/{name}/c/0/0", body)
        assert look() == (value, body) and look() == (value, body)
    erase(served, f"/zarr/d/{name}/c/0/0")
    assert look() == (0, None)


def test_shards_and_their_indexes(served, name):
    put(served, f"/v1/datasets/d/nodes/{name}", shard_document())

    def look():
        inner = [served.get(f"/v1/datasets/d/chunks/{name}?level=inner&index={i},{j}") for i in (0, 1) for j in (0, 1)]
        corners = [data_of(served, name, f"slice={i},{j}")[0] for i in (0, 2) for j in (0, 2)]
        assert data_of(served, name)[::2] == [v for i in (0, 0, 2, 2) for v in corners[i:i + 2]]
        told = [np.frombuffer(answer.body, "<u2").tolist()[0] if answer.status == 200 else None for answer in inner]
        assert [value or 0 for value in told] == corners
        return told

    assert look() == [None] * 4
    for values in ((1, 2, 3, 4), (1, 2, 3, 5), (None, 2, None, 6), (7, None, None, None), (8, 9, 10, 11)):
        put(served, f"/zarr/d/{name}/c/0/0", shard(*values))
        assert look() == list(values) and look() == list(values)
    erase(served, f"/zarr/d/{name}/c/0/0")
    assert look() == [None] * 4


def test_an_array_in_place_of_another(served, name):
    """The same path, other chunks: nothing of the old array's is shown as the new one's."""
    for shape, value in (((4, 4), 1), ((2, 8), 2), ((4, 4), 3)):
        put(served, f"/v1/datasets/d/nodes/{name}", document(shape=shape))
        assert data_of(served, name) == [0] * 16
        put(served, f"/zarr/d/{name}/c/0/0", chunk(value))
        assert sum(data_of(served, name)) == 4 * value
        assert served.get(f"/v1/datasets/d/nodes/{name}").json()["array"]["shape"] == list(shape)
        erase(served, f"/v1/datasets/d/nodes/{name}")
        assert data_of(served, name) == 404


# ---- with others under way ----

def whole(server, target, connection, headers=None):
    """The answer; of a starved server, the first one whose object was not replaced each time that it was read."""
    while (answer := server.get(target, headers, connection=connection)).status == 502 and "was replaced while" in answer.json()["detail"]:
        pass
    assert answer.status in (200, 206), answer
    return answer


def first_of(answer):
    return int.from_bytes(answer.body[:2], "little")


ROUTES = {
    "key": lambda server, name, c: first_of(whole(server, f"/zarr/d/{name}/c/0/0", c)),
    "part": lambda server, name, c: first_of(whole(server, f"/zarr/d/{name}/c/0/0", c, {"Range": "bytes=0-1"})),
    "chunk": lambda server, name, c: first_of(whole(server, f"/v1/datasets/d/chunks/{name}?index=0,0&decoded=1", c)),
    "slice": lambda server, name, c: first_of(whole(server, f"/v1/datasets/d/slices/{name}", c)),
    "point": lambda server, name, c: first_of(whole(server, f"/v1/datasets/d/slices/{name}?slice=0,0", c)),
    "json": lambda server, name, c: whole(
        server, f"/v1/datasets/d/slices/{name}?slice=0,0&format=json", c, {"Accept-Encoding": "gzip;q=0"}).json()["data"],
}


@pytest.mark.parametrize("sharded", [False, True], ids=["chunk", "shard"])
def test_readers_never_go_back(served, name, sharded):
    """Each reader remembers what was acknowledged before it asked: it never sees less."""
    name += str(sharded)
    put(served, f"/v1/datasets/d/nodes/{name}", shard_document() if sharded else document())
    routes = {k: v for k, v in ROUTES.items() if not sharded or k not in ("key", "part", "chunk")}
    put(served, f"/zarr/d/{name}/c/0/0", shard(0, 0, 0, 0) if sharded else chunk(0))
    acknowledged = [0]
    done = threading.Event()
    n_looks = dict.fromkeys(routes, 0)

    def write():
        connection = served.connection()
        try:
            for value in range(1, rounds(400, 100)):
                body = shard(value, value, value, value) if sharded else chunk(value)
                put(served, f"/zarr/d/{name}/c/0/0", body, connection=connection)
                acknowledged[0] = value
        finally:
            done.set()
            connection.close()

    def read(route):
        connection = served.connection()
        generator = random.Random(route)
        while not done.is_set() or n_looks[route] == 0:
            least = acknowledged[0]
            found = routes[route](served, name, connection)
            most = acknowledged[0] + 1
            assert least <= found <= most, (route, least, found, most)
            n_looks[route] += 1
            if generator.random() < 0.1:
                served.get(f"/v1/datasets/d/nodes/{name}", connection=connection)
        assert routes[route](served, name, connection) == acknowledged[0]
        connection.close()

    with concurrent.futures.ThreadPoolExecutor(len(routes) + 1) as pool:
        readers = [pool.submit(read, route) for route in routes]
        pool.submit(write).result()
        for reader in readers:
            reader.result()
    assert all(n > 0 for n in n_looks.values()), n_looks


def test_documents_never_go_back(served, name):
    acknowledged = [0]
    done = threading.Event()
    put(served, f"/v1/datasets/d/nodes/{name}", {**GROUP, "attributes": {"n": 0}})
    looks = {
        "node": lambda c: served.get(f"/v1/datasets/d/nodes/{name}", connection=c).json()["metadata"]["attributes"]["n"],
        "coded": lambda c: served.get(
            f"/v1/datasets/d/nodes/{name}?fields=metadata.attributes", connection=c).json()["metadata"]["attributes"]["n"],
        "tree": lambda c: served.get(
            f"/v1/datasets/d/tree/{name}", connection=c).json()["nodes"][0]["metadata"]["attributes"]["n"],
        "key": lambda c: served.get(f"/zarr/d/{name}/zarr.json", connection=c).json()["attributes"]["n"],
    }

    def write():
        connection = served.connection()
        try:
            for n in range(1, rounds(200, 50)):
                target = f"/v1/datasets/d/nodes/{name}" if n % 2 else f"/zarr/d/{name}/zarr.json"
                put(served, target, {**GROUP, "attributes": {"n": n}}, connection=connection)
                acknowledged[0] = n
        finally:
            done.set()
            connection.close()

    def read(look):
        connection = served.connection()
        while not done.is_set():
            least = acknowledged[0]
            found = look(connection)
            assert least <= found <= acknowledged[0] + 1
        assert look(connection) == acknowledged[0]
        connection.close()

    with concurrent.futures.ThreadPoolExecutor(len(looks) + 1) as pool:
        readers = [pool.submit(read, look) for look in looks.values()]
        pool.submit(write).result()
        for reader in readers:
            reader.result()


def test_a_hot_answer_stays_hot_when_others_change(served, name):
    """Equal tags make what is kept good again: nothing is decoded or read anew for a change elsewhere."""
    put(served, f"/v1/datasets/d/nodes/{name}", document([LITTLE, GZIP]))
    put(served, f"/zarr/d/{name}/c/0/0", chunk(5, "gzip"))
    for _ in range(2):
        assert data_of(served, name)[0] == 5
    with served.cost() as cost:
        for i in range(20):
            put(served, f"/zarr/d/{name}-elsewhere/{i}", b"x")
            assert data_of(served, name)[0] == 5
    assert cost["zarrd_decodes_total"] == 0
