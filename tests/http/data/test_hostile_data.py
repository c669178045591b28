"""A server over stores that lie: whatever stands in them, it answers with the documented problem, keeps within its memory, and
serves the next request."""

import gzip
import json
import os
import socket
import struct
import threading

import numpy as np
import pytest
from arrays import MISSING, crc32c, write_array
from client import is_sanitized, memory_bytes
from documents import CRC, GZIP, LITTLE, ZSTD
from live import Server
from numcodecs import Blosc, Zstd

MIB = 1 << 20
GOOD = np.arange(64, dtype="uint8")
GROWTH_MAX = 48 * MIB  # of the peak of resident memory, by one hostile chunk or document
BLOSC = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 1, "shuffle": "noshuffle", "typesize": 1, "blocksize": 0}}
BYTES = [{"name": "bytes"}]


def shard(inner=BYTES, index=[LITTLE], chunk_shape=8):
    return [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [chunk_shape], "codecs": inner, "index_codecs": index, "index_location": "end"}}]


def index(*entries):
    """An index of eight inner chunks; those that are not named are missing."""
    entries += ((MISSING, MISSING),) * (8 - len(entries))
    return b"".join(struct.pack("<QQ", *entry) for entry in entries)


def blosc(position, layout, value, data=GOOD):
    """A blosc chunk with a lie in its header: version, versionlz, flags, typesize, nbytes, blocksize, cbytes, block starts."""
    chunk = bytearray(Blosc(cname="lz4", clevel=1, shuffle=0).encode(np.repeat(data, 1)))
    struct.pack_into(layout, chunk, position, value)
    return bytes(chunk)


DATA = GOOD.tobytes()
ZEROS = bytes(64 * MIB)
BOMB = gzip.compress(ZEROS, 9)
SHARD = DATA  # eight inner chunks of eight bytes, one after the other

