"""JSON Web Tokens: whom they let in, and how their keys come and go."""

import hashlib
import hmac
import json
import os
import random
import signal
import socket
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
N_REMEMBERED = 4096  # JUDGED_MAX of server/request/access/jwts.c


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


def test_a_scope_without_a_dataset_opens_no_private_one(serve, folder, keys, tmp_path):
    """Nor does it add to what another scope says of it."""
    file = tmp_path / "keys.json"
    file.write_bytes(jose.jwks(*keys.values()))
    places = datasets(folder)
    places["datasets"]["x"]["access"] = "private"
    server = serve("--listen", "0.0.0.0:0", "--set", f"access.jwks_file={file}", *SETTINGS, config=places)

    def status(scope, target, method="GET"):
        return server.request(method, target, {"Authorization": f"Bearer {keys['EdDSA'].token(scope)}"}, b"1" if method == "PUT" else None).status

    for scope in ("read", "read write", "read:*", "read:w", "read:**", "read:?", "write"):
        assert status(scope, "/v1/datasets/x/nodes/a") == status(scope, "/v1/datasets/absent/nodes/a") == 404, scope
        assert status(scope, "/zarr/x/new", "PUT") == 404, scope
    assert status("read:x", "/v1/datasets/x/nodes/a") == 200 and status("read write", "/zarr/w/new", "PUT") in (200, 201)
    both = "read:x/a read write"
    assert status(both, "/v1/datasets/x/nodes/a") == 200 and status(both, "/v1/datasets/w/nodes/b") == 200
    assert status(both, "/v1/datasets/x/nodes/b") == 403 and status(both, "/v1/datasets/x/tree/") == 403 and status(both, "/zarr/x/a/c/0", "PUT") == 403


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


def test_streams_of_a_key_end_with_it_however_many_tokens_came_since(serve, folder, keys, tmp_path):
    file = tmp_path / "keys.json"
    file.write_bytes(jose.jwks(keys["ES256"]))
    server = serve("--set", f"access.jwks_file={file}", *SETTINGS, config=datasets(folder))
    quick = keys["ES256"].quick()
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as stream:
        stream.sendall(f"GET /v1/datasets/w/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {keys['ES256'].token('read')}\r\n\r\n".encode())
        seen = b""
        while b"id:" not in seen:
            seen += stream.recv(65536)
        connection = server.connection()
        for i in range(N_REMEMBERED + 1):
            token = keys["ES256"].token("read", sub=f"u{i}", sign=quick)
            assert server.get("/v1", {"Authorization": f"Bearer {token}"}, connection=connection).status == 200
        file.write_bytes(jose.jwks(keys["EdDSA"]))
        server.process.send_signal(signal.SIGHUP)
        while not seen.endswith(b"\r\n0\r\n\r\n"):  # the last chunk
            seen += stream.recv(65536)


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
    bodies = [b"", b"{", b"[]", b"{}", b'{"keys": {}}', b"x" * 1000000, jose.jwks(keys["ES256"]) + b"x"]
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
    assert old[:40] not in server.log and "access.jwks_url: the server answered 500; the last good keys stay valid" in server.log


def until_fetched(told):
    """An answer that was set before has come."""
    asked = told.n_asked
    wait_until(lambda: told.n_asked >= asked + 2)


def test_keys_that_the_issuer_withdraws_end(serve, folder, keys, told):
    """All at once, or one of them; beside a key that is no use, too."""
    old, other = keys["EdDSA"].token("read"), keys["ES256"].token("read")
    told.set(jose.jwks(keys["EdDSA"], keys["ES256"]))
    server = start(serve, folder, told, "--set", "access.jwks_ms=100")
    wait_until(lambda: get(server, old).status == 200)
    assert get(server, other).status == 200
    junk = {"kty": "EC", "crv": "P-256", "kid": "odd", "x": "AAAA", "y": "s3cret"}
    told.set(json.dumps({"keys": [junk, keys["ES256"].jwk()]}).encode())
    wait_until(lambda: get(server, old).status == 401)
    assert get(server, other).status == 200
    wait_until(lambda: "access.jwks_url: key 1 of 2 cannot be used: its numbers are not a valid key" in server.log)
    told.set(b'{"keys": []}')
    wait_until(lambda: get(server, other).status == 401)
    refused(get(server, old))
    assert "access.jwks_url: 0 keys; every JSON Web Token is refused" in server.log and "s3cret" not in server.log
    assert server.metrics()["zarrd_jwt_keys"] == 0 and server.metrics()["zarrd_jwt_keys_stale"] == 0
    told.set(jose.jwks(keys["EdDSA"]))
    wait_until(lambda: get(server, old).status == 200)
    refused(get(server, other))


