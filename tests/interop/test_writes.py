"""What is written through the server is Zarr to others, and what others write through it is taken."""

import itertools
import json
import re
import shutil
import subprocess
import urllib.parse

import numpy as np
import pytest
import tensorstore
import xarray
import zarr
from arrays import digest
from live import ROOT, STORES, Server
from markdown import blocks
from obstore.store import HTTPStore

DATASET = "work"
NODES = f"/v1/datasets/{DATASET}/nodes"
SLICES = f"/v1/datasets/{DATASET}/slices"
KEYS = f"/zarr/{DATASET}"
RAW = {"Content-Type": "application/octet-stream"}
SHAPE, CHUNK, PART = (13, 10), (6, 4), (3, 2)
NUMBERS = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128").split()
LITTLE, BIG, NONE = ([{"name": "bytes", **configuration}] for configuration in (
    {"configuration": {"endian": "little"}}, {"configuration": {"endian": "big"}}, {}))


def codec(name, **configuration):
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


def blosc(item, cname="lz4", clevel=5, shuffle="shuffle", blocksize=0):
    return codec("blosc", cname=cname, clevel=clevel, shuffle=shuffle, typesize=item, blocksize=blocksize)


def shards(codecs, where="end", index=None):
    return [codec("sharding_indexed", chunk_shape=list(PART), codecs=codecs, index_codecs=index or LITTLE + [codec("crc32c")],
                  index_location=where)]


def chains(data_type):
    """Every codec with each of its settings, by name."""
    item = np.dtype(data_type).itemsize
    little = LITTLE if item > 1 else NONE
    found = {"little": little, "big": BIG if item > 1 else NONE, "crc32c": little + [codec("crc32c")],
             "transpose": [codec("transpose", order=[1, 0])] + little,
             "transpose twice": [codec("transpose", order=[1, 0]), codec("transpose", order=[1, 0])] + little,
             "all of them": [codec("transpose", order=[1, 0])] + BIG + [codec("gzip", level=1), codec("zstd", level=1, checksum=True),
                                                                       codec("crc32c")]}
    found |= {f"gzip {level}": little + [codec("gzip", level=level)] for level in (0, 1, 6, 9)}
    found |= {f"zstd {level} {checksum}": little + [codec("zstd", level=level, checksum=checksum)]
              for level, checksum in itertools.product((-5, 0, 3, 19), (False, True))}
    found |= {f"blosc {cname} {shuffle} {level}": little + [blosc(item, cname, level, shuffle)]
              for cname, shuffle, level in itertools.product(("lz4", "lz4hc", "blosclz", "zstd", "snappy", "zlib"),
                                                             ("noshuffle", "shuffle", "bitshuffle"), (0, 5, 9))}
    found |= {f"shards {where}": shards(little + [codec("zstd", level=3, checksum=False)], where) for where in ("start", "end")}
    found |= {"shards of plain chunks": shards(little), "shards without checksum": shards(little, index=LITTLE),
              "shards turned": [codec("transpose", order=[0, 1])] + shards([codec("transpose", order=[1, 0])] + little)}
    found |= {f"zlib {level}": little + [codec("numcodecs.zlib", level=level)] for level in (1, 9)}
    found |= {"lz4": little + [codec("numcodecs.lz4", acceleration=1)],
              "shuffle": little + [codec("numcodecs.shuffle", elementsize=item), codec("numcodecs.zlib", level=1)]}
    found |= {"compressed twice": little + [codec("numcodecs.bz2", level=1), codec("numcodecs.lzma", format=1, check=-1, preset=1, filters=None)],
              "compressed as numcodecs does": little + [codec("numcodecs.blosc", cname="lz4", clevel=5, shuffle=1, blocksize=0),
                                                        codec("numcodecs.gzip", level=1), codec("numcodecs.zstd", level=1)],
              "checksums": little + [codec("numcodecs.crc32"), codec("numcodecs.crc32c"), codec("numcodecs.adler32"),
                                     codec("numcodecs.fletcher32"), codec("numcodecs.jenkins_lookup3", initval=0, prefix=None)]}
    if np.dtype(data_type).kind in "iu":  # of others it loses what is not finite
        found["delta"] = [codec("numcodecs.delta", dtype=np.dtype(data_type).str)] + little
    return found


def document(data_type, codecs, fill_value, **more):
    return {"zarr_format": 3, "node_type": "array", "shape": list(SHAPE), "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(CHUNK)}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": fill_value, "codecs": codecs, "attributes": {}, **more}


def fill_of(data_type):
    return False if data_type == "bool" else [0, "NaN"] if data_type.startswith("complex") else "NaN" if data_type.startswith("f") else 3


