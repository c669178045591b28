"""Where a store is stays with the operator: no answer names its host, port, bucket or path, whatever goes wrong; the log does."""

import json
import os
import pathlib
import shutil

import numpy as np
import pytest
from arrays import write_values
from certificates import add_certificate, make_certificates, server_context
from live import ROOT
from origin import Headers, Origin, Reply
from s3_stub import S3Stub, error_document

MARK = "zqplace"  # in each name that must not be shown
DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
# The same for every store, and they speak of addresses themselves.
TEXTS = ("/docs", "/openapi.json", "/openapi.yaml", "/v1/openapi.json", "/metrics", "/", "/v1/extensions", "/v1/colormaps")
READS = [("get", template) for template, item in DOCUMENT["paths"].items()
         if "get" in item and not template.endswith("/events") and template not in TEXTS]
READS += [("post", template) for template in ("/v1/datasets/{d}/slices/{path}", "/v1/datasets/{d}/chunks/{path}")]
BODY = json.dumps({"slices": [{"slice": "0:4"}], "index": [[0]]}).encode()
ONCE = ("--set", "remote.retries=0", "--set", "remote.hedge_percent=0", "--set", "remote.breaker_ms=10", "--set", "remote.connect_ms=2000")
CLEAN = {name: "" for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "AWS_PROFILE",
                               "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")}
CLEAN["AWS_EC2_METADATA_DISABLED"] = "true"
ERRORS = [("PermanentRedirect", 301), ("TemporaryRedirect", 307), ("AccessDenied", 403), ("NoSuchBucket", 404), ("InternalError", 500), ("SlowDown", 503)]


def requests():
    for path in ("a", "", "nothing", "a/c/0"):
        for method, template in READS:
            target = template.replace("{d}", "d").replace("{path}", path).replace("{key}", path or "zarr.json")
            for headers in ({}, {"Accept": "text/html"}):
                yield method.upper(), target, headers
    for key in ("zarr.json", "a/zarr.json", "a/.zarray", "a/c/0", "loop/c/0", "outside", "dark/zarr.json", "a/", "", ".zmetadata"):
        yield "GET", f"/zarr/d/{key}", {}
        yield "HEAD", f"/zarr/d/{key}", {}
    for target in ("/v1/datasets/d/slices/a?slice=0:1&format=json", "/v1/datasets/d/chunks/a?index=0", "/v1/datasets/d/tree/?check=1",
                   "/v1/datasets/d/tree/?depth=3", "/v1/datasets/d/nodes/loop", "/v1/datasets/d/nodes/dark", "/v1/datasets/d/slices/a?sel=x:1"):
        yield "GET", target, {}


def judge(server, markers, in_log=True):
    """No answer has one of the markers; the log has, unless nothing went wrong."""
    for method, target, headers in requests():
        body = BODY if method == "POST" else None
        answer = server.request(method, target, {**headers, **({"Content-Type": "application/json"} if body else {})}, body)
        shown = answer.body.decode(errors="replace") + str(dict(answer.headers))
        for marker in markers:
            assert marker not in shown, (method, target, headers, answer.status, shown[:600])
    assert server.process.poll() is None
    if in_log:
        assert any(marker in server.log.split("ready", 1)[-1] for marker in markers), server.log[-2000:]


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / MARK
    folder.mkdir()
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_values(folder / "a", np.arange(8.0), [4])
    return folder


def no_rights(store):
    store.chmod(0)


def no_rights_below(store):
    for path in store.rglob("*"):
        path.chmod(0)


def vanished(store):
    shutil.rmtree(store)


def a_file(store):
    shutil.rmtree(store)
    store.write_text("no store")


def loops(store):
    shutil.rmtree(store / "a" / "c")
    for name in ("a/c", "loop", "dark"):
        (store / name).symlink_to(store / name)


def leaves(store):
    outside = store.parent / f"{MARK}-outside"
    outside.mkdir()
    (outside / "zarr.json").write_text("{}")
    (store / "outside").symlink_to(outside / "zarr.json")
    for name in ("loop", "dark"):
        (store / name).symlink_to(outside)