def test_keys_end_when_fetches_fail_for_too_long(serve, folder, keys, told):
    token = keys["EdDSA"].token("read")
    told.set(jose.jwks(keys["EdDSA"]))
    server = start(serve, folder, told, "--set", "access.jwks_ms=100", "--set", "access.jwks_stale_ms=1000")
    wait_until(lambda: get(server, token).status == 200)
    until_fetched(told)  # nothing has failed: the keys stay, however old they are
    told.set(status=500)
    wait_until(lambda: get(server, token).status == 401)
    assert "access.jwks_url: the server answered 500; the last good keys stay valid" in server.log
    assert "every fetch failed for access.jwks_stale_ms (1000 ms): every JSON Web Token is refused" in server.log
    ready = server.get("/readyz")
    assert ready.status == 200 and "access.jwks_stale_ms" in ready.json()["keys"]
    assert server.metrics()["zarrd_jwt_keys_stale"] == 1 and server.metrics()["zarrd_jwt_keys"] == 0
    told.set(jose.jwks(keys["EdDSA"]))
    wait_until(lambda: get(server, token).status == 200)
    assert "keys" not in server.get("/readyz").json() and server.metrics()["zarrd_jwt_keys_stale"] == 0


def test_without_any_grace_the_first_failure_ends_the_keys(serve, folder, keys, told):
    token = keys["EdDSA"].token("read")
    told.set(jose.jwks(keys["EdDSA"]))
    server = start(serve, folder, told, "--set", "access.jwks_ms=100", "--set", "access.jwks_stale_ms=0")
    wait_until(lambda: get(server, token).status == 200)
    until_fetched(told)
    assert get(server, token).status == 200
    told.set(b"{")
    wait_until(lambda: get(server, token).status == 401)


def test_a_file_may_lose_its_keys_but_not_begin_without(serve, folder, keys, tmp_path):
    file = tmp_path / "keys.json"
    file.write_bytes(json.dumps({"keys": [{"kid": "x"}, keys["EdDSA"].jwk()]}).encode())
    server = serve("--set", f"access.jwks_file={file}", *SETTINGS, config=datasets(folder))
    token = keys["EdDSA"].token("read")
    assert get(server, token).status == 200 and "access.jwks_file: key 1 of 2 cannot be used" in server.log
    for text in (b'{"keys": []}', json.dumps({"keys": [{**keys["EdDSA"].jwk(), "use": "enc"}]}).encode()):
        file.write_bytes(jose.jwks(keys["EdDSA"]))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: get(server, token).status == 200)
        file.write_bytes(text)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: get(server, token).status == 401)
        for more in ((), ("--check-config",)):
            command = [BINARY, str(folder), "--listen", "127.0.0.1:0", *SETTINGS, "--set", f"access.jwks_file={file}", *more]
            done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
            assert done.returncode == 2 and "access.jwks_file" in done.stderr and "can be used" in done.stderr, done


# ---- what bad tokens cost ----

AT_ONCE = 10  # what 10 s give at one a second


def of(address, token):
    return {"X-Forwarded-For": address, "Authorization": f"Bearer {token}"}


def until_refused(server, address, tokens, target=TARGET):
    """A client that goes on with the next token until it is told to wait; how many were judged."""
    for n, token in enumerate(tokens):
        answer = server.get(target, of(address, token))
        if answer.status == 429:
            return n
        assert answer.status == 401, answer
    raise AssertionError("never refused")


@pytest.fixture
def rated(serve, folder, keys, tmp_path):
    file = tmp_path / "keys.json"
    file.write_bytes(jose.jwks(*keys.values()))
    return serve("--set", f"access.jwks_file={file}", *SETTINGS, "--set", "access.requests_per_s=1", "--set", "http.trusted_proxies=127.0.0.1", config=datasets(folder))


def forged(token, n):
    """Tokens that only their signature gives away."""
    start, _, signature = token.rpartition(".")
    return [f"{start}.{jose.coded(bytes([i % 256, i // 256]) + bytes(62))}" for i in range(n)]


