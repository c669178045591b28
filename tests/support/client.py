"""What tests ask of a running server: nodes of the dataset `w`, counters, memory, and patience."""

import json
import os
import time

JSON = {"Content-Type": "application/json"}
PATCH = {"Content-Type": "application/merge-patch+json"}
BYTES = {"Content-Type": "application/octet-stream"}
READS = "zarrd_store_reads_total"
READ_BYTES = "zarrd_store_read_bytes_total"
DECODES = "zarrd_decodes_total"
NODES = "/v1/datasets/w/nodes/"
FRESH = {"missing": [], "surplus": [], "differing": [], "stored": True}  # the check of a complete listing
DEADLINE_S = 60
SANITIZED = any(name in os.environ.get("ZARRD_BINARY", "") for name in ("asan", "tsan", "fuzz"))


def wait_until(condition, every_s=0.005):
    """Until the condition holds; fails after a minute."""
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(every_s)


def soon(look, expected):
    """What look() gives as soon as it is as expected, or after a minute: for what follows an answer."""
    end = time.monotonic() + DEADLINE_S
    while (found := look()) != expected and time.monotonic() < end:
        time.sleep(0.005)
    return found


def memory_bytes(server, name):
    """VmRSS: memory held now; VmHWM: the most held so far; VmSize: addresses."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name + ":"))


def is_sanitized(server):
    with open(f"/proc/{server.process.pid}/maps") as maps:
        text = maps.read()
    return "libasan" in text or "libtsan" in text or memory_bytes(server, "VmSize") > 1 << 40


def put_node(server, path, document, query="", **headers):
    text = document if isinstance(document, (str, bytes)) else json.dumps(document)
    body = text if isinstance(text, bytes) else text.encode()
    return server.request("PUT", NODES + path + query, {**JSON, **headers}, body)


def patch_node(server, path, change, query="", **headers):
    return server.request("PATCH", NODES + path + query, {**PATCH, **headers}, json.dumps(change).encode())


def delete_node(server, path, query="", **headers):
    return server.request("DELETE", NODES + path + query, headers)


def stored(server, key="zarr.json"):
    """A stored document, or None."""
    answer = server.get("/zarr/w/" + key)
    return answer.json() if answer.status == 200 else None


def nodes(server):
    """The path of every node."""
    return [node["path"] for node in server.get("/v1/datasets/w/tree/").json()["nodes"]]


def check(server, path=""):
    """How the stored listing of a group differs from what is below it."""
    return server.get(f"/v1/datasets/w/tree/{path}?check=1").json()["check"]


def consolidate(server, path="", query=""):
    return server.request("POST", f"/v1/datasets/w/consolidate/{path}{query}")
