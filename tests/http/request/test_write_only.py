"""Credentials that may write and not read: nothing that is stored comes back to them, on any route."""

import base64
import functools
import gzip
import hashlib
import json
import os
import random
import shutil
import struct
import urllib.parse

import jose
import numpy as np
import pytest
from arrays import write_array, write_chunk, write_node, write_sharded
from client import wait_until
from documents import CRC, GZIP, GROUP, LITTLE, array_document, extension
from files import TEMPORARY, below
from live import ROOT
from search_rounds import rounds

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
READING_POSTS = ("slices", "chunks", "sign")
SECRET = base64.b64encode(bytes(range(32))).decode()
OUTSIDE = ("--listen", "0.0.0.0:0")
UNREADABLE = "the credential may not read"
MERGE = {"Content-Type": "application/merge-patch+json"}
JSON = {"Content-Type": "application/json"}
SEED = int(os.environ.get("ZARRD_SEED", random.randrange(1 << 32)))


def write_routes():
    for template, item in DOCUMENT["paths"].items():
        for method in ("put", "post", "patch", "delete"):
            if method in item and not (method == "post" and template.split("/")[-2 if "{" in template else -1] in READING_POSTS):
                yield method.upper(), template


ROUTES = sorted(write_routes())


def entry(name, *scopes, **more):
    return {"name": name, "sha256": hashlib.sha256(f"{name}-secret".encode()).hexdigest(), "scopes": list(scopes), **more}


TOKENS = [
    entry("all", "write"),
    entry("below", "write", paths=["p/**"]),
    entry("both", "read", "write"),
    entry("deep", "read", "write", paths=["n/q/**"]),
    entry("deeper", "read", "write", paths=["n/q/**", "n"]),
    entry("group", "read", "write", paths=["n/q"]),
    entry("keys", "read", "write", paths=["k/a/c/**", "k/bad/c/**"]),
    entry("one", "write", paths=["p/*"]),
]


def bearer(name):
    return {"Authorization": f"Bearer {name}-secret"}


class Site:
    """A server over one writable store, and its credentials."""

    def __init__(self, serve, folder, store, *arguments):
        self.key = jose.Key(folder, "k", "EdDSA")
        files = {"tokens_file": {"tokens": TOKENS}, "jwks_file": json.loads(jose.jwks(self.key)),
                 "signing_keys_file": {"keys": [{"id": "k", "secret": SECRET}]}}
        settings = ["--set", f"access.jwt_issuer={jose.ISSUER}", "--set", f"access.jwt_audience={jose.AUDIENCE}"]
        for name, document in files.items():
            path = folder / name
            path.write_text(json.dumps(document))
            path.chmod(0o600)
            settings += ["--set", f"access.{name}={path}"]
        self.store = store
        self.server = serve(*OUTSIDE, *settings, *arguments, config={"datasets": {"w": {"location": str(store), "writable": True, "revalidate_ms": 0}}})

    def ask(self, who, method, target, headers=None, body=None):
        """One request of a token, a JWT with scopes, or a URL that the token `all` has signed."""
        headers = dict(headers or {})
        if who.startswith("jwt "):
            headers["Authorization"] = f"Bearer {self.jwt(who[4:])}"
        elif who == "url":
            target = self.sign(method, target)
        else:
            headers.update(bearer(who))
        return self.server.request(method, target, headers, body)

    @functools.cache
    def jwt(self, scopes):
        return self.key.token(scopes)

    def sign(self, method, target):
        path, _, query = target.partition("?")
        answer = self.server.post("/v1/sign", {"method": method, "path": urllib.parse.unquote(path), "fix_query": False, "expires_s": 600}, bearer("all"))
        assert answer.status == 200, answer
        url = answer.json()["url"]
        return url + ("&" + query if query else "")


# ---- markers ----

NUMBER = iter(range(1_700_000_011, 1 << 31, 7_919))  # no request and no answer has one by chance


