"""Arrays whose chunks differ in length, written and read here without a Zarr library."""

import itertools
import struct
import zlib

import numpy as np
from arrays import MISSING, write_chunk, write_node
from documents import GZIP, LITTLE, array_document, shard

CHAIN = [LITTLE, GZIP]


def rectilinear(*shapes):
    """The grid of the registry: for each dimension a length, or a list of lengths and pairs of length and count."""
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": list(shapes)}}


def edges_of(entry, length):
    """The length of each chunk along one dimension."""
    if isinstance(entry, int):
        return [entry] * -(-length // entry)
    return [edge for item in entry for edge in ([item[0]] * item[1] if isinstance(item, list) else [item])]


def spell(rng, edges):
    """A list in any of its spellings."""
    entry = []
    for edge, group in itertools.groupby(edges):
        n = len(list(group))
        while n > 0:
            part = rng.randint(1, n)
            entry += [edge] * part if rng.randrange(2) else [[edge, part]]
            n -= part
    return entry


class Grid:
    """Chunks by hand: where each begins, and how long it is."""

    def __init__(self, shape, entries, inner=None):
        self.shape, self.entries, self.inner = tuple(shape), entries, inner
        self.edges = [edges_of(entry, n) for entry, n in zip(entries, shape)]
        self.counts = tuple(len(edges) for edges in self.edges)

    @staticmethod
    def random(rng, inner=None):
        rank = len(inner) if inner else rng.randint(1, 3)
        shape, entries = [], []
        for d in range(rank):
            unit = inner[d] if inner else 1
            edges = [unit * rng.randint(1, 4) for _ in range(rng.randint(1, 6))]
            shape.append(rng.randint(max(1, sum(edges) - edges[-1]), sum(edges)))
            surplus = [unit] * rng.randint(0, 2) if rng.randrange(4) == 0 else []
            entries.append(unit * rng.randint(1, 4) if rng.randrange(5) == 0 else spell(rng, edges + surplus))
        if all(isinstance(entry, int) for entry in entries):
            entries[0] = spell(rng, edges_of(entries[0], shape[0]))
        return Grid(shape, entries, inner)

    def indices(self):
        return itertools.product(*map(range, self.counts))

    def chunk_shape(self, index):
        return tuple(edges[i] for edges, i in zip(self.edges, index))

    def box(self, index):
        """Where a chunk is in the array."""
        origins = [sum(edges[:i]) for edges, i in zip(self.edges, index)]
        return tuple(slice(at, at + n) for at, n in zip(origins, self.chunk_shape(index)))

    def document(self, data_type, fill=0, **more):
        codecs = CHAIN if self.inner is None else [shard(self.inner, CHAIN, index=[LITTLE])]
        more = {"chunk_grid": rectilinear(*self.entries), "codecs": codecs, **more}
        return array_document(self.shape, [1] * len(self.shape), data_type, fill, **more)

    def places(self, index):
        """The inner chunks of a shard, as boxes of it."""
        counts = [n // i for n, i in zip(self.chunk_shape(index), self.inner)]
        return [tuple(slice(p * i, p * i + i) for p, i in zip(place, self.inner)) for place in np.ndindex(*counts)]

    def encode(self, index, chunk):
        if self.inner is None:
            return gzip(chunk.tobytes())
        body, entries = b"", []
        for place in self.places(index):
            piece = gzip(chunk[place].tobytes())
            entries += (len(body), len(piece)) if chunk[place].any() else (MISSING, MISSING)
            body += piece if chunk[place].any() else b""
        return body + struct.pack(f"<{len(entries)}Q", *entries)

    def decode(self, index, stored, dtype, fill):
        shape = self.chunk_shape(index)
        if self.inner is None:
            return np.frombuffer(zlib.decompress(stored, 31), dtype).reshape(shape)
        chunk = np.full(shape, fill, dtype)
        places = self.places(index)
        entries = struct.unpack(f"<{2 * len(places)}Q", stored[-16 * len(places):])
        for place, first, n in zip(places, entries[::2], entries[1::2]):
            if n != MISSING:
                chunk[place] = np.frombuffer(zlib.decompress(stored[first:first + n], 31), dtype).reshape(self.inner)
        return chunk

    def write(self, folder, values, skip=(), **more):
        """All chunks but those to skip; beyond the array they have ones, which nobody may see."""
        write_node(folder, self.document(values.dtype.name, **more))
        whole = np.ones([sum(edges) for edges in self.edges], values.dtype)
        whole[tuple(slice(0, n) for n in values.shape)] = values
        for index in self.indices():
            if index not in skip:
                write_chunk(folder, index, self.encode(index, whole[self.box(index)]))

    def read(self, folder, dtype, fill):
        """What is stored below a folder, within the array."""
        whole = np.full([sum(edges) for edges in self.edges], fill, dtype)
        for index in self.indices():
            path = folder.joinpath("c", *map(str, index))
            if path.exists():
                whole[self.box(index)] = self.decode(index, path.read_bytes(), dtype, fill)
        return whole[tuple(slice(0, n) for n in self.shape)]


def gzip(data):
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def random_slice(rng, shape):
    """A slice as text, and what NumPy takes."""
    texts, items = [], []
    for n in shape:
        if rng.randrange(6) == 0:
            items.append(rng.randrange(n))
            texts.append(str(items[-1]))
            continue
        step = rng.choice([1, 1, 2, 3, 5, -1, -2, -4])
        begin, end = sorted((rng.randint(0, n), rng.randint(0, n)))
        item = slice(begin, end, step) if step > 0 else slice(end, begin, step)
        items.append(item)
        texts.append(f"{item.start}:{item.stop}:{item.step}")
    return ",".join(texts), tuple(items)
