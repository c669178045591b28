"""A damaged chunk of every codec: whatever is left of it, the answer names the codec and the key, and costs little memory."""

import bz2
import json
import lzma
import random
import struct
import zlib

import numcodecs
import numpy as np
import pytest
from arrays import write_chunk, write_node
from client import JSON, memory_bytes
from documents import BIG, CRC, GROUP, GZIP, LITTLE, ZSTD, array_document, blosc, shard, transpose
from live import Server

MIB = 1 << 20
GROWTH_MAX = 48 * MIB
BYTES = {"name": "bytes"}
RAW = "application/octet-stream"
N = 64
WORDS = ["red", "green", "", "blue"] * (N // 4)


def codec(name, **configuration):
    return {"name": name, "configuration": configuration}


def numbers(dtype):
    return np.arange(N).astype(dtype).tobytes()


# The data type, the codecs, and the elements: bytes, or a list for those of variable length.
ROWS = {
    "numcodecs.adler32": ("uint8", [BYTES, codec("numcodecs.adler32")], numbers("u1")),
    "numcodecs.astype": ("float32", [codec("numcodecs.astype", encode_dtype="<i2", decode_dtype="<f4"), LITTLE], numbers("<f4")),
    "numcodecs.base64": ("uint8", [BYTES, codec("numcodecs.base64")], numbers("u1")),
    "bitround": ("float32", [codec("bitround", keepbits=5), LITTLE], numbers("<f4")),
    "blosc": ("int32", [LITTLE, blosc("lz4", "shuffle", 4)], numbers("<i4")),
    "bytes": ("int32", [LITTLE], numbers("<i4")),
    "numcodecs.bz2": ("int32", [LITTLE, codec("numcodecs.bz2", level=1)], numbers("<i4")),
    "cast_value": ("float32", [codec("cast_value", data_type="int16"), LITTLE], numbers("<f4")),
    "numcodecs.categorize": ("string", [codec("numcodecs.categorize", labels=["red", "green", "blue"]), BYTES], WORDS),
    "conditional": ("int32", [LITTLE, codec("conditional", codecs=[GZIP])], numbers("<i4")),
    "numcodecs.crc32": ("uint8", [BYTES, codec("numcodecs.crc32")], numbers("u1")),
    "crc32c": ("uint8", [BYTES, CRC], numbers("u1")),
    "numcodecs.delta": ("int32", [codec("numcodecs.delta", dtype="<i4"), LITTLE], numbers("<i4")),
    "numcodecs.fixedscaleoffset": ("float32", [codec("numcodecs.fixedscaleoffset", offset=0, scale=10, dtype="<f4", astype="<i2"),
                                               LITTLE], numbers("<f4")),
    "numcodecs.fletcher32": ("uint8", [BYTES, codec("numcodecs.fletcher32")], numbers("u1")),
    "gzip": ("int32", [LITTLE, GZIP], numbers("<i4")),
    "numcodecs.jenkins_lookup3": ("uint8", [BYTES, codec("numcodecs.jenkins_lookup3")], numbers("u1")),
    "numcodecs.lz4": ("int32", [LITTLE, codec("numcodecs.lz4")], numbers("<i4")),
    "numcodecs.lzma": ("int32", [LITTLE, codec("numcodecs.lzma")], numbers("<i4")),
    "n5_default": ("int32", [codec("n5_default", codecs=[transpose(0), BIG, GZIP])], numbers("<i4")),
    "numcodecs.blosc": ("int32", [LITTLE, codec("numcodecs.blosc", shuffle=1)], numbers("<i4")),
    "numcodecs.crc32c": ("uint8", [BYTES, codec("numcodecs.crc32c", location="start")], numbers("u1")),
    "numcodecs.gzip": ("int32", [LITTLE, codec("numcodecs.gzip", level=1)], numbers("<i4")),
    "numcodecs.packbits": ("bool", [codec("numcodecs.packbits"), BYTES], bytes([1, 0] * (N // 2))),
    "numcodecs.zstd": ("int32", [LITTLE, codec("numcodecs.zstd", level=1)], numbers("<i4")),
    "packbits": ("bool", [codec("packbits")], bytes([1, 0] * (N // 2))),
    "numcodecs.quantize": ("float32", [codec("numcodecs.quantize", digits=1, dtype="<f4"), LITTLE], numbers("<f4")),
    "reshape": ("int32", [codec("reshape", shape=[8, 8]), LITTLE], numbers("<i4")),
    "scale_offset": ("float32", [codec("scale_offset", offset=1, scale=2), LITTLE], numbers("<f4")),
    "sharding_indexed": ("int32", [shard([16])], numbers("<i4")),
    "numcodecs.shuffle": ("int32", [LITTLE, codec("numcodecs.shuffle", elementsize=4)], numbers("<i4")),
    "transpose": ("int32", [transpose(0), LITTLE], numbers("<i4")),
    "vlen-bytes": ("bytes", [codec("vlen-bytes")], ["cmVk", ""] * (N // 2)),
    "vlen-utf8": ("string", [codec("vlen-utf8")], WORDS),
    "zfp": ("float32", [codec("zfp", mode="reversible")], numbers("<f4")),
    "numcodecs.zfpy": ("float32", [codec("numcodecs.zfpy", mode=5)], numbers("<f4")),
    "numcodecs.zlib": ("int32", [LITTLE, codec("numcodecs.zlib", level=1)], numbers("<i4")),
    "zstd": ("int32", [LITTLE, ZSTD], numbers("<i4")),
}
# Only read: what numcodecs stores of the words.
OBJECTS = np.array(WORDS, object)
READ_ONLY = {"numcodecs.json2": numcodecs.JSON().encode(OBJECTS)}
ELSEWHERE = {  # documents of other dialects, or codecs whose bytes are made there
    "n5.lz4": "test_n5", "v2.struct": "test_structures", "numcodecs.msgpack2": "test_variable_length",
    "numcodecs.vlen-array": "test_variable_length",
}
# A byte that changes is always noticed.
CHECKED = {"crc32c", "numcodecs.crc32", "numcodecs.crc32c", "numcodecs.adler32", "numcodecs.fletcher32", "numcodecs.jenkins_lookup3",
           "gzip", "numcodecs.gzip", "numcodecs.zlib", "numcodecs.bz2", "numcodecs.lzma"}
ZEROS = bytes(64 * MIB)
BOMBS = {
    "gzip": lambda: zlib.compress(ZEROS, 9, 31),
    "numcodecs.zlib": lambda: zlib.compress(ZEROS, 9),
    "numcodecs.bz2": lambda: bz2.compress(ZEROS),
    "numcodecs.lzma": lambda: lzma.compress(ZEROS, preset=1),
    "numcodecs.lz4": lambda: bytes(numcodecs.LZ4().encode(ZEROS)),
    "zstd": lambda: bytes(numcodecs.Zstd().encode(ZEROS)),
    "blosc": lambda: bytes(numcodecs.Blosc("zstd").encode(np.frombuffer(ZEROS, "u1"))),
    "conditional": lambda: b"\1" + zlib.compress(ZEROS, 9, 31),
    "n5_default": lambda: struct.pack(">HHI", 0, 1, N) + zlib.compress(ZEROS, 9, 31),
    "vlen-utf8": lambda: struct.pack("<II", N, 2**31),
    "vlen-bytes": lambda: struct.pack("<I", 2**32 - 1) + bytes(64),
}


def name_of(codec):
    return codec.replace(".", "_")


def make(server, folder, name):
    dtype, codecs, elements = ROWS[name]
    fill = {"string": "", "bytes": "", "bool": False}.get(dtype, 0)
    document = array_document([N], [N], dtype, fill, codecs=codecs)
    write_node(folder / name_of(name), document)
    is_text = isinstance(elements, list)
    put = server.request("PUT", f"/v1/datasets/d/slices/{name_of(name)}", JSON if is_text else {"Content-Type": RAW},
                         json.dumps(elements).encode() if is_text else elements)
    assert put.status == 200, (name, put)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damage")


@pytest.fixture(scope="module")
def server(folder):
    write_node(folder, GROUP)
    running = Server(config={"datasets": {"d": {"location": str(folder), "writable": True, "durable": False, "revalidate_ms": 0}}})
    for name in ROWS:
        make(running, folder, name)
    for name, stored in READ_ONLY.items():
        write_node(folder / name_of(name), array_document([N], [N], "string", "", codecs=[codec(name)]))
        write_chunk(folder / name_of(name), (0,), bytes(stored))
    yield running
    running.stop()


def names_in(codecs):
    for one in codecs:
        yield one["name"]
        yield one["name"].removeprefix("numcodecs.")
        yield from names_in(one.get("configuration", {}).get("codecs", []))
        yield from names_in(one.get("configuration", {}).get("index_codecs", []))


def check(server, folder, name, damage, must_notice=True):
    place = name_of(name)
    (folder / place / "c" / "0").write_bytes(damage)
    codecs = json.loads((folder / place / "zarr.json").read_text())["codecs"]
    before = memory_bytes(server, "VmHWM")
    for target in (f"slices/{place}?format=json", f"chunks/{place}?index=0&decoded=1"):
        answer = server.get("/v1/datasets/d/" + target)
        if answer.status == 200 and not must_notice:
            continue
        if target.startswith("chunks") and answer.status == 406:
            continue  # elements of variable length have no such form
        assert (answer.status, answer.code) == (500, "corrupt_chunk"), (target, damage[:40], answer)
        problem = answer.json()
        assert f"{place}/c/0" in problem["detail"], problem
        assert problem.get("names") and set(problem["names"]) <= set(names_in(codecs)), problem
    assert server.get(f"/zarr/d/{place}/c/0").body == damage
    assert memory_bytes(server, "VmHWM") - before < GROWTH_MAX


def damages(name, stored):
    yield from (b"", stored[: len(stored) // 2])
    if name != "sharding_indexed":  # a shard may have anything before its index
        yield stored * 3
    if "zfp" in name:  # a stream is some words of 8 bytes, and what is missing of one is zeros
        yield from (stored[:-8], stored + bytes(8))
    else:
        yield from (stored[:1], stored[:-1], stored + b"\0\0\0")


@pytest.mark.parametrize("name", [*ROWS, *READ_ONLY])
def test_the_rest_of_a_chunk_is_corrupt(server, folder, name):
    chunk = folder / name_of(name) / "c" / "0"
    stored = chunk.read_bytes()
    rng = random.Random(name)
    try:
        for damage in damages(name, stored):
            check(server, folder, name, damage)
        for _ in range(20):
            at = rng.randrange(len(stored))
            flipped = stored[:at] + bytes([stored[at] ^ 1 << rng.randrange(8)]) + stored[at + 1:]
            check(server, folder, name, flipped, must_notice=name in CHECKED and "gzip" not in name)
    finally:
        chunk.write_bytes(stored)
    assert server.get(f"/v1/datasets/d/slices/{name_of(name)}").status == 200


@pytest.mark.parametrize("name", BOMBS)
def test_an_answer_that_would_be_too_long_is_not_made(server, folder, name):
    chunk = folder / name_of(name) / "c" / "0"
    stored = chunk.read_bytes()
    try:
        check(server, folder, name, BOMBS[name]())
    finally:
        chunk.write_bytes(stored)


def test_no_codec_is_left_out(server):
    listed = {one["name"] for one in server.get("/v1/extensions").json()["codecs"]}
    assert listed <= {*ROWS, *READ_ONLY, *ELSEWHERE}
