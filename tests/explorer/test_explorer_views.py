"""Values, statistics, chunks, downloads and code in a browser, held against numpy; the code that is shown is run."""

import io
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import HOLES, PACKED, PATIENCE_MS
from playwright.sync_api import expect

IRRADIANCE = "/explore/demo/solar/irradiance?at=12,40,70&tab="
PLANE = "/v1/datasets/demo/slices/solar/irradiance?slice=12,:,:"


@pytest.fixture(scope="module")
def plane(demo):
    answer = demo.get(PLANE)
    return np.frombuffer(answer.body, answer.headers["zarr-dtype"]).reshape(72, 144)


def test_the_table_has_the_values_around_the_point(visit, demo, plane):
    page = visit(demo, IRRADIANCE + "values")
    expect(page.locator(".values .point")).to_have_text(f"{float(plane[40, 70]):.7g}")
    rows = page.locator(".values tbody tr")
    expect(rows).to_have_count(20)
    assert [float(text) for text in rows.first.locator("td").all_text_contents()] == pytest.approx(plane[30, 66:74].tolist(), rel=1e-6)
    expect(rows.first.locator("th")).to_have_text("30-13.75")


@pytest.mark.parametrize("name", ["complex64", "int64", "uint64", "bool", "float16"])
def test_values_of_every_type_are_shown(visit, demo, name):
    page = visit(demo, f"/explore/demo/types/{name}?tab=values&at=0,0")
    data = demo.get(f"/v1/datasets/demo/slices/types/{name}?slice=0,0&format=json").json()["data"]
    text = page.locator(".values .point").text_content(timeout=PATIENCE_MS)
    assert text == data if isinstance(data, str) else json.loads(text) == data


def test_statistics_are_those_of_numpy(visit, demo, plane):
    page = visit(demo, IRRADIANCE + "statistics")
    numbers = page.locator(".numbers dd")
    expect(numbers.first).to_have_text("10,368")
    found = [float(text.replace(",", "")) for text in numbers.all_text_contents()]
    assert found == pytest.approx([plane.size, plane.min(), plane.max(), plane.mean(dtype="f8"), plane.std(dtype="f8"), 0, (plane == 0).sum()], rel=1e-6)
    expect(page.locator(".histogram rect")).to_have_count(50)
    counts = [int(text.rpartition(": ")[2].replace(",", "")) for text in page.locator(".histogram title").all_text_contents()]
    assert counts == np.histogram(plane, 50)[0].tolist()
    page.get_by_label("Of what").select_option("all")
    expect(numbers.first).to_have_text("5,971,968")
    expect(page.get_by_text("Of a sample")).to_be_visible()


def test_statistics_of_packed_values_are_decoded_and_leave_out_what_is_missing(visit, demo):
    page = visit(demo, "/explore/grids/packed?tab=statistics")
    values = np.where(PACKED[0] == -1, np.nan, PACKED[0] * 0.5 + 200)
    panel = page.get_by_role("region", name="Statistics")
    expect(panel.locator("dt").last).to_have_text("Missing")
    found = [float(text) for text in panel.locator("dd").all_text_contents()]
    assert found == pytest.approx([19, np.nanmin(values), np.nanmax(values), np.nanmean(values), np.nanstd(values), 1], rel=1e-6)
    expect(panel).to_contain_text("Units: K.")


def test_a_pyramid_has_every_view_of_its_finest_level(visit, demo):
    page = visit(demo, "/explore/demo/pyramid?at=700,900&tab=values")
    expect(page.locator(".facts")).to_contain_text("Levels4Finest levely 2,048 × x 2,048")
    expect(page.locator(".values .point")).to_have_text(str(demo.get("/v1/datasets/demo/slices/pyramid/0?slice=700,900&format=json").json()["data"]))
    page.get_by_role("tab", name="Download & code").click()
    expect(page.locator(".url")).to_have_text(f"{demo.url}/v1/datasets/demo/slices/pyramid/0?slice=:,:&format=raw")


def test_shards_are_called_shards(visit, demo):
    page = visit(demo, IRRADIANCE + "chunks")
    expect(page.get_by_text("1 of 1 shard of this plane is stored; the array has 6 in all.")).to_be_visible()
    expect(page.get_by_label("Chunk", exact=True)).to_contain_text(re.compile(r"Shard 0, 0, 0.*written \d{4}-\d\d-\d\d \d\d:\d\d:\d\d"))


def test_chunks_that_are_stored_are_told_from_those_that_are_not(visit, demo):
    page = visit(demo, "/explore/grids/holes?tab=chunks&at=0,5", announced=["404"])
    expect(page.get_by_text("7 of 9 chunks of this plane are stored")).to_be_visible()
    chunk = page.get_by_label("Chunk", exact=True)
    expect(chunk).to_contain_text("Chunk 0, 1")
    expect(chunk).to_contain_text("not stored")
    grid = page.locator("canvas.chunk-grid")
    grid.focus()
    page.keyboard.press("ArrowDown")
    expect(chunk).to_contain_text("Chunk 1, 1")
    expect(chunk).to_contain_text("64 B stored")
    expect(page).to_have_url(re.compile("at=4,5"))
    grid.click(position={"x": 2 * 22 + 5, "y": 2 * 22 + 5})
    expect(chunk).to_contain_text("Chunk 2, 2")
    expect(page).to_have_url(re.compile("at=8,8"))


