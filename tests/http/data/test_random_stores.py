"""Stores that zarr-python and tensorstore make now, of shapes, chunks, types and codecs that a seed chooses: slices are what their
writer reads, and so is what readers of v3 get of /v3. ZARRD_SEED chooses, ZARRD_ARRAYS says how many of each writer."""

import os
import random
import urllib.parse
import warnings

import numcodecs
import numpy as np
import pytest
import tensorstore
import zarr
from live import Server
from search_rounds import rounds
from zarr import codecs as v3

SEED = int(os.environ.get("ZARRD_SEED", random.randrange(2**32)))
N_ARRAYS = int(os.environ.get("ZARRD_ARRAYS") or rounds(60))
NUMBERS = ["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
TIMES = ["M8[s]", "M8[ns]", "m8[D]", "m8[10us]"]
TEXTS = ["U3", "S4", "V5"]


def typestr(rng, names):
    name = rng.choice(names)
    return name if name == "bool" else rng.choice("<>") + name


def values_of(rng, dtype, shape):
    """Elements of a few values, special ones among them, so that compressors have something to do."""
    numbers = np.random.default_rng(rng.randrange(2**32))
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return numbers.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "SU":
        return numbers.choice(np.array(["", "a", "xyz", "é"[: dtype.kind == "U"]], dtype), shape)
    if dtype.kind == "V":
        return np.frombuffer(numbers.bytes(dtype.itemsize * int(np.prod(shape))), dtype).reshape(shape).copy()
    if dtype.kind in "fc":
        special = [0, -0.0, 1.5, -2, np.nan, np.inf, -np.inf, 3e4]
        values = numbers.choice(np.array(special), shape)
        return (values + 1j * numbers.choice(np.array(special[:4]), shape) if dtype.kind == "c" else values).astype(dtype)
    low, high = (-100, 100) if dtype.kind in "imM" and dtype.itemsize else (0, 200)
    return numbers.integers(low, high, shape).astype("u8" if dtype.kind == "u" else "i8").astype(dtype)


def layout_of(rng, rank_max=4):
    rank = rng.randrange(rank_max + 1)
    shape = [rng.choice([0, 1, 2, 5, 7, 9, 12]) if rng.random() < 0.9 else 1 for _ in range(rank)]
    return tuple(shape), tuple(rng.randrange(1, n + 3) for n in shape)


def slice_of(rng, shape):
    """A selection as the server takes it, and as NumPy does."""
    items = []
    for n in shape[:rng.randrange(len(shape) + 1)]:
        first, last, step = rng.randrange(-n - 1, n + 2), rng.randrange(-n - 1, n + 2), rng.choice([1, 1, 2, 3, -1, -2])
        items.append(rng.randrange(-n, n) if n and rng.random() < 0.2 else slice(first, last, step))
    text = ",".join(str(one) if isinstance(one, int) else f"{one.start}:{one.stop}:{one.step}" for one in items)
    return text, tuple(items)


# ---- writers ----


def fill_of(rng, dtype):
    dtype = np.dtype(dtype)
    if rng.random() < 0.5 or dtype.kind in "SUVmM":
        return None
    return {"b": True, "c": 1.5 - 2j, "f": rng.choice([np.nan, -np.inf, 0.5, -0.0])}.get(dtype.kind, 7)


def v2_codecs(rng, dtype):
    dtype = np.dtype(dtype)
    blosc = numcodecs.Blosc(rng.choice(["lz4", "lz4hc", "zstd", "zlib", "blosclz"]), rng.randrange(1, 9), rng.choice([-1, 0, 1, 2]))
    compressors = [None, blosc, numcodecs.Zlib(rng.randrange(10)), numcodecs.GZip(1), numcodecs.BZ2(1), numcodecs.LZMA(preset=1),
                   numcodecs.LZ4(), numcodecs.Zstd(rng.choice([-3, 1, 9]))]
    filters = []
    if dtype.kind in "iu" and rng.random() < 0.4:
        filters.append(numcodecs.Delta(dtype.str))
    if dtype.kind == "f" and rng.random() < 0.2:
        filters.append(numcodecs.AsType("<f8", dtype.str))
    if rng.random() < 0.3:
        size = np.dtype(filters[-1].encode_dtype).itemsize if filters and isinstance(filters[-1], numcodecs.AsType) else dtype.itemsize
        filters.append(numcodecs.Shuffle(size))
    if rng.random() < 0.2:
        filters.append(rng.choice([numcodecs.CRC32(), numcodecs.Adler32(), numcodecs.Fletcher32(), numcodecs.JenkinsLookup3()]))
    return rng.choice(compressors), filters or None


def write_v2(rng, root, name):
    dtype = typestr(rng, NUMBERS + TIMES + TEXTS)
    shape, chunks = layout_of(rng)
    compressor, filters = v2_codecs(rng, dtype)
    values = values_of(rng, dtype, shape)
    fill = fill_of(rng, dtype)
    array = zarr.create_array(
        str(root / name), shape=shape, chunks=chunks, dtype=dtype, zarr_format=2, compressors=compressor, filters=filters,
        order=rng.choice("CF"), chunk_key_encoding={"name": "v2", "separator": rng.choice("./")}, fill_value=fill,
        config={"write_empty_chunks": rng.random() < 0.5})
    array[...] = values
    return lambda: read_by_zarr(str(root / name), 2)


def v3_compressors(rng):
    blosc = v3.BloscCodec(cname=rng.choice(["lz4", "zstd", "zlib", "lz4hc", "blosclz"]), clevel=rng.randrange(1, 9),
                          shuffle=rng.choice(["noshuffle", "shuffle", "bitshuffle"]))
    choices = [(), (v3.GzipCodec(level=1),), (v3.ZstdCodec(level=3, checksum=rng.random() < 0.5),), (blosc,), (v3.Crc32cCodec(),),
               (v3.GzipCodec(level=5), v3.Crc32cCodec())]
    return rng.choice(choices)


def write_v3(rng, root, name):
    dtype = typestr(rng, NUMBERS + TIMES + TEXTS[:2])
    shape, inner = layout_of(rng)
    is_sharded = rng.random() < 0.4 and 0 not in shape and len(shape) > 0
    shards = tuple(n * rng.randrange(1, 4) for n in inner) if is_sharded else None
    filters = ()
    if not is_sharded and len(shape) > 1 and rng.random() < 0.4:
        filters = (v3.TransposeCodec(order=rng.sample(range(len(shape)), len(shape))),)
    array = zarr.create_array(
        str(root / name), shape=shape, chunks=inner, shards=shards, dtype=np.dtype(dtype).newbyteorder("="), zarr_format=3,
        compressors=v3_compressors(rng), filters=filters, fill_value=fill_of(rng, dtype),
        serializer=v3.BytesCodec(endian=rng.choice(["little", "big"])) if np.dtype(dtype).itemsize > 1 and dtype[1] != "S" else "auto",
        chunk_key_encoding={"name": rng.choice(["default", "v2"]), "separator": rng.choice("./")},
        config={"write_empty_chunks": rng.random() < 0.5})
    array[...] = values_of(rng, dtype, shape)
    return lambda: read_by_zarr(str(root / name))


def write_by_tensorstore(rng, root, name, driver, metadata, values):
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{root / name}/"}, "metadata": metadata}
    array = tensorstore.open(spec, create=True).result()
    array.write(values).result()
    del spec["metadata"]
    return lambda: tensorstore.open(spec, open=True, read=True).result().read().result()


def write_ts_v2(rng, root, name):
    dtype = typestr(rng, NUMBERS)
    shape, chunks = layout_of(rng)
    compressor = rng.choice([None, {"id": "zlib", "level": 1}, {"id": "bz2", "level": 1}, {"id": "zstd", "level": 1},
                             {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": rng.choice([-1, 0, 1, 2])}])
    metadata = {"shape": shape, "chunks": chunks, "dtype": np.dtype(dtype).str, "compressor": compressor, "fill_value": None,
                "order": rng.choice("CF") if len(shape) > 1 else "C", "dimension_separator": rng.choice("./"), "filters": None, "zarr_format": 2}
    return write_by_tensorstore(rng, root, name, "zarr", metadata, values_of(rng, dtype, shape))


def write_ts_v3(rng, root, name):
    dtype = np.dtype(typestr(rng, NUMBERS)).newbyteorder("=")
    shape, inner = layout_of(rng)
    endian = [{"name": "bytes", "configuration": {"endian": rng.choice(["little", "big"])}}]
    chain = endian + rng.choice([[], [{"name": "gzip", "configuration": {"level": 2}}], [{"name": "zstd", "configuration": {"level": 1}}],
                                 [{"name": "crc32c"}]])
    order = rng.sample(range(len(shape)), len(shape))
    chunks = inner
    if rng.random() < 0.5 and shape:
        chunks = tuple(n * rng.randrange(1, 4) for n in inner)
        chain = [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [inner[axis] for axis in order], "codecs": chain, "index_location": rng.choice(["start", "end"])}}]
    chain = [{"name": "transpose", "configuration": {"order": order}}, *chain]
    fill = {"b": False, "c": [0, 1]}.get(dtype.kind, 0)
    metadata = {"shape": shape, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}}, "data_type": dtype.name,
                "codecs": chain, "fill_value": fill,
                "chunk_key_encoding": {"name": rng.choice(["default", "v2"]), "configuration": {"separator": rng.choice("./")}}}
    return write_by_tensorstore(rng, root, name, "zarr3", metadata, values_of(rng, dtype, shape))


