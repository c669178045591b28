"""Every problem code of reading, with the members that a program needs (RFC 9457)."""

import json
import os
import signal

import numpy as np
import pytest
from arrays import write_array
from client import DEADLINE_S
from documents import GROUP, GZIP, LITTLE
from live import RawClient

ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [6, 8], "data_type": "uint8",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 4]}},
         "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "codecs": [{"name": "bytes"}]}

DOCUMENTS = {
    "": GROUP,
    "a": ARRAY,
    "g": GROUP,
    "scalar": {**ARRAY, "shape": [], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}}},
    "corrupt": {**ARRAY, "codecs": [{"name": "bytes"}, GZIP]},
    "unknown_codec": {**ARRAY, "codecs": [{"name": "bytes"}, {"name": "example.squash"}]},
    "unknown_type": {**ARRAY, "data_type": "example.type"},
    "unknown_grid": {**ARRAY, "chunk_grid": {"name": "example.grid", "configuration": {}}},
    "unknown_keys": {**ARRAY, "chunk_key_encoding": {"name": "example.keys"}},
    "unknown_member": {**ARRAY, "example_member": 1},
    "unknown_extension": {**ARRAY, "extensions": ["example.a", {"name": "example.b", "must_understand": False}, "example.c"]},
    "invalid": {**ARRAY, "fill_value": 256, "shape": [6, -1]},
    "big": {**ARRAY, "shape": [2**40, 2**20], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1000, 1000]}}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from live import Server
    root = tmp_path_factory.mktemp("problems")
    for path, document in DOCUMENTS.items():
        (root / path).mkdir(parents=True, exist_ok=True)
        (root / path / "zarr.json").write_text(json.dumps(document))
    (root / "not_json").mkdir()
    (root / "not_json" / "zarr.json").write_text('{"zarr_format": 3,')
    (root / "corrupt/c/0").mkdir(parents=True)
    (root / "corrupt/c/0/0").write_bytes(b"\x1f\x8b nonsense")
    (root / "loop").mkdir()
    (root / "loop" / "zarr.json").symlink_to("zarr.json")
    (root / "a/c/1").mkdir(parents=True)
    (root / "a/c/1/0").symlink_to("0")
    running = Server(f"p={root}")
    running.root = root
    yield running
    running.stop()


S = "/v1/datasets/p/slices/"
C = "/v1/datasets/p/chunks/"

PROBLEMS = [
    # target, status, code, members
    ("/nothing", 404, "no_such_route", {}),
    ("/v1/nothing", 404, "no_such_route", {}),
    ("/v1/datasets/other", 404, "dataset_not_found", {}),
    ("/v1/datasets/other/nodes/a", 404, "dataset_not_found", {}),
    ("/zarr/other/zarr.json", 404, "dataset_not_found", {}),
    ("/v1/datasets/p/nodes/absent", 404, "node_not_found", {}),
    (S + "absent", 404, "node_not_found", {}),
    ("/zarr/p/a/c/0/0", 404, "key_not_found", {}),
    (C + "a?index=0,0", 404, "chunk_absent", {}),
    (S + "a?slice=1,2,3", 400, "bad_slice", {"position": 4}),
    (S + "a?slice=0:1,x", 400, "bad_slice", {"position": 4}),
    (S + "a?slice=::0", 400, "bad_slice", {"position": 2}),
    (S + "a?slice=...,...", 400, "bad_slice", {"position": 4}),
    (S + "a?slice=1:2:3:4", 400, "bad_slice", {"position": 5}),
    (S + "a?slice=[0:1", 400, "bad_slice", {"position": 4}),
    (S + "a?slice=1.5", 400, "bad_slice", {"position": 1}),
    (S + "a?slice=,", 400, "bad_slice", {"position": 0}),
    (S + "a?slice=6,0", 400, "out_of_bounds", {"dim": 0, "index": 6, "size": 6}),
    (S + "a?slice=:,-9", 400, "out_of_bounds", {"dim": 1, "index": -9, "size": 8}),
    (S + "a?slce=1", 400, "unknown_parameter", {}),
    ("/v1?pretty=maybe", 400, "bad_parameter", {}),
    (S + "a?slice=1&slice=2", 400, "unknown_parameter", {}),
    (S + "a?expected_shape=x", 400, "bad_parameter", {}),
    (S + "a?slice=0:2&expected_shape=3,8", 409, "shape_mismatch", {"expected": "3,8", "found": "2,8"}),
    (S + "a?format=jpeg", 406, "not_acceptable", {}),
    (S + "g", 400, "not_an_array", {}),
    (C + "g?index=0", 400, "not_an_array", {}),
    (C + "a?index=2,0", 400, "out_of_bounds", {"dim": 0, "index": 2, "size": 2}),
    (C + "a?index=0", 400, "bad_parameter", {}),
    (C + "a?index=x,0", 400, "bad_parameter", {}),
    (C + "a?index=0,0&level=middle", 400, "bad_parameter", {}),
    (S + "corrupt?slice=0,0", 500, "corrupt_chunk", {}),
    (C + "corrupt?index=0,0&decoded=1", 500, "corrupt_chunk", {}),
    (S + "unknown_codec", 422, "unsupported_codec", {"names": ["example.squash"]}),
    (S + "unknown_type", 422, "unsupported_data_type", {"names": ["example.type"]}),
    (S + "unknown_grid", 422, "unsupported_grid", {"names": ["example.grid"]}),
    (S + "unknown_keys", 422, "unsupported_grid", {"names": ["example.keys"]}),
    (S + "unknown_member", 422, "unsupported_extension", {"names": ["example_member"]}),
    (S + "unknown_extension", 422, "unsupported_extension", {"names": ["example.a", "example.c"]}),
    (S + "invalid", 422, "invalid_metadata", {}),
    (S + "not_json", 422, "invalid_metadata", {}),
    (S + "big", 413, "too_large", {}),
    ("/v1/datasets/p/nodes/a/../g", 400, "bad_path", {}),
    ("/v1/datasets/p/nodes/a%2fg", 400, "bad_path", {}),
    ("/v1/datasets/p/nodes/a%00", 400, "bad_path", {}),
    ("/v1/datasets/p/nodes/%ff", 400, "bad_path", {}),
    ("/v1/datasets/p/nodes//a", 400, "bad_path", {}),
    ("/v1/datasets//p", 400, "bad_path", {}),
    ("/zarr/p/%2e%2e/etc", 400, "bad_path", {}),
    ("/v1/datasets/p/tree/?depth=-1", 400, "bad_parameter", {}),
    ("/v1/datasets/p/tree/?node_type=leaf", 400, "bad_parameter", {}),
    ("/v1/datasets/p/tree/?cursor=!", 400, "bad_parameter", {}),
    ("/v1/datasets/p/tree/absent", 404, "node_not_found", {}),
    ("/zarr/p/a/c/1/0", 502, "store_error", {}),  # a link that leads to itself: not a missing key
    ("/v1/datasets/p/nodes/loop", 502, "store_error", {}),
    (S + "a?slice=3,0", 502, "store_error", {}),
    ("/" + "x" * 9000, (414, 431), None, {}),
]