def values_of(data_type, rng):
    """Bits of every kind: extremes, both zeros, infinities, NaN; as many different bytes as there are."""
    dtype = np.dtype(data_type)
    if data_type == "bool":
        return rng.integers(0, 2, SHAPE).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = rng.integers(limits.min, limits.max, SHAPE, dtype, endpoint=True)
        values.flat[:2] = limits.min, limits.max
        return values
    values = rng.normal(size=SHAPE + (dtype.itemsize // 4 if dtype.kind == "c" else 1,)) * 100
    values.flat[:5] = np.nan, np.inf, -np.inf, 0.0, -0.0
    return np.ascontiguousarray(values[..., 0] + 1j * values[..., -1] if dtype.kind == "c" else values[..., 0]).astype(dtype)


@pytest.fixture(scope="module")
def writing(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    server = Server(config={"datasets": {DATASET: {"location": str(folder), "writable": True, "durable": False}}})
    server.root = folder
    yield server
    server.stop()


def put(server, target, body, headers=None, status=(200, 201)):
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    answer = server.request("PUT", target, headers or {"Content-Type": "application/json"}, data)
    assert answer.status in status, (target, answer)
    return answer


def write_in_parts(server, path, values):
    """All but one corner, in pieces that cut chunks and overlap; what zarr-python must then find."""
    little = values.astype(values.dtype.newbyteorder("<"))
    expected = None
    for rows, columns in ((slice(0, 7), slice(0, 10)), (slice(5, 13), slice(1, 6)), (slice(12, None, -3), slice(0, 3))):
        target = f"{SLICES}/{path}?slice={rows.start}:{'' if rows.stop is None else rows.stop}:{rows.step or 1},{columns.start}:{columns.stop}"
        put(server, target, little[rows, columns].tobytes(), RAW)
        if expected is None:
            expected = np.full(SHAPE, zarr.open_array(server.root / path, mode="r").fill_value, values.dtype)
        expected[rows, columns] = values[rows, columns]
    return expected


@pytest.mark.parametrize("data_type", NUMBERS)
def test_zarr_python_reads_back_every_codec_and_data_type(writing, data_type):
    """Over HTTP, and from the files without the server: the same bits."""
    rng = np.random.default_rng(len(data_type))
    for name, codecs in chains(data_type).items():
        path = f"types/{data_type}/{urllib.parse.quote(name.replace(' ', '_'))}"
        put(writing, f"{NODES}/{path}", document(data_type, codecs, fill_of(data_type)))
        expected = write_in_parts(writing, path, values_of(data_type, rng))
        for where in (writing.root / path, f"{writing.url}{KEYS}/{path}"):
            found = zarr.open_array(where, mode="r")
            assert found.dtype == expected.dtype and digest(found[...]) == digest(expected), (name, where)


# Not every array has them, or zarr-python does not: tests/http/data compares them with those who have.
OTHER_CODECS = set("bitround cast_value conditional n5_default n5.lz4 numcodecs.astype numcodecs.base64 numcodecs.categorize numcodecs.fixedscaleoffset "
                   "numcodecs.json2 numcodecs.msgpack2 numcodecs.packbits numcodecs.quantize numcodecs.vlen-array numcodecs.zfpy packbits reshape scale_offset v2.struct vlen-bytes vlen-utf8 zfp".split())
OTHER_TYPES = re.compile(r"r\*|u?int[24]|bfloat16|float[468]_\w+|complex_\w+|string|bytes|numpy\.\w+|fixed_length_utf32|null_terminated_bytes|raw_bytes|"
                         r"struct|structured")


def test_the_test_above_leaves_out_nothing_that_is_written(writing):
    listed = writing.get("/v1/extensions").json()
    used = {one["name"] for codecs in chains("int32").values() for one in codecs}
    assert {one["name"] for one in listed["codecs"] if one["write"]} - OTHER_CODECS == used
    others = {one["name"] for one in listed["data_types"] if one["write"]} - set(NUMBERS)
    assert [name for name in others if OTHER_TYPES.fullmatch(name) is None] == []


@pytest.mark.parametrize("n_bytes", [1, 3, 16])
def test_raw_bits_read_back(writing, n_bytes):
    """zarr-python has no r* (its raw_bytes is another name): tensorstore reads what it knows of them, and the files say the rest."""
    path = f"bits{n_bytes}"
    put(writing, f"{NODES}/{path}", document(f"r{8 * n_bytes}", NONE, [0] * n_bytes, shape=[8], chunk_grid={
        "name": "regular", "configuration": {"chunk_shape": [4]}}))
    body = bytes(range(1, 8 * n_bytes + 1))
    put(writing, f"{SLICES}/{path}", body, RAW)
    assert b"".join((writing.root / path / f"c/{i}").read_bytes() for i in range(2)) == body


@pytest.mark.parametrize("encoding", [codec("default", separator="/"), codec("default", separator="."), codec("v2", separator="."),
                                      codec("v2", separator="/")])
def test_chunks_have_the_keys_that_others_look_for(writing, encoding):
    path = "keys-{}-{}".format(encoding["name"], "dot" if encoding["configuration"]["separator"] == "." else "slash")
    put(writing, f"{NODES}/{path}", document("int32", LITTLE, 0, chunk_key_encoding=encoding))
    expected = write_in_parts(writing, path, values_of("int32", np.random.default_rng(1)))
    assert digest(zarr.open_array(writing.root / path, mode="r")[...]) == digest(expected)
    array = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "http", "base_url": writing.url, "path": f"{KEYS}/{path}/"}},
                             read=True).result()
    assert digest(array.read().result()) == digest(expected)


