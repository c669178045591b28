"""Fixtures: a server of its own for a test, and one over all of tests/data for tests that only read."""

import pytest
from live import DATA, Server

LINES = pytest.StashKey()


@pytest.fixture
def serve():
    """serve(*arguments, config=..., environment=...) starts a server that this test owns."""
    servers = []

    def start(*arguments, **more):
        servers.append(Server(*arguments, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def server():
    """One server over every store of tests/data, for tests that only read."""
    stores = sorted((DATA / "stores" / "v3").iterdir())
    running = Server(*[f"{path.name}={path}" for path in stores])
    yield running
    running.stop()


@pytest.fixture
def closing_line(request):
    """closing_line(text) puts a line at the end of what pytest prints."""
    return request.config.stash.setdefault(LINES, []).append


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash.get(LINES, []):
        terminalreporter.write_line(line)
