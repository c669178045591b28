"""An endpoint that does not answer is in nobody else's way: requests of it are counted while they wait, and others are answered."""

import concurrent.futures

import numpy as np
import pytest
from arrays import write_values
from client import wait_until
from origin import Origin

SIDE = 50
N_SLOW = 200  # more than one lane has places
PATIENT = ("--set", "admission.wait_ms=600000", "--set", "http.request_ms=600000", "--set", "remote.silence_ms=600000", "--set",
           "workers.count=1", "--set", "remote.connections=16", "--set", "remote.read_ahead=0")
WAYS = {
    "small": ("/v1/datasets/{}/slices/?slice={},:", ()),
    "large": ("/v1/datasets/{}/slices/?slice={},:", ("--set", "admission.small_bytes=1")),
    "keys": ("/zarr/{}/c/{}/0", ()),  # they wait before they know what they take
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores") / "store"
    write_values(folder, np.arange(SIDE * SIDE, dtype="<f4").reshape(SIDE, SIDE), (1, SIDE))
    return folder


def admitted(server, lane):
    return server.get("/v1/limits").json()["admission"][lane]


@pytest.mark.parametrize("way", WAYS)
def test_others_are_answered_while_an_endpoint_answers_nobody(serve, store, way):
    target, settings = WAYS[way]
    expected = [(store / f"c/{i}/0").read_bytes() for i in range(SIDE)]
    lane = "large" if way == "large" else "small"
    with Origin() as slow, Origin() as quick, concurrent.futures.ThreadPoolExecutor(N_SLOW) as pool:
        for origin in (slow, quick):
            origin.put_folder(store, "/store")
        server = serve(f"slow={slow.url}/store", f"quick={quick.url}/store", f"here={store}", *PATIENT, *settings)
        for name in ("slow", "quick", "here"):
            assert server.get(f"/v1/datasets/{name}/nodes/").status == 200
        held = slow.fault("hold", r"/c/", times=None)
        waiting = [pool.submit(server.get, target.format("slow", i % SIDE)) for i in range(N_SLOW)]

        def all_wait():
            state = admitted(server, lane)
            is_full = state["working"] == state["working_max"] and state["working"] + state["waiting"] == N_SLOW
            return is_full or way == "keys" and server.metrics()["http_requests_in_flight"] > N_SLOW  # this one counts too

        wait_until(all_wait)
        before = admitted(server, lane)
        for i in range(SIDE):  # none of them is kept by now
            for name in ("quick", "here"):
                answer = server.get(target.format(name, i))
                assert (answer.status, answer.body) == (200, expected[i])
        assert not any(answer.done() for answer in waiting)
        after = admitted(server, lane)
        assert [after[name] for name in ("working", "waiting", "bytes")] == [before[name] for name in ("working", "waiting", "bytes")]
        assert after["n_admitted"] == before["n_admitted"] + 2 * SIDE
        held.release()
        for i, answer in enumerate(waiting):
            assert (answer.result().status, answer.result().body) == (200, expected[i % SIDE])
