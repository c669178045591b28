"""What judging a credential costs, against the same program that asks for none."""

import base64
import contextlib
import hashlib
import json
import pathlib
import socket
import tempfile
import threading
import time
import urllib.request

import data
import jose
from group_start import interleaved, ratio
from load import Hang, Request, load
from peers import Zarrd, running
from proc import pinned
from rounds import Row, measure, measure_all

CREDENTIAL_GOAL = 1 / 1.03  # by CPU
SIGNED_GOAL_US = 10
SIGNING_SECRET = bytes(range(32))
VALID_S = 86400
N_FEW, N_MANY = 20, 100_000  # tokens
N_STARTS = 10
START_GOAL = 1.2
FLOOD_RATE, FLOOD_CONNECTIONS, TICK_S = 10_000, 10, 0.01
FLOOD_GOAL = 2
OPEN = "zarrd, no credentials"
NODE = "/v1/datasets/bench/nodes/k64"
SLICE = "/v1/datasets/bench/slices/k64?slice=0:64"
KEY = "/zarr/bench/k64/c/3"


def secret(i):
    return f"{i:032x}"


def write_tokens(folder, n):
    """A file of n tokens that read; the last of them belongs to most requests."""
    entries = [{"name": f"reader-{i}", "sha256": hashlib.sha256(secret(i).encode()).hexdigest(), "scopes": ["read"]} for i in range(n)]
    path = pathlib.Path(folder) / f"tokens-{n}.json"
    path.write_text(json.dumps({"tokens": entries}))
    path.chmod(0o600)
    return path


def write_keys(folder, key):
    """The public part of a key for JSON Web Tokens, and a secret for signed URLs. @return settings"""
    public, secrets = pathlib.Path(folder) / "jwks.json", pathlib.Path(folder) / "signing.json"
    public.write_bytes(jose.jwks(key))
    secrets.write_text(json.dumps({"keys": [{"id": "k", "secret": base64.b64encode(SIGNING_SECRET).decode()}]}))
    secrets.chmod(0o600)
    return (f"access.jwks_file={public}", f"access.jwt_issuer={jose.ISSUER}", f"access.jwt_audience={jose.AUDIENCE}",
            f"access.signing_keys_file={secrets}")


def with_credentials(options, root, *settings):
    """For running(): each program with those that it judges by, and the first without."""
    def start(name, binary, *settings):
        return lambda core: Zarrd(name, binary, {"bench": root}, *settings, core=core)

    return [start(name, binary, *settings) for name, binary in options.binaries] + [start(OPEN, options.binaries[0][1])]


def bearer(target, token):
    return Request(target, (("Authorization", f"Bearer {token}"),))


