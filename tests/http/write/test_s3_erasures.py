"""S3: many objects that are erased together go by one request, and what it tells of each is what becomes of the change."""

import re

import numpy as np
import pytest
from client import BYTES, delete_node, patch_node, put_node
from s3_stub import S3Stub

N = 40  # chunks
GROUP = {"zarr_format": 3, "node_type": "group"}
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [4 * N], "data_type": "uint8", "fill_value": 0,
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "codecs": [{"name": "bytes"}],
         "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}}


@pytest.fixture
def engine():
    with S3Stub() as running:
        yield running


def start(serve, engine, **settings):
    datasets = {"w": {"location": "s3://test/lake", "endpoint": engine.url, "writable": True, "revalidate_ms": 0}}
    server = serve(config={"datasets": datasets, "remote": {"retries": 0, "breaker_ms": 10}, **settings}, environment=engine.environment)
    assert put_node(server, "", GROUP).status in (200, 201)
    assert put_node(server, "x", ARRAY).status == 201
    values = np.arange(1, 4 * N + 1, dtype="u1")
    assert server.request("PUT", "/v1/datasets/w/slices/x?slice=...", BYTES, values.tobytes()).status == 200
    return server


def batches(engine):
    """Erasures of many objects, but for those of the probe."""
    return [request for request in engine.select("POST") if "delete" in request.query and b".zarrd-tmp-" not in request.body]


def single(engine):
    return engine.count("DELETE", r"/lake/x/c/\d+$")


def chunks(engine):
    return {key for key in engine.objects if re.fullmatch(r"lake/x/c/\d+", key)}


def test_the_chunks_of_an_array_go_in_few_requests(serve, engine):
    server = start(serve, engine)
    assert delete_node(server, "x").status == 204
    assert set(engine.objects) == {"lake/zarr.json"}
    sent = batches(engine)
    assert 1 <= len(sent) <= N // 4 and sum(request.body.count(b"<Key>") for request in sent) + single(engine) == N
    assert single(engine) <= 2
    assert all(request.body.count(b"<ETag>") == request.body.count(b"<Key>") for request in sent)


def test_the_chunks_outside_a_smaller_shape_go_and_others_stay(serve, engine):
    server = start(serve, engine)
    assert patch_node(server, "x", {"shape": [40]}).status == 200
    assert chunks(engine) == {f"lake/x/c/{i}" for i in range(10)}
    assert 1 <= len(batches(engine)) <= 8 and single(engine) <= 2


@pytest.mark.parametrize("trait", ["lacks_batches", "ignores_batch_conditions"])
def test_engines_without_them_are_asked_for_each_object(serve, engine, trait):
    """Tags that are not obeyed are found out by the probe, so that nothing of others is erased."""
    engine.switch(trait)
    server = start(serve, engine)
    assert delete_node(server, "x").status == 204
    assert set(engine.objects) == {"lake/zarr.json"}
    assert (len(batches(engine)), single(engine)) == (0, N)


# What the engine answers to a batch that it does not read: each object is asked for by itself.
UNREAD = [400, 403, 404, 405, 411, 501]


@pytest.mark.parametrize("status", UNREAD)
def test_a_batch_that_is_refused_as_a_request_is_none(serve, engine, status):
    server = start(serve, engine)
    engine.fault("status", status=status, method="POST", times=None, when=lambda request: "delete" in request.query)
    assert delete_node(server, "x").status == 204
    assert set(engine.objects) == {"lake/zarr.json"}
    assert single(engine) == N


FAULTS = [dict(name="status", status=500), dict(name="status", status=503), dict(name="status", status=429), dict(name="html"),
          dict(name="reset", at="request"), dict(name="close"), dict(name="truncated"),
          dict(name="status", status=200, body=b"<DeleteResult/>"), dict(name="status", status=200, body=b"<DeleteResult><Deleted>"),
          dict(name="status", status=204), dict(name="status", status=307)]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: "-".join(str(value) for value in fault.values()))
def test_a_batch_that_fails_is_no_success(serve, engine, fault):
    """The array is there with all its bytes, or it is gone with all of them; and the answer says which."""
    server = start(serve, engine)
    before = dict(engine.objects)
    engine.fault(method="POST", times=1, when=lambda request: "delete" in request.query, **fault)
    status = delete_node(server, "x").status
    if status == 204:  # what was asked had happened all the same, or other requests have done it
        assert set(engine.objects) == {"lake/zarr.json"}
    else:
        assert status in (502, 503)
        assert {key: found.data for key, found in engine.objects.items()} == {key: found.data for key, found in before.items()}


@pytest.mark.parametrize("code, statuses", [("AccessDenied", (502,)), ("InternalError", (502, 503)), ("SlowDown", (502, 503)),
                                            ("PreconditionFailed", (204,)), (None, (502,))])
def test_a_key_that_stays_is_told(serve, engine, code, statuses):
    server = start(serve, engine)
    before = {key: found.data for key, found in engine.objects.items()}
    engine.erase_errors = {"lake/x/c/7": code}
    answer = delete_node(server, "x")
    assert answer.status in statuses
    if answer.status == 204:  # another writer's object is left to him
        assert set(engine.objects) == {"lake/zarr.json", "lake/x/c/7"}
    else:
        assert answer.code in ("store_error", "overloaded") and "secret" not in answer.body.decode()
        assert {key: found.data for key, found in engine.objects.items()} == before
