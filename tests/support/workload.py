"""Clients that write all that can be written, on record (history.py), and look at what is left in the files.

Every state that a place takes is another one, so that what is found says which write it is from. Chunks are uncompressed: their
files hold what was sent.
"""

import contextlib
import hashlib
import http.client
import itertools
import json
import pathlib
import random
import struct
import threading
import time

from history import ABSENT

OBJECT_BYTES = (512, 5000, 40_000, 130_000)  # of the chunks of the arrays object512, ...
OBJECT_N = 24  # chunks of each of those that are used
WIDE_N, WIDE_ELEMENTS = 12, 600  # chunks in a row of `wide`, elements of each
INNER_N, INNER_ELEMENTS = 8, 200  # inner chunks of a shard, elements of each
DATASET = "work"
TIDY_S = 30
BROKEN = (OSError, http.client.HTTPException)


def array(shape, chunk_shape, data_type, codecs=None, **more):
    little = {"name": "bytes", "configuration": {"endian": "little"}} if data_type != "uint8" else {"name": "bytes"}
    return {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": codecs or [little], "attributes": {}, **more}


def sharded(n_shards):
    inner = {"chunk_shape": [INNER_ELEMENTS], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
             "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}
    return array([n_shards * INNER_N * INNER_ELEMENTS], [INNER_N * INNER_ELEMENTS], "int32",
                 [{"name": "sharding_indexed", "configuration": inner}])


def litter(root):
    """Temporary files of writes: none of the directory in which servers tell each other that they live."""
    return [path for path in pathlib.Path(root).rglob(".zarrd-tmp-*") if path.is_file() and not path.parent.name.startswith(".zarrd-tmp-")]


def tidied(root):
    """Whether no temporary file is left, now or soon: what is discarded may go after the answer."""
    end = time.monotonic() + TIDY_S
    while (left := litter(root)) and time.monotonic() < end:
        time.sleep(0.002)
    return not left


def digest(data):
    return hashlib.sha1(data).hexdigest()[:12]


class Hand:
    """One client: a connection and dice of its own, places that nobody else writes."""

    def __init__(self, work, number, seed):
        self.work = work
        self.number = number
        self.rng = random.Random(f"{seed} {number}")
        self.connection = work.server.connection()
        self.n_done = 0

    def ask(self, method, target, body=None, headers=None):
        """True: done; False: refused by a precondition."""
        answer = self.work.server.request(method, target, headers, body, connection=self.connection)
        if answer.status not in (200, 201, 204, 412):
            raise AssertionError(f"{method} {target}: {answer}")
        return answer.status != 412

    def write(self, states, *request):
        self.n_done += self.work.histories.do(states, lambda: self.ask(*request))

    def object_body(self, size):
        return self.rng.randbytes(size)

    def own(self, n):
        """One of n that belongs to this hand alone."""
        mine = range(self.number, n, self.work.n_hands)
        return self.rng.choice(mine)

    def put_object(self):
        size = self.rng.choice(OBJECT_BYTES)
        key = f"object{size}/c/{self.own(OBJECT_N)}"
        body = self.object_body(size)
        self.write({("object", key): digest(body)}, "PUT", f"/zarr/{DATASET}/{key}", body)

    def erase_object(self):
        key = f"object{self.rng.choice(OBJECT_BYTES)}/c/{self.own(OBJECT_N)}"
        self.write({("object", key): ABSENT}, "DELETE", f"/zarr/{DATASET}/{key}")

    def create_object(self):
        """Two at a time want to be the one who makes it."""
        size = self.rng.choice(OBJECT_BYTES[:2])
        key = f"object{size}/c/{OBJECT_N + next(self.work.n_created) // 2}"
        body = self.object_body(size)
        self.write({("object", key): digest(body)}, "PUT", f"/zarr/{DATASET}/{key}", body, {"If-None-Match": "*"})

    def node(self, path, document, state, states=None, method="PUT"):
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        self.write({**(states or {}), ("document", path): state}, method, f"/v1/datasets/{DATASET}/nodes/{path}",
                   json.dumps(document).encode(), {"Content-Type": content_type})

    def new_array(self):
        """In directories that were not there."""
        state = next(self.work.n_states)
        parents = [f"new/{self.number}", f"new/{self.number}/{state}"]
        self.node(f"{parents[-1]}/a", array([4], [2], "int32", attributes={"state": state}), state,
                  {("document", parent): "group" for parent in parents})

    def replace_document(self):
        state = next(self.work.n_states)
        self.node(f"document{self.number}", array([4], [2], "int32", attributes={"state": state, "note": "x" * self.rng.randrange(9000)}),
                  state)

    def patch_document(self):
        state = next(self.work.n_states)
        self.node(f"patched{self.number}", {"attributes": {"state": state, "note": "y" * self.rng.randrange(9000)}}, state, method="PATCH")

    def write_slice(self):
        """Many chunks at once."""
        state = next(self.work.n_states)
        first = self.rng.randrange(WIDE_N - 3)
        stop = self.rng.randrange(first + 2, WIDE_N + 1)
        body = struct.pack("<i", state) * ((stop - first) * WIDE_ELEMENTS)
        target = f"/v1/datasets/{DATASET}/slices/wide?slice={self.number}:{self.number + 1},{first * WIDE_ELEMENTS}:{stop * WIDE_ELEMENTS}"
        self.write({("uniform", f"wide/c/{self.number}/{i}"): state for i in range(first, stop)}, "PUT", target, body,
                   {"Content-Type": "application/octet-stream"})

    def write_inner(self):
        """One inner chunk of a shard that all hands write."""
        state, shard = next(self.work.n_states), self.rng.randrange(2)
        inner = self.own(INNER_N)
        target = f"/v1/datasets/{DATASET}/chunks/shards?index={shard * INNER_N + inner}&level=inner&decoded=1"
        self.write({("inner", f"shards/c/{shard}", inner): state}, "PUT", target, struct.pack("<i", state) * INNER_ELEMENTS,
                   {"Content-Type": "application/octet-stream"})

    def run(self, n):
        """n requests, or as many as the server lives for."""
        with contextlib.suppress(*BROKEN):
            for _ in range(n):
                self.rng.choice(self.work.acts)(self)
        self.connection.close()


ACTS = [Hand.put_object] * 6 + [Hand.erase_object, Hand.create_object, Hand.create_object, Hand.new_array, Hand.replace_document,
                                Hand.patch_document, Hand.write_slice, Hand.write_slice, Hand.write_inner, Hand.write_inner]


class Work:
    """Some hands at one server."""

    def __init__(self, server, histories, n_hands=6, acts=ACTS):
        self.server = server
        self.histories = histories
        self.n_hands = n_hands
        self.acts = acts
        self.n_created = itertools.count()
        self.n_states = itertools.count(1)

    def prepare(self):
        """The arrays that the hands write to."""
        hand = Hand(self, 0, 0)
        for size in OBJECT_BYTES:
            hand.node(f"object{size}", array([size * 10_000], [size], "uint8"), "array", {("document", ""): "group"})
        hand.node("wide", array([self.n_hands, WIDE_N * WIDE_ELEMENTS], [1, WIDE_ELEMENTS], "int32"), "array")
        hand.node("shards", sharded(2), "array")
        for i in range(self.n_hands):
            hand.node(f"patched{i}", array([4], [2], "int32"), "array")
        hand.connection.close()

    def run(self, n_each, seed):
        """How many writes were acknowledged; a fault of a hand is raised here."""
        hands, faults = [Hand(self, i, seed) for i in range(self.n_hands)], []

        def run(hand):
            try:
                hand.run(n_each)
            except BaseException as fault:  # of a thread: told below
                faults.append(fault)

        threads = [threading.Thread(target=run, args=(hand,)) for hand in hands]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if faults:
            raise faults[0]
        return sum(hand.n_done for hand in hands)


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