def write_n5(rng, root, name):
    dtype = np.dtype(rng.choice(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]))
    shape, chunks = layout_of(rng)
    shape, chunks = shape or (3,), chunks or (2,)
    compression = rng.choice([{"type": "raw"}, {"type": "gzip", "level": 2}, {"type": "bzip2", "blockSize": 2}, {"type": "zstd", "level": 1},
                              {"type": "xz", "preset": 1}, {"type": "blosc", "cname": "lz4", "clevel": 3, "shuffle": rng.randrange(3)}])
    metadata = {"dimensions": shape, "blockSize": chunks, "dataType": dtype.name, "compression": compression}
    return write_by_tensorstore(rng, root, name, "n5", metadata, values_of(rng, dtype, shape))


WRITERS = {write.__name__: write for write in (write_v2, write_v3, write_ts_v2, write_ts_v3, write_n5)}


# ---- readers ----


def bytes_of(values):
    values = np.asarray(values)
    values = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
    return values.tobytes()


def read_by_zarr(url, form=3):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = zarr.open_array(url, mode="r", zarr_format=form)
        return np.asarray(array[...], array.dtype)


def read_by_tensorstore(url):
    return tensorstore.open({"driver": "zarr3", "kvstore": url + "/"}, open=True, read=True).result().read().result()


