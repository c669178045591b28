"""An S3 engine for tests: strict where S3 is, and with a switch for each thing that engines were seen to do otherwise.

    with S3Stub() as engine:                       # bucket "test", key "testkey", secret "testsecret"
        engine.store("a/zarr.json", b"{}")
        engine.switch("ignores_conditions")        # SWITCHES has them all
        engine.fault("status", path=r"c/0$", ...)  # those of origin.py
        engine.fault_code("SlowDown", 503, path=r"c/0$", times=2)

Objects are in memory. Buckets are addressed by path (/test/key) and by host (test.localhost). Only the standard library is used.
"""

import asyncio
import base64
import dataclasses
import datetime
import hashlib
import re
import time
import urllib.parse
import xml.etree.ElementTree
from xml.sax.saxutils import escape

import s3_signature
from origin import Headers, Origin, Reply, date, interval
from s3_signature import Credential, Refused

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
REGION = "us-east-1"
PAGE = 1000  # keys of a page of a listing
BATCH = 1000  # keys of a batch delete
RACE_S = 0.3  # between the judgement of a condition and the write, where engines race: longer than writers that begin together are apart
PART_LEAST = 5 << 20  # bytes of every part but the last

SWITCHES = {
    "unquoted_if_match": "If-Match compares with the tag without its quotes (RGW)",
    "ignores_conditions": "If-Match and If-None-Match of a PUT are ignored (s3rver, fauxqs, rclone)",
    "races": "a condition is judged some time before the object is written (versitygw, s3s-fs)",
    "ignores_delete_conditions": "If-Match of a DELETE is ignored (RGW, MinIO and others)",
    "ignores_batch_conditions": "the ETag of an object of a batch delete is ignored (engines without them)",
    "lacks_batches": "there is no batch delete: 501",
    "ignores_complete_conditions": "If-None-Match of CompleteMultipartUpload is ignored (RGW and others)",
    "conflicts": "the first conditional PUT, or completion, of a key is 409 ConditionalRequestConflict (S3)",
    "part_as_200": "a range is answered 200, with the part and its Content-Range (rclone)",
    "suffix_as_prefix": "bytes=-5 answers bytes 0-5 (s3rver)",
    "long_suffix_416": "a suffix longer than the object is 416",
    "long_suffix_500": "a suffix longer than the object is 500",
    "ignores_max_keys": "all keys come on one page (s3rver)",
    "unordered": "keys are not in byte order (fauxqs)",
    "endless": "with a delimiter there is always one page more, the same (rclone)",
    "token_stays": "the token of the next page is that of this one",
    "ignores_encoding_type": "keys are not encoded, and <EncodingType> is not there (versitygw and others)",
    "encodes_plus": "a space is + in a listing (MinIO)",
    "encodes_slash": "a slash is %2F in a listing (RGW)",
    "no_key_below_key": "keys a and a/b cannot both exist: 409 (versitygw and others)",
    "read_500_after_write": "the first read after a write is 500 (moto)",
    "ignores_signatures": "any signature of a known key is accepted (moto and others)",
    "unknown_key_404": "an unknown access key is 404 (versitygw)",
    "denies_missing": "a missing key is 403: who asks may not list (S3)",
    "denies_listing": "a listing is 403 AccessDenied",
    "complete_fails_late": "CompleteMultipartUpload is 200 with an <Error> in its body (S3)",
    "lacks_uploads": "there are no uploads in parts: 501",
    "unquoted_etag": "ETag headers have no quotes",
    "public": "requests that are not signed are accepted",
}


@dataclasses.dataclass
class Object:
    data: bytes
    etag: str  # with its quotes
    modified: float


@dataclasses.dataclass
class Upload:
    key: str
    parts: dict  # number: bytes


def md5(data):
    return hashlib.md5(data).hexdigest()


def md5_header(data):
    return base64.b64encode(hashlib.md5(data).digest()).decode()


def error_document(code, message, **elements):
    more = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in elements.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{escape(message)}</Message>{more}</Error>'.encode()


def element(name, inner):
    return f"<{name}>{inner}</{name}>"


def document(name, *children):
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} xmlns="{NAMESPACE}">{"".join(children)}</{name}>'.encode()