class Markers:
    """Texts and numbers that no other store has; each is known in all forms in which an answer could have it."""

    def __init__(self):
        self.numbers, self.texts = [], []

    def number(self):
        self.numbers.append(next(NUMBER))
        return self.numbers[-1]

    def text(self):
        self.texts.append(f"marker{next(NUMBER)}")
        return self.texts[-1]

    def array(self, shape):
        return np.array([self.number() for _ in range(int(np.prod(shape)))], "int32").reshape(shape)

    def forms(self):
        for text in self.texts:
            yield text.encode()
        for number in self.numbers:
            yield str(number).encode()
            for order in "<>":
                yield struct.pack(f"{order}i", number)
                yield struct.pack(f"{order}d", number)

    def in_answer(self, answer):
        bodies = [answer.body, "\n".join(f"{name}: {value}" for name, value in answer.headers.items()).encode()]
        if answer.headers.get("content-encoding") == "gzip":
            bodies.append(gzip.decompress(answer.body))
        for word in answer.body.decode("latin-1").split('"'):
            try:
                bodies.append(base64.b64decode(word, validate=True))
            except ValueError:
                pass
        return [form for form in self.forms() if any(form in body for body in bodies)]


def empty(place):
    """What a running server has changed goes."""
    place.mkdir(exist_ok=True)
    for child in [child for child in place.iterdir() if not child.name.startswith(TEMPORARY)]:
        shutil.rmtree(child) if child.is_dir() else child.unlink()


def fill_with(place, markers):
    """Groups and arrays of which each document, attribute and value is a marker."""
    empty(place)
    write_node(place, {**GROUP, "attributes": {"a": markers.text()}})
    for node in ("p", "p/g", f"p/g/{markers.text()}", f"p/{markers.text()}"):
        write_node(place / node, {**GROUP, "attributes": {markers.text(): markers.number()}})
    (place / "p" / "g" / "zarr.json").write_text(json.dumps({**GROUP, "attributes": {"k": markers.text()}, "consolidated_metadata": {
        "kind": "inline", "must_understand": False, "metadata": {markers.text(): {**GROUP, "attributes": {"x": markers.number()}}}}}))
    names = {"attributes": {"x": markers.text(), "n": markers.number()}, "dimension_names": [markers.text(), markers.text()]}
    write_array(place / "p" / "a", (4, 6), (2, 3), [LITTLE], markers.array((4, 6)), "int32", fill=markers.number(), **names)
    write_array(place / "p" / "z", (4, 6), (2, 3), [LITTLE, GZIP], markers.array((4, 6)), "int32", gzip.compress, fill=markers.number(), **names)
    write_sharded(place / "p" / "s", markers.array((4, 6)), (4, 6), (2, 3))
    bounds = extension("array-statistics", {"min": markers.number(), "max": markers.number() + 1_000}, must_understand=False)
    write_array(place / "p" / "b", (4, 6), (2, 3), [LITTLE], markers.array((4, 6)), "int32", extensions=[bounds], **names)
    write_array(place / "p" / "bad", (4, 6), (2, 3), [{"name": markers.text()}], markers.array((4, 6)), "int32")
    write_array(place / "p" / "long", (4, 1_000_000), (2, 3), [LITTLE], None, "int32")
    write_chunk(place / "p" / "z", (0, 0), markers.text().encode())  # which does not decode
    return markers