@pytest.mark.parametrize("way", [no_rights, no_rights_below, vanished, a_file, loops, leaves], ids=lambda way: way.__name__)
@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
def test_a_directory_is_not_named(serve, store, way, is_late):
    for path in [*store.parents, store]:
        if str(path).startswith("/tmp/"):
            path.chmod(path.stat().st_mode | 0o755)
    if not is_late:
        way(store)
    server = serve(config={"datasets": {"d": {"location": str(store), "writable": True}, "e": {"location": "mem:"}}}, as_nobody=True)
    if is_late:
        judge(server, [MARK, str(store.parent)], in_log=False)
        way(store)
    try:
        judge(server, [MARK, str(store.parent)], in_log=False)
    finally:
        if store.is_dir():
            store.chmod(0o755)


@pytest.fixture
def origin(store):
    with Origin(store) as running:
        yield running


def late(serve, location, **options):
    """A server that has seen the store in order."""
    return serve(*ONCE, config={"datasets": {"d": {"location": location, "revalidate_ms": 0, **options}}}, environment=CLEAN)


TO = [f"http://{MARK}.test:1234/x", f"http://{MARK}:{MARK}@127.0.0.1:1/x", f"https://10.1.2.3:9000/{MARK}", f"//{MARK}.test/x", f"gopher://{MARK}/"]
HTTP_FAULTS = [*[("redirect", {"to": to, "status": status}) for to in TO for status in (301, 302, 307)], ("redirect", {"to": "{path}?again=1"}), ("redirect", {}),
               *[("status", {"status": status}) for status in (400, 401, 403, 405, 416, 500, 503)], ("garbage", {})]


@pytest.mark.parametrize("fault, options", HTTP_FAULTS)
def test_an_origin_is_not_named(serve, origin, fault, options):
    server = late(serve, origin.url)
    port = origin.url.rsplit(":", 1)[1]
    judge(server, [MARK, port, "127.0.0.1"], in_log=False)
    origin.fault(fault, times=None, **options)
    judge(server, [MARK, f":{port}", "127.0.0.1", "10.1.2.3"], in_log=fault == "redirect" and "again" not in options.get("to", "again"))


def test_an_origin_that_is_gone_is_not_named(serve, store):
    with Origin(store) as origin:
        server = late(serve, origin.url)
        port = origin.url.rsplit(":", 1)[1]
        assert server.get("/v1/datasets/d/nodes/a").status == 200
    judge(server, [port, "127.0.0.1", "localhost"], in_log=False)


@pytest.mark.parametrize("location", [f"http://{MARK}.invalid/x", f"http://127.0.0.1:1/{MARK}", f"https://localhost:1/{MARK}", f"http://[::1]:1/{MARK}"])
def test_an_origin_that_never_answered_is_not_named(serve, location):
    judge(late(serve, location), [MARK, "invalid/", "127.0.0.1", "::1"], in_log=False)


@pytest.mark.parametrize("file", ["elsewhere.pem", "expired.pem", "certificate.pem"])
def test_a_certificate_names_nobody(serve, store, tmp_path, file):
    make_certificates(tmp_path)
    add_certificate(tmp_path, "elsewhere.pem", names=f"DNS:{MARK}.test")
    add_certificate(tmp_path, "expired.pem", is_expired=True)
    with Origin(store, tls=server_context(tmp_path, file)) as secure:
        server = late(serve, secure.url)
        judge(server, [MARK, "localhost", "127.0.0.1"], in_log=False)
        if file == "elsewhere.pem":
            assert "localhost" in server.log or "127.0.0.1" in server.log


