"""The demo hierarchy, written by our own encoder: xarray, zarr-python and tensorstore read what numpy computes again."""

import io
import os
import pathlib
import subprocess
import urllib.request

import numpy as np
import pytest
import tensorstore
import xarray
import zarr
from live import BINARY, Server

DEMO = pathlib.Path(os.environ.get("ZARRD_DEMO_BINARY", BINARY.parent / "zarrd-demo"))
DEGREE = np.pi / 180


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "demo.zarr"
    subprocess.run([str(DEMO), str(folder)], check=True, capture_output=True, timeout=300)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 50e6
    server = Server(f"demo={folder}")
    server.folder_of_demo = folder
    yield server
    server.stop()


def irradiance(hours, lat, lon):
    """W m-2, by Spencer's Fourier series: written from the formula, not from the program."""
    a = 2 * np.pi * np.floor(hours / 24) / 365
    declination = (0.006918 - 0.399912 * np.cos(a) + 0.070257 * np.sin(a) - 0.006758 * np.cos(2 * a)
                   + 0.000907 * np.sin(2 * a) - 0.002697 * np.cos(3 * a) + 0.00148 * np.sin(3 * a))
    nearness = (1.00011 + 0.034221 * np.cos(a) + 0.00128 * np.sin(a) + 0.000719 * np.cos(2 * a)
                + 0.000077 * np.sin(2 * a))
    minutes = 229.18 * (0.000075 + 0.001868 * np.cos(a) - 0.032077 * np.sin(a) - 0.014615 * np.cos(2 * a)
                        - 0.040849 * np.sin(2 * a))
    angle = 2 * np.pi * (hours / 24 + minutes / 1440 - 0.5)[:, None, None] + (lon * DEGREE)[None, None, :]
    height = (np.sin(lat * DEGREE)[None, :, None] * np.sin(declination)[:, None, None]
              + np.cos(lat * DEGREE)[None, :, None] * np.cos(declination)[:, None, None] * np.cos(angle))
    return np.maximum(0, 1361 * nearness[:, None, None] * height)


def expected(dataset):
    hours = (dataset.time.values - np.datetime64("2001-01-01")) / np.timedelta64(1, "h")
    return irradiance(hours, dataset.lat.values, dataset.lon.values)


def test_xarray_opens_it_as_a_dataset(demo):
    with xarray.open_zarr(f"{demo.url}/zarr/demo/solar", chunks=None) as dataset:
        assert dataset.irradiance.dims == ("time", "lat", "lon")
        assert dataset.irradiance.attrs["units"] == "W m-2"
        assert dataset.time.values[0] == np.datetime64("2001-01-15T00:00")
        np.testing.assert_allclose(dataset.irradiance.values, expected(dataset), rtol=1e-5, atol=1e-3)


def test_a_slice_needs_no_zarr_library(demo):
    with xarray.open_zarr(f"{demo.url}/zarr/demo/solar", chunks=None) as dataset:
        whole = dataset.irradiance.values
    url = f"{demo.url}/v1/datasets/demo/slices/solar/irradiance?slice=100:24:-5,3::7,-1&format=npy"
    with urllib.request.urlopen(url) as answer:
        values = np.load(io.BytesIO(answer.read()))
    np.testing.assert_array_equal(values, whole[100:24:-5, 3::7, -1])
    rows = demo.get("/v1/datasets/demo/slices/solar/irradiance?slice=12,::6,::6&format=csv").body.decode()
    np.testing.assert_array_equal(np.loadtxt(io.StringIO(rows), delimiter=",", dtype="f4"), whole[12, ::6, ::6])
    document = demo.get("/v1/datasets/demo/slices/solar/irradiance?slice=12,0,0:4&format=json").json()
    np.testing.assert_array_equal(np.float32(document["data"]), whole[12, 0, :4])


def test_zarr_python_lists_all_of_it(demo):
    group = zarr.open_group(f"{demo.url}/zarr/demo", mode="r")
    names = {name for name, _ in group.members(max_depth=None)}
    tree = {node["path"] for node in demo.get("/v1/datasets/demo/tree/").json()["nodes"]}
    assert names == tree - {""}


def test_tensorstore_reads_the_shards(demo):
    array = tensorstore.open({"driver": "zarr3", "kvstore": {
        "driver": "http", "base_url": demo.url, "path": "/zarr/demo/solar/irradiance/"}}, read=True).result()
    with xarray.open_zarr(f"{demo.url}/zarr/demo/solar", chunks=None) as dataset:
        np.testing.assert_array_equal(array[100:200, ::3, 5].read().result(), dataset.irradiance.values[100:200, ::3, 5])


def test_every_core_data_type_reads_back(demo):
    local = zarr.open_group(demo.folder_of_demo / "types", mode="r")
    remote = zarr.open_group(f"{demo.url}/zarr/demo/types", mode="r")
    for name, array in local.arrays():
        np.testing.assert_array_equal(remote[name][...], array[...])
        body = demo.get(f"/v1/datasets/demo/slices/types/{name}?format=npy").body
        np.testing.assert_array_equal(np.load(io.BytesIO(body)), array[...])


def test_the_demo_is_the_same_every_time(demo, tmp_path):
    again = tmp_path / "demo.zarr"
    subprocess.run([str(DEMO), str(again)], check=True, capture_output=True, timeout=300)
    first = {path.relative_to(demo.folder_of_demo): path.read_bytes()
             for path in demo.folder_of_demo.rglob("*") if path.is_file()}
    assert first == {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}
