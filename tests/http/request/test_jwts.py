"""JSON Web Tokens: whom they let in, and how their keys come and go."""

import hashlib
import hmac
import json
import signal
import subprocess
import time

import jose
import numpy as np
import pytest
from arrays import write_values
from client import DEADLINE_S, wait_until
from live import BINARY

BAD_TOKEN = 'Bearer realm="zarrd", error="invalid_token"'
SETTINGS = ("--set", f"access.jwt_issuer={jose.ISSUER}", "--set", f"access.jwt_audience={jose.AUDIENCE}")
TARGET = "/v1/datasets/w/nodes/a"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("store")
    (place / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for name in ("a", "b"):
        write_values(place / name, np.arange(8.0), [4])
    return place


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    place = tmp_path_factory.mktemp("keys")
    return {alg: jose.Key(place, alg.lower(), alg) for alg in jose.KINDS}


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    """Another key of the same name."""
    return jose.Key(tmp_path_factory.mktemp("stranger"), "es256", "ES256")


def datasets(folder):
    return {"datasets": {name: {"location": str(folder), "writable": True} for name in ("w", "x")}}


@pytest.fixture(scope="module")
def server(serve_module, folder, keys, tmp_path_factory):
    file = tmp_path_factory.mktemp("jwks") / "keys.json"
    file.write_bytes(jose.jwks(*keys.values()))
    return serve_module("--listen", "0.0.0.0:0", "--set", "access.anonymous=none", "--set", f"access.jwks_file={file}", *SETTINGS, config=datasets(folder))


def get(server, token, target=TARGET):
    return server.get(target, {"Authorization": f"Bearer {token}"})


def refused(answer):
    assert answer.status == 401 and answer.code == "unauthorized" and answer.headers["www-authenticate"] == BAD_TOKEN
    return answer.json()["detail"]


@pytest.mark.parametrize("alg", jose.KINDS)
def test_a_token_of_each_algorithm_lets_in(server, keys, alg):
    token = keys[alg].token("read", sub=f"user of {alg}")
    for _ in range(3):  # judged once
        assert get(server, token).status == 200
    wait_until(lambda: f" by user_of_{alg}" in server.log)
    assert token[:40] not in server.log


def test_scopes_say_where(server, keys):
    def status(scope, method="GET", target=TARGET):
        token = keys["EdDSA"].token(scope)
        return server.request(method, target, {"Authorization": f"Bearer {token}"}, b"1" if method == "PUT" else None).status

    assert status("read") == 200 and status("openid read:w email") == 200
    assert status("read:x") == 404 and status("") == 404 and status("openid") == 404
    assert status("read:w/a") == 200 and status("read:w/a", target="/zarr/w/a/c/0") == 200
    assert status("read:w/b") == 403 and status("read:w/a", target="/v1/datasets/w/nodes/b") == 403
    assert status("read", "PUT", "/zarr/w/free") == 403
    assert status("write:x", "PUT", "/zarr/w/free") in (403, 404)
    assert status("write:w/free", "PUT", "/zarr/w/free/x") in (200, 201)
    assert status("write:w", "PUT", "/zarr/w/other") in (200, 201)
    assert status("read:*") == 404


def test_bad_tokens_are_the_same_401(server, keys, stranger):
    key = keys["ES256"]
    good = key.token("read")
    now = int(time.time())
    start = good.rsplit(".", 1)[0]
    none = ".".join([jose.coded(b'{"alg":"none","kid":"es256"}'), good.split(".")[1], ""])
    forged = ".".join([jose.coded(b'{"alg":"HS256","kid":"rs256"}'), good.split(".")[1]])
    forged += "." + jose.coded(hmac.new(jose.jwks(keys["RS256"]), forged.encode(), hashlib.sha256).digest())
    bad = [
        none, forged, start + ".", good[:-2], good + "A", good + "=", good + ".", start, stranger.token("read"), key.token("read", kid=1, exp=None),
        key.token("read", exp=now - 31), key.token("read", exp=0), key.token("read", exp=str(now + 100)), key.token("read", exp=2**53), key.token("read", exp=-1),
        key.token("read", nbf=now + 1000), key.token("read", iss="https://other.example"), key.token("read", aud="other"), key.token("read", aud=None),
        key.token("read", aud=["other"]), key.token("read", iss=None), key.token("read", header={"alg": "EdDSA"}), key.token("read", header={"kid": "eddsa"}),
        key.token("read", header={"kid": "none"}), key.token("read", header={"crit": ["exp"]}), key.token(["read"]), key.token("read", x="x" * 4500),
    ]
    assert get(server, good).status == 200
    assert len({refused(get(server, token)) for token in bad[:-1]}) == 1
    assert get(server, bad[-1]).status == 200  # long, and as good as any
    assert get(server, key.token("read", x="x" * 12000)).status == 431
    assert get(server, key.token("read", exp=now - 5)).status == 200  # within the leeway
    assert get(server, key.token("read", aud=["other", jose.AUDIENCE])).status == 200


def test_a_file_that_changes_is_read_on_sighup(serve, folder, keys, tmp_path):
    file = tmp_path / "keys.json"
    file.write_bytes(jose.jwks(keys["EdDSA"]))
    server = serve("--set", f"access.jwks_file={file}", *SETTINGS, config=datasets(folder))
    old, new = keys["EdDSA"].token("read"), keys["ES256"].token("read")
    assert get(server, old).status == 200
    refused(get(server, new))
    file.write_text("{")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "the last good keys stay" in server.log)
    assert get(server, old).status == 200
    file.write_bytes(jose.jwks(keys["ES256"]))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: get(server, new).status == 200)
    refused(get(server, old))


