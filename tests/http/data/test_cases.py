"""Stores written by real libraries, compared byte for byte: tests/corpus always, and the shared collection when it is there."""

import hashlib
import urllib.parse

import pytest
from live import CORPUS, SHARED, STORES, Server, cases

CORE_CODECS = {"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed"}
CORE_TYPES = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
              "float64", "complex64", "complex128", "complex_float32", "r8", "r24", "r128"}


def is_core(need):
    kind, _, name = need.partition(":")
    return need in CORE_CODECS or kind in {"blosc", "keys"} and not name.startswith("zarrs.") or (
        kind == "dtype" and name in CORE_TYPES)


def core_cases(folder):
    return [case for case in cases(folder)
            if case["format"] == "v3" and all(is_core(need) for need in case["needs"])
            and not case["store"].endswith(".zip")]


def collections():
    found = []
    for folder, stores in ((CORPUS, STORES), (SHARED, SHARED / "stores")):
        by_store = {}
        for case in core_cases(folder):
            by_store.setdefault(case["store"], []).append(case)
        found += [pytest.param(stores / store, group, id=f"{folder.parent.name}-{store}")
                  for store, group in sorted(by_store.items())]
    return found


@pytest.mark.parametrize("store, group", collections())
def test_every_selection_gives_the_bytes_that_were_written(store, group):
    server = Server(f"data={store}")
    try:
        connection = server.connection()
        for case in group:
            for selection in case["selections"]:
                query = urllib.parse.urlencode({"slice": selection["slice"], "format": "raw"})
                path = urllib.parse.quote(case["node"])
                answer = server.get(f"/v1/datasets/data/slices/{path}?{query}", connection=connection)
                where = f"{store}/{case['node']}[{selection['slice']}]"
                assert answer.status == 200, f"{where}: {answer}"
                shape = ",".join(str(n) for n in selection["shape"])
                assert answer.headers["zarr-shape"] == shape, where
                assert len(answer.body) == selection["nbytes"], where
                assert hashlib.sha256(answer.body).hexdigest() == selection["sha256"], where
    finally:
        server.stop()


def test_the_collection_in_the_project_is_not_empty():
    assert sum(len(case["selections"]) for case in core_cases(CORPUS)) > 500