VALUE = struct.pack("<i", 5)
BODIES = {
    "nodes": [(JSON, json.dumps(document).encode()) for document in (
        GROUP, array_document([4, 6], [2, 3], "int32"), array_document([4, 6], [2, 6], "int32"), {**GROUP, "attributes": 5}, {"node_type": "array"})]
    + [(JSON, b"{"), (JSON, b""), ({}, b"x")],
    "patch": [(MERGE, json.dumps(patch).encode()) for patch in (
        {}, {"attributes": {"new": 1}}, {"attributes": None}, {"shape": [2, 6]}, {"shape": [2]}, {"dimension_names": ["x"]}, {"dimension_names": ["x", "y"]},
        {"extensions": {"x": 1}}, {"extensions": []}, {"codecs": []})] + [(MERGE, b"{")],
    "chunks": [({}, VALUE * 6), ({}, VALUE), ({}, b""), ({}, gzip.compress(VALUE * 6)), (JSON, b"[]")],
    "slices": [({}, VALUE * 24), ({}, VALUE), (JSON, b"5"), (JSON, json.dumps([[1] * 6] * 4).encode()), (JSON, b"[[1]]"), (JSON, b"["), ({}, b"")],
    "zarr": [({}, json.dumps(GROUP).encode()), ({}, json.dumps(array_document([4, 6], [2, 6], "int32")).encode()), ({}, VALUE * 6), ({}, b"{")],
    "delete": [({}, None)],
    "consolidate": [({}, None), (JSON, b"{}")],
}
QUERIES = {
    "nodes": ["", "dry_run=1", "erase_chunks=1", "erase_chunks=1&dry_run=1", "dry_run=2", "x=1"],
    "patch": ["", "dry_run=1", "pretty=1"],
    "delete": ["", "dry_run=1", "recursive=1&dry_run=1", "index=0,0", "index=0,9", "index=0,0&level=inner"],
    "chunks": ["index=0,0", "index=0,0&decoded=1", "index=0,0&decoded=1&dry_run=1", "index=1,1&level=inner&decoded=1", "index=9,9", "index=0", "", "index=x"],
    "slices": ["", "dry_run=1&broadcast=1", "broadcast=1", "slice=0:1,0:2&broadcast=1&dry_run=1", "slice=9", "slice=0:1,0:2", "slice=:,99&broadcast=1",
               "expected_shape=4,6", "expected_shape=4", "append=0", "append=0&dry_run=1", "append=x", "broadcast=1&slice=0:4:2,1"],
    "zarr": [""],
    "consolidate": ["", "dry_run=1"],
}
GOOD = {
    "nodes": ("p/g", "", *BODIES["nodes"][0]),
    "patch": ("p/a", "", *BODIES["patch"][0]),
    "delete": ("p/b", "index=0,0", {}, None),
    "chunks": ("p/a", "index=0,0&decoded=1", {}, VALUE * 6),
    "slices": ("p/a", "broadcast=1", {}, VALUE),
    "zarr": ("p/file", "", {}, VALUE),
    "consolidate": ("p/g", "", {}, None),
}
CONDITIONS = [{}, {"If-Match": "*"}, {"If-None-Match": "*"}, {"If-Match": '"x"'}, {"If-None-Match": '"x"'}, {"If-Match": 'x, *'},
              {"If-Unmodified-Since": "Thu, 01 Jan 2026 00:00:00 GMT"}]
NODES = ["", "p", "p/g", "p/a", "p/z", "p/s", "p/b", "p/t", "p/v", "p/bad", "p/long", "p/none", "p/a/below"]
KEYS = ["zarr.json", "p/zarr.json", "p/a/zarr.json", "p/a/c/0/0", "p/a/c/9/9", "p/s/c/0/0", "p/z/c/0/0", "p/file", "p/none/zarr.json", "p/g/zarr.json", "p/g/.zattrs"]


def kind_of(method, template):
    name = template.split("/")[4] if template.startswith("/v1") else "zarr"
    return "delete" if method == "DELETE" else "patch" if method == "PATCH" else name


def variants(method, template, rng, n):
    """One request to a route that succeeds, and random ones: target, headers and body."""
    kind = kind_of(method, template)
    paths = KEYS if "{key}" in template else NODES
    wanted = [(rng.choice(paths), rng.choice(QUERIES[kind]), *rng.choice(BODIES[kind])) for _ in range(n)]
    for number, (path, query, headers, body) in enumerate([GOOD[kind], *wanted]):
        if template.endswith("nodes/{path}") and query.startswith("index"):
            query = ""
        target = template.replace("{d}", "w").replace("{path}", path).replace("{key}", path)
        more = rng.choice(CONDITIONS) if rng.random() < 0.3 and number > 0 else {}
        accept = {"Accept-Encoding": "gzip"} if rng.random() < 0.2 else {}
        yield target + (f"?{query}" if query and kind != "zarr" else ""), {**headers, **more, **accept}, body


@pytest.fixture
def site(serve, tmp_path):
    def start(store, *arguments):
        folder = tmp_path / f"site-{store.name}"
        folder.mkdir()
        return Site(serve, folder, store, *arguments)

    return start


