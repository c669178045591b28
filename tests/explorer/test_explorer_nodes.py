"""Datasets, the tree and what a node is, in a browser."""

import json
import re

import pytest
from conftest import HOSTILE, N_MANY
from documents import array_document
from live import Server
from playwright.sync_api import expect


def row(page, name):
    """The row of the tree with that name."""
    return page.get_by_role("treeitem").filter(has=page.get_by_text(name, exact=True))


def test_a_click_leads_from_the_datasets_to_an_array_and_back(visit, demo):
    page = visit(demo, "/")
    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    page.locator(".card").filter(has_text="demo").click()
    expect(page).to_have_url(f"{demo.url}/explore/demo/")
    row(page, "solar").locator(".twist").click()
    row(page, "irradiance").click()
    expect(page).to_have_url(f"{demo.url}/explore/demo/solar/irradiance")
    expect(page.get_by_role("heading", name="irradiance")).to_be_visible()
    expect(page.locator(".facts")).to_contain_text("time 576 × lat 72 × lon 144")
    expect(page.locator("#live")).to_have_text("Live")
    page.get_by_role("tab", name="About").click()
    expect(page).to_have_url(re.compile("tab=about"))
    expect(page.locator(".json").first).to_contain_text("toa_incoming_shortwave_flux")
    page.go_back()
    expect(page.get_by_role("tab", name="Picture")).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect(page.locator(".list")).to_contain_text("pyramid")
    page.go_forward()
    expect(page.get_by_role("heading", name="irradiance")).to_be_visible()


