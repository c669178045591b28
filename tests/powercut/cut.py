"""A file system, zarrd writing to it, and many power cuts: cut.py SYSTEM CUTS SEED [--without SYNC]

In a mount namespace of its own. zarrd writes to the recorded disk (device.py) what the clients of workload.py ask for; then the
disk is put together as each cut leaves it, mounted, and every place judged by its history: in the files, and through a zarrd
that starts on them. --without has zarrd do no sync of a kind, or of any kind, so that cuts must lose writes. The
last line is JSON: what was found.
"""

import argparse
import collections
import contextlib
import errno
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from device import Recorder, Replay, Unmountable, mounted, run  # noqa: E402
from files import Files, numbers, runs  # noqa: E402
from history import ABSENT, Histories, Verdict  # noqa: E402
from live import Server  # noqa: E402
from workload import DATASET, Work, litter, tidied  # noqa: E402

CUTS_EACH = 40  # of each disk: what a file system has to recover grows with all that was written
WRITES_EACH = 80  # of each client on it
STORE = "store.zarr"
SHOWN_MAX = 20
THROWS_MAX = 3  # of the dice for one cut
WRITE_BACK_S = 0.1
FAULTS = [verdict.value for verdict in Verdict if verdict is not Verdict.RIGHT] + ["served wrong"]


def serve(folder, without=None):
    """A zarrd over the store in that folder; `without` one kind of sync: fdatasync or fsync-directory, as disk_fault.c has them, or
    all: with `durable` off."""
    config = {"datasets": {DATASET: {"location": str(folder / STORE), "writable": True, "durable": without != "all"}}}
    return Server(config=config, faults={f"{without}.skip": ""} if without in ("fdatasync", "fsync-directory") else None)


@contextlib.contextmanager
def written_back(folder):
    """Meanwhile the kernel writes back now and then, as it does by itself when there is more time."""
    over = threading.Event()

    def write_back():
        while not over.wait(WRITE_BACK_S):
            run("sync", "--file-system", folder)

    thread = threading.Thread(target=write_back)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def record(folder, options, seed):
    """Writes until all hands are done: (the recorder, histories, the first moment to cut at, the last, writes acknowledged)."""
    recorder = Recorder(options.system, folder, options.disk)
    (recorder.mount / STORE).mkdir()
    run("sync", "--file-system", recorder.mount)
    server = serve(recorder.mount, options.without)
    histories = Histories(recorder.position)
    work = Work(server, histories)
    try:
        work.prepare()
        began = recorder.position()
        with written_back(recorder.mount):
            n_written = work.run(WRITES_EACH, seed)
        ended = recorder.position()
    finally:
        server.stop()
        recorder.close()
    return recorder, histories, began, ended, n_written


def moments(histories, began, ended, n, rng):
    """Half of them anywhere, half right after an acknowledgement: when the most can be lost that must not be."""
    told = [change.acknowledged for history in histories.of.values() for change in history.changes
            if change.acknowledged is not None and change.acknowledged >= began]
    return sorted([rng.randint(began, ended) for _ in range(n // 2)] + [rng.choice(told) for _ in range(n - n // 2)])


def ask_server(folder, histories):
    """What a server that starts on what is left gets wrong, in words."""
    files = Files(folder / STORE)
    server = serve(folder)
    connection = server.connection()
    try:
        wrong = [] if tidied(files.root) else [f"not swept: {litter(files.root)}"]
        tree = server.get(f"/v1/datasets/{DATASET}/tree/", connection=connection).json()
        wrong += [f"refused: {node}" for node in tree["nodes"] if "refused" in node]
        for node in tree["nodes"]:
            if node["path"] in ("wide", "shards"):
                answer = server.get(f"/v1/datasets/{DATASET}/slices/{node['path']}", connection=connection)
                wrong += [f"slice of {node['path']}: {answer}"] if answer.status != 200 else []
        for kind, key, *_ in histories.of:
            if kind == "object":
                answer, data = server.get(f"/zarr/{DATASET}/{key}", connection=connection), files.read(key)
                if (answer.status, answer.body) != (200, data) and (answer.status, data) != (404, None):
                    wrong.append(f"{key}: {answer}")
            elif kind == "elements":
                answer, state = server.get(f"/v1/datasets/{DATASET}/slices/{key}", connection=connection), files.see((kind, key))
                if (runs(numbers(answer.body)) if answer.status == 200 else ABSENT) != state or answer.status not in (200, 404):
                    wrong.append(f"elements of {key}: {answer}")
    finally:
        connection.close()
        server.stop()
    return wrong


def judge(folder, image, histories, cut):
    """Verdicts, and words about each that is not right."""
    left = folder / "left"
    left.mkdir(exist_ok=True)
    with mounted(image, left):
        wrong = histories.judge(Files(left / STORE).see, cut)
        counts = collections.Counter(verdict.value for verdict, _, _ in wrong)
        told = [f"cut {cut}: {verdict.value}: {place}: {state}" for verdict, place, state in wrong]
        if not wrong:
            faults = ask_server(left, histories)
            counts["served wrong"] += len(faults)
            told += [f"cut {cut}: {fault}" for fault in faults]
    return counts, told


def survived(act):
    """What act() found, and what it was told before about file systems that did not outlast the cut: torn is what no disk may tear,
    whoever wrote. Those are thrown again, and counted."""
    told = []
    while True:
        try:
            return act(), told
        except OSError as fault:
            if not isinstance(fault, Unmountable) and fault.errno not in (errno.EUCLEAN, errno.EIO):
                raise
            told.append(str(fault))
            if len(told) == THROWS_MAX:
                raise


def one_round(options, n_cuts, seed):
    """What one disk shows: counts, words."""
    rng = random.Random(seed)
    counts, told = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="zarrd-powercut-") as name:
        run("mount", "-t", "tmpfs", "-o", "size=4g", "tmpfs", name)
        folder = pathlib.Path(name)
        try:
            recorder, histories, began, ended, n_written = record(folder, options, seed)
            replay = Replay(recorder, rng)
            for cut in moments(histories, began, ended, n_cuts, rng):
                (found, words), lost = survived(lambda: judge(folder, replay.after(cut), histories, cut))
                counts += found + collections.Counter(damaged=bool(words), thrown_again=len(lost))
                told += words + [f"cut {cut}: thrown again: {why}" for why in lost]
        finally:
            with contextlib.suppress(OSError):
                run("umount", "--lazy", name)
    counts += collections.Counter(cuts=n_cuts, writes=n_written, places=len(histories.of), records=ended)
    return counts, told


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=["ext4", "xfs"])
    parser.add_argument("cuts", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--without", choices=["all", "fdatasync", "fsync-directory"])
    parser.add_argument("--disk", type=pathlib.Path, default=ROOT / "build/dev/zarrd-powercut-disk")
    options = parser.parse_args()
    counts, told = collections.Counter(), []
    for done in range(0, options.cuts, CUTS_EACH):
        found, words = one_round(options, min(CUTS_EACH, options.cuts - done), options.seed + done)
        counts += found
        told += words
    print("\n".join(told[:SHOWN_MAX]))
    print(json.dumps({name: counts[name] for name in ("cuts", "thrown_again", "damaged", "writes", "places", "records", *FAULTS)}))


if __name__ == "__main__":
    main()
