"""Datasets of one bucket, with the same prefix or one within the other: what is written through one is seen through the others at once."""

import concurrent.futures

import numpy as np
import pytest
from client import BYTES, JSON, put_node, wait_until
from s3_stub import S3Stub

ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint8", "fill_value": 0,
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "codecs": [{"name": "bytes"}],
         "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}
# Where each dataset is, and what the array has for a path there.
PLACES = {"same": ("lake", "g/x"), "above": ("", "lake/g/x"), "below": ("lake/g", "x"), "array": ("lake/g/x", "")}


@pytest.fixture(params=["memory", "disk"])
def server(request, serve, tmp_path):
    """All trust for ever what they have read, and what was absent."""
    with S3Stub() as engine:
        for key in ("zarr.json", "lake/zarr.json", "lake/g/zarr.json"):
            engine.store(key, b'{"zarr_format": 3, "node_type": "group"}')
        common = {"endpoint": engine.url, "revalidate_ms": 10**9, "absent_ms": 10**9}
        places = {name: {"location": f"s3://test/{prefix}", **common} for name, (prefix, _) in PLACES.items()}
        cache = {"disk_path": str(tmp_path), "disk_bytes": "64MiB"} if request.param == "disk" else {}
        writable = {"w": {"location": "s3://test/lake", "writable": True, **common}}
        server = serve(config={"datasets": {**writable, **places}, "cache": cache, "remote": {"hedge_percent": 0}}, environment=engine.environment)
        server.engine = engine
        yield server


def key_of(name, key):
    path = PLACES[name][1]
    return f"/zarr/{name}/{path}/{key}" if path else f"/zarr/{name}/{key}"


def seen(server, name):
    """The array through a dataset: its first chunk, its elements, and what its node says of its shape."""
    path = PLACES[name][1]
    chunk = server.get(key_of(name, "c/0"))
    elements = server.get(f"/v1/datasets/{name}/slices/{path}?slice=...")
    node = server.get(f"/v1/datasets/{name}/nodes/{path}", JSON)
    return (chunk.body if chunk.status == 200 else chunk.status, elements.body if elements.status == 200 else elements.status,
            node.json()["array"]["shape"] if node.status == 200 else node.status)


def write(server, values):
    assert server.request("PUT", "/v1/datasets/w/slices/g/x?slice=...", BYTES, values.tobytes()).status == 200


@pytest.mark.parametrize("name", PLACES)
def test_writes_through_one_dataset_show_in_the_others(server, name):
    assert seen(server, name) == (404, 404, 404)
    assert put_node(server, "g/x", ARRAY).status == 201
    assert seen(server, name) == (404, bytes(8), [8])
    for n in (1, 2, 3):
        values = np.full(8, n, "u1")
        write(server, values)
        assert seen(server, name) == (values[:4].tobytes(), values.tobytes(), [8])
    assert server.request("PATCH", "/v1/datasets/w/nodes/g/x", {"Content-Type": "application/merge-patch+json"}, b'{"shape": [4]}').status == 200
    assert seen(server, name) == (values[:4].tobytes(), values[:4].tobytes(), [4])
    assert server.request("DELETE", "/v1/datasets/w/nodes/g/x").status == 204
    assert seen(server, name) == (404, 404, 404)


def test_a_read_that_began_before_is_joined_by_nobody_after(server):
    assert put_node(server, "g/x", ARRAY).status == 201
    write(server, np.full(8, 1, "u1"))
    held = server.engine.fault("hold", r"/g/x/c/0$", method="GET", times=1)
    target = "/v1/datasets/below/slices/x?slice=..."
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        early = pool.submit(server.get, target)
        wait_until(lambda: held.n == 1)
        write(server, np.full(8, 2, "u1"))
        late = pool.submit(server.get, target)
        wait_until(lambda: late.done() or server.metrics()["http_requests_in_flight"] == 3)
        held.release()
        assert late.result().body == bytes([2] * 8)
        assert early.result().body in (bytes([1] * 8), bytes([2] * 8))
    assert server.get(target).body == bytes([2] * 8)
