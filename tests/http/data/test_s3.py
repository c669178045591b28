"""S3: what is read of a bucket is what a directory would give, whatever the engine does otherwise; and what is wrong with an answer is
said, never taken for absence."""

import json
import random
import shutil

import numpy as np
import pytest
from arrays import write_array
from client import JSON
from documents import LITTLE
from s3_stub import S3Stub

GROUP = b'{"zarr_format":3,"node_type":"group"}'
LARGE = random.Random(5).randbytes(3 << 20)
KEYS = ["zarr.json", "large", "empty", "x/zarr.json", "x/c/0", "x/c/9", "x", "x/c", "names", "names/a", "names/a-", "names/a b-", "nothing", "x/c/0/0"]
SPANS = [None, "bytes=0-0", "bytes=5-", "bytes=-7", "bytes=-9999999", "bytes=1000000-2999999", "bytes=3145727-", "bytes=9999999-"]
# Traits that change nothing for readers.
READ_TRAITS = ["unquoted_if_match", "suffix_as_prefix", "long_suffix_416", "long_suffix_500", "ignores_max_keys", "unordered",
               "ignores_encoding_type", "encodes_plus", "encodes_slash", "unquoted_etag"]


def make_store(folder):
    """Large, empty and small objects, and names that sort otherwise with and without a slash, or need to be encoded."""
    write_array(folder / "x", (64,), (8,), [LITTLE], np.arange(64, dtype="<f4"))
    (folder / "zarr.json").write_bytes(GROUP)
    (folder / "large").write_bytes(LARGE)
    (folder / "empty").write_bytes(b"")
    (folder / "names").mkdir()
    (folder / "names/zarr.json").write_bytes(GROUP)
    for name in ("a", "a-b", "a.b", "a0", "ab", "a b", "a+b", "a%2Fb", "a&b", "é"):
        (folder / "names" / name).mkdir(parents=True)
        (folder / "names" / name / "zarr.json").write_bytes(GROUP)
        (folder / "names" / f"{name}-").write_bytes(b"1")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("s3"))


@pytest.fixture
def engine(folder):
    with S3Stub() as running:
        running.store_folder(folder, "lake/")
        yield running


def dataset(engine, **members):
    return {"location": "s3://test/lake", "endpoint": engine.url, **members}


def start(serve, engine, folder=None, environment=None, settings=None, **members):
    datasets = {"s3": dataset(engine, **members)}
    if folder is not None:
        datasets["plain"] = {"location": str(folder)}
    return serve(config={"datasets": datasets, **(settings or {})}, environment={**engine.environment, **(environment or {})})


@pytest.mark.parametrize("trait", [None, *READ_TRAITS])
def test_all_is_that_of_the_directory(serve, engine, folder, trait):
    if trait:
        engine.switch(trait)
    server = start(serve, engine, folder)
    for key in KEYS:
        for span in SPANS:
            headers = {} if span is None else {"Range": span}
            expected, answer = (server.get(f"/zarr/{name}/{key.replace(' ', '%20')}", headers) for name in ("plain", "s3"))
            assert (answer.status, answer.headers.get("content-range")) == (expected.status, expected.headers.get("content-range")), (key, span, answer)
            assert expected.status >= 400 or answer.body == expected.body
    for target in ("tree/", "tree/?limit=2", "nodes/names", "slices/x?slice=3:60:7", "nodes/x", "chunks/x?present=1", "stats/x"):
        expected, answer = (server.get(f"/v1/datasets/{name}/{target}", JSON) for name in ("plain", "s3"))
        assert answer.status == expected.status == 200, answer
        if target.startswith("nodes"):
            assert answer.json()["metadata"] == expected.json()["metadata"]
            assert answer.json().get("children") == expected.json().get("children")
        else:
            assert answer.body.replace(b'"s3"', b'"plain"') == expected.body
    for prefix in ("", "names/", "x/", "x/c/"):
        pages = [server.get(f"/zarr/{name}/{prefix}").body.decode().split("<a ")[1:] for name in ("plain", "s3")]
        links = [[line.split('"')[1].rsplit("/zarr/", 1)[-1].partition("/")[2] for line in page] for page in pages]
        assert links[0] == links[1] and len(links[0]) > 1


def get(server, target):
    return server.get(target, JSON)


@pytest.mark.parametrize("trait, target", [
    ("part_as_200", "/zarr/s3/large"), ("endless", "/v1/datasets/s3/tree/"), ("token_stays", "/v1/datasets/s3/tree/"),
    ("denies_listing", "/v1/datasets/s3/tree/"), ("denies_missing", "/zarr/s3/nothing"), ("read_500_after_write", "/zarr/s3/large")])
def test_a_forbidden_answer_of_an_engine_is_a_fault_and_never_absence(serve, engine, trait, target):
    engine.switch(trait)
    engine.page = 4
    engine.known.add("lake/large")
    server = start(serve, engine)
    answer = server.get(target, {"Range": "bytes=5-9"} if trait == "part_as_200" else JSON)
    if trait == "read_500_after_write" and answer.status == 200:
        assert answer.body == LARGE  # tried again
    else:
        assert (answer.status, answer.code) == (502, "store_error")
        assert "AccessDenied" in answer.json()["detail"] or not trait.startswith("denies")


