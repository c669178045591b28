"""SIGHUP: the datasets follow the configuration, and no request is dropped for it."""

import concurrent.futures
import json
import os
import signal
import time

import numpy as np
import pytest
from test_cost import LITTLE, write_array

DEADLINE_S = 60


class Reloadable:
    """A server whose configuration file the test rewrites."""

    def __init__(self, serve, folder, datasets):
        self.path = folder / "zarrd.json"
        self.write(datasets)
        self.server = serve("--config", self.path)
        self.n_reloads = 0

    def write(self, datasets):
        self.path.write_text(json.dumps({"datasets": datasets}))

    def reload(self, datasets=None):
        """Sends the signal and waits until the server has said what it did; returns that line."""
        if datasets is not None:
            self.write(datasets)
        self.n_reloads += 1
        self.server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + DEADLINE_S
        while True:
            lines = [line for line in self.server.log.splitlines()
                     if "reload: datasets:" in line or "reload: refused" in line]
            if len(lines) >= self.n_reloads:
                return lines[-1]
            assert time.monotonic() < end, self.server.log
            time.sleep(0.01)


@pytest.fixture
def stores(tmp_path):
    """Two stores with one array each, of other values."""
    for i, name in enumerate("ab"):
        write_array(tmp_path / name / "x", (64,), (8,), LITTLE, np.arange(64, dtype="<f4") + 100 * i)
    return tmp_path


def value(server, dataset):
    answer = server.get(f"/v1/datasets/{dataset}/slices/x?slice=3&format=json")
    return answer.json()["data"] if answer.status == 200 else answer.code


def test_datasets_come_go_and_change(serve, stores):
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    server = one.server
    assert value(server, "one") == 3.0 and value(server, "two") == "dataset_not_found"
    line = one.reload({"one": {"location": str(stores / "a")}, "two": {"location": str(stores / "b")}})
    assert "1 kept, 1 opened, 0 closed, 0 failed" in line
    assert value(server, "one") == 3.0 and value(server, "two") == 103.0
    assert "0 kept, 1 opened, 2 closed" in one.reload({"one": {"location": str(stores / "b")}})
    assert value(server, "one") == 103.0 and value(server, "two") == "dataset_not_found"
    names = [dataset["name"] for dataset in server.get("/v1/datasets").json()["datasets"]]
    assert names == ["one"]


def test_what_is_kept_is_not_read_again(serve, stores):
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a"), "immutable": True}})
    assert value(one.server, "one") == 3.0
    one.reload()
    with one.server.cost() as cost:
        assert value(one.server, "one") == 3.0
    assert cost["zarrd_store_reads_total"] == 0 and cost["zarrd_decodes_total"] == 0


@pytest.mark.parametrize("text", ["{", '{"datasets": {"one": {"locatoin": "/"}}}', '{"cache": {"decoded_bytes": -1}}'])
def test_a_bad_configuration_changes_nothing(serve, stores, text):
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    one.path.write_text(text)
    assert "refused" in one.reload()
    assert value(one.server, "one") == 3.0


def test_a_dataset_that_cannot_be_opened_stays_as_it_was(serve, stores):
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    line = one.reload({"one": {"location": str(stores / "nowhere")}, "two": {"location": str(stores / "nothing")}})
    assert "0 kept, 0 opened, 0 closed, 2 failed" in line
    assert value(one.server, "one") == 3.0 and value(one.server, "two") == "dataset_not_found"


def test_a_directory_that_was_made_again_is_found_again(serve, stores):
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    assert value(one.server, "one") == 3.0
    os.rename(stores / "a", stores / "old")
    os.rename(stores / "b", stores / "a")
    assert "0 kept, 1 opened, 1 closed" in one.reload()
    assert value(one.server, "one") == 103.0


def test_no_request_is_dropped(serve, stores):
    locations = [{"location": str(stores / name)} for name in "ab"]
    one = Reloadable(serve, stores, {"one": locations[0], "two": locations[0]})
    server = one.server
    expected = [(np.arange(64, dtype="<f4") + 100 * i).tobytes() for i in range(2)]
    stop = False

    def client(_):
        n = 0
        connection = server.connection()
        while not stop:
            answer = server.get("/v1/datasets/one/slices/x", connection=connection)
            assert answer.status == 200 and answer.body in expected, answer
            assert server.get("/zarr/two/x/zarr.json", connection=connection).status == 200
            n += 1
        connection.close()
        return n

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        clients = [pool.submit(client, i) for i in range(16)]
        try:
            for i in range(30):
                one.reload({"one": locations[i % 2], "two": locations[0]})
        finally:
            stop = True
        assert all(done.result() > 0 for done in clients)


def test_reloads_that_change_nothing_cost_no_descriptor(serve, stores):
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    folder = f"/proc/{one.server.process.pid}/fd"
    one.reload()
    before = len(os.listdir(folder))
    for _ in range(50):
        one.reload()
    assert len(os.listdir(folder)) <= before
