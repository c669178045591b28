"""Certificates for servers of tests: an authority of its own that nobody else trusts, made by the program openssl."""

import ssl
import subprocess

NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_certificates(folder):
    """An authority (authority.pem) and what it says of 127.0.0.1 and localhost (certificate.pem, key.pem), in this directory."""
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(folder, "req", "-x509", *curve, "-keyout", "authority.key", "-out", "authority.pem", "-days", "3650", "-subj", "/CN=authority of a test")
    openssl(folder, "req", *curve, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=localhost")
    (folder / "names").write_text(NAMES + "\n")
    openssl(folder, "x509", "-req", "-in", "request.pem", "-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial",
            "-days", "3650", "-extfile", "names", "-out", "certificate.pem")
    return folder / "authority.pem"


def server_context(folder):
    """What a server needs (ssl.SSLContext) that has those certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context
