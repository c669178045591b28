"""What decoders hold beside the chunk: a dictionary, a block that is cut, lists of elements. Under memory.bytes=128MiB, 32 readers at once."""

import concurrent.futures
import json
import lzma
import struct
import zlib

import numpy as np
import pytest
from arrays import write_chunk, write_node
from client import is_sanitized, memory_bytes
from documents import LITTLE, array_document

MIB = 1 << 20
BUDGET = 128 * MIB
RESIDENT_MAX = 192 * MIB
N_READERS = 32
N_CHUNKS = 8
SIDE = 4096  # 16 MiB a chunk
N_STRINGS = 2048  # of a chunk: 8 MiB of text
TEXT = b"0123456789abcdef" * 250
REFUSED = (413, 503, 507)


def numcodecs_codec(name, **configuration):
    return {"name": f"numcodecs.{name}", "configuration": configuration}


def write_lzma(folder, chunk, preset):
    """Preset 9 has a dictionary of 64 MiB, whatever the chunk's size."""
    codec = numcodecs_codec("lzma", format=1, check=-1, preset=preset, filters=None)
    write_node(folder, array_document([N_CHUNKS * SIDE, SIDE], [SIDE, SIDE], "uint8", codecs=[LITTLE, codec]))
    stored = lzma.compress(chunk.tobytes(), preset=preset)
    for i in range(N_CHUNKS):
        write_chunk(folder, (i, 0), stored)


def write_blocks(folder, chunk):
    """Blocks of N5 that lack their last row: each is decoded, and copied into a chunk."""
    folder.mkdir(parents=True)
    (folder / "attributes.json").write_text(json.dumps({
        "dimensions": [N_CHUNKS * SIDE, SIDE], "blockSize": [SIDE, SIDE], "dataType": "uint8",
        "compression": {"type": "gzip", "useZlib": True, "level": 1}}))
    part = chunk[:-1]
    stored = struct.pack(">HHII", 0, 2, *part.shape) + zlib.compress(part.T.tobytes(), 1)
    for i in range(N_CHUNKS):
        (folder / str(i)).mkdir()
        (folder / str(i) / "0").write_bytes(stored)


def write_strings(folder, n):
    """Decoded twice: as the bytes that were compressed, and as elements with their bytes behind them."""
    codecs = [{"name": "vlen-utf8"}, numcodecs_codec("zlib", level=1)]
    write_node(folder, array_document([N_CHUNKS * n], [n], "string", "", codecs=codecs))
    stored = zlib.compress(struct.pack("<I", n) + (struct.pack("<I", len(TEXT)) + TEXT) * n, 1)
    for i in range(N_CHUNKS):
        write_chunk(folder, (i,), stored)


@pytest.fixture(scope="module")
def chunk():
    return np.tile(np.arange(SIDE, dtype=np.uint32).astype("u1"), (SIDE, 1))


@pytest.fixture(scope="module")
def root(tmp_path_factory, chunk):
    folder = tmp_path_factory.mktemp("decoders")
    write_lzma(folder / "v3/lzma", chunk, 1)
    write_lzma(folder / "v3/lzma9", chunk, 9)
    write_strings(folder / "v3/strings", N_STRINGS)
    write_blocks(folder / "blocks.n5/a", chunk)
    (folder / "blocks.n5/attributes.json").write_text('{"n5":"2.0.0"}')
    return folder


ROWS = [
    ("w/slices/lzma", lambda i: f"format=raw&slice={i * SIDE}:{i * SIDE + 4}", lambda chunk: chunk[:4].tobytes()),
    ("w/slices/lzma9", lambda i: f"format=raw&slice={i * SIDE}:{i * SIDE + 4}", lambda chunk: chunk[:4].tobytes()),
    ("n/slices/a", lambda i: f"format=raw&slice={i * SIDE + SIDE - 2}:{i * SIDE + SIDE}", lambda chunk: chunk[0].tobytes() + bytes(SIDE)),
    ("w/slices/strings", lambda i: f"format=csv&slice={i * N_STRINGS}:{i * N_STRINGS + 2}", lambda _: (TEXT + b"\r\n") * 2),
]


@pytest.mark.parametrize("path, query, expected", ROWS, ids=[row[0] for row in ROWS])
def test_32_readers_at_once_stay_within_the_budget(serve, root, chunk, path, query, expected):
    server = serve(f"w={root}/v3", f"n={root}/blocks.n5", "--set", f"memory.bytes={BUDGET}")

    def read(i):
        return server.get(f"/v1/datasets/{path}?{query(i % N_CHUNKS)}")

    with concurrent.futures.ThreadPoolExecutor(N_READERS) as pool:
        answers = list(pool.map(read, range(N_READERS)))
    assert {200} <= {answer.status for answer in answers} <= {200, *REFUSED}
    assert {answer.body for answer in answers if answer.status == 200} == {expected(chunk)}
    high = memory_bytes(server, "VmHWM")
    assert is_sanitized(server) or high < RESIDENT_MAX, f"{high / MIB:.0f} MiB"
