"""Random changes of a hierarchy, and what each has to make of its files: all that was asked after an answer of 2xx, nothing at all
after any other answer, either of both where there was none.

A hand has a group of its own, and compares all files below it, byte for byte, before and after every request. What follows from a
change is computed from the files that were there, not by asking the server.
"""

import collections
import http.client
import json
import random
import select
import socket
import struct
import threading
import time
import urllib.parse

from files import contents
from workload import array

DATASET = "work"
CHUNK_N = 8  # elements of a chunk, and of the other kind of chunks below
OTHER_N = 4
CHUNKS_MAX = 6
JSON = "application/json"
PATCH = "application/merge-patch+json"
BYTES = "application/octet-stream"
DOCUMENT = "zarr.json"
LEFT = 0  # the status of a request that was not answered
OUTCOME_S = 60  # until a server has ended all that is under way
ALLOWED = {400, 404, 408, 409, 412, 413, 422, 503, 504, 507}  # what a fault or a refusal may be answered with


class Broken(AssertionError):
    pass


def elements(rng, n):
    return struct.pack(f"<{n}i", *(rng.randrange(1, 1 << 30) for _ in range(n)))


def parse(files, path):
    """The document of a node, or None."""
    data = files.get(f"{path}/{DOCUMENT}")
    return data if data is None or isinstance(data, dict) else json.loads(data)


def plain(document):
    """Without its listing, and without what a document says in more than one way."""
    return {name: value for name, value in document.items() if name not in ("consolidated_metadata", "chunk_key_encoding")}


def is_below(key, path):
    return key.startswith(f"{path}/")


def chunk_n(document):
    return document["chunk_grid"]["configuration"]["chunk_shape"][0]


class V3:
    """How nodes and chunks are stored: here, as the model below has them."""
    name = "v3"
    judges_keys = True  # a document by its raw key is a change of its node

    @staticmethod
    def fold(files, _arrays):
        """As the model has them."""
        return files

    @staticmethod
    def key(key):
        """Under which key something of the model is stored."""
        return key

    @staticmethod
    def bodies(document):
        """The documents by which a client may describe a node."""
        return [document]

    @staticmethod
    def stored(document):
        """The document of a node as it is stored under its own key."""
        return document


class V2:
    """Several documents a node, chunks beside them. Attributes of no node are a file of their own."""
    name = "v2"
    judges_keys = False

    @staticmethod
    def node(files, path):
        if f"{path}/.zarray" in files:
            stored = json.loads(files[f"{path}/.zarray"])
            document = {**array(stored["shape"], stored["chunks"], {"<i4": "int32"}[stored["dtype"]]), "fill_value": stored["fill_value"]}
        else:
            document = {"zarr_format": 3, "node_type": "group"}
        return {**document, "attributes": json.loads(files.get(f"{path}/.zattrs", "{}"))}

    @classmethod
    def fold(cls, files, arrays):
        folded = {}
        for key, data in files.items():
            path, _, name = key.rpartition("/")
            is_node = f"{path}/.zarray" in files or f"{path}/.zgroup" in files
            if name in (".zarray", ".zgroup"):
                folded[f"{path}/{DOCUMENT}"] = cls.node(files, path)
            elif name == ".zattrs" and not is_node:
                folded[key] = json.dumps(json.loads(data)).encode()
            elif path in arrays and name.isdigit():
                folded[f"{path}/c/{name}"] = data
            elif name not in (".zattrs", ".zmetadata"):
                folded[key] = data
        for key, data in files.items():
            path, _, name = key.rpartition("/")
            if name == ".zmetadata" and f"{path}/{DOCUMENT}" in folded:
                listed = {f"{path}/{below}": json.dumps(document) for below, document in json.loads(data)["metadata"].items()}
                below = {above for above, _, name in (key.rpartition("/") for key in listed) if name in (".zarray", ".zgroup")}
                folded[f"{path}/{DOCUMENT}"]["consolidated_metadata"] = {
                    "metadata": {above[len(path) + 1:]: cls.node(listed, above) for above in below if above != path}}
        return {key: json.dumps(value).encode() if isinstance(value, dict) else value for key, value in folded.items()}

    @staticmethod
    def key(key):
        path, _, name = key.rpartition("/")
        return f"{path}/.zarray" if name == DOCUMENT else f"{path[:-2]}/{name}" if path.endswith("/c") else key

    @classmethod
    def bodies(cls, document):
        attributes = {"attributes": document.get("attributes", {})}
        return [document, {**cls.stored(document), **attributes}]

    @staticmethod
    def stored(document):
        if document["node_type"] == "group":
            return {"zarr_format": 2}
        return {"zarr_format": 2, "shape": document["shape"], "chunks": [chunk_n(document)], "dtype": "<i4", "compressor": None,
                "fill_value": 0, "order": "C", "filters": None, "dimension_separator": "/"}


