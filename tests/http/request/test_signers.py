"""Signed URLs act as their signers: never more than the signer may, and no longer."""

import base64
import hashlib
import json
import random
import signal
import socket
import time

import jose
import numpy as np
import pytest
from arrays import write_values
from client import DEADLINE_S, JSON, soon, wait_until
from live import ROOT

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())
METHODS = ("get", "post", "put", "patch", "delete")
ROUTES = [(method.upper(), template) for template, item in DOCUMENT["paths"].items() for method in METHODS if method in item]
VOLATILE = ("/metrics", "/readyz", "/healthz", "/health", "/v1/limits", "/livez")  # two answers need not be the same
ENDLESS = "/v1/datasets/{d}/events"
PATHS = ["", "a", "solar", "solar/x", "solar/t", "solar/none", "none", "lunar/x"]
PATTERNS = ["a", "solar/**", "solar/x", "solar/*", "**", "lunar/**", "*/t", "t", "so*"]
QUERIES = ["", "format=json", "sel=t=1", "pretty=1", "slice=0:1", "coords=1&format=json", "children=1", "no_such=1"]
KEY = {"id": "k", "secret": base64.b64encode(bytes(range(32))).decode()}
ISSUED = ("--set", f"access.jwt_issuer={jose.ISSUER}", "--set", f"access.jwt_audience={jose.AUDIENCE}")
N_SIGNERS, N_ASKED = 8, 40
REFUSED = (401, 403)


def entry(name, *scopes, secret=None, **more):
    secret = secret or f"{name}-secret"
    return {"name": name, "sha256": hashlib.sha256(secret.encode()).hexdigest(), "scopes": list(scopes), **more}


def bearer(credential):
    return {"Authorization": f"Bearer {credential}"}


def write_secret(path, document):
    new = path.with_suffix(".new")
    new.write_text(json.dumps(document))
    new.chmod(0o600)
    new.rename(path)


def make_store(folder):
    folder.mkdir()
    for group in ("", "solar", "lunar"):
        (folder / group).mkdir(exist_ok=True)
        (folder / group / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    for i, name in enumerate(("a", "t", "solar/x", "solar/t", "lunar/x")):
        write_values(folder / name, np.arange(3.0) + i, [2], dimension_names=["t"])
    return folder


class Place:
    """A server with tokens and keys that a test changes."""

    def __init__(self, serve, folder, *arguments, audit=None):
        self.tokens, self.jwks, self.signing_keys = folder / "tokens.json", folder / "jwks.json", folder / "keys.json"
        self.key = jose.Key(folder, "k1", "EdDSA")
        write_secret(self.tokens, {"tokens": []})
        write_secret(self.signing_keys, {"keys": [KEY]})
        self.jwks.write_bytes(jose.jwks(self.key))
        datasets = {name: {"location": str(make_store(folder / name)), "writable": name != "r", "access": "private" if name == "p" else "public"}
                    for name in "wpr"}
        settings = {"access.tokens_file": self.tokens, "access.signing_keys_file": self.signing_keys, "access.jwks_file": self.jwks}
        self.server = serve(*(word for name, path in settings.items() for word in ("--set", f"{name}={path}")), *ISSUED, *arguments,
                            config={"datasets": datasets, **({"log": {"audit_file": str(audit)}} if audit else {})})

    def give(self, *entries):
        """These tokens count, and no other."""
        mark = entry(f"mark-{random.random()}", "read")
        write_secret(self.tokens, {"tokens": [*entries, mark]})
        self.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.server.get("/v1", bearer(f"{mark['name']}-secret")).status == 200)

    def set_signing_keys(self, *keys):
        """These keys count, and no other; the first one signs."""
        write_secret(self.signing_keys, {"keys": list(keys)})
        self.server.process.send_signal(signal.SIGHUP)

    def set_keys(self, *keys):
        marker = self.server.log.count("access.jwks_file: ")
        self.jwks.write_bytes(jose.jwks(*keys))
        self.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.server.log.count("access.jwks_file: ") > marker)

    def ask(self, credential, path, method="GET", **members):
        return self.server.post("/v1/sign", {"method": method, "path": path, "expires_s": 3600, **members}, bearer(credential))

    def sign(self, credential, path, method="GET", **members):
        answer = self.ask(credential, path, method, **members)
        assert answer.status == 200, answer
        return answer.json()["url"]


