"""Clients that write all that can be written, on record (history.py), and look at what is left in the files.

Every state that a place takes is another one, so that what is found says which write it is from. Chunks are uncompressed: their
files hold what was sent.
"""

import contextlib
import dataclasses
import http.client
import itertools
import json
import random
import struct
import threading
import time

from files import INNER_ELEMENTS, INNER_N, ROW_ELEMENTS, SOMETHING, TEMPORARY, WIDE_ELEMENTS, below, digest, listing, numbers, runs
from history import ABSENT

OBJECT_BYTES = (512, 5000, 40_000, 130_000)  # of the chunks of the arrays object512, ...
OBJECT_N = 24  # chunks of each of those that are used
WIDE_N = 12  # chunks in a row of `wide`
SERIES_N = 20 * ROW_ELEMENTS  # an array that has become longer is cut
BRANCH_N = 6 * ROW_ELEMENTS  # at most, of an array that is cut and made longer and goes with all around it
BRANCH_ARRAYS = ("a", "g/b")
CHILDREN = ("a", "b", "c")  # of a group with a listing
DATASET = "work"
TIDY_S = 30
BROKEN = (OSError, http.client.HTTPException)


def array(shape, chunk_shape, data_type, codecs=None, **more):
    little = {"name": "bytes", "configuration": {"endian": "little"}} if data_type != "uint8" else {"name": "bytes"}
    return {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk_shape}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": codecs or [little], "attributes": {}, **more}


GROUP = {"zarr_format": 3, "node_type": "group", "attributes": {}}


