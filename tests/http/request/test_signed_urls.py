"""Signed URLs: what POST /v1/sign gives away, to whom, and that nothing else opens with it."""

import base64
import hashlib
import hmac
import json
import subprocess
import time
import urllib.parse

import numpy as np
import pytest
from arrays import write_values
from client import DEADLINE_S, wait_until
from live import BINARY

CHALLENGE = 'Bearer realm="zarrd"'
BAD_TOKEN = 'Bearer realm="zarrd", error="invalid_token"'
OLD = {"id": "old", "secret": base64.b64encode(bytes(range(32))).decode()}
NEW = {"id": "new", "secret": base64.b64encode(bytes(range(32, 80))).decode()}
SLICE = "/v1/datasets/w/slices/a"


def coded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


SIGNED_BY_ADA = f"s{coded(b'tada')}."
ADA = hashlib.sha256(b"ada").hexdigest()


def entry(name, *scopes, **more):
    return {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": list(scopes), **more}


TOKENS = [
    entry("root", "admin"),
    entry("ada", "read", "write"),
    entry("bob", "read", datasets=["w"], paths=["a/**"]),
    entry("cid", "write", datasets=["w"]),
    entry("dan", "read", paths=["a"]),
    entry("eve", "read", datasets=["w"], paths=["of_t/**"]),
    entry("gus", "read", datasets=["w"], paths=["of*", "of*/**"]),
    entry("late", "read", expires="2100-01-01T00:00:00Z"),
]


def secret_file(path, document, mode=0o600):
    path.write_text(json.dumps(document))
    path.chmod(mode)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("signed")
    (place / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_values(place / "a", np.arange(8.0), [4])
    write_values(place / "ab", np.arange(3.0), [3])
    write_values(place / "t", np.arange(10.0, 13), [3], dimension_names=["t"])
    write_values(place / "of_t", np.arange(3.0), [3], dimension_names=["t"])
    return place


@pytest.fixture(scope="module")
def server(serve_module, folder):
    """Without a credential nobody reads."""
    keys = secret_file(folder.parent / "keys.json", {"keys": [NEW, OLD]})
    tokens = secret_file(folder.parent / "tokens.json", {"tokens": TOKENS})
    return serve_module(
        *("--listen", "0.0.0.0:0", "--set", "access.anonymous=none"),
        *("--set", f"access.tokens_file={tokens}", "--set", f"access.signing_keys_file={keys}"),
        config={"datasets": {"w": {"location": str(folder), "writable": True}}},
    )


def bearer(name):
    return {"Authorization": f"Bearer {name}"}


def ask(server, who="ada", **members):
    document = {"method": "GET", "path": SLICE, "expires_s": 3600, **members}
    return server.post("/v1/sign", {name: value for name, value in document.items() if value is not None}, bearer(who))


def sign(server, who="ada", **members):
    answer = ask(server, who, **members)
    assert answer.status == 200, answer
    return answer.json()["url"]


def refused(answer):
    assert answer.status == 401 and answer.code == "unauthorized" and answer.headers["www-authenticate"] == BAD_TOKEN, answer
    return answer.json()["detail"]


def test_a_signed_url_opens_what_was_signed(server):
    answer = ask(server)
    url = answer.json()["url"]
    parts = urllib.parse.urlsplit(url)
    query = urllib.parse.parse_qs(parts.query)
    assert parts.path == SLICE and query["key"] == ["new"]
    expires = time.strptime(answer.json()["expires"], "%Y-%m-%dT%H:%M:%SZ")
    assert time.strftime("%s", expires) and abs(int(query["expires"][0]) - time.time() - 3600) < 600
    assert server.get(SLICE).status == 401
    assert server.get(f"{url}&format=json&slice=1:3").json()["data"] == [1.0, 2.0]
    assert server.get(SLICE + "?slice=1:3&" + url.split("?")[1] + "&format=json").json()["data"] == [1.0, 2.0]
    head = server.head(f"{url}&format=json")
    assert head.status == 200 and head.body == b""
    assert server.get(f"{url}&no_such=1").code == "unknown_parameter"


def test_coordinates_come_with_what_was_signed(server):
    url = sign(server, "ada", path="/v1/datasets/w/slices/of_t")
    assert server.get(f"{url}&sel=t=12&format=json").json()["data"] == 2.0
    assert server.get(f"{url}&format=csv&layout=table").body.split() == [b"t,of_t", b"10.0,0.0", b"11.0,1.0", b"12.0,2.0"]
    refused(server.get(url.replace("of_t", "t")))
    several = sign(server, "ada", path="/v1/datasets/w/slices/")
    assert server.get(f"{several}&arrays=of_t&coords=1&format=json").json().keys() == {"of_t", "t"}


def test_no_coordinate_comes_that_the_signer_may_not_read(server):
    for kind in ("slices", "images"):
        target = f"/v1/datasets/w/{kind}/of_t"
        for who in ("eve", "gus"):
            url = sign(server, who, path=target)
            for query in ("format=json", "sel=t=12", "format=csv&layout=table", "format=json&coords=1"):
                own, answer = server.get(f"{target}?{query}", bearer(who)), server.get(f"{url}&{query}")
                assert (answer.status, b"10.0" in answer.body) == (own.status, False), (query, answer)


def test_all_that_is_changed_is_the_same_401(server):
    url = sign(server)
    path, query = url.split("?")
    signature = query.split("signature=")[1]
    expires = int(query.split("expires=")[1].split("&")[0])
    changed = [
        url.replace(SLICE, "/v1/datasets/w/slices/ab"),
        url.replace(SLICE, "/v1/datasets/w/slices/a/"),
        url.replace(SLICE, "/v1/datasets/w/nodes/a"),
        url.replace(SLICE, "/v1/nothing"),
        url.replace(SLICE, "/livez"),
        url.replace(SLICE, "/v1/datasets/w/slices/../slices/a"),
        url.replace(SLICE, "/v1/datasets/w/slices%2Fa"),
        url.replace(f"expires={expires}", f"expires={expires + 1}"),
        url.replace(f"expires={expires}", f"expires=+{expires}"),
        url.replace("key=new", "key=old"),
        url.replace("key=new", "key=none"),
        url.replace("key=new&", ""),
        url[:-1],
        url + "=",
        url + "%00",
        url + "&signature=" + signature,
        url.replace(signature, signature[::-1]),
        url.replace(signature, "p3." + signature),
        url.replace(signature, signature.split(".")[1]),
        url.replace(signature, signature.replace(SIGNED_BY_ADA, f"s{coded(b'tbob')}.")),
        url.replace(signature, signature.replace(SIGNED_BY_ADA, f"s{coded(b'tnobody')}.")),
        url.replace(signature, signature.replace(SIGNED_BY_ADA, f"s{coded(b'jada')}.")),
        url.replace(signature, "q." + signature),
        path + "?signature=",
        path + "?signature",
        path + "?expires=99999999999&key=new&signature=" + "A" * 43,
        path + "?expires=1&key=new&signature=" + "A" * 5000,
        path + "?expires=99999999999&key=new&signature=s" + "A" * 5000 + "." + "A" * 43,
    ]
    said = {refused(server.get(target)) for target in changed}
    said.add(refused(server.request("PUT", url, {}, b"1")))
    said.add(refused(server.request("DELETE", url)))
    assert len(said) == 1
    assert server.request("OPTIONS", url).status == 204


def test_a_path_is_the_same_however_it_is_encoded(server):
    url = sign(server)
    assert server.get(url.replace("/slices/a", "/slices/%61")).status == 200
    refused(server.get(url.replace("/slices/a", "/slices/%2561")))
    refused(server.get(url.replace("/slices/a", "/slices/A")))


def test_a_url_that_fixes_its_query(server):
    url = sign(server, query="slice=1:3&format=json")
    assert url.startswith(SLICE + "?slice=1:3&format=json&expires=")
    assert server.get(url).json()["data"] == [1.0, 2.0]
    for changed in (url + "&pretty=1", url.replace("1:3", "1:4"), url.replace("slice=1:3&", ""), url.replace("1:3", "1%3A3"), url.replace("q.", "")):
        refused(server.get(changed))
    nothing = sign(server, query="")
    assert server.get(nothing).status == 200
    refused(server.get(nothing + "&format=json"))


def test_a_prefix_is_not_left(server):
    url = sign(server, path="/zarr/w/a/", prefix=True)
    path, query = url.split("?")
    assert path == "/zarr/w/a"
    for good in ("/zarr/w/a/zarr.json", "/zarr/w/a/c/0", "/zarr/w/a//zarr.json", "/zarr/w/%61/zarr.json"):
        assert server.get(f"{good}?{query}").status == 200, good
    assert server.head(f"/zarr/w/a/c/1?{query}").status == 200
    bad = ["/zarr/w/ab/zarr.json", "/zarr/w/zarr.json", "/zarr/w/a/../ab/zarr.json", "/zarr/w/a/%2e%2e/ab/zarr.json", "/zarr/w/a%2Fzarr.json",
           "/zarr/w/A/zarr.json", "/zarr/w/%2561/zarr.json", "/zarr/w//a/zarr.json", "/zarr/w/./a/zarr.json", "/v1/datasets/w/nodes/a", "/zarr/x/a", "/"]
    assert len({refused(server.get(f"{target}?{query}")) for target in bad}) == 1
    refused(server.request("PUT", f"/zarr/w/a/c/0?{query}", {}, b""))
    refused(server.get(f"/zarr/w/ab/zarr.json?{query.replace('p3.', 'p2.')}"))


def test_a_signed_url_tells_of_other_nodes_what_its_signer_is_told(server):
    missing = "/v1/datasets/w/nodes/of_x"
    query = sign(server, path="/v1/datasets/w/nodes", prefix=True).split("?")[1]
    assert server.get(f"{missing}?{query}").json()["suggestions"] == server.get(missing, bearer("ada")).json()["suggestions"] != []
    query = sign(server, "gus", path="/v1/datasets/w/nodes", prefix=True).split("?")[1]
    assert "suggestions" not in server.get(f"{missing}?{query}").json()


def test_a_signed_put_writes(server, folder):
    url = sign(server, "cid", method="PUT", path="/zarr/w/free/x")
    assert server.request("PUT", url, {}, b"1").status in (200, 201)
    assert (folder / "free" / "x").read_bytes() == b"1"
    refused(server.get(url))
    wait_until(lambda: " by cid" in server.log)
    assert "signature" not in server.log and "expires=" not in server.log


def test_the_rights_to_sign(server):
    assert ask(server, "ada", path="/zarr/w/zarr.json").status == 200
    assert ask(server, "bob").status == 200
    assert ask(server, "bob", path="/v1/datasets/w/slices/ab").code == "forbidden"
    assert ask(server, "bob", path="/zarr/w/a", prefix=True).status == 200
    assert ask(server, "bob", path="/zarr/w", prefix=True).status == 200  # each use is judged
    assert ask(server, "bob", path="/zarr/w/ab", prefix=True).code == "forbidden"
    assert ask(server, "bob", path="/zarr/nothing", prefix=True).code == "forbidden"
    assert ask(server, "bob", path="/zarr/nothing/a").code == "forbidden"
    assert ask(server, "bob", path="/v1/datasets").status == 200
    assert ask(server, "root", path="/v1/datasets").status == 200
    assert ask(server, "root", path="/v1", prefix=True).status == 200
    assert ask(server, "root").code == "forbidden"  # admin is of the service
    assert ask(server, "root", path="/zarr/w", prefix=True).code == "forbidden"
    assert ask(server, "root", method="DELETE", path="/zarr/w/a").code == "forbidden"
    assert ask(server, "bob", method="PUT", path="/zarr/w/a/c/0").code == "forbidden"
    assert ask(server, "cid").code == "forbidden"
    assert ask(server, "dan", path="/v1/datasets/w/tree/a").code == "forbidden"  # what lies below is not his
    assert ask(server, "cid", method="DELETE", path="/zarr/w/a", prefix=True).status == 200
    for who in ("root", "bob"):  # here everybody with a credential may read that
        assert ask(server, who, path="/metrics").status == 200
    answer = server.post("/v1/sign", {"method": "GET", "path": SLICE, "expires_s": 1})
    assert answer.status == 401 and answer.headers["www-authenticate"] == CHALLENGE


def test_nobody_signs_signing(server):
    for path, prefix in (("/v1/sign", False), ("/v1/sign", True), ("/v1/sign/", False)):
        assert ask(server, method="POST", path=path, prefix=prefix).code == "forbidden"
    query = sign(server, method="POST", path="/v1", prefix=True, fix_query=False).split("?")[1]
    answer = server.post(f"/v1/sign?{query}", {"method": "GET", "path": SLICE, "expires_s": 1})
    assert answer.status == 403 and answer.code == "forbidden"


def test_a_signed_write_has_the_query_that_was_signed(server, folder):
    def delete(**members):
        (folder / "gone" / "below").mkdir(parents=True, exist_ok=True)
        (folder / "gone" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
        return sign(server, "ada", method="DELETE", path="/v1/datasets/w/nodes/gone", **members)

    refused(server.request("DELETE", delete() + "&recursive=1"))
    refused(server.request("DELETE", delete(fix_query=True) + "&recursive=1"))
    refused(server.request("DELETE", delete(query="recursive=1") + "&recursive=1"))
    assert server.request("DELETE", delete(fix_query=False) + "&recursive=1").status in (200, 204)
    assert server.request("DELETE", delete(query="recursive=1")).status in (200, 204)
    assert server.get(sign(server) + "&format=json").status == 200  # a read is free
    refused(server.get(sign(server, fix_query=True) + "&format=json"))
    query = sign(server, method="PUT", path="/v1/datasets/w", prefix=True).split("?")[1]
    refused(server.request("PUT", f"/v1/datasets/w/nodes/new?{query}&erase_chunks=1", {}, b"{}"))


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"path": "/v1/nothing"}, "/path"),
        ({"path": "v1/datasets"}, "/path"),
        ({"path": "/v1/datasets/w/slices/../a"}, "/path"),
        ({"path": "/v1/datasets/w/slices/a?x=1"}, "/path"),
        ({"path": "/v1/datasets/w/slices/a b"}, "/path"),
        ({"path": "/v1/datasets/w/slices/%zz"}, "/path"),
        ({"path": "/v1/datasets/w/slices/a%2Fb"}, "/path"),
        ({"path": "/", "prefix": True}, "/path"),
        ({"path": None}, "/path"),
        ({"method": "PATCH"}, "/method"),
        ({"method": "get"}, "/method"),
        ({"method": "HEAD"}, "/method"),
        ({"method": "GET\n"}, "/method"),
        ({"method": 1}, "/method"),
        ({"method": "PATCH", "path": "/zarr/w", "prefix": True}, "/method"),
        ({"prefix": 1}, "/prefix"),
        ({"query": "a=1#"}, "/query"),
        ({"query": "access_token=1"}, "/query"),
        ({"query": "signature=1"}, "/query"),
        ({"query": 1}, "/query"),
        ({"fix_query": 1}, "/fix_query"),
        ({"fix_query": False, "query": ""}, "/fix_query"),
        ({"expires_s": 0}, "/expires_s"),
        ({"expires_s": 604801}, "/expires_s"),
        ({"expires_s": "1"}, "/expires_s"),
        ({"expires_s": None}, "/expires_s"),
    ],
)
def test_requests_that_cannot_be_signed(server, members, pointer):
    answer = ask(server, **members)
    assert answer.status == 400 and answer.code == "bad_body", answer
    assert answer.json()["pointer"] == pointer