@pytest.mark.parametrize("format, ending", [("NumPy", "npy"), ("CSV", "csv"), ("netCDF", "nc"), ("JSON", "json"), ("raw bytes", "bin"), ("NumPy archive", "npz")])
def test_every_format_is_downloaded(visit, demo, plane, format, ending):
    page = visit(demo, IRRADIANCE + "use")
    with page.expect_download() as waiting:
        page.get_by_role("link", name=format, exact=True).click()
    name = waiting.value.suggested_filename
    data = open(waiting.value.path(), "rb").read()
    assert name.endswith("." + ending), name
    if ending == "npy":
        assert np.array_equal(np.load(io.BytesIO(data)), plane)
    elif ending == "bin":
        assert data == plane.tobytes()
    elif ending == "npz":
        assert np.array_equal(np.load(io.BytesIO(data))["irradiance"], plane)
    elif ending == "nc":
        assert data[:3] == b"CDF"
    elif ending == "csv":
        assert np.allclose(np.loadtxt(io.BytesIO(data), delimiter=","), plane)
    else:
        assert np.allclose(json.loads(data)["data"], plane)


def code_of(page, language):
    page.get_by_label("Language").select_option(language)
    return page.locator("pre.code").text_content()


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, **more).stdout


@pytest.mark.parametrize("scope, selection", [("plane", np.s_[:]), ("point", np.s_[40, 70])])
def test_the_code_that_is_shown_gets_what_is_shown(visit, demo, plane, tmp_path, scope, selection):
    page = visit(demo, IRRADIANCE + "use")
    page.get_by_label("Take").select_option(scope)
    expected = plane[selection]
    total = float(expected.sum(dtype="f8"))
    for language in ("numpy", "xarray"):
        printed = run(sys.executable, "-c", code_of(page, language) + "\nprint('sum', float(numpy.asarray(values).sum(dtype='f8')))", env=None) \
            if language == "numpy" else run(sys.executable, "-c", "import numpy\n" + code_of(page, language) + "\nprint('sum', float(numpy.asarray(values).sum(dtype='f8')))")
        assert float(printed.split()[-1]) == pytest.approx(total, rel=1e-6), language
    printed = run("node", "--input-type=module", "-e", code_of(page, "javascript") + "\nconsole.log(values.reduce((a, b) => a + b, 0), shape.join())")
    assert float(printed.split()[0]) == pytest.approx(total, rel=1e-5)
    assert printed.split()[1:] == ([",".join(map(str, expected.shape))] if expected.shape else [])
    run("sh", "-c", code_of(page, "curl"), cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "slice.npy"), expected)
    if shutil.which("Rscript"):
        printed = run("Rscript", "-e", code_of(page, "r") + "\ncat(sprintf('%.6f', sum(values)), dim(values))")
        assert float(printed.split()[0]) == pytest.approx(total, rel=1e-6)
        assert scope == "point" or printed.split()[1:] == ["72", "144"]
    assert "permutedims" in code_of(page, "julia") or scope == "point"


@pytest.mark.parametrize("path, at", [("grids/packed", "1,2,3"), *[(f"demo/types/{name}", "2,3") for name in ("bool", "float16", "uint32", "int64")]])
def test_code_for_numbers_of_every_type_needs_no_library(visit, demo, path, at):
    dataset, _, node = path.partition("/")
    expected = PACKED[1, 2, 3] * 0.5 + 200 if node == "packed" else float(demo.get(f"/v1/datasets/{dataset}/slices/{node}?slice={at}&format=json").json()["data"])
    page = visit(demo, f"/explore/{path}?tab=use&at={at}")
    page.get_by_label("Take").select_option("point")
    assert float(run("node", "--input-type=module", "-e", code_of(page, "javascript") + "\nconsole.log(Number(values[0]))")) == expected
    if shutil.which("Rscript"):
        assert float(run("Rscript", "-e", code_of(page, "r") + "\ncat(values)")) == expected
    assert "JSON" not in code_of(page, "julia")


def test_the_address_is_copied(visit, demo):
    page = visit(demo, IRRADIANCE + "use", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_label("Downloads").get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == f"{demo.url}{PLANE}&format=raw" == page.locator(".url").text_content()


def test_holes_read_as_the_fill_value(visit, demo):
    page = visit(demo, "/explore/grids/holes?tab=values&at=0,5")
    expect(page.locator(".values .point")).to_have_text("0")
    page.goto("/explore/grids/holes?tab=values&at=0,3")
    expect(page.locator(".values .point")).to_have_text(str(HOLES[0, 3]))