def sharded(n_shards):
    inner = {"chunk_shape": [INNER_ELEMENTS], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
             "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}
    return array([n_shards * INNER_N * INNER_ELEMENTS], [INNER_N * INNER_ELEMENTS], "int32",
                 [{"name": "sharding_indexed", "configuration": inner}])


def litter(root):
    """Temporary files of writes."""
    return [path for path in below(root) if path.name.startswith(TEMPORARY) and path.is_file()]


def tidied(root):
    """Whether no temporary file is left, now or soon: what is discarded may go after the answer."""
    end = time.monotonic() + TIDY_S
    while (left := litter(root)) and time.monotonic() < end:
        time.sleep(0.002)
    return not left


@dataclasses.dataclass(frozen=True)
class Rows:
    """An array of one dimension, in rows of ROW_ELEMENTS that are stored or not."""

    n: int
    stored: dict = dataclasses.field(default_factory=dict)  # by its index: all elements of the row, those behind the end too

    def __str__(self):
        zeros = [0] * ROW_ELEMENTS
        return runs([element for i in range(-(-self.n // ROW_ELEMENTS)) for element in self.stored.get(i, zeros)][:self.n])

    def resized(self, n):
        """A row that is cut keeps its elements, and shows them to who makes the array longer."""
        return Rows(n, {i: row for i, row in self.stored.items() if i * ROW_ELEMENTS < n})

    def painted(self, i, first, stop, state):
        row = self.stored.get(i, [0] * ROW_ELEMENTS)
        return Rows(self.n, {**self.stored, i: row[:first] + [state] * (stop - first) + row[stop:]})


class Hand:
    """One client: a connection and dice of its own, places that nobody else writes."""

    def __init__(self, work, number, seed):
        self.work = work
        self.number = number
        self.rng = random.Random(f"{seed} {number}")
        self.connection = work.server.connection()
        self.n_done = 0
        # What it knows of places that are not written whole; None: not what a crash has left of them.
        self.series = None
        self.branch = None
        self.children = None

    def ask(self, method, target, body=None, headers=None, done=(200, 201, 204)):
        """True: done; False: refused by a precondition."""
        answer = self.work.server.request(method, target, headers, body, connection=self.connection)
        if answer.status not in (*done, 412):
            raise AssertionError(f"{method} {target}: {answer}")
        return answer.status != 412

    def write(self, states, *request, **more):
        self.n_done += self.work.histories.do(states, lambda: self.ask(*request, **more))

    def look(self, target):
        """The body of an answer, or None."""
        answer = self.work.server.get(target, connection=self.connection)
        if answer.status not in (200, 404):
            raise AssertionError(f"{target}: {answer}")
        return answer.body if answer.status == 200 else None

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

    def slice(self, path, query, state, n, states):
        """n elements, all the same."""
        self.write(states, "PUT", f"/v1/datasets/{DATASET}/slices/{path}?{query}", struct.pack("<i", state) * n,
                   {"Content-Type": "application/octet-stream"})

    def resize(self, path, n, elements):
        """States of its elements alone: its document says how many they are."""
        self.write({("elements", path): elements}, "PATCH", f"/v1/datasets/{DATASET}/nodes/{path}", json.dumps({"shape": [n]}).encode(),
                   {"Content-Type": "application/merge-patch+json"})

    def append(self):
        """Nothing of it is to be seen, or all: what is stored before the array is longer lies outside of it."""
        path = f"series{self.number}"
        if self.series is None:
            self.series = numbers(self.look(f"/v1/datasets/{DATASET}/slices/{path}"))
        if len(self.series) > SERIES_N:
            shorter = self.series[:self.rng.randrange(SERIES_N)]
            self.resize(path, len(shorter), runs(shorter))
            self.series = shorter
            return
        state, n = next(self.work.n_states), self.rng.randrange(1, 4 * ROW_ELEMENTS)
        longer = self.series + [state] * n
        self.slice(path, "append=0", state, n, {("elements", path): runs(longer)})
        self.series = longer

    def find_rows(self, path):
        """What is there of an array, or None when that does not tell what it is to hold after the next change: of rows that it had
        before a change that was not acknowledged, a larger shape may show any."""
        document = self.look(f"/zarr/{DATASET}/{path}/zarr.json")
        rows = {i: self.look(f"/zarr/{DATASET}/{path}/c/{i}") for i in range(BRANCH_N // ROW_ELEMENTS)}
        found = document and Rows(json.loads(document)["shape"][0], {i: numbers(row) for i, row in rows.items() if row is not None})
        return found if found and found == found.resized(found.n) else None

    def find_branch(self):
        self.branch = {name: self.find_rows(f"branch{self.number}/{name}") for name in BRANCH_ARRAYS}
        if None in self.branch.values():
            self.fell_branch()

    def grow_branch(self):
        """A group with arrays in it and below it, where there is nothing."""
        branch = {}
        for name in BRANCH_ARRAYS:
            path, rows = f"branch{self.number}/{name}", Rows(self.rng.randrange(BRANCH_N))
            above = [path[:i] for i, letter in enumerate(path) if letter == "/"]
            self.write({("elements", path): str(rows), ("below", above[0]): SOMETHING, **{("document", group): "group" for group in above}},
                       "PUT", f"/v1/datasets/{DATASET}/nodes/{path}", json.dumps(array([rows.n], [ROW_ELEMENTS], "int32")).encode(),
                       {"Content-Type": "application/json"})
            branch[name] = rows
        self.branch = branch

    def fell_branch(self):
        """What a crash has left without its document goes with a node made above it."""
        top = f"branch{self.number}"
        self.node(top, GROUP, "group", {("below", top): SOMETHING})
        paths = [f"{top}/{name}" for name in BRANCH_ARRAYS]
        states = {("below", top): ABSENT, ("document", top): ABSENT, ("document", f"{top}/g"): ABSENT}
        self.write({**states, **{("elements", path): ABSENT for path in paths}}, "DELETE", f"/v1/datasets/{DATASET}/nodes/{top}?recursive=1")
        self.branch = {}

    def change_branch(self):
        """A row of one of its arrays, or the length of one; sometimes all of it goes."""
        if self.branch is None:
            self.find_branch()
        if not self.branch:
            return self.grow_branch()
        if self.rng.random() < 0.15:
            return self.fell_branch()
        name = self.rng.choice(BRANCH_ARRAYS)
        rows, path = self.branch[name], f"branch{self.number}/{name}"
        if rows.n == 0 or self.rng.random() < 0.4:
            rows = rows.resized(self.rng.randrange(BRANCH_N))
            self.resize(path, rows.n, str(rows))
        else:
            state, first = next(self.work.n_states), self.rng.randrange(rows.n)
            i = first // ROW_ELEMENTS
            stop = self.rng.randrange(first, min(rows.n, (i + 1) * ROW_ELEMENTS)) + 1
            rows = rows.painted(i, first - i * ROW_ELEMENTS, stop - i * ROW_ELEMENTS, state)
            self.slice(path, f"slice={first}:{stop}", state, stop - first, {("elements", path): str(rows)})
        self.branch[name] = rows

    def consolidate(self):
        path = f"listed{self.number}"
        if self.children is None:
            found = {name: self.look(f"/zarr/{DATASET}/{path}/{name}/zarr.json") for name in CHILDREN}
            self.children = {name: json.loads(data)["attributes"]["state"] for name, data in found.items() if data is not None}
        self.write({("listing", path): listing(self.children)}, "POST", f"/v1/datasets/{DATASET}/consolidate/{path}")

    def change_listed(self):
        """A child of a group that has a listing, which follows by the same request."""
        if self.children is None or self.rng.random() < 0.2:
            return self.consolidate()
        path, name, children = f"listed{self.number}", self.rng.choice(CHILDREN), dict(self.children)
        if children.pop(name, None) is not None and self.rng.random() < 0.4:
            states = {("document", f"{path}/{name}"): ABSENT, ("listing", path): listing(children)}
            self.write(states, "DELETE", f"/v1/datasets/{DATASET}/nodes/{path}/{name}")
        else:
            children[name] = next(self.work.n_states)
            self.node(f"{path}/{name}", array([4], [2], "int32", attributes={"state": children[name]}), children[name],
                      {("listing", path): listing(children)})
        self.children = children

    def run(self, n):
        """n requests, or as many as the server lives for."""
        with contextlib.suppress(*BROKEN):
            for _ in range(n):
                self.rng.choice(self.work.acts)(self)
        self.connection.close()


ACTS = [Hand.put_object] * 6 + [Hand.change_branch] * 8 + [Hand.append] * 3 + [
    Hand.erase_object, Hand.create_object, Hand.create_object, Hand.new_array, Hand.replace_document, Hand.patch_document,
    Hand.write_slice, Hand.write_slice, Hand.write_inner, Hand.write_inner, Hand.change_listed, Hand.change_listed]


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
            hand.node(f"series{i}", array([0], [ROW_ELEMENTS], "int32"), "array", {("elements", f"series{i}"): ""})
            hand.node(f"listed{i}", GROUP, "group")
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
