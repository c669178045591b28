"""Signature version 4 of S3: what the stub checks, and what clients of tests send."""

import dataclasses
import datetime
import hashlib
import hmac
import re
import urllib.parse

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
SKEW_S = 15 * 60
STAMP = "%Y%m%dT%H%M%SZ"


@dataclasses.dataclass
class Credential:
    secret: str
    token: str | None = None  # of a session
    is_expired: bool = False


class Refused(Exception):
    """A request that is not signed as it has to be: status, code, and more elements of the error document."""

    def __init__(self, status, code, message, **elements):
        super().__init__(f"{code}: {message}")
        self.status, self.code, self.message, self.elements = status, code, message, elements


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def canonical_query(query):
    """All parameters, encoded anew and sorted."""
    pairs = [part.partition("=") for part in query.split("&") if part]
    return "&".join("=".join(pair) for pair in sorted((quote(urllib.parse.unquote(name)), quote(urllib.parse.unquote(value))) for name, _, value in pairs))


def canonical_request(method, target, headers, signed, payload):
    path, _, query = target.partition("?")
    fields = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in signed)
    return "\n".join([method, quote(urllib.parse.unquote(path), "/"), canonical_query(query), fields, ";".join(signed), payload])


def text_to_sign(request, stamp, scope):
    return "\n".join([ALGORITHM, stamp, scope, hashlib.sha256(request.encode()).hexdigest()])


def signature(secret, scope, text):
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def sign(method, target, headers, body, access_key, credential, region="us-east-1", now=None, payload=None):
    """The headers with those that sign them; `host` has to be among them. Names come back in lower case."""
    now = now or datetime.datetime.now(datetime.timezone.utc)
    stamp = now.strftime(STAMP)
    payload = payload or hashlib.sha256(body).hexdigest()
    headers = {name.lower(): value for name, value in headers.items()}
    headers |= {"x-amz-date": stamp, "x-amz-content-sha256": payload}
    if credential.token:
        headers["x-amz-security-token"] = credential.token
    signed = sorted(headers)
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    text = text_to_sign(canonical_request(method, target, headers, signed, payload), stamp, scope)
    headers["authorization"] = (f"{ALGORITHM} Credential={access_key}/{scope}, SignedHeaders={';'.join(signed)}, "
                                f"Signature={signature(credential.secret, scope, text)}")
    return headers


def check(request, credentials, region, now, ignores_signature=False):
    """Raises Refused unless the request (origin.Request) is signed as S3 demands it. Returns the access key."""
    headers = request.headers
    match = re.fullmatch(ALGORITHM + r" +Credential=([^/, ]+)/(\d{8})/([^/, ]*)/s3/aws4_request, *SignedHeaders=([a-z0-9;._-]+), *"
                         r"Signature=([0-9a-f]{64})", headers.get("authorization", ""))
    if match is None:
        raise Refused(400, "AuthorizationHeaderMalformed", "The authorization header is malformed")
    access_key, day, found_region, names, found = match.groups()
    stamp, payload = headers.get("x-amz-date", ""), headers.get("x-amz-content-sha256", "")
    if not re.fullmatch(r"\d{8}T\d{6}Z", stamp) or stamp[:8] != day:
        raise Refused(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
    if found_region != region:
        raise Refused(400, "AuthorizationHeaderMalformed", f"the region '{found_region}' is wrong; expecting '{region}'", Region=region)
    credential = credentials.get(access_key)
    if credential is None:
        raise Refused(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.", AWSAccessKeyId=access_key)
    then = datetime.datetime.strptime(stamp, STAMP).replace(tzinfo=datetime.timezone.utc)
    if abs((now - then).total_seconds()) > SKEW_S:
        raise Refused(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.",
                      RequestTime=stamp, ServerTime=now.strftime(STAMP))
    signed = names.split(";")
    needed = {"host", "x-amz-content-sha256", *(name for name in headers if name.startswith("x-amz-"))}
    if signed != sorted(set(signed)) or needed - set(signed) or any(name not in headers for name in signed):
        raise Refused(403, "AccessDenied", "There were headers present in the request which were not signed",
                      HeadersNotSigned=", ".join(sorted(needed - set(signed))))
    asked = canonical_request(request.method, request.target, headers, signed, payload)
    text = text_to_sign(asked, stamp, f"{day}/{region}/s3/aws4_request")
    if not ignores_signature and found != signature(credential.secret, f"{day}/{region}/s3/aws4_request", text):
        raise Refused(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.",
                      AWSAccessKeyId=access_key, StringToSign=text, SignatureProvided=found, CanonicalRequest=asked)
    check_token(headers, credential)
    check_payload(payload, request.body)
    return access_key


def check_token(headers, credential):
    if headers.get("x-amz-security-token") != credential.token:
        raise Refused(403, "InvalidToken", "The provided token is malformed or otherwise invalid.")
    if credential.is_expired:
        raise Refused(400, "ExpiredToken", "The provided token has expired.")


def check_payload(payload, body):
    if payload.startswith("STREAMING-"):
        raise Refused(501, "NotImplemented", "This form of upload is not implemented")
    if payload == UNSIGNED:
        return
    if not re.fullmatch("[0-9a-f]{64}", payload):
        raise Refused(400, "InvalidArgument", "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, or a valid sha256 value.")
    if payload != hashlib.sha256(body).hexdigest():
        raise Refused(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
