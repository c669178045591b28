"""deploy/systemd: systemd itself reads the unit offline, judges its hardening, and names the system calls that zarrd is left with."""

import re
import shutil
import subprocess

import manifests
import pytest
from client import DEADLINE_S, wait_until
from live import BINARY, ROOT, Server

UNIT = ROOT / "deploy" / "systemd" / "zarrd.service"
EXPOSURE_MOST = 2.0


def settings_of_unit():
    """Every setting of the unit with its values, in order."""
    found = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, value = line.split("=", 1)
            found.setdefault(name, []).append(value)
    return found


def environment():
    return dict(pair.split("=", 1) for line in settings_of_unit()["Environment"] for pair in line.split())


def analyze(*arguments):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not there")
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=DEADLINE_S, check=False)


def test_systemd_reads_the_unit(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub("/usr/bin/zarrd|/bin/kill", str(BINARY), UNIT.read_text()))  # which need not be here
    done = analyze("verify", "--man=no", str(unit))
    assert (done.returncode, done.stderr) == (0, "")


def test_exposure_is_small():
    done = analyze("security", "--offline=true", "--no-pager", f"--threshold={EXPOSURE_MOST * 10:.0f}", str(UNIT))
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd is older than 250")
    assert done.returncode == 0, done.stdout
    assert float(re.search(r"Overall exposure level.*: ([0-9.]+)", done.stdout)[1]) <= EXPOSURE_MOST


def members(group):
    """The system calls of a group, those of the groups in it too."""
    found = set()
    for line in analyze("syscall-filter", "--no-pager", group).stdout.splitlines()[1:]:
        name = line.strip()
        if name.startswith("@"):
            found |= members(name)
        elif name and not name.startswith("#"):
            found.add(name)
    return found


def allowed():
    """What is left of SystemCallFilter=, line by line."""
    calls = set()
    for line in settings_of_unit()["SystemCallFilter"]:
        named = set()
        for word in line.removeprefix("~").split():
            named |= members(word) if word.startswith("@") else {word}
        calls = calls - named if line.startswith("~") else calls | named
    return calls


def test_no_system_call_of_a_server_is_refused(tmp_path):
    """A server that reads, writes to disk and drains, under strace."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not there")
    calls = allowed()
    assert {"read", "accept4", "setpriority"} <= calls and not {"mount", "ptrace", "setuid"} & calls
    trace = tmp_path / "trace"
    (tmp_path / "lake").mkdir()
    wrapper = tmp_path / "traced"
    wrapper.write_text(f'#!/bin/sh\nexec strace -D -f -q -e signal=none -o {trace} {BINARY} "$@"\n')
    wrapper.chmod(0o755)
    running = Server("--writable", f"lake={tmp_path / 'lake'}", binary=wrapper)
    try:
        group = b'{"zarr_format": 3, "node_type": "group"}'
        assert running.request("PUT", "/zarr/lake/zarr.json", body=group).status == 200
        assert running.get("/v1/datasets/lake/tree/").status == 200
        assert running.get("/readyz").status == 200
    finally:
        running.stop()
    wait_until(lambda: "+++ exited with 0 +++" in trace.read_text().splitlines()[-1])  # strace ends after the server
    made = set(re.findall(r"^\d+ +([a-z0-9_]+)\(", trace.read_text(), re.MULTILINE))
    assert "accept4" in made
    assert made <= calls, made - calls


def test_settings_are_those_of_zarrd(tmp_path):
    settings = manifests.effective(tmp_path, '{"datasets": {"work": {"location": "mem:"}}}', environment())
    unit = settings_of_unit()
    (limit,) = unit["MemoryMax"]
    manifests.judge_memory(settings, {"limits": {"memory": limit + "i"}, "requests": {"memory": limit + "i"}})
    assert int(unit["TimeoutStopSec"][0]) * 1000 >= manifests.drain_ms(settings) + 5000
    assert int(unit["LimitNOFILE"][0]) > settings["http"]["connections"]
    assert unit["RestartPreventExitStatus"] == ["2"]