@pytest.mark.parametrize("target, status, code, members", PROBLEMS, ids=lambda value: str(value)[:60])
def test_problem(server, target, status, code, members):
    answer = server.get(target)
    if code is None:
        assert answer.status in status
        return
    assert answer.status == status, answer
    document = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert document["code"] == code
    assert document["type"] == f"urn:zarrd:problem:{code}"
    assert document["status"] == status
    assert document["title"] and document["detail"]
    assert document["instance"] == answer.headers["x-request-id"]
    assert answer.headers["access-control-allow-origin"] == "*"
    for name, value in members.items():
        assert document[name] == value, document
    head = server.head(target)
    # HEAD reads no chunk, so it cannot know that one does not decode.
    assert head.status == (200 if code == "corrupt_chunk" else status) and head.body == b""
    assert server.get("/livez").status == 200


def test_faults_of_a_document_come_all_at_once_with_their_places(server):
    document = server.get(S + "invalid").json()
    assert {error["pointer"] for error in document["errors"]} >= {"/fill_value", "/shape/1"}
    assert all(error["code"] and error["detail"] for error in document["errors"])
    assert next(error for error in document["errors"] if error["pointer"] == "/fill_value")["found"] == "256"
    assert document["names"] == []  # nothing in it is unknown


def test_a_refused_node_can_still_be_looked_at(server):
    answer = server.get("/v1/datasets/p/nodes/unknown_codec")
    assert answer.status == 200
    refused = answer.json()["refused"]
    assert refused["code"] == "unsupported_codec" and refused["names"] == ["example.squash"]
    assert refused["pointer"].startswith("/codecs/1")
    assert server.get("/zarr/p/unknown_codec/zarr.json").json() == DOCUMENTS["unknown_codec"]


def test_a_slice_too_large_comes_with_suggestions_that_cover_it(serve, tmp_path):
    values = np.arange(40 * 50, dtype="<f4").reshape(40, 50)
    write_array(tmp_path / "a", (40, 50), (8, 10), [LITTLE], values)
    server = serve(f"p={tmp_path}", "--set", "limits.slice_bytes=2KiB")
    with server.cost() as cost:
        answer = server.get(S + "a?slice=3:39")
    assert cost["zarrd_store_reads_total"] <= 1  # the document, no chunk
    document = answer.json()
    assert answer.code == "too_large" and answer.status == 413
    assert document["limit"] == 2048 and document["requested"] == 36 * 50 * 4
    assert document["n_suggestions"] == len(document["suggestions"]) <= 64
    seen = np.zeros((40, 50), dtype=int)
    for suggestion in document["suggestions"]:
        part = server.get(S + "a?slice=" + suggestion)
        assert part.status == 200, part
        box = tuple(slice(*(int(n) for n in item.split(":"))) for item in suggestion.split(","))
        seen[box] += 1
        assert part.body == np.ascontiguousarray(values[box]).tobytes()
    assert (seen[3:39] == 1).all() and (seen[:3] == 0).all() and (seen[39:] == 0).all()


