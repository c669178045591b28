"""The S3 engine of tests (support/s3_stub.py): it is strict where S3 is, and each switch does what it says."""

import base64
import datetime
import hashlib
import http.client
import shutil
import subprocess
import threading
import urllib.parse
import xml.etree.ElementTree
from xml.sax.saxutils import escape

import pytest
import s3_signature
from client import wait_until
from origin import Headers, Request
from s3_signature import Credential, Refused
from s3_stub import SWITCHES, S3Stub

DATA = bytes(range(200))
OTHER = '"0123456789abcdef0123456789abcdef"'


@pytest.fixture(scope="module")
def shared():
    with S3Stub() as engine:
        yield engine


@pytest.fixture
def engine(shared):
    shared.reset()
    shared.store("a/data", DATA)
    return shared


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def texts(self, name):
        """Texts of all elements of this name; of those with children, that of the first."""
        found = [each for each in xml.etree.ElementTree.fromstring(self.body).iter() if each.tag.rpartition("}")[2] == name]
        return [(each[0] if len(each) else each).text or "" for each in found]

    @property
    def code(self):
        return (self.texts("Code") or [None])[0] if self.body else None


def ask(engine, key="a/data", method="GET", body=b"", query="", credential=None, access_key="testkey", host=None, target=None, spoil=(), **more):
    """One signed request; `more` are headers, or `region`, `now` and `payload` of the signature. spoil: headers that are changed after that."""
    options = {name: more.pop(name) for name in ("region", "now", "payload") if name in more}
    target = target or f"/test/{urllib.parse.quote(key)}" + (f"?{query}" if query else "")
    headers = {"host": host or f"127.0.0.1:{engine.port}", **{name.replace("_", "-").lower(): value for name, value in more.items()}}
    if credential is not False:
        headers = s3_signature.sign(method, target, headers, body, access_key, credential or Credential("testsecret"), **options)
    headers |= dict(spoil)
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=60)
    try:
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            if value is not None:
                connection.putheader(name, value)
        if method in ("PUT", "POST"):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def listing(engine, query=""):
    return ask(engine, target="/test?list-type=2" + (f"&{query}" if query else ""))