@pytest.fixture
def place(serve, tmp_path):
    return Place(serve, tmp_path, audit=tmp_path / "audit")


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def refused(answer):
    assert answer.status == 401 and answer.code == "unauthorized", answer


# ---- the search ----


def said(answer):
    """What an answer tells, but for what is of this request alone."""
    if answer.headers.get("content-type", "").startswith("application/problem+json"):
        return {name: value for name, value in answer.json().items() if name not in ("request_id", "instance", "id")}
    return answer.body


def is_quiet(answer):
    return answer.status not in REFUSED and not (answer.status == 404 and answer.code == "dataset_not_found")


class Search:
    """Random signers, and what each may ask; all from one seed."""

    def __init__(self, place, random):
        self.place, self.random, self.credentials, self.entries = place, random, {}, {}
        self.signed = []  # who, method, target, query of the signature
        for i in range(N_SIGNERS):
            self.add(f"s{i}")
        place.give(*self.entries.values())

    def some(self, things, least=1):
        return self.random.sample(things, self.random.randint(least, min(3, len(things))))

    def an_entry(self, name, **more):
        made = entry(name, *self.some(["read", "write", "admin"]), **more)
        if self.random.random() < 0.7:
            made["datasets"] = self.some(["w", "p", "r", "*", "x"])
        if self.random.random() < 0.6:
            made["paths"] = self.some(PATTERNS)
        return made

    def add(self, name):
        if self.random.random() < 0.3:
            words = [word + self.random.choice(["", ":w", ":p", ":p/solar", ":w/a", ":r/solar/x"]) for word in self.some(["read", "write", "read", "openid"])]
            self.credentials[name] = self.place.key.token(" ".join(words), sub=name)
        else:
            self.entries[name] = self.an_entry(name)
            self.credentials[name] = f"{name}-secret"

    def a_target(self):
        method, template = self.random.choice(ROUTES)
        path = self.random.choice(PATHS)
        key = f"{path}/zarr.json".lstrip("/") if self.random.random() < 0.6 else path
        return method, template, template.replace("{d}", self.random.choice("wprx")).replace("{path}", path).replace("{key}", key)

    def request(self, method, target, query, headers=None):
        body = {"PUT": b'{"zarr_format": 3, "node_type": "group"}', "POST": b"{}", "PATCH": b"{}"}.get(method)
        return self.place.server.request(method, target + ("?" + query if query else ""), {**JSON, **(headers or {})}, body)

    def own(self, who, method, target, query=""):
        return self.request(method, target, query, bearer(self.credentials[who]))

    def compare(self, who, method, template, target, signature):
        """The URL does what its signer's own request does."""
        query = self.random.choice(QUERIES) if method == "GET" else ""
        own = self.own(who, method, target, query)
        answer = self.request(method, target, "&".join(filter(None, [query, signature])))
        shown = (who, method, target, query, own, answer)
        if template == "/v1/sign":
            assert answer.status in REFUSED, shown
        elif method == "GET":
            assert own.status == answer.status or template in VOLATILE, shown
            assert template in VOLATILE or said(own) == said(answer), shown
            assert "private" in answer.headers["cache-control"] or "no-store" in answer.headers["cache-control"], shown
        else:
            assert is_quiet(own) == is_quiet(answer), shown
        refused(self.request("GET" if method != "GET" else "DELETE", target, signature))

    def try_path(self, who):
        method, template, target = self.a_target()
        if template == ENDLESS:
            return
        answer = self.place.ask(self.credentials[who], target, method)
        own = self.own(who, method, target)
        shown = (who, method, target, self.entries.get(who), own, answer)
        if answer.status == 200:
            assert template != "/v1/sign" and is_quiet(own), shown
            signature = answer.json()["url"].split("?")[1]
            self.signed.append((who, method, template, target, signature))
            self.compare(who, method, template, target, signature)
            other = self.a_target()[2]
            if other != target:
                refused(self.request(method, other, signature))
        else:
            assert answer.code == "forbidden", shown
            assert template == "/v1/sign" or not is_quiet(own) or own.status == 405, shown

    def try_prefix(self, who):
        method, _, target = self.a_target()
        segments = target.strip("/").split("/")
        prefix = "/" + "/".join(segments[: self.random.randint(1, len(segments))])
        answer = self.place.ask(self.credentials[who], prefix, method, prefix=True)
        if answer.status != 200:
            assert answer.code in ("forbidden", "bad_body"), answer
        for _ in range(4):
            other_method, template, target = self.a_target()
            if template == ENDLESS or other_method != method:
                continue
            within = target == prefix or target.startswith(prefix + "/")
            if answer.status != 200:
                unseen = self.own(who, method, target)
                assert not within or template == "/v1/sign" or answer.code == "bad_body" or not is_quiet(unseen) or unseen.status == 405, (who, prefix, target, unseen)
                continue
            signature = answer.json()["url"].split("?")[1]
            if within:
                self.compare(who, method, template, target, signature)
            else:
                refused(self.request(method, target, signature))

    def change_signers(self):
        """Each token is another one, or gone, or over, or may less, or stays; then every URL is used again."""
        ended = set()
        for name in list(self.entries):
            way = self.random.choice(["gone", "rotated", "over", "twice", "other", "same"])
            if way == "other":
                self.entries[name] = self.an_entry(name)
                continue
            if way == "gone":
                del self.entries[name]
            elif way == "rotated":
                self.entries[name]["sha256"] = hashlib.sha256(f"{name}-new".encode()).hexdigest()
            elif way == "over":
                self.entries[name]["expires"] = "2020-01-01T00:00:00Z"
            elif way == "twice":
                self.entries[name + " twice"] = entry(name, "read", "write", secret=f"{name}-2")
            if way != "same":
                ended.add(name)
        self.place.give(*self.entries.values())
        for who, method, template, target, signature in self.signed:
            if who in ended:
                refused(self.request(method, target, signature))
            else:
                self.compare(who, method, template, target, signature)


