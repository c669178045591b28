"""An engine that is killed while it is read, and comes back: what its readers are told meanwhile, and how soon they read again."""

import collections
import json
import threading
import time

import numpy as np
import pytest
from arrays import write_values
from client import wait_until
from origin import Origin
from s3_stub import S3Stub

N_CHUNKS, N_READERS = 16, 4
FAULTS = {502, 503, 504}
UNCACHED = ("--set", "cache.decoded_bytes=0", "--set", "cache.encoded_bytes=0", "--set", "remote.breaker_ms=300")
VALUES = np.arange(1, 1 + N_CHUNKS * 256, dtype="<f4").reshape(N_CHUNKS, 256)
GROUP = b'{"zarr_format":3,"node_type":"group"}'


def serve_origin(serve, folder):
    engine = Origin(folder)
    return engine, serve(*UNCACHED, config={"datasets": {"d": {"location": engine.url, "revalidate_ms": 0}}})


def serve_bucket(serve, folder):
    engine = S3Stub()
    engine.store_folder(folder, "lake/")
    members = {"location": "s3://test/lake", "endpoint": engine.url, "revalidate_ms": 0}
    return engine, serve(*UNCACHED, config={"datasets": {"d": members}}, environment=engine.environment)


class Readers:
    """They ask for one thing after another until they are told to end; every answer counts."""

    def __init__(self, server):
        self.server = server
        self.outcomes = collections.Counter()  # of (what, status)
        self.wrong = []
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._read, args=(i,)) for i in range(N_READERS)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *unused):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _read(self, i):
        while not self.over.is_set():
            i = (i + 1) % N_CHUNKS
            for what, target, is_right in asked(i):
                try:
                    answer = self.server.get(target)
                    self.outcomes[what, answer.status] += 1
                    if answer.status not in {200, *FAULTS} or answer.status == 200 and not is_right(answer):
                        self.wrong.append((target, answer))
                except Exception as fault:  # a thread's is lost
                    self.wrong.append((target, fault))
                    return

    def n(self, what, statuses):
        return sum(count for (name, status), count in list(self.outcomes.items()) if name == what and status in statuses)

    def all_have(self, statuses):
        """Every kind of question has been answered so."""
        return bool(self.wrong) or all(self.n(what, statuses) for what, _, _ in asked(0))


def asked(i):
    """(what, target, whether an answer is right): chunks, their bytes, documents and listings."""
    return [("slice", f"/v1/datasets/d/slices/x?slice={i}", lambda answer: answer.body == VALUES[i].tobytes()),
            ("slices", "/v1/datasets/d/slices/x", lambda answer: answer.body == VALUES.tobytes()),
            ("key", f"/zarr/d/x/c/{i}/0", lambda answer: answer.body == VALUES[i].tobytes()),
            ("node", "/v1/datasets/d/nodes/x", lambda answer: answer.json()["metadata"]["shape"] == [N_CHUNKS, 256]),
            ("tree", f"/v1/datasets/d/tree/?mode=live&depth={2 + i}", lambda answer: [node["path"] for node in answer.json()["nodes"]] == ["", "x"])]


@pytest.mark.parametrize("serve_engine", [serve_origin, serve_bucket])
def test_readers_of_a_killed_engine_get_faults_and_then_their_data(serve, tmp_path, serve_engine):
    write_values(tmp_path / "store/x", VALUES, (1, 256))
    (tmp_path / "store/zarr.json").write_bytes(GROUP)
    engine, server = serve_engine(serve, tmp_path / "store")
    try:
        with Readers(server) as readers:
            wait_until(lambda: readers.all_have({200}))
            engine.kill()
            wait_until(lambda: readers.all_have(FAULTS))
        assert readers.wrong == []
        came_back_in_time(server, engine)
        with Readers(server) as again:
            wait_until(lambda: again.all_have({200}))
        assert again.wrong == []
        assert not any(again.n(what, FAULTS) for what, _, _ in asked(0)), again.outcomes
    finally:
        engine.stop()


def came_back_in_time(server, engine):
    """Who waits as long as was said gets data as soon as the engine is there."""
    refused = []

    def ask():
        answer = server.get("/v1/datasets/d/slices/x?slice=0")
        assert answer.status in FAULTS and json.loads(answer.body)["code"], answer
        if "retry-after" in answer.headers:
            refused.append(time.monotonic() + int(answer.headers["retry-after"]))
        return refused

    wait_until(ask)
    engine.start()
    wait_until(lambda: time.monotonic() > refused[0])
    answer = server.get("/v1/datasets/d/slices/x?slice=0")
    assert answer.status == 200 and answer.body == VALUES[0].tobytes()
