"""deploy/helm/zarrd: every pair of values as Helm renders it, judged as deploy/kubernetes is; and wrong values are refused with words.
What the schema of the values refuses is tested without Helm, too.
"""

import itertools
import json
import os
import shutil
import subprocess

import jsonschema
import kubernetes
import manifests
import pytest
import yaml
from live import ROOT

CHART = ROOT / "deploy" / "helm" / "zarrd"
HELM = os.environ.get("ZARRD_HELM") or shutil.which("helm")
HELM_S = 120
ERA = {"era": {"location": "/data/era.zarr"}}
LAKE = {"lake": {"location": "s3://bucket/lake.zarr", "options": {"credentials_file": "/run/secrets/zarrd/s3/credentials"}}}
EGRESS = [{"ports": [{"port": 443, "protocol": "TCP"}], "to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}]

# What may be chosen, apart from the rest of the values.
AXES = {
    "datasets": [{"datasets": ERA, "data": {"claim": "era"}}, {"datasets": LAKE},
                 {"datasets": ERA | LAKE, "data": {"claim": "era"}},
                 {"datasets": {"era": ERA["era"] | {"writable": True}}, "data": {"claim": "era", "writable": True}}],
    "scaling": [{}, {"autoscaling": {"enabled": False}, "replicas": 5}, {"autoscaling": {"min": 1, "max": 1}},
                {"autoscaling": {"enabled": False}, "replicas": 0}],
    "disruption": [{}, {"disruption": {"maxUnavailable": 0}}],
    "memory": [{}, {"memoryMiB": 64, "cpu": {"request": 0.1, "limit": 1}}, {"memoryMiB": 65536, "cpu": {"request": 8, "limit": 16}}],
    "disk": [{}, {"diskCacheGiB": 1}, {"diskCacheGiB": 100}],
    "secrets": [{}, {"secrets": [{"name": "s3", "secret": "zarrd-s3"}, {"name": "access", "secret": "zarrd.access"}]}],
    "service": [{}, {"service": {"type": "LoadBalancer", "port": 8080}}, {"service": {"type": "NodePort"}}],
    "network": [{}, {"network": {"policy": False}}, {"network": {"egress": EGRESS, "clients": {}}}],
    "settings": [{}, {"settings": {"http": {"connections": 100, "drain_ms": 0}}}, {"settings": {"http": {"drain_ms": 600000}}},
                 {"settings": {"cache": {"decoded_bytes": "128MiB"}, "log": {"format": "text"}, "access": {"anonymous": "none"}}}],
    "image": [{}, {"image": {"repository": "registry.example/zarrd", "digest": "sha256:" + "0" * 64, "pullSecrets": ["pull"]}},
              {"image": {"tag": "1.2.3", "pullPolicy": "Always"}}],
    "pod": [{}, {"nodeSelector": {"disk": "fast"}, "podAnnotations": {"note": "yes"},
                 "tolerations": [{"key": "zarrd", "operator": "Exists", "effect": "NoSchedule"}]}],
}

REFUSED_BY_SCHEMA = [
    ({"replica": 3}, "replica"),
    ({"replicas": "3"}, "replicas"),
    ({"memoryMiB": 32}, "memoryMiB"),
    ({"memoryMiB": "1Gi"}, "memoryMiB"),
    ({"cpu": {"limit": 1.5}}, "limit"),
    ({"cpu": {"request": 0}}, "request"),
    ({"datasets": {"a/b": {"location": "mem:"}}}, "a/b"),
    ({"datasets": {"a": {"title": "no location"}}}, "location"),
    ({"datasets": {"a": "mem:"}}, "datasets"),
    ({"settings": {"http": {"drain_ms": -1}}}, "drain_ms"),
    ({"settings": {"http": {"drain_ms": "30s"}}}, "drain_ms"),
    ({"settings": {"http": {"hosts": ["a"]}}}, "hosts"),
    ({"settings": {"drain_ms": 1}}, "drain_ms"),
    ({"image": {"digest": "sha256:abc"}}, "digest"),
    ({"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    ({"secrets": [{"name": "s3"}]}, "secret"),
    ({"secrets": [{"name": "../s3", "secret": "a"}]}, "name"),
    ({"service": {"type": "ExternalName"}}, "type"),
    ({"service": {"port": 65536}}, "port"),
    ({"drain": {"marginSeconds": 1}}, "marginSeconds"),
    ({"data": {"claim": "Not_A_Name"}}, "claim"),
    ({"autoscaling": {"waiting": 0}}, "waiting"),
]
REFUSED_BY_CHART = [
    ({"datasets": {}}, "datasets names none"),
    ({"data": {"claim": ""}}, "data.claim names no claim"),
    ({"datasets": {"a": {"location": "/srv/a.zarr"}}}, "is mounted at /data"),
    ({"datasets": {"era": ERA["era"] | {"writable": True}}}, "data.writable is false"),
    ({"datasets": {"work": {"location": "mem:"}}}, "each replica would have another"),
    ({"autoscaling": {"min": 4, "max": 3}}, "autoscaling.max (3) is less than autoscaling.min (4)"),
    ({"cpu": {"request": 3, "limit": 2}}, "cpu.request (3) is more than cpu.limit (2)"),
    ({"secrets": [{"name": "a", "secret": "b"}, {"name": "a", "secret": "c"}]}, "is there twice"),
    ({"settings": {"memory": {"bytes": "1GiB"}}}, "settings.memory.bytes follows from memoryMiB"),
    ({"settings": {"workers": {"count": 4}}}, "settings.workers.count follows from cpu.limit"),
    ({"settings": {"cache": {"disk_path": "/tmp"}}}, "settings.cache.disk_path follows from diskCacheGiB"),
    ({"settings": {"datasets": {"a": "b"}}}, "settings.datasets is no group"),
]


def pairs_covered():
    """Choices of one value an axis, such that every two values of two axes meet in one of them."""
    names = list(AXES)
    missing = {((a, i), (b, j)) for a, b in itertools.combinations(names, 2)
               for i in range(len(AXES[a])) for j in range(len(AXES[b]))}
    while missing:
        first, second = min(missing)
        choice = dict([first, second])
        for name in names:
            if name not in choice:
                choice[name] = max(range(len(AXES[name])), key=lambda i: sum(
                    pair in missing for other in choice.items() for pair in (((name, i), other), (other, (name, i)))))
        missing -= set(itertools.combinations([(name, choice[name]) for name in names], 2))
        yield choice


CHOICES = list(pairs_covered())


def values_of(choice):
    """A choice as values: no two axes have a member in common."""
    return {name: value for axis, i in choice.items() for name, value in AXES[axis][i].items()}


def helm(tmp_path, values, command=("template", "live")):
    if HELM is None:
        pytest.skip("Helm is not there")
    path = tmp_path / "values.json"
    path.write_text(json.dumps(values))
    command = [HELM, *command, str(CHART), "--values", str(path), "--kube-version", kubernetes.VERSION]
    return subprocess.run(command, capture_output=True, text=True, timeout=HELM_S, check=False)


def default_values():
    return yaml.safe_load((CHART / "values.yaml").read_text())


def merged(values):
    """The values under the defaults, member by member."""
    both = default_values()
    for name, value in values.items():
        both[name] = {**both[name], **value} if isinstance(value, dict) and isinstance(both.get(name), dict) else value
    return both


def schema_of_values():
    schema = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def test_schema_knows_every_value():
    schema = schema_of_values()
    assert list(schema.iter_errors(default_values())) == []
    known = set(schema.schema["properties"]) - {"global"}
    assert set(default_values()) == known
    for name, value in default_values().items():
        members = schema.schema["properties"][name].get("properties")
        if members and name != "settings":
            assert set(members) == set(value), name


@pytest.mark.parametrize("choice", CHOICES)
def test_schema_allows_what_is_right(choice):
    assert list(schema_of_values().iter_errors(merged(values_of(choice)))) == []


@pytest.mark.parametrize("values, word", REFUSED_BY_SCHEMA)
def test_schema_refuses_what_is_wrong(values, word):
    found = list(schema_of_values().iter_errors(merged(values)))
    assert any(word in f"{list(fault.absolute_path)} {fault.message}" for fault in found), found


@pytest.mark.parametrize("choice", CHOICES)
def test_rendered_manifests_keep_the_promises(choice, tmp_path):
    values = values_of(choice)
    done = helm(tmp_path, values)
    assert done.returncode == 0, done.stderr
    documents = kubernetes.load(done.stdout)
    assert kubernetes.faults(documents) == []
    settings = manifests.judge(tmp_path, documents)
    assert set(settings["datasets"]) == set(values["datasets"])
    for group, members in values.get("settings", {}).items():
        assert members.items() <= settings[group].items()
    kinds = {document["kind"] for document in documents}
    assert ("HorizontalPodAutoscaler" in kinds) == values.get("autoscaling", {}).get("enabled", True)
    assert ("PodDisruptionBudget" in kinds) == ("disruption" not in values)
    assert ("NetworkPolicy" in kinds) == values.get("network", {}).get("policy", True)
    judge_egress(values, documents)
    judge_with_server(done.stdout)


def judge_egress(values, documents):
    """Nothing, what the values say, or names and TLS where a dataset is remote."""
    for policy in manifests.of_kind(documents, "NetworkPolicy"):
        ports = [port["port"] for rule in policy["spec"].get("egress", []) for port in rule["ports"]]
        given = [port["port"] for rule in values.get("network", {}).get("egress", []) for port in rule["ports"]]
        assert ports == (given or ([53, 53, 443] if "lake" in values["datasets"] else []))


def judge_with_server(text):
    config = os.environ.get("ZARRD_KUBECONFIG")
    if config is not None:
        done = subprocess.run(
            ["kubectl", "--kubeconfig", config, "-n", "check", "apply", "--dry-run=server", "--validate=strict", "-f", "-"],
            input=text, capture_output=True, text=True, timeout=HELM_S, check=False)
        assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr


@pytest.mark.parametrize("values, words", [*REFUSED_BY_SCHEMA, *REFUSED_BY_CHART])
def test_wrong_values_are_refused_with_words(values, words, tmp_path):
    done = helm(tmp_path, {"datasets": ERA, "data": {"claim": "era"}} | values)
    assert done.returncode != 0
    assert words in done.stderr


def test_the_chart_is_clean(tmp_path):
    done = helm(tmp_path, {"datasets": ERA, "data": {"claim": "era"}}, ("lint", "--strict"))
    assert done.returncode == 0, done.stdout


def test_the_version_is_that_of_the_program():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    printed = subprocess.run([manifests.BINARY, "--version"], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["zarrd", chart["appVersion"]]
