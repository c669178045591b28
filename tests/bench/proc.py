"""What the processes of a server cost: time, bytes, memory, system calls. All from /proc and strace."""

import contextlib
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import time

PROC = pathlib.Path("/proc")


def cores(unpinned=False):
    """(of the servers, of the client): the first two this process may use; None, None: wherever the kernel likes."""
    usable = sorted(os.sched_getaffinity(0))
    return (None, None) if unpinned or len(usable) == 1 else (usable[0], usable[1])


@contextlib.contextmanager
def pinned(core):
    """What is started within runs on that core; None leaves it free."""
    before = os.sched_getaffinity(0)
    if core is not None:
        os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def allow_many_files():
    """As many descriptors as the hard limit has, for this process and what it starts."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Group:
    """A process and all its descendants."""

    def __init__(self, pid):
        self.pid = pid

    def pids(self):
        found, todo = [], [self.pid]
        while todo:
            pid = todo.pop()
            found.append(pid)
            for task in (PROC / str(pid) / "task").iterdir():
                todo += [int(child) for child in (task / "children").read_text().split()]
        return found

    def cpu_us(self):
        """Time on a processor since the beginning, of all threads that live, in the kernel and outside."""
        return sum(int((task / "schedstat").read_text().split()[0])
                   for pid in self.pids() for task in (PROC / str(pid) / "task").iterdir()) / 1000

    def bytes_read(self):
        """Through read, pread, sendfile and the like, the page cache's included; recv does not count."""
        return sum(int(re.search(r"rchar: (\d+)", (PROC / str(pid) / "io").read_text())[1]) for pid in self.pids())

    def memory(self, field="VmRSS"):
        """Bytes, by a field of /proc/PID/status: VmRSS is now, VmHWM the most since reset_peak."""
        return sum(int(re.search(rf"{field}:\s+(\d+) kB", (PROC / str(pid) / "status").read_text())[1]) * 1024
                   for pid in self.pids())

    def reset_peak(self):
        for pid in self.pids():
            with contextlib.suppress(OSError):
                (PROC / str(pid) / "clear_refs").write_text("5")


@contextlib.contextmanager
def system_calls(group):
    """`with system_calls(group) as calls: ...` then calls["total"] is what the block cost; needs strace and the right to it."""
    calls = {}
    with tempfile.NamedTemporaryFile("r") as report:
        command = ["strace", "-f", "-c", "-o", report.name] + [word for pid in group.pids() for word in ("-p", str(pid))]
        tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_until_traced(group, tracer)
        try:
            yield calls
        finally:
            if tracer.poll() is None:
                tracer.send_signal(signal.SIGINT)
            tracer.communicate()
        for line in report.read().splitlines():
            # % time, seconds, us a call, calls, errors or nothing, name
            match = re.fullmatch(r"\s*[\d.]+\s+[\d.]+\s+\d*\s+(\d+)(?:\s+\d+)?\s+(\w+)", line)
            if match:
                calls[match[2]] = int(match[1])


def wait_until_traced(group, tracer):
    end = time.monotonic() + 5
    while time.monotonic() < end and tracer.poll() is None:
        tasks = [task for pid in group.pids() for task in (PROC / str(pid) / "task").iterdir()]
        if all("TracerPid:\t0" not in (task / "status").read_text() for task in tasks):
            return
        time.sleep(0.01)


CGROUPS = pathlib.Path("/sys/fs/cgroup")


def own_cgroup():
    """(folder, file of the limit, file of processes' ids) of this process's memory cgroup, version 2 or 1; None without one."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return CGROUPS / "memory" / path[1:], "memory.limit_in_bytes"
        if controllers == "" and (CGROUPS / "cgroup.controllers").exists():
            return CGROUPS / path[1:], "memory.max"
    return None, None


@contextlib.contextmanager
def in_cgroup(folder, parent):
    """What is started within belongs to that cgroup; this process goes back."""
    (folder / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (parent / "cgroup.procs").write_text(str(os.getpid()))


@contextlib.contextmanager
def in_address_space(limit_bytes):
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def memory_limited(limit_bytes):
    """`with memory_limited(n) as (how, enter): with enter(): start` limits what is started: by a cgroup, else its addresses."""
    parent, limit = own_cgroup()
    folder = parent and parent / f"zarrd-bench-{os.getpid()}"
    try:
        folder.mkdir()
        (folder / limit).write_text(str(limit_bytes))
    except (OSError, AttributeError):
        if folder is not None and folder.exists():
            folder.rmdir()
        yield "address space", lambda: in_address_space(limit_bytes)
        return
    try:
        yield "cgroup", lambda: in_cgroup(folder, parent)
    finally:
        folder.rmdir()
