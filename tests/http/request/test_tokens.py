"""Tokens: who may do what with one, wherever it is sent."""

import concurrent.futures
import datetime
import fnmatch
import hashlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess

import numpy as np
import pytest
from arrays import write_array, write_values
from client import DEADLINE_S, until_under_way, wait_until
from documents import LITTLE, extension, group_document
from files import TEMPORARY, below
from live import BINARY, ROOT, Answer
from tokens import bearer, entry, write_tokens

CHALLENGE = 'Bearer realm="zarrd"'
BAD_TOKEN = 'Bearer realm="zarrd", error="invalid_token"'
OUTSIDE = ("--listen", "0.0.0.0:0")  # beside 127.0.0.1: without a credential nobody writes

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
METHODS = ("get", "post", "put", "patch", "delete")
READING_POSTS = ("slices", "chunks")  # the last words of templates whose POST changes nothing
ROUTES = [(method.upper(), template) for template, item in DOCUMENT["paths"].items() for method in METHODS if method in item]


def writes(method, template):
    return method in ("PUT", "PATCH", "DELETE") or (method == "POST" and template.split("/")[4] not in READING_POSTS)


def target_of(template, dataset):
    return template.replace("{d}", dataset).replace("{path}", "a").replace("{key}", "a/zarr.json")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens")
    (folder / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_values(folder / "a", np.arange(8.0), [4])
    return folder


@pytest.fixture
def start(serve, tmp_path, places):
    def run(*arguments, tokens=(), **members):
        file = write_tokens(tmp_path / "tokens.json", *tokens)
        datasets = {"w": {"location": str(places), "writable": True, **members}, "r": {"location": str(places)}}
        return serve(*arguments, "--set", f"access.tokens_file={file}", config={"datasets": datasets})

    return run


def refused(answer, challenge=BAD_TOKEN):
    assert answer.status == 401 and answer.code == "unauthorized" and answer.headers["www-authenticate"] == challenge
    return answer.json()["detail"]


def test_a_token_may_write_what_it_names(start):
    server = start(*OUTSIDE, tokens=[entry("ada", "read", "write"), entry("bob", "read"), entry("cid", "write", datasets=["other*"])])
    refused(server.request("PUT", "/zarr/w/b", {}, b"0"), CHALLENGE)
    assert server.request("PUT", "/zarr/w/b", bearer("ada"), b"1").status in (200, 201)
    for name in ("bob", "cid"):
        answer = server.request("PUT", "/zarr/w/b", bearer(name), b"2")
        assert answer.status == 403 and answer.code == "forbidden" and answer.json()["scope"] == "write:w/b"
    for name in ("ada", "bob", "cid"):
        assert server.get("/zarr/w/b", bearer(name)).body == b"1"
        assert server.request("PUT", "/zarr/r/b", bearer(name), b"3").status == 405
    wait_until(lambda: " by ada" in server.log)


def test_every_bad_credential_is_the_same_401(start):
    server = start(tokens=[entry("ada", "read"), entry("old", "read", "write", expires="2001-01-01T00:00:00Z")])
    assert server.get("/v1/datasets/w/nodes/a", bearer("ada")).status == 200
    bad = ["Bearer", "Bearer ", "Bearer x", "Bearer old-secret", "Bearer ada-secret ada-secret", "bearer\tada-secret", "Bearer,ada-secret",
           "BEARER=ada-secret", "Bearer " + "x" * 2000, "Bearer ada-secret,", "Bearer ada-secret, Basic YTpi", "Bearer a.b.c"]
    said = set()
    for value in bad:
        for method, target in [("GET", "/v1/datasets/w/nodes/a"), ("GET", "/livez"), ("GET", "/v1/nothing"), ("PUT", "/zarr/w/b"), ("HEAD", "/v1")]:
            answer = server.request(method, target, {"Authorization": value}, b"x" if method == "PUT" else None)
            if method == "HEAD":
                assert answer.status == 401 and answer.headers["www-authenticate"] == BAD_TOKEN
            else:
                said.add(refused(answer))
    assert len(said) == 1
    assert server.request("OPTIONS", "/zarr/w/b", {"Authorization": "Bearer x"}).status == 204

    def whole(target, headers):
        answer = server.get(target, headers)
        own = answer.headers.pop("x-request-id")
        answer.headers.pop("date")
        return answer.status, answer.headers.items(), answer.body.replace(own.encode(), b"ID")

    node = "/v1/datasets/w/nodes/a"
    answers = [whole(node, {"Authorization": value}) for value in bad]
    answers += [whole(target, {}) for target in (f"{node}?access_token=x", f"{node}?access_token=", f"/t/x{node}", f"/t/old-secret{node}", f"/t/%00{node}",
                                                 f"{node}?expires=1&key=k&signature=x", f"{node}?signature")]
    assert all(list(answer) == list(answers[0]) for answer in answers), answers


# ---- for whom an Authorization is meant ----

OTHERS = ["Basic YTpi", "Basic", "basic YWRhOmFkYS1zZWNyZXQ=", "token 0123", "ada-secret", "Token ada-secret", "Negotiate abc==", "Digest username=\"a\", uri=\"/\"", "",
          "Bear ada-secret", "Bearers ada-secret", "Bearerada-secret", "Basic YTpi, Bearer ada-secret", "x-Bearer ada-secret", "AWS4-HMAC-SHA256 Credential=a"]
GOOD = ["Bearer ada-secret", "bearer ada-secret", "BEARER   ada-secret", "bEaReR ada-secret"]
BAD = ["Bearer", "Bearer ", "bearer\tada-secret", "Bearer ada-secret b", "Bearer eve-secret", "Bearer a.b.c", "Bearer,ada-secret", "Bearer \tada-secret"]
SEEN = ("www-authenticate", "cache-control", "vary", "etag")


def ask_with_lines(server, target, lines):
    """A GET with any number of Authorization lines."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_S)
    connection.putrequest("GET", target)
    for value in lines:
        connection.putheader("AUTHORIZATION" if len(value) % 2 else "Authorization", value)
    connection.endheaders()
    answer = Answer(connection.getresponse())
    connection.close()
    own = answer.headers["x-request-id"]
    return answer.status, {name: answer.headers.get(name) for name in SEEN}, answer.body.replace(own.encode(), b"ID")


@pytest.fixture
def rng():
    seed = int(os.environ.get("ZD_SEED", "0")) or random.randrange(1 << 32)
    print(f"ZD_SEED={seed}")
    return random.Random(seed)


def test_only_a_bearer_is_judged(start, rng):
    """Any list of fields is as good as its Bearers alone: none, one that is good or bad, or several."""
    server = start(*OUTSIDE, tokens=[entry("ada", "read", datasets=["w"])], access="private")
    targets = ["/v1/datasets/w/nodes/a", "/v1/datasets/r/nodes/a", "/v1/datasets", "/livez", "/zarr/w/a/zarr.json"]
    plain = {target: {(): ask_with_lines(server, target, []), "good": ask_with_lines(server, target, GOOD[:1]), "bad": ask_with_lines(server, target, BAD[:1]),
                      "several": ask_with_lines(server, target, GOOD[:1] * 2)} for target in targets}
    first = plain[targets[0]]
    assert [first[kind][0] for kind in ((), "good", "bad", "several")] == [401, 200, 401, 400] and first[()][1]["www-authenticate"] == CHALLENGE
    for _ in range(400):
        lines = [rng.choice(rng.choice([OTHERS, OTHERS, GOOD, BAD])) for _ in range(rng.randrange(5))]
        rng.shuffle(lines)
        ours = [line for line in lines if line in GOOD + BAD]
        kind = "several" if len(ours) > 1 else () if not ours else "good" if ours[0] in GOOD else "bad"
        target = rng.choice(targets)
        assert ask_with_lines(server, target, lines) == plain[target][kind], (lines, target)
        in_url = f"{target}?access_token=ada-secret"
        status = ask_with_lines(server, in_url, lines)[0]
        assert status == (400 if ours else 200), (lines, in_url)


def test_where_no_credential_can_be_good_a_header_is_somebody_elses(serve, places, rng):
    """A proxy's Basic, a notebook's token, even a Bearer: as if they were not sent. A token in the URL is meant for zarrd."""
    server = serve(config={"datasets": {"r": {"location": str(places)}, "i": {"location": str(places), "immutable": True}}})
    for target in ("/v1/datasets/r/nodes/a", "/zarr/i/a/zarr.json", "/v1", "/nothing"):
        plain = ask_with_lines(server, target, [])
        for _ in range(50):
            lines = [rng.choice(OTHERS + GOOD + BAD) for _ in range(rng.randrange(1, 4))]
            assert ask_with_lines(server, target, lines) == plain, (lines, target)
    assert server.request("PUT", "/zarr/r/x", {"Authorization": "Basic x"}, b"1").status == server.request("PUT", "/zarr/r/x", {}, b"1").status
    for target in ("/v1?access_token=x", "/t/x/v1", "/v1?access_token="):
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic x"}):
            refused(server.get(target, headers))


@pytest.mark.parametrize("kind", ["tokens", "signing", "jwks"])
def test_where_any_credential_can_be_good_a_bearer_is_judged(serve, places, tmp_path, kind):
    key = {"keys": [{"id": "k", "secret": "A" * 43 + "="}]}
    public = {"keys": [{"kid": "k", "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}
    file = tmp_path / "file.json"
    file.write_text(json.dumps({"tokens": {"tokens": []}, "signing": key, "jwks": public}[kind]))
    file.chmod(0o600)
    name = {"tokens": "tokens_file", "signing": "signing_keys_file", "jwks": "jwks_file"}[kind]
    server = serve("--set", f"access.{name}={file}", "--set", "access.jwt_issuer=i", "--set", "access.jwt_audience=a", config={"datasets": {"r": {"location": str(places)}}})
    refused(server.get("/v1", {"Authorization": "Bearer x"}))
    assert server.get("/v1", {"Authorization": "Basic x"}).status == 200


def test_where_nobody_reads_without_a_credential_a_token_does(start):
    server = start("--set", "access.anonymous=none", tokens=[entry("ada", "read"), entry("bob", "read", datasets=["r"])])
    refused(server.get("/v1/datasets/w/nodes/a"), CHALLENGE)
    assert server.get("/v1/datasets/w/nodes/a", bearer("ada")).status == 200
    assert server.get("/v1/datasets/w/nodes/a", bearer("bob")).code == "dataset_not_found"
    assert server.get("/v1/datasets/r/nodes/a", bearer("bob")).status == 200


@pytest.mark.parametrize(("text", "mode", "says"), [
    ("{", 0o600, "line"), ('{"tokens": [7]}', 0o600, "/tokens/0"), ('{"tokens": []}', 0o604, "chmod o-rw"),
    (json.dumps({"tokens": [{**entry("ada", "read"), "sha256": hashlib.sha256().hexdigest()}]}), 0o600, "/tokens/0/sha256")])
def test_a_broken_file_is_no_start(tmp_path, places, text, mode, says):
    file = tmp_path / "tokens.json"
    file.write_text(text)
    file.chmod(mode)
    for more in ((), ("--check-config",)):
        command = [BINARY, str(places), "--listen", "127.0.0.1:0", "--set", f"access.tokens_file={file}", *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 2 and "access.tokens_file" in done.stderr and says in done.stderr, done


MANY = 20_000  # tokens, which the server does not wait for when it starts


def test_requests_with_a_credential_wait_for_a_long_file(start):
    server = start(*OUTSIDE, tokens=[entry(f"t{i}", "read") for i in range(MANY)] + [entry("ada", "read", "write")])
    big = b"x" * 200_000
    asked = [("GET", "/v1/datasets/w/nodes/a", bearer("ada"), None), ("PUT", "/zarr/w/big", bearer("ada"), big), ("GET", "/v1/datasets/w/nodes/a", bearer("eve"), None),
             ("PUT", "/zarr/w/eve", bearer("eve"), big), ("GET", "/v1/datasets/w/nodes/a", {}, None), ("GET", "/zarr/w/a/zarr.json?access_token=ada-secret", {}, None)]
    with concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        answers = list(pool.map(lambda one: server.request(*one), asked))
    assert [answer.status for answer in answers] in ([200, put, 401, 401, 200, 200] for put in (200, 201))
    assert server.get("/readyz").status == 200 and f"access.tokens_file: {MANY + 1} tokens" in server.log
    assert server.get("/zarr/w/big").body == big


def test_a_long_file_that_is_broken_ends_the_server(tmp_path, places):
    file = write_tokens(tmp_path / "tokens.json", *[entry(f"t{i}", "read") for i in range(MANY)], entry("ada"))
    command = [BINARY, str(places), "--listen", "127.0.0.1:0", "--set", f"access.tokens_file={file}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 2 and "access.tokens_file" in done.stderr and f"/tokens/{MANY}/scopes" in done.stderr, done


# ---- private datasets, wherever a credential stands ----

SECRETS = ("read-secret", "other-secret", "old-secret", "solar-secret", "level-secret", "writer-secret", "admin-secret")
TOKENS = [
    entry("read", "read", datasets=["p"]),
    entry("writer", "read", "write", datasets=["p"]),
    entry("other", "read", "write", datasets=["r", "lake*"]),
    entry("old", "read", "write", "admin", expires="2001-01-01T00:00:00Z"),
    entry("solar", "read", "write", datasets=["p"], paths=["solar/**"]),
    entry("level", "read", datasets=["p"], paths=["solar", "solar/a", "zarr.json", "solar/*.json", ".zmetadata", "pyramid"]),
    entry("admin", "admin", datasets=["r"]),
]
NO_TOKEN = {}
MULTISCALE = {"multiscale": {"datasets": ["fine"]}}
GROUP = '{"zarr_format": 3, "node_type": "group"}'


@pytest.fixture(scope="module")
def hidden(serve_module, tmp_path_factory):
    """A server with the private dataset `p`, the public one `r`, and all tokens."""
    folder = tmp_path_factory.mktemp("hidden")
    for name in ("p", "r"):
        for group in ("", "solar"):
            (folder / name / group).mkdir(exist_ok=True)
            (folder / name / group / "zarr.json").write_text(GROUP)
        write_values(folder / name / "a", np.arange(8.0), [4])
        write_values(folder / name / "solar" / "a", np.arange(8.0), [4])
        write_values(folder / name / "solar" / "veiled", np.arange(8.0), [4])
        write_values(folder / name / "pyramid" / "fine", np.arange(8.0), [4])
    (folder / "p" / "pyramid" / "zarr.json").write_text(json.dumps(group_document([extension("multiscale-arrays", MULTISCALE)])))
    file = write_tokens(folder / "tokens.json", *TOKENS)
    datasets = {"p": {"location": str(folder / "p"), "writable": True, "access": "private"}, "r": {"location": str(folder / "r")},
                "gone": {"location": str(folder / "gone"), "access": "private"}}
    return serve_module(*OUTSIDE, "--set", f"access.tokens_file={file}", "--set", "access.protect_service=true", config={"datasets": datasets})


PATTERNS = ["*", "**", "?", "*?", "?*", "??*", "**?", "***", "p", "p*", "*p", "?p", "p?", "??", "*iv*", "priv", "p?iv", "*?v", "pub", "pu*", "q", "*z*"]


def test_a_private_dataset_is_only_for_those_that_name_it(serve, places, tmp_path, rng):
    """Tokens with any patterns, against the rule of api.md 3.12: of a pattern without a character of a name only public datasets are matched."""
    names = {"priv": True, "prove": True, "p": True, "pub": False, "q": False}
    lists = [None] + [[pattern] for pattern in PATTERNS] + [rng.sample(PATTERNS, 2) for _ in range(20)]
    tokens = [entry(f"t{i}", "read", "write", **({} if patterns is None else {"datasets": patterns})) for i, patterns in enumerate(lists)]
    file = write_tokens(tmp_path / "tokens.json", *tokens, entry("root", "admin", "read", "write"))
    datasets = {name: {"location": str(places), "writable": True, "access": "private" if is_private else "public"} for name, is_private in names.items()}
    for anonymous in ("read", "none"):
        server = serve(*OUTSIDE, "--set", f"access.tokens_file={file}", "--set", f"access.anonymous={anonymous}", config={"datasets": datasets})
        for i, patterns in [*enumerate(lists), (None, None)]:
            headers = bearer("root" if i is None else f"t{i}")
            matching = {name: [p for p in (patterns or ["*"]) if fnmatch.fnmatchcase(name, p) and (not names[name] or p.strip("*?"))] for name in names}
            seen = {name for name in names if matching[name] or not names[name] and anonymous == "read"}
            assert set(listed(server, headers)) == seen, (patterns, anonymous)
            for name in names:
                for method, target in (("GET", "/v1/datasets/{}/nodes/a"), ("GET", "/zarr/{}/a/zarr.json"), ("PUT", "/zarr/{}/x"), ("GET", "/v1/datasets/{}/tree/")):
                    answer, absent = (server.request(method, target.format(n), headers, b"1" if method == "PUT" else None) for n in (name, "absent"))
                    if name not in seen:
                        assert (answer.status, answer.code) == (absent.status, absent.code) == (404, "dataset_not_found"), (patterns, name, answer)
                    else:
                        assert answer.status in ((200, 201) if method == "GET" or matching[name] else (403,)), (patterns, name, answer)


def listed(server, headers):
    return [one["name"] for one in server.get("/v1/datasets", headers).json()["datasets"]]


def test_a_private_dataset_is_listed_to_those_that_it_is_for(hidden):
    assert listed(hidden, NO_TOKEN) == ["r"]
    assert listed(hidden, bearer("read")) == ["p", "r"]
    assert listed(hidden, bearer("other")) == ["r"]
    for target in ("/", "/zarr/", "/readyz", "/livez", "/v1/datasets/q", "/zarr/gon/x"):
        for headers in (NO_TOKEN, bearer("other")):
            for accept in ("text/html", "application/json"):
                body = hidden.get(target, {**headers, "Accept": accept}).body
                assert b"gone" not in body and b"/p/" not in body and b"'p'" not in body, (target, body)
    assert b"/zarr/p/" in hidden.get("/zarr/", {**bearer("read"), "Accept": "text/html"}).body
    assert hidden.get("/readyz").json()["datasets"] == 1
    metrics = hidden.get("/metrics", bearer("admin"))
    assert metrics.status == 200 and b'dataset="p"' in metrics.body and b'dataset="r"' in metrics.body
    refused(hidden.get("/metrics"), CHALLENGE)
    answer = hidden.get("/v1/limits", bearer("read"))
    assert answer.status == 403 and answer.json()["scope"] == "admin"


def test_readiness_does_not_tell_of_a_private_dataset(serve, tmp_path):
    server = serve(config={"datasets": {name: {"location": str(tmp_path / name), "access": "private"} for name in ("gone", "lost")}})
    answer = server.get("/readyz")
    assert answer.status == 503 and answer.json()["detail"] == "no dataset can be served; see the log"


def test_every_route_of_a_private_dataset_obeys(hidden):
    routes = [(method, template) for method, template in ROUTES if "{d}" in template]
    assert len(routes) > 20
    for method, template in routes:
        target, absent = target_of(template, "p"), target_of(template, "q")
        body = None if method == "GET" else b"{}"
        is_write = writes(method, template)
        for headers, status in [(NO_TOKEN, 401), (bearer("old"), 401), (bearer("nobody"), 401), (bearer("other"), 404)]:
            answer, other = (hidden.request(method, t, headers, body) for t in (target, absent))
            assert answer.status == other.status == status, (method, template, headers, answer)
            assert answer.code == ("unauthorized" if status == 401 else "dataset_not_found")
            said = answer.json() | {"instance": ""}
            expected = json.loads(other.body.replace(b"'q'", b"'p'")) | {"instance": ""}
            assert {**said, "suggestions": 0} == {**expected, "suggestions": 0}, (said, expected)
        if is_write:
            answer = hidden.request(method, target, bearer("read"), body)
            assert answer.status == 403 and answer.json()["scope"].startswith("write:p"), (method, template, answer)
        elif not template.endswith("/events"):
            assert hidden.request(method, target, bearer("read"), body).status not in (401, 403), (method, template)
        if "{path}" in template or "{key}" in template:
            answer = hidden.request(method, target, bearer("solar"), body)
            word = "write" if is_write else "read"
            assert answer.status == 403 and answer.json()["scope"].startswith(f"{word}:p/a"), (method, template, answer)


def test_methods_do_not_tell_of_a_private_dataset(hidden):
    for target in ("/v1/datasets/{}/nodes/a", "/zarr/{}/a"):
        for headers in (NO_TOKEN, bearer("other")):
            for method in ("OPTIONS", "PROPFIND"):
                allowed = {hidden.request(method, target.format(name), headers).headers["allow"] for name in ("p", "gone", "q")}
                assert len(allowed) == 1, (method, target, allowed)


def test_a_path_outside_is_forbidden_and_not_named(hidden):
    solar = bearer("solar")
    for target in ("/v1/datasets/p/nodes/solar", "/v1/datasets/p/tree/solar", "/zarr/p/solar/zarr.json", "/v1/datasets/p/slices/solar/a", "/v1/datasets/p"):
        assert hidden.get(target, solar).status == 200, target
    for target in ("/v1/datasets/p/nodes/", "/v1/datasets/p/tree/", "/zarr/p/zarr.json", "/v3/p/a/zarr.json", "/v1/datasets/p/events",
                   "/v1/datasets/p/events?path=a", "/v1/datasets/p/nodes/solarium", "/zarr/p/solar//../a"):
        answer = hidden.get(target, solar)
        assert answer.status in (403, 400) and b"a/zarr" not in answer.body.replace(b"p/a/zarr", b""), (target, answer)
    missing = hidden.get("/v1/datasets/p/nodes/solar/b", solar)
    assert missing.status == 404 and not missing.json().get("suggestions")
    assert hidden.request("DELETE", "/v1/datasets/p/nodes/?recursive=1", solar).status == 403
    assert hidden.request("PUT", "/zarr/p/solar/b", solar, b"1").status in (200, 201)
    assert hidden.get("/zarr/p/solar/b", bearer("read")).body == b"1"


def test_nodes_outside_are_in_no_listing(hidden):
    level, read = bearer("level"), bearer("read")
    names = lambda headers: [child["name"] for child in hidden.get("/v1/datasets/p/nodes/solar", headers).json()["children"]]  # noqa: E731
    for _ in range(3):  # made, prepared, given again: to each his own
        assert names(read) == ["a", "veiled"] and names(level) == ["a"]
    tags = [hidden.get("/v1/datasets/p/nodes/solar", headers).headers["etag"] for headers in (read, level)]
    assert tags[0] != tags[1]
    for tag, status in zip(tags, (200, 304)):
        assert hidden.get("/v1/datasets/p/nodes/solar", {**level, "If-None-Match": tag}).status == status
    for target, scope in [("/zarr/p/zarr.json", "read:p/**"), ("/v3/p/zarr.json", "read:p/**"), ("/v3-unsharded/p/zarr.json", "read:p/**"),
                          ("/zarr/p/.zmetadata", "read:p/**"), ("/zarr/p//zarr.json", "read:p/**"), ("/zarr/p/solar/zarr.json", "read:p/solar/**"),
                          ("/v3/p/solar/zarr.json", "read:p/solar/**"), ("/zarr/p/solar/", "read:p/solar/**"), ("/zarr/p/", "read:p/**"),
                          ("/v1/datasets/p/tree/solar", "read:p/solar/**"), ("/v1/datasets/p/slices/pyramid", "read:p/pyramid/fine")]:
        for headers in ({}, {"If-None-Match": "*"}, {"Range": "bytes=0-1"}):
            hidden.get(target, {**read, **headers})
            for method in ("GET", "HEAD"):
                answer = hidden.request(method, target, {**level, **headers})
                assert answer.status == 403 and (method == "HEAD" or answer.json()["scope"] == scope), (method, target, answer)
    for target in ("/v1/datasets/p/nodes/solar/a", "/v1/datasets/p/slices/solar/a", "/v1/datasets/p/nodes/pyramid"):
        assert hidden.get(target, level).status == 200, target
    assert hidden.get("/v1/datasets/p/slices/pyramid", read).status == 200
    for target in ("/zarr/p/solar/zarr.json", "/v3/p/solar/zarr.json", "/zarr/p/solar/", "/v1/datasets/p/nodes/solar"):
        assert b"veiled" in hidden.get(target, bearer("solar")).body or target.endswith(".json"), target


def test_no_shared_cache_keeps_answers_to_a_credential(hidden):
    for n in range(3):  # made, prepared, given again
        for target in ("/v1/datasets/p/nodes/a", "/zarr/p/a/zarr.json", "/v1/datasets/p/slices/a"):
            answer = hidden.get(target, bearer("read"))
            assert answer.status == 200 and answer.headers["cache-control"] == "private, no-cache", (n, target, answer)
            assert "Authorization" in answer.headers["vary"]
            same = hidden.get(target, {**bearer("writer"), "If-None-Match": answer.headers["etag"]})
            assert same.status == 304 and "private" in same.headers["cache-control"]
            refused(hidden.get(target), CHALLENGE)
            assert hidden.get(target, bearer("other")).status == 404
        public = hidden.get("/v1/datasets/r/nodes/a")
        assert public.headers["cache-control"] == "no-cache"
        assert hidden.get("/v1/datasets/r/nodes/a", bearer("read")).headers["cache-control"] == "private, no-cache"
        assert "private" in hidden.get("/v1/datasets/r/nodes/a?access_token=read-secret").headers["cache-control"]


def test_no_shared_cache_keeps_answers_for_administrators(start):
    server = start(*OUTSIDE, "--set", "access.protect_service=true", tokens=[entry("root", "admin")])
    for target in ("/metrics", "/v1/limits"):
        answer = server.get(target, bearer("root"))
        assert answer.headers["cache-control"] == "private, no-cache" and "Authorization" in answer.headers["vary"]
    assert server.get("/v1", bearer("root")).headers["cache-control"] == "private, no-cache"
    assert server.get("/v1/datasets/w/nodes/a", bearer("root")).headers["cache-control"] == "private, no-cache"


def test_a_credential_in_the_url_is_as_good_and_never_shown(hidden):
    for prefix, suffix in [("/t/{}", ""), ("", "?access_token={}"), ("", "?pretty=1&access_token={}"), ("/%74/{}", ""), ("", "?acces%73_token={}")]:
        def ask(name, target, method="GET", headers=NO_TOKEN, prefix=prefix, suffix=suffix):
            return hidden.request(method, prefix.format(f"{name}-secret") + target + suffix.format(f"{name}-secret"), headers)

        for _ in range(2):
            answer = ask("read", "/v1/datasets/p/nodes/a")
            assert answer.status == 200 and "private" in answer.headers["cache-control"], answer
            assert b"secret" not in answer.body
        refused(ask("old", "/v1/datasets/p/nodes/a"))
        refused(ask("nobody", "/livez"))
        assert ask("other", "/v1/datasets/p/nodes/a").status == 404
        for headers in (bearer("read"), bearer("nobody")):
            answer = ask("read", "/v1", headers=headers)
            assert answer.status == 400 and answer.code == "bad_request"
        redirected = ask("read", "/zarr/p/solar", headers={"Accept": "text/html"})
        shown = redirected.body + str(dict(redirected.headers)).encode() + ask("read", "/v1/nothing").body
        assert b"secret" not in shown
        answer = ask("read", "/v1/datasets/p/nodes/a", "BREW")
        assert b"secret" not in answer.body
    assert hidden.get("/t/read-secret/v1?access_token=read-secret").status == 400
    with socket.create_connection(("127.0.0.1", hidden.port), timeout=DEADLINE_S) as s:
        s.sendall(b"GET /v1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer read-secret\r\nAuthorization: Bearer read-secret\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 400 ")
    assert hidden.get("/t/read-secret/" + "x" * 9000).status == 414
    with socket.create_connection(("127.0.0.1", hidden.port), timeout=DEADLINE_S) as s:
        s.sendall(b"GET /t/read-secret/v1?access_token=read-secret HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 400 ")
    wait_until(lambda: "/v1/datasets/p/nodes/a" in hidden.log)
    assert not any(secret in hidden.log for secret in SECRETS)


# ---- tokens that change while the server runs ----


def events_of(server, target, headers):
    """A connection on which the answer's head and the first event have come."""
    s = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    s.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\n{lines}\r\n".encode())
    seen = s.recv(65536)
    while b"id:" not in seen:
        seen += s.recv(65536)
    assert seen.startswith(b"HTTP/1.1 200 ")
    return s


def until_end(s):
    """What still comes, up to the last chunk or the end of the connection."""
    seen = b""
    while not seen.endswith(b"0\r\n\r\n"):
        piece = s.recv(65536)
        if not piece:
            break
        seen += piece
    s.close()
    return seen


def test_tokens_are_read_again_and_streams_end_with_theirs(start, tmp_path):
    ada, bob = (entry(name, "read", datasets=["w"]) for name in ("ada", "bob"))
    server = start("--set", "events.heartbeat_ms=20000", tokens=[ada, bob], access="private")
    file = tmp_path / "tokens.json"
    gone, stays = (events_of(server, "/v1/datasets/w/events", bearer(name)) for name in ("ada", "bob"))
    in_url = events_of(server, "/v1/datasets/w/events?access_token=ada-secret", {})
    write_tokens(file, bob, entry("cid", "read", datasets=["w"]))  # seen without a signal
    wait_until(lambda: server.get("/v1/datasets/w/nodes/a", bearer("cid")).status == 200)
    refused(server.get("/v1/datasets/w/nodes/a", bearer("ada")))
    assert until_end(gone).endswith(b"0\r\n\r\n") and until_end(in_url).endswith(b"0\r\n\r\n")
    stays.setblocking(False)
    with pytest.raises(BlockingIOError):
        stays.recv(1)
    stays.close()

    file.write_text('{"tokens": [')
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "tokens" in server.get("/readyz").json())
    assert "the tokens stay unchanged: access.tokens_file" in server.log
    assert server.get("/readyz").status == 200 and str(file) not in server.get("/readyz").json()["tokens"]
    assert server.get("/v1/datasets/w/nodes/a", bearer("cid")).status == 200
    write_tokens(file, ada)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "tokens" not in server.get("/readyz").json())
    assert server.get("/v1/datasets/w/nodes/a", bearer("ada")).status == 200
    refused(server.get("/v1/datasets/w/nodes/a", bearer("cid")))


