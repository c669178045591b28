"""The collection of tests/corpus read from real engines: the bytes that were written, whoever keeps them."""

import pytest
from ceph import Gateway
from live import CORPUS, STORES
from selections import check_selection
from test_cases import core_cases

FILES_MOST = 60  # of a store that is uploaded


def directories(formats):
    """Cases by the store they are in; archives are files of a disk only."""
    by_store = {}
    for case in core_cases(CORPUS):
        if case["format"] in formats and (STORES / case["store"]).is_dir():
            by_store.setdefault(case["store"], []).append(case)
    return by_store


def check_all(serve, by_store, datasets, environment=None):
    """The first and the last selection of each case: all elements and some; datasets: what the configuration says of each store."""
    names = {store: f"d{number}" for number, store in enumerate(by_store)}
    server = serve(config={"datasets": {names[store]: said for store, said in datasets.items()}}, environment=environment)
    connection = server.connection()
    for store, group in by_store.items():
        for case in group:
            for selection in case["selections"][:1] + case["selections"][-1:]:
                check_selection(server, names[store], case, selection, connection)


@pytest.mark.parametrize("index, formats", [("html", ["v3", "v2"]), ("norange", ["v3"])])
def test_every_case_is_read_from_nginx(serve, nginx, index, formats):
    nginx.share(STORES, "corpus")
    found = directories(formats)
    check_all(serve, found, {store: {"location": f"{nginx.url}/{index}/corpus/{store}"} for store in found})


def n_files(store):
    return sum(path.is_file() for path in (STORES / store).rglob("*"))


def test_cases_of_small_stores_are_read_from_ceph(serve, ceph):
    gateway = Gateway(ceph.folder, ceph.port)
    found = {store: group for store, group in directories(["v3", "v2"]).items() if n_files(store) <= FILES_MOST}
    for store in found:
        gateway.upload(STORES / store, f"corpus/{store}")
    check_all(serve, found, {store: {"location": f"s3://test/corpus/{store}", "endpoint": ceph.url, "addressing": "path"} for store in found},
              ceph.environment)
