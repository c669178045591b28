"""What a finished request leaves behind: its line in the log, its counts in /metrics, its times in Server-Timing."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from arrays import write_gzipped, write_node, write_values
from client import wait_until

PAGE = {"Origin": "https://maps.example"}


def lines(server):
    """The requests of a log in JSON, of its whole lines."""
    found = [json.loads(line) for line in server.log.split("\n")[:-1] if line.startswith("{")]
    return [line for line in found if line["msg"] == "request"]


def line_of(server, request_id):
    found = []

    def is_there():
        found[:] = [line for line in lines(server) if line["request_id"] == request_id]
        return len(found) == 1

    wait_until(is_there)
    return found[0]


def timing(answer):
    """The milliseconds of Server-Timing by their names."""
    parts = [part.split(";") for part in answer.headers["server-timing"].split(", ")]
    return {name: float(re.fullmatch(r"dur=(\d+\.\d{3})", duration)[1]) for name, duration in parts}


@pytest.fixture(scope="module")
def slices(serve_module, tmp_path_factory):
    """A server with the arrays `plain` and `zipped` of 64 x 64, that logs in JSON."""
    folder = tmp_path_factory.mktemp("store")
    values = np.arange(64 * 64, dtype="<f4").reshape(64, 64)
    write_node(folder, {"zarr_format": 3, "node_type": "group"})
    write_values(folder / "plain", values, (16, 16))
    write_gzipped(folder / "zipped", values, (16, 16))
    return serve_module(f"d={folder}", "--set", "log.format=json")


SLICE = "/v1/datasets/d/slices/zipped?slice=0:20"


@pytest.mark.parametrize("target", [SLICE, SLICE + "&format=json", "/v1/datasets/d/slices/plain", "/v1/datasets/d/slices/plain?format=csv"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_slice_says_what_it_took(slices, method, target):
    answer = slices.request(method, target, PAGE)
    times = timing(answer)
    assert list(times) == ["queue", "store", "decode", "total"]
    assert sum(times.values()) - times["total"] <= times["total"] + 0.005  # each is rounded
    assert answer.headers["timing-allow-origin"] == "*"
    assert "Server-Timing" in answer.headers["access-control-expose-headers"]


def test_conditional_and_partial_slices_say_it_too(slices):
    whole = slices.get(SLICE)
    for headers, status in [({"If-None-Match": whole.headers["etag"]}, 304), ({"Range": "bytes=0-99"}, 206)]:
        answer = slices.get(SLICE, headers)
        assert answer.status == status and "total" in timing(answer)


def test_compressed_slices_say_their_own_times(slices):
    for _ in range(2):
        answer = slices.get("/v1/datasets/d/slices/plain?format=json", {"Accept-Encoding": "gzip"})
        assert answer.headers["content-encoding"] == "gzip" and len(timing(answer)) == 4


def test_no_other_answer_says_times(slices):
    for target in ("/zarr/d/zipped/zarr.json", "/v1/datasets/d/nodes/zipped", "/v1/datasets", "/v1/datasets/d/stats/zipped", "/livez"):
        answer = slices.get(target)
        assert answer.status == 200 and not {"server-timing", "timing-allow-origin"} & answer.headers.keys()


def test_times_are_a_setting(serve, tmp_path):
    write_values(tmp_path, np.zeros(4, "<f4"), (4,))
    server = serve(f"d={tmp_path}", "--set", "http.server_timing=false")
    assert "server-timing" not in server.get("/v1/datasets/d/slices/").headers


def test_a_line_says_what_was_asked_and_where_the_time_went(slices):
    answer = slices.get("/v1/datasets/d/slices/plain?slice=0:30", {"X-Request-Id": "observed-1"})
    line = line_of(slices, "observed-1")
    assert line["method"] == "GET" and line["status"] == 200 and line["bytes"] == len(answer.body)
    assert (line["route"], line["dataset"], line["node"]) == ("/v1/datasets/{d}/slices/{path}", "d", "plain")
    spent = [value for name, value in line.items() if name.endswith("_ms") and name != "duration_ms"]
    assert spent and all(value > 0 for value in spent)


def test_the_line_of_a_kept_answer_has_its_dataset(slices):
    """The second answer is prepared: no step ran for it."""
    for request_id in ("kept-1", "kept-2"):
        slices.get("/v1/datasets/d/nodes/plain", {"X-Request-Id": request_id})
    first, second = line_of(slices, "kept-1"), line_of(slices, "kept-2")
    assert (second["route"], second["dataset"]) == (first["route"], first["dataset"]) == ("/v1/datasets/{d}/nodes/{path}", "d")


def test_the_line_of_a_problem_has_its_code_and_reason(slices):
    slices.get("/v1/datasets/d/slices/nothing", {"X-Request-Id": "problem-1"})
    line = line_of(slices, "problem-1")
    assert line["status"] == 404 and line["code"] == "node_not_found" and "nothing" in line["reason"]


NASTY = ["%0a%7b%22msg%22%3a%22request%22%7d", "%1b%5b2J", "%c2%85", "%e2%80%a8", "%22%2c%22status%22%3a200", "%ff%fe", "a%5c", "%7f"]


@pytest.mark.parametrize("bytes_", NASTY)
def test_no_byte_of_a_client_forges_a_line(slices, bytes_):
    """Neither in the target nor in the path that is decoded from it."""
    name = bytes_.replace("%", "_")
    slices.get(f"/v1/datasets/d/nodes/{bytes_}", {"X-Request-Id": f"nasty.{name}"})
    slices.get(f"/zarr/d/{bytes_}", {"X-Request-Id": f"nasty.{name}"})
    slices.get("/livez", {"X-Request-Id": f"after.{name}"})
    line_of(slices, f"after.{name}")
    assert [line["status"] in (400, 404) for line in lines(slices) if line["request_id"] == f"nasty.{name}"] == [True, True]
    assert not re.search(r"[\x00-\x1f\x7f]", slices.log.replace("\n", ""))


def test_metrics_tell_datasets_apart(slices):
    for _ in range(2):
        slices.get("/zarr/d/plain/c/0/0")
    name = "zarrd_dataset_request_duration_seconds"

    def counted():
        return {match[1]: int(match[2])
                for match in re.finditer(name + r'_count{dataset="d",class="(.xx)"} (\d+)', slices.get("/metrics").body.decode())}

    before = counted()
    slices.get("/zarr/d/plain/c/0/0")
    slices.get("/zarr/d/absent")
    slices.get("/livez")
    wait_until(lambda: counted() == {**before, "2xx": before["2xx"] + 1, "4xx": before.get("4xx", 0) + 1})
    text = slices.get("/metrics").body.decode()
    buckets = [int(n) for n in re.findall(name + r'_bucket{dataset="d",class="2xx",le="[^"]+"} (\d+)', text)]
    assert buckets == sorted(buckets) and buckets[-1] == counted()["2xx"]


def test_metrics_tell_what_the_time_went_to(slices):
    def phases():
        text = slices.get("/metrics").body.decode()
        return dict(re.findall(r'zarrd_request_phase_seconds_total{phase="(\w+)"} (\S+)', text))

    assert set(phases()) == {"store", "queue", "decode", "encode", "receive", "send"}
    slices.get("/v1/datasets/d/slices/zipped")
    wait_until(lambda: float(phases()["decode"]) > 0)


def test_metrics_are_as_prometheus_wants_them(slices):
    """By `promtool check metrics`: names, units, help, types."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool not installed (deploy/packages/engines: prometheus)")
    text = slices.get("/metrics").body
    checked = subprocess.run([program, "check", "metrics"], input=text, capture_output=True, timeout=60)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