# What is stored as the only chunk of 64 bytes: name, codecs, bytes.
CORRUPT = [
    ("empty", BYTES, b""),
    ("truncated", BYTES, DATA[:-1]),
    ("surplus", BYTES, DATA + b"\0"),
    ("oversized", BYTES, ZEROS[:8 * MIB]),
    ("big_endian_truncated", [LITTLE, ZSTD], bytes(Zstd().encode(DATA[:63]))),
    ("transposed_truncated", [{"name": "transpose", "configuration": {"order": [0]}}, *BYTES], DATA[:-1]),
    ("gzip_nothing", [*BYTES, GZIP], b""),
    ("gzip_noise", [*BYTES, GZIP], b"\x1f\x8b" + DATA),
    ("gzip_truncated", [*BYTES, GZIP], gzip.compress(DATA)[:-9]),
    ("gzip_short", [*BYTES, GZIP], gzip.compress(DATA[:-1])),
    ("gzip_long", [*BYTES, GZIP], gzip.compress(DATA + b"\0")),
    ("gzip_bomb", [*BYTES, GZIP], BOMB),
    ("gzip_bomb_that_lies", [*BYTES, GZIP], BOMB[:-4] + struct.pack("<I", 64)),
    ("gzip_bombs_nested", [*BYTES, GZIP, GZIP], gzip.compress(BOMB)),
    ("zstd_nothing", [*BYTES, ZSTD], b""),
    ("zstd_noise", [*BYTES, ZSTD], b"\x28\xb5\x2f\xfd" + DATA),
    ("zstd_truncated", [*BYTES, ZSTD], bytes(Zstd().encode(DATA))[:-5]),
    ("zstd_short", [*BYTES, ZSTD], bytes(Zstd().encode(DATA[:-1]))),
    ("zstd_long", [*BYTES, ZSTD], bytes(Zstd().encode(DATA + b"\0"))),
    ("zstd_bomb", [*BYTES, ZSTD], bytes(Zstd(level=19).encode(ZEROS))),
    ("zstd_bombs_in_a_row", [*BYTES, ZSTD], bytes(Zstd(level=19).encode(ZEROS)) * 8),
    ("zstd_bombs_nested", [*BYTES, ZSTD, ZSTD], bytes(Zstd().encode(bytes(Zstd().encode(ZEROS))))),
    ("zstd_window_of_gigabytes", [*BYTES, ZSTD], b"\x28\xb5\x2f\xfd\x00\xb0" + b"\x01\x00\x00"),
    ("zstd_size_of_2_to_the_60", [*BYTES, ZSTD], b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 60) + b"\x01\x00\x00"),
    ("blosc_nothing", [*BYTES, BLOSC], b""),
    ("blosc_half_a_header", [*BYTES, BLOSC], blosc(0, "B", 2)[:15]),
    ("blosc_truncated", [*BYTES, BLOSC], blosc(0, "B", 2)[:-1]),
    ("blosc_2_gib", [*BYTES, BLOSC], blosc(4, "<I", 2**31 - 17)),
    ("blosc_4_gib", [*BYTES, BLOSC], blosc(4, "<I", 2**32 - 1)),
    ("blosc_short", [*BYTES, BLOSC], bytes(Blosc(cname="lz4").encode(GOOD[:63]))),
    ("blosc_version_99", [*BYTES, BLOSC], blosc(0, "B", 99)),
    ("blosc_wrong_length", [*BYTES, BLOSC], blosc(12, "<I", 2**31 - 1)),
    ("blosc_bomb", [*BYTES, BLOSC], bytes(Blosc(cname="zstd", clevel=9).encode(np.frombuffer(ZEROS, dtype="uint8")))),
    ("crc32c_wrong", [*BYTES, CRC], DATA + b"\0\0\0\0"),
    ("crc32c_of_other_bytes", [*BYTES, CRC], b"\1" + DATA[1:] + crc32c(DATA)),
    ("crc32c_alone", [*BYTES, CRC], b"\0\0\0"),
    ("shard_nothing", shard(), b""),
    ("shard_shorter_than_its_index", shard(), index((0, 8))[:-1]),
    ("shard_outside", shard(), SHARD + index((1000, 8))),
    ("shard_across_the_end", shard(), SHARD + index((len(SHARD) + 120, 16))),
    ("shard_overflow", shard(), SHARD + index((2**64 - 8, 16))),
    ("shard_half_missing", shard(), SHARD + index((MISSING, 8))),
    ("shard_no_length", shard(), SHARD + index((0, MISSING))),
    ("shard_inner_too_long", shard(), SHARD + index((0, 64))),
    ("shard_inner_too_short", shard(), SHARD + index((0, 7))),
    ("shard_index_crc", shard(index=[LITTLE, CRC]), SHARD + index((0, 8)) + b"\0\0\0\0"),
    ("shard_inner_bomb", shard([*BYTES, ZSTD]), (bomb := bytes(Zstd().encode(ZEROS[:MIB]))) + index((0, len(bomb)))),
    ("shard_nested_outside", shard(shard(chunk_shape=1)), DATA + index((0, 16)) + index((500, 8), (0, 100))),
]

# Strange, and yet every byte of the chunk can be told.
TOLERATED = [
    ("shard_overlapping", shard(), SHARD + index(*[(0, 8)] * 8)),
    ("shard_in_its_own_index", shard(), SHARD + index(*[(len(SHARD), 8)] * 8)),
    ("gzip_members", [*BYTES, GZIP], gzip.compress(DATA[:30]) + gzip.compress(DATA[30:])),
    ("zstd_frames", [*BYTES, ZSTD], bytes(Zstd().encode(DATA[:30])) + bytes(Zstd().encode(DATA[30:]))),
]

