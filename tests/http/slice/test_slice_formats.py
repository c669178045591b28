"""The formats that other programs open: npz by numpy, and names of files."""

import io
import json
import zipfile

import numpy as np
import pytest
from arrays import write_array
from documents import LITTLE
from live import Server

S = "/v1/datasets/p/slices/"
RNG = np.random.default_rng(15)
LONG = RNG.integers(-9, 9, size=(96, 100, 100), dtype="<i2")
DTYPES = {"bool": "|b1", "int8": "|i1", "uint8": "|u1", "int16": "<i2", "uint16": "<u2", "int32": "<i4", "uint32": "<u4",
          "int64": "<i8", "uint64": "<u8", "float16": "<f2", "float32": "<f4", "float64": "<f8", "complex64": "<c8",
          "complex128": "<c16"}
ODD = 'a "b"; c=é'


def values_of(name):
    values = (np.arange(12) % 5).reshape(3, 4)
    return values.astype(DTYPES[name])


def change(path, **members):
    document = json.loads((path / "zarr.json").read_text())
    (path / "zarr.json").write_text(json.dumps({**document, **members}))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("formats")
    (root / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    write_array(root / "long", LONG.shape, (8, 100, 100), [LITTLE], LONG, dtype="int16")
    write_array(root / ODD, (2,), (2,), [LITTLE], np.float32([1, 2]))
    write_array(root / "scalar", (), (), [LITTLE], dtype="float64")
    write_array(root / "empty", (0, 4), (1, 4), [LITTLE])
    write_array(root / "small", (2,), (2,), [{"name": "bytes"}], np.uint8([0x3c, 0xbc]), dtype="float8_e5m2")
    write_array(root / "words", (2,), (2,), [{"name": "vlen-utf8"}], dtype="string")
    change(root / "words", fill_value="")
    for name in DTYPES:
        fill = False if name == "bool" else [0.0, 0.0] if name.startswith("complex") else 0
        write_array(root / name, (3, 4), (2, 3), [LITTLE], np.pad(values_of(name), ((0, 1), (0, 2))), dtype=name)
        change(root / name, fill_value=fill)
    running = Server(f"p={root}", "--set", "http.stream_bytes=256KiB")
    yield running
    running.stop()


def loaded(answer):
    assert answer.status == 200, answer
    return np.load(io.BytesIO(answer.body))


@pytest.mark.parametrize("name", DTYPES)
def test_npz_of_every_type_opens_in_numpy(server, name):
    for query, expected in (("", values_of(name)), ("&slice=::-2,1", values_of(name)[::-2, 1]), ("&slice=2,3", values_of(name)[2, 3])):
        answer = server.get(f"{S}{name}?format=npz{query}")
        archive = loaded(answer)
        assert archive.files == [name]
        assert archive[name].dtype == expected.dtype
        np.testing.assert_array_equal(archive[name], expected)
        assert answer.headers["content-type"] == "application/x-npz"
        assert answer.headers["content-disposition"] == f'inline; filename="{name}.npz"'
        assert zipfile.ZipFile(io.BytesIO(answer.body)).testzip() is None


def test_npz_of_a_long_array_is_streamed(server):
    answer = server.get(S + "long?format=npz")
    np.testing.assert_array_equal(loaded(answer)["long"], LONG)
    assert int(answer.headers["content-length"]) == len(answer.body)
    head = server.request("HEAD", S + "long?format=npz")
    assert head.headers["content-length"] == answer.headers["content-length"]
    assert head.headers["etag"] == answer.headers["etag"]
    assert server.get(S + "long?format=npy").headers["etag"] != answer.headers["etag"]
    again = server.get(S + "long?format=npz", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status == 304
    assert server.get(S + "long?format=npz").body == answer.body
    part = server.get(S + "long?format=npz&slice=::5,::7,3")
    np.testing.assert_array_equal(loaded(part)["long"], LONG[::5, ::7, 3])


def test_npz_of_little_or_nothing(server):
    assert loaded(server.get(S + "scalar?format=npz"))["scalar"].shape == ()
    assert loaded(server.get(S + "empty?format=npz"))["empty"].shape == (0, 4)
    small = loaded(server.get(S + "small?format=npz"))["small"]
    assert small.dtype == np.float32 and small.tolist() == [1.0, -1.0]
    assert loaded(server.get(S + ODD.replace(" ", "%20").replace('"', "%22").replace("é", "%C3%A9") + "?format=npz")).files == [ODD]
    refused = server.get(S + "words?format=npz")
    assert refused.status == 406 and "npz" not in refused.json()["allowed"]


def test_every_slice_names_its_file(server):
    for format, extension in (("raw", "bin"), ("npy", "npy"), ("json", "json"), ("csv", "csv"), ("npz", "npz")):
        answer = server.get(f"{S}int32?format={format}&slice=0")
        assert answer.headers["content-disposition"] == f'inline; filename="int32.{extension}"'
    odd = server.get(S + "a%20%22b%22;%20c=%C3%A9?format=npy")
    assert odd.headers["content-disposition"] == ('inline; filename="a _b__ c=__.npy"; '
                                                  "filename*=UTF-8''a%20%22b%22%3B%20c%3D%C3%A9.npy")
    posted = server.post(S + "int32", {"format": "npz"})
    assert posted.headers["content-disposition"] == 'inline; filename="int32.npz"'
    np.testing.assert_array_equal(loaded(posted)["int32"], values_of("int32"))
