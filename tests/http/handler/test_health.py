"""zarrd --health: the client that an image without a shell asks for its health with."""

import contextlib
import signal
import socket
import subprocess
import threading
import time

import pytest
from client import DEADLINE_S, until_under_way, wait_until
from live import BINARY


def health(url):
    return subprocess.run([str(BINARY), "--health", url], capture_output=True, text=True, timeout=60)


@contextlib.contextmanager
def peer(answer):
    """The address of a listener that sends these bytes to one client, whatever it asks; None: it never accepts."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve():
            client, _ = listener.accept()
            with client, contextlib.suppress(ConnectionError):  # who has read enough hangs up
                client.recv(65536)
                for piece in answer:
                    client.sendall(piece)
                    time.sleep(0.01)

        if answer is not None:
            threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/readyz"


@pytest.mark.parametrize("path", ["/readyz", "/livez", "/zarr/codecs/zarr.json"])
def test_a_server_that_answers_200_is_healthy(server, path):
    result = health(server.url + path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_the_address_may_be_of_version_6(tmp_path):
    process = subprocess.Popen([str(BINARY), "--listen", "[::1]:0", "--port-file", tmp_path / "port", f"d={tmp_path}"],
                               stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline(), process.stdout.readline()  # the version, the dataset
        url = process.stdout.readline().strip()
        assert url.startswith("http://[::1]:") and health(url + "readyz").returncode == 0
    finally:
        process.terminate()
        process.communicate(timeout=DEADLINE_S)


@pytest.mark.parametrize("path", ["/no/such/thing", "/zarr/codecs/absent"])
def test_any_other_status_is_a_fault_and_named(server, path):
    result = health(server.url + path)
    assert result.returncode == 1 and "expected status 200, found '404'" in result.stderr


def test_a_server_that_drains_is_not_ready(serve, tmp_path):
    server = serve(f"d={tmp_path}", "--set", "http.drain_ms=600000")
    connection = server.connection()
    with socket.create_connection(("127.0.0.1", server.port)) as running:
        running.sendall(b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n")
        server.get("/livez", connection=connection)
        until_under_way(server, 1)
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in server.log)
        assert server.get("/readyz", connection=connection).code == "draining"
        assert health(server.url + "/readyz").returncode == 1  # it listens no more
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("answer, words", [
    ([b"HTTP/1.1 200 OK\r\n\r\n"], None),
    ([bytes([byte]) for byte in b"HTTP/1.1 200 OK\r\n\r\n"], None),
    ([b"HTTP/1.1 503 Service Unavailable\r\n\r\n"], "found '503'"),
    ([b"HTTP/1.1 2000 "], "found '200'"),
    ([b"HTTP/1.1 200"], "ended without an answer"),
    ([], "ended without an answer"),
    ([b"SSH-2.0-OpenSSH_9.2\r\n"], "expected status 200"),
    (None, "no answer in 3000 ms"),
])
def test_an_answer_other_than_200_is_a_fault(answer, words):
    with peer(answer) as url:
        result = health(url)
        assert result.returncode == (0 if words is None else 1)
        assert (words or "") in result.stderr and (url if words else "") in result.stderr


def test_nobody_there_is_a_fault():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/readyz"
    result = health(url)
    assert result.returncode == 1 and "Connection refused" in result.stderr


@pytest.mark.parametrize("url", ["", "127.0.0.1:8080", "https://127.0.0.1:8080/", "http://127.0.0.1/", "http://example.org:80/readyz",
                                 "http://127.0.0.1:80/a b", "http://127.0.0.1:80/\r\nX: y", "http://127.0.0.1:80/" + "a" * 1025])
def test_a_malformed_url_is_bad_usage(url):
    result = health(url)
    assert result.returncode == 2 and "expected" in result.stderr