@pytest.mark.parametrize("who", ["all", "below", "one", "jwt write", "url"])
def test_no_marker_is_ever_in_an_answer(site, tmp_path, who):
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    store, markers = tmp_path / "store", Markers()
    store.mkdir()
    own = site(tmp_path / "store")
    own.server.announced += ["corrupt_chunk", "does not decode", "store_error"]
    statuses = {}
    for method, template in ROUTES * 2:
        fill_with(store, markers)
        for target, headers, body in variants(method, template, rng, rounds(60, 20)):
            answer = own.ask(who, method, target, headers, body)
            statuses.setdefault((method, template), set()).add(answer.status)
            assert not (found := markers.in_answer(answer)), (SEED, who, method, target, headers, body, answer, found)
            assert not {"etag", "last-modified", "server-timing"} & set(answer.headers), (method, target, answer)
            assert not [name for name in answer.headers if name.startswith("zarr-")], (method, target, answer)
    for route, seen in statuses.items():
        assert seen & {200, 201, 204} or who == "one", (route, seen)
    fill_with(store, markers)
    read = own.server.get("/v1/datasets/w/nodes/p/b", bearer("both"))
    assert markers.in_answer(read), "the store has markers, and they are found where one may read"


def test_a_path_decides_who_is_shown_what(site, tmp_path):
    who = "jwt write read:w/p/a"
    markers = fill_with(tmp_path / "store", Markers())
    own = site(tmp_path / "store")
    for node, sees in (("p/a", True), ("p/b", False)):
        for method, resource, headers, body in (
                ("PATCH", "nodes", MERGE, b"{}"), ("PUT", "slices", {}, VALUE), ("PUT", "chunks", {}, VALUE * 6)):
            query = {"nodes": "?dry_run=1", "slices": "?broadcast=1&slice=0,0", "chunks": "?index=0,0&decoded=1"}[resource]
            answer = own.ask(who, method, f"/v1/datasets/w/{resource}/{node}{query}", headers, body)
            assert answer.status == 200 and (answer.json() == {"path": node}) != sees, answer
            assert sees == (resource == "nodes" and bool(markers.in_answer(answer)) or "etag" in answer.headers), answer
    answer = own.ask(who, "POST", "/v1/datasets/w/consolidate/p/g?dry_run=1")
    assert answer.status == 200 and answer.json() == {"path": "p/g"}
    answer = own.ask("both", "POST", "/v1/datasets/w/consolidate/p/g?dry_run=1")
    assert answer.status == 200 and answer.json()["nodes"]


def test_requests_that_only_guess_need_read(site, tmp_path):
    fill_with(tmp_path / "store", Markers())
    own = site(tmp_path / "store")
    merged = json.dumps({"extensions": {"name": "example.array-statistics", "configuration": {"min": 5}}}).encode()
    guessed = [
        ("PATCH", "/v1/datasets/w/nodes/p/a", {**MERGE, "If-Match": '"x"'}, b"{}", "read:w/p/a"),
        ("PUT", "/v1/datasets/w/chunks/p/a?index=0,0&decoded=1", {"If-None-Match": '"x"'}, VALUE * 6, "read:w/p/a"),
        ("DELETE", "/v1/datasets/w/nodes/p/a", {"If-Unmodified-Since": "Thu, 01 Jan 2026 00:00:00 GMT"}, None, "read:w/p/a/**"),
        ("POST", "/v1/datasets/w/consolidate/p/g", {"If-Match": '*, "x"'}, None, "read:w/p/g/**"),
        ("PUT", "/zarr/w/p/a/c/0/0", {"If-Match": '"x"'}, VALUE * 6, "read:w/p/a/c/0/0"),
        ("PUT", "/v1/datasets/w/slices/p/a?broadcast=1&expected_shape=4,6", {}, VALUE, "read:w/p/a"),
        ("PATCH", "/v1/datasets/w/nodes/p/a", MERGE, merged, "read:w/p/a"),
    ]
    before = below(own.store)
    for method, target, headers, body, scope in guessed:
        answer = own.ask("all", method, target, headers, body)
        assert answer.status == 403 and answer.code == "forbidden" and answer.json()["scope"] == scope, (method, target, answer)
        assert own.ask("both", method, target, headers, body).status != 403
        own.server.request("GET", "/livez")
    assert set(before) >= set(below(own.store)) - {"p/a"}
    for condition, status in (({"If-Match": "*"}, 200), ({"If-None-Match": "*"}, 412)):
        assert own.ask("all", "PATCH", "/v1/datasets/w/nodes/p/b", {**MERGE, **condition}, b"{}").status == status


