"""Codecs of bytes that numcodecs has: what it encodes is read, of v2 and v3; it decodes what zarrd writes; damage is named."""

import json
import os
import random

import numcodecs
import numpy as np
import pytest
from arrays import chunk_indices, chunk_of, write_array
from documents import LITTLE, array_document
from numcodecs.registry import get_codec

RAW_LZMA = [{"id": 3, "dist": 2}, {"id": 33, "preset": 0}]
CODECS = {
    "bz2": ("bz2", {}),
    "bz2 at level 9": ("bz2", {"level": 9}),
    "lzma": ("lzma", {}),
    "lzma, .xz": ("lzma", {"format": 1, "check": 10, "preset": 0, "filters": None}),
    "lzma, .lzma": ("lzma", {"format": 2, "check": -1, "preset": 1, "filters": None}),
    "lzma, raw": ("lzma", {"format": 3, "filters": RAW_LZMA}),
    "zlib": ("zlib", {"level": 9}),
    "lz4": ("lz4", {}),
    "shuffle": ("shuffle", {"elementsize": 2}),
    "base64": ("base64", {}),
    "gzip": ("gzip", {}),
    "gzip at level 9": ("gzip", {"level": 9}),
    "zstd": ("zstd", {"level": 7, "checksum": True}),
    "blosc": ("blosc", {}),
    "blosc by bits": ("blosc", {"cname": "zstd", "clevel": 3, "shuffle": 2}),
    "blosc as it likes": ("blosc", {"shuffle": -1}),
    "crc32": ("crc32", {}),
    "crc32 at the end": ("crc32", {"location": "end"}),
    "adler32": ("adler32", {"location": "start"}),
    "adler32 at the end": ("adler32", {"location": "end"}),
    "fletcher32": ("fletcher32", {}),
    "jenkins_lookup3": ("jenkins_lookup3", {}),
    "jenkins_lookup3 with a beginning": ("jenkins_lookup3", {"initval": 4000000000}),
}
CHECKSUMS = [name for name, (codec, _) in CODECS.items() if codec in {"crc32", "adler32", "fletcher32", "jenkins_lookup3"}]
FIXED = [*CHECKSUMS, "shuffle", "base64"]  # what is too long is not decoded
SHAPE, CHUNK = (7, 10), (4, 3)
SEED = int(os.environ.get("ZARRD_SEED", random.randrange(2**32)))


def encoder(codec, parameters):
    return lambda data: bytes(get_codec({"id": codec, **parameters}).encode(data))


def folder_of(name, version):
    return f"{name.replace(' ', '_').replace(',', '').replace('.', '')}_v{version}"


def write_v2(folder, values, codec, parameters, is_filter):
    entry = {"id": codec, **parameters}
    folder.mkdir()
    (folder / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": SHAPE, "chunks": CHUNK, "dtype": "<u2", "fill_value": 0, "order": "C",
        "compressor": None if is_filter else entry, "filters": [entry] if is_filter else None}))
    for index in chunk_indices(SHAPE, CHUNK):
        (folder / ".".join(map(str, index))).write_bytes(
            encoder(codec, parameters)(chunk_of(values, index, CHUNK).tobytes()))


@pytest.fixture(scope="module")
def values():
    print(f"ZARRD_SEED={SEED}")
    return np.random.default_rng(SEED).integers(0, 300, SHAPE, "<u2")


@pytest.fixture(scope="module")
def store(tmp_path_factory, values):
    root = tmp_path_factory.mktemp("numcodecs")
    for number, (name, (codec, parameters)) in enumerate(CODECS.items()):
        v3 = {"name": f"numcodecs.{codec}", "configuration": parameters}
        write_array(root / folder_of(name, 3), SHAPE, CHUNK, [LITTLE, v3], values, "uint16", encoder(codec, parameters))
        write_v2(root / folder_of(name, 2), values, codec, parameters, number % 2)
    return root


@pytest.fixture(scope="module")
def server(store, serve_module):
    return serve_module(config={"datasets": {"data": {"location": str(store), "writable": True, "revalidate_ms": 0}}})


def elements(server, node):
    answer = server.get(f"/v1/datasets/data/slices/{node}")
    assert answer.status == 200, f"{node}: {answer}"
    return np.frombuffer(answer.body, "<u2").reshape(SHAPE)


@pytest.mark.parametrize("version", (2, 3))
@pytest.mark.parametrize("name", CODECS)
def test_chunks_encoded_by_numcodecs_are_read(server, values, name, version):
    assert (elements(server, folder_of(name, version)) == values).all()


