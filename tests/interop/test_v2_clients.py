"""Zarr v2 written through the server by xarray and zarr-python as they are used, and read back by both, by /v3 and by slices."""

import json

import numcodecs
import numpy as np
import pytest
import tensorstore
import xarray
import zarr
from live import Server
from obstore.store import HTTPStore

N = 3


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    server = Server(config={"datasets": {"lake": {"location": str(folder), "writable": True, "durable": False}}})
    server.root = folder
    yield server
    server.stop()


def dataset(first, n):
    """Texts of both kinds, times, flags, NaN, and a fill value."""
    numbers = np.arange(first * N, (first + n) * N).reshape(n, N)
    found = xarray.Dataset({
        "temperature": (("time", "x"), np.where(numbers % 4 == 0, np.nan, numbers).astype("f4"), {"units": "K"}),
        "flag": (("time", "x"), numbers % 2 == 0),
        "count": (("time",), np.arange(first, first + n, dtype="i2")),
        "nothing": (("time", "x"), np.zeros((n, N))),
        "name": (("x",), np.array(["a", "\u00e9", "a long name"], object)),
        "code": (("x",), np.array(["a", "bc", "d"])),
        "begin": (("x",), np.array(["2001-01-01", "2020-02-02T03:04:05", "NaT"], "M8[ns]")),
        "scalar": ((), np.float64(2.5)),
    }, {"time": np.datetime64("2001-01-01", "ns") + np.arange(first, first + n) * np.timedelta64(1, "D"), "x": [10, 20, 30]},
        {"title": "lakes", "list": [1, "two", None]})
    found["count"].encoding["_FillValue"] = np.int16(-1)
    return found


def appended(first, n):
    return dataset(first, n)[["temperature", "flag", "count", "nothing"]]


def by_slice(server, path):
    answer = server.get(f"/v1/datasets/lake/slices/{path}?format=json")
    assert answer.status == 200, answer
    return answer.json()["data"]


@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("options", [{}, {"mode": "w"}, {"mode": "a"}], ids=["default", "w", "a"])
def test_xarray_writes_appends_and_finds_its_dataset_again(lake, consolidated, options):
    name = f"weather-{options.get('mode', 'default')}-{consolidated}"
    url = f"{lake.url}/zarr/lake/{name}"
    first = dataset(0, 4)
    first.to_zarr(url, zarr_format=2, consolidated=consolidated, **options)
    with xarray.open_zarr(url, consolidated=consolidated) as found:
        xarray.testing.assert_identical(found.load(), first)
    appended(4, 3).to_zarr(url, append_dim="time", consolidated=consolidated)
    both = xarray.concat([first, dataset(4, 3)], "time", data_vars="minimal", coords="minimal", compat="override", combine_attrs="override")
    for place in (url, lake.root / name):  # without the server, too
        with xarray.open_zarr(place, consolidated=consolidated) as found:
            xarray.testing.assert_identical(found.load(), both)
    assert (lake.root / name / ".zmetadata").exists() == consolidated
    assert not list((lake.root / name).rglob("zarr.json"))
    with xarray.open_zarr(f"{lake.url}/v3/lake/{name}", zarr_format=3) as found:
        xarray.testing.assert_equal(found.load(), both)
    for variable in ("count", "flag"):
        assert by_slice(lake, f"{name}/{variable}") == both[variable].values.tolist()
    assert by_slice(lake, f"{name}/name") == both["name"].values.tolist() and by_slice(lake, f"{name}/scalar") == 2.5
    node = lake.get(f"/v1/datasets/lake/nodes/{name}/temperature").json()
    assert node["dialect"] == "v2" and node["warnings"] == [] and node["array"]["dimension_names"] == ["time", "x"]
    assert node["array"]["shape"] == [7, N] and node["metadata"]["attributes"]["units"] == "K"


def test_xarray_finds_changed_slices(lake):
    url = f"{lake.url}/zarr/lake/changed"
    dataset(0, 4).to_zarr(url, zarr_format=2)
    for path, query, values in (("temperature", "1:3,0:2", [[1.5, "NaN"], [-2, 0]]), ("flag", "0", [True, True, False]),
                                ("name", "1:", ["\u20ac", ""]), ("count", "3", -5)):
        answer = lake.request("PUT", f"/v1/datasets/lake/slices/changed/{path}?slice={query}", {"Content-Type": "application/json"},
                              json.dumps(values).encode())
        assert answer.status == 200, answer
    with xarray.open_zarr(url) as found:
        np.testing.assert_array_equal(found["temperature"].values[1:3, 0:2], [[1.5, np.nan], [-2, 0]])
        assert found["flag"].values[0].tolist() == [True, True, False]
        assert found["name"].values.tolist() == ["a", "\u20ac", ""] and found["count"].values[3] == -5


def fsspec_store(server, path):
    return zarr.storage.FsspecStore.from_url(f"{server.url}/zarr/lake/{path}")


