"""format=netcdf: what xarray finds in it, by scipy (CDF-2) and by the netCDF library (CDF-2 and CDF-5)."""

import io
import json
import tempfile

import netCDF4
import numpy as np
import pytest
import xarray
from arrays import write_array, write_node
from documents import LITTLE
from live import Server

S = "/v1/datasets/p/slices/"
RNG = np.random.default_rng(5)
LONG = RNG.normal(size=(64, 90, 50)).astype("<f4")
CLASSIC = {"bool": "|b1", "int8": "|i1", "int16": "<i2", "int32": "<i4", "float16": "<f2", "float32": "<f4", "float64": "<f8"}
WIDE = {"uint8": "|u1", "uint16": "<u2", "uint32": "<u4", "uint64": "<u8", "int64": "<i8"}
DTYPES = CLASSIC | WIDE
ATTRIBUTES = {
    "units": "K", "long_name": "höhe", "empty": "", "n": 7, "big": 2**40, "x": 0.5, "list": [1, 2, 3], "mixed": [1, 2.5],
    "yes": True, "nothing": None, "object": {"a": 1}, "strings": ["a", "b"], "none": [], "1/2 ": 5, "\u0001": 6,
    "long": "x" * 70000, "numbers": list(range(9000)), "_ARRAY_DIMENSIONS": ["a", "b"]}


def values_of(name):
    return (np.arange(15) % 5 - (0 if name[0] in "ub" else 2)).reshape(3, 5).astype(DTYPES[name])


def change(path, **members):
    document = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps({**document, **members}))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("netcdf")
    write_node(root, {"zarr_format": 3, "node_type": "group"})
    for name in DTYPES:
        write_array(root / name, (3, 5), (2, 3), [LITTLE], np.pad(values_of(name), ((0, 1), (0, 1))), dtype=name)
        change(root / name, fill_value=name == "bool" if name == "bool" else 0, dimension_names=["y", "x"])
    write_array(root / "long", LONG.shape, (8, 90, 50), [LITTLE], LONG)
    change(root / "long", dimension_names=["time", None, "a/b"], attributes=ATTRIBUTES)
    write_array(root / "scalar", (), (), [LITTLE], dtype="float64")
    write_array(root / "empty", (0, 4), (1, 4), [LITTLE])
    write_array(root / "hollow", (4, 0), (1, 4), [LITTLE])
    write_array(root / "pairs", (2,), (2,), [LITTLE], dtype="complex64")
    change(root / "pairs", fill_value=[0, 0])
    write_array(root / "square", (2, 2), (2, 2), [LITTLE], np.float32([[1, 2], [3, 4]]))
    change(root / "square", dimension_names=["n", "n"])
    write_array(root / "packed", (4,), (4,), [LITTLE], np.int16([-1, 0, 10, 20]), dtype="int16")
    change(root / "packed", attributes={"scale_factor": 0.5, "add_offset": 100, "_FillValue": -1, "valid_range": [-1, 99], "missing_value": -1})
    write_array(root / "gaps", (3,), (3,), [LITTLE], np.float32([1, np.nan, -9.5]))
    change(root / "gaps", attributes={"_FillValue": "AAAAAAAAI8A="})  # -9.5, as xarray writes it
    ticks = {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}
    write_array(root / "when", (3,), (3,), [LITTLE], np.array([0, 86400, -2**63], "<i8"), dtype=ticks)
    change(root / "when", fill_value="NaT", attributes={"units": "wrong"})
    old = root / "old"
    old.mkdir()
    (old / ".zarray").write_text(json.dumps({"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "<i4", "compressor": None,
                                             "fill_value": -5, "order": "C", "filters": None}))
    (old / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["i"]}')
    (old / "0").write_bytes(np.int32([1, -5, 3]).tobytes())
    running = Server(f"p={root}", f"old={old}", "--set", "http.stream_bytes=256KiB")
    yield running
    running.stop()


def opened(answer, **how):
    """By scipy, which knows CDF-2 alone; else by the library."""
    assert answer.status == 200, answer
    assert int(answer.headers["content-length"]) == len(answer.body)
    if answer.body[:4] == b"CDF\x02":
        return xarray.open_dataset(io.BytesIO(answer.body), engine="scipy", **how)
    return xarray.open_dataset(xarray.backends.NetCDF4DataStore(by_library(answer)), **how)


