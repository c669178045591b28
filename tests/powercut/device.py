"""Disks that lose their power: a recorded one to write on, and what is left of it after any number of its records.

Both need root, /dev/fuse and loop devices, and a mount namespace of their own (`unshare --mount`): nothing stays behind,
however the process ends. Images live in a tmpfs; no byte of this reaches a real disk.
"""

import contextlib
import dataclasses
import mmap
import os
import pathlib
import shutil
import struct
import subprocess
import time

MIB = 1 << 20
SECTOR_BYTES = 512
MOUNT_S = 120  # a noisy machine's; nothing waits for it to be over
KERNEL_LINES = 20
RECORD = struct.Struct("=QQQ")  # kind, offset, len, as disk.c writes them
WRITE, FLUSH = range(2)
MAKE = {  # name: (bytes, how it is made)
    "ext4": (128 * MIB, ["mkfs.ext4", "-q", "-F", "-b", "4096", "-N", "16384", "-J", "size=8", "-E", "lazy_itable_init=0"]),
    "xfs": (320 * MIB, ["mkfs.xfs", "-q", "-f"]),
}
UNTORN = {  # name: (first, end), bytes of the disk that are kept or dropped together
    "ext4": (1024, 2048),  # the superblock: two sectors and a checksum over both; without it nothing is mounted, whoever wrote
    "xfs": (0, SECTOR_BYTES),
}


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=MOUNT_S)
    if done.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout.strip()


class Unmountable(OSError):
    """A file system did not survive. Whatever writes files cannot bring that about."""


def mount(image, folder):
    """What the kernel has against a file system stands in its log alone."""
    try:
        run("mount", "-o", "loop", image, folder)
    except (OSError, subprocess.TimeoutExpired) as fault:
        told = subprocess.run(["dmesg"], capture_output=True, text=True)
        words = told.stdout.splitlines()[-KERNEL_LINES:] if told.returncode == 0 else ["(its log cannot be read)"]
        raise Unmountable("\n".join([str(fault), "the kernel's last lines:", *words])) from None


def why_not(system, program):
    """Why a machine cannot try that file system, or None."""
    if os.geteuid() != 0:
        return "only root makes loop devices"
    for path in ("/dev/fuse", "/dev/loop-control"):
        if not os.path.exists(path):
            return f"there is no {path}"
    for name in (MAKE[system][1][0], "unshare", "mount"):
        if shutil.which(name) is None:
            return f"there is no {name}"
    if not program.exists():
        return "zarrd-powercut-disk was not built (libfuse3-dev is missing)"
    trial = subprocess.run(["unshare", "--mount", "sh", "-ec", f"""
        mount -t tmpfs tmpfs /mnt
        truncate -s {MAKE[system][0]} /mnt/image
        {' '.join(MAKE[system][1])} /mnt/image
        mkdir /mnt/on
        mount -o loop /mnt/image /mnt/on"""], capture_output=True, text=True, timeout=MOUNT_S)
    return None if trial.returncode == 0 else f"it cannot be mounted here: {trial.stderr.strip()}"


@contextlib.contextmanager
def mounted(image, folder):
    """The file system in that file; its recovery is the first thing that happens."""
    mount(image, folder)
    try:
        yield folder
    finally:
        unmount(folder)


def unmount(folder):
    """A process that has just ended may still be about to close its files."""
    end = time.monotonic() + MOUNT_S
    while True:
        try:
            return run("umount", folder)
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def dig_holes(path):
    run("fallocate", "--dig-holes", path)


def copy_sparse(source, target):
    """The bytes of a file, but for its holes."""
    with open(source, "rb") as old, open(target, "wb") as new:
        end = os.fstat(old.fileno()).st_size
        new.truncate(end)
        at = 0
        while at < end:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:
                return  # nothing but a hole
            stop = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            while at < stop:
                at += os.copy_file_range(old.fileno(), new.fileno(), stop - at, at, at)


