"""S3: where credentials come from, that they are asked for again in time, and that nothing of them is ever shown."""

import datetime
import json
import subprocess

import pytest
from client import DEADLINE_S, JSON, wait_until
from live import BINARY
from origin import Headers, Origin, Reply
from s3_signature import Credential
from s3_stub import S3Stub

GROUP = b'{"zarr_format":3,"node_type":"group"}'
SECRET = "s3cr3tXYZ/+abc"
TOKEN = "t0kenXYZ/+abc=="
CLEAN = {name: "" for name in (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_EC2_METADATA_SERVICE_ENDPOINT")}
DISABLED = {**CLEAN, "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.fixture
def engine():
    with S3Stub() as running:
        running.store("lake/zarr.json", GROUP)
        running.store("lake/data", b"0123456789")
        running.credentials = {"AKIALAKE": Credential(SECRET, TOKEN)}
        yield running


class Issuer(Origin):
    """A token service, a container's host and an instance's metadata."""

    seconds = 3600
    n_issued = 0

    def answer(self, request):
        expires = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.seconds)
        self.n_issued += 1
        values = {"AccessKeyId": "AKIALAKE", "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
        if request.path == "/latest/api/token":
            return reply(b"session==")
        if request.path == "/latest/meta-data/iam/security-credentials/":
            return reply(b"role")
        if request.path == "/":
            values["SessionToken"] = values.pop("Token")
            inner = "".join(f"<{name}>{value}</{name}>" for name, value in values.items())
            return reply(f"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>{inner}</Credentials>"
                         "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>".encode())
        return reply(json.dumps(values).encode())


def reply(body):
    return Reply(200, Headers({"Content-Type": "text/plain"}), body)


@pytest.fixture
def issuer():
    with Issuer() as running:
        yield running


def write_file(folder, key="AKIALAKE", secret=SECRET, token=TOKEN, profile="default"):
    path = folder / "credentials"
    path.write_text(f"[{profile}]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\naws_session_token = {token}\n")
    path.chmod(0o600)
    return str(path)


def sources(folder, issuer):
    (folder / "token").write_text("ey.jwt.sig\n")
    return {
        "environment": ({}, {"AWS_ACCESS_KEY_ID": "AKIALAKE", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN}),
        "prefix": ({"credentials_env": "LAKE_"}, {"LAKE_ACCESS_KEY_ID": "AKIALAKE", "LAKE_SECRET_ACCESS_KEY": SECRET, "LAKE_SESSION_TOKEN": TOKEN}),
        "file": ({"credentials_file": write_file(folder, profile="lake"), "credentials_profile": "lake"}, {}),
        "shared file": ({}, {"AWS_SHARED_CREDENTIALS_FILE": write_file(folder, profile="lake"), "AWS_PROFILE": "lake"}),
        "web identity": ({}, {"AWS_WEB_IDENTITY_TOKEN_FILE": str(folder / "token"), "AWS_ROLE_ARN": "arn:aws:iam::1:role/x", "AWS_ENDPOINT_URL_STS": issuer.url}),
        "container": ({}, {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{issuer.url}/creds", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer abc"}),
        "instance": ({}, {"AWS_EC2_METADATA_SERVICE_ENDPOINT": issuer.url, "AWS_EC2_METADATA_DISABLED": "false"}),
    }


def start(serve, engine, members=(), environment=(), **more):
    config = {"datasets": {"s3": {"location": "s3://test/lake", "endpoint": engine.url, "revalidate_ms": 0, **dict(members)}}, **more}
    return serve(config=config, environment={**DISABLED, **dict(environment)})


SOURCES = ["environment", "prefix", "file", "shared file", "web identity", "container", "instance"]


@pytest.mark.parametrize("name", SOURCES)
def test_credentials_come_from(serve, engine, issuer, tmp_path, name):
    server = start(serve, engine, *sources(tmp_path, issuer)[name])
    assert server.get("/zarr/s3/data").body == b"0123456789"
    assert issuer.n_issued == {"web identity": 1, "container": 1, "instance": 3}.get(name, 0)
    if name == "web identity":
        request = issuer.requests[0]
        assert request.method == "POST" and b"WebIdentityToken=ey.jwt.sig" in request.body and not request.query
    if name == "container":
        assert issuer.requests[0].headers["authorization"] == "Bearer abc"
    if name == "instance":
        assert [request.headers.get("x-aws-ec2-metadata-token") for request in issuer.requests] == [None, "session==", "session=="]


@pytest.mark.parametrize("name", ["web identity", "container", "instance"])
def test_credentials_are_asked_for_again_before_they_expire(serve, engine, issuer, tmp_path, name):
    issuer.seconds = 8
    server = start(serve, engine, *sources(tmp_path, issuer)[name])
    assert server.get("/zarr/s3/data").status == 200
    first = issuer.n_issued

    def is_renewed():
        assert server.get("/zarr/s3/data").status == 200
        return issuer.n_issued > first

    wait_until(is_renewed, every_s=0.2)


def test_a_file_is_read_again_after_a_refusal(serve, engine, tmp_path):
    server = start(serve, engine, {"credentials_file": write_file(tmp_path, secret="old")}, remote={"retries": 0})
    answer = server.get("/zarr/s3/data")
    assert (answer.status, answer.code) == (502, "store_error")
    assert "SignatureDoesNotMatch" in answer.json()["detail"]
    write_file(tmp_path)
    wait_until(lambda: server.get("/zarr/s3/data").status == 200, every_s=0.1)


def test_nothing_is_signed_for_the_anonymous(serve, engine):
    engine.switch("public")
    server = start(serve, engine, {"anonymous": True}, {"AWS_ACCESS_KEY_ID": "AKIALAKE", "AWS_SECRET_ACCESS_KEY": SECRET})
    assert server.get("/zarr/s3/data").status == 200
    assert all("authorization" not in request.headers for request in engine.requests)


def test_without_credentials_the_fault_says_what_to_set(serve, engine):
    answer = start(serve, engine).get("/zarr/s3/data")
    assert (answer.status, answer.code) == (502, "store_error")
    assert "credentials_file" in answer.json()["detail"] and not engine.requests


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("is_refused", [False, True])
def test_no_secret_is_ever_shown(serve, engine, issuer, tmp_path, name, is_refused):
    if is_refused:
        engine.credentials = {"AKIALAKE": Credential("another")}
    members, environment = sources(tmp_path, issuer)[name]
    server = start(serve, engine, members, environment, remote={"retries": 0}, http={"show_locations": True}, log={"level": "debug"})
    if is_refused:
        server.announced.append("")
    shown = [server.get(target, JSON).body for target in (
        "/zarr/s3/data", "/zarr/s3/nothing", "/v1/datasets", "/v1/datasets/s3", "/v1/datasets/s3/tree/", "/metrics", "/readyz", "/v1/limits", "/v1/extensions")]
    config = server.folder / "config.json"
    checked = subprocess.run([BINARY, "--check-config", "--config", config], capture_output=True, timeout=DEADLINE_S, check=False,
                             env={**DISABLED, **environment})
    assert checked.returncode == 0
    shown += [checked.stdout, checked.stderr, server.log.encode()]
    signatures = [request.headers["authorization"].rsplit("=", 1)[1] for request in engine.requests if "authorization" in request.headers]
    assert signatures
    for secret in (SECRET, TOKEN, "ey.jwt.sig", "Bearer abc", "session==", *signatures):
        for text in shown:
            assert secret.encode() not in text


@pytest.mark.parametrize("member", ["secret_access_key", "aws_secret_access_key", "password"])
def test_inline_secrets_are_refused_without_being_repeated(tmp_path, member):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"datasets": {"s3": {"location": "s3://test/lake", member: SECRET}}}))
    checked = subprocess.run([BINARY, "--check-config", "--config", path], capture_output=True, timeout=DEADLINE_S, check=False)
    assert checked.returncode == 2 and SECRET.encode() not in checked.stdout + checked.stderr