@pytest.mark.parametrize("method, target, status, code", [
    ("PUT", "/zarr/p/a/zarr.json", 405, "read_only"),
    ("DELETE", "/zarr/p/a/zarr.json", 405, "read_only"),
    ("PUT", "/v1/datasets/p/nodes/a", 405, "read_only"),
    ("PATCH", "/v1/datasets/p/nodes/a", 405, "read_only"),
    ("DELETE", "/v1/datasets/p/nodes/a", 405, "read_only"),
    ("PUT", S + "a", 405, "read_only"),
    ("PUT", C + "a?index=0,0", 405, "read_only"),
    ("DELETE", C + "a?index=0,0", 405, "read_only"),
    ("DELETE", "/v1/limits", 405, "method_not_allowed"),
    ("POST", "/livez", 405, "method_not_allowed"),
    ("TRACE", "/livez", 405, "method_not_allowed"),
    ("QUERY", "/v1/datasets", 405, "method_not_allowed"),
])
def test_methods_that_do_not_apply_say_which_do(server, method, target, status, code):
    answer = server.request(method, target, body=b"" if method in ("PUT", "POST", "PATCH") else None)
    assert answer.status == status, answer
    assert answer.code == code
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize("body, code, pointer", [
    (b"{", "bad_body", None),
    (b"[]", "bad_body", None),
    (b'{"slice": 5}', "bad_body", "/slice"),
    (b'{"slice": ["0", 1.5]}', "bad_body", "/slice/1"),
    (b'{"slic": "0"}', "bad_body", "/slic"),
    (b'{"slice": "x"}', "bad_slice", None),
])
def test_a_bad_body_names_its_place(server, body, code, pointer):
    answer = server.post(S + "a", body)
    assert answer.status == 400 and answer.code == code, answer
    if pointer:
        assert answer.json()["pointer"] == pointer
    assert not answer.json()["detail"].startswith(" ")


def test_a_body_that_is_no_object_is_told_so(server):
    for target in (S + "a", C + "a"):
        assert server.post(target, b"[]").json()["detail"] == "the body: expected an object, found an array"
    answer = server.post(C + "a", b'{"indices": [], "indeces": []}').json()
    assert answer["pointer"] == "/indeces" and answer["found"] == "an array"


def test_a_body_of_another_type_is_refused(server):
    answer = server.request("POST", S + "a", {"Content-Type": "text/csv"}, b"0")
    assert answer.status == 415 and answer.code == "unsupported_media_type"
    assert "application/json" in answer.json()["allowed"]


def test_raw_keys_that_are_not_served_are_forbidden(serve, tmp_path):
    write_array(tmp_path / "a", (4,), (4,), [LITTLE])
    server = serve(config={"datasets": {"p": {"location": str(tmp_path), "allow_keys": False}}})
    answer = server.get("/zarr/p/a/zarr.json")
    assert answer.status == 403 and answer.code == "forbidden"
    assert server.get("/v1/datasets/p/nodes/a").status == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give the server another user's file")
def test_an_unreadable_file_is_a_fault_of_the_store(tmp_path):
    """The server runs as nobody, the chunk belongs to root: 502, never 404 or fill values."""
    import subprocess
    import time
    import urllib.error
    import urllib.request

    from live import BINARY
    os.chmod(tmp_path, 0o755)
    for parent in tmp_path.parents:
        if str(parent).startswith("/tmp/"):
            os.chmod(parent, 0o755)
    write_array(tmp_path / "a", (4,), (4,), [LITTLE], np.arange(4, dtype="<f4"))
    os.chmod(tmp_path / "a/c/0", 0o000)
    port_file = tmp_path / "out" / "port"
    port_file.parent.mkdir()
    os.chmod(port_file.parent, 0o777)
    process = subprocess.Popen(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(BINARY), "--listen", "127.0.0.1:0",
         "--port-file", str(port_file), f"p={tmp_path}"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + DEADLINE_S
        while not port_file.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        if process.poll() is not None:
            pytest.skip("the build directory is not readable for another user")
        for target in ("/zarr/p/a/c/0", S + "a"):
            with pytest.raises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(f"http://127.0.0.1:{port_file.read_text().strip()}{target}")
            assert error.value.code == 502 and json.load(error.value)["code"] == "store_error"
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


def test_no_request_breaks_a_log_line_or_commands_a_terminal(serve, tmp_path):
    server = serve(f"work={tmp_path}")
    for target in ["/zarr/work/\u009b31m", "/zarr/work/\u00e9", "/zarr/work/a%0ab"]:
        client = RawClient(server.port)
        client.send(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        assert client.receive()[0] in (400, 404)
    client = RawClient(server.port)
    client.send(b"GET /zarr/work/a\x80b HTTP/1.1\r\nHost: a\r\n\r\n")
    assert client.receive()[0] == 400
    server.process.send_signal(signal.SIGTERM)  # which writes what waits
    server.process.wait(DEADLINE_S)
    targets = [line.split()[3] for line in server.log.splitlines() if " GET " in line]
    assert targets == ["/zarr/work/\\u{9b}31m", "/zarr/work/\u00e9", "/zarr/work/a%0ab", "/zarr/work/a\\x80b"]