class Recorder:
    """A fresh file system on a disk that puts all it does on record."""

    def __init__(self, system, folder, program):
        self.folder = pathlib.Path(folder)
        self.first = self.folder / "first"  # the disk before the first record
        self.log = self.folder / "log"
        self.mount = self.folder / "on"
        self.system = system
        size, command = MAKE[system]
        self.first.touch()
        os.truncate(self.first, size)
        run(*command, self.first)
        dig_holes(self.first)
        image, position, self.fuse = self.folder / "image", self.folder / "position", self.folder / "fuse"
        copy_sparse(self.first, image)
        position.write_bytes(bytes(8))
        with open(position, "r+b") as file:
            self._position = mmap.mmap(file.fileno(), 8)
        self.fuse.mkdir()
        self.mount.mkdir()
        self.process = subprocess.Popen([program, self.fuse, image, self.log, position])
        self._wait_for_disk()
        mount(self.fuse / "disk", self.mount)

    def _wait_for_disk(self):
        end = time.monotonic() + MOUNT_S
        while not (self.fuse / "disk").exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise OSError("the disk did not start")
            time.sleep(0.005)

    def position(self):
        """How many records there are by now: what has been flushed before stands before that."""
        return struct.unpack("=Q", self._position[:])[0]

    def close(self):
        """The disk goes as after a shut-down; its records stay."""
        unmount(self.mount)
        unmount(self.fuse)
        self.process.wait(MOUNT_S)


@dataclasses.dataclass
class Record:
    kind: int
    offset: int
    start: int  # of its bytes in the log
    len: int


def torn(offset, length, untorn, rng):
    """Of a write of `length` bytes at `offset` some sectors, and others not: (start, end) of each piece that is kept, from offset."""
    whole = rng.random() < 0.5
    for start in range(0, length, SECTOR_BYTES):
        kept = rng.random() < 0.5
        if (whole if untorn[0] <= offset + start < untorn[1] else kept):
            yield start, min(start + SECTOR_BYTES, length)


class Replay:
    """The disk as a power cut leaves it. Cuts come in rising order."""

    def __init__(self, recorder, rng):
        self.rng = rng
        self.folder = recorder.folder
        self.untorn = UNTORN[recorder.system]
        self.base = self.folder / "base"
        copy_sparse(recorder.first, self.base)
        with open(recorder.log, "rb") as file:
            self.log = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.records = list(self._read())
        self.n_settled = 0  # records that base holds: a flush is the last of them

    def _read(self):
        at = 0
        while at < len(self.log):
            kind, offset, length = RECORD.unpack_from(self.log, at)
            yield Record(kind, offset, at + RECORD.size, length)
            at += RECORD.size + length

    def after(self, cut):
        """An image of the disk when the power went after `cut` records: what was flushed is there, the rest may be."""
        settled = next((i + 1 for i in range(cut - 1, self.n_settled - 1, -1) if self.records[i].kind == FLUSH), self.n_settled)
        with open(self.base, "r+b", buffering=0) as disk:
            for record in self.records[self.n_settled:settled]:
                self._write(disk, record)
        self.n_settled = settled
        image = self.folder / "cut"
        image.unlink(missing_ok=True)  # another file each time: a loop device may still have the one before
        copy_sparse(self.base, image)
        keep, tear = self.rng.choice([(0, 0), (0, 0.5), (0.1, 0.1), (0.4, 0.3), (0.8, 0.2), (1, 0)])
        with open(image, "r+b", buffering=0) as disk:
            for record in self.records[settled:cut]:
                fate = self.rng.random()
                if fate < keep:
                    self._write(disk, record)
                elif fate < keep + tear:
                    self._tear(disk, record)
        return image

    def _write(self, disk, record):
        os.pwrite(disk.fileno(), self.log[record.start:record.start + record.len], record.offset)

    def _tear(self, disk, record):
        for start, end in torn(record.offset, record.len, self.untorn, self.rng):
            os.pwrite(disk.fileno(), self.log[record.start + start:record.start + end], record.offset + start)
