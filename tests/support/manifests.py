"""What every deployment of zarrd in Kubernetes promises, whatever renders its manifests."""

import json
import re
import subprocess

from kubernetes import pods
from live import BINARY

SOCKET_KIB = 32  # of the memory limit, for each connection
UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
USER = 10001
DISK = "/cache"


def of_kind(documents, kind):
    return [document for document in documents if document["kind"] == kind]


def quantity(text):
    """Bytes of a quantity of Kubernetes (128Mi) or of a setting of zarrd (128MiB)."""
    number, unit = re.fullmatch(r"(\d+)([KMG]i)?B?", str(text)).groups()
    return int(number) * UNITS.get(unit, 1)


def effective(folder, config, environment):
    """The settings with which zarrd would start; it says on standard error why not. The folder stands for DISK, which is not here."""
    path = folder / "zarrd.json"
    path.write_text(config.replace(f'"{DISK}"', json.dumps(str(folder))))
    environment = {name: str(folder) if value == DISK else value for name, value in environment.items()}
    done = subprocess.run(
        [BINARY, "--config", path, "--check-config"], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{config}"
    settings = json.loads(done.stdout)
    settings["cache"]["disk_path"] = DISK if settings["cache"]["disk_path"] else ""
    return settings


def settings_of(folder, documents):
    """The effective settings of the configuration that is mounted, with the environment of the container."""
    (pod,) = pods(documents)
    (container,) = pod["containers"]
    mounted = next(volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume)
    (config,) = [found for found in of_kind(documents, "ConfigMap") if found["metadata"]["name"] == mounted]
    environment = {entry["name"]: entry["value"] for entry in container.get("env", [])}
    return effective(folder, config["data"]["zarrd.json"], environment)


def judge_memory(settings, resources):
    """limit = memory.bytes + 32 KiB for each connection, and all of it is asked for."""
    limit = quantity(resources["limits"]["memory"])
    sockets = -(-settings["http"]["connections"] * SOCKET_KIB // 1024) << 20
    assert limit == quantity(settings["memory"]["bytes"]) + sockets, (limit, settings["memory"])
    assert quantity(resources["requests"]["memory"]) == limit


def drain_ms(settings):
    """How long a server that was asked to stop takes at most."""
    return settings["http"]["drain_lag_ms"] + settings["http"]["drain_ms"]


def judge_pod(settings, pod):
    (container,) = pod["containers"]
    context = pod["securityContext"]
    assert pod["automountServiceAccountToken"] is False
    assert (context["runAsUser"], context["runAsGroup"], context["fsGroup"]) == (USER, USER, USER)
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    assert container["command"] == ["/usr/bin/zarrd", "--config", "/etc/zarrd/zarrd.json"]
    paths = [container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness", "readiness")]
    assert paths == ["/livez", "/livez", "/readyz"]
    assert pod["terminationGracePeriodSeconds"] * 1000 >= drain_ms(settings) + 5000
    assert settings["workers"]["count"] == int(container["resources"]["limits"]["cpu"])
    judge_memory(settings, container["resources"])
    assert {entry["topologyKey"] for entry in pod["topologySpreadConstraints"]} == {
        "kubernetes.io/hostname", "topology.kubernetes.io/zone"}
    for volume in pod["volumes"]:
        if "secret" in volume:
            assert volume["secret"]["defaultMode"] == 0o440, volume
    judge_disk(settings, pod["volumes"], container["volumeMounts"])


def judge_disk(settings, volumes, mounts):
    """cache.disk_path is a volume of its own, an eighth larger than cache.disk_bytes at least."""
    if not settings["cache"]["disk_path"]:
        return
    (mount,) = [mount for mount in mounts if mount["mountPath"] == DISK]
    (volume,) = [volume for volume in volumes if volume["name"] == mount["name"]]
    assert quantity(volume["emptyDir"]["sizeLimit"]) >= quantity(settings["cache"]["disk_bytes"]) * 9 / 8


def judge(folder, documents):
    """Of all manifests of one deployment. Gives the effective settings."""
    (pod,) = pods(documents)
    settings = settings_of(folder, documents)
    judge_pod(settings, pod)
    (deployment,) = of_kind(documents, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    selected = [document["spec"]["selector"] for document in of_kind(documents, "Service")]
    selected += [document["spec"]["selector"]["matchLabels"] for document in of_kind(documents, "PodDisruptionBudget")]
    selected += [document["spec"]["podSelector"]["matchLabels"] for document in of_kind(documents, "NetworkPolicy")]
    selected += [deployment["spec"]["selector"]["matchLabels"]]
    for selector in selected:
        assert selector, "selects every pod of the namespace"
        assert selector.items() <= labels.items(), (selector, labels)
    for account in of_kind(documents, "ServiceAccount"):
        assert account["automountServiceAccountToken"] is False
    return settings