def readers_of(document):
    """tensorstore knows plain numbers alone; zarr-python no raw bits, and of a transposed shard it takes the shape for the other."""
    names = [codec["name"] for codec in document["codecs"]]
    is_number = isinstance(document["data_type"], str) and not document["data_type"].startswith("r")
    is_turned = "transpose" in names and "sharding_indexed" in names
    is_known = is_number or isinstance(document["data_type"], dict)
    return [read_by_tensorstore] * is_number + [read_by_zarr] * (is_known and not is_turned)


@pytest.mark.parametrize("writer", WRITERS)
def test_zarrd_reads_the_same_as_the_writer(tmp_path, writer):
    print(f"ZARRD_SEED={SEED}")
    rng = random.Random(f"{SEED} {writer}")
    root = tmp_path / "s.zarr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = {f"a{i}": WRITERS[writer](rng, root, f"a{i}")() for i in range(N_ARRAYS)}
    server = Server(f"s={root}")
    try:
        connection = server.connection()
        for name, values in expected.items():
            document = server.get(f"/v3/s/{name}/zarr.json", connection=connection).json()
            where = f"seed {SEED}: {writer} {name}: {document}"
            for text, items in [("", ()), *(slice_of(rng, np.shape(values)) for _ in range(5))]:
                query = urllib.parse.urlencode({"slice": text, "format": "raw"})
                answer = server.get(f"/v1/datasets/s/slices/{name}?{query}", connection=connection)
                assert answer.status == 200, f"{where}[{text}]: {answer}"
                assert answer.body == bytes_of(values[(*items, ...)]), f"{where}[{text}]"
            for read in readers_of(document):
                assert bytes_of(read(f"{server.url}/v3/s/{name}")) == bytes_of(values), f"{where}: {read}"
    finally:
        server.stop()
