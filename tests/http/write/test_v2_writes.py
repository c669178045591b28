"""Slices and chunks written into arrays of Zarr v2, those of other libraries among them: what the server, zarr-python and numcodecs
then read, every element of it."""

import io
import json
import lzma
import os
import random
import shutil
import socket
import urllib.parse
import zlib

import numcodecs
import numpy as np
import pytest
import zarr
from client import BYTES, DEADLINE_S, JSON
from files import contents
from live import SHARED, STORES, Server

SEED = int(os.environ.get("ZD_SEED", "20261123"))
N_SLICES = 6
# zarr-python cannot open these, or reads them wrongly (an `elementsize` of 0 is none to it): numcodecs decodes their chunks.
NOT_ZARR = {"lzma", "lzma_delta", "struct_nested", "struct_subarray", "categorize_object", "sub/t_int8", "sub/t_uint8", "zlib_shuffle"}
NOBODY = {"blosc_snappy", "zfpy"}  # numcodecs is not built with what these need
NEVER = {"pcodec", "pickle"}
ONLY_READ = {"json2", "msgpack2"}
LISTS = {"vlen_array_i4"}  # are written in test_variable_length
LOSSY = {"numcodecs.delta", "numcodecs.zfpy"}  # zarr-python loses the same


def stores():
    for folder in (STORES / "v2", SHARED / "stores/v2", SHARED / "stores/real"):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_dir() and not path.name.endswith(".unpacked"):
                yield pytest.param(path, id=f"{folder.parents[1].name}-{path.name}")


@pytest.fixture
def writing(tmp_path):
    """writing(**options) serves the directory d of a test."""
    servers = []

    def start(**options):
        servers.append(Server(config={"datasets": {
            "d": {"location": str(tmp_path / "d"), "writable": True, "durable": False, **options}}}))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


class Array:
    """An array through the server: elements of NumPy, or texts where they have no fixed size."""

    def __init__(self, server, folder, path):
        self.server, self.folder, self.path = server, folder / path, urllib.parse.quote(path)
        self.node = server.get(f"/v1/datasets/d/nodes/{self.path}").json()

    def target(self, text):
        return f"/v1/datasets/d/slices/{self.path}?slice={text}"

    def codecs(self):
        return {codec["name"] for codec in self.node["metadata"]["codecs"]}

    def is_variable(self):
        return self.node["array"]["data_type"] in ("string", "bytes")

    def get(self, text=""):
        answer = self.server.get(self.target(text) + f"&format={'json' if self.is_variable() else 'npy'}")
        assert answer.status == 200, (self.path, text, answer)
        if not self.is_variable():
            return np.load(io.BytesIO(answer.body))
        values = np.empty(answer.json()["shape"], object)
        values.flat[:] = np.ravel(np.array(answer.json()["data"], object))
        return values

    def put(self, text, values, headers=None):
        form, body = (JSON, json.dumps(values.tolist()).encode()) if "array" in self.node and self.is_variable() else (BYTES, np.ascontiguousarray(values).tobytes())
        return self.server.request("PUT", self.target(text), {**form, **(headers or {})}, body)

    def by_zarr(self):
        found = np.asarray(zarr.open_array(self.folder, mode="r", zarr_format=2)[...])
        if self.node["array"]["data_type"] == "bytes":
            return np.array([numcodecs.Base64().encode(value).decode() for value in found.flat], object).reshape(found.shape)
        return found

    def by_numcodecs(self):
        """Every chunk, decoded by hand."""
        document = json.loads((self.folder / ".zarray").read_text())
        dtype = np.dtype(fields_of(document["dtype"]))
        values = np.zeros(document["shape"], dtype)
        separator = document.get("dimension_separator", ".")
        for index in np.ndindex(*[-(-n // c) for n, c in zip(values.shape, document["chunks"])]):
            stored = self.folder / (separator.join(map(str, index)) or "0")
            if stored.exists():
                chunk = decode(document, stored.read_bytes(), dtype)
                box = values[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, document["chunks"]))]
                box[...] = chunk[tuple(map(slice, box.shape))]
            elif document["fill_value"] is not None:
                values[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, document["chunks"]))] = document["fill_value"]
        return values


