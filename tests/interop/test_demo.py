"""The demo hierarchy, written by our own encoder: xarray, zarr-python and tensorstore read what numpy computes again."""

import io
import json
import os
import pathlib
import re
import subprocess
import urllib.request

import numpy as np
import pytest
import tensorstore
import xarray
import yaml
import zarr
from live import BINARY, ROOT, Server
from png import Png

DEMO = pathlib.Path(os.environ.get("ZARRD_DEMO_BINARY", BINARY.parent / "zarrd-demo"))
DEGREE = np.pi / 180


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "demo.zarr"
    subprocess.run([str(DEMO), str(folder)], check=True, capture_output=True, timeout=300)
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 50e6
    server = Server(config={"datasets": {"demo": {"location": str(folder)}, "work": {"location": "mem:", "writable": True}}})
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


def test_the_pyramid_is_sliced_by_level_and_shown_by_tiles(demo):
    pyramid = zarr.open_group(demo.folder_of_demo / "pyramid", mode="r")
    scales = [pyramid[str(z)][:] for z in range(4)]
    node = demo.get("/v1/datasets/demo/nodes/pyramid").json()
    assert [level["shape"] for level in node["levels"]] == [list(scale.shape) for scale in scales] and node["warnings"] == []
    low, high = int(scales[3].min()), int(scales[3].max())
    for z, scale in enumerate(scales):
        assert demo.get(f"/v1/datasets/demo/slices/pyramid?level={z}&slice=100,::7").body == scale[100, ::7].tobytes()
        last = scale.shape[0] // 256 - 1
        tile = demo.get(f"/v1/datasets/demo/images/pyramid?tile={z},{last},0")
        assert [float(end) for end in tile.headers["zarr-range"].split(",")] == [low, high]
        position = (scale[last * 256:, :256].astype(float) - low) / (high - low)
        assert (Png(tile.body).indices == np.clip((position * 255).astype(int), 0, 254)).all()


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
    for group in ("", "solar", "pyramid", "cities", "types"):
        folder = demo.folder_of_demo / group
        block = json.loads((folder / "zarr.json").read_text())["consolidated_metadata"]["metadata"]
        stored = {str(path.parent.relative_to(folder)): json.loads(path.read_text())
                  for path in folder.rglob("zarr.json") if path.parent != folder}
        for document in stored.values():
            document.pop("consolidated_metadata", None)
        assert block == stored


def commands(server):
    """What deploy/demo prints, for a server that runs."""
    printed = (ROOT / "deploy/demo").read_text().split("\ncat <<EOF\n")[1].split("\nEOF\n")[0]
    printed = printed.replace("$v1", "$url/v1/datasets/demo").replace("$url", server.url)
    assert "$" not in printed.replace("$data", "")
    return re.findall(r"^  ((?:curl|python3) .*)$", printed, re.M)


def test_every_command_that_is_printed_works(demo, tmp_path):
    """In a shell that fails when curl was answered with an error; what is written shows in the events."""
    python = pathlib.Path(os.sys.executable).parent
    shell = {**os.environ, "PATH": f"{python}:{os.environ['PATH']}"}
    ask = 'curl() { command curl -fsS --max-time 100 "$@"; }\n'
    listed = commands(demo)
    [events] = [command for command in listed if "curl -N" in command]
    with urllib.request.urlopen(f"{demo.url}/v1/datasets/work/events", timeout=100) as stream:
        assert f"'{stream.url}'" in events
        for command in listed:
            if command != events:
                done = subprocess.run(["bash", "-c", ask + command], cwd=tmp_path, env=shell, capture_output=True, timeout=300)
                assert done.returncode == 0, (command, done.stderr)
                assert done.stdout or " -o " in command, command
        seen = []
        while "event: chunks" not in seen:
            seen.append(stream.readline().decode().strip())
        assert "event: node" in seen
    bounds = demo.get("/v1/datasets/work/stats/a").json()
    assert (bounds["source"], bounds["min"], bounds["max"]) == ("metadata", 0, 4)
    assert Png((tmp_path / "noon.png").read_bytes()).width == 720
    assert (tmp_path / "pyramid.raw").stat().st_size == 256 * 256


def test_every_example_of_the_page_is_answered(demo):
    examples = yaml.safe_load((ROOT / "openapi/openapi.yaml").read_text())["x-try"]
    for target in [target for targets in examples.values() for target in targets]:
        assert demo.get(target).status == 200, target


def daylight(lat):
    """Hours by Spencer's series, which is off by up to half a degree: in the far north that is half an hour."""
    days = np.array([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]) + 14
    a = 2 * np.pi * days / 365
    declination = (0.006918 - 0.399912 * np.cos(a) + 0.070257 * np.sin(a) - 0.006758 * np.cos(2 * a)
                   + 0.000907 * np.sin(2 * a) - 0.002697 * np.cos(3 * a) + 0.00148 * np.sin(3 * a))
    return 24 / np.pi * np.arccos(np.clip(-np.tan(np.radians(lat))[:, None] * np.tan(declination), -1, 1))


def test_cities_have_names_and_daylight(demo):
    with xarray.open_zarr(f"{demo.url}/zarr/demo/cities", chunks=None) as cities:
        assert list(cities.city.values[:3]) == ["Nairobi", "Quito", "Sydney"] and cities.city.values[-1] == "日本平"
        wanted = daylight(cities.lat.values)
        assert np.abs(cities.daylight.values - wanted).max() < 0.6
        assert cities.daylight.sel(city="Tromsø", month=6) == 24 and cities.daylight.sel(city="Tromsø", month=12) == 0


def test_an_unknown_member_is_a_warning(demo):
    node = demo.get("/v1/datasets/demo/nodes/cities/daylight").json()
    assert [warning["pointer"] for warning in node["warnings"]] == ["/example.legend"]
    answer = demo.get("/v1/datasets/demo/slices/cities/daylight")
    assert answer.status == 200 and answer.headers["zarr-warning"] == "ignored_extension"


def test_the_pyramid_is_sliced_by_level_and_by_size(demo):
    for query, level in (("level=2", 2), ("max_size=262144", 2), ("max_size=262143", 3), ("slice=:", 0)):
        answer = demo.get(f"/v1/datasets/demo/slices/pyramid?{query}")
        assert answer.headers["zarr-level"] == str(level)
        assert answer.body == demo.get(f"/v1/datasets/demo/slices/pyramid/{level}").body
