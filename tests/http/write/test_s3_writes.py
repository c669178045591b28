"""S3: what is written to a bucket is what a directory would have, on engines that obey conditions; on those that do not, a change that
needs one is refused."""

import concurrent.futures
import json
import random

import numpy as np
import pytest
from client import BYTES, JSON, delete_node, patch_node, put_node
from s3_stub import S3Stub

GROUP = {"zarr_format": 3, "node_type": "group"}
ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [16], "data_type": "uint8", "fill_value": 0,
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "codecs": [{"name": "bytes"}],
         "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "dimension_names": ["t"]}
# Traits that change nothing for writers.
WRITE_TRAITS = ["unquoted_if_match", "conflicts", "unquoted_etag", "unordered", "no_key_below_key"]


@pytest.fixture
def engine():
    with S3Stub() as running:
        yield running


def start(serve, engine, environment=None, **members):
    datasets = {"w": {"location": "s3://test/lake", "endpoint": engine.url, "writable": True, "revalidate_ms": 0, **members}}
    return serve(config={"datasets": datasets}, environment={**engine.environment, **(environment or {})})


def put_slice(server, values, target="x", query="?slice=...", **headers):
    return server.request("PUT", f"/v1/datasets/w/slices/{target}{query}", {**BYTES, **headers}, np.asarray(values, "u1").tobytes())


def get_slice(server, target="x"):
    return np.frombuffer(server.get(f"/v1/datasets/w/slices/{target}?slice=...").body, "u1")


def exercise(server):
    """Changes of every kind; what the store holds in the end."""
    assert put_node(server, "", GROUP).status in (200, 201)
    assert put_node(server, "g/x", ARRAY).status == 201
    assert put_node(server, "g/x", ARRAY, **{"If-None-Match": "*"}).status == 412
    assert put_slice(server, range(16), "g/x").status == 200
    assert put_slice(server, [7] * 3, "g/x", "?slice=3:6").status == 200  # parts of two chunks
    assert put_slice(server, [9] * 4, "g/x", "?append=t").status == 200
    assert list(get_slice(server, "g/x")) == [0, 1, 2, 7, 7, 7, *range(6, 16), 9, 9, 9, 9]
    assert patch_node(server, "g/x", {"attributes": {"units": "K"}}).status == 200
    assert server.request("PUT", "/zarr/w/g/note", BYTES, b"n" * 70_000).status == 200
    assert server.get("/zarr/w/g/note").body == b"n" * 70_000
    assert server.request("PUT", "/v1/datasets/w/chunks/g/x?index=1&decoded=1", BYTES, b"\x05" * 4).status == 200
    assert server.request("POST", "/v1/datasets/w/consolidate/").status == 200
    return json.loads(server.get("/v1/datasets/w/tree/").body)


@pytest.mark.parametrize("trait", [None, *WRITE_TRAITS])
def test_changes_leave_what_they_leave_in_a_directory(serve, engine, tmp_path, trait):
    if trait:
        engine.switch(trait)
    tree = exercise(start(serve, engine))
    (tmp_path / "plain").mkdir()
    plain = serve(config={"datasets": {"w": {"location": f"{tmp_path}/plain", "writable": True, "revalidate_ms": 0}}})
    assert exercise(plain) == tree
    files = {path.relative_to(tmp_path / "plain").as_posix(): path.read_bytes() for path in (tmp_path / "plain").rglob("*") if path.is_file()}
    files = {name: data for name, data in files.items() if "/.zarrd" not in f"/{name}"}
    assert {key.removeprefix("lake/"): found.data for key, found in engine.objects.items()} == files


def test_erasures_leave_nothing(serve, engine):
    server = start(serve, engine)
    exercise(server)
    assert server.request("DELETE", "/v1/datasets/w/chunks/g/x?index=0").status == 204
    assert "lake/g/x/c/0" not in engine.objects
    assert delete_node(server, "g/x").status == 204
    assert delete_node(server, "g", "?recursive=1").status == 204
    assert set(engine.objects) == {"lake/zarr.json"}