def obstore_store(server, path):
    return zarr.storage.ObjectStore(HTTPStore.from_url(f"{server.url}/zarr/lake/{path}", client_options={"allow_http": True}))


@pytest.mark.parametrize("mode", ["w", "w-", "a"])
def test_groups_of_zarr_python_are_made_and_changed(lake, mode):
    store = fsspec_store(lake, f"groups/{mode}")
    group = zarr.open_group(store, mode=mode, zarr_format=2, attributes={"title": "t"})
    inner = group.require_group("inner")
    array = inner.create_array("a", shape=(5, 6), chunks=(2, 4), dtype="i4", fill_value=7)
    values = np.arange(30, dtype="i4").reshape(5, 6)
    array[...] = values
    array.attrs["units"] = "m"
    array.resize((7, 6))
    array[5:, :2] = 1
    group.attrs["more"] = [1, 2]
    again = zarr.open_group(store, mode="r+", zarr_format=2)
    assert dict(again.attrs) == {"title": "t", "more": [1, 2]}
    again["inner/a"][0, 0] = -1
    expected = np.full((7, 6), 7, "i4")
    expected[:5], expected[5:, :2], expected[0, 0] = values, 1, -1
    path = f"groups/{mode}/inner/a"
    assert (zarr.open_array(lake.root / path, mode="r", zarr_format=2)[...] == expected).all()
    assert by_slice(lake, path) == expected.tolist()
    zarr.consolidate_metadata(store, zarr_format=2)
    assert sorted(dict(zarr.open_consolidated(store, zarr_format=2).members(max_depth=None))) == ["inner", "inner/a"]


DTYPES = ["?", "i1", "u2", ">i4", "<i8", "f2", ">f4", "f8", "c8", ">c16", "M8[s]", "<M8[ns]", "m8[10us]", "S5", "U4", "V3", str]
CODECS = {
    "default": {},
    "none": {"compressors": None},
    "blosc": {"compressors": numcodecs.Blosc("zstd", 3, 2)},
    "F": {"order": "F"},
    "slashes": {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
}


def values_of(dtype, rng):
    if dtype is str:
        return np.array([["a", "\u00e9", ""], ["long" * 9, "z", " "]], object)
    kind = np.dtype(dtype)
    if kind.kind in "SU":
        return np.array([["a", "b", ""], ["abc", "d", "xyz"]]).astype(kind)
    if kind.kind in "Mm":
        return rng.integers(-1000, 1000, (2, 3)).astype(kind)
    if kind.kind == "V":
        return np.frombuffer(rng.bytes(18), kind).reshape(2, 3)
    return (rng.integers(0, 100, (2, 3)) % (2 if kind.kind == "b" else 101)).astype(kind)


@pytest.mark.parametrize("client", [fsspec_store, obstore_store])
@pytest.mark.parametrize("settings", CODECS)
def test_arrays_of_zarr_python_are_taken(lake, client, settings):
    rng = np.random.default_rng(7)
    for number, dtype in enumerate(DTYPES):
        path = f"{client.__name__}/{settings}/{number}"
        store = client(lake, path)
        values = values_of(dtype, rng)
        with zarr.config.set({"array.write_empty_chunks": True}):  # fsspec cannot erase
            array = zarr.create_array(store, shape=(2, 3), chunks=(2, 2), dtype=dtype, zarr_format=2, **CODECS[settings])
            array[...] = values
            array[0, 2] = values[1, 0]
        expected = values.copy()
        expected[0, 2] = values[1, 0]
        for place in (store, lake.root / path):
            found = zarr.open_array(place, mode="r", zarr_format=2)[...]
            assert np.asarray(found).tolist() == expected.tolist(), (path, dtype)
        node = lake.get(f"/v1/datasets/lake/nodes/{path}").json()
        assert "refused" not in node and node["warnings"] == [], node
        if dtype is not str:
            answer = lake.get(f"/v1/datasets/lake/slices/{path}")
            assert np.frombuffer(answer.body, np.dtype(dtype).newbyteorder("<")).reshape(2, 3).tolist() == expected.tolist()


def test_tensorstore_reads_what_was_written(lake):
    """Its key-value store of HTTP is only read: it writes nothing here."""
    where = {"driver": "http", "base_url": lake.url, "path": "/zarr/lake/tensorstore/"}
    spec = {"driver": "zarr", "kvstore": where}
    values = np.arange(30, dtype="i4").reshape(5, 6)
    zarr.create_array(fsspec_store(lake, "tensorstore"), shape=(5, 6), chunks=(2, 4), dtype="i4", zarr_format=2)[...] = values
    answer = lake.request("PUT", "/v1/datasets/lake/slices/tensorstore?slice=1", {"Content-Type": "application/json"}, b"[0,1,2,3,4,5]")
    assert answer.status == 200, answer
    values[1] = range(6)
    assert (tensorstore.open(spec, read=True).result().read().result() == values).all()
    with pytest.raises(NotImplementedError):
        tensorstore.open(spec, write=True).result()[0, 0].write(1).result()