def test_an_array_that_skips_empty_chunks_takes_no_guess(site, tmp_path):
    """Whether a chunk is there tells whether its elements are the fill value."""
    store = tmp_path / "store"
    write_node(store, GROUP)
    skips = [extension("skip_empty_chunks", must_understand=False)]
    write_array(store / "e", (4,), (2,), [LITTLE], np.arange(4, dtype="int32"), "int32", extensions=skips)
    own = site(store)
    for target, body in (("/v1/datasets/w/slices/e?slice=1&broadcast=1", VALUE), ("/v1/datasets/w/chunks/e?index=0&decoded=1", VALUE * 2), ("/zarr/w/e/c/0", VALUE * 2)):
        assert own.ask("all", "PUT", target, {}, body).code == "forbidden"
        assert own.ask("both", "PUT", target, {}, body).status == 200


def test_the_array_of_a_readable_key_stays_hidden(site, tmp_path):
    """Its keys may be read and written, its document may not be read: neither views nor refusals tell of that."""
    store = tmp_path / "store"
    write_node(store, GROUP)
    write_array(store / "k" / "a", (4,), (2,), [GZIP], np.arange(4, dtype="int32"), "int32", gzip.compress)
    write_array(store / "k" / "bad", (4,), (2,), [{"name": "marker"}])
    own = site(store)
    for node in ("k/a", "k/bad"):
        for view in ("v3", "v3-unsharded"):
            answer = own.ask("keys", "GET", f"/{view}/w/{node}/c/0")
            assert answer.code == "key_not_found" and b"marker" not in answer.body
        assert own.ask("both", "GET", f"/zarr/w/{node}/c/0").status == (200 if node == "k/a" else 404)
    answer = own.ask("keys", "PUT", "/zarr/w/k/a/c/0", {}, VALUE)
    assert answer.code == "corrupt_chunk" and UNREADABLE in answer.json()["detail"] and b"gzip" not in answer.body
    assert b"gzip" in own.ask("both", "PUT", "/zarr/w/k/a/c/0", {}, VALUE).body
    chunk = gzip.compress(VALUE * 2)
    assert own.ask("keys", "PUT", "/zarr/w/k/a/c/0", {}, chunk).headers["etag"]
    assert own.ask("both", "GET", "/v3/w/k/a/c/0").body == chunk


@pytest.mark.parametrize("level", ["array", "group", "none"])
def test_a_level_that_may_not_be_read_is_not_judged(site, tmp_path, level):
    """A group that names it as one of its levels is stored, whatever is there."""
    store = tmp_path / "store"
    for node in (".", "n", "n/q"):
        write_node(store / node, GROUP)
    if level == "array":
        write_array(store / "n" / "q" / "s", (4,), (2,), [LITTLE])
    elif level == "group":
        write_node(store / "n" / "q" / "s", GROUP)
    own = site(store)
    levels = {"extensions": [extension("multiscale-arrays", {"multiscale": {"datasets": ["s"]}}, must_understand=False)]}
    group = json.dumps({**GROUP, **levels}).encode()
    target = "/v1/datasets/w/nodes/n/q?dry_run=1"
    assert own.ask("group", "PATCH", target, MERGE, json.dumps(levels).encode()).status == 200
    for who in ("group", "all"):
        assert own.ask(who, "PUT", target, JSON, group).status == 200
    assert own.ask("both", "PUT", target, JSON, group).status == (200 if level == "array" else 422)
    assert own.ask("all", "PUT", "/zarr/w/n/q/zarr.json", {}, group).status == 200


@pytest.mark.parametrize("key", ["a/zarr.json", "b/zarr.json"])
def test_stored_chunks_are_not_tried_with_other_codecs(site, tmp_path, key):
    """Whether the bytes of a chunk decode as texts would tell what they are."""
    store = tmp_path / "store"
    write_node(store, GROUP)
    write_array(store / "a", (7,), (7,), [LITTLE], np.array([6, 0, 0, 0, 0, 0, 0], "int32"), "int32")
    write_chunk(store / "b", (0,), struct.pack("<7i", 6, 0, 0, 0, 0, 0, 0))  # nobody's
    own = site(store)
    node = key.partition("/")[0]
    texts = json.dumps(array_document([6], [6], "string", fill="", codecs=[{"name": "vlen-utf8"}])).encode()
    assert own.ask("all", "DELETE", f"/zarr/w/{key}").status == 204
    assert own.ask("all", "PUT", f"/zarr/w/{key}", {}, texts).code == "chunks_exist"
    assert own.ask("all", "PUT", f"/v1/datasets/w/nodes/{node}", JSON, texts).code == "chunks_exist"
    assert own.ask("both", "PUT", f"/zarr/w/{key}", {}, texts).status == 200


