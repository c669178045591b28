"""Memory: at rest, of idle connections, and of many large slices in a process that may have little."""

import data
import reader
from live import RawClient
from load import Request, ask
from peers import Zarrd, file_servers, programs, running, zarrds
from proc import memory_limited

MIB = 1 << 20
IDLE_GOAL_MB = 12
N_IDLE = 1000
IDLE_CONNECTION_GOAL_KIB = 16
N_SLICES = 256
LIMIT_BYTES = 512 * MIB
HEAD = b"GET /zarr/bench/k4/zarr.json HTTP/1.1\r\nHost: localhost\r\n\r\n"


def at_rest(report, peer, has_goal):
    ask(peer.port, Request("/zarr/bench/k4/zarr.json"))
    report.figure(f"{peer.name}: resident at rest", peer.group.memory() / 1e6, "MB", goal=IDLE_GOAL_MB if has_goal else None)
    before = peer.group.memory()
    idle = [RawClient(peer.port) for _ in range(N_IDLE)]
    for connection in idle:
        connection.send(HEAD)
        connection.receive()
    grown = (peer.group.memory() - before) / N_IDLE / 1024
    report.figure(f"{peer.name}: of each of {N_IDLE} idle connections", grown, "KiB",
                  goal=IDLE_CONNECTION_GOAL_KIB if has_goal else None)
    for connection in idle:
        connection.file.close()
        connection.socket.close()


def slices_in_little_memory(options, report, name, binary):
    """All of them at once; each must come whole and right, or be refused."""
    root = data.chunks(options, "slices")
    expected = data.field().tobytes()
    n_slices = N_SLICES // 8 if options.quick else N_SLICES
    for array in ("map_raw", "map_lz4"):
        title = f"{name}: {n_slices} slices of {array} in {LIMIT_BYTES // MIB} MiB"
        with memory_limited(LIMIT_BYTES) as (how, enter):
            with enter():
                peer = Zarrd(name, binary, {"bench": root})
            peer.group.reset_peak()
            outcomes = reader.read_together(peer.port, f"/v1/datasets/bench/slices/{array}", expected, n_slices)
            peak = 0 if peer.has_ended() else peer.group.memory("VmHWM")
            failed = n_slices - outcomes.get("complete", 0) - outcomes.get("refused", 0)
            report.figure(f"{title}: neither whole nor refused", failed, "", goal=0,
                          note=f"{outcomes}, peak {peak / MIB:.0f} MiB, limited by {how}" + (", KILLED" if not peak else ""))
            if not peer.has_ended():
                stop(report, title, peer)


def stop(report, title, peer):
    try:
        peer.stop()
    except AssertionError as fault:
        report.failure(title, str(fault).splitlines()[0])


def run(options, report):
    root = data.chunks(options, "keys")
    with data.files_of(root) as www:
        others = [(name, command) for name, command in file_servers(www) if name in ("nginx", "h2o")]
        starts = zarrds(options, {"bench": root}) + programs(others)
        with running(starts, options) as peers:
            for peer in peers:
                at_rest(report, peer, isinstance(peer, Zarrd))
    for name, binary in options.binaries:
        slices_in_little_memory(options, report, name, binary)