ARRAY = {"zarr_format": 3, "node_type": "array", "shape": [64], "data_type": "uint8",
         "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [64]}},
         "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "codecs": BYTES}


def text(**members):
    return json.dumps({**ARRAY, **members}).encode()


def grid(*chunk_shape):
    return {"name": "regular", "configuration": {"chunk_shape": list(chunk_shape)}}


DEEP = b"[" * 1000 + b"]" * 1000

# Documents that make no array.
REFUSED = [
    ("nothing", b""),
    ("not_json", b"{\"zarr_format\": 3,"),
    ("not_an_object", b"[]"),
    ("null", b"null"),
    ("noise", bytes(range(128, 256)) * 8),
    ("zeros", bytes(4096)),
    ("byte_order_mark", b"\xef\xbb\xbf" + text()),
    ("utf16", text().decode().encode("utf-16")),
    ("ten_megabytes", text(attributes={"a": "x" * (10 * MIB)})),
    ("sixty_thousand_values", text(attributes={"a": [0] * 60000})),
    ("a_thousand_deep", text()[:-1] + b', "attributes": {"a": ' + DEEP + b"}}"),
    ("a_million_deep", b"[" * MIB),
    ("duplicate_members", text()[:-1] + b', "shape": [1]}'),
    ("nul_in_a_name", text(attributes={"a\0b": 1})),
    ("invalid_utf8", text(attributes={"a": "?"}).replace(b"?", b"\xc3\x28")),
    ("lone_surrogate_in_a_name", text()[:-1] + b', "attributes": {"\\ud800": "a"}}'),
    ("rank_33", text(shape=[1] * 33, chunk_grid=grid(*[1] * 33))),
    ("rank_10000", text(shape=[1] * 10000, chunk_grid=grid(*[1] * 10000))),
    ("chunk_shape_0", text(chunk_grid=grid(0))),
    ("chunk_shape_negative", text(chunk_grid=grid(-1))),
    ("chunk_shape_real", text(chunk_grid=grid(1.5))),
    ("chunk_shape_2_to_the_64", text(chunk_grid=grid(2**64))),
    ("shape_negative", text(shape=[-1])),
    ("shape_2_to_the_64", text(shape=[2**64])),
    ("chunk_product_beyond_64_bits", text(shape=[2**40] * 2, chunk_grid=grid(2**40, 2**40))),
    ("chunk_of_a_terabyte", text(shape=[2**50], chunk_grid=grid(2**40))),
    ("chunk_bytes_beyond_64_bits", text(shape=[2**62], data_type="float64", fill_value=0, chunk_grid=grid(2**62), codecs=[LITTLE])),
    ("raw_bits_0", text(data_type="r0", fill_value=[])),
    ("raw_bits_7", text(data_type="r7", fill_value=[0])),
    ("raw_bits_beyond_64", text(data_type="r18446744073709551624", fill_value=[0])),
    ("raw_bits_huge", text(data_type="r4294967296", fill_value=[0])),
    ("data_type_number", text(data_type=8)),
    ("fill_value_too_large", text(fill_value=256)),
    ("fill_value_text", text(fill_value="0xZZ")),
    ("fill_value_list", text(fill_value=[1, 2, 3])),
    ("fill_value_object", text(fill_value={"a": 1})),
    ("fill_value_nan_of_an_integer", text(fill_value="NaN")),
    ("dimension_names_too_many", text(dimension_names=["a", "b"])),
    ("dimension_names_text", text(dimension_names="a")),
    ("dimension_names_numbers", text(dimension_names=[1])),
    ("codecs_nothing", text(codecs=[GZIP])[:-2] + b"5]}"),
    ("codecs_a_thousand", text(codecs=BYTES + [GZIP] * 1000)),
    ("shards_a_hundred_deep", text(codecs=(lambda deep: [deep := shard(deep, chunk_shape=64) for _ in range(100)][-1])(BYTES))),
    ("shard_of_2_to_the_60_chunks", text(shape=[2**60], chunk_grid=grid(2**60), codecs=shard(chunk_shape=1))),
]

S = "/v1/datasets/h/slices/"


def write_chunk(root, name, codecs, data):
    write_array(root / name, [64], [64], codecs, dtype="uint8")
    (root / name / "c").mkdir()
    (root / name / "c" / "0").write_bytes(data)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile")
    (root / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
    write_array(root / "good", [64], [16], BYTES, GOOD, "uint8")
    for name, codecs, data in CORRUPT + TOLERATED:
        write_chunk(root, name, codecs, data)
    for name, document in REFUSED:
        (root / name).mkdir()
        (root / name / "zarr.json").write_bytes(document)
    running = Server(f"h={root}")
    running.root = root
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def survives(hostile):
    """After each test the same process answers as it should."""
    yield
    assert hostile.process.poll() is None, hostile.log[-3000:]
    assert hostile.get(S + "good").body == DATA
    assert hostile.get("/livez").status == 200


@pytest.mark.parametrize("name", [name for name, _, _ in CORRUPT])
def test_a_corrupt_chunk_is_a_problem_that_names_its_key(hostile, name):
    before = memory_bytes(hostile, "VmHWM")
    for target in (S + name, S + name + "?slice=3", S + name + "?format=json", f"/v1/datasets/h/chunks/{name}?index=0&decoded=1"):
        answer = hostile.get(target)
        if target == S + name + "?slice=3" and answer.status == 200:
            assert answer.body == DATA[3:4]  # what is asked of a chunk may be whole
            continue
        assert (answer.status, answer.code) == (500, "corrupt_chunk"), (target, answer)
        assert f"{name}/c/0" in answer.json()["detail"], answer
    assert hostile.get(f"/zarr/h/{name}/c/0").body == (hostile.root / name / "c" / "0").read_bytes()
    assert is_sanitized(hostile) or memory_bytes(hostile, "VmHWM") - before < GROWTH_MAX


# What the index of a shard can say of an inner chunk of eight bytes without being true.
DAMAGED = [(1000, 8), (190, 8), (2**64 - 8, 16), (MISSING, 8), (0, MISSING), (0, 64), (0, 9), (16, 7)]


@pytest.mark.parametrize("entry", DAMAGED)
@pytest.mark.parametrize("at", [0, 3, 7])
def test_a_damaged_entry_of_a_shard_is_the_fault_of_its_chunk_alone(serve, tmp_path, entry, at):
    good = [(8 * i, 8) for i in range(8)]
    write_chunk(tmp_path, "a", shard(), SHARD + index(*good[:at], entry, *good[at + 1:]))
    w = serve("-w", f"w={tmp_path}")
    expected = bytearray(DATA)

    def check():
        for i in range(8):
            for target in (f"slices/a?slice={8 * i}:{8 * i + 8}", f"chunks/a?index={i}&level=inner&decoded=1"):
                answer = w.get("/v1/datasets/w/" + target)
                if i == at:
                    assert (answer.status, answer.code) == (500, "corrupt_chunk"), (target, answer)
                else:
                    assert (answer.status, answer.body) == (200, expected[8 * i:8 * i + 8]), (target, answer)
        assert w.get("/v1/datasets/w/slices/a").code == "corrupt_chunk"

    def put(first, data):
        return w.request("PUT", f"/v1/datasets/w/slices/a?slice={first}:{first + len(data)}", {"Content-Type": "application/octet-stream"}, data)

    check()
    other = 8 * ((at + 1) % 8) + 2
    assert put(other, b"xyz").status == 200
    expected[other:other + 3] = b"xyz"
    check()
    assert put(8 * at + 2, b"xyz").code == "corrupt_chunk"
    check()
    assert put(8 * at, b"restored").status == 200
    expected[8 * at:8 * at + 8] = b"restored"
    assert w.get("/v1/datasets/w/slices/a").body == expected


@pytest.mark.parametrize("name, codecs", [("plain", BYTES), ("zstd", [*BYTES, ZSTD]), ("blosc", [*BYTES, BLOSC])])
def test_an_object_too_long_for_a_chunk_is_not_read(hostile, name, codecs):
    name = "gigabyte_" + name
    write_chunk(hostile.root, name, codecs, b"")
    os.truncate(hostile.root / name / "c" / "0", 1 << 30)
    before, read = memory_bytes(hostile, "VmHWM"), hostile.metrics()["zarrd_store_read_bytes_total"]
    for target in (S + name, f"/v1/datasets/h/chunks/{name}?index=0&decoded=1"):
        answer = hostile.get(target)
        assert (answer.status, answer.code) == (500, "corrupt_chunk"), (target, answer)
        assert f"{name}/c/0" in answer.json()["detail"], answer
    assert hostile.metrics()["zarrd_store_read_bytes_total"] - read < MIB
    assert memory_bytes(hostile, "VmHWM") - before < GROWTH_MAX


@pytest.mark.parametrize("name", [name for name, _, _ in TOLERATED])
def test_a_strange_chunk_is_one(hostile, name):
    answer = hostile.get(S + name)
    assert answer.status == 200 and len(answer.body) == 64, answer
    if not name.startswith("shard"):
        assert answer.body == DATA


@pytest.mark.parametrize("name", [name for name, _ in REFUSED])
def test_a_hostile_document_makes_no_array(hostile, name):
    before = memory_bytes(hostile, "VmHWM")
    answer = hostile.get(S + name)
    assert answer.status == 422, answer
    assert answer.code == "invalid_metadata" or answer.code.startswith("unsupported_"), answer
    node = hostile.get("/v1/datasets/h/nodes/" + name)
    assert node.status == 200
    # A valid document whose chunks nobody can hold is shown as the array that it is.
    assert "refused" in node.json() or node.json()["array"]["can"] == {"slice": False, "write": False}
    assert memory_bytes(hostile, "VmHWM") - before < GROWTH_MAX


def test_a_listing_has_all_of_them(hostile):
    listed = {node["path"] for node in hostile.get("/v1/datasets/h/tree/").json()["nodes"]}
    assert listed >= {name for name, _ in REFUSED} | {name for name, _, _ in CORRUPT}


def test_2_to_the_60_chunks_are_too_many_before_anything_is_read(hostile):
    write_array(hostile.root / "endless", [2**60], [1], BYTES, dtype="uint8")
    assert hostile.get(S + "endless?slice=5").body == b"\0"  # of an absent chunk
    with hostile.cost() as cost:
        for query in ("", "?slice=0:100001", "?slice=::1000000000000", "?slice=::-1"):
            answer = hostile.get(S + "endless" + query)
            assert (answer.status, answer.code) == (413, "too_large"), answer
            assert answer.json()["limit"] < answer.json()["requested"]
    assert cost["zarrd_store_reads_total"] == 0
    assert hostile.get("/v1/datasets/h/chunks/endless?present=1").code == "too_large"


def test_large_attributes_are_served(hostile):
    attributes = {f"a{i}": "x" * 1000 for i in range(900)}
    write_array(hostile.root / "wordy", [64], [16], BYTES, GOOD, "uint8")
    (hostile.root / "wordy" / "zarr.json").write_bytes(text(chunk_grid=grid(16), attributes=attributes))
    assert hostile.get("/v1/datasets/h/nodes/wordy").json()["metadata"]["attributes"] == attributes
    assert hostile.get(S + "wordy").body == DATA


def put_fifo(path):
    os.mkfifo(path)


def put_socket(path):
    # The name of a socket is short: bound where we stand, then moved.
    here = os.getcwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def put_loop(path):
    path.symlink_to(path.name)


def put_escape(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("put", [put_fifo, put_socket, put_loop, put_escape])
def test_a_key_that_is_no_file_is_a_store_fault_and_blocks_nobody(hostile, put):
    name = put.__name__
    write_array(hostile.root / name, [64], [64], BYTES, dtype="uint8")
    (hostile.root / name / "c").mkdir()
    put(hostile.root / name / "c" / "0")
    (hostile.root / (name + "_document")).mkdir()
    put(hostile.root / (name + "_document") / "zarr.json")
    for target in (S + name, f"/zarr/h/{name}/c/0", S + name + "_document", f"/zarr/h/{name}_document/zarr.json"):
        answer = hostile.get(target)
        assert (answer.status, answer.code) == (502, "store_error"), (target, answer)


def test_a_directory_where_a_file_is_due_is_a_prefix_and_no_key(hostile):
    write_array(hostile.root / "prefix", [64], [64], BYTES, dtype="uint8")
    (hostile.root / "prefix" / "c" / "0").mkdir(parents=True)
    (hostile.root / "prefix_document" / "zarr.json").mkdir(parents=True)
    assert hostile.get(S + "prefix").body == bytes(64)
    assert hostile.get("/zarr/h/prefix/c/0").status == 301
    assert hostile.get(S + "prefix_document").code == "node_not_found"


def test_a_file_that_is_replaced_while_it_is_read_is_the_old_or_the_new_one(hostile, tmp_path):
    root = tmp_path / "replaced"
    write_array(root / "a", [1000, 1000], [1000, 1000], BYTES, np.zeros((1000, 1000), "uint8"), "uint8")
    server = Server(config={"datasets": {"r": {"location": str(root), "revalidate_ms": 0}}})
    ended = threading.Event()

    def replace():
        n = 0
        while not ended.is_set():
            n += 1
            (root / "new").write_bytes(bytes([n % 256]) * 1000000)
            os.replace(root / "new", root / "a" / "c" / "0" / "0")

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(20):
            for target in ("/v1/datasets/r/slices/a", "/v1/datasets/r/slices/a?slice=::500,::3", "/zarr/r/a/c/0/0"):
                answer = server.get(target)
                assert answer.status in (200, 500, 502, 503), answer
                assert answer.status != 200 or len(set(answer.body)) == 1, target
    finally:
        ended.set()
        thread.join()
        server.stop()