def over_fsspec(server, path=""):
    """zarr-python over fsspec's HTTP file system, which cannot erase: chunks of nothing but fill values are to be sent."""
    return zarr.storage.FsspecStore.from_url(f"{server.url}{KEYS}/{path}".rstrip("/"))


def over_obstore(server, path):
    """... and over object_store's HTTP store, which can store but not create: so no parents, and the array is the whole store."""
    return zarr.storage.ObjectStore(HTTPStore.from_url(f"{server.url}{KEYS}/{path}", client_options={"allow_http": True}))


@pytest.fixture
def all_chunks():
    with zarr.config.set({"array.write_empty_chunks": True}):
        yield


@pytest.mark.parametrize("client", ["fsspec", "obstore"])
@pytest.mark.parametrize("name, settings", [
    ("defaults", {}),
    ("plain", {"compressors": None}),
    ("filled", {"fill_value": 7, "dimension_names": ["y", "x"], "attributes": {"units": "K", "n": [1, None, "\u00e9"]}}),
    ("blosc", {"compressors": zarr.codecs.BloscCodec(cname="zstd", shuffle="bitshuffle")}),
    ("gzip", {"compressors": [zarr.codecs.GzipCodec(level=1), zarr.codecs.Crc32cCodec()]}),
    ("turned", {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]}),
    ("shards", {"shards": (6, 4), "chunks": (3, 2)}),
    ("dots", {"chunk_key_encoding": {"name": "v2", "separator": "."}}),
])
def test_writes_of_zarr_python_over_http_are_taken(writing, all_chunks, client, name, settings):
    path = f"{client}/{name}"
    store, within = (over_fsspec(writing), path) if client == "fsspec" else (over_obstore(writing, path), "")
    values = values_of("float32", np.random.default_rng(5))
    array = zarr.create_array(store, name=within or None, shape=SHAPE, dtype="float32", **{"chunks": CHUNK, **settings})
    array[...] = values
    array[2:5, 1:9] = values[2:5, 1:9] = 4.5
    array.attrs["note"] = "changed"
    assert digest(writing_read(writing, path)) == digest(values)
    assert digest(zarr.open_array(store, path=within, mode="r")[...]) == digest(values)
    node = writing.get(f"{NODES}/{path}").json()
    assert "refused" not in node and node["metadata"]["attributes"]["note"] == "changed"


def writing_read(server, path):
    answer = server.get(f"{SLICES}/{path}")
    shape = [int(n) for n in answer.headers["zarr-shape"].split(",")]
    return np.frombuffer(answer.body, answer.headers["zarr-dtype"]).reshape(shape)


def test_groups_and_consolidated_metadata_of_zarr_python_are_taken(writing, all_chunks):
    store = over_fsspec(writing)
    group = zarr.create_group(store, path="consolidated", attributes={"title": "t"})
    for name in "abc":
        group.create_array(f"inner/{name}", shape=(4,), dtype="int16", chunks=(2,))[...] = np.arange(4)
    zarr.consolidate_metadata(store, path="consolidated")
    check = writing.get(f"/v1/datasets/{DATASET}/tree/consolidated?check=1").json()["check"]
    assert check == {"missing": [], "surplus": [], "differing": [], "stored": True}
    again = zarr.open_consolidated(store, path="consolidated")
    assert sorted(name for name, _ in again.members(max_depth=None)) == ["inner", "inner/a", "inner/b", "inner/c"]
    # A change through the server is in the stored block at once.
    put(writing, f"{NODES}/consolidated/inner/d", document("int32", LITTLE, 0))
    again = zarr.open_consolidated(store, path="consolidated")
    assert "inner/d" in dict(again.members(max_depth=None))