@pytest.mark.parametrize("members", [{"location": "s3://test/lake", "endpoint": f"http://me:{SECRET}@127.0.0.1"}, {"location": f"s3://me:{SECRET}@test/lake"}])
def test_secrets_in_urls_are_refused_without_being_repeated(tmp_path, members):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"datasets": {"s3": members}}))
    for more in ([], ["--check-config"]):
        ended = subprocess.run([BINARY, *more, "--config", path, "--listen", "127.0.0.1:0"], capture_output=True, timeout=DEADLINE_S, check=False)
        assert ended.returncode == 2 and SECRET.encode() not in ended.stdout + ended.stderr


def test_a_file_that_others_can_read_is_refused_at_the_start(tmp_path):
    secrets = tmp_path / "credentials"
    secrets.write_text(f"[default]\naws_access_key_id = AKIALAKE\naws_secret_access_key = {SECRET}\n")
    secrets.chmod(0o644)
    path = tmp_path / "config.json"
    for members in ({"location": "s3://test/lake", "credentials_file": str(secrets)}, {"location": "http://127.0.0.1:1/", "headers_file": str(secrets)}):
        path.write_text(json.dumps({"datasets": {"a": members}}))
        for more in ([], ["--check-config"]):
            ended = subprocess.run([BINARY, *more, "--config", path, "--listen", "127.0.0.1:0"], capture_output=True, timeout=DEADLINE_S, check=False)
            assert ended.returncode == 2 and b"lets other users read" in ended.stderr and SECRET.encode() not in ended.stdout + ended.stderr
