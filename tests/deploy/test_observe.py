"""deploy/observe: the dashboard and the alert rules ask for nothing that /metrics does not have."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import yaml
from arrays import write_gzipped
from client import wait_until
from live import ROOT
from origin import Origin

FOLDER = ROOT / "deploy" / "observe"
OURS = r"\b(?:zarrd|http|process)_\w+"
OF_PROMETHEUS = {"instance", "job"}  # labels that the scrape adds
SUFFIX = re.compile("_(bucket|sum|count)$")


def dashboard():
    return json.loads((FOLDER / "dashboard.json").read_text())


def rules():
    return [rule for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"] for rule in group["rules"]]


QUERIES = [(panel["title"], target["expr"]) for panel in dashboard()["panels"] for target in panel.get("targets", [])]
QUERIES += [(rule["alert"], rule["expr"]) for rule in rules()]
IDS = [f"{i}-{where}" for i, (where, _) in enumerate(QUERIES)]


@pytest.fixture(scope="module")
def scrape(serve_module, tmp_path_factory):
    """The labels of each sample, with their values, of a server to which a little of everything has happened."""
    folder = tmp_path_factory.mktemp("store")
    write_gzipped(folder, np.arange(64, dtype="<f4").reshape(8, 8), (4, 4))
    with Origin(folder) as origin:
        server = serve_module(f"d={folder}", f"far={origin.url}")
        for dataset in ("d", "far"):
            assert server.get(f"/v1/datasets/{dataset}/slices/").status == 200
        server.get("/v1/datasets/d/slices/nothing")
        origin.fault("status", times=None, status=500)
        assert server.get("/v1/datasets/far/nodes/other").status == 502
        failed = 'zarrd_dataset_request_duration_seconds_count{dataset="far",class="5xx"}'
        wait_until(lambda: failed in server.get("/metrics").body.decode())
        text = server.get("/metrics").body.decode()
    found = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.M):
        values = found.setdefault(name, {})
        for label, value in re.findall(r'(\w+)="([^"]*)"', labels):
            values.setdefault(label, set()).add(value)
    return found


def grouped_by(query):
    return {label for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", query) for label in re.split(r",\s*", labels)}


@pytest.mark.parametrize("where, query", QUERIES, ids=IDS)
def test_every_query_finds_its_series(scrape, where, query):
    selectors = re.findall(rf"({OURS})(?:\{{([^}}]*)\}})?", query)
    assert selectors, query
    for name, matchers in selectors:
        assert name in scrape, f"{where}: there is no {name}"
        for label, operator, value in re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', matchers or ""):
            if label in OF_PROMETHEUS:
                continue
            assert label in scrape[name], f"{where}: {name} has no label {label}"
            if operator == "=":
                assert value in scrape[name][label], f"{where}: {name} has no {label}={value}"
    labels = set.union(*(set(scrape[name]) for name, _ in selectors))
    assert grouped_by(query) - OF_PROMETHEUS <= labels, f"{where}: {grouped_by(query)}"
    if "histogram_quantile" in query:
        assert "le" in grouped_by(query) and all(name.endswith("_bucket") for name, _ in selectors)


@pytest.mark.parametrize("where, query", QUERIES, ids=IDS)
def test_counters_are_rates_and_gauges_are_not(scrape, where, query):
    for name in re.findall(OURS, query):
        is_counter = name.endswith("_total") or SUFFIX.search(name)
        is_rate = re.search(rf"rate\({name}(\{{[^}}]*\}})?\[", query) is not None
        assert is_rate == bool(is_counter) or f"changes({name}" in query, f"{where}: {name}"


def test_panels_have_places_of_their_own():
    places = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24 and not cells & places, panel["title"]
        places |= cells
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))


def test_each_alert_says_what_happened_and_what_to_do():
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert rule["annotations"].keys() == {"summary", "description"}
        named = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        assert named <= grouped_by(rule["expr"]) | OF_PROMETHEUS, rule["alert"]


def promtool():
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool not installed (deploy/packages/engines: prometheus)")
    return program


def test_prometheus_takes_the_rules():
    checked = subprocess.run([promtool(), "check", "rules", FOLDER / "alerts.yaml"], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_prometheus_takes_the_queries_of_the_dashboard(tmp_path):
    """As rules: Grafana's variables have values by then."""
    items = [{"record": f"query:{i}", "expr": query.replace("$__rate_interval", "5m").replace("$instance", ".*")}
             for i, (_, query) in enumerate(QUERIES)]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": items}]}))
    checked = subprocess.run([promtool(), "check", "rules", path], capture_output=True, text=True, timeout=60)
    assert checked.returncode == 0, checked.stdout + checked.stderr
