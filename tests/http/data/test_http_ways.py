"""The way to an HTTP origin: TLS is verified, and proxies of the environment are obeyed."""

import numpy as np
import pytest
from arrays import write_values
from certificates import add_certificate, make_certificates, server_context
from client import wait_until
from origin import Origin
from proxy import Proxy

VALUES = np.arange(64, dtype="<f4").reshape(8, 8)
SLICE = "/v1/datasets/a/slices/?slice=0,:"
NOTHING = "/zarr/a/nothing"
ONCE = ["--set", "remote.retries=0", "--set", "remote.hedge_percent=0", "--set", "remote.breaker_ms=10"]
# Of those who run the tests nothing counts.
PLAIN = {name: "" for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE")}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    write_values(folder, VALUES, (4, 4))
    return folder


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    folder = tmp_path_factory.mktemp("authority")
    make_certificates(folder)
    add_certificate(folder, "elsewhere.pem", names="DNS:elsewhere.test")
    add_certificate(folder, "expired.pem", is_expired=True)
    add_certificate(folder, "lake.pem", names="DNS:lake.test")
    return folder


@pytest.fixture
def origin(store):
    with Origin(store) as running:
        yield running


@pytest.fixture
def secure(store, authority):
    """secure(file) is an origin of TLS with that certificate."""
    running = []

    def start(file="certificate.pem"):
        running.append(Origin(store, tls=server_context(authority, file)))
        return running[-1]

    yield start
    for each in running:
        each.stop()


def start(serve, location, **environment):
    return serve(f"a={location}", *ONCE, environment={**PLAIN, **environment})


def expect_values(server):
    answer = server.get(SLICE)
    assert (answer.status, answer.body) == (200, VALUES[0].tobytes()), answer


def expect_fault(server, *words):
    """Of a chunk, and of what is not there: nobody knows that. The words are in the log alone: they may have a host or a path."""
    for target in (SLICE, NOTHING):
        answer = server.get(target)
        assert (answer.status, answer.code) in ((502, "store_error"), (503, "overloaded")), answer
        assert b"s3cret" not in answer.body
    assert "s3cret" not in server.log
    wait_until(lambda: all(word in server.log for word in words))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("by", ["environment", "setting"])
def test_an_authority_that_is_named_is_trusted(serve, secure, authority, host, by):
    origin = secure()
    trusted = str(authority / "authority.pem")
    config = {"datasets": {"a": {"location": f"https://{host}:{origin.port}"}}}
    if by == "environment":
        server = serve(config=config, environment={**PLAIN, "SSL_CERT_FILE": trusted})
    else:  # and the environment does not count then
        server = serve(config={**config, "remote": {"ca_file": trusted}}, environment={**PLAIN, "SSL_CERT_FILE": "/nonexistent/file"})
    expect_values(server)
    assert server.get(NOTHING).code == "key_not_found"
    assert origin.count() > 1


@pytest.mark.parametrize("file, trusts, words", [
    ("certificate.pem", False, ["certificate"]), ("elsewhere.pem", True, ["certificate", "name"]), ("expired.pem", True, ["certificate", "expired"])])
def test_a_certificate_that_does_not_hold_is_a_fault(serve, secure, authority, file, trusts, words):
    origin = secure(file)
    trust = {"SSL_CERT_FILE": str(authority / "authority.pem")} if trusts else {}
    expect_fault(start(serve, f"https://127.0.0.1:{origin.port}", **trust), *words)
    assert origin.count() == 0


def test_a_server_without_tls_is_a_fault(serve, origin):
    """This one waits for the rest of a request."""
    server = serve(f"a=https://127.0.0.1:{origin.port}", *ONCE, "--set", "remote.connect_ms=300", environment=PLAIN)
    answer = server.get(NOTHING)
    assert (answer.status, answer.code) == (504, "store_timeout") and "remote.connect_ms" in answer.json()["detail"]


@pytest.mark.parametrize("trusted", ["/nonexistent/file", __file__])
def test_a_file_without_certificates_is_a_fault(serve, secure, trusted):
    origin = secure()
    expect_fault(start(serve, f"https://127.0.0.1:{origin.port}", SSL_CERT_FILE=trusted), "certificate")


def test_requests_go_through_the_proxy(serve, origin):
    """It knows a host that nobody else does; what it may ask of its users is sent to it alone."""
    with Proxy({"lake.test": origin.port}) as proxy:
        server = start(serve, "http://lake.test/", http_proxy=proxy.url.replace("//", "//user:s3cret@"))
        expect_values(server)
        assert server.get(NOTHING).code == "key_not_found"
        assert {target.partition("/zarr.json")[0] for method, target, _ in proxy.asked if "zarr.json" in target} == {"http://lake.test"}
        assert all(fields["proxy-authorization"].startswith("Basic ") for _, _, fields in proxy.asked)
    assert not any("proxy-authorization" in request.headers for request in origin.requests)
    assert origin.count("GET", r"c/0/0$") == 1


def test_tls_goes_through_a_tunnel_and_is_verified_at_its_end(serve, secure, authority):
    lake, other = secure("lake.pem"), secure()
    trust = {"SSL_CERT_FILE": str(authority / "authority.pem")}
    with Proxy({"lake.test": lake.port}) as proxy:
        server = start(serve, "https://lake.test/", https_proxy=proxy.url, **trust)
        expect_values(server)
        assert {(method, target) for method, target, _ in proxy.asked} == {("CONNECT", "lake.test:443")}
        assert len(proxy.asked) <= lake.n_connections < lake.count()
    with Proxy({"lake.test": other.port}) as proxy:
        expect_fault(start(serve, "https://lake.test/", https_proxy=proxy.url, **trust), "certificate")


@pytest.mark.parametrize("variable", ["no_proxy", "NO_PROXY"])
@pytest.mark.parametrize("names", ["192.0.2.1", "elsewhere.test,192.0.2.1", "*"])
def test_some_hosts_are_asked_without_the_proxy(serve, origin, variable, names):
    """Nobody has this address (RFC 5737) but the proxy."""
    with Proxy({"192.0.2.1": origin.port}) as proxy:
        expect_values(start(serve, "http://192.0.2.1", http_proxy=proxy.url))
        proxy.asked.clear()
        server = serve("a=http://192.0.2.1", *ONCE, "--set", "remote.connect_ms=300",
                       environment={**{name: value for name, value in PLAIN.items() if name.lower() != "no_proxy"}, "http_proxy": proxy.url, variable: names})
        assert server.get(NOTHING).status in (502, 503, 504) and proxy.asked == []


@pytest.mark.parametrize("status", ["403 Forbidden", "407 Proxy Authentication Required", "502 Bad Gateway", "404 Not Found"])
def test_a_proxy_that_makes_no_tunnel_is_a_fault(serve, status):
    with Proxy({}, f"HTTP/1.1 {status}\r\nContent-Length: 6\r\n\r\ns3cret".encode()) as proxy:
        expect_fault(start(serve, "https://lake.test/", https_proxy=proxy.url.replace("//", "//user:s3cret@")))
        assert proxy.asked


@pytest.mark.parametrize("status", ["407 Proxy Authentication Required", "502 Bad Gateway"])
def test_a_proxy_that_does_not_ask_is_a_fault(serve, status):
    with Proxy({}, f"HTTP/1.1 {status}\r\nContent-Length: 6\r\n\r\ns3cret".encode()) as proxy:
        expect_fault(start(serve, "http://lake.test/", http_proxy=proxy.url), status[:3])


def test_without_its_proxy_nobody_is_asked(serve, origin):
    with Proxy({}) as proxy:
        pass
    expect_fault(start(serve, "http://192.0.2.1", http_proxy=proxy.url))
    assert origin.count() == 0