def by_library(answer):
    with tempfile.NamedTemporaryFile() as file:  # what it opens in memory must be a multiple of 8 bytes long
        file.write(answer.body)
        file.flush()
        return netCDF4.Dataset(file.name)


@pytest.mark.parametrize("name", DTYPES)
def test_every_type_opens(server, name):
    values = values_of(name)
    for query, expected in (("", values), ("&slice=::-1,1:4", values[::-1, 1:4]), ("&slice=1", values[1]), ("&slice=2,3", values[2, 3])):
        answer = server.get(f"{S}{name}?format=netcdf{query}")
        assert answer.body[:4] == (b"CDF\x02" if name in CLASSIC else b"CDF\x05")
        variable = opened(answer)[name]
        np.testing.assert_array_equal(variable.values, expected.astype("<f4") if name == "float16" else expected)
        assert variable.dtype == ("float32" if name == "float16" else expected.dtype)
        assert variable.dims == ("y", "x")[2 - expected.ndim:]
        library = by_library(answer)
        assert library.data_model == ("NETCDF3_64BIT_OFFSET" if name in CLASSIC else "NETCDF3_64BIT_DATA")
        np.testing.assert_array_equal(library[name][...], expected.astype("i1") if name == "bool" else expected)


def test_a_long_array_is_streamed_with_its_attributes(server):
    answer = server.get(S + "long?format=netcdf")
    assert answer.headers["content-type"] == "application/x-netcdf"
    assert answer.headers["content-disposition"] == 'inline; filename="long.nc"'
    variable = opened(answer)["long"]
    np.testing.assert_array_equal(variable.values, LONG)
    assert variable.dims == ("time", "dim_1", "a_b")
    attributes = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in variable.attrs.items()}
    assert attributes == {"units": "K", "long_name": "höhe", "empty": "", "n": 7, "big": 2.0**40, "x": 0.5, "list": [1, 2, 3],
                          "mixed": [1, 2.5], "yes": 1, "1_2_": 5, "_": 6}
    head = server.request("HEAD", S + "long?format=netcdf")
    assert head.headers["content-length"] == answer.headers["content-length"]
    assert head.headers["etag"] == answer.headers["etag"] != server.get(S + "long?format=npz").headers["etag"]
    part = opened(server.get(S + "long?format=netcdf&slice=::9,5,::-1"))["long"]
    np.testing.assert_array_equal(part.values, LONG[::9, 5, ::-1])


def test_little_and_nothing(server):
    assert opened(server.get(S + "scalar?format=netcdf"))["scalar"].shape == ()
    empty = opened(server.get(S + "empty?format=netcdf"))["empty"]
    assert empty.shape == (0, 4) and empty.dims == ("dim_0", "dim_1")
    assert by_library(server.get(S + "empty?format=netcdf"))["empty"].shape == (0, 4)
    assert opened(server.get(S + "square?format=netcdf"))["square"].dims == ("n", "n_2")
    for query in ("hollow?format=netcdf", "empty?format=netcdf&slice=:,0:0", "pairs?format=netcdf"):
        refused = server.get(S + query)
        assert refused.status == 406, refused
    assert "of shape (0,0)" in server.get(S + "empty?format=netcdf&slice=:,0:0").json()["detail"]
    assert "netcdf" not in server.get(S + "hollow?format=netcdf").json()["allowed"]
    assert opened(server.get(S + "empty?format=netcdf&slice=:,0"))["empty"].shape == (0,)


def test_missing_values_and_times_are_what_xarray_knows(server):
    packed = opened(server.get(S + "packed?format=netcdf"))["packed"]
    np.testing.assert_array_equal(packed.values, [np.nan, 100, 105, 110])
    gaps = opened(server.get(S + "gaps?format=netcdf"), mask_and_scale=False)["gaps"]
    assert gaps.attrs["_FillValue"] == np.float32(-9.5) and gaps.attrs["_FillValue"].dtype == np.float32
    when = opened(server.get(S + "when?format=netcdf"))["when"]
    np.testing.assert_array_equal(when.values, np.array(["1970-01-01", "1970-01-02", "NaT"], "M8[ns]"))
    old = opened(server.get("/v1/datasets/old/slices/?format=netcdf"))["old"]
    assert old.dims == ("i",)
    np.testing.assert_array_equal(old.values, [1, np.nan, 3])
