"""The audit file: every change and every refused credential, and no change that is not recorded."""

import hashlib
import json
import os
import signal
import stat
import subprocess

import numpy as np
import pytest
from arrays import write_values
from client import DEADLINE_S, JSON, soon, wait_until
from live import BINARY

GROUP = b'{"zarr_format": 3, "node_type": "group"}'
SECRET = "a-token-that-nobody-may-read"
WRONG = "another-one-that-is-wrong"


def settings(folder, audit):
    store = folder / "store"
    store.mkdir()
    (store / "zarr.json").write_bytes(GROUP)
    write_values(store / "a", np.arange(8.0), [4])
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps({"tokens": [{"name": "ada", "sha256": hashlib.sha256(SECRET.encode()).hexdigest(), "scopes": ["read", "write"]},
                                             {"name": "bob", "sha256": hashlib.sha256(b"bob").hexdigest(), "scopes": ["read"]}]}))
    tokens.chmod(0o600)
    return {"datasets": {"w": {"location": str(store), "writable": True}, "r": {"location": str(store)}},
            "access": {"tokens_file": str(tokens), "anonymous": "write"}, "log": {"audit_file": str(audit)}, "http": {"trusted_proxies": "127.0.0.1"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def server(serve_module, folder):
    return serve_module(config=settings(folder, folder / "audit"))


@pytest.fixture
def own(serve, tmp_path):
    """A server of the test's own."""
    return serve(config=settings(tmp_path, tmp_path / "audit"))


def lines_of(path):
    return [json.loads(line) for line in path.read_bytes().decode("ascii").splitlines()]


def recorded(path, answer):
    """The lines of a request: all of them are there when it is answered."""
    return [line for line in lines_of(path) if line.get("id") == answer.headers["x-request-id"]]


def ada(**more):
    return {"Authorization": f"Bearer {SECRET}", **JSON, **more}


def put(server, name, headers=None):
    return server.request("PUT", f"/v1/datasets/w/nodes/{name}", {**JSON, **(headers or {})}, GROUP)


def test_a_change_has_a_line_before_and_one_after(server, folder):
    answer = put(server, "b", {**ada(), "X-Forwarded-For": "203.0.113.9"})
    assert answer.status == 201
    begin, end = recorded(folder / "audit", answer)
    shared = {"id": answer.headers["x-request-id"], "name": "ada", "from": "token", "client": "203.0.113.9", "method": "PUT",
              "path": "/v1/datasets/w/nodes/b"}
    assert begin.pop("time") <= end.pop("time")
    assert begin == {"state": "begin", **shared}
    assert end == {"state": "end", **shared, "status": 201, "bytes": len(GROUP), "after": answer.headers["etag"]}
    assert stat.S_IMODE((folder / "audit").stat().st_mode) == 0o600


def test_tags_before_and_after_are_there(server, folder):
    first = server.request("PUT", "/zarr/w/k", {}, b"one")
    second = server.request("PUT", "/zarr/w/k", {"If-Match": first.headers["etag"]}, b"two2")
    end = recorded(folder / "audit", second)[1]
    assert (end["before"], end["after"], end["bytes"]) == (first.headers["etag"], second.headers["etag"], 4) and "name" not in end
    failed = server.request("PUT", "/zarr/w/k", {"If-Match": first.headers["etag"]}, b"three")
    end = recorded(folder / "audit", failed)[1]
    assert end["status"] == 412 and end["before"] == second.headers["etag"] and "after" not in end
    gone = server.request("DELETE", "/zarr/w/k", {"If-Match": second.headers["etag"]})
    assert recorded(folder / "audit", gone)[1]["before"] == second.headers["etag"]


@pytest.mark.parametrize("method, target, body", [
    ("PUT", "/v1/datasets/w/slices/a?slice=0:8", np.zeros(8).tobytes()), ("PUT", "/v1/datasets/w/chunks/a?index=0", np.zeros(4).tobytes()),
    ("PATCH", "/v1/datasets/w/nodes/a", b'{"attributes": {"x": 1}}'), ("DELETE", "/v1/datasets/w/chunks/a?index=1", None),
    ("POST", "/v1/datasets/w/consolidate/", b""), ("PUT", "/v1/datasets/w/nodes/broken", b"{"), ("DELETE", "/zarr/w/nothing", None)])
def test_whatever_may_change_something_is_recorded(server, folder, method, target, body):
    headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
    answer = server.request(method, target, headers, body)
    begin, end = recorded(folder / "audit", answer)
    assert (begin["state"], end["state"], end["status"]) == ("begin", "end", answer.status)
    assert begin["path"] == target.partition("?")[0]


def test_a_change_of_nothing_is_not_recorded(server, folder):
    for method, target in (("GET", "/zarr/w/zarr.json"), ("POST", "/v1/datasets/w/slices/a"), ("PUT", "/zarr/r/b"), ("PUT", "/zarr/nothing/b"),
                           ("OPTIONS", "/zarr/w/b"), ("PUT", "/livez")):
        answer = server.request(method, target, {}, b"{}" if method in ("PUT", "POST") else None)
        assert recorded(folder / "audit", answer) == []


def test_refused_credentials_are_recorded_and_never_shown(server, folder):
    for headers, target, status in (({"Authorization": f"Bearer {WRONG}"}, "/v1", 401), ({"Authorization": f"Bearer {WRONG}"}, f"/zarr/w/b?access_token={WRONG}", None),
                                    ({"Authorization": "Bearer bob"}, "/zarr/w/b", 403)):
        answer = server.request("PUT" if status == 403 else "GET", target, headers, b"x" if status == 403 else None)
        assert answer.status == status or status is None and answer.status in (400, 401)
        lines = recorded(folder / "audit", answer)
        if answer.status != 400:
            assert [(line["state"], line["status"]) for line in lines] == [("refused", answer.status)]
    text = (folder / "audit").read_text()
    assert WRONG not in text and SECRET not in text and "access_token" not in text and "Bearer" not in text


def test_no_byte_of_a_client_makes_a_line(server, folder):
    forged = ('/zarr/w/x%0a{"state":"end"}', '/zarr/w/"},{"', "/zarr/w/x%00", "/zarr/w/x%e2%80%a8", "/zarr/w/\\u000a", "/zarr/w/" + "y" * 5000)
    n_before = len(lines_of(folder / "audit"))
    n = sum(len(recorded(folder / "audit", server.request("PUT", target, {"X-Request-Id": "fine"} if i % 2 else {}, b"x")))
            for i, target in enumerate(forged) if i % 2 == 0)
    for target in forged:
        server.request("DELETE", target, ada(**{"X-Forwarded-For": '"},{"state"', "User-Agent": '"}\\n'}))
    lines = lines_of(folder / "audit")
    assert len(lines) >= n_before + n
    assert {line["state"] for line in lines} <= {"begin", "end", "refused", "omitted"}
    assert all(len(line["path"]) < 20000 for line in lines if "path" in line)


def test_guessing_clients_do_not_fill_the_disk(own, tmp_path):
    for _ in range(300):
        own.get("/v1", {"Authorization": f"Bearer {WRONG}"})
    lines = lines_of(tmp_path / "audit")
    n_told = sum(line["state"] == "refused" for line in lines)
    n_omitted = sum(line["refused"] for line in lines if line["state"] == "omitted")
    assert 100 <= n_told + n_omitted <= 300 and n_told >= 100


def test_a_full_disk_stops_changes_and_nothing_else(serve, tmp_path):
    server = serve(config=settings(tmp_path, "/dev/full"))
    before = sorted(tmp_path.rglob("*"))
    for answer in (put(server, "b"), put(server, "b", ada()), server.request("PUT", "/zarr/w/b", {}, b"x"), server.request("DELETE", "/zarr/w/a/c/0"),
                   server.request("PUT", "/v1/datasets/w/slices/a?slice=0:8", {}, np.zeros(8).tobytes())):
        assert answer.status == 503 and answer.code == "store_error" and "log.audit_file" in answer.json()["detail"]
        assert answer.headers["retry-after"] == "1"
    assert sorted(tmp_path.rglob("*")) == before
    assert server.get("/zarr/w/zarr.json").status == 200 and server.get("/readyz").status == 200
    assert server.request("POST", "/v1/datasets/w/slices/a", {"Content-Type": "application/json"}, b"{}").status == 200
    assert server.get("/v1", {"Authorization": f"Bearer {WRONG}"}).status == 401
    assert server.log.count("changes are refused until the file can be written again") == 1


def test_a_lost_file_stops_changes_until_it_is_made_anew(own, tmp_path):
    audit = tmp_path / "audit"
    assert put(own, "b").status == 201
    audit.unlink()
    assert put(own, "c").status == 503
    own.process.send_signal(signal.SIGHUP)
    wait_until(audit.exists)
    assert soon(lambda: put(own, "c").status, 201) == 201
    assert [line["state"] for line in lines_of(audit)][-2:] == ["begin", "end"]


def test_a_file_that_is_rotated_loses_no_line(own, tmp_path):
    audit, moved = tmp_path / "audit", tmp_path / "audit.1"
    answers = []
    for i in range(5):
        answers.append(put(own, f"x{i}"))
    os.rename(audit, moved)
    answers.append(put(own, "between"))
    own.process.send_signal(signal.SIGHUP)
    wait_until(audit.exists)
    answers.append(put(own, "behind"))
    ids = [line["id"] for path in (moved, audit) for line in lines_of(path)]
    assert ids == [answer.headers["x-request-id"] for answer in answers for _ in range(2)]
    assert recorded(audit, answers[-1]) and stat.S_IMODE(audit.stat().st_mode) == 0o600


@pytest.mark.parametrize("path", ["/nowhere/audit", "/", "/tmp"])
def test_a_file_that_cannot_be_opened_is_no_start(path):
    run = subprocess.run([BINARY, "--listen", "127.0.0.1:0", "--set", f"log.audit_file={path}", "w=mem:"], capture_output=True, text=True, timeout=DEADLINE_S)
    assert run.returncode == 2 and "log.audit_file" in run.stderr
