"""Fixtures: a server of its own for a test, and one over all of tests/corpus for tests that only read."""

import collections
import os
import pathlib
import random
import re

import engines
import pytest
from client import SANITIZED
from live import STORES, Server

CLOSING_LINE = "closing line"
AGAIN_MOST = 8  # more failures than this are no accident
NEVER_AGAIN = re.compile(r"Sanitizer|runtime error|==ERROR")
failed = []
seconds = collections.defaultdict(float)


def pytest_addoption(parser):
    parser.addoption("--every", type=int, default=1, help="of the cases of each test run every Nth only, and at least one")
    parser.addoption("--every-seed", default="0", help="says which ones")


def pytest_collection_modifyitems(config, items):
    every = config.getoption("--every")
    if every == 1:
        return
    cases = {}
    for item in items:
        cases.setdefault((item.path, item.originalname), []).append(item)
    kept = set()
    for (path, name), group in cases.items():
        chance = random.Random(f"{config.getoption('--every-seed')} {path.name} {name}")
        kept.update(group[chance.randrange(min(every, len(group)))::every])
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def starting():
    servers = []

    def start(*arguments, **more):
        servers.append(Server(*arguments, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def serve():
    """serve(*arguments, config=..., environment=...) starts a server that this test owns."""
    yield from starting()


@pytest.fixture(scope="module")
def serve_module():
    """The same of a server that the tests of a module share: they only read."""
    yield from starting()


@pytest.fixture(scope="session")
def server():
    """One server over every store of tests/corpus, for tests that only read."""
    stores = sorted(path for path in (STORES / "v3").iterdir() if path.is_dir())
    running = Server(*[f"{path.name}={path}" for path in stores])
    yield running
    running.stop()


def engine(name):
    """A real engine that all tests of a run share; without it, and where a sanitizer looks on, tests are skipped."""
    if SANITIZED:
        pytest.skip("sanitized servers are tested with the stubs alone")
    with engines.running(name) as found:
        if isinstance(found, str):
            pytest.skip(found)
        yield found


@pytest.fixture(scope="session")
def ceph():
    """Ceph's gateway (ceph.Ceph), an S3 engine."""
    yield from engine("ceph")


@pytest.fixture(scope="session")
def nginx():
    """nginx (nginx.Nginx), an HTTP origin."""
    yield from engine("nginx")


@pytest.fixture
def closing_line(record_property):
    """closing_line(text) puts a line at the end of what pytest prints."""
    return lambda text: record_property(CLOSING_LINE, text)


def pytest_terminal_summary(terminalreporter):
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "teardown":
                for name, text in report.user_properties:
                    if name == CLOSING_LINE:
                        terminalreporter.write_line(text)


def may_pass_again(report):
    """Whether a loaded machine alone may explain a failure: never a sanitizer's report, a bad end of a server, or data that was lost."""
    return report.when == "call" and "final" not in report.keywords and not NEVER_AGAIN.search(report.longreprtext)


def pytest_runtest_logreport(report):
    if report.failed:
        failed.append(report)
    seconds[report.nodeid] += report.duration


def add_times(path):
    """A line for each test, with its seconds and those of its fixtures."""
    preset = pathlib.Path(os.environ.get("ZARRD_BINARY", "dev/zarrd")).parent.name
    with open(path, "a") as file:
        file.writelines(f"{duration:.2f} {preset}: tests/{name}\n" for name, duration in seconds.items())


def pytest_sessionfinish(session):
    """For tests/run: times go to $ZARRD_TESTS_TIMES. The names of the failed tests go to $ZARRD_TESTS_AGAIN, if each of them may pass
    when nothing else runs."""
    if hasattr(session.config, "workerinput"):
        return
    if path := os.environ.get("ZARRD_TESTS_TIMES"):
        add_times(path)
    path = os.environ.get("ZARRD_TESTS_AGAIN")
    if not path:
        return
    if 0 < len(failed) <= AGAIN_MOST and all(may_pass_again(report) for report in failed):
        pathlib.Path(path).write_text("".join(f"tests/{report.nodeid}\n" for report in failed))
