"""What Kubernetes would say of manifests, without a cluster: the schema of its API, and Pod Security "restricted".

The schemas come from the package kubernetes-validate, the rules from
https://kubernetes.io/docs/concepts/security/pod-security-standards/. Each fault is a sentence that begins with where it is.
"""

import functools
import json
import pathlib

import jsonschema
import pytest
import referencing
import yaml

VERSION = "1.34"
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret"}
SYSCTLS = {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.tcp_syncookies",
           "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
           "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"}
SECCOMP = {"RuntimeDefault", "Localhost"}
APPARMOR = {None, "RuntimeDefault", "Localhost"}
SELINUX = {None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}


class Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it: a key that is there twice is a fault, not the last one."""


def mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    assert len(keys) == len(set(keys)), f"{node.start_mark}: a key is there twice: {keys}"
    return loader.construct_mapping(node, deep=True)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


def load(text):
    return [found for found in yaml.load_all(text, Loader) if found is not None]


@functools.cache
def schemas():
    package = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    folder = pathlib.Path(package.__file__).parent / "kubernetes-json-schema" / f"v{VERSION}.0-local-strict"
    shared = referencing.Resource.from_contents(
        json.loads((folder / "_definitions.json").read_text()), default_specification=referencing.jsonschema.DRAFT7)
    return folder, referencing.Registry().with_resource("/api/_definitions.json", shared)


@functools.cache
def validator(kind, version):
    folder, registry = schemas()
    group, _, number = version.rpartition("/")
    prefix = group.split(".")[0]
    path = folder / f"{kind.lower()}-{prefix}{'-' if prefix else ''}{number}.json"
    assert path.exists(), f"Kubernetes {VERSION} has no {kind} of {version}"
    return jsonschema.Draft7Validator(json.loads(path.read_text()), registry=registry)


def schema_faults(document):
    """Of one manifest: unknown members, wrong types, members that are required."""
    found = validator(document["kind"], document["apiVersion"]).iter_errors(document)
    return [f"{document['kind']}.{'.'.join(map(str, fault.absolute_path))}: {fault.message}" for fault in found]


def container_faults(pod, container):
    """Of Pod Security "restricted"."""
    own, shared = container.get("securityContext", {}), pod.get("securityContext", {})

    def either(name, default=None):
        return own.get(name, shared.get(name, default))

    capabilities = own.get("capabilities", {})
    handlers = [container.get(name, {}) for name in ("startupProbe", "livenessProbe", "readinessProbe")]
    handlers += container.get("lifecycle", {}).values()
    rules = {
        "privileged": not own.get("privileged"),
        "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False,
        "capabilities.drop": "ALL" in capabilities.get("drop", []),
        "capabilities.add": set(capabilities.get("add", [])) <= {"NET_BIND_SERVICE"},
        "runAsNonRoot": either("runAsNonRoot") is True,
        "runAsUser": either("runAsUser") != 0,
        "seccompProfile": either("seccompProfile", {}).get("type") in SECCOMP,
        "appArmorProfile": either("appArmorProfile", {}).get("type") in APPARMOR,
        "seLinuxOptions": judge_selinux(either("seLinuxOptions", {})),
        "procMount": own.get("procMount", "Default") == "Default",
        "windowsOptions.hostProcess": not either("windowsOptions", {}).get("hostProcess"),
        "ports.hostPort": not any(port.get("hostPort") for port in container.get("ports", [])),
        "host of a probe": not any(handler.get(kind, {}).get("host") for handler in handlers for kind in ("httpGet", "tcpSocket")),
    }
    return [f"container {container['name']}: {rule} is not as restricted wants it" for rule, holds in rules.items() if not holds]


def judge_selinux(options):
    return options.get("type") in SELINUX and not options.get("user") and not options.get("role")


def pod_faults(pod):
    """Of Pod Security "restricted"."""
    faults = [f"{name} is true" for name in ("hostNetwork", "hostPID", "hostIPC") if pod.get(name)]
    for volume in pod.get("volumes", []):
        faults += [f"volume {volume['name']}: {kind} is not allowed" for kind in set(volume) - {"name"} - VOLUMES]
    for sysctl in pod.get("securityContext", {}).get("sysctls", []):
        faults += [] if sysctl["name"] in SYSCTLS else [f"sysctl {sysctl['name']} is not allowed"]
    for container in pod.get("initContainers", []) + pod["containers"] + pod.get("ephemeralContainers", []):
        faults += container_faults(pod, container)
    return faults


def pods(documents):
    return [document["spec"]["template"]["spec"] for document in documents if "template" in document.get("spec", {})]


def faults(documents):
    """Everything that is wrong with the manifests that are applied together."""
    named = [(document["kind"], document["metadata"]["name"]) for document in documents]
    twice = [f"{kind} {name} is there twice" for kind, name in set(named) if named.count((kind, name)) > 1]
    return twice + [fault for document in documents for fault in schema_faults(document)] + [
        fault for pod in pods(documents) for fault in pod_faults(pod)]
