"""SIGHUP: the datasets follow the configuration, and no request is dropped for it."""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import time

import numpy as np
import pytest
from arrays import write_array
from client import DEADLINE_S, soon, wait_until
from documents import LITTLE


class Reloadable:
    """A server whose configuration file the test rewrites."""

    def __init__(self, serve, folder, datasets, **more):
        self.path = folder / "zarrd.json"
        self.write(datasets)
        self.server = serve("--config", self.path, **more)
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


def opened(server):
    """What the server's descriptors lead to."""
    folder = pathlib.Path(f"/proc/{server.process.pid}/fd")
    targets = []
    for entry in folder.iterdir():
        try:
            targets.append(os.readlink(entry))
        except FileNotFoundError:  # closed meanwhile
            continue
    return targets


def wait_until_closed(server, folder):
    end = time.monotonic() + DEADLINE_S
    while str(folder) in opened(server):
        assert time.monotonic() < end, opened(server)
        time.sleep(0.01)


@pytest.fixture
def stores(tmp_path):
    """Two stores with one array each, of other values."""
    for i, name in enumerate("ab"):
        write_array(tmp_path / name / "x", (64,), (8,), [LITTLE], np.arange(64, dtype="<f4") + 100 * i)
    return tmp_path


def value(server, dataset):
    answer = server.get(f"/v1/datasets/{dataset}/slices/x?slice=3&format=json")
    return answer.json()["data"] if answer.status == 200 else answer.code


@pytest.mark.parametrize("changed", [{"title": "another one"}, {"immutable": True}, {"immutable": True, "writable": False}])
def test_writes_to_the_old_dataset_show_in_the_new_one(serve, stores, changed):
    config = {"location": str(stores / "a"), "writable": True, "revalidate_ms": 3600_000}
    link = stores / "link"
    link.symlink_to(stores / "a")
    more = {"too": {"location": str(link), "immutable": True}}  # another name, another way, one store
    one = Reloadable(serve, stores, {"one": config, **more}, faults={})
    server = one.server
    bodies = np.arange(8, dtype="<f4").tobytes(), np.arange(8, 16, dtype="<f4").tobytes()
    headers = {"Content-Type": "application/octet-stream"}

    def seen():
        return [server.get(f"/zarr/{dataset}/x/c/0").body for dataset in ("one", "too")]

    assert server.request("PUT", "/zarr/one/x/c/0", headers, bodies[0]).status == 200
    assert seen() == [bodies[0]] * 2
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with server.faulting("rename.wait"):
            writing = pool.submit(server.request, "PUT", "/zarr/one/x/c/0", headers, bodies[1])
            server.until_waiting("rename")
            assert "1 opened, 1 closed" in one.reload({"one": {**config, **changed}, **more})
            assert seen() == [bodies[0]] * 2
        assert writing.result(DEADLINE_S).status == 200
    assert seen() == [bodies[1]] * 2


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


def test_kept_objects_are_not_read_again(serve, stores):
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


def test_a_dataset_that_cannot_be_opened_does_not_stop_the_others(serve, stores):
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    line = one.reload({"one": {"location": str(stores / "nowhere")}, "two": {"location": str(stores / "nothing")},
                       "three": {"location": str(stores / "b")}})
    assert "0 kept, 1 opened, 1 closed, 2 failed" in line
    assert [value(one.server, name) for name in ("one", "two", "three")] == ["store_error", "store_error", 103.0]
    ready = one.server.get("/readyz")
    assert ready.status == 200 and [found["name"] for found in ready.json()["unavailable"]] == ["one", "two"]


def test_a_directory_that_was_made_again_is_found_again(serve, stores):
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    assert value(one.server, "one") == 3.0
    os.rename(stores / "a", stores / "old")
    os.rename(stores / "b", stores / "a")
    assert "0 kept, 1 opened, 1 closed" in one.reload()
    assert value(one.server, "one") == 103.0


def test_a_directory_that_is_gone_is_found_when_it_is_back(serve, stores):
    """Until then the dataset says what is wrong; neither a restart nor a reload is needed."""
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a"), "revalidate_ms": 0}})
    assert value(one.server, "one") == 3.0
    shutil.rmtree(stores / "a")
    assert "0 kept, 0 opened, 1 closed, 1 failed" in one.reload()
    assert one.server.get("/v1/datasets/one/slices/x").status == 503
    shutil.copytree(stores / "b", stores / "a")
    assert value(one.server, "one") == 103.0
    assert "1 kept, 0 opened, 0 closed, 0 failed" in one.reload()


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