class Told(S3Stub):
    """An engine that tells all it knows."""

    told = None

    def answer(self, request):
        if self.told is None:
            return super().answer(request)
        code, status = self.told
        places = {"Endpoint": f"{MARK}.test", "Bucket": MARK, "Resource": f"/{MARK}/x", "HostId": MARK, "Region": MARK, "Key": f"{MARK}/a"}
        headers = {"Content-Type": "application/xml", "Location": f"https://{MARK}.test/x", "x-amz-bucket-region": f"{MARK}-1", "Server": MARK}
        return Reply(status, Headers(headers), error_document(code, f"go to {MARK}.test", **places))


@pytest.mark.parametrize("code, status", [*ERRORS, (f"http://{MARK}", 400), (f"{MARK}.test", 500)])
def test_an_engine_is_not_named(serve, store, tmp_path, code, status):
    with Told() as engine:
        for path in store.rglob("*"):
            if path.is_file():
                engine.store(f"{MARK}/{path.relative_to(store)}", path.read_bytes())
        secrets = tmp_path / f"{MARK}-credentials"
        secrets.write_text("[default]\naws_access_key_id = testkey\naws_secret_access_key = testsecret\n")
        secrets.chmod(0o600)
        server = late(serve, f"s3://test/{MARK}", endpoint=engine.url, region="us-east-1", credentials_file=str(secrets))
        markers = [MARK, engine.url.rsplit(":", 1)[1], "127.0.0.1", "s3://"]
        judge(server, markers, in_log=False)
        engine.told = (code, status)
        judge(server, markers, in_log=False)
        assert f"{MARK}-1" in server.log or status == 503


@pytest.mark.parametrize("what", ["missing", "a directory", "unreadable", "no profile", "large"])
def test_files_of_credentials_are_not_named(serve, tmp_path, what):
    secrets = tmp_path / MARK
    if what == "a directory":
        secrets.mkdir(mode=0o700)
    elif what != "missing":
        secrets.write_text("x" * (1 << 20) if what == "large" else "[nobody]\n")
        secrets.chmod(0 if what == "unreadable" else 0o600)
    environment = {**CLEAN, "AWS_SHARED_CREDENTIALS_FILE": str(secrets), "AWS_CONFIG_FILE": str(secrets)}
    for options in ({"credentials_file": str(secrets)}, {}):
        config = {"datasets": {"d": {"location": f"s3://{MARK}-bucket/{MARK}", "options": {"endpoint": "http://127.0.0.1:1", **options}}}}
        server = serve(*ONCE, config=config, environment=environment)
        judge(server, [MARK, "127.0.0.1", str(tmp_path)], in_log=False)
        if options and what in ("a directory", "missing"):
            assert str(secrets) in server.log


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL_STS", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_SERVICE_ENDPOINT"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:1", f"http://{MARK}.invalid:1234", f"{MARK}://x"])
def test_issuers_of_credentials_are_not_named(serve, tmp_path, name, url):
    token = tmp_path / f"{MARK}-token"
    token.write_text("ey.jwt.sig\n")
    environment = {**CLEAN, name: url, "AWS_EC2_METADATA_DISABLED": "false"}
    if name == "AWS_ENDPOINT_URL_STS":
        environment |= {"AWS_WEB_IDENTITY_TOKEN_FILE": str(token), "AWS_ROLE_ARN": f"arn:aws:iam::1:role/{MARK}"}
    config = {"datasets": {"d": {"location": f"s3://{MARK}-bucket/{MARK}", "options": {"endpoint": "http://127.0.0.1:1"}}}}
    judge(serve(*ONCE, config=config, environment=environment), [MARK, "127.0.0.1"], in_log=False)


def test_headers_files_are_not_named(serve, origin, tmp_path):
    headers = pathlib.Path(tmp_path / f"{MARK}-headers")
    headers.write_text("X-Key: 1\n")
    headers.chmod(0o600)
    server = late(serve, origin.url, options={"headers_file": str(headers)})
    judge(server, [MARK], in_log=False)
    for text in ("Host: x\n", "\x01", "x" * 100000):
        headers.write_text(text)
        origin.fault("status", times=None, status=401)
        judge(server, [MARK], in_log=False)
    os.unlink(headers)
    judge(server, [MARK], in_log=False)