@pytest.mark.parametrize("target", [TARGET, "/livez", "/nothing"])
def test_bad_tokens_cost_no_more_signatures_than_their_address_may_ask(rated, keys, target):
    verified = lambda: rated.metrics()["zarrd_jwt_verifications_total"]  # noqa: E731
    good = keys["EdDSA"].token("read", x="x" * 3000)
    assert rated.get(TARGET, of("192.0.2.1", good)).status == 200 and verified() == 1
    n = until_refused(rated, "192.0.2.2", forged(good, 2000), target)
    assert n >= AT_ONCE and verified() == 1 + n
    for token in forged(good, 200):
        rated.get(target, of("192.0.2.2", token))
    assert verified() <= 1 + n + 20  # what came in meanwhile, on a slow machine
    for _ in range(5):  # one that is known is found without, from there, too; it pays for itself
        answer = rated.get(TARGET, of("192.0.2.2", good))
        assert answer.status == 200, answer
    assert verified() <= 1 + n + 20
    assert rated.get("/livez", {"X-Forwarded-For": "192.0.2.2"}).status == 200


def test_early_faults_cost_no_signature(rated, keys):
    now = int(time.time())
    key = keys["ES256"]
    bad = [key.token("read", exp=now - 100), key.token("read", iss="x"), key.token("read", aud="x"), key.token("read", nbf=now + 1000),
           key.token("read", header={"kid": "x"}), key.token("read", header={"alg": "RS256"}), key.token("read", header={"crit": []}), "a.b.c", "x", "."]
    details = {refused(rated.get(TARGET, of(f"198.51.100.{i}", token))) for i, token in enumerate(bad)}
    assert len(details) == 1 and rated.metrics()["zarrd_jwt_verifications_total"] == 0


def test_a_good_token_is_not_paid_by_its_address(rated, keys):
    tokens = [keys["EdDSA"].token("read", sub=f"u{i}") for i in range(2 * AT_ONCE)]
    for token in tokens:
        assert rated.get(TARGET, of("203.0.113.1", token)).status == 200
    for _ in range(AT_ONCE // 2):
        assert rated.get(TARGET, {"X-Forwarded-For": "203.0.113.1"}).status == 200


KIDS = ("a", "b", "c")


def spoilt(jwk, rng):
    """The same, but no use; and whether it makes its kid doubtful."""
    return rng.choice([
        ({**jwk, "kty": "oct", "k": "AAAA"}, False), ({**jwk, "use": "enc"}, False), ({**jwk, "alg": "HS256"}, False), ({**jwk, "key_ops": ["sign"]}, False),
        ({**jwk, "d": "AQAB"}, True), ({**jwk, "q": 1}, True), ({name: value for name, value in jwk.items() if name != "kid"}, False), ({**jwk, "kid": 7}, False),
        ({**jwk, "kid": ""}, False), ({**jwk, "kid": "a" * 257}, False), ({**jwk, "kty": None}, False), ({**jwk, "x": "=", "n": "="}, False),
        ({**jwk, "x": "AAAA", "n": "AAAA"}, False), (None, False), ("a", False), ([jwk], False), ({}, False)])


def random_set(jwks, rng):
    """Key sets, and which (kid, key) counts by the rules of api.md 3.12, found without a look at the code."""
    entries, claims = [], {}
    for _ in range(rng.randrange(7)):
        name, kid = rng.choice(list(jwks)), rng.choice(KIDS)
        jwk = {**jwks[name], "kid": kid}
        if rng.random() < 0.4:
            jwk, claims_kid = spoilt(jwk, rng)
            if claims_kid:
                claims.setdefault(kid, set()).add(None)
        else:
            claims.setdefault(kid, set()).add(name)
            members = list({**jwk, "x5c": ["AQAB"], "more": [[[[[[[[[{}]]]]]]]]]}.items())
            rng.shuffle(members)
            jwk = dict(members)
        entries.append(jwk)
    counts = {(kid, name) for kid, names in claims.items() if len(names) == 1 for name in names if name is not None}
    return {"more": 1, "keys": entries, "version": None}, counts


def test_random_key_sets_let_in_whom_their_good_keys_sign(serve, folder, keys, stranger, told):
    seed = int(os.environ.get("ZD_SEED", "0")) or random.randrange(1 << 32)
    print(f"ZD_SEED={seed}")
    rng = random.Random(seed)
    signers = {**keys, "stranger": stranger}
    jwks = {name: key.jwk() for name, key in signers.items()}
    tokens = {(kid, name): key.token("read", header={"kid": kid}) for name, key in signers.items() for kid in KIDS}
    told.set(b'{"keys": []}')
    server = start(serve, folder, told, "--set", "access.jwks_ms=100")
    for _ in range(25):
        document, counts = random_set(jwks, rng)
        told.set(json.dumps(document).encode())
        until_fetched(told)
        found = {pair for pair, token in tokens.items() if get(server, token).status == 200}
        assert found == counts, (seed, document)


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
