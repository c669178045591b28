"""Real Zarr clients read what other libraries wrote, through the server's raw keys."""

import json
import pathlib
import subprocess
import urllib.parse

import numpy as np
import pytest
import tensorstore
import zarr
from arrays import digest
from live import CORPUS, STORES, cases
from obstore.store import HTTPStore

HERE = pathlib.Path(__file__).parent
CORE = {"bytes", "transpose", "gzip", "zstd", "blosc", "crc32c", "sharding_indexed"}
EXTENSION_TYPES = {f"dtype:{name}" for name in (
    "bfloat16 int2 int4 uint2 uint4 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e5m2 float8_e8m0fnu float6_e2m3fn "
    "float4_e2m1fn complex_bfloat16 r8 r24 r128 string bytes variable_length_bytes numpy.datetime64 numpy.timedelta64 struct "
    "structured fixed_length_utf32 null_terminated_bytes raw_bytes").split()}


def readable_by(client, *stores):
    """Cases with core features that this client is known to read: it wrote them, or was compared with the writer."""
    for case in cases(CORPUS):
        plain = all(need in CORE or need.startswith(("blosc:", "keys:", "dtype:")) for need in case["needs"])
        known = any(name.startswith(client) for name in [case["writer"], *case["verified_by"]])
        whole = next((selection for selection in case["selections"] if selection["slice"] == ""), None)
        store = case["store"].removeprefix("v3/")
        if (case["format"] == "v3" and plain and known and whole and whole["nbytes"] and not EXTENSION_TYPES & set(case["needs"])
                and (not stores or store in stores)):
            # Characters that a client cannot put in a URL: tests/http asks for those.
            if not set("%#?&") & set(case["node"]):
                yield store, case["node"], case, whole["sha256"]


def test_zarr_python_reads_over_http(server):
    count = 0
    for store, node, _, sha256 in readable_by("zarr-python 3"):
        if store == "metadata" or store == "fill" and node.startswith("hex_"):
            continue  # it refuses short-hand names, and loses the payload of a NaN
        array = zarr.open_array(f"{server.url}/zarr/{store}/{urllib.parse.quote(node)}", mode="r")
        assert digest(array[...]) == sha256, (store, node)
        count += 1
    assert count > 150


def test_zarr_python_reads_shards_through_obstore(server):
    count = 0
    for store, node, _, sha256 in readable_by("zarr-python 3", "sharding"):
        http = HTTPStore.from_url(f"{server.url}/zarr/{store}", client_options={"allow_http": True})
        array = zarr.open_array(zarr.storage.ObjectStore(http, read_only=True), path=node, mode="r")
        assert digest(array[...]) == sha256, (store, node)
        count += 1
    assert count > 20


def test_zarr_python_lists_groups_by_the_html_index(server):
    group = zarr.open_group(f"{server.url}/zarr/codecs", mode="r", use_consolidated=False)
    expected = sorted(path.parent.name for path in (STORES / "v3/codecs").glob("*/zarr.json"))
    assert sorted(name for name, _ in group.members()) == expected


def test_tensorstore_reads_over_http(server):
    count = 0
    for store, node, _, sha256 in readable_by("tensorstore"):
        array = tensorstore.open({
            "driver": "zarr3", "kvstore": {"driver": "http", "base_url": server.url, "path": f"/zarr/{store}/{node}/"},
        }, read=True).result()
        assert digest(array.read().result()) == sha256, (store, node)
        count += 1
    assert count > 150


def array_of(answer, case):
    """The elements that read.mjs has printed."""
    assert answer["shape"] == case["shape"]
    values = np.array(answer["values"], dtype=case["dtype"])
    strides = [n * values.itemsize for n in answer["stride"]]
    return np.lib.stride_tricks.as_strided(values, answer["shape"], strides)


def check_by_zarrita(url, wanted):
    """Of each node, with its case and the digest of its elements, what one process of zarrita reads."""
    out = subprocess.run(["node", "read.mjs", *(f"{url}/{node}" for node, _, _ in wanted)], cwd=HERE, capture_output=True, text=True, timeout=120)
    assert out.returncode == 0, (url, out.stdout, out.stderr)
    for (node, case, sha256), line in zip(wanted, out.stdout.splitlines(), strict=True):
        assert digest(array_of(json.loads(line), case)) == sha256, node


def is_plain_array(case):
    """Zarrita gives a scalar as a bare value, and fails on an array of nothing."""
    return case["shape"] and all(case["shape"]) and case["dtype"][1:] in ("i4", "u4", "f4", "i2", "u1", "u2")


@pytest.mark.parametrize("store", ["codecs", "sharding", "blosc", "zarrita_js"])
def test_zarrita_reads_over_http(server, store):
    wanted = [(node, case, sha256) for _, node, case, sha256 in readable_by("zarrita.js", store) if is_plain_array(case)][:12]
    assert len(wanted) >= 5
    check_by_zarrita(f"{server.url}/zarr/{store}", wanted)


@pytest.mark.parametrize("store", ["v2/z2_compressors", "v2/z2_filters", "v2/z2_layout", "v2/z5_slash.zarr", "n5/z5", "n5/zarr2",
                                   "draft/zarr2_v3", "draft/zarrita_0_1_0a17", "draft/gdal_v3"])
def test_zarrita_reads_what_is_older_as_v3(serve, store):
    server = serve(f"old={STORES / store}")
    wanted = []
    for case in cases(CORPUS):
        whole = next((selection for selection in case["selections"] if selection["slice"] == ""), None)
        is_read = case["store"] == store and case.get("axes") != "reversed" and isinstance(case["dtype"], str) and is_plain_array(case)
        if is_read and whole and len(wanted) < 8 and server.get(f"/v3/old/{case['node']}/zarr.json").status == 200:
            wanted.append((case["node"], case, whole["sha256"]))
    assert len(wanted) >= 3
    check_by_zarrita(f"{server.url}/v3/old", wanted)