def test_two_credentials_are_refused(server):
    url = sign(server)
    for headers in (bearer("root"), bearer("wrong"), {"Authorization": "Bearer"}):
        answer = server.get(url, headers)
        assert answer.status == 400 and answer.code == "bad_request"
    assert server.get(url, {"Authorization": "Basic x"}).status == 200  # somebody else's


def test_every_key_verifies_and_time_ends(server):
    """Made by hand, as the description says."""

    def made(key, expires):
        text = f"zarrd-url-2\nGET\n{SLICE}\n{SIGNED_BY_ADA}\n{expires}\n{key['id']}\n{ADA}\n"
        digest = hmac.new(base64.b64decode(key["secret"]), text.encode(), hashlib.sha256).digest()
        return f"{SLICE}?expires={expires}&key={key['id']}&signature={SIGNED_BY_ADA}{coded(digest)}"

    now = int(time.time())
    for key in (OLD, NEW):
        assert server.get(made(key, now + 1000)).status == 200
        refused(server.get(made(key, now)))
        refused(server.get(made(key, 1)))
    refused(server.get(made({**OLD, "id": "new"}, now + 1000)))


@pytest.mark.parametrize(
    ("document", "mode", "says"),
    [
        ({"keys": []}, 0o600, "expected {"),
        ({"keys": [{"id": "a", "secret": "AAAA"}]}, 0o600, "32"),
        ({"keys": [OLD, OLD]}, 0o600, "key 1"),
        ({"keys": [OLD]}, 0o604, "chmod o-rw"),
    ],
)
def test_a_broken_file_is_no_start(tmp_path, folder, document, mode, says):
    file = secret_file(tmp_path / "keys.json", document, mode)
    for more in ((), ("--check-config",)):
        command = [BINARY, str(folder), "--listen", "127.0.0.1:0", "--set", f"access.signing_keys_file={file}", *more]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
        assert done.returncode == 2 and "access.signing_keys_file" in done.stderr and says in done.stderr, done
        assert OLD["secret"][:8] not in done.stderr