@pytest.mark.parametrize("trait", ["ignores_conditions", "races"])
def test_changes_that_need_conditions_are_refused_where_they_are_not_obeyed(serve, engine, trait):
    engine.switch(trait)
    server = start(serve, engine)
    answer = put_node(server, "x", ARRAY)
    assert (answer.status, answer.code) == (501, "store_unsupported")
    assert "If-None-Match" in answer.json()["detail"]
    assert not engine.objects  # nothing of the probe is left
    assert server.get("/zarr/w/zarr.json").status == 404


def test_erasures_that_need_conditions_are_refused_where_they_are_not_obeyed(serve, engine):
    engine.switch("ignores_delete_conditions")
    server = start(serve, engine)
    exercise(server)
    before = dict(engine.objects)
    answer = delete_node(server, "g/x")
    if answer.status == 501:
        assert answer.code == "store_unsupported" and engine.objects == before
    else:
        assert answer.status == 204


def test_two_servers_lose_no_edit(serve, engine):
    """Each writes its own elements of the same chunks."""
    servers = [start(serve, engine) for _ in range(2)]
    assert put_node(servers[0], "x", ARRAY).status == 201
    assert put_slice(servers[0], [0] * 16).status == 200

    def write(at):
        return [put_slice(servers[at % 2], [at + 1], query=f"?slice={at}:{at + 1}").status for _ in range(3)]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(statuses == [200] * 3 for statuses in pool.map(write, range(16)))
    assert list(get_slice(servers[0])) == list(range(1, 17))


FAILURES = [dict(name="status", status=500), dict(name="status", status=503), dict(name="reset", at="request"), dict(name="close")]


@pytest.mark.parametrize("fault", FAILURES, ids=lambda fault: "-".join(str(value) for value in fault.values()))
def test_a_put_whose_success_is_not_told_is_found_out(serve, engine, fault):
    """The engine has stored the object of which it says that it has failed."""
    server = start(serve, engine)
    assert put_node(server, "x", ARRAY).status == 201
    assert put_slice(server, range(16)).status == 200
    engine.fault(path="/x/c/2$", method="PUT", times=None, **fault)
    assert put_slice(server, [1] * 16).status == 200
    assert list(get_slice(server)) == [1] * 16


@pytest.mark.parametrize("fault", FAILURES, ids=lambda fault: "-".join(str(value) for value in fault.values()))
def test_a_put_of_which_nothing_is_known_is_told_and_the_others_are_undone(serve, engine, fault):
    server = start(serve, engine)
    assert put_node(server, "x", ARRAY).status == 201
    assert put_slice(server, range(16)).status == 200
    rule = engine.fault(path="/x/c/2$", method="PUT", times=None, **fault)
    blind = engine.fault("status", path="/x/c/2$", method="GET", times=None, after=1, status=500)  # the old object is read first
    answer = put_slice(server, [1] * 16)
    assert (answer.status, answer.code) in ((502, "store_error"), (503, "overloaded"))
    engine.rules = [other for other in engine.rules if other not in (rule, blind)]
    found = list(get_slice(server))
    assert found[:8] + found[12:] == [*range(8), *range(12, 16)]


def test_a_full_store_is_507(serve, engine):
    server = start(serve, engine)
    assert put_node(server, "x", ARRAY).status == 201
    engine.fault_code("QuotaExceeded", 403, path="/x/c/", method="PUT", times=None)
    answer = put_slice(server, range(16))
    assert (answer.status, answer.code) == (507, "no_space")


def test_a_bucket_that_refuses_writes_says_so(serve, engine):
    server = start(serve, engine)
    engine.fault_code("AccessDenied", 403, method="PUT DELETE", times=None)
    answer = put_node(server, "x", ARRAY)
    assert (answer.status, answer.code) == (502, "store_error") and "AccessDenied" in answer.json()["detail"]
    assert not engine.objects


@pytest.mark.parametrize("fault", FAILURES, ids=lambda fault: "-".join(str(value) for value in fault.values()))
def test_an_erasure_whose_success_is_not_told_is_found_out(serve, engine, fault):
    """The engine has erased the object of which it says that it has failed."""
    server = start(serve, engine)
    assert put_node(server, "x", ARRAY).status == 201
    assert put_slice(server, range(16)).status == 200
    engine.fault(path="/x/c/2$", method="DELETE", times=None, **fault)
    assert server.request("DELETE", "/v1/datasets/w/chunks/x?index=2").status == 204
    assert "lake/x/c/2" not in engine.objects