def signed(peer, target, token):
    """The URL that a server gives to whoever has the token."""
    path, _, query = target.partition("?")
    wish = urllib.request.Request(f"http://127.0.0.1:{peer.port}/v1/sign", json.dumps({"method": "GET", "path": path, "expires_s": VALID_S}).encode(),
                                  {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    with urllib.request.urlopen(wish) as answer:
        url = json.load(answer)["url"]
    return Request(f"{url}{'&' if query else ''}{query}", ())


def both(peers, target, request):
    """The same request: with a credential for the servers that know it, without one for the other."""
    return {peer.name: [Request(target, ()) if peer.name == OPEN else request] for peer in peers}


TARGETS = (("prepared answer", NODE), ("slice", SLICE), ("chunk of 64 KiB", KEY))


def rows(peers, kind, token):
    return [Row(f"{kind}: {what}", both(peers, target, bearer(target, token)), rivals=OPEN, cpu_goal=CREDENTIAL_GOAL)
            for what, target in TARGETS]


def measure_signed(peers, token, options, report):
    """What a signature costs in all: no other request of its URL makes it cheaper."""
    for what, target in TARGETS:
        requests = {peer.name: [Request(target, ()) if peer.name == OPEN else signed(peer, target, token)] for peer in peers}
        row = Row(f"signed URL: {what}", requests, rivals=OPEN)
        if not options.wants(row):
            continue
        try:
            result = measure(peers, row, options)
        except Hang as hang:
            report.failure(row.name, str(hang))
            continue
        report.row(result)
        report.figure(f"{row.name}, CPU more than without", result.costs[0].cpu_us - result.costs[-1].cpu_us, "us", goal=SIGNED_GOAL_US)


def flood(port, head, ended):
    """FLOOD_RATE requests a second, a few at a time over some connections, until told to end."""
    burst = head * int(FLOOD_RATE * TICK_S / FLOOD_CONNECTIONS)
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(FLOOD_CONNECTIONS)]
        for one in opened:
            one.setblocking(False)
        at = time.monotonic()
        while not ended.is_set():
            for one in opened:
                with contextlib.suppress(BlockingIOError):
                    one.sendall(burst)
                with contextlib.suppress(BlockingIOError):
                    while one.recv(1 << 20):
                        pass
            at += TICK_S
            time.sleep(max(0, at - time.monotonic()))


@contextlib.contextmanager
def flooded(options, port, head):
    ended = threading.Event()
    with pinned(options.client_core):
        thread = threading.Thread(target=flood, args=(port, head, ended))
        thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def beside_bad_tokens(options, report, name, peer, i):
    """p99 of good requests beside bad tokens, and beside as many requests that nothing is wrong with."""
    good = [Request(NODE, (("Authorization", f"Bearer {secret(i)}"),))]
    text = f"GET {NODE} HTTP/1.1\r\nHost: localhost\r\n"
    heads = {"alone": None, "beside good": f"{text}\r\n".encode(), "beside bad": f"{text}Authorization: Bearer wrong\r\n\r\n".encode()}
    p99 = {what: [] for what in heads}
    for _ in range(options.rounds):
        for what, head in heads.items():
            with flooded(options, peer.port, head) if head else contextlib.nullcontext():
                p99[what].append(load(options, peer.port, good, options.seconds).p99_us)
    value, note = ratio(p99["beside bad"], p99["alone"])
    beside, _ = ratio(p99["beside good"], p99["alone"])
    report.figure(f"{name}: p99 beside {FLOOD_RATE} bad tokens a second", value, "x", goal=FLOOD_GOAL,
                  note=f"{note}; {beside:.2f}x beside as many good requests")


def start_with_many(options, report, name, binary, root, few, many):
    def command(file):
        return lambda port, _: [str(binary), "--listen", f"127.0.0.1:{port}", "--set", f"access.tokens_file={file}", f"bench={root}"]

    times = interleaved(options, [("few", command(few)), ("many", command(many))], "/livez", 4 if options.quick else N_STARTS)
    value, note = ratio(times["many"], times["few"])
    report.figure(f"{name}: start with {N_MANY} tokens, x of {N_FEW}", value, "x", goal=START_GOAL, note=note)


def run(options, report):
    root = data.chunks(options, "keys")
    with tempfile.TemporaryDirectory(prefix="zarrd-bench-") as folder:
        few, many = write_tokens(folder, N_FEW), write_tokens(folder, N_MANY)
        key = jose.Key(pathlib.Path(folder), "es256", "ES256")
        with running(with_credentials(options, root, f"access.tokens_file={many}", *write_keys(folder, key)), options) as peers:
            measure_all(peers, rows(peers, "token", secret(N_MANY - 1)), options, report)
            measure_all(peers, rows(peers, "JSON Web Token", key.token("read", exp=int(time.time()) + VALID_S)), options, report)
            measure_signed(peers, secret(N_MANY - 1), options, report)
            for peer in peers[:len(options.binaries)]:
                beside_bad_tokens(options, report, peer.name, peer, N_MANY - 1)
        for name, binary in options.binaries:
            start_with_many(options, report, name, binary, root, few, many)
