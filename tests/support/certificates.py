"""Certificates for servers of tests: an authority of its own that nobody else trusts, made by the program openssl."""

import ssl
import subprocess

NAMES = "DNS:localhost,IP:127.0.0.1,IP:::1"
CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
PAST = ["-startdate", "20200101000000Z", "-enddate", "20200201000000Z"]
CONFIG = """[ca]
default_ca = authority
[authority]
new_certs_dir = .
database = issued
rand_serial = yes
unique_subject = no
default_md = sha256
policy = policy
[policy]
commonName = supplied
"""


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificates(folder):
    """An authority (authority.pem) and what it says of 127.0.0.1 and localhost (certificate.pem, key.pem), in this directory."""
    openssl(folder, "req", "-x509", *CURVE, "-keyout", "authority.key", "-out", "authority.pem", "-days", "3650", "-subj", "/CN=authority of a test",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    (folder / "config").write_text(CONFIG)
    (folder / "issued").write_text("")
    openssl(folder, "req", *CURVE, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=localhost")
    add_certificate(folder, "certificate.pem")
    return folder / "authority.pem"


def add_certificate(folder, file, names=NAMES, is_expired=False):
    """The same authority and key, of other names or of a time that is over."""
    (folder / "names").write_text(f"subjectAltName={names}\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
    openssl(folder, "ca", "-batch", "-notext", "-config", "config", "-cert", "authority.pem", "-keyfile", "authority.key",
            "-in", "request.pem", "-out", file, "-extfile", "names", *(PAST if is_expired else ["-days", "3650"]))


def server_context(folder, file="certificate.pem"):
    """What a server needs (ssl.SSLContext) that has one of those certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / file, folder / "key.pem")
    return context
