"""HTTP/2 to an origin: nginx with TLS, whose log names the protocol of each request."""

import threading

import nginx as engine
import numpy as np
import pytest
from arrays import write_values
from certificates import make_certificates
from client import wait_until

N = 64
VALUES = np.arange(N * 32 * 32, dtype="<f4").reshape(N, 32, 32)
ABSENT = 7  # that chunk has the fill value
EXPECTED = np.where(np.arange(N)[:, None, None] == ABSENT, np.float32(0), VALUES).tobytes()
SLICE = "/v1/datasets/a/slices/?slice="
RELOADS = 8
SETTINGS = ["remote.hedge_percent=0", "cache.decoded_bytes=0", "cache.encoded_bytes=0"]


@pytest.fixture
def origin(tmp_path):
    reason = engine.missing()
    if reason:
        pytest.skip(reason)
    (tmp_path / "certificates").mkdir()
    make_certificates(tmp_path / "certificates")
    write_values(tmp_path / "store", VALUES, (1, 32, 32))
    (tmp_path / f"store/c/{ABSENT}/0/0").unlink()
    running = engine.Nginx(tmp_path / "nginx", tmp_path / "certificates")
    try:
        running.start()
        running.share(tmp_path / "store", "store")
        yield running
    finally:
        running.stop()


@pytest.fixture
def server(serve, origin):
    settings = [*SETTINGS, f"remote.ca_file={origin.certificates}/authority.pem"]
    return serve(f"a={origin.url}/nolist/store", *(word for setting in settings for word in ("--set", setting)))


def chunks_of(origin):
    """The requests for chunks, which nginx notes after it has answered."""
    return [request for request in origin.requests() if "/c/" in request[-1]]


def test_all_chunks_come_over_one_connection(server, origin):
    assert server.get("/v1/datasets/a/nodes/").status == 200
    answer = server.get(SLICE)
    assert answer.status == 200 and answer.body == EXPECTED
    wait_until(lambda: len(chunks_of(origin)) >= N)
    asked = chunks_of(origin)
    assert sorted(path for *_, path in asked) == sorted(f"/nolist/store/c/{i}/0/0" for i in range(N))
    assert {protocol for protocol, *_ in asked} == {"HTTP/2.0"}
    assert len({connection for _, connection, *_ in asked}) == 1


def test_no_answer_fails_while_the_origin_changes_its_processes(server, origin):
    """Its old processes say that they end (GOAWAY), and what was under way on their connections is tried again."""
    over, faults, n_right = threading.Event(), [], 0

    def restart():
        try:
            for _ in range(RELOADS):
                origin.reload()
        except Exception as fault:  # the test says it
            faults.append(fault)
        finally:
            over.set()

    assert server.get(SLICE).body == EXPECTED
    first = {connection for _, connection, *_ in origin.requests()}
    restarting = threading.Thread(target=restart)
    restarting.start()
    try:
        while not over.is_set() or n_right < 3 * RELOADS:
            answer = server.get(SLICE)
            assert answer.status == 200 and answer.body == EXPECTED, (answer.status, answer.body[:500])
            n_right += 1
    finally:
        restarting.join()
    assert not faults
    assert {connection for _, connection, *_ in origin.requests()} - first, "all requests came over the first connections"