def test_the_tree_is_walked_by_keyboard(visit, demo):
    page = visit(demo, "/explore/demo/")
    expect(row(page, "pyramid")).to_be_visible()
    row(page, "demo").focus()
    page.keyboard.press("ArrowDown")
    expect(row(page, "demo")).not_to_be_focused()
    row(page, "pyramid").focus()
    page.keyboard.press("ArrowDown")
    expect(row(page, "solar")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(row(page, "solar")).to_have_attribute("aria-expanded", "true")
    expect(row(page, "irradiance")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{demo.url}/explore/demo/solar/irradiance")
    row(page, "lat").focus()
    page.keyboard.press("ArrowLeft")
    expect(row(page, "solar")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(row(page, "lat")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.get_by_label("Search nodes")).to_be_focused()


def test_a_search_finds_nodes_anywhere(visit, demo):
    page = visit(demo, "/explore/demo/")
    page.get_by_label("Search nodes").fill("irrad")
    found = page.locator(".results .row")
    expect(found).to_have_text(["solar/irradiance576 × 72 × 144"])
    expect(page).to_have_url(f"{demo.url}/explore/demo/?q=irrad")
    page.reload()
    expect(found).to_have_count(1)
    found.click()
    expect(page).to_have_url(f"{demo.url}/explore/demo/solar/irradiance")
    expect(row(page, "irradiance")).to_have_attribute("data-current", "")


def test_a_refused_node_says_why_in_words(visit, demo):
    page = visit(demo, "/explore/odd/refused")
    reason = page.locator(".note.bad")
    expect(reason).to_contain_text("This node cannot be interpreted")
    expect(reason).to_contain_text("unsupported_codec")
    expect(reason).to_contain_text("none.such")
    assert demo.get("/v1/datasets/odd/nodes/refused").json()["refused"]["detail"] in reason.text_content()
    expect(page.locator(".json").last).to_contain_text("none.such")


def test_warnings_are_shown(visit, demo):
    page = visit(demo, "/explore/odd/warned")
    page.get_by_text("1 warning").click()
    expect(page.locator(".note.warn")).to_contain_text(demo.get("/v1/datasets/odd/nodes/warned").json()["warnings"][0]["code"])


def test_a_problem_names_the_missing_path(visit, demo):
    page = visit(demo, "/explore/demo/solar/irradience")
    problem = demo.get("/v1/datasets/demo/nodes/solar/irradience").json()
    expect(page.locator(".note.bad")).to_contain_text(problem["detail"])
    page = visit(demo, "/explore/nothing/", announced=["401"])
    expect(page.get_by_role("dialog")).to_be_visible()  # it may be one that a token sees


@pytest.fixture
def empty():
    server = Server("--writable", "work=mem:")
    yield server
    server.stop()


def test_an_empty_dataset_is_calm_and_shows_what_is_created(empty, visit):
    page = visit(empty, "/explore/work/")
    expect(page.get_by_text("This dataset is empty")).to_be_visible()
    expect(page.locator(".tree .row-note")).to_have_text("empty")
    expect(page.locator(".bad")).to_have_count(0)
    expect(page.locator("#live")).to_have_text("Live")
    assert empty.request("PUT", "/v1/datasets/work/nodes/a", body=json.dumps(array_document([4], [2])).encode()).status == 201
    expect(row(page, "a")).to_be_visible()
    expect(page.locator(".list")).to_contain_text("a")


def test_facts_are_worded_for_their_type(visit, demo):
    page = visit(demo, "/explore/demo/cities/city")
    expect(page.locator(".facts")).to_contain_text("Size8 elements")
    expect(page.locator(".facts")).to_contain_text('Fill value""')
    page.goto("/explore/demo/cities/daylight")
    expect(page.locator(".facts")).to_contain_text("Fill valueNaN")


def test_hostile_text_is_text(visit, demo):
    page = visit(demo, "/explore/odd/hostile")
    shown = page.locator(".json").first
    expect(shown).to_contain_text(HOSTILE["html"])
    expect(shown).to_contain_text(HOSTILE["script"])
    expect(shown).to_contain_text("userU+202Etxt.exeU+2066 U+200B")
    assert page.locator(".json img, .json script, .json b, .json svg, .main i").count() == 0
    expect(page.locator(".sub")).to_have_text("<i>title</i>")
    more = shown.get_by_role("button", name=re.compile("show more .9,998,000"))
    assert len(shown.text_content()) < 50_000
    more.click()
    expect(shown.get_by_role("button", name=re.compile("show more .9,978,000"))).to_be_visible()
    expect(shown.get_by_text("list of 1,000")).to_be_visible()
    names = page.get_by_role("treeitem").locator(".row-name")
    expect(names.filter(has_text="<img src=x onerror=alert(1)>")).to_be_visible()
    expect(names.filter(has_text="lineU+202Egnp.exe")).to_be_visible()
    names.filter(has_text="<img").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("<img src=x onerror=alert(1)>")
    assert page.title() == "<img src=x onerror=alert(1)> – zarrd"


def test_an_array_alone_is_a_dataset(visit, demo):
    page = visit(demo, "/explore/one/")
    expect(page.get_by_role("treeitem", name="one 6")).not_to_have_attribute("aria-expanded", re.compile("."))
    expect(page.get_by_role("tab", name="Line")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".plot")).to_have_attribute("aria-label", "A line of 6 values from 0 to 5")


def test_100000_arrays_are_asked_for_page_by_page(visit, many):
    asked = []
    page = visit(many, "/explore/many/", before=lambda page: page.on("request", lambda request: "/tree/" in request.url and asked.append(request.url)))
    rows = page.locator(".tree .row")
    expect(row(page, "a000000")).to_be_visible()
    expect(page.locator(".list tbody tr")).to_have_count(199)
    page.get_by_role("button", name="show more").click()
    expect(page.locator(".list tbody tr")).to_have_count(399)
    assert rows.count() < 300
    asked.clear()
    row(page, "a000198").scroll_into_view_if_needed()
    expect(row(page, "a000250")).to_be_attached()
    assert len(asked) == 1
    page.get_by_label("Search nodes").fill("a000")
    expect(page.locator(".results .row")).to_have_count(100)
    page.goto(f"/explore/many/a{N_MANY - 1:06}")
    expect(page.locator(".row[data-current] .row-name")).to_have_text(f"a{N_MANY - 1:06}")