def fields_of(dtype):
    return dtype if isinstance(dtype, str) else [(name, fields_of(kind), *map(tuple, shape)) for name, kind, *shape in dtype]


def decode(document, stored, dtype):
    for codec in reversed([*(document["filters"] or []), *filter(None, [document["compressor"]])]):
        if codec["id"] == "lzma":
            stored = lzma.decompress(stored)
        elif codec["id"] == "categorize":
            stored = numcodecs.get_codec(codec).decode(np.frombuffer(stored, codec["astype"]))
        else:
            stored = numcodecs.get_codec({**codec, **({"elementsize": dtype.itemsize} if codec["id"] == "shuffle" else {})}).decode(stored)
    flat = stored if dtype.kind == "O" else np.frombuffer(stored, dtype)
    return np.reshape(flat, document["chunks"], order=document["order"])


def same(a, b):
    if a.dtype.kind in "OT" or b.dtype.kind in "OT":
        return a.shape == b.shape and a.tolist() == b.tolist()
    return a.shape == b.shape and a.astype(a.dtype.newbyteorder("<")).tobytes() == b.astype(b.dtype.newbyteorder("<")).tobytes()


def random_slice(rng, shape):
    found = []
    for n in shape:
        start = rng.randrange(n)
        found.append(slice(start, rng.randrange(start, n) + 1, rng.choice([1, 1, 2, 3])))
    return tuple(found)


def spelled(index):
    return ",".join(f"{part.start}:{part.stop}:{part.step}" for part in index)


