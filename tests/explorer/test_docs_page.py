"""/docs in a browser: its examples run in the page, against the demo, and ask no other host for anything."""

import playwright.sync_api as playwright
import pytest
from conftest import TOKEN
from live import ROOT

AXE = ROOT / "tests/explorer/node_modules/axe-core/axe.min.js"
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


def test_search_leaves_what_has_all_words(demo, visit):
    page = visit(demo, "/docs")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("stats MEAN")
    expect(page.locator("#getStatistics")).to_be_visible()
    expect(page.locator("#putNode")).to_be_hidden()
    expect(page.locator("nav a[href='#putNode']")).to_be_hidden()
    expect(page.locator("#tag-keys")).to_be_hidden()
    expect(page.locator("#found")).to_have_text(f"{page.locator('nav li:not([hidden]) .method').count()} operations")
    page.fill("#search", "qqxyzzy")
    expect(page.locator("#found")).to_have_text("0 operations")
    expect(page.locator(".operation:visible")).to_have_count(0)
    page.evaluate("location.hash = '#putNode'")  # a link shows what a search has left out
    expect(page.locator("#putNode")).to_be_visible()
    expect(page.locator("#search")).to_have_value("")


def test_sections_collapse(demo, visit):
    page = visit(demo, "/docs")
    link = page.locator("#getSlice .try a").first
    expect(link).to_be_visible()
    page.click("#getSlice > summary")
    expect(link).to_be_hidden()
    expect(page.locator("#getImage .try a").first).to_be_visible()
    page.click("#fold")
    expect(page.locator(".operation[open]")).to_have_count(0)
    page.click("nav a[href='#getSlice']")
    expect(link).to_be_visible()
    page.click("#fold")
    expect(page.locator(".operation:not([open])")).to_have_count(0)
    page.click("#tag-data > summary")
    expect(link).to_be_hidden()
    page.evaluate("location.hash = '#schema-ProblemCode'")
    expect(page.locator("#schema-ProblemCode pre")).to_be_visible()


def test_every_operation_has_its_request_in_three_languages(demo, visit):
    page = visit(demo, "/docs")
    n = page.locator(".operation").count()
    assert n > 40
    for language in ("curl", "Python", "JavaScript"):
        page.click(f"#getSlice .languages button:text-is('{language}')")
        expect(page.locator(f"figure[data-language={language}]:visible")).to_have_count(n)
        expect(page.locator("figure:visible")).to_have_count(n)
        expect(page.locator(f"#getImage .languages button:text-is('{language}')")).to_have_attribute("aria-pressed", "true")
        assert f"{demo.url}/v1/datasets/demo/slices/solar" in page.locator(f"#getSlice figure[data-language={language}]").inner_text()


def test_without_scripts_all_of_it_is_there(browser, demo):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{demo.url}/docs")
    expect(page.locator("#getSlice figure")).to_have_count(3)
    for i in range(3):
        expect(page.locator("#getSlice figure").nth(i)).to_be_visible()
    expect(page.locator(".tools")).to_be_hidden()
    context.close()


@pytest.mark.parametrize("scheme, viewport", [("light", None), ("dark", None), ("light", {"width": 400, "height": 800})], ids=str)
def test_axe_finds_nothing(demo, visit, scheme, viewport):
    options = {"color_scheme": scheme, **({"viewport": viewport} if viewport else {})}
    page = visit(demo, "/docs", announced=["TrustedScript", "eval"], bypass_csp=True, **options)
    page.click("#getSlice .try a >> nth=0")
    expect(page.locator("#getSlice output pre").first).to_contain_text("200")
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]][:5]) for one in found["violations"]] == []