@pytest.mark.parametrize("anonymous, protects", [("read", "true"), ("none", "false"), ("none", "true")])
def test_no_url_gives_more_than_its_signer_has(serve, tmp_path, anonymous, protects):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    place = Place(serve, tmp_path, "--listen", "0.0.0.0:0", "--set", f"access.anonymous={anonymous}", "--set", f"access.protect_service={protects}",
                  audit=tmp_path / "audit")
    search = Search(place, random.Random(seed))
    for who in search.credentials:
        for _ in range(N_ASKED):
            search.try_path(who)
            search.try_prefix(who)
    assert len(search.signed) > N_SIGNERS
    search.change_signers()
    for text in (place.server.log, (tmp_path / "audit").read_text()):
        assert "signature" not in text and "-secret" not in text and "zarrd-url" not in text
        assert not any(signature.rsplit(".", 1)[1] in text for *_, signature in search.signed)
        assert not any(made["sha256"] in text for made in search.entries.values())
    by_url = {line["name"] for line in lines_of(tmp_path / "audit") if line.get("from") == "url"}
    assert by_url <= set(search.credentials)


# ---- the examples ----


def test_admin_alone_signs_routes_of_the_service_only(serve, tmp_path):
    place = Place(serve, tmp_path, "--set", "access.protect_service=true")
    place.give(entry("observer", "admin"), entry("ada", "read"))
    for method, path in (("GET", "/v1/datasets/p/slices/a"), ("GET", "/zarr/p/a/zarr.json"), ("DELETE", "/v1/datasets/p/nodes/a"), ("PUT", "/zarr/w/k")):
        for prefix in (False, True):
            assert place.ask("observer-secret", path, method, prefix=prefix).code == "forbidden"
    assert place.server.get(place.sign("observer-secret", "/metrics")).status == 200
    assert place.ask("ada-secret", "/metrics").code == "forbidden"
    place.give(entry("observer", "read"), entry("ada", "read"))
    url = place.sign("ada-secret", "/v1", prefix=True).split("?")[1]
    assert place.server.get(f"/v1/limits?{url}").status == 403


