"""deploy/compose.yaml: what it promises, with settings that zarrd itself accepts. Compose reads it too, where it is there."""

import os
import re
import shutil
import subprocess

import manifests
import pytest
from client import DEADLINE_S
from kubernetes import load
from live import ROOT

FILE = ROOT / "deploy" / "compose.yaml"
# The members of a service that are used here, as https://github.com/compose-spec/compose-spec has them.
MEMBERS = {"image": str, "build": str, "command": list, "ports": list, "volumes": list, "environment": dict, "user": str,
           "read_only": bool, "cap_drop": list, "security_opt": list, "mem_limit": str, "memswap_limit": str, "cpus": int,
           "pids_limit": int, "stop_grace_period": str, "healthcheck": dict, "restart": str, "logging": dict}


@pytest.fixture(scope="module")
def service():
    (document,) = load(FILE.read_text())
    assert set(document) == {"name", "services"}
    (found,) = document["services"].values()
    return found


def test_members_are_of_compose(service):
    for name, value in service.items():
        assert isinstance(value, MEMBERS[name]), name


def test_it_is_hardened(service):
    assert service["user"] == f"{manifests.USER}:{manifests.USER}"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert all(volume.endswith(":ro") for volume in service["volumes"])


def test_settings_are_those_of_zarrd(service, tmp_path):
    settings = manifests.effective(tmp_path, '{"datasets": {"work": {"location": "mem:"}}}', service["environment"])
    limit = re.fullmatch(r"(\d+)m", service["mem_limit"])[1] + "Mi"
    manifests.judge_memory(settings, {"limits": {"memory": limit}, "requests": {"memory": limit}})
    assert service["memswap_limit"] == service["mem_limit"]
    assert settings["workers"]["count"] == service["cpus"]
    assert int(service["stop_grace_period"].removesuffix("s")) * 1000 >= manifests.drain_ms(settings) + 5000


def test_it_runs_what_the_image_runs(service):
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert f"USER {service['user']}" in dockerfile
    assert '"/usr/bin/zarrd", "--health", "http://127.0.0.1:8080/readyz"' in dockerfile
    assert service["healthcheck"]["test"] == ["CMD", "/usr/bin/zarrd", "--health", "http://127.0.0.1:8080/readyz"]


def test_compose_reads_it():
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) is not None:
            version = subprocess.run([*command, "version"], capture_output=True, timeout=DEADLINE_S, check=False)
            if version.returncode == 0:
                break
    else:
        pytest.skip("Compose is not there")
    done = subprocess.run([*command, "-f", str(FILE), "config", "--quiet"], env={**os.environ, "ZARRD_DATA": "/srv"},
                          capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