def race(engine, n=8, **headers):
    """The statuses of writers of one key that began together."""
    statuses = []
    threads = [threading.Thread(target=lambda: statuses.append(ask(engine, "raced", "PUT", DATA, **headers).status)) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return sorted(statuses)


# Signatures

EXAMPLE = {  # of Amazon's documentation of signature version 4: "GET object"
    "authorization": "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
                     "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
                     "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    "host": "examplebucket.s3.amazonaws.com", "range": "bytes=0-9", "x-amz-date": "20130524T000000Z",
    "x-amz-content-sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}


def test_the_example_of_the_documentation_is_accepted():
    request = Request("GET", "/test.txt", "/test.txt", {}, Headers(EXAMPLE), b"", 1)
    known = {"AKIAIOSFODNN7EXAMPLE": Credential("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")}
    now = datetime.datetime(2013, 5, 24, 0, 10, tzinfo=datetime.timezone.utc)
    assert s3_signature.check(request, known, "us-east-1", now) == "AKIAIOSFODNN7EXAMPLE"
    request.target = "/test.tx"
    with pytest.raises(Refused, match="SignatureDoesNotMatch"):
        s3_signature.check(request, known, "us-east-1", now)


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_signature_of_curl_is_accepted(engine):
    done = subprocess.run(["curl", "-sf", "--aws-sigv4", "aws:amz:us-east-1:s3", "-u", "testkey:testsecret", "-H",
                           f"x-amz-content-sha256: {hashlib.sha256(b'').hexdigest()}", f"{engine.url}/test/a/data"], capture_output=True)
    assert done.stdout == DATA


def test_keys_are_signed_as_they_are(engine):
    for key in ("a b+c%~", "ü/€", "a//b", "x=y&z"):
        assert ask(engine, key, "PUT", DATA).status == 200
        assert ask(engine, key).body == DATA and key in engine.objects
    assert ask(engine, target=f"/{urllib.parse.quote('ü/€')}", host="test.localhost").body == DATA
    assert ask(engine, target="/other/a").code == "NoSuchBucket"


LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
REFUSED = [
    ({"credential": Credential("wrong")}, 403, "SignatureDoesNotMatch"),
    ({"access_key": "nobody"}, 403, "InvalidAccessKeyId"),
    ({"credential": False}, 403, "AccessDenied"),
    ({"region": "eu-west-1"}, 400, "AuthorizationHeaderMalformed"),
    ({"now": LONG_AGO}, 403, "RequestTimeTooSkewed"),
    ({"spoil": {"authorization": "AWS4-HMAC-SHA256 nothing"}}, 400, "AuthorizationHeaderMalformed"),
    ({"spoil": {"x-amz-meta-some": "thing"}}, 403, "AccessDenied"),
    ({"spoil": {"host": "test.localhost"}, "target": "/a/data"}, 403, "SignatureDoesNotMatch"),
    ({"method": "PUT", "body": b"x", "payload": hashlib.sha256(b"y").hexdigest()}, 400, "XAmzContentSHA256Mismatch"),
    ({"method": "PUT", "body": b"x", "payload": "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}, 501, "NotImplemented"),
    ({"credential": Credential("testsecret", "token")}, 403, "InvalidToken"),
    ({"method": "PUT", "body": b"x", "content_md5": base64.b64encode(hashlib.md5(b"y").digest()).decode()}, 400, "BadDigest"),
    ({"method": "PATCH"}, 501, "NotImplemented"),
    ({"key": "none"}, 404, "NoSuchKey"),
    ({"range": "bytes=200-"}, 416, "InvalidRange"),
    ({"if_match": OTHER}, 412, "PreconditionFailed"),
]


@pytest.mark.parametrize("asked, status, code", REFUSED, ids=[f"{code}-{i}" for i, (*_, code) in enumerate(REFUSED)])
def test_faults_have_the_codes_of_s3(engine, asked, status, code):
    answer = ask(engine, **asked)
    assert (answer.status, answer.code) == (status, code), answer.body
    assert engine.objects.keys() == {"a/data"} and engine.objects["a/data"].data == DATA


def test_sessions_have_a_token_that_expires(engine):
    engine.credentials = {"temporary": (session := Credential("secret", "token"))}
    assert ask(engine, access_key="temporary", credential=session).status == 200
    session.is_expired = True
    assert ask(engine, access_key="temporary", credential=session).code == "ExpiredToken"


# Objects

def test_objects_are_written_read_and_erased(engine):
    assert ask(engine, "b", "PUT", b"1").headers["ETag"] == f'"{hashlib.md5(b"1").hexdigest()}"'
    assert ask(engine, "b", "HEAD").headers["Content-Length"] == "1"
    assert ask(engine, range="bytes=2-3").body == DATA[2:4] and ask(engine, range="bytes=-999").body == DATA
    assert ask(engine, "b", "DELETE").status == ask(engine, "b", "DELETE").status == 204
    assert ask(engine, "b").status == 404


def test_conditions_hold(engine):
    etag = engine.objects["a/data"].etag
    assert ask(engine, if_none_match=etag).status == 304
    assert ask(engine, method="PUT", body=b"1", if_none_match="*").code == "PreconditionFailed"
    assert ask(engine, method="PUT", body=b"1", if_match=OTHER).code == "PreconditionFailed"
    assert ask(engine, "none", "PUT", b"1", if_match=OTHER).code == "NoSuchKey"
    assert ask(engine, method="DELETE", if_match=OTHER).code == "PreconditionFailed"
    assert ask(engine, method="PUT", body=b"1", if_match=etag).status == 200
    assert race(engine, if_none_match="*") == [200] + [412] * 7


def test_many_keys_are_erased_at_once(engine):
    body = b"<Delete><Object><Key>a/data</Key></Object><Object><Key>none</Key></Object></Delete>"
    assert ask(engine, target="/test?delete", method="POST", body=body).code == "InvalidRequest"
    answer = ask(engine, target="/test?delete", method="POST", body=body, content_md5=base64.b64encode(hashlib.md5(body).digest()).decode())
    assert answer.texts("Deleted") == ["a/data", "none"] and not engine.objects


def upload(engine, key, *parts, **headers):
    """The answer to the completion of an upload in parts."""
    name = ask(engine, key, "POST", query="uploads").texts("UploadId")[0]
    etags = [ask(engine, key, "PUT", part, f"partNumber={i}&uploadId={name}").headers["ETag"] for i, part in enumerate(parts, 1)]
    rows = "".join(f"<Part><PartNumber>{i}</PartNumber><ETag>{etag}</ETag></Part>" for i, etag in enumerate(etags, 1))
    return ask(engine, key, "POST", f"<CompleteMultipartUpload>{rows}</CompleteMultipartUpload>".encode(), f"uploadId={name}", **headers)


def test_an_upload_comes_in_parts(engine):
    engine.part_least = 10
    assert upload(engine, "big", b"1" * 10, b"2").texts("ETag")[0].endswith('-2"')
    assert ask(engine, "big").body == b"1" * 10 + b"2" and not engine.uploads
    assert upload(engine, "big", b"1" * 9, b"2").code == "EntityTooSmall"
    assert upload(engine, "big", b"1", if_none_match="*").code == "PreconditionFailed"
    assert len(engine.uploads) == 2
    for name in list(engine.uploads):
        assert ask(engine, "big", "DELETE", query=f"uploadId={name}").status == 204
    assert ask(engine, "big", "PUT", b"1", f"partNumber=1&uploadId={name}").code == "NoSuchUpload"


# Listings

def test_listings_come_in_pages_in_byte_order(engine):
    engine.objects = {}
    names = [f"p/{name}" for name in ("b", "a/1", "a/2", "ü", "z z", "&", "a0", "a-/x")]
    for name in [*names, "q"]:
        engine.store(name, b"")
    found, token = [], ""
    while True:
        page = listing(engine, "prefix=p%2F&max-keys=2" + (f"&continuation-token={urllib.parse.quote(token)}" if token else ""))
        found += page.texts("Contents")
        if page.texts("IsTruncated") == ["false"]:
            break
        token = page.texts("NextContinuationToken")[0]
    assert found == sorted(names, key=str.encode)
    page = listing(engine, "prefix=p%2F&delimiter=%2F")
    assert sorted(page.texts("CommonPrefixes")) == ["p/a-/", "p/a/"] and page.texts("KeyCount") == ["7"]
    assert "p/z%20z" in listing(engine, "encoding-type=url").texts("Contents")
    assert "p/z z" in listing(engine).texts("Contents")
    assert listing(engine, "start-after=p%2Fz%20z").texts("Contents") == ["p/ü", "q"]


# Each switch: what differs.

def reads(status, found=None, said=None, **asked):
    def check(engine):
        answer = ask(engine, **asked)
        assert (answer.status, answer.headers["Content-Range"]) == (status, said) and (found is None or answer.body == found)
    return check


def compares_unquoted(engine):
    etag = engine.objects["a/data"].etag
    assert ask(engine, method="PUT", body=b"1", if_match=etag).status == 412
    assert ask(engine, method="PUT", body=b"1", if_match=etag.strip('"')).status == 200


def is_raced(engine):
    assert race(engine, if_none_match="*").count(200) > 1
    assert race(engine, if_none_match="*") == [412] * 8


def conflicts_once(engine):
    assert [ask(engine, "b", "PUT", b"1", if_none_match="*").status for _ in range(3)] == [409, 200, 412]


def lists_everything(engine):
    engine.store("b", b"")
    assert listing(engine, "max-keys=1").texts("Contents") == ["a/data", "b"]


def lists_backwards(engine):
    engine.store("b", b"")
    assert listing(engine).texts("Contents") == ["b", "a/data"]


def never_ends(engine):
    first = listing(engine, "delimiter=%2F")
    second = listing(engine, "delimiter=%2F&continuation-token=" + first.texts("NextContinuationToken")[0])
    assert first.texts("IsTruncated") == second.texts("IsTruncated") == ["true"] and second.texts("CommonPrefixes") == ["a/"]


def does_not_move(engine):
    for name in "bcd":
        engine.store(name, b"")
    token = listing(engine, "max-keys=1").texts("NextContinuationToken")
    assert listing(engine, f"max-keys=1&continuation-token={token[0]}").texts("NextContinuationToken") == token


def spells(name, is_said=True):
    def check(engine):
        engine.store("b c/d", b"")
        page = listing(engine, "prefix=b&encoding-type=url")
        assert page.texts("Contents") == [name] and bool(page.texts("EncodingType")) == is_said
    return check


def refuses_below(engine):
    assert ask(engine, "a", "PUT", b"1").status == ask(engine, "a/data/x", "PUT", b"1").status == 409


def completes_late(engine):
    answer = upload(engine, "b", b"1")
    assert (answer.status, answer.code) == (200, "InternalError") and "b" not in engine.objects


def lacks_uploads(engine):
    assert ask(engine, "b", "POST", query="uploads").status == 501


def fails_after_a_write(engine):
    assert ask(engine, method="PUT", body=b"1").status == 200
    assert [ask(engine).status for _ in range(2)] == [500, 200]


def erase_many(engine, etag=OTHER):
    body = f"<Delete><Object><Key>a/data</Key><ETag>{escape(etag)}</ETag></Object></Delete>".encode()
    return ask(engine, target="/test?delete", method="POST", body=body, content_md5=base64.b64encode(hashlib.md5(body).digest()).decode())


SEEN = {
    "unquoted_if_match": compares_unquoted,
    "ignores_conditions": reads(200, method="PUT", body=b"1", if_none_match="*"),
    "races": is_raced,
    "ignores_delete_conditions": reads(204, method="DELETE", if_match=OTHER),
    "ignores_batch_conditions": lambda engine: erase_many(engine).texts("Key") == ["a/data"] and "a/data" not in engine.objects,
    "lacks_batches": lambda engine: erase_many(engine).status == 501,
    "ignores_complete_conditions": lambda engine: upload(engine, "a/data", b"1", if_none_match="*").texts("ETag")[0],
    "conflicts": conflicts_once,
    "part_as_200": reads(200, DATA[:4], "bytes 0-3/200", range="bytes=0-3"),
    "suffix_as_prefix": reads(206, DATA[:6], "bytes 0-5/200", range="bytes=-5"),
    "long_suffix_416": reads(416, range="bytes=-201"),
    "long_suffix_500": reads(500, range="bytes=-201"),
    "ignores_max_keys": lists_everything,
    "unordered": lists_backwards,
    "endless": never_ends,
    "token_stays": does_not_move,
    "ignores_encoding_type": spells("b c/d", is_said=False),
    "encodes_plus": spells("b+c/d"),
    "encodes_slash": spells("b%20c%2Fd"),
    "no_key_below_key": refuses_below,
    "read_500_after_write": fails_after_a_write,
    "ignores_signatures": reads(200, DATA, credential=Credential("wrong")),
    "unknown_key_404": reads(404, access_key="nobody"),
    "denies_missing": reads(403, key="none"),
    "denies_listing": lambda engine: listing(engine).texts("Code") == ["AccessDenied"],
    "complete_fails_late": completes_late,
    "lacks_uploads": lacks_uploads,
    "unquoted_etag": lambda engine: ask(engine).headers["ETag"] == hashlib.md5(DATA).hexdigest(),
    "public": reads(200, DATA, credential=False),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_does_what_it_says(engine, name):
    def shows():
        try:
            return SEEN[name](engine) is not False
        except (AssertionError, IndexError):
            return False

    assert not shows()
    engine.reset()
    engine.store("a/data", DATA)
    engine.switch(name)
    assert shows()


def test_faults_are_errors_of_s3_too(engine):
    rule = engine.fault_code("SlowDown", 503, path="^/test/a/", retry_after=1)
    answer = ask(engine)
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "SlowDown", "1") and rule.n == 1
    engine.fault("ignores_range")
    assert ask(engine, range="bytes=0-3").body == DATA
    assert ask(engine, range="bytes=0-3").body == DATA[:4]
    wait_until(lambda: engine.n_open == 0)
    assert engine.count("GET", "^/test/a/data$", "range") == 2