def test_403_is_absence_where_the_dataset_says_so(serve, engine):
    engine.switch("denies_missing")
    server = start(serve, engine, store_403="absent")
    assert (get(server, "/zarr/s3/nothing").status, get(server, "/zarr/s3/nothing").code) == (404, "key_not_found")
    assert get(server, "/zarr/s3/large").body == LARGE


@pytest.mark.parametrize("fault", [
    dict(name="status", status=500), dict(name="status", status=503, retry_after=1), dict(name="status", status=400), dict(name="status", status=404),
    dict(name="status", status=301), dict(name="html"), dict(name="html", status=404), dict(name="reset", at="request"), dict(name="reset", at=100),
    dict(name="close"), dict(name="truncated"), dict(name="wrong_range"), dict(name="no_content_range"), dict(name="surplus"), dict(name="shortened"),
    dict(name="no_etag")], ids=lambda fault: "-".join(str(value) for value in fault.values()))
def test_faults_of_a_range_are_faults_of_the_store(serve, engine, fault):
    engine.fault(path="large", times=None, **fault)
    server = start(serve, engine, settings={"remote": {"retries": 1}})
    answer = server.get("/zarr/s3/large", {"Range": "bytes=5-2000000"})
    assert (answer.status, answer.code) in ((502, "store_error"), (503, "overloaded")), answer


@pytest.mark.parametrize("code, status", [("NoSuchBucket", 404), ("InvalidAccessKeyId", 404), ("SlowDown", 503), ("InternalError", 500), ("AccessDenied", 403)])
def test_only_one_code_is_absence_and_the_others_are_told(serve, engine, code, status):
    engine.fault_code(code, status, path="zarr.json", times=None)
    server = start(serve, engine, settings={"remote": {"retries": 0}})
    for target in ("/zarr/s3/x/zarr.json", "/v1/datasets/s3/nodes/x"):
        answer = get(server, target)
        assert (answer.status, answer.code) in ((502, "store_error"), (503, "overloaded"))
        assert code in answer.json()["detail"] or answer.status == 503


def test_pages_of_random_names_are_those_of_the_directory(serve, engine, tmp_path):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    pick = random.Random(seed)
    for _ in range(200):
        segments = ["".join(pick.choice("ab-.0 ") for _ in range(pick.randint(1, 3))).strip(" .") or "a" for _ in range(pick.randint(1, 3))]
        (tmp_path / "plain" / "/".join(segments)).mkdir(parents=True, exist_ok=True)
        (tmp_path / "plain" / "/".join(segments) / "zarr.json").write_bytes(GROUP)
    (tmp_path / "plain" / "zarr.json").write_bytes(GROUP)
    engine.objects.clear()
    engine.store_folder(tmp_path / "plain", "lake/")
    engine.page = pick.choice([1, 2, 7, 100])
    server = start(serve, engine, tmp_path / "plain")
    for limit in (2, 7, 1000):
        walks = []
        for name in ("plain", "s3"):
            found, cursor = [], ""
            while cursor is not None and (limit >= 7 or len(found) < 20):
                page = get(server, f"/v1/datasets/{name}/tree/?limit={limit}{cursor}").json()
                assert "nodes" in page, page
                found += [node["path"] for node in page["nodes"]]
                cursor = page["next"] and f"&cursor={page['next']}"
            walks.append(found)
        assert walks[0] == walks[1] and walks[0]


def test_a_bucket_is_addressed_by_its_host(serve, engine):
    port = engine.url.rsplit(":", 1)[1]
    server = serve(config={"datasets": {"s3": {"location": "s3://test/lake", "endpoint": f"http://localhost:{port}", "addressing": "virtual"}}},
                   environment={**engine.environment, "http_proxy": "", "no_proxy": "*"})
    assert get(server, "/zarr/s3/large").body == LARGE
    assert engine.requests[-1].headers["host"].startswith("test.localhost:")


@pytest.mark.parametrize("target", ["/zarr/s3/zarr.json", "/zarr/s3/nothing", "/zarr/s3/names/", "/v1/datasets/s3/nodes/x", "/v1/datasets/s3/tree/"])
def test_a_404_to_an_unknown_key_of_access_is_no_absence(serve, engine, target):
    engine.switch("unknown_key_404")
    answer = get(start(serve, engine, environment={"AWS_ACCESS_KEY_ID": "nobody"}), target)
    assert (answer.status, answer.code) == (502, "store_error")
    assert "InvalidAccessKeyId" in answer.json()["detail"] and "nobody" not in answer.body.decode()


@pytest.mark.parametrize("is_anonymous", [False, True])
def test_googles_buckets_are_read_with_keys_of_hmac_or_without(serve, engine, is_anonymous):
    """Google's endpoint takes the region "auto"; here the stub stands in its place."""
    engine.region = "auto"
    engine.switch(*["public"] * is_anonymous)
    members = {"anonymous": True} if is_anonymous else {}
    server = serve(config={"datasets": {"g": {"location": "gs://test/lake", "endpoint": engine.url, **members}}}, environment=engine.environment)
    assert get(server, "/zarr/g/large").body == LARGE
    assert get(server, "/v1/datasets/g/slices/x?slice=1:3").body == np.array([1, 2], "<f4").tobytes()
    assert all(("authorization" in request.headers) != is_anonymous for request in engine.requests)