def test_a_url_ends_with_a_token_whose_time_is_shortened(place):
    place.give(entry("ada", "read"))
    url = place.sign("ada-secret", "/zarr/w/a/zarr.json")
    place.give(entry("ada", "read", expires=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))))
    assert soon(lambda: place.server.get(url).status, 401) == 401
    place.give(entry("ada", "read"))  # the same token again
    assert place.server.get(url).status == 200


def test_a_url_of_a_jwt_ends_with_its_key(place, tmp_path):
    token = place.key.token("read:p/solar write:w openid", sub="eve")
    url = place.sign(token, "/v1/datasets/p", prefix=True).split("?")[1]
    said = url.rsplit("s", 1)[0] and base64.urlsafe_b64decode(url.split("signature=")[1].split(".")[1][1:] + "==")
    assert said == b"jeve\nk1\n read:p/solar"  # of other datasets nothing is told
    assert place.server.get(f"/v1/datasets/p/nodes/solar/x?{url}").status == 200
    assert place.server.get(f"/v1/datasets/p/nodes/a?{url}").status == 403
    refused(place.server.get(f"/v1/datasets/w/nodes/a?{url}"))
    place.set_keys(place.key, other := jose.Key(tmp_path, "k2", "ES256"))
    assert place.server.get(f"/v1/datasets/p/nodes/solar/x?{url}").status == 200
    place.set_keys(other)
    refused(place.server.get(f"/v1/datasets/p/nodes/solar/x?{url}"))
    (tmp_path / "new").mkdir()
    place.set_keys(other, jose.Key(tmp_path / "new", "k1", "EdDSA"))  # another key of that name
    refused(place.server.get(f"/v1/datasets/p/nodes/solar/x?{url}"))
    place.set_keys(place.key)
    assert place.server.get(f"/v1/datasets/p/nodes/solar/x?{url}").status == 200


def test_a_name_in_a_url_is_no_token(place):
    token = place.key.token("read write", sub="eve")
    place.sign(token, "/zarr/w/a/zarr.json")
    place.server.get(place.sign(token, "/zarr/w/a/zarr.json"))
    for sent in ("jeve\nk1\n read write", "eve\nk1\n read write", " read write", "jeve.k1.read"):
        refused(place.server.get("/zarr/w/a/zarr.json?access_token=" + base64.urlsafe_b64encode(sent.encode()).decode().rstrip("=")))
        refused(place.server.get("/zarr/w/a/zarr.json?access_token=" + sent.replace("\n", "%0A").replace(" ", "%20")))


def test_a_scope_that_a_url_cannot_hold_is_refused(place):
    words = " ".join(f"read:p/solar/{i:04}" for i in range(200))
    answer = place.ask(place.key.token(words), "/v1/datasets/p/nodes/solar/0000")
    assert answer.status == 403 and "too long" in answer.json()["detail"]
    assert place.ask(place.key.token(words), "/v1/datasets/w/nodes/a").status == 200  # it needs no word of p


def test_tokens_of_one_name_sign_nothing(place):
    place.give(entry("ada", "read"), entry("ada", "read", secret="other"))
    answer = place.ask("ada-secret", "/zarr/w/a/zarr.json")
    assert answer.status == 403 and "a unique name" in answer.json()["detail"]