# Uploads in parts

BIG = random.Random(7).randbytes((20 << 20) + 5)


def put_big(server, body=BIG, **headers):
    return server.request("PUT", "/zarr/w/big", {**BYTES, **headers}, body)


def puts_of(engine):
    """How the object came: numbers of its parts, or [None] for a single request."""
    return sorted((int(request.query.get("partNumber", 0)) for request in engine.select("PUT", "/lake/big$")))


@pytest.mark.parametrize("trait", [None, "unquoted_if_match", "conflicts", "unquoted_etag"])
def test_a_large_body_comes_in_parts_and_its_condition_holds(serve, engine, trait):
    if trait:
        engine.switch(trait)
    server = start(serve, engine)
    assert put_big(server, **{"If-None-Match": "*"}).status == 200
    assert engine.objects["lake/big"].data == BIG and engine.objects["lake/big"].etag.endswith('-3"')
    assert puts_of(engine) in ([1, 2, 3], [1, 1, 2, 2, 3, 3])
    assert put_big(server, BIG[::-1], **{"If-None-Match": "*"}).status == 412
    etag = server.get("/zarr/w/big").headers["etag"]
    assert put_big(server, BIG[1:], **{"If-Match": etag}).status == 200
    assert put_big(server, BIG[2:], **{"If-Match": etag}).status == 412
    assert server.get("/zarr/w/big").body == BIG[1:] and not engine.uploads
    assert set(engine.objects) == {"lake/big"}  # nothing of the probes is left


@pytest.mark.parametrize("trait", ["ignores_complete_conditions", "lacks_uploads"])
def test_a_condition_that_completion_does_not_obey_is_that_of_a_single_request(serve, engine, trait):
    engine.switch(trait)
    server = start(serve, engine)
    assert put_big(server, **{"If-None-Match": "*"}).status == 200
    assert puts_of(engine) == [0] and engine.objects["lake/big"].data == BIG
    assert put_big(server, BIG[1:], **{"If-None-Match": "*"}).status == 412
    assert engine.objects["lake/big"].data == BIG and not engine.uploads


@pytest.mark.parametrize("fault", FAILURES, ids=lambda fault: "-".join(str(value) for value in fault.values()))
def test_a_part_that_fails_once_is_sent_again(serve, engine, fault):
    server = start(serve, engine)
    engine.fault(path="/lake/big$", method="PUT", when=lambda request: request.query.get("partNumber") == "2", **fault)
    assert put_big(server).status == 200
    assert engine.objects["lake/big"].data == BIG and not engine.uploads


def completes(request):
    return request.method == "POST" and "uploadId" in request.query


@pytest.mark.parametrize("fault", FAILURES, ids=lambda fault: "-".join(str(value) for value in fault.values()))
def test_a_completion_whose_success_is_not_told_is_found_out(serve, engine, fault):
    server = start(serve, engine)
    engine.fault(path="/lake/big$", when=completes, times=None, **fault)
    assert put_big(server).status == 200
    assert engine.objects["lake/big"].data == BIG and not engine.uploads


def test_a_completion_that_fails_with_200_is_a_failure_and_is_aborted(serve, engine):
    engine.switch("complete_fails_late")
    server = start(serve, engine)
    answer = put_big(server)
    assert (answer.status, answer.code) in ((502, "store_error"), (503, "overloaded")), answer
    assert not engine.objects and not engine.uploads


@pytest.mark.parametrize("code, status", [("AccessDenied", 403), ("QuotaExceeded", 403), ("NoSuchUpload", 404)])
def test_an_upload_that_fails_is_aborted(serve, engine, code, status):
    server = start(serve, engine)
    engine.fault_code(code, status, path="/lake/big$", method="PUT", times=None, when=lambda request: request.query.get("partNumber") == "3")
    answer = put_big(server)
    assert (answer.status, answer.code) == ((507, "no_space") if code == "QuotaExceeded" else (502, "store_error"))
    assert code in answer.json()["detail"] and not engine.objects and not engine.uploads