DIALECTS = {"v3": V3, "v2": V2}


class Wanted:
    """What the files are to be: those that were there, with changes. A dict is a document, compared without its listing; the beginning of
    a chunk that the array's end cuts decides."""

    def __init__(self, files):
        self.files = dict(files)

    def parents(self, path):
        above = path.split("/")[:-1]
        for i in range(len(above)):
            self.files.setdefault("/".join([*above[:i + 1], DOCUMENT]), {"zarr_format": 3, "node_type": "group"})

    def put(self, path, document, erases):
        before = parse(self.files, path)
        if erases and (before is None or before["node_type"] == "group" or
                       (chunk_n(before), before["shape"]) != (chunk_n(document), document["shape"])):
            self.files = {key: data for key, data in self.files.items() if not is_below(key, path)}
        self.files[f"{path}/{DOCUMENT}"] = document
        self.files.pop(f"{path}/.zattrs", None)
        self.parents(path)

    def put_stored(self, path, document, dialect):
        """The document under its own key, and no other."""
        before = parse(self.files, path) or {}
        stray = self.files.pop(f"{path}/.zattrs", b"{}")
        attributes = before.get("attributes") or json.loads(stray)
        self.files[f"{path}/{DOCUMENT}"] = document if dialect is V3 else {**document, "attributes": attributes}

    def pop_stored(self, path, dialect):
        before = parse(self.files, path)
        self.files.pop(f"{path}/{DOCUMENT}", None)
        if before is not None and before.get("attributes") and dialect is V2:
            self.files[f"{path}/.zattrs"] = json.dumps(before["attributes"]).encode()

    def patch(self, path, change):
        document = plain(parse(self.files, path))
        n_before = -(-document["shape"][0] // chunk_n(document)) if "shape" in document else 0
        for name, value in change.items():
            document[name] = {**document.get("attributes", {}), **value} if name == "attributes" else value
        self.files[f"{path}/{DOCUMENT}"] = document
        if "shape" in change:
            n = -(-change["shape"][0] // chunk_n(document))
            for i in range(n, n_before):  # what lies outside already is no chunk of the array
                self.files.pop(f"{path}/c/{i}", None)

    def delete(self, path, is_recursive):
        document = parse(self.files, path)
        is_array = document["node_type"] == "array"
        for key in [key for key in self.files if is_below(key, path)]:
            if is_recursive or key == f"{path}/{DOCUMENT}" or (is_array and is_below(key, f"{path}/c")):
                del self.files[key]

    def paint(self, path, first, data):
        document = plain(parse(self.files, path))
        n, size = len(data) // 4, chunk_n(document) * 4
        for i in range(first * 4 // size, -(-(first + n) * 4 // size)):
            key, at = f"{path}/c/{i}", i * size
            chunk = bytearray(self.files.get(key, bytes(size)))
            low, high = max(first * 4, at), min((first + n) * 4, at + size)
            chunk[low - at:high - at] = data[low - first * 4:high - first * 4]
            self.files[key] = bytes(chunk)

    def append(self, path, data):
        document = plain(parse(self.files, path))
        first = document["shape"][0]
        self.paint(path, first, data)
        self.files[f"{path}/{DOCUMENT}"] = {**document, "shape": [first + len(data) // 4]}

    def used(self, key, data):
        """The bytes of a chunk that are inside its array."""
        path, _, index = key.rpartition("/c/")
        document = parse(self.files, path) if index.isdigit() else None
        if not document or document["node_type"] != "array":
            return data
        return data[:max(0, document["shape"][0] - int(index) * chunk_n(document)) * 4]

    def difference(self, found):
        """None, or the first key that is not as it is to be."""
        for key in sorted(self.files.keys() | found.keys()):
            wanted, data = self.files.get(key), found.get(key)
            if wanted is None or data is None:
                return key, wanted, data
            if key.endswith("/" + DOCUMENT):
                document = plain(json.loads(data))
                wanted = plain(wanted if isinstance(wanted, dict) else json.loads(wanted))
                if any(document.get(name) != value for name, value in wanted.items() if value != {}):
                    return key, wanted, document
            elif self.used(key, wanted) != self.used(key, data):
                return key, wanted, data
        return None


def parents_between(path, below):
    names = below[len(path) + 1:].split("/")
    return ["/".join([path, *names[:i]]) for i in range(1, len(names))]


def stale_listing(files):
    """A group whose consolidated metadata is not what is below it, or None."""
    documents = {key[:-len(DOCUMENT) - 1]: json.loads(data) for key, data in files.items() if key.endswith("/" + DOCUMENT)}
    for path, document in documents.items():
        if "consolidated_metadata" in document:
            listed = {name: plain(node) for name, node in document["consolidated_metadata"]["metadata"].items()}
            live = {below[len(path) + 1:]: plain(node) for below, node in documents.items() if is_below(below, path) and
                    all(above in documents for above in parents_between(path, below))}
            if listed != live:
                return path, listed, live
    return None


class Change:
    """A request, and what follows from it."""

    def __init__(self, name, method, target, body=None, content_type=None, apply=None, headers=None):
        self.name, self.method, self.target, self.body = name, method, target, body
        self.headers = {**({"Content-Type": content_type} if content_type else {}), **(headers or {})}
        self.apply = apply  # to Wanted; None: nothing follows

    def wanted(self, files):
        wanted = Wanted(files)
        if self.apply is not None:
            self.apply(wanted)
        return wanted

    def __repr__(self):
        return f"{self.name}: {self.method} {self.target} {self.headers} {(self.body or b'')[:100]!r}"


class Hand:
    """One client after another, at one of the servers."""

    def __init__(self, field, number):
        self.field, self.number = field, number
        self.top = f"p{number}"
        self.rng = random.Random(f"{field.seed} {number}")
        self.arrays = [f"{self.top}/a", f"{self.top}/g/b", f"{self.top}/g/h/c"]
        self.groups = [self.top, f"{self.top}/g", f"{self.top}/g/h"]
        self.connections = {}
        self.dialect = field.dialect
        self.stored = self.look()  # as it is; files are those of the model
        self.files = self.fold(self.stored)
        self.history = collections.deque(maxlen=12)
        self.code = self.detail = None

    # ---- what is there ----

    def fold(self, files):
        return self.dialect.fold(files, self.arrays)

    def look(self):
        return contents(self.field.root, self.top)

    def fail(self, change, status, why):
        lines = "\n".join(f"  {status} {past}" for past, status in self.history)
        raise Broken(f"seed {self.field.seed}, hand {self.number}: {status} {change}\n{self.detail}\n{why}\nbefore:\n{lines}")

    # ---- what is asked ----

    def flags(self, **query):
        if self.rng.random() < 0.08:
            query["dry_run"] = 1
        return ("?" + urllib.parse.urlencode(query, safe=":,") if query else ""), "dry_run" in query

    def node_url(self, path, query):
        return f"/v1/datasets/{DATASET}/nodes/{path}{query}"

    def array_document(self, size):
        n = self.rng.randrange(1, CHUNKS_MAX * CHUNK_N)
        return array([n], [size], "int32", attributes={"n": self.rng.randrange(1 << 30)})

    def condition(self):
        dice = self.rng.random()
        return {"If-None-Match": "*"} if dice < 0.05 else {"If-Match": '"wrong"'} if dice < 0.07 else {}

    def body(self, document):
        return json.dumps(self.rng.choice(self.dialect.bodies(document))).encode()

    def key_url(self, key):
        return f"/zarr/{DATASET}/{self.dialect.key(key)}"

    def put_array(self):
        path, document = self.rng.choice(self.arrays), self.array_document(self.rng.choice((CHUNK_N, CHUNK_N, OTHER_N)))
        erases = self.rng.random() < 0.4
        query, is_dry = self.flags(**({"erase_chunks": 1} if erases else {}))
        return Change("put array", "PUT", self.node_url(path, query), self.body(document), JSON,
                      None if is_dry else lambda wanted: wanted.put(path, document, erases), self.condition())

    def put_group(self):
        path = self.rng.choice(self.groups)
        query, is_dry = self.flags()
        document = {"zarr_format": 3, "node_type": "group", "attributes": {"n": self.rng.randrange(1 << 30)}}
        return Change("put group", "PUT", self.node_url(path, query), self.body(document), JSON,
                      None if is_dry else lambda wanted: wanted.put(path, document, False), self.condition())

    def patch(self):
        path = self.rng.choice(self.arrays + self.groups)
        change = {"attributes": {self.rng.choice("kn"): self.rng.randrange(1 << 30)}}
        if path in self.arrays and self.rng.random() < 0.5:
            change = {"shape": [self.rng.randrange(CHUNKS_MAX * CHUNK_N)]}
        query, is_dry = self.flags()
        return Change("patch", "PATCH", self.node_url(path, query), json.dumps(change).encode(), PATCH,
                      None if is_dry else lambda wanted: wanted.patch(path, change))

    def delete(self):
        path = self.rng.choice(self.arrays * 2 + self.groups)
        is_recursive = self.rng.random() < 0.5
        query, is_dry = self.flags(**({"recursive": 1} if is_recursive else {}))
        return Change("delete", "DELETE", self.node_url(path, query), None, None,
                      None if is_dry else lambda wanted: wanted.delete(path, is_recursive))

    def put_key(self):
        path = self.rng.choice(self.arrays)
        document = parse(self.files, path)
        size = chunk_n(document) if document and document["node_type"] == "array" else CHUNK_N
        key = self.rng.choice([f"{path}/c/{self.rng.randrange(CHUNKS_MAX)}", f"{self.top}/x/{self.rng.randrange(3)}"])
        data = elements(self.rng, size)
        return Change("put key", "PUT", self.key_url(key), data, BYTES, lambda wanted: wanted.files.update({key: data}))

    def put_document_key(self):
        path = self.rng.choice(self.arrays)
        if not self.dialect.judges_keys or any(f"{group}/{DOCUMENT}" not in self.files for group in self.groups if is_below(path, group)):
            return self.put_array()  # an array in no group is no part of the hierarchy
        document = self.array_document(CHUNK_N)
        data = json.dumps(self.dialect.stored(document)).encode()
        return Change("put document key", "PUT", self.key_url(f"{path}/{DOCUMENT}"), data, JSON,
                      lambda wanted: wanted.put_stored(path, document, self.dialect))

    def delete_key(self):
        path = self.rng.choice(self.arrays)
        chunk, other = f"{path}/c/{self.rng.randrange(CHUNKS_MAX)}", f"{self.top}/x/{self.rng.randrange(3)}"
        key = self.rng.choice([chunk, f"{path}/{DOCUMENT}" if self.dialect.judges_keys else chunk, other])
        return Change("delete key", "DELETE", self.key_url(key), None, None,
                      (lambda wanted: wanted.pop_stored(path, self.dialect)) if key.endswith(DOCUMENT) else
                      lambda wanted: wanted.files.pop(key, None))

    def chunk(self):
        path, index = self.rng.choice(self.arrays), self.rng.randrange(CHUNKS_MAX)
        key = f"{path}/c/{index}"
        document = parse(self.files, path)
        size = chunk_n(document) if document and document["node_type"] == "array" else CHUNK_N
        if self.rng.random() < 0.3:
            query, is_dry = self.flags(index=index)
            return Change("delete chunk", "DELETE", f"/v1/datasets/{DATASET}/chunks/{path}{query}", None, None,
                          None if is_dry else lambda wanted: wanted.files.pop(key, None))
        data = elements(self.rng, size)
        query, is_dry = self.flags(index=index, **({"decoded": 1} if self.rng.random() < 0.5 else {}))
        return Change("put chunk", "PUT", f"/v1/datasets/{DATASET}/chunks/{path}{query}", data, BYTES,
                      None if is_dry else lambda wanted: wanted.files.update({key: data}))

    def slice(self):
        path = self.rng.choice(self.arrays)
        document = parse(self.files, path)
        n = document["shape"][0] if document and document["node_type"] == "array" else CHUNK_N
        first = self.rng.randrange(max(n, 1))
        stop = self.rng.randrange(first, n) + 1 if n > first else first + 1
        data = elements(self.rng, stop - first)
        query, is_dry = self.flags(slice=f"{first}:{stop}")
        return Change("slice", "PUT", f"/v1/datasets/{DATASET}/slices/{path}{query}", data, BYTES,
                      None if is_dry else lambda wanted: wanted.paint(path, first, data))

    def append(self):
        path = self.rng.choice(self.arrays)
        data = elements(self.rng, self.rng.randrange(1, 3 * CHUNK_N))
        query, is_dry = self.flags(append=0)
        return Change("append", "PUT", f"/v1/datasets/{DATASET}/slices/{path}{query}", data, BYTES,
                      None if is_dry else lambda wanted: wanted.append(path, data))

    def consolidate(self):
        path = self.rng.choice(self.groups)
        query, _ = self.flags()
        return Change("consolidate", "POST", f"/v1/datasets/{DATASET}/consolidate/{path}{query}")

    KINDS = [put_array] * 4 + [put_group, patch, patch, delete, delete, put_key, put_key, put_document_key, delete_key, chunk, chunk,
                               slice, slice, slice, append, append, consolidate]

    # ---- how it is asked ----

    def connection(self, server):
        if server not in self.connections:
            self.connections[server] = http.client.HTTPConnection("127.0.0.1", server.port, timeout=OUTCOME_S)
        return self.connections[server]

    def begin(self, server, change, sent):
        """Send the head and the first bytes of the body."""
        connection = self.connection(server)
        connection.putrequest(change.method, change.target)
        for name, value in change.headers.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(change.body or b"")))
        connection.endheaders((change.body or b"")[:sent] or None)
        return connection

    def drop(self, server):
        self.connections.pop(server).close()

    def finish(self, server, patience_s):
        """The status; LEFT when the client has gone before the answer."""
        connection = self.connections[server]
        if patience_s is not None and not select.select([connection.sock], [], [], patience_s)[0]:
            connection.sock.shutdown(socket.SHUT_WR)
        try:
            response = connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            self.drop(server)
            return LEFT
        problem = json.loads(body) if response.status >= 400 else {}
        self.code, self.detail = problem.get("code"), problem.get("detail")
        if patience_s is not None or response.will_close:
            self.drop(server)
        return response.status

    def ask(self, server, change):
        patience_s = self.rng.choice((0, 0.002, 0.02, 0.12)) if self.rng.random() < 0.12 else None
        try:
            self.begin(server, change, len(change.body or b""))
        except OSError:
            self.drop(server)
            return LEFT
        return self.finish(server, patience_s)

    def settle(self):
        """Until nothing of this hand is under way any more: a listing of all that is below its group waits for the rest."""
        for server in self.field.servers:
            end = time.monotonic() + OUTCOME_S
            while True:
                status = LEFT
                try:
                    connection = self.connection(server)
                    connection.request("POST", f"/v1/datasets/{DATASET}/consolidate/{self.top}?dry_run=1")
                    response = connection.getresponse()
                    status = response.status
                    response.read()
                except (OSError, http.client.HTTPException):
                    self.drop(server)
                if status in (200, 400, 404):
                    break
                if time.monotonic() > end:
                    raise Broken(f"seed {self.field.seed}, hand {self.number}: what was left does not end: {status}")

    # ---- and whether it is so ----

    def judge(self, change, status):
        if status == LEFT:
            self.settle()
        stored = self.look()
        found = self.fold(stored)
        self.history.append((change, status))
        self.field.count(change.name, status)
        is_same = stored == self.stored
        if 200 <= status < 300 or (status == LEFT and not is_same):
            wanted = change.wanted(self.files)
            if (difference := wanted.difference(found)) is not None:
                self.fail(change, status, f"{difference[0]} is to be {difference[1]!r}, but is {difference[2]!r}")
            if (stale := stale_listing(found)) is not None and "key" not in change.name:
                self.fail(change, status, f"the listing of {stale[0]} has {stale[1]}, but there is {stale[2]}")
        elif not is_same:
            keys = [key for key in stored.keys() | self.stored.keys() if stored.get(key) != self.stored.get(key)]
            self.fail(change, status, f"nothing was to be changed, but {keys[0]} is {stored.get(keys[0])!r} after {self.stored.get(keys[0])!r}")
        elif status not in ALLOWED and status != LEFT and self.code != "corrupt_chunk":  # those of an array that had this path before
            self.fail(change, status, "no such answer is expected")
        self.stored, self.files = stored, found

    def rest(self):
        """What was refused has not happened since."""
        if (found := self.look()) != self.stored:
            keys = [key for key in found.keys() | self.stored.keys() if found.get(key) != self.stored.get(key)]
            self.fail("later", LEFT, f"{keys[0]} is {found.get(keys[0])!r} after {self.stored.get(keys[0])!r}")

    def do_while_held(self):
        """Another change while a slice that has not come in full keeps the array, or waits for its rest."""
        held, other = self.rng.choice((self.slice, self.append))(), self.rng.choice(self.KINDS)(self)
        holder = Hand.__new__(Hand)
        holder.__dict__.update(self.__dict__, connections={})
        server = self.rng.choice(self.field.servers)
        holder.begin(server, held, len(held.body) // 2)
        self.judge(other, self.ask(self.rng.choice(self.field.servers), other))
        status = LEFT
        try:
            if self.rng.random() < 0.5:
                holder.connections[server].send(held.body[len(held.body) // 2:])
                status = holder.finish(server, None)
            else:
                holder.finish(server, 0)
        except OSError:
            pass
        for connection in holder.connections.values():
            connection.close()
        self.code, self.detail = holder.code, holder.detail
        self.judge(held, status)

    def run(self, n):
        for _ in range(n):
            if self.field.faults:
                return
            self.rest()
            if self.rng.random() < 0.04:
                self.do_while_held()
            else:
                change = self.rng.choice(self.KINDS)(self)
                self.judge(change, self.ask(self.rng.choice(self.field.servers), change))
        self.settle()
        self.rest()


# Switches of disk_fault.c: a full disk, and calls that hang for a while.
FULL = ("write", "rename")
HANGING = ("write.wait", "rename.wait", "unlink.wait", "fdatasync.wait")
ENOSPC = 28


class Field:
    """Servers of one store whose disks are slow and full by turns, and hands that change it."""

    def __init__(self, root, servers, seed, dialect):
        self.root, self.servers, self.seed, self.dialect = root, servers, seed, dialect
        self.faults = []
        self.counts = collections.Counter()
        self.is_over = threading.Event()

    def count(self, name, status):
        self.counts[name, status // 100] += 1

    def trouble(self, server, number):
        rng = random.Random(f"{self.seed} trouble {number}")
        while not self.is_over.wait(rng.uniform(0, 0.25)):
            if rng.random() < 0.6:
                server.fault(rng.choice(FULL), f"{ENOSPC} {rng.randrange(6)} {rng.randrange(3)}")
            else:
                with server.faulting(rng.choice(HANGING)):
                    self.is_over.wait(rng.choice((0.01, 0.05, 0.15, 0.3)))
        for name in FULL:
            server.no_fault(name)

    def run(self, n_hands, n):
        def guarded(what, *arguments):
            try:
                what(*arguments)
            except BaseException as fault:  # of a thread: told below
                self.faults.append(fault)

        troubles = [threading.Thread(target=guarded, args=(self.trouble, server, i)) for i, server in enumerate(self.servers)]
        hands = [threading.Thread(target=guarded, args=(Hand(self, i).run, n // n_hands)) for i in range(n_hands)]
        for thread in troubles + hands:
            thread.start()
        for thread in hands:
            thread.join()
        self.is_over.set()
        for thread in troubles:
            thread.join()
        if self.faults:
            raise self.faults[0]