def test_xarray_writes_a_dataset_over_http(writing, all_chunks):
    times = np.arange("2001-01-01", "2001-01-05", dtype="datetime64[D]").astype("datetime64[ns]")
    dataset = xarray.Dataset({"t": (("time", "x"), np.arange(12, dtype="f4").reshape(4, 3), {"units": "K"})}, {"time": times})
    store = over_fsspec(writing, "weather")
    dataset.to_zarr(store, zarr_format=3, consolidated=True, mode="w-")
    with xarray.open_zarr(f"{writing.url}{KEYS}/weather") as found:
        xarray.testing.assert_identical(found.load(), dataset)


INDULGENCE = {"implied_bytes", "legacy_spelling"}


@pytest.mark.parametrize("name", ["codecs", "dtypes", "sharding", "blosc", "ts", "zarrita_js", "keys", "consolidated"])
def test_stores_of_other_libraries_are_taken_key_by_key(server, writing, name):
    """Documents first, chunks then, as an uploader sends them: the files are the same, byte by byte. Refused are the documents that
    cannot be read either, of data types that this program does not have, and those that are read with indulgence."""
    source, target = STORES / "v3" / name, writing.root / f"copies/{name}"
    keys = sorted((str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()),
                  key=lambda key: (not key.endswith("zarr.json"), key.count("/"), key))
    refused, n_taken = set(), 0
    for key in keys:
        body = (source / key).read_bytes()
        answer = writing.request("PUT", f"{KEYS}/copies/{name}/{urllib.parse.quote(key)}", RAW, body)
        if answer.status == 422:
            assert key.endswith("zarr.json") and all(entry["pointer"] for entry in answer.json()["errors"]), (key, answer)
            refused.add(key.removesuffix("zarr.json").strip("/"))
        else:
            assert answer.status == 200, (key, answer)
            assert key.endswith("zarr.json") or (target / key).read_bytes() == body
            n_taken += 1
    nodes = {path: server.get(f"/v1/datasets/{name}/nodes/{urllib.parse.quote(path)}").json()
             for path in (key.removesuffix("zarr.json").strip("/") for key in keys if key.endswith("zarr.json"))}
    assert refused == {path for path, node in nodes.items()
                       if "refused" in node or INDULGENCE & {warning["code"] for warning in node["warnings"]}}
    assert n_taken > 15


def guide_examples(language):
    """The examples in one language that docs/use/write.md gives to be run."""
    return [block.text for block in blocks((ROOT / "docs/use/write.md").read_text()) if block.language == language and block.mark != "no-run"]


@pytest.fixture
def guide(tmp_path):
    """The server that the examples write to, on another port."""
    server = Server(config={"datasets": {"work": {"location": str(tmp_path), "writable": True}}})
    server.root = tmp_path
    server.here = lambda text: text.replace("http://localhost:8080", server.url)
    yield server
    server.stop()


def write_with_curl(guide):
    [script] = guide_examples("sh")
    subprocess.run(["bash", "-euc", guide.here(script).replace("curl ", "curl -fsS ")], check=True, timeout=60)
    return np.array([[1.5, 1.25, 1.0], [1.75, 1.5, 1.125]], "f4")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_guide_writes_with_curl(guide):
    written = write_with_curl(guide)
    levels = zarr.open_array(guide.root / "levels", mode="r")
    np.testing.assert_array_equal(levels[...], written)
    assert levels.attrs["units"] == "m"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_the_guide_changes_from_python_what_curl_has_written(guide):
    written = write_with_curl(guide)
    change, _ = guide_examples("python")
    exec(guide.here(change), {})
    levels = zarr.open_array(guide.root / "levels", mode="r")
    np.testing.assert_array_equal(levels[...], np.vstack([written + 1, np.array([[1.5, np.nan, 2]], "f4")]))


def test_the_guide_writes_with_python(guide):
    _, script = guide_examples("python")
    exec(guide.here(script), names := {})
    rain, snow = (zarr.open_array(guide.root / name, mode="r") for name in ("rain", "snow"))
    names["npy"].seek(0)
    np.testing.assert_array_equal(rain[:2], np.load(names["npy"]))
    assert (snow[0] == 1.5).all() and (snow[1] == 0).all()


def test_the_guide_writes_from_a_web_page(guide):
    [script] = guide_examples("js")
    for _ in range(2):
        subprocess.run(["node", "--input-type=module", "-e", guide.here(script)], check=True, timeout=60)
    marks = zarr.open_array(guide.root / "marks", mode="r")
    np.testing.assert_array_equal(marks[...], np.pad(np.full((2, 2), 2.0), 1))
