"""What tests ask of a running server: nodes of the dataset `w`, counters, memory, and patience."""

import contextlib
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
DEADLINE_S = 180
PATIENT = ("--set", "http.request_ms=150000")  # of a server that gets more work than a loaded machine does in a minute
IDLE_LOOKS_N = 5  # in a row
POLLS_N = 10
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


def until_idle(server):
    """Until the server has done all that it can, as far as that shows: all of its threads sleep, but for those that look again and again
    whether a fault still is (disk_fault.c). A loaded machine hides that; then it has had a second, and some turns."""
    for _ in range(20):
        server.get("/livez")
    end = time.monotonic() + 1
    begin, n_looks = sleeps(server.process.pid), 0
    while n_looks < IDLE_LOOKS_N and time.monotonic() < end:
        time.sleep(0.005)
        now = sleeps(server.process.pid)
        is_idle = all(is_asleep or thread != server.process.pid and n - begin.get(thread, (True, n))[1] >= POLLS_N
                      for thread, (is_asleep, n) in now.items())
        n_looks = n_looks + 1 if is_idle else 0


def sleeps(pid):
    """{thread: (whether it sleeps, how often it has begun to)}"""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/task/{thread}/status") as status:
            lines = dict(line.split(":", 1) for line in status)
            found[int(thread)] = lines["State"].split()[0] == "S", int(lines["voluntary_ctxt_switches"])
    return found


def until_under_way(server, n):
    """Until so many requests are under way, and have done all that they can. One that was answered is counted for a moment more."""
    in_flight = None
    while in_flight != n + 1:  # this one counts too
        wait_until(lambda: server.metrics()["http_requests_in_flight"] >= n + 1)
        until_idle(server)
        in_flight = server.metrics()["http_requests_in_flight"]


def memory_bytes(server, name):
    """VmRSS: memory held now; RssAnon: of it what is no page of a file; VmHWM: the most held so far; VmSize: addresses."""
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
