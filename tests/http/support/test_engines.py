"""The real engines of tests run, and what the stub says of them holds."""

import http.client
import urllib.request

import pytest
from ceph import Gateway
from s3_signature import Credential, sign
from s3_stub import S3Stub

LIKE_CEPH = ("unquoted_if_match", "ignores_delete_conditions", "ignores_complete_conditions", "encodes_slash")


class StubGateway(Gateway):
    """Signed requests to the stub."""

    def __init__(self, engine):
        super().__init__(None, engine.port)


@pytest.fixture(scope="module")
def stub():
    with S3Stub() as engine:
        engine.switch(*LIKE_CEPH)
        yield StubGateway(engine)


@pytest.fixture
def gateway(ceph):
    return Gateway(ceph.folder, ceph.port)


def conversation(gateway):
    """Statuses and bodies of requests in which engines differ."""
    said = []

    def ask(method, target, body=b"", **headers):
        answer = gateway.request(method, target, body, **headers)
        said.append((method, target, headers, answer.status, answer.body if method == "GET" and answer.status in (200, 206) and "?" not in target else None))
        return answer

    key = "/test/conversation/a%20b"
    etag = ask("PUT", key, b"0123456789").headers["ETag"]
    ask("PUT", key, b"1", **{"If-None-Match": "*"})
    ask("PUT", key, b"1", **{"If-Match": etag})
    ask("PUT", key, b"0123456789", **{"If-Match": etag.strip('"')})
    for part in ("bytes=0-3", "bytes=-3", "bytes=-99", "bytes=8-99", "bytes=10-"):
        ask("GET", key, Range=part)
    ask("GET", key + "-none")
    ask("HEAD", key)
    listing = ask("GET", "/test?encoding-type=url&list-type=2&prefix=conversation%2F").body
    said.append(b"<Key>conversation%2Fa%20b</Key>" in listing)
    ask("GET", "/test?delimiter=%2F&list-type=2")
    ask("DELETE", key, **{"If-Match": '"0123456789abcdef0123456789abcdef"'})
    ask("GET", key)
    return said


def test_the_stub_says_of_ceph_what_ceph_says(gateway, stub):
    assert conversation(stub) == conversation(gateway)


def test_ceph_checks_signatures(gateway):
    target, host = "/test?list-type=2", {"host": f"127.0.0.1:{gateway.port}"}
    for secret, status in (("testsecret", 200), ("wrong", 403)):
        connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)
        connection.request("GET", target, None, sign("GET", target, host, b"", "testkey", Credential(secret)))
        assert connection.getresponse().status == status
        connection.close()


def test_a_gateway_goes_and_comes_back_with_all_objects(ceph):
    gateway = ceph.gateway()
    assert gateway.request("PUT", "/test/kept", b"kept").status == 200
    gateway.kill()
    assert not gateway.answers()
    gateway.start()
    assert gateway.request("GET", "/test/kept").body == b"kept"
    gateway.kill()


def test_nginx_shows_what_is_shared(nginx, tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    nginx.share(tmp_path, tmp_path.name)
    with urllib.request.urlopen(f"{nginx.url}/html/{tmp_path.name}/") as answer:
        assert b'href="file"' in answer.read()
    asked = urllib.request.Request(f"{nginx.url}/json/{tmp_path.name}/file", headers={"Range": "bytes=-2"})
    with urllib.request.urlopen(asked) as answer:
        assert (answer.status, answer.read()) == (206, b"89")
