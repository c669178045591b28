"""The page as a whole: what its first sight costs, who can use it, and what happens when others change data, ask for tokens, or are slow."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import TOKEN
from documents import array_document
from live import ROOT
from playwright.sync_api import expect

AXE = ROOT / "tests/explorer/node_modules/axe-core/axe.min.js"
FIRST_REQUESTS_MOST = 12
FIRST_BYTES_MOST = 100_000
NARROW = {"width": 400, "height": 800}
VIEWS = ["/", "/explore/demo/solar", "/explore/odd/refused", "/explore/odd/warned", "/explore/demo/solar/irradiance", "/explore/demo/solar/irradiance?tab=values",
         "/explore/demo/solar/irradiance?tab=statistics", "/explore/demo/solar/irradiance?tab=chunks", "/explore/demo/solar/irradiance?tab=use",
         "/explore/demo/solar/irradiance?tab=about", "/explore/demo/solar/time", "/explore/demo/?q=solar"]


def until_settled(page):
    expect(page.locator(".main h1")).to_be_visible()
    expect(page.locator(".spinner, .busy, [aria-busy=true]")).to_have_count(0)


def traffic(context, page):
    """{"n": requests, "bytes": received} from now on."""
    found = {"n": 0, "bytes": 0}
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.requestWillBeSent", lambda event: found.update(n=found["n"] + 1))
    session.on("Network.loadingFinished", lambda event: found.update(bytes=found["bytes"] + event["encodedDataLength"]))
    return found


def test_the_first_sight_is_light(visit, serve, demo):
    found = {}
    server = serve(f"demo={demo.places['demo']}")  # by itself, as deploy/demo does it
    page = visit(server, "/", before=lambda page: found.update(now=traffic(page.context, page)))
    expect(page.get_by_role("treeitem", name="types")).to_be_visible()
    until_settled(page)
    page.wait_for_load_state("networkidle")
    assert 6 < found["now"]["n"] <= FIRST_REQUESTS_MOST, found
    assert 0 < found["now"]["bytes"] <= FIRST_BYTES_MOST, found


@pytest.mark.parametrize("scheme, viewport", [("light", None), ("dark", None), ("light", NARROW)], ids=str)
def test_axe_finds_nothing(visit, demo, scheme, viewport):
    options = {"color_scheme": scheme, **({"viewport": viewport} if viewport else {})}
    page = visit(demo, VIEWS[0], announced=["404", "TrustedScript", "eval"], bypass_csp=True, **options)
    for view in VIEWS:
        page.goto(view)
        until_settled(page)
        page.evaluate(AXE.read_text())
        found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == [], view


def test_a_narrow_screen_has_all_of_it(visit, demo):
    page = visit(demo, "/explore/demo/solar/irradiance", viewport=NARROW)
    until_settled(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= NARROW["width"]
    assert page.evaluate("() => document.querySelector('.main').scrollWidth") <= NARROW["width"]
    expect(page.get_by_role("tree")).to_be_hidden()
    page.get_by_role("button", name="Datasets and nodes").click()
    page.get_by_role("treeitem", name="lat 72").click()
    expect(page).to_have_url(f"{demo.url}/explore/demo/solar/lat")
    expect(page.get_by_role("tree")).to_be_hidden()
    page.get_by_role("button", name="Datasets and nodes").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("tree")).to_be_hidden()


def test_with_200_ms_latency_only_what_is_shown_last_is_waited_for(visit, demo):
    cancelled = []

    def slow(page):
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", {"offline": False, "latency": 200, "downloadThroughput": -1, "uploadThroughput": -1})
        page.on("requestfailed", lambda request: "images" in request.url and cancelled.append(request.url))

    page = visit(demo, "/explore/demo/solar/irradiance?at=0,36,5", before=slow)
    until_settled(page)
    page.get_by_label("time, index", exact=True).evaluate("""slider => {
        for (let i = 1; i <= 12; i++) {
            slider.value = i;
            slider.dispatchEvent(new Event("input"));
        }
        slider.dispatchEvent(new Event("change"));
    }""")
    expect(page).to_have_url(re.compile("at=12,36,5"))
    until_settled(page)
    value = np.frombuffer(demo.get("/v1/datasets/demo/slices/solar/irradiance?slice=12,36,5").body, "<f4")[0]
    expect(page.locator(".picture-panel .pointer-value strong")).to_have_text(f"{float(value):.7g}")
    expect(page.get_by_label("time, value")).to_have_value("2001-01-15 12:00")
    assert cancelled and not any("slice=12," in url for url in cancelled)


def test_changes_of_others_are_shown_and_marked(visit, demo):
    document = {**array_document([8, 8], [4, 4], "int32"), "dimension_names": ["y", "x"]}
    node = "/v1/datasets/work/nodes/live"
    assert demo.request("PUT", node, {"Content-Type": "application/json"}, json.dumps(document).encode()).status == 201
    page = visit(demo, "/explore/work/live?at=5,6")
    until_settled(page)
    expect(page.locator("#live")).to_have_text("Live")
    value = page.locator(".picture-panel .pointer-value strong")
    expect(value).to_have_text("0")
    demo.request("PUT", "/v1/datasets/work/slices/live?slice=5,6", {"Content-Type": "application/json"}, b"77")
    expect(value).to_have_text("77")
    expect(page.locator(".note.changed")).to_contain_text("chunk 1, 1 was written")
    expect(page.locator(".row.changed")).to_have_count(1)
    demo.request("PATCH", node, {"Content-Type": "application/merge-patch+json"}, b'{"attributes": {"long_name": "renamed by another"}}')
    expect(page.locator(".sub")).to_have_text("renamed by another")
    expect(page.locator(".note.changed")).to_contain_text("the node was changed")
    demo.request("PUT", "/v1/datasets/work/nodes/more", {"Content-Type": "application/json"}, json.dumps(document).encode())
    expect(page.get_by_role("treeitem", name=re.compile("^more"))).to_be_visible()
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".note.changed")).to_have_count(0)


def test_a_token_is_asked_for_once_and_stays_in_memory(visit, demo, tmp_path):
    page = visit(demo, "/explore/secret/", announced=["401"])
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("A token is needed")
    dialog.get_by_label("Token").fill("wrong")
    dialog.get_by_role("button", name="Use it").click()
    expect(dialog).to_contain_text("That token is not accepted")
    dialog.get_by_label("Token").fill(TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="secret")).to_be_visible()
    expect(page.locator(".plot")).to_have_attribute("aria-label", "A line of 6 values from 0 to 5")
    expect(dialog).to_have_count(0)
    expect(page.locator("#live")).to_have_text("Live")
    page.get_by_role("tab", name="Download & code").click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="raw bytes").click()
    assert open(waiting.value.path(), "rb").read() == np.arange(6.0).tobytes()
    assert "Bearer" in page.locator("pre.code").text_content() and TOKEN not in page.content() and TOKEN not in page.url
    for language, command in {"curl": ["sh", "-c"], "numpy": [sys.executable, "-c"], "xarray": [sys.executable, "-c"], "javascript": ["node", "--input-type=module", "-e"]}.items():
        page.get_by_label("Language").select_option(language)
        subprocess.run([*command, page.locator("pre.code").text_content()], check=True, cwd=tmp_path, env={**os.environ, "TOKEN": TOKEN}, capture_output=True)
    assert np.array_equal(np.load(tmp_path / "slice.npy"), np.arange(6.0))
    assert page.evaluate("() => localStorage.length + sessionStorage.length + document.cookie.length") == 0
    expect(page.get_by_role("treeitem", name="secret").first).to_be_visible()  # the list is another one now
    page.reload()
    expect(dialog).to_contain_text("A token is needed")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator(".main .note.bad")).to_contain_text(demo.get("/v1/datasets/secret/nodes/").json()["detail"])


def test_a_refused_token_is_not_kept(visit, demo):
    page = visit(demo, "/explore/secret/", announced=["401"])
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("That token is not accepted")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator("#token")).to_have_text("Token")
    page.get_by_role("treeitem", name="one").click()
    expect(page.get_by_role("heading", name="one")).to_be_visible()
    expect(dialog).to_have_count(0)


@pytest.mark.parametrize("target", [f"/explore/secret/?access_token={TOKEN}&tab=about", f"/t/{TOKEN}/explore/secret/?tab=about"])
def test_a_token_of_the_address_is_taken_out_of_it(visit, demo, target):
    asked = []
    page = visit(demo, target, before=lambda page: page.on("request", lambda request: asked.append(request)))
    expect(page.get_by_role("heading", name="secret")).to_be_visible()
    expect(page.locator("#token")).to_have_text("Token set")
    page.get_by_role("tab", name="Values").click()
    expect(page).to_have_url(f"{demo.url}/explore/secret/?tab=values")
    assert TOKEN not in page.content() and not [request.url for request in asked[1:] if TOKEN in request.url + request.headers.get("referer", "")]
    page.go_back()
    expect(page).to_have_url(f"{demo.url}/explore/secret/?tab=about")


def test_without_javascript_it_says_what_there_is(browser, demo):
    context = browser.new_context(base_url=demo.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/explore/demo/")
    page.get_by_role("link", name="stored keys").click()
    assert page.url == f"{demo.url}/zarr/"
    context.close()