def test_a_stream_ends_when_its_token_expires(start):
    soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
    server = start(tokens=[entry("ada", "read", expires=soon, datasets=["w"])], access="private")
    stream = events_of(server, "/v1/datasets/w/events", bearer("ada"))
    assert until_end(stream).endswith(b"0\r\n\r\n")
    refused(server.get("/v1/datasets/w", bearer("ada")))


def test_elements_are_cut_off_when_their_token_is_revoked(start, places, tmp_path):
    write_array(places / "long", (1 << 26,), (1 << 20,), [LITTLE])  # nothing stored: fill values
    server = start(tokens=[entry("ada", "read", datasets=["w"])], access="private")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_S)
    connection.request("GET", "/v1/datasets/w/slices/long", headers=bearer("ada"))
    answer = connection.getresponse()
    assert answer.status == 200 and len(answer.read(1 << 20)) == 1 << 20
    write_tokens(tmp_path / "tokens.json")
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.get("/v1", bearer("ada")).status == 401)
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        answer.read()
    connection.close()


LONG_BYTES = 64 << 20
READ_BYTES_MAX = 1 << 20  # by a client with a small window: what was under way
LONG = {"a slice": ("GET", "/v1/datasets/w/slices/long"), "text": ("GET", "/v1/datasets/w/slices/long?format=json"),
        "a file": ("GET", "/zarr/w/file"), "chunks": ("POST", "/v1/datasets/w/chunks/long")}
