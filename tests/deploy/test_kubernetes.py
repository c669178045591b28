"""deploy/kubernetes: each overlay as kustomize renders it, under the schema of Kubernetes and Pod Security "restricted", and with
settings that zarrd itself accepts. With a real API server in ZARRD_KUBECONFIG it is asked as well.
"""

import copy
import json
import os
import shutil
import subprocess

import kubernetes
import manifests
import pytest
import yaml
from live import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("base", "overlays/files", "overlays/s3", "overlays/dev")
KUBECTL_S = 120


def kubectl(*arguments, **more):
    return subprocess.run(["kubectl", *arguments], capture_output=True, text=True, timeout=KUBECTL_S, check=False, **more)


@pytest.fixture(scope="module")
def rendered():
    """The manifests of each overlay, as text."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not there")
    all_ = {name: kubectl("kustomize", str(FOLDER / name)) for name in OVERLAYS}
    if any("unknown field" in done.stderr for done in all_.values()):
        pytest.skip("this kubectl is older than 1.21, and its kustomize too old")
    for done in all_.values():
        assert done.returncode == 0 and done.stderr == "", done.stderr
    return {name: done.stdout for name, done in all_.items()}


@pytest.mark.parametrize("name", OVERLAYS)
def test_manifests_are_admitted(rendered, name):
    assert kubernetes.faults(kubernetes.load(rendered[name])) == []


@pytest.mark.parametrize("name", OVERLAYS)
def test_manifests_keep_the_promises(rendered, name, tmp_path):
    settings = manifests.judge(tmp_path, kubernetes.load(rendered[name]))
    assert settings["listen"] == [":8080"]
    assert bool(settings["datasets"]) == (name != "base")


def test_an_api_server_admits_all(rendered):
    config = os.environ.get("ZARRD_KUBECONFIG")
    if config is None:
        pytest.skip("no API server: ZARRD_KUBECONFIG names none")
    for name, text in rendered.items():
        done = kubectl("--kubeconfig", config, "-n", "check", "apply", "--dry-run=server", "--validate=strict", "-f", "-", input=text)
        assert done.returncode == 0 and "Warning" not in done.stderr, f"{name}: {done.stderr}"


def test_files_without_kustomize():
    """What needs no tool: every file of the base is a manifest that its schema allows."""
    files = [path for path in sorted((FOLDER / "base").glob("*.yaml")) if path.name != "kustomization.yaml"]
    named = yaml.safe_load((FOLDER / "base" / "kustomization.yaml").read_text())["resources"]
    assert sorted(named) == [path.name for path in files]
    assert kubernetes.faults([document for path in files for document in kubernetes.load(path.read_text())]) == []


def test_scales_by_a_metric_that_is_there(server):
    """The autoscaler's and the adapter's metric is one of /metrics, by lanes that the adapter adds up."""
    (scaler,) = kubernetes.load((FOLDER / "base" / "autoscaling.yaml").read_text())
    (rule,) = yaml.safe_load((FOLDER / "adapter.yaml").read_text())["rules"]["custom"]
    names = {metric["pods"]["metric"]["name"] for metric in scaler["spec"]["metrics"] if "pods" in metric}
    assert names == {rule["name"]["as"]}
    series = rule["seriesQuery"].split("{")[0]
    lines = server.get("/metrics").body.decode().splitlines()
    assert f"# TYPE {series} gauge" in lines
    assert {line.rsplit(" ", 1)[0] for line in lines if line.startswith(series + "{")} == {
        f'{series}{{lane="small"}}', f'{series}{{lane="large"}}'}


@pytest.mark.parametrize("anonymous", ["write", "none"])
def test_probes_are_answered(serve, anonymous):
    """As the kubelet asks: without a credential, by an address; with the environment of the container."""
    (deployment,) = kubernetes.load((FOLDER / "base" / "deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    config = json.loads((FOLDER / "overlays" / "dev" / "zarrd.json").read_text()) | {"access": {"anonymous": anonymous}}
    environment = {entry["name"]: entry["value"] for entry in container["env"]} | {"ZARRD_HTTP_DRAIN_LAG_MS": "0"}
    running = serve(config=config, environment=environment)
    for name in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert running.get(container[name]["httpGet"]["path"]).status == 200
    assert running.get("/v1/datasets/work").status == (401 if anonymous == "none" else 200)


POD = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [{"name": "a", "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}],
    "volumes": [{"name": "v", "emptyDir": {}}],
}


@pytest.mark.parametrize("where, value, fault", [
    (["hostNetwork"], True, "hostNetwork"),
    (["hostPID"], True, "hostPID"),
    (["securityContext", "runAsNonRoot"], False, "runAsNonRoot"),
    (["securityContext", "runAsUser"], 0, "runAsUser"),
    (["securityContext", "seccompProfile"], {"type": "Unconfined"}, "seccompProfile"),
    (["securityContext", "sysctls"], [{"name": "kernel.msgmax", "value": "1"}], "kernel.msgmax"),
    (["volumes", 0], {"name": "v", "hostPath": {"path": "/"}}, "hostPath"),
    (["containers", 0, "securityContext", "privileged"], True, "privileged"),
    (["containers", 0, "securityContext", "allowPrivilegeEscalation"], True, "allowPrivilegeEscalation"),
    (["containers", 0, "securityContext", "capabilities"], {}, "capabilities.drop"),
    (["containers", 0, "securityContext", "capabilities", "add"], ["NET_ADMIN"], "capabilities.add"),
    (["containers", 0, "securityContext", "procMount"], "Unmasked", "procMount"),
    (["containers", 0, "ports"], [{"containerPort": 80, "hostPort": 80}], "hostPort"),
    (["containers", 0, "livenessProbe"], {"httpGet": {"host": "10.0.0.1"}}, "host of a probe"),
])
def test_the_check_of_restricted_sees(where, value, fault):
    pod = copy.deepcopy(POD)
    assert kubernetes.pod_faults(pod) == []
    at = pod
    for step in where[:-1]:
        at = at[step]
    at[where[-1]] = value
    (found,) = kubernetes.pod_faults(pod)
    assert fault in found


@pytest.mark.parametrize("change, fault", [
    ({"spec": {"ports": [{"prot": 80}]}}, "prot"),
    ({"spec": {"ports": [{"port": "eighty"}]}}, "eighty"),
    ({"spec": {"sessions": True}}, "sessions"),
])
def test_the_check_of_schemas_sees(change, fault):
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}
    assert kubernetes.schema_faults(service) == []
    found = kubernetes.schema_faults(service | change)
    assert any(fault in text for text in found), found
