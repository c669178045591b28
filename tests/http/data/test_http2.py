"""HTTP/2 to an origin: nginx with TLS, whose log says how each request came."""

import threading

import nginx as engine
import numpy as np
import pytest
from arrays import write_values
from certificates import make_certificates

VALUES = np.arange(64 * 32 * 32, dtype="<f4").reshape(64, 32, 32)
SLICE = "/v1/datasets/a/slices/?slice="
SETTINGS = ["remote.hedge_percent=0", "cache.decoded_bytes=0", "cache.encoded_bytes=0"]


@pytest.fixture
def origin(tmp_path):
    reason = engine.missing()
    if reason:
        pytest.skip(reason)
    (tmp_path / "certificates").mkdir()
    make_certificates(tmp_path / "certificates")
    write_values(tmp_path / "store", VALUES, (1, 32, 32))
    (tmp_path / "store/c/7/0/0").unlink()
    running = engine.Nginx(tmp_path / "nginx", tmp_path / "certificates").start()
    running.share(tmp_path / "store", "store")
    yield running
    running.stop()


@pytest.fixture
def server(serve, origin):
    settings = [*SETTINGS, f"remote.ca_file={origin.certificates}/authority.pem"]
    return serve(f"a={origin.url}/nolist/store", *(word for setting in settings for word in ("--set", setting)))


def expected_values():
    """A chunk that is absent has the fill value."""
    values = VALUES.copy()
    values[7] = 0
    return values


def test_all_chunks_come_over_one_connection(server, origin):
    assert server.get("/v1/datasets/a/nodes/").status == 200
    before = len(origin.requests())
    answer = server.get(SLICE)
    assert answer.status == 200 and answer.body == expected_values().tobytes()
    asked = origin.requests()[before:]
    assert sorted(path for *_, path in asked) == sorted(f"/nolist/store/c/{i}/0/0" for i in range(64))
    assert {protocol for protocol, *_ in asked} == {"HTTP/2.0"}
    assert len({connection for _, connection, *_ in asked}) == 1


def test_no_answer_fails_while_the_origin_changes_its_processes(server, origin):
    expected, over = expected_values().tobytes(), threading.Event()
    wrong, n_right = [], 0

    def restart():
        for _ in range(5):
            origin.reload()
        over.set()

    assert server.get(SLICE).body == expected
    first = {connection for _, connection, *_ in origin.requests()}
    restarting = threading.Thread(target=restart)
    restarting.start()
    while not over.is_set() or n_right < 20:
        answer = server.get(SLICE)
        n_right += answer.body == expected
        if answer.body != expected:
            wrong.append((answer.status, answer.body[:500]))
            break
    restarting.join()
    assert not wrong
    assert {connection for _, connection, *_ in origin.requests()} - first, "all requests came over the first connections"
