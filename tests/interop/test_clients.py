"""Real Zarr clients read what other libraries wrote, through the server's raw keys."""

import hashlib
import json
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tensorstore
import zarr
from live import DATA, cases
from obstore.store import HTTPStore

HERE = pathlib.Path(__file__).parent
STORES = {"blosc", "codecs", "dtypes", "fill", "keys", "shapes", "sharding", "ts"}
CORE = {"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed"}


def whole_arrays(unread):
    """(store, node, sha256 of the whole array) of the cases that a client can read."""
    found = []
    for case in cases(DATA):
        store = case["store"].removeprefix("v3/")
        whole = [selection for selection in case["selections"] if selection["slice"] == ""]
        plain = all(need in CORE or need.startswith(("blosc:", "keys:", "dtype:")) for need in case["needs"])
        types = {need for need in case["needs"] if need.startswith("dtype:")}
        if store in STORES and plain and whole and whole[0]["nbytes"] and not types & unread:
            found.append((store, case["node"], whole[0]["sha256"]))
    return found


def digest(values):
    values = np.ascontiguousarray(values)
    return hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()


EXTENSION_TYPES = {f"dtype:{name}" for name in (
    "bfloat16 int2 int4 uint2 uint4 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e5m2 float8_e8m0fnu float6_e2m3fn "
    "float4_e2m1fn complex_bfloat16 r8 r24 r128 string bytes variable_length_bytes numpy.datetime64 numpy.timedelta64 struct "
    "structured fixed_length_utf32 null_terminated_bytes raw_bytes").split()}
# zarr-python compares inner chunks with the untransposed shard, and loses NaN payloads (tests/data/README.md).
ZARR_PYTHON_CANNOT = {("ts", "transpose_before_shard"), ("ts", "transpose_before_shard_3d")}


def test_zarr_python_reads_over_http(server):
    count = 0
    for store, node, sha256 in whole_arrays(EXTENSION_TYPES):
        if (store, node) in ZARR_PYTHON_CANNOT or store == "fill" and node.startswith("hex"):
            continue
        array = zarr.open_array(f"{server.url}/zarr/{store}/{node}", mode="r")
        assert digest(array[...]) == sha256, (store, node)
        count += 1
    assert count > 150


def test_zarr_python_reads_shards_through_obstore(server):
    for store, node, sha256 in whole_arrays(EXTENSION_TYPES):
        if store == "sharding":
            http = HTTPStore.from_url(f"{server.url}/zarr/{store}", client_options={"allow_http": True})
            array = zarr.open_array(zarr.storage.ObjectStore(http, read_only=True), path=node, mode="r")
            assert digest(array[...]) == sha256, (store, node)


def test_zarr_python_lists_groups_by_the_html_index(server):
    group = zarr.open_group(f"{server.url}/zarr/codecs", mode="r", use_consolidated=False)
    expected = sorted(path.parent.name for path in (DATA / "stores/v3/codecs").glob("*/zarr.json"))
    assert sorted(name for name, _ in group.members()) == expected


def test_tensorstore_reads_over_http(server):
    count = 0
    for store, node, sha256 in whole_arrays(EXTENSION_TYPES - {"dtype:complex_float32"}):
        array = tensorstore.open({
            "driver": "zarr3", "kvstore": {"driver": "http", "base_url": server.url, "path": f"/zarr/{store}/{node}/"},
        }, read=True).result()
        assert digest(array.read().result()) == sha256, (store, node)
        count += 1
    assert count > 150


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("store, node", [("codecs", "zstd_3_ck"), ("codecs", "gzip_6"), ("sharding", None), ("blosc", "auto_params")])
def test_zarrita_reads_over_http(server, store, node):
    chosen = [case for case in cases(DATA) if case["store"] == f"v3/{store}" and case["dtype"][1:] in ("i4", "u4", "f4")
              and "transpose" not in case["needs"] and node in (None, case["node"])][:6]
    assert chosen
    for case in chosen:
        out = subprocess.run(["node", "read.mjs", f"{server.url}/zarr/{store}/{case['node']}"], cwd=HERE,
                             capture_output=True, text=True, timeout=120)
        assert out.returncode == 0, out.stderr
        answer = json.loads(out.stdout)
        values = np.array(answer["values"], dtype=case["dtype"])
        whole = next(selection for selection in case["selections"] if selection["slice"] == "")
        assert answer["shape"] == case["shape"]
        assert hashlib.sha256(values.tobytes()).hexdigest() == whole["sha256"], case["node"]