@pytest.fixture
def told():
    with jose.endpoint() as endpoint:
        yield endpoint


def start(serve, folder, told, *more):
    return serve("--set", f"access.jwks_url={told.url}", *SETTINGS, *more, config=datasets(folder))


def test_keys_of_a_url_come_beside_requests_and_rotate(serve, folder, keys, told):
    told.set(hangs=True)
    server = start(serve, folder, told, "--set", "remote.silence_ms=200", "--set", "access.jwks_ms=100")
    old, new = keys["EdDSA"].token("read"), keys["ES256"].token("read")
    refused(get(server, old))
    assert server.get(TARGET).status == 200  # nobody waits for them
    told.set(jose.jwks(keys["EdDSA"]))
    wait_until(lambda: get(server, old).status == 200)
    # What is no set of keys changes nothing.
    bodies = [b"", b"{", b"[]", b'{"keys": []}', b"x" * 1000000, jose.jwks(keys["ES256"]) + b"x"]
    for wrong in [{"body": body} for body in bodies] + [{"body": jose.jwks(keys["ES256"]), "status": status} for status in (404, 500, 203)]:
        told.set(**wrong)
        asked = told.n_asked
        wait_until(lambda asked=asked: told.n_asked >= asked + 2)
        assert get(server, old).status == 200
        refused(get(server, new))
    with jose.endpoint() as elsewhere:
        elsewhere.set(jose.jwks(keys["ES256"]))
        told.set(status=302, Location=elsewhere.url)
        asked = told.n_asked
        wait_until(lambda: told.n_asked >= asked + 2)
        refused(get(server, new))
        assert elsewhere.n_asked == 0
    told.set(hangs=True)
    asked = told.n_asked
    wait_until(lambda: told.n_asked >= asked + 2)
    assert get(server, old).status == 200
    told.set(jose.jwks(keys["ES256"]))
    told.ends.set()
    wait_until(lambda: get(server, new).status == 200)
    refused(get(server, old))
    assert old[:40] not in server.log and "access.jwks_url: it answered 500; the last good keys stay" in server.log


def test_an_unknown_key_asks_once_a_minute(serve, folder, keys, told):
    told.set(jose.jwks(keys["EdDSA"]))
    server = start(serve, folder, told, "--set", "access.jwks_ms=3600000")
    wait_until(lambda: get(server, keys["EdDSA"].token("read")).status == 200)
    assert told.n_asked == 1
    told.set(jose.jwks(keys["EdDSA"], keys["ES256"]))
    new = keys["ES256"].token("read")
    wait_until(lambda: get(server, new).status == 200)
    for _ in range(20):
        refused(get(server, keys["RS256"].token("read")))
    assert told.n_asked == 2
    assert get(server, keys["EdDSA"].token("read")).status == 200


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (["access.jwks_url=http://id.example/keys"], "access.jwks_url"),
        (["access.jwks_url=ftp://127.0.0.1/"], "access.jwks_url"),
        (["access.jwks_url=https://a:b@id.example/"], "access.jwks_url"),
        (["access.jwks_file=/nowhere"], "access.jwks_file"),
        (["access.jwks_file=/dev/null"], "access.jwks_file"),
        (["access.jwks_file=/x", "access.jwks_url=https://id.example"], "only one"),
        (["access.jwks_file=/x", "access.jwt_issuer="], "access.jwt_issuer"),
        (["access.jwks_url=https://id.example", "access.jwt_audience="], "access.jwt_audience"),
    ],
)
def test_settings_that_do_not_fit_are_no_start(folder, settings, says):
    for more in ((), ("--check-config",)):
        sets = [word for setting in settings for word in ("--set", setting)]
        done = subprocess.run([BINARY, str(folder), "--listen", "127.0.0.1:0", *SETTINGS, *sets, *more], capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 2 and says in done.stderr, done
