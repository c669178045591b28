"""The demo hierarchy, written by our own encoder: xarray, zarr-python and tensorstore read what numpy computes again."""

import io
import json
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
    """W m-2, by the low-precision formulas of the Astronomical Almanac: written from them, not from the program."""
    days = hours / 24 + 365.5
    anomaly = np.radians(357.528 + 0.9856003 * days)
    longitude = np.radians(280.460 + 0.9856474 * days + 1.915 * np.sin(anomaly) + 0.020 * np.sin(2 * anomaly))
    distance = 1.00014 - 0.01671 * np.cos(anomaly) - 0.00014 * np.cos(2 * anomaly)
    declination = np.arcsin(np.sin(23.439 * DEGREE) * np.sin(longitude))
    ascension = np.arctan2(np.cos(23.439 * DEGREE) * np.sin(longitude), np.cos(longitude))
    sidereal = np.radians((280.46061837 + 360.98564736629 * days) % 360)
    angle = (sidereal - ascension)[:, None, None] + (lon * DEGREE)[None, None, :]
    height = (np.sin(lat * DEGREE)[None, :, None] * np.sin(declination)[:, None, None]
              + np.cos(lat * DEGREE)[None, :, None] * np.cos(declination)[:, None, None] * np.cos(angle))
    return np.maximum(0, 1361 / distance[:, None, None] ** 2 * height)


def mean_irradiance(day, lat):
    """Daily mean insolation of a latitude: Spencer's Fourier series (1971), and the integral over the day in closed form.
    The program has other formulas and sums over hours; the series is off by up to half a degree, which is 12 W m-2."""
    a = 2 * np.pi * day / 365
    declination = (0.006918 - 0.399912 * np.cos(a) + 0.070257 * np.sin(a) - 0.006758 * np.cos(2 * a)
                   + 0.000907 * np.sin(2 * a) - 0.002697 * np.cos(3 * a) + 0.00148 * np.sin(3 * a))
    nearness = (1.00011 + 0.034221 * np.cos(a) + 0.00128 * np.sin(a)
                + 0.000719 * np.cos(2 * a) + 0.000077 * np.sin(2 * a))
    sunset = np.arccos(np.clip(-np.tan(lat) * np.tan(declination), -1, 1))
    whole = sunset * np.sin(lat) * np.sin(declination) + np.cos(lat) * np.cos(declination) * np.sin(sunset)
    return 1361 / np.pi * nearness * whole


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


def test_irradiance_is_that_of_the_textbook(demo):
    solar = xarray.open_zarr(demo.folder_of_demo / "solar", consolidated=True)
    days = solar.irradiance.isel(time=slice(0, None, 48)).time.dt.dayofyear.values - 1
    for month, day in enumerate(days):
        of_day = solar.irradiance.isel(time=slice(48 * month, 48 * month + 24)).mean(("time", "lon"))
        wanted = mean_irradiance(day, np.radians(solar.lat.values))
        assert np.abs(of_day.values - wanted).max() < 12, f"month {month + 1}"
    noon = solar.irradiance.sel(time="2001-03-15T12").isel(lat=36).idxmax("lon")
    assert abs((float(noon) + 180) % 360 - 180) < 5


def test_each_level_of_the_pyramid_is_the_mean_of_the_one_before(demo):
    pyramid = zarr.open_group(demo.folder_of_demo / "pyramid", mode="r")
    scales = [set_["path"] for set_ in pyramid.attrs["ome"]["multiscales"][0]["datasets"]]
    assert scales == ["0", "1", "2", "3"]
    above = pyramid["0"][:].astype(int)
    assert above.shape == (2048, 2048) and above.max() > 150
    assert np.abs(above - above[::-1]).max() <= 1  # the set is its own mirror image
    for scale in scales[1:]:
        half = above.shape[0] // 2
        mean = (above.reshape(half, 2, half, 2).sum((1, 3)) + 2) // 4
        above = pyramid[scale][:].astype(int)
        assert (above == mean).all()


def test_types_have_their_extremes(demo):
    types = zarr.open_group(demo.folder_of_demo / "types", mode="r")
    names = sorted(name for name, _ in types.arrays())
    assert {"bool", "int8", "uint64", "float16", "complex128"} <= set(names) and len(names) == 14
    for name in names:
        values = types[name][:]
        assert values.shape == (4, 6)
        if values.dtype.kind in "iu":
            assert (values[0, 0], values[0, 1]) == (np.iinfo(name).min, np.iinfo(name).max)
            assert (values[0, 2:] == np.arange(2, 6) - (12 if values.dtype.kind == "i" else 0)).all()
        if values.dtype.kind == "f":
            assert np.isnan(values[0, 0]) and values[0, 1] == np.inf and np.signbit(values[0, 3])
            assert (values.ravel()[4:] == (np.arange(4, 24) - 12) / 4).all()


def test_consolidated_blocks_say_what_is_stored(demo):
    for group in ("", "solar", "pyramid", "types"):
        folder = demo.folder_of_demo / group
        block = json.loads((folder / "zarr.json").read_text())["consolidated_metadata"]["metadata"]
        stored = {str(path.parent.relative_to(folder)): json.loads(path.read_text())
                  for path in folder.rglob("zarr.json") if path.parent != folder}
        for document in stored.values():
            document.pop("consolidated_metadata", None)
        assert block == stored
