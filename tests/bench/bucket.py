"""A bucket whose answers wait, in a process of its own; and what zarr-python does with a hierarchy in it: directly, and through zarrd."""

import contextlib
import multiprocessing
import time

from origin import fixed
from s3_stub import S3Stub

BUCKET, KEY, SECRET = "test", "testkey", "testsecret"


def serve(root, delay_s, bandwidth, pipe):
    with S3Stub(BUCKET) as engine:
        engine.store_folder(root)
        engine.delay, engine.bandwidth = fixed(delay_s), bandwidth
        pipe.send((engine.url, engine.environment))
        pipe.recv()


@contextlib.contextmanager
def bucket(root, delay_s, bandwidth):
    """(its endpoint, environment of credentials)"""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(root, delay_s, bandwidth, there), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        process.join()


def direct(endpoint):
    """A store of zarr-python that asks the bucket."""
    from obstore.store import S3Store
    from zarr.storage import ObjectStore

    options = {"allow_http": True}
    return ObjectStore(S3Store(BUCKET, endpoint=endpoint, access_key_id=KEY, secret_access_key=SECRET, region="us-east-1",
                               virtual_hosted_style_request=False, client_options=options), read_only=True)


def through(port, dataset):
    """One that asks zarrd for the same dataset, as readers of version 3 see it."""
    from obstore.store import HTTPStore
    from zarr.storage import ObjectStore

    return ObjectStore(HTTPStore.from_url(f"http://127.0.0.1:{port}/v3/{dataset}", client_options={"allow_http": True}), read_only=True)


def open_and_read(store, array, series):
    """All members of the root, and a series of one of them: (seconds, their number, the series)."""
    import zarr

    began = time.perf_counter()
    members = dict(zarr.open_group(store, mode="r").members())
    values = members[array][series]
    return time.perf_counter() - began, len(members), values
