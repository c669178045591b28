"""What a directory holds after a crash, place by place, in the words of a history (history.py).

The places and their states are those of workload.py, whose arrays are laid out as the numbers here say.
"""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import struct

from history import ABSENT

WIDE_ELEMENTS = 600  # of a chunk of `wide`
INNER_N, INNER_ELEMENTS = 8, 200  # inner chunks of a shard, elements of each
ROW_ELEMENTS = 50  # of a chunk of the arrays that grow and shrink
SOMETHING = "something"
TEMPORARY = ".zarrd-tmp-"  # begins the names of all that servers have in a store for themselves


def below(folder):
    """All paths there, but for the directory in which servers tell each other that they write: it comes and goes."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != f"{TEMPORARY}writers"]
        yield from (pathlib.Path(place, name) for name in folders + names)


def contents(folder, path=""):
    """{key: bytes} of all that is stored in a folder, below that path of it. What servers have there for themselves comes and goes, after
    their answers too and while this looks."""
    found, root = {}, str(folder)
    for place, folders, names in os.walk(f"{root}/{path}".rstrip("/")):
        folders[:] = sorted(name for name in folders if not name.startswith(TEMPORARY))
        for name in sorted(names):
            file_path = f"{place}/{name}"
            if not name.startswith(TEMPORARY):
                with contextlib.suppress(FileNotFoundError), open(file_path, "rb", buffering=0) as file:
                    found[file_path[len(root) + 1:]] = file.read()
    return found


def digest(data):
    return hashlib.sha1(data).hexdigest()[:12]


def runs(elements):
    """All elements of an array, in words: "5x0 3x17"."""
    return " ".join(f"{len(list(equal))}x{element}" for element, equal in itertools.groupby(elements))


def numbers(data):
    """The elements of raw bytes."""
    return list(struct.unpack(f"<{len(data) // 4}i", data))


def listing(states):
    """{name of a child: its state} in words."""
    return json.dumps(states, sort_keys=True)


def listed(data):
    """The states of the children in the consolidated metadata of a group's document, which has to be a listing as it should be."""
    consolidated = json.loads(data)["consolidated_metadata"]
    if consolidated["kind"] != "inline" or consolidated["must_understand"] is not False:
        raise ValueError(consolidated)
    return {name: document["attributes"]["state"] for name, document in consolidated["metadata"].items()}


class Files:
    """What a directory holds, place by place."""

    def __init__(self, root):
        self.root = pathlib.Path(root)

    def read(self, key):
        try:
            return (self.root / key).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def see(self, place):
        kind, key, *more = place
        return getattr(self, f"_{kind}")(key, *more)

    def _object(self, key):
        data = self.read(key)
        return ABSENT if data is None else digest(data)

    def _document(self, path):
        data = self.read(f"{path}/zarr.json" if path else "zarr.json")
        if data is None:
            return ABSENT
        try:
            document = json.loads(data)
            return document["attributes"]["state"] if "state" in document.get("attributes", {}) else document["node_type"]
        except (ValueError, KeyError, TypeError):
            return f"no document: {data[:60]!r}"

    def _listing(self, path):
        """What a group says of its children."""
        data = self.read(f"{path}/zarr.json")
        try:
            return ABSENT if data is None or b"consolidated_metadata" not in data else listing(listed(data))
        except (ValueError, KeyError, TypeError):
            return f"no listing: {data[:60]!r}"

    def _elements(self, path):
        """Of an array of one dimension all elements, as a reader has them: a chunk that is absent is zeros."""
        data = self.read(f"{path}/zarr.json")
        if data is None:
            return ABSENT
        try:
            n = json.loads(data)["shape"][0]
        except (ValueError, KeyError, IndexError):
            return f"no document: {data[:60]!r}"
        rows = [self.read(f"{path}/c/{i}") for i in range(-(-n // ROW_ELEMENTS))]
        wrong = [f"chunk {i}: {len(row)} bytes" for i, row in enumerate(rows) if row is not None and len(row) != 4 * ROW_ELEMENTS]
        zeros = bytes(4 * ROW_ELEMENTS)
        return wrong[0] if wrong else runs(numbers(b"".join(zeros if row is None else row for row in rows))[:n])

    def _below(self, path):
        """Whether there is anything at all, but for temporary files."""
        keys = (name for name in below(self.root / path) if name.is_file() and not name.name.startswith(TEMPORARY))
        return SOMETHING if next(keys, None) else ABSENT

    def _uniform(self, key):
        data = self.read(key)
        return ABSENT if data is None else one_state(data, WIDE_ELEMENTS)

    def _inner(self, key, i):
        """An inner chunk by the index at the end of its shard (Zarr v3, sharding_indexed)."""
        data = self.read(key)
        if data is None:
            return ABSENT
        index = data[-(16 * INNER_N + 4):-4]
        if len(index) < 16 * INNER_N:
            return "no index"
        offset, length = struct.unpack_from("<QQ", index, 16 * i)
        return ABSENT if offset == length == 2**64 - 1 else one_state(data[offset:offset + length], INNER_ELEMENTS)


def one_state(data, n):
    """The number that all elements hold."""
    states = set(struct.unpack(f"<{n}i", data)) if len(data) == 4 * n else set()
    return states.pop() if len(states) == 1 else f"{len(data)} bytes, {len(states)} states"
