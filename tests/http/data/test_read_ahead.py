"""Steps in one direction: what the next ones need is read before they are asked for, and nothing else is. Counted at the origin."""

import concurrent.futures
import json
import re
import signal

import numpy as np
import pytest
from arrays import write_sharded, write_values
from client import DEADLINE_S, wait_until
from origin import Origin

N_STEPS, SIDE = 40, 8
STEP = "/v1/datasets/{}/slices/{}?slice={},:"


@pytest.fixture(scope="module")
def values():
    return np.arange(N_STEPS * SIDE, dtype="<f4").reshape(N_STEPS, SIDE)


@pytest.fixture
def origin(tmp_path, values):
    """A group with an array of a chunk a step (a, slow) or of two of them (pair), and one of inner chunks (shards)."""
    slow = {"extensions": [{"name": "example.tiered-storage", "must_understand": False, "configuration": {"slow-arrays": ["slow"]}}]}
    (tmp_path / "store").mkdir()
    (tmp_path / "store/zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", **slow}))
    write_values(tmp_path / "store/a", values, (1, SIDE))
    write_values(tmp_path / "store/slow", values, (1, SIDE))
    write_values(tmp_path / "store/pair", values, (1, SIDE // 2))
    write_sharded(tmp_path / "store/shards", values, (N_STEPS, SIDE), (1, SIDE))
    with Origin() as running:
        running.put_folder(tmp_path / "store", "/store")
        yield running


@pytest.fixture
def start(serve, origin):
    def started(*settings):
        datasets = {"d": {"location": f"{origin.url}/store", "immutable": True}}
        return serve("--set", "remote.hedge_percent=0", *settings, config={"datasets": datasets})
    return started


def step(server, values, i, array="a"):
    answer = server.get(STEP.format("d", array, i))
    assert (answer.status, answer.body) == (200, values[i].tobytes())


def steps_read(origin, array="a"):
    """The steps whose chunks the origin was asked for, in that order."""
    return [int(re.search(r"/c/(\d+)", request.path)[1]) for request in origin.select("GET", f"/{array}/c/")]


def ahead(server):
    metrics = server.metrics()
    return metrics["zarrd_read_ahead_chunks_total"], metrics["zarrd_read_ahead_cancelled_total"]


def until_read(origin, n, array="a"):
    wait_until(lambda: origin.count("GET", f"/{array}/c/") >= n and origin.n_open == 0)


@pytest.mark.parametrize(("first", "by"), [(0, 1), (N_STEPS - 1, -1), (0, 3)])
def test_the_next_steps_are_there_already(start, origin, values, first, by):
    server = start("--set", "remote.read_ahead=4")
    for k in range(3):
        step(server, values, first + k * by)
    until_read(origin, 7)
    for k in range(3, 7):
        step(server, values, first + k * by)
    asked = steps_read(origin)
    assert len(asked) == len(set(asked))  # none is asked for twice
    assert sorted(asked[:7]) == sorted(first + k * by for k in range(7))


def test_a_step_that_is_on_its_way_is_joined(start, origin, values):
    server = start("--set", "remote.read_ahead=1")
    held = origin.fault("hold", r"/a/c/3/", times=None)
    for i in range(3):
        step(server, values, i)
    wait_until(lambda: origin.count(path=r"/a/c/3/") == 1)
    held.release()
    step(server, values, 3)
    assert origin.count(path=r"/a/c/3/") == 1


def test_a_turn_stops_it(start, origin, values):
    server = start("--set", "remote.read_ahead=4")
    origin.fault("hold", r"/a/c/([3-9]|1\d)/", times=None)
    for i in range(3):
        step(server, values, i)
    wait_until(lambda: sorted(steps_read(origin)) == list(range(7)))
    assert ahead(server) == (4, 0)
    step(server, values, 20)
    assert ahead(server) == (4, 4)
    wait_until(lambda: origin.n_open == 0)  # the requests are gone, though the origin has not answered
    assert origin.count("GET", "/a/c/") == 8


def test_several_chunks_of_a_step_are_read_together_or_not_at_all(start, origin, values):
    server = start("--set", "remote.read_ahead=5")
    for i in range(3):
        step(server, values, i, "pair")
    until_read(origin, 10, "pair")
    assert sorted(steps_read(origin, "pair")) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_inner_chunks_are_read_ahead_too(start, origin, values):
    server = start("--set", "remote.read_ahead=4")
    for i in range(3):
        step(server, values, i, "shards")
    until_read(origin, 5, "shards")  # the index, three steps, and in one request the four that follow
    assert ahead(server) == (4, 0)
    for i in range(3, 7):
        step(server, values, i, "shards")
    ranges = [request.headers["range"] for request in origin.select("GET", "/shards/c/")]
    assert len(ranges) == len(set(ranges))


@pytest.mark.parametrize(("settings", "array", "steps"), [
    ((), "a", [0, 17, 3, 30, 8, 25, 11]),
    ((), "a", [0, 1, 3, 6, 10, 15, 21]),  # never the same step
    ((), "a", [4, 5, 4, 5, 4, 5]),
    ((), "slow", [0, 1, 2, 3, 4]),
    (("--set", "remote.read_ahead=0"), "a", [0, 1, 2, 3, 4]),
    (("--set", "remote.read_ahead=1"), "pair", [0, 1, 2, 3, 4]),  # a step has more chunks than may be read
    (("--set", "cache.decoded_bytes=128"), "a", [0, 1, 2, 3, 4]),
], ids=str)
def test_nothing_else_is_read(start, origin, values, settings, array, steps):
    server = start(*settings)
    for i in steps:
        step(server, values, i, array)
    assert ahead(server) == (0, 0)
    assert set(steps_read(origin, array)) == set(steps)



def read_until_ahead(server, origin, values):
    """What is read ahead does not come."""
    held = origin.fault("hold", r"/a/c/([3-9]|1\d)/", times=None)
    for i in range(3):
        step(server, values, i)
    wait_until(lambda: ahead(server)[0] == 4 and origin.n_open == 4)
    return held


def test_a_dataset_that_goes_leaves_nothing_behind(start, origin, values):
    server = start("--set", "remote.read_ahead=4")
    held = read_until_ahead(server, origin, values)
    path = server.folder / "config.json"
    path.write_text(json.dumps({"datasets": {"other": {"location": f"{origin.url}/store"}}}))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.get("/v1/datasets/d").status == 404)
    held.release()
    wait_until(lambda: origin.n_open == 0)
    assert server.get(STEP.format("other", "a", 3)).body == values[3].tobytes()


def test_a_server_that_stops_waits_for_nothing_that_is_read_ahead(start, origin, values):
    server = start("--set", "remote.read_ahead=4", "--set", "http.drain_ms=600000", "--set", "remote.silence_ms=600000")
    read_until_ahead(server, origin, values)
    server.process.terminate()
    assert server.process.wait(DEADLINE_S) == 0


def test_an_endpoint_that_has_enough_to_do_is_not_asked_for_more(start, origin, values):
    server = start("--set", "remote.connections=4")
    held = origin.fault("hold", r"/pair/c/", times=None)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(step, server, values, 0, "pair")  # half of the connections
        wait_until(lambda: origin.count("GET", "/pair/c/") == 2)
        for i in range(4):
            step(server, values, i)
        assert ahead(server) == (0, 0)
        held.release()
        waiting.result()
    for i in range(4, 6):
        step(server, values, i)
    assert ahead(server)[0] > 0