def text(value):
    """As character data; what XML has no character for goes by its number, as S3 does it."""
    return re.sub("[\x00-\x08\x0b-\x1f]", lambda match: f"&#x{ord(match[0]):x};", escape(str(value)))


def texts(body, name):
    """The text of each element of this name in a document that a client sent."""
    return [found.text or "" for found in xml.etree.ElementTree.fromstring(body).iter() if found.tag.rpartition("}")[2] == name]


class S3Stub(Origin):
    """An S3 engine on a port of loopback."""

    def __init__(self, bucket="test", tls=None):
        self.bucket = bucket
        super().__init__(tls=tls)

    def reset(self):
        """As at the start: no object, no switch, one credential."""
        super().reset()
        self.objects, self.uploads, self.switches, self.known = {}, {}, set(), set()
        self.credentials = {"testkey": Credential("testsecret")}
        self.region = REGION
        self.page = PAGE
        self.part_least = PART_LEAST
        self.erase_errors = {}  # of a batch delete: the code that is told of a key, which stays; None: nothing is told of it
        self.clock = lambda: datetime.datetime.now(datetime.timezone.utc)
        self.n_uploads = self.n_versions = 0

    # What tests ask and order

    def switch(self, *names):
        """The engine has these traits from now on."""
        assert set(names) <= set(SWITCHES), f"{set(names) - set(SWITCHES)} are not among {' '.join(SWITCHES)}"
        self.switches = self.switches | set(names)

    def fault_code(self, code, status, message="It is a test.", **more):
        """The fault of an error with S3's code."""
        return self.fault("status", status=status, body=error_document(code, message), content_type="application/xml", **more)

    def store(self, key, data, etag=None):
        """An object, without a request."""
        self.objects[key] = Object(bytes(data), etag or f'"{md5(data)}"', time.time())

    def store_folder(self, folder, prefix=""):
        """All files of a directory, as objects below a prefix."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.store(f"{prefix}{path.relative_to(folder).as_posix()}", path.read_bytes())

    @property
    def environment(self):
        """Credentials for a server, and nothing else of this machine's."""
        return {"AWS_ACCESS_KEY_ID": "testkey", "AWS_SECRET_ACCESS_KEY": "testsecret", "AWS_EC2_METADATA_DISABLED": "true"}

    # Answers

    def find(self, path):
        """For faults that need the whole object (origin.ignores_range_fault)."""
        return self.objects.get(path.removeprefix(f"/{self.bucket}/"))

    def answer(self, request):
        try:
            key = self._key(request)
            self._authorize(request)
            reply = self._operate(request, key)
        except Refused as refused:
            reply = Reply(refused.status, Headers({"Content-Type": "application/xml"}), error_document(
                refused.code, refused.message, **refused.elements, Resource=request.path, RequestId=f"stub-{len(self.requests)}"))
        return reply

    def _key(self, request):
        """The key, or None for the bucket; the path of the request becomes /bucket/key, however it was addressed."""
        host = request.headers.get("host", "").partition(":")[0]
        path = request.path
        if host.startswith(f"{self.bucket}."):
            path = f"/{self.bucket}{path}"
        bucket, _, key = path.removeprefix("/").partition("/")
        if bucket != self.bucket:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist", BucketName=bucket)
        request.path = path
        request.file = self.objects.get(key)
        return key or None

    def _authorize(self, request):
        if "authorization" not in request.headers:
            if "public" not in self.switches:
                raise Refused(403, "AccessDenied", "Access Denied")
            return
        try:
            s3_signature.check(request, self.credentials, self.region, self.clock(), "ignores_signatures" in self.switches)
        except Refused as refused:
            if refused.code == "InvalidAccessKeyId" and "unknown_key_404" in self.switches:
                refused.status = 404
            raise

    def _operate(self, request, key):
        query, method = request.query, request.method
        if key is None:
            if method == "GET" and query.get("list-type") == "2":
                return self._list(query)
            if method == "POST" and "delete" in query:
                return self._delete_batch(request)
            if method == "HEAD" or method == "GET" and "location" in query:
                return xml_reply(document("LocationConstraint"))
        elif "uploadId" in query or "uploads" in query:
            return self._multipart(request, key)
        elif method in ("GET", "HEAD"):
            return self._read(request, key)
        elif method == "PUT":
            return self._put(request, key)
        elif method == "DELETE":
            return self._delete(request, key)
        raise Refused(501, "NotImplemented", "A header or query you provided implies functionality that is not implemented")

    # Reading

    def _read(self, request, key):
        found = self.objects.get(key)
        if found is None:
            if "denies_missing" in self.switches:
                raise Refused(403, "AccessDenied", "Access Denied")
            raise Refused(404, "NoSuchKey", "The specified key does not exist.", Key=key)
        if key in self.known and "read_500_after_write" in self.switches:
            self.known.discard(key)
            raise Refused(500, "InternalError", "We encountered an internal error. Please try again.")
        etag = found.etag.strip('"') if "unquoted_etag" in self.switches else found.etag
        headers = Headers({"ETag": etag, "Last-Modified": date(found.modified), "Content-Type": "binary/octet-stream", "Accept-Ranges": "bytes"})
        asked = request.headers
        if "if-match" in asked and not self._matches(asked["if-match"], found):
            raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", Condition="If-Match")
        if "if-none-match" in asked and self._matches(asked["if-none-match"], found):
            return Reply(304, headers)
        return self._part(request, found, headers)

    def _part(self, request, found, headers):
        asked, size = request.headers.get("range", ""), len(found.data)
        if (suffix := re.fullmatch(r"bytes=-(\d+)", asked)) is not None:
            if int(suffix[1]) > size and "long_suffix_500" in self.switches:
                raise Refused(500, "InternalError", "We encountered an internal error. Please try again.")
            if int(suffix[1]) > size and "long_suffix_416" in self.switches:
                asked = f"bytes={size}-"
            if "suffix_as_prefix" in self.switches:
                asked = f"bytes=0-{suffix[1]}"
        part = interval(asked, size)
        if part is None:
            return Reply(200, headers, found.data)
        if part == ():
            raise Refused(416, "InvalidRange", "The requested range is not satisfiable", ActualObjectSize=str(size))
        headers["Content-Range"] = f"bytes {part[0]}-{part[1] - 1}/{size}"
        return Reply(200 if "part_as_200" in self.switches else 206, headers, found.data[part[0]:part[1]])

    def _matches(self, condition, found):
        if condition == "*":
            return True
        if "unquoted_if_match" in self.switches:
            return condition == found.etag.strip('"')
        return found.etag in (tag.strip() for tag in condition.split(",")) or condition == found.etag.strip('"')

    # Listing

    def _list(self, query):
        if "denies_listing" in self.switches:
            raise Refused(403, "AccessDenied", "Access Denied")
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        token, most = query.get("continuation-token"), min(int(query.get("max-keys", PAGE)), self.page)
        if "ignores_max_keys" in self.switches:
            most = len(self.objects) + 1
        after = untoken(token) if token else query.get("start-after", "")
        entries = self._entries(prefix, delimiter, after)
        page, is_truncated = entries[:most], len(entries) > most
        if "endless" in self.switches and delimiter:
            page, is_truncated = self._entries(prefix, delimiter, "")[:most], True
        last = page[-1] if page else after
        spell = self._speller(query.get("encoding-type") == "url")
        shown = reversed(page) if "unordered" in self.switches else page
        rows = [self._entry(name, delimiter, prefix, spell) for name in shown]
        more = []
        if query.get("encoding-type") == "url" and "ignores_encoding_type" not in self.switches:
            more.append(element("EncodingType", "url"))
        if is_truncated:
            next_token = token if token and "token_stays" in self.switches else make_token(last)
            more.append(element("NextContinuationToken", next_token))
        return xml_reply(document(
            "ListBucketResult", element("Name", self.bucket), element("Prefix", spell(prefix)), element("Delimiter", spell(delimiter)),
            element("MaxKeys", most), element("KeyCount", len(page)), element("IsTruncated", str(is_truncated).lower()), *more, *rows))

    def _entries(self, prefix, delimiter, after):
        """Keys and common prefixes behind a name, in byte order."""
        names = set()
        for key in list(self.objects):
            if key.startswith(prefix):
                head, found, _ = key[len(prefix):].partition(delimiter) if delimiter else ("", "", "")
                names.add(prefix + head + found if found else key)
        return sorted((name for name in names if name.encode() > after.encode()), key=str.encode)

    def _entry(self, name, delimiter, prefix, spell):
        if delimiter and name.endswith(delimiter) and name != prefix:
            return element("CommonPrefixes", element("Prefix", spell(name)))
        found = self.objects[name]
        modified = datetime.datetime.fromtimestamp(found.modified, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return element("Contents", element("Key", spell(name)) + element("LastModified", modified) + element("ETag", text(found.etag))
                       + element("Size", len(found.data)) + element("StorageClass", "STANDARD"))

    def _speller(self, is_encoded):
        if not is_encoded or "ignores_encoding_type" in self.switches:
            return text
        safe = "" if "encodes_slash" in self.switches else "/"
        return lambda name: urllib.parse.quote_plus(name, safe) if "encodes_plus" in self.switches else urllib.parse.quote(name, safe)

    # Writing

    def _condition(self, request, key, ignores):
        """Raises Refused unless the condition of a change holds."""
        asked, found = request.headers, self.objects.get(key)
        if ignores in self.switches:
            return
        if asked.get("if-none-match") not in (None, "*"):
            raise Refused(501, "NotImplemented", "If-None-Match takes * only")
        if "if-match" in asked and found is None:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.", Key=key)
        if found is not None and "if-none-match" in asked or "if-match" in asked and not self._matches(asked["if-match"], found):
            raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")

    def _put(self, request, key):
        if "content-length" not in request.headers:
            raise Refused(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
        if "content-md5" in request.headers and request.headers["content-md5"] != md5_header(request.body):
            raise Refused(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")
        has_condition = self._conflicts(request, key)
        self._condition(request, key, "ignores_conditions")
        if "no_key_below_key" in self.switches and any(
                other.startswith(key + "/") or key.startswith(other + "/") for other in self.objects):
            raise Refused(409, "ObjectParentIsFile", "Object parent already exists as a file.")
        return self._put_late(request, key) if has_condition and "races" in self.switches else self._put_now(request, key)

    def _conflicts(self, request, key):
        """Whether there is a condition; raises Refused where the engine cannot judge it now."""
        has_condition = "if-match" in request.headers or "if-none-match" in request.headers
        if has_condition and "conflicts" in self.switches and key not in self.known:
            self.known.add(key)
            raise Refused(409, "ConditionalRequestConflict", "A conflicting conditional operation is currently in progress.")
        return has_condition

    async def _put_late(self, request, key):
        await asyncio.sleep(RACE_S)
        return self._put_now(request, key)

    def _put_now(self, request, key):
        self.store(key, request.body)
        if "read_500_after_write" in self.switches:
            self.known.add(key)
        return Reply(200, Headers({"ETag": self.objects[key].etag}))

    def _delete(self, request, key):
        if "if-match" in request.headers:
            self._condition(request, key, "ignores_delete_conditions")
        self.objects.pop(key, None)
        return Reply(204)

    def _delete_batch(self, request):
        if "content-md5" not in request.headers and "x-amz-checksum-crc32" not in request.headers:
            raise Refused(400, "InvalidRequest", "Missing required header for this request: Content-MD5")
        if request.headers.get("content-md5", md5_header(request.body)) != md5_header(request.body):
            raise Refused(400, "BadDigest", "The Content-MD5 you specified did not match what we received.")
        if "lacks_batches" in self.switches:
            raise Refused(501, "NotImplemented", "A header you provided implies functionality that is not implemented")
        asked = [tuple(self._parsed_of(each, name) for name in ("Key", "ETag")) for each in self._parsed_objects(request)]
        if not 0 < len(asked) <= BATCH:
            raise Refused(400, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
        is_quiet = self._parsed(request, "Quiet") == ["true"]
        told = [self._delete_one(key, etag, is_quiet) for key, etag in asked]
        return xml_reply(document("DeleteResult", *told))

    def _delete_one(self, key, etag, is_quiet):
        """What a batch delete tells of an object."""
        found, code = self.objects.get(key), self.erase_errors.get(key, "")
        if code == "" and etag and "ignores_batch_conditions" not in self.switches:
            code = "" if found is not None and self._matches(etag, found) else "PreconditionFailed"
        if code is None or code:
            return element("Error", element("Key", text(key)) + element("Code", code) + element("Message", "It is a test.")) if code else ""
        self.objects.pop(key, None)
        return "" if is_quiet else element("Deleted", element("Key", text(key)))

    @staticmethod
    def _parsed_objects(request):
        try:
            return [each for each in xml.etree.ElementTree.fromstring(request.body) if each.tag.rpartition("}")[2] == "Object"]
        except xml.etree.ElementTree.ParseError:
            raise Refused(400, "MalformedXML", "The XML you provided was not well-formed") from None

    @staticmethod
    def _parsed_of(parent, name):
        return next((each.text or "" for each in parent if each.tag.rpartition("}")[2] == name), "")

    @staticmethod
    def _parsed(request, name):
        try:
            return texts(request.body, name)
        except xml.etree.ElementTree.ParseError:
            raise Refused(400, "MalformedXML", "The XML you provided was not well-formed") from None

    # Multipart

    def _multipart(self, request, key):
        query, method = request.query, request.method
        if "lacks_uploads" in self.switches:
            raise Refused(501, "NotImplemented", "A header you provided implies functionality that is not implemented")
        if "uploads" in query and method == "POST":
            self.n_uploads += 1
            name = f"upload-{self.n_uploads}"
            self.uploads[name] = Upload(key, {})
            return xml_reply(document("InitiateMultipartUploadResult", element("Bucket", self.bucket), element("Key", text(key)), element("UploadId", name)))
        upload = self.uploads.get(query.get("uploadId"))
        if upload is None or upload.key != key:
            raise Refused(404, "NoSuchUpload", "The specified multipart upload does not exist.")
        if method == "PUT" and 1 <= int(query.get("partNumber", 0)) <= 10_000:
            upload.parts[int(query["partNumber"])] = request.body
            return Reply(200, Headers({"ETag": f'"{md5(request.body)}"'}))
        if method == "DELETE":
            del self.uploads[query["uploadId"]]
            return Reply(204)
        if method == "POST":
            return self._complete(request, key, upload)
        raise Refused(400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive")

    def _complete(self, request, key, upload):
        numbers = [int(number) for number in self._parsed(request, "PartNumber")]
        etags = [etag.strip('"') for etag in self._parsed(request, "ETag")]
        if numbers != sorted(set(numbers)) or not numbers:
            raise Refused(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
        if len(etags) != len(numbers) or any(number not in upload.parts or md5(upload.parts[number]) != etag for number, etag in zip(numbers, etags)):
            raise Refused(400, "InvalidPart", "One or more of the specified parts could not be found.")
        if any(len(upload.parts[number]) < self.part_least for number in numbers[:-1]):
            raise Refused(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
        has_condition = self._conflicts(request, key)
        self._condition(request, key, "ignores_complete_conditions")
        late = (request, key, upload, numbers, etags)
        return self._complete_late(*late) if has_condition and "races" in self.switches else self._complete_now(*late)

    async def _complete_late(self, *late):
        await asyncio.sleep(RACE_S)
        return self._complete_now(*late)

    def _complete_now(self, request, key, upload, numbers, etags):
        if "complete_fails_late" in self.switches:
            return xml_reply(error_document("InternalError", "We encountered an internal error. Please try again."))
        etag = f'"{md5(b"".join(bytes.fromhex(each) for each in etags))}-{len(etags)}"'
        self.store(key, b"".join(upload.parts[number] for number in numbers), etag)
        del self.uploads[request.query["uploadId"]]
        return xml_reply(document("CompleteMultipartUploadResult", element("Bucket", self.bucket), element("Key", text(key)), element("ETag", text(etag))))


def xml_reply(body):
    return Reply(200, Headers({"Content-Type": "application/xml"}), body)


def make_token(name):
    """The continuation token that goes on behind a name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def untoken(token):
    try:
        return base64.urlsafe_b64decode(token).decode()
    except ValueError:
        raise Refused(400, "InvalidArgument", "The continuation token provided is incorrect") from None