@pytest.mark.parametrize("name", CODECS)
def test_numcodecs_decodes_written_chunks(server, store, values, name):
    codec, parameters = CODECS[name]
    document = array_document(SHAPE, CHUNK, "uint16",
                              codecs=[LITTLE, {"name": f"numcodecs.{codec}", "configuration": parameters}])
    node = f"written_{folder_of(name, 3)}"
    put = server.request("PUT", f"/v1/datasets/data/nodes/{node}", {"Content-Type": "application/json"},
                         json.dumps(document).encode())
    assert put.status == 201, put
    put = server.request("PUT", f"/v1/datasets/data/slices/{node}", {"Content-Type": "application/octet-stream"}, values.tobytes())
    assert put.status == 200, put
    assert (elements(server, node) == values).all()
    for index in chunk_indices(SHAPE, CHUNK):
        stored = store.joinpath(node, "c", *map(str, index)).read_bytes()
        if codec == "lzma" and "filters" in parameters:  # numcodecs takes filters for raw streams only
            parameters = {key: value for key, value in parameters.items() if value is not None}
        decoded = get_codec({"id": codec, **parameters}).decode(stored)
        assert np.frombuffer(decoded, "<u2").reshape(CHUNK).tolist() == chunk_of(values, index, CHUNK).tolist()


def damages(stored):
    yield stored[:-1]
    yield stored + b"\0\0\0"
    yield b""
    yield stored[:3]


@pytest.mark.parametrize("name", CODECS)
def test_a_damaged_chunk_names_codec_and_key(server, store, name):
    codec, _ = CODECS[name]
    node = folder_of(name, 3)
    chunk = store / node / "c" / "1" / "2"
    stored = chunk.read_bytes()
    for damage in damages(stored):
        chunk.write_bytes(damage)
        problem = server.get(f"/v1/datasets/data/slices/{node}?slice=5,7")
        assert (problem.status, problem.code) == (500, "corrupt_chunk"), damage
        assert f"{node}/c/1/2" in problem.json()["detail"]
        if name in FIXED and len(damage) > len(stored):
            assert f"the stored object exceeds the {len(stored)} bytes" in problem.json()["detail"]
        registered = codec in {"gzip", "zstd", "blosc"}
        assert problem.json()["names"] == [codec if registered else f"numcodecs.{codec}"]
    chunk.write_bytes(stored)
    assert server.get(f"/v1/datasets/data/slices/{node}?slice=5,7").status == 200


@pytest.mark.parametrize("name", CHECKSUMS)
def test_a_wrong_checksum_says_which_it_is(server, store, name):
    codec, parameters = CODECS[name]
    node = folder_of(name, 2)
    chunk = store / node / "0.0"
    stored = chunk.read_bytes()
    at = 0 if parameters.get("location", "start") == "start" and codec in {"crc32", "adler32"} else len(stored) - 4
    found = int.from_bytes(stored[at:at + 4], "little")
    chunk.write_bytes(stored[:at] + (found ^ 0x10).to_bytes(4, "little") + stored[at + 4:])
    problem = server.get(f"/v1/datasets/data/slices/{node}?slice=0,0").json()
    assert problem["code"] == "corrupt_chunk" and f"{node}/0.0" in problem["detail"]
    assert (problem["expected"], problem["found"]) == (f"{found ^ 0x10:08x}", f"{found:08x}")
    chunk.write_bytes(stored)


REFUSED = {
    "numcodecs.pickle": "decoding would run a program", "pickle": "decoding would run a program",
    "numcodecs.pcodec": "this build does not include it", "pcodec": "this build does not include it",
    "zarrs.gdeflate": "it is experimental",
}


@pytest.mark.parametrize("codec", REFUSED)
def test_codecs_that_will_never_be_there_are_refused_with_the_reason(tmp_path, serve, codec):
    v3 = [LITTLE, {"name": codec, "must_understand": False}]
    write_array(tmp_path / "v3", SHAPE, CHUNK, v3, np.zeros(SHAPE, "u2"), "uint16")
    write_v2(tmp_path / "v2", np.zeros(SHAPE, "u2"), "zlib", {}, False)
    document = json.loads((tmp_path / "v2/.zarray").read_text())
    (tmp_path / "v2/.zarray").write_text(json.dumps({**document, "filters": [{"id": codec.removeprefix("numcodecs.")}]}))
    server = serve("-w", f"data={tmp_path}")
    for node, pointer in (("v3", "/codecs/1"), ("v2", "/filters/0")):
        problem = server.get(f"/v1/datasets/data/slices/{node}")
        assert (problem.status, problem.code, problem.json()["pointer"]) == (422, "unsupported_codec", pointer)
        assert REFUSED[codec] in problem.json()["detail"]
        refused = server.get(f"/v1/datasets/data/nodes/{node}").json()["refused"]
        assert refused["code"] == "unsupported_codec" and REFUSED[codec] in refused["detail"]
    put = server.request("PUT", "/v1/datasets/data/nodes/new", {"Content-Type": "application/json"},
                         json.dumps(array_document(SHAPE, CHUNK, "uint16", codecs=[LITTLE, {"name": codec}])).encode())
    assert (put.status, put.code, put.json()["pointer"]) == (422, "unsupported_codec", "/codecs/1"), put
    assert not (tmp_path / "new").exists()


def test_numcodecs_is_the_version_that_wrote_the_collection():
    assert numcodecs.__version__.startswith("0.16.")