def test_chunks_that_are_left_empty_are_stored(site, tmp_path):
    store = tmp_path / "store"
    write_node(store, GROUP)
    for name in ("a", "b"):
        write_array(store / name, (4,), (2,), [LITTLE], np.array([0, 1, 0, 1], "int32"), "int32")
    own = site(store)
    for who, node, stays in (("all", "a", True), ("both", "b", False)):
        assert own.ask(who, "PUT", f"/v1/datasets/w/slices/{node}?slice=1&broadcast=1", {}, bytes(4)).status == 200
        assert own.ask(who, "PUT", f"/v1/datasets/w/chunks/{node}?index=1&decoded=1", {}, bytes(8)).status == 200
        assert [(store / node / "c" / chunk).exists() for chunk in "01"] == [stays, stays]


def test_parents_need_write_at_their_own_path(site, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    own = site(store)
    body = json.dumps(GROUP).encode()

    def put(who, path, query=""):
        answer = own.ask(who, "PUT", f"/v1/datasets/w/nodes/{path}{query}", JSON, body)
        return answer.status if answer.status < 300 else (answer.status, answer.code, answer.json()["scope"])

    def files():
        return sorted(str(path.relative_to(store)) for path in below(store) if path.is_file())

    for query in ("?dry_run=1", ""):
        assert put("deep", "n/q/x", query) == (403, "forbidden", "write:w")
        assert not list(store.iterdir())
    write_node(store, GROUP)
    assert put("deep", "n/q/x") == put("deep", "n/q") == (403, "forbidden", "write:w/n")
    assert files() == ["zarr.json"]
    assert put("deeper", "n/q/x") == 201
    assert files() == ["n/q/x/zarr.json", "n/q/zarr.json", "n/zarr.json", "zarr.json"]
    assert put("deep", "n/q/y") == 201 and put("both", "o/q/y") == 201
    assert own.ask("one", "DELETE", "/v1/datasets/w/nodes/p/a").code == "forbidden", "below it the token may not write"
    assert own.ask("one", "POST", "/v1/datasets/w/consolidate/p/a").code == "forbidden"


def test_the_log_and_the_audit_file_keep_what_the_answer_leaves_out(site, tmp_path):
    store, audit = tmp_path / "store", tmp_path / "audit"
    markers = fill_with(store, Markers())
    own = site(store, "--set", f"log.audit_file={audit}")
    target = "/v1/datasets/w/slices/p/a"
    answer = own.ask("all", "PUT", f"{target}?slice=9", {}, VALUE)
    assert answer.status == 400 and answer.code == "out_of_bounds" and UNREADABLE in answer.json()["detail"]
    assert set(answer.json()) == {"type", "title", "status", "detail", "instance", "code"} and not markers.in_answer(answer)
    full = own.ask("both", "PUT", f"{target}?slice=9", {}, VALUE).json()
    assert full["size"] == 4
    wait_until(lambda: own.server.log.count(full["detail"]) == 2)
    assert own.ask("all", "PUT", "/zarr/w/p/a/c/0/0", {}, VALUE * 6).status == 200
    tag = own.server.get("/zarr/w/p/a/c/0/0", bearer("both")).headers["etag"]
    wait_until(lambda: tag in [json.loads(line).get("after") for line in audit.read_text().splitlines()])


def test_faults_of_what_was_sent_keep_their_facts(site, tmp_path):
    fill_with(tmp_path / "store", Markers())
    own = site(tmp_path / "store")
    node = "/v1/datasets/w/nodes/p/new"
    faulty = json.dumps(array_document([4], [0])).encode()
    for target, headers, body, code, member in (
            (node, JSON, faulty, "invalid_metadata", "errors"), (node, JSON, b"{", "bad_body", None), (node, {"Content-Type": "text/plain"}, b"x", "unsupported_media_type", None),
            (node + "?dry_run=7", JSON, b"{}", "bad_parameter", None), (node + "?dryrun=1", JSON, b"{}", "unknown_parameter", None),
            ("/zarr/w/p/new/zarr.json", {}, faulty, "invalid_metadata", "errors"), ("/zarr/w/p/new/zarr.json", {}, b"{", "bad_body", None)):
        answer = own.ask("all", "PUT", target, headers, body)
        assert answer.code == code and UNREADABLE not in answer.json()["detail"] and (member is None or answer.json()[member]), (target, body, answer)


# ---- pairs of stores ----

def write_hidden(place, rng):
    """A store whose documents and values are of a few kinds, so that guesses are right now and then; all else is alike."""
    def attributes():
        return {"attributes": {rng.choice("abc"): "x" * rng.randrange(200), "n": rng.randrange(4)}}

    def values():
        return np.array([rng.randrange(1, 4) for _ in range(24)], "int32").reshape(4, 6)

    def fill():
        return {"fill": rng.choice((0, 5, 6))}

    empty(place)
    write_node(place, {**GROUP, **attributes()})
    listed = {f"c{i}": {**GROUP, **attributes()} for i in range(rng.randrange(3))}
    write_node(place / "p", {**GROUP, **attributes(), "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": listed}})
    write_node(place / "p" / "g", {**GROUP, **attributes()})
    write_array(place / "p" / "a", (4, 6), (2, 3), [LITTLE], values(), "int32", **fill(), **attributes())
    write_array(place / "p" / "z", (4, 6), (2, 3), [LITTLE, GZIP], values(), "int32", gzip.compress, **fill(), **attributes())
    write_sharded(place / "p" / "s", values(), (4, 6), (2, 3))
    low = rng.randrange(-9, 1)
    bounds = extension("array-statistics", {"min": low, "max": rng.randrange(4, 9)}, must_understand=False)
    write_array(place / "p" / "b", (4, 6), (2, 3), [LITTLE], values(), "int32", extensions=[bounds], **fill(), **attributes())
    write_array(place / "p" / "bad", (4, 6), (2, 3), [{"name": f"unknown{rng.randrange(9)}"}], None, "int32", **attributes())
    write_node(place / "p" / "t", array_document([4, 6], [2, 3], "string", fill=rng.choice("56"), codecs=[{"name": "vlen-utf8"}], **attributes()))
    for index in np.ndindex(2, 2):
        texts = [rng.choice("123") * rng.randrange(1, 9) for _ in range(6)]
        write_chunk(place / "p" / "t", index, struct.pack("<I", 6) + b"".join(struct.pack("<I", len(text)) + text.encode() for text in texts))
    old = place / "p" / "v"
    old.mkdir()
    (old / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [4, 6], "chunks": [2, 3], "dtype": "<i4", "order": "C", "compressor": None, "filters": None, **{
            "fill_value": rng.choice((0, 5, None))}}))
    (old / ".zattrs").write_text(json.dumps(attributes()["attributes"]))
    for first, second in np.ndindex(2, 2):
        (old / f"{first}.{second}").write_bytes(struct.pack("<6i", *(rng.randrange(1, 4) for _ in range(6))))