def shuffle(array, rng):
    """Values of the array itself in other places, some of it after a chunk has gone. What must be there then."""
    expected = array.get()
    if expected.size == 0:
        return expected
    pool = expected.flatten()
    index = tuple(rng.randrange(-(-n // c)) for n, c in zip(expected.shape, array.node["array"]["chunk_shape"]))
    gone = array.server.request("DELETE", f"/v1/datasets/d/chunks/{array.path}?index={','.join(map(str, index))}")
    assert gone.status == 204, gone
    expected = array.get()
    for _ in range(N_SLICES):
        at = random_slice(rng, expected.shape)
        values = np.empty(expected[at].shape, expected.dtype)
        values.flat[:] = pool[[rng.randrange(pool.size) for _ in range(values.size)]]
        answer = array.put(spelled(at), values)
        assert answer.status == 200, (array.path, spelled(at), answer)
        expected[at] = values
    return expected


def documents_of(folder):
    return {key: data for key, data in contents(folder).items() if key.rpartition("/")[2].startswith(".z")}


@pytest.mark.parametrize("store", stores())
def test_slices_are_written_into_arrays_of_other_libraries(writing, tmp_path, store):
    print(f"ZD_SEED={SEED}")
    shutil.copytree(store, tmp_path / "d")
    server = writing()
    rng = random.Random(f"{SEED} {store.name}")
    documents = documents_of(tmp_path / "d")
    for path in sorted(key.removesuffix(".zarray").strip("/") for key in documents if key.endswith(".zarray")):
        array = Array(server, tmp_path / "d", path)
        assert ("refused" in array.node) == (path in NEVER), (path, array.node.get("refused"))
        if path in NEVER | ONLY_READ | LISTS:
            continue
        assert array.node["array"]["can"]["write"]
        expected = shuffle(array, rng)
        found = array.get()
        assert array.codecs() & LOSSY or same(found, expected), path
        if path not in NOBODY:
            assert same(array.by_numcodecs() if path in NOT_ZARR else array.by_zarr(), found), path
    assert documents_of(tmp_path / "d") == documents


# ---- what v2 says of chunks ----

VALUES = np.arange(1, 25, dtype="<i4").reshape(4, 6)


def make(folder, name="a", **more):
    (folder / "d" / name).mkdir(parents=True)
    (folder / "d" / name / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": [4, 6], "chunks": [3, 4], "dtype": "<i4", "compressor": None, "fill_value": -1, "order": "C",
        "filters": None, **more}))


def chunk(server, method, index, body=None, query="", headers=None):
    return server.request(method, f"/v1/datasets/d/chunks/a?index={index}{query}", {**BYTES, **(headers or {})}, body)


def stored(folder):
    return sorted(key for key in contents(folder / "d/a") if key.rpartition("/")[2][0] != ".")


@pytest.mark.parametrize("separator, keys", [(".", ["0.0", "0.1", "1.0", "1.1"]), ("/", ["0/0", "0/1", "1/0", "1/1"]),
                                             (None, ["0.0", "0.1", "1.0", "1.1"])])
@pytest.mark.parametrize("order", "CF")
def test_chunks_have_the_keys_and_the_order_of_their_document(writing, tmp_path, separator, keys, order):
    make(tmp_path, order=order, **({} if separator is None else {"dimension_separator": separator}))
    server = writing()
    assert Array(server, tmp_path / "d", "a").put("", VALUES).status == 200
    assert stored(tmp_path) == keys
    whole = np.full((6, 8), -1, "<i4")  # chunks at the edge are whole
    whole[:4, :6] = VALUES
    assert (tmp_path / "d/a" / keys[3]).read_bytes() == whole[3:6, 4:8].tobytes(order)
    assert (zarr.open_array(tmp_path / "d/a", mode="r")[...] == VALUES).all()


def test_a_chunk_of_the_fill_value_is_left_out_and_one_of_no_fill_value_is_not(writing, tmp_path):
    make(tmp_path, fill_value=0)
    server = writing()
    array = Array(server, tmp_path / "d", "a")
    array.put("", VALUES)
    assert array.put("", 0 * VALUES).json()["chunks"] == {"written": 0, "erased": 4, "unchanged": 0}
    assert stored(tmp_path) == []
    # Readers differ in what they find where nothing is stored: numpy.empty, to zarr-python 2.
    (tmp_path / "d/a/.zarray").unlink()
    (tmp_path / "d/a").rmdir()
    make(tmp_path, fill_value=None)
    assert array.put("0:1,0:1", VALUES[:1, :1] * 0).json()["chunks"] == {"written": 1, "erased": 0, "unchanged": 0}
    assert stored(tmp_path) == ["0.0"] and (tmp_path / "d/a/0.0").read_bytes() == bytes(48)
    assert array.put("", 0 * VALUES).json()["chunks"] == {"written": 4, "erased": 0, "unchanged": 0}
    assert len(stored(tmp_path)) == 4


def test_a_scalar_has_one_chunk(writing, tmp_path):
    make(tmp_path, shape=[], chunks=[])
    server = writing()
    array = Array(server, tmp_path / "d", "a")
    assert array.put("", np.array(77, "<i4")).status == 200 and stored(tmp_path) == ["0"]
    assert array.get() == 77 and zarr.open_array(tmp_path / "d/a", mode="r")[()] == 77
    assert chunk(server, "DELETE", "").status == 204 and array.get() == -1


def test_chunks_come_encoded_and_decoded(writing, tmp_path):
    make(tmp_path, compressor={"id": "zlib", "level": 1}, dtype=">i4", order="F")
    server = writing()
    elements = VALUES[:3, :4]
    encoded = zlib.compress(elements.astype(">i4").tobytes("F"), 9)
    assert chunk(server, "PUT", "0,0", encoded).json()["chunks"]["written"] == 1
    assert (tmp_path / "d/a/0.0").read_bytes() == encoded  # as the client has made it
    assert chunk(server, "PUT", "0,1", elements.tobytes(), "&decoded=1").status == 200
    array = Array(server, tmp_path / "d", "a")
    assert (array.get("0:3,0:4") == elements).all() and (array.get("0:3,4:6") == elements[:, :2]).all()
    assert (array.by_zarr() == array.get()).all()
    tag = chunk(server, "GET", "0,0").headers["etag"]
    for body in (b"", encoded[:-1], zlib.compress(bytes(44)), zlib.compress(bytes(52)), elements.tobytes()):
        answer = chunk(server, "PUT", "0,0", body)
        assert (answer.status, answer.code) == (422, "corrupt_chunk"), answer
    assert chunk(server, "PUT", "0,0", elements.tobytes()[:-1], "&decoded=1").status == 400
    assert chunk(server, "PUT", "2,0", encoded).code == "out_of_bounds"
    assert chunk(server, "GET", "0,0").headers["etag"] == tag
    assert chunk(server, "PUT", "0,0", encoded, headers={"If-None-Match": "*"}).status == 412
    assert chunk(server, "DELETE", "0,0", headers={"If-Match": '"x-1"'}).status == 412
    assert chunk(server, "DELETE", "0,0", headers={"If-Match": tag}).status == 204
    assert stored(tmp_path) == ["0.1"]


def test_conditions_hold_for_slices(writing, tmp_path):
    make(tmp_path)
    server = writing()
    array = Array(server, tmp_path / "d", "a")
    tag = server.get(array.target("1:3")).headers["etag"]
    assert array.put("1:3", VALUES[1:3], {"If-Match": tag}).status == 200
    assert array.put("1:3", VALUES[:2], {"If-Match": tag}).status == 412
    assert (array.get("1:3") == VALUES[1:3]).all()


def test_a_damaged_chunk_is_not_written_over_in_part(writing, tmp_path):
    make(tmp_path, compressor={"id": "zlib", "level": 1})
    (tmp_path / "d/a/0.0").write_bytes(b"damaged")
    server = writing()
    array = Array(server, tmp_path / "d", "a")
    answer = array.put("1:4,0:6", VALUES[1:])
    assert answer.code == "corrupt_chunk" and "a/0.0" in answer.json()["detail"]
    assert stored(tmp_path) == ["0.0"] and (tmp_path / "d/a/0.0").read_bytes() == b"damaged"
    assert array.put("", VALUES).status == 200 and (array.get() == VALUES).all()


def test_objects_are_written_as_zarr_python_has_them(writing, tmp_path):
    texts = np.array([["a", "", "\u00e9\u20ac"], ["x" * 1000, "z", "\n"]], object)
    zarr.open_group(tmp_path / "d", mode="w", zarr_format=2)
    for name, order in (("c", "C"), ("f", "F")):
        zarr.create_array(tmp_path / "d" / name, shape=(2, 3), chunks=(2, 2), dtype=str, fill_value="?", order=order, zarr_format=2)
        array = Array(writing(), tmp_path / "d", name)
        assert array.put("", texts).status == 200 and array.put("1,2", np.array("new", object)).status == 200
        expected = texts.copy()
        expected[1, 2] = "new"
        assert array.get().tolist() == expected.tolist() == array.by_zarr().tolist()


# Two letters, as numcodecs encodes them; its MessagePack is not installed.
LETTERS = {"json2": '["%s","%s","|O",[2]]', "msgpack2": "\x94\xa1%s\xa1%s\xa2|O\x91\x02"}


@pytest.mark.parametrize("codec", LETTERS)
def test_codecs_that_are_only_read_take_encoded_chunks_and_no_elements(writing, tmp_path, codec):
    make(tmp_path, shape=[4], chunks=[2], dtype="|O", filters=[{"id": codec}], fill_value="")
    before, encoded = ((LETTERS[codec] % letters).encode("latin-1") for letters in (("a", "b"), ("c", "d")))
    (tmp_path / "d/a/0").write_bytes(before)
    server = writing()
    array = Array(server, tmp_path / "d", "a")
    can = array.node["array"]["can"]
    assert (can["slice"], can["write"]) == (True, False) and codec in can["reason"]
    for text, body in (("", np.array(list("wxyz"), object)), ("0:1", np.array(["z"], object)), ("0:2", np.array(["", ""], object))):
        answer = array.put(text, body)
        assert (answer.status, answer.code) == (422, "unsupported_codec") and codec in answer.json()["detail"], answer
    append = server.request("PUT", "/v1/datasets/d/slices/a?append=0", JSON, b'["z"]')
    assert (append.status, append.code) == (422, "unsupported_codec"), append
    assert chunk(server, "PUT", "0", bytes(32), "&decoded=1").status == 422
    assert stored(tmp_path) == ["0"] and (tmp_path / "d/a/0").read_bytes() == before
    assert chunk(server, "PUT", "1", encoded).status == 200 and chunk(server, "PUT", "0", encoded[:-1]).code == "corrupt_chunk"
    assert array.get().tolist() == ["a", "b", "c", "d"]
    assert chunk(server, "DELETE", "0").status == 204 and array.get().tolist() == ["", "", "c", "d"]


def test_nothing_of_a_body_is_read_where_no_element_can_be_written(writing, tmp_path):
    """The refusal comes before the body, of which nothing is sent."""
    make(tmp_path, shape=[4], chunks=[2], dtype="|O", filters=[{"id": "json2"}], fill_value="")
    server = writing()
    with socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S) as s:
        s.sendall(b"PUT /v1/datasets/d/slices/a HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                  b"Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 422 ")


# ---- longer and shorter ----

def patch(server, shape):
    return server.request("PATCH", "/v1/datasets/d/nodes/a", {"Content-Type": "application/merge-patch+json"},
                          json.dumps({"shape": shape}).encode())


@pytest.mark.parametrize("more", [{}, {"order": "F", "dtype": ">i4", "compressor": {"id": "zlib", "level": 1}},
                                  {"dimension_separator": "/"}, {"fill_value": None}])
@pytest.mark.parametrize("dimension", [0, 1])
def test_an_array_grows_by_what_is_appended(writing, tmp_path, dimension, more):
    make(tmp_path, _NCZARR_ARRAY={"dimrefs": ["/y", "/x"]}, **more)
    (tmp_path / "d/a/.zattrs").write_text('{"b": 1,   "a": 2}')
    server = writing()
    array = Array(server, tmp_path / "d", "a")
    array.put("", VALUES)
    expected = VALUES
    for n in (1, 5, 2):  # within a chunk, and over several
        part = np.resize(VALUES[::-1], (n, 6) if dimension == 0 else (4, n)).astype("<i4")
        expected = np.concatenate([expected, part], dimension)
        answer = server.request("PUT", f"/v1/datasets/d/slices/a?append={dimension}", BYTES, np.ascontiguousarray(part).tobytes())
        assert answer.status == 200, answer
        assert (array.get() == expected).all() and (array.by_zarr() == expected).all()
    document = json.loads((tmp_path / "d/a/.zarray").read_text())
    assert document == {**document, "shape": list(expected.shape), "_NCZARR_ARRAY": {"dimrefs": ["/y", "/x"]}, "dtype": "<i4", **more}
    assert (tmp_path / "d/a/.zattrs").read_text() == '{"b": 1,   "a": 2}'  # byte for byte


def test_an_array_that_shrinks_loses_the_chunks_outside(writing, tmp_path):
    make(tmp_path)
    server = writing()
    array = Array(server, tmp_path / "d", "a")
    array.put("", VALUES)
    assert patch(server, [2, 3]).status == 200
    assert stored(tmp_path) == ["0.0"] and (array.get() == VALUES[:2, :3]).all()
    assert patch(server, [7, 9]).status == 200
    expected = np.full((7, 9), -1, "<i4")
    expected[:3, :4] = VALUES[:3, :4]  # what the chunk that stayed still holds
    assert (array.get() == expected).all() and (array.by_zarr() == expected).all()
    assert patch(server, [-1, 9]).status == 422 and patch(server, [7, 9, 1]).status == 422
    assert json.loads((tmp_path / "d/a/.zarray").read_text())["shape"] == [7, 9]


def test_an_append_that_does_not_fit_changes_nothing(writing, tmp_path):
    make(tmp_path)
    server = writing()
    array = Array(server, tmp_path / "d", "a")
    array.put("", VALUES)
    before = contents(tmp_path / "d")
    for query, body in (("append=0", bytes(23)), ("append=2", bytes(24))):
        assert server.request("PUT", f"/v1/datasets/d/slices/a?{query}", BYTES, body).status in (400, 422)
    assert contents(tmp_path / "d") == before
