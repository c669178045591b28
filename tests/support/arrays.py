"""Nodes written by hand: documents and chunks as files, without a Zarr library."""

import gzip
import hashlib
import itertools
import json
import struct

import numpy as np
from documents import GZIP, LITTLE, array_document, shard

MISSING = 2**64 - 1  # offset and length of an inner chunk that is not in its shard


def write_node(folder, document):
    """The document of a node: text as it is, anything else as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(document if isinstance(document, str) else json.dumps(document))


def write_chunk(folder, index, data):
    key = folder.joinpath("c", *map(str, index))
    key.parent.mkdir(parents=True, exist_ok=True)
    key.write_bytes(data)


def chunk_indices(shape, chunk_shape):
    return itertools.product(*(range(-(-n // c)) for n, c in zip(shape, chunk_shape)))


def chunk_of(values, index, chunk_shape):
    """The elements of one chunk, with zeros beyond the edge of the array."""
    box = values[tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunk_shape))]
    chunk = np.zeros(chunk_shape, values.dtype)
    chunk[tuple(slice(0, n) for n in box.shape)] = box
    return chunk


def write_array(folder, shape, chunk_shape, codecs, values=None, dtype="float32", encode=bytes, skip=(), **more):
    """An array whose chunks hold the values, without those whose index is in `skip`; without values it has no chunks."""
    write_node(folder, array_document(shape, chunk_shape, dtype, codecs=codecs, **more))
    if values is not None:
        for index in chunk_indices(shape, chunk_shape):
            if index not in skip:
                write_chunk(folder, index, encode(chunk_of(values, index, chunk_shape).tobytes()))


def write_values(folder, values, chunk_shape, **more):
    """An array of plain chunks with the type of the values."""
    write_array(folder, values.shape, chunk_shape, [LITTLE], values, values.dtype.name, **more)


def write_gzipped(folder, values, chunk_shape):
    """An array whose chunks cost something to decode."""
    write_array(folder, values.shape, chunk_shape, [LITTLE, GZIP], values, str(values.dtype), lambda data: gzip.compress(data, 1))


def shard_of(pieces):
    """Inner chunks, one after the other (None: missing), and their index without a checksum."""
    body, entries = b"", []
    for piece in pieces:
        entries += (MISSING, MISSING) if piece is None else (len(body), len(piece))
        body += piece or b""
    return body + struct.pack(f"<{len(entries)}Q", *entries)


def write_sharded(folder, values, outer, inner, missing=()):
    """Shards of plain inner chunks, without those `missing` (of the array's inner grid) and those beyond the edge."""
    write_array(folder, values.shape, outer, [shard(inner, index=[LITTLE])])
    ratio = [s // i for s, i in zip(outer, inner)]
    for index in chunk_indices(values.shape, outer):
        places = [tuple(o * r + p for o, r, p in zip(index, ratio, place)) for place in np.ndindex(*ratio)]
        write_chunk(folder, index, shard_of([
            None if at in missing or any(a * i >= n for a, i, n in zip(at, inner, values.shape))
            else chunk_of(values, at, inner).tobytes() for at in places]))


def crc32c(data):
    """The checksum as it is stored."""
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return struct.pack("<I", register ^ 0xFFFFFFFF)


def digest(values):
    """Of the elements in C order, little-endian, as cases.json has it."""
    values = np.ascontiguousarray(values)
    return hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()