CHUNKS = json.dumps({"indices": [[i] for i in range(64)], "decoded": True}).encode()
BODY_BYTES = 1 << 20


def ask_slowly(server, name, who, body=b""):
    """A client with a small window, which has the first bytes of a long answer."""
    method, target = LONG[name]
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(DEADLINE_S)
    s.connect(("127.0.0.1", server.port))
    head = f"{method} {target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {who}-secret\r\nContent-Type: application/json\r\n"
    s.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert s.recv(12) == b"HTTP/1.1 200"
    return s


def begin_body(server, target, who, rest, content_type):
    """A client that has sent its body but for the rest."""
    s = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)
    head = f"PUT {target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {who}-secret\r\nContent-Type: {content_type}\r\n"
    s.sendall(f"{head}Content-Length: {BODY_BYTES}\r\n\r\n".encode() + b" " * (BODY_BYTES - rest))
    return s


@pytest.fixture
def watched(start, places):
    write_array(places / "long", (LONG_BYTES // 4,), (1 << 16,), [LITTLE])  # nothing stored: fill values
    write_array(places / "into", (BODY_BYTES // 4,), (1 << 16,), [LITTLE])
    with open(places / "file", "wb") as file:
        file.truncate(LONG_BYTES)
    return start("--set", "http.reader_least_bytes=0", "--set", "http.body_ms=30000", tokens=[entry("ada", "read", "write", datasets=["w"]), entry("bob", "read", datasets=["w"])], access="private")


def names_below(folder):
    return {place for place in below(folder) if TEMPORARY not in str(place)}


def revoke_ada(server, tmp_path):
    write_tokens(tmp_path / "tokens.json", entry("bob", "read", datasets=["w"]))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.get("/v1", bearer("ada")).status == 401)


def test_a_slow_reader_gets_nothing_more_after_its_token_is_revoked(watched, tmp_path):
    readers = {name: ask_slowly(watched, name, "ada", CHUNKS if name == "chunks" else b"") for name in LONG}
    stays = ask_slowly(watched, "a slice", "bob")
    revoke_ada(watched, tmp_path)
    wait_until(lambda: watched.log.count(" by ada cut: ") == len(LONG))
    for name, s in readers.items():
        n = 0
        with pytest.raises(ConnectionResetError):
            while piece := s.recv(65536):
                n += len(piece)
        assert n < READ_BYTES_MAX, name
        s.close()
    assert watched.log.count("unauthorized: the credential is not valid") >= len(LONG)
    stays.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    n = 0
    while n < LONG_BYTES:
        n += len(stays.recv(1 << 20))
    stays.close()


@pytest.mark.parametrize("rest", [BODY_BYTES // 2, 1000])
def test_a_body_that_still_comes_when_its_token_is_revoked_is_not_stored(watched, places, tmp_path, rest):
    targets = {"/zarr/w/into/c/0": "application/octet-stream", "/v1/datasets/w/slices/into": "application/octet-stream",
               "/v1/datasets/w/nodes/new": "application/json", "/zarr/w/new/key": "application/octet-stream"}
    senders = [begin_body(watched, target, "ada", rest, content_type) for target, content_type in targets.items()]
    before = names_below(places)
    until_under_way(watched, len(senders))
    revoke_ada(watched, tmp_path)
    for s in senders:
        if rest < BODY_BYTES // 2:
            s.sendall(b" " * rest)  # so much is read, and dropped
        seen = b""
        while b"\r\n\r\n" not in seen:
            seen += s.recv(65536)
        assert seen.startswith(b"HTTP/1.1 401 ") and b"invalid_token" in seen, seen
        s.close()
    wait_until(lambda: names_below(places) == before)


def test_a_new_token_comes_with_its_entry(start):
    def new(name):
        return subprocess.run([BINARY, "--new-token", name], capture_output=True, text=True, timeout=DEADLINE_S)

    token, line = new("ada").stdout.splitlines()
    assert 'for a private dataset, the token\'s entry must contain "datasets": ["NAME"]' in new("ada").stderr
    made = json.loads(line)
    assert made == {"name": "ada", "sha256": hashlib.sha256(token.encode()).hexdigest(), "scopes": ["read"]}
    assert token != new("ada").stdout.splitlines()[0] and len(token) == 64
    server = start("--set", "access.anonymous=none", tokens=[made])
    assert server.get("/v1", {"Authorization": f"bearer {token}"}).status == 200
    assert server.get(f"/t/{token}/zarr/w/a/zarr.json").status == 200
    assert new("a b").returncode == 2 and new("").returncode == 2