def test_a_dataset_that_comes_and_goes_answers_or_is_not_found(serve, stores):
    """Removed while clients read all its resources: each answer is whole, or says that there is no such dataset."""
    dataset = {"one": {"location": str(stores / "a"), "immutable": True}}
    one = Reloadable(serve, stores, dataset)
    server = one.server
    body = np.arange(64, dtype="<f4").tobytes()
    targets = {
        "/v1/datasets/one/slices/x": body,
        "/v1/datasets/one/chunks/x?index=3": body[96:128],
        "/zarr/one/x/c/3": body[96:128],
        "/zarr/one/x/": None,
        "/v1/datasets/one/nodes/x": None,
        "/v1/datasets/one/tree/x": None,
        "/v1/datasets": None,
    }
    stop = False
    seen = set()

    def client(_):
        connection = server.connection()
        while not stop:
            for target, expected in targets.items():
                answer = server.get(target, connection=connection)
                seen.add(answer.status)
                if answer.status == 404:
                    assert answer.code == "dataset_not_found", answer
                else:
                    assert answer.status == 200 and expected in (None, answer.body), answer
        connection.close()

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        clients = [pool.submit(client, i) for i in range(16)]
        try:
            for _ in range(20):
                one.reload({})
                one.reload(dataset)
        finally:
            stop = True
        for done in clients:
            done.result()
    assert seen == {200, 404}
    one.reload({})
    wait_until_closed(server, stores / "a")


def test_a_long_slice_outlives_its_dataset(serve, stores):
    """What began is answered in full from the old store, which is closed then; the name is the new one's at once."""
    values = np.arange(1 << 23, dtype="<f4")
    write_array(stores / "a" / "long", values.shape, (1 << 18,), [LITTLE], values)
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    server = one.server
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(DEADLINE_S)
        client.connect(("127.0.0.1", server.port))
        client.sendall(b"GET /v1/datasets/one/slices/long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"  # most of it waits for this client
        assert "1 opened, 1 closed" in one.reload({"one": {"location": str(stores / "b")}})
        assert str(stores / "a") in opened(server)
        assert value(server, "one") == 103.0
        with client.makefile("rb") as file:
            assert file.read().partition(b"\r\n\r\n")[2] == values.tobytes()
    wait_until_closed(server, stores / "a")


def n_in_flight(server, connection):
    """Requests: the one before it on this connection is none of them any more."""
    text = server.get("/metrics", connection=connection).body.decode()
    return int(re.search(r"^http_requests_in_flight (\d+)$", text, re.MULTILINE)[1])


def test_a_long_listing_outlives_its_dataset(serve, stores):
    for i in range(3000):
        write_array(stores / "a" / "g" / f"n{i:04}", (4,), (4,), [LITTLE])
    (stores / "a" / "g" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    server = one.server
    target = "/v1/datasets/one/tree/g?limit=5000"
    outlived = []
    while not any(outlived) and len(outlived) < 10:  # a client that stands still meanwhile may see it end before
        one.reload({"one": {"location": str(stores / "a")}})
        leaving, asking = server.connection(), server.connection()
        leaving.request("GET", target)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            listing = pool.submit(server.get, target)
            wait_until(lambda: n_in_flight(server, asking) == 3 or listing.done(), 0)  # both, and the one that asks
            one.reload({})
            outlived.append(not listing.done())
            leaving.close()
            assert listing.result().status == 200 and len(listing.result().json()["nodes"]) == 3001
        asking.close()
        wait_until_closed(server, stores / "a")
    assert any(outlived)


def test_cached_objects_go_with_their_dataset(serve, stores):
    """Prepared answers too: they are found by their target, which is the new dataset's."""
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a"), "immutable": True}})
    server = one.server
    old = [server.get("/zarr/one/x/c/0").body for _ in range(2)]
    assert value(server, "one") == 3.0
    one.reload({"one": {"location": str(stores / "b"), "immutable": True}})
    assert server.get("/zarr/one/x/c/0").body not in old and value(server, "one") == 103.0
    one.reload({})
    assert soon(lambda: server.metrics()["zarrd_cache_bytes"], 0) == 0


def test_reloads_leave_no_descriptor_and_no_memory(serve, stores):
    locations = [{"location": str(stores / name), "immutable": True} for name in "ab"]
    one = Reloadable(serve, stores, {"one": locations[0], "two": locations[0]})
    server = one.server
    held = []
    expected = [f"{stores}/{name}" for name in "aab"]

    def stores_opened():
        return sorted(target for target in opened(server) if target.startswith(str(stores)))

    def all_held():
        files = [target for target in opened(server) if not target.startswith("socket:")]
        return sorted(files), server.metrics()["zarrd_cache_bytes"]

    for i in range(1, 201):
        one.reload({"one": locations[i % 2], "two": locations[0], **({"three": locations[1]} if i % 3 == 0 else {})})
        assert value(server, "one") == 3.0 + 100 * (i % 2)
        if i % 60 == 0:
            assert soon(stores_opened, expected) == expected
            held.append(soon(all_held, held[0]) if held else all_held())
    assert held[0] == held[-1], held


def test_reloads_that_change_nothing_cost_no_descriptor(serve, stores):
    one = Reloadable(serve, stores, {"one": {"location": str(stores / "a")}})
    folder = f"/proc/{one.server.process.pid}/fd"
    one.reload()
    before = len(os.listdir(folder))
    for _ in range(50):
        one.reload()
    wait_until(lambda: len(os.listdir(folder)) <= before)