def guesses(rng, n):
    """Requests that would tell a guess from the truth, if anything did."""
    for _ in range(n):
        node = rng.choice(["p/a", "p/z", "p/s", "p/b", "p/t", "p/v"])
        value = rng.randrange(7)
        packed = struct.pack("<i", value)
        low, high = rng.randrange(-9, 1), rng.randrange(4, 9)
        first, second = rng.randrange(4), rng.randrange(6)
        box = f"{first}:{first + rng.randrange(1, 4)},{second}:{second + rng.randrange(1, 4)}"
        bounds = [extension("array-statistics", {"min": low, "max": high}, must_understand=False)]
        grid = array_document([4, 6], rng.choice([[2, 3], [4, 3]]), "int32", fill=value, codecs=[LITTLE])
        dry = rng.choice(["&dry_run=1", ""])
        codecs, kind = rng.choice([([LITTLE, CRC], "int32"), ([LITTLE, GZIP], "int32"), ([{"name": "vlen-utf8"}], "string"), ([{"name": "bytes"}], "uint8")])
        other = array_document([4, 6], [2, 3], kind, fill="" if kind == "string" else value, codecs=codecs)
        yield rng.choice([
            ("PUT", f"/v1/datasets/w/slices/{node}?broadcast=1&slice={box}{dry}", {}, packed),
            ("PUT", f"/v1/datasets/w/slices/{node}?broadcast=1{dry}", {}, packed),
            ("PUT", f"/v1/datasets/w/slices/{node}?append=0{dry}", {}, packed * 6),
            ("PUT", f"/v1/datasets/w/chunks/{node}?decoded=1&index=0,1{dry}", {}, packed * 6),
            ("PUT", f"/v1/datasets/w/chunks/{node}?decoded=1&index=0,1&dry_run=1", {rng.choice(["If-None-Match", "If-Match"]): "*"}, packed * 6),
            ("DELETE", f"/v1/datasets/w/chunks/{node}?index=1,1{dry}", {}, None),
            ("PUT", f"/zarr/w/{node}/c/0/0", {rng.choice(["If-None-Match", "If-Match"]): "*"} if dry else {}, packed * 6),
            ("DELETE", f"/zarr/w/{node}/c/0/0", {}, None),
            ("PUT", f"/v1/datasets/w/nodes/{node}?erase_chunks={rng.choice('01')}{dry}", JSON, json.dumps(grid).encode()),
            ("PUT", f"/zarr/w/{node}/zarr.json", {}, json.dumps(grid).encode()),
            ("PUT", f"/zarr/w/{node}/zarr.json", {}, json.dumps(other).encode()),
            ("DELETE", f"/zarr/w/{node}/zarr.json", {}, None),
            ("PATCH", f"/v1/datasets/w/nodes/{node}?pretty=1{dry}", MERGE, json.dumps({"attributes": {rng.choice("abc"): {"x": value}}}).encode()),
            ("PATCH", f"/v1/datasets/w/nodes/{node}?pretty=0{dry}", MERGE, json.dumps({"extensions": rng.choice([bounds, None, {"x": bounds[0]}])}).encode()),
            ("PUT", f"/v1/datasets/w/slices/p/t?broadcast=1&slice={box}{dry}", JSON, json.dumps(str(value) * rng.randrange(1, 9)).encode()),
            ("PUT", f"/zarr/w/p/v/{rng.choice(['.zattrs', '.zarray', '0.0', '.zgroup'])}", {}, rng.choice([b'{"a": 1}', b"{", packed * 6])),
            ("DELETE", f"/zarr/w/p/v/{rng.choice(['.zattrs', '0.0'])}", {}, None),
            ("PATCH", f"/v1/datasets/w/nodes/{node}?pretty=0{dry}", MERGE, json.dumps({"shape": [rng.randrange(2, 7), 6]}).encode()),
            ("POST", f"/v1/datasets/w/consolidate/p?pretty=0{dry}", {}, None),
        ])


@pytest.mark.parametrize("part", range(4))
def test_stores_that_differ_in_what_is_hidden_answer_alike(site, tmp_path, part):
    print(f"seed {SEED}, part {part}")
    rng = random.Random(f"{SEED} {part}")
    sites = []
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        sites.append(site(tmp_path / name))
    for turn in range(rounds(8, 2)):
        wanted = [*guesses(rng, 60)]
        for method, template in ROUTES:
            wanted += [(method, *more) for more in variants(method, template, rng, 4)]
        rng.shuffle(wanted)
        log = []
        for own in sites:
            write_hidden(own.store, random.Random(f"{SEED} {part} {turn} {own.store.name}"))
        for number, (method, target, headers, body) in enumerate(wanted):
            who = rng.choice(["all", "below", "jwt write"])
            seen = []
            for own in sites:
                answer = own.ask(who, method, target, {**headers, "X-Request-Id": f"r{number}"}, body)
                answer.headers.pop("date")
                seen.append((answer.status, answer.headers, answer.body))
            asked = f"{who} {method} {target} {headers} {body}"
            assert seen[0] == seen[1], f"turn {turn}, {number}: {asked}: {seen}; before it: {log[-12:]}"
            log.append((method, target, headers, seen[0][0]))
