"""Keys and JSON Web Tokens, made by openssl(1); an endpoint of keys that does as it is told."""

import base64
import contextlib
import hashlib
import http.server
import json
import subprocess
import threading
import time

ISSUER, AUDIENCE = "https://id.example", "zarrd"
KINDS = {"RS256": ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "ES256": ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "EdDSA": ["ED25519"]}
# Of P-256: the order, and the x of the generator.
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
R = 0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296


def coded(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *map(str, arguments)], input=data, capture_output=True, check=True).stdout


def numbers(der):
    """Both numbers of an ECDSA signature in DER, 32 bytes each."""
    at, pair = 2, b""
    for _ in range(2):
        n = der[at + 1]
        pair += int.from_bytes(der[at + 2 : at + 2 + n], "big").to_bytes(32, "big")
        at += 2 + n
    return pair


class Key:
    def __init__(self, folder, kid, alg):
        self.kid, self.alg = kid, alg
        self.path = folder / f"{kid}.pem"
        openssl("genpkey", "-algorithm", *KINDS[alg], "-out", self.path)

    def jwk(self):
        der = openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER")
        if self.alg == "EdDSA":
            members = {"kty": "OKP", "crv": "Ed25519", "x": coded(der[-32:])}
        elif self.alg == "ES256":
            members = {"kty": "EC", "crv": "P-256", "x": coded(der[-64:-32]), "y": coded(der[-32:])}
        else:
            modulus = openssl("rsa", "-in", self.path, "-noout", "-modulus").decode().strip().split("=")[1]
            members = {"kty": "RSA", "n": coded(bytes.fromhex(modulus)), "e": "AQAB"}
        return {"kid": self.kid, "use": "sig", **members}

    def signature(self, text):
        message = self.path.with_suffix(".txt")
        message.write_text(text)
        if self.alg == "EdDSA":
            return openssl("pkeyutl", "-sign", "-inkey", self.path, "-rawin", "-in", message)
        found = openssl("dgst", "-sha256", "-sign", self.path, message)
        return numbers(found) if self.alg == "ES256" else found

    def token(self, scope=None, header=None, sign=None, **claims):
        claims = {"iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 3600, "sub": "eve", "scope": scope, **claims}
        parts = [{"alg": self.alg, "kid": self.kid, **(header or {})}, {name: value for name, value in claims.items() if value is not None}]
        text = ".".join(coded(json.dumps(part).encode()) for part in parts)
        return f"{text}.{coded((sign or self.signature)(text))}"

    def quick(self):
        """What signs thousands of texts in a moment, with the nonce 1: who sees one signature has the key."""
        der = openssl("ec", "-in", self.path, "-outform", "DER")
        secret = int.from_bytes(der[7:39], "big")  # RFC 5915: behind a version

        def sign(text):
            digest = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
            return R.to_bytes(32, "big") + ((digest + R * secret) % ORDER).to_bytes(32, "big")

        return sign


def jwks(*keys):
    return json.dumps({"keys": [key.jwk() for key in keys]}).encode()


class Endpoint:
    """GET /keys answers `status`, `headers` and `body`; with `hangs` nothing, until it ends."""

    def __init__(self):
        self.status, self.headers, self.body, self.hangs, self.n_asked = 200, {}, b"{}", False, 0
        self.ends = threading.Event()

    def set(self, body=b"{}", status=200, hangs=False, **headers):
        self.status, self.headers, self.body, self.hangs = status, headers, body, hangs


@contextlib.contextmanager
def endpoint():
    told = Endpoint()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body, status, headers, hangs = told.body, told.status, told.headers, told.hangs
            told.n_asked += 1
            if hangs:
                told.ends.wait()
                return
            with contextlib.suppress(OSError):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        told.url = f"http://127.0.0.1:{server.server_port}/keys"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield told
        finally:
            told.ends.set()
            server.shutdown()