def open_stream(place, who):
    """The events of a data set by a signed URL, up to the first id."""
    stream = socket.create_connection(("127.0.0.1", place.server.port), timeout=DEADLINE_S)
    stream.sendall(f"GET {place.sign(who, '/v1/datasets/w/events')} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    seen = b""
    while b"id:" not in seen:
        seen += stream.recv(65536)
    return stream


def read_to_the_end(stream):
    """The last chunk, or the end of the connection."""
    seen = b""
    while not seen.endswith(b"0\r\n\r\n") and (more := stream.recv(65536)):
        seen += more


def goes_on(stream):
    stream.setblocking(False)
    with pytest.raises(BlockingIOError):
        while stream.recv(65536):
            pass
    return True


def test_an_answer_ends_with_the_credential_that_signed_it(place, tmp_path):
    token = place.key.token("read", sub="eve")
    place.give(entry("ada", "read"), entry("bob", "read"))
    streams = {who: open_stream(place, who) for who in ("ada-secret", "bob-secret", token)}
    place.give(entry("bob", "read"))
    place.set_keys(jose.Key(tmp_path, "k2", "EdDSA"))
    for who in ("ada-secret", token):
        read_to_the_end(streams[who])
    assert goes_on(streams["bob-secret"])
    for stream in streams.values():
        stream.close()


def test_an_answer_ends_with_the_key_that_signed_its_url(place):
    place.give(entry("ada", "read"))
    newer = {"id": "newer", "secret": base64.b64encode(bytes(32)).decode()}
    stream = open_stream(place, "ada-secret")
    url = place.sign("ada-secret", "/zarr/w/a/zarr.json")
    place.set_signing_keys(newer, KEY)
    wait_until(lambda: "key=newer" in place.sign("ada-secret", "/zarr/w/a/zarr.json"))
    assert goes_on(stream) and place.server.get(url).status == 200
    stream.setblocking(True)
    place.set_signing_keys(newer)
    read_to_the_end(stream)
    assert place.server.get(url).status == 401
    stream.close()


def test_a_url_that_is_signed_has_a_line(place, tmp_path):
    place.give(entry("ada", "read"), entry("bob", "write", datasets=["w"]))
    answer = place.ask("ada-secret", "/v1/datasets/w/slices/%61", prefix=True, query="x=hidden")
    line = next(line for line in lines_of(tmp_path / "audit") if line["id"] == answer.headers["x-request-id"])
    assert line.pop("time")
    assert line == {"state": "signed", "id": answer.headers["x-request-id"], "name": "ada", "from": "token", "client": "127.0.0.1", "method": "POST",
                    "path": "/v1/sign", "signed_method": "GET", "signed_path": "/v1/datasets/w/slices/a", "prefix": True, "expires": answer.json()["expires"]}
    answer = place.ask("ada-secret", "/zarr/w/k", "PUT")
    assert [(line["state"], line["status"], line["name"]) for line in lines_of(tmp_path / "audit") if line["id"] == answer.headers["x-request-id"]] == [("refused", 403, "ada")]
    put = place.server.request("PUT", place.sign("bob-secret", "/zarr/w/k", "PUT"), {}, b"1")
    assert put.status in (200, 201)
    lines = [line for line in lines_of(tmp_path / "audit") if line["id"] == put.headers["x-request-id"]]
    assert [(line["state"], line["name"], line["from"]) for line in lines] == [("begin", "bob", "url"), ("end", "bob", "url")]
    wait_until(lambda: " by bob" in place.server.log)


def test_no_url_is_given_out_that_cannot_be_recorded(place, tmp_path):
    place.give(entry("ada", "read"))
    (tmp_path / "audit").unlink()
    answer = place.ask("ada-secret", "/zarr/w/a/zarr.json")
    assert answer.status == 503 and answer.code == "store_error" and b"signature" not in answer.body


def test_a_url_spends_what_its_signer_has(place):
    place.give(entry("ada", "read", requests_per_s=1), entry("bob", "read"))
    ada, bob = (place.sign(f"{name}-secret", "/zarr/w/a/zarr.json") for name in ("ada", "bob"))
    answers = [place.server.get(ada).status for _ in range(30)]
    assert 429 in answers and place.server.get("/zarr/w/a/zarr.json", bearer("ada-secret")).status == 429
    assert place.server.get(bob).status == 200 and place.server.get("/zarr/w/a/zarr.json", bearer("bob-secret")).status == 200


def test_a_dataset_that_is_not_seen_is_signed_by_nobody(place):
    place.give(entry("ada", "read", datasets=["w"]), entry("bob", "read", "write", datasets=["r"]))
    said = {place.ask("ada-secret", f"/v1/datasets/{name}/nodes/a").json()["detail"] for name in ("p", "none", "x" * 100)}
    assert len(said) == 1
    assert place.ask("bob-secret", "/zarr/r/k", "PUT").code == "forbidden"  # nobody writes there
