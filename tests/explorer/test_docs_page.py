"""/docs in a browser: its examples run in the page, against the demo, and ask no other host for anything."""

import playwright.sync_api as playwright
import pytest
from conftest import TOKEN

expect = playwright.expect


def test_examples_show_text_and_pictures(demo, visit):
    page = visit(demo, "/docs")
    page.click("#getSlice .try a >> nth=0")
    shown = page.locator("#getSlice output pre")
    expect(shown.first).to_contain_text("200")
    expect(shown.first).to_contain_text("zarr-shape: 12,24")
    expect(shown.last).to_contain_text(",")
    page.click("#getImage .try a >> nth=0")
    expect(page.locator("#getImage output canvas")).to_be_visible()
    assert page.evaluate("document.querySelector('#getImage output canvas').width") == 720
    page.click("#getSlice .try a >> nth=0")  # again: in place of the first
    expect(page.locator("#getSlice output")).to_have_count(1)


def test_any_path_runs_and_a_problem_is_shown(demo, visit):
    page = visit(demo, "/docs", announced=["400"])
    page.fill("form.try input", "/v1/datasets/demo/slices/solar/irradiance?slice=999")
    page.press("form.try input", "Enter")
    expect(page.locator("form.try + output")).to_contain_text("out_of_bounds")
    page.fill("form.try input", "/v1/datasets/demo/slices/solar/lat")
    page.click("form.try button")
    expect(page.locator("form.try + output")).to_contain_text("-88.75")
    page.fill("form.try input", "/v1/datasets/demo/slices/solar/lat?format=raw")
    page.click("form.try button")
    expect(page.locator("form.try + output")).to_contain_text("576 bytes: 00 00")


@pytest.mark.parametrize("target", [f"/docs?access_token={TOKEN}#getSlice", f"/t/{TOKEN}/docs#getSlice"])
def test_a_token_of_the_address_is_taken_out_of_it(demo, visit, target):
    page = visit(demo, target)
    page.fill("form.try input", "/v1/datasets/secret/slices/?format=json")
    page.press("form.try input", "Enter")
    expect(page.locator("form.try + output")).to_contain_text("float64")
    expect(page).to_have_url(f"{demo.url}/docs#getSlice")
    assert not page.evaluate("Array.from(document.links, link => link.href)").count(TOKEN) and TOKEN not in page.content()


def test_it_is_read_at_400_pixels(demo, visit):
    page = visit(demo, "/docs", viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_an_error_page_runs_nothing_and_has_its_style(demo, visit):
    page = visit(demo, "/v1/datasets/demo/slices/solar/irradiance?slice=%3Cscript%3Ealert(1)%3C/script%3E", announced=["400"])
    expect(page.locator("h1")).to_have_text("The slice is malformed")
    assert "sans-serif" in page.evaluate("getComputedStyle(document.body).fontFamily")
    assert page.locator("script").count() == 0
