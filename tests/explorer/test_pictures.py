"""Pictures and lines of arrays in a browser: what they show is what numpy says, and every state is in the address."""

import re
import urllib.parse

import numpy as np
import pytest
from conftest import LARGE, PACKED
from playwright.sync_api import expect

READBACK = ["willReadFrequently"]  # the tests alone read the canvas

def elements(server, path, selection):
    answer = server.get(f"/v1/datasets/{path}?slice={selection}")
    shape = [int(n) for n in answer.headers["zarr-shape"].split(",") if n]
    return np.frombuffer(answer.body, answer.headers["zarr-dtype"]).reshape(shape)


def picture_of(page):
    """The canvas, once the picture of the whole and all tiles are painted."""
    canvas = page.locator("canvas.picture")
    expect(canvas).to_have_attribute("data-state", "done")
    return canvas


def colour_at(page, part_y, part_x):
    """The colour of the canvas at a place of it, 0 to 1 down and across."""
    return page.evaluate("""([y, x]) => {
        const canvas = document.querySelector("canvas.picture");
        return [...canvas.getContext("2d").getImageData(Math.floor(x * canvas.width), Math.floor(y * canvas.height), 1, 1).data.slice(0, 3)];
    }""", [part_y, part_x])


def state_of(page):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page.url).query))


def click_at(canvas, part_y, part_x):
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * part_x, "y": box["height"] * part_y})


def test_a_plane_is_painted_with_a_bar_and_the_value_of_its_point(visit, demo):
    page = visit(demo, "/explore/demo/solar/irradiance?at=12,40,70", announced=READBACK)
    picture_of(page)
    plane = elements(demo, "demo/slices/solar/irradiance", "12")
    colours = demo.get("/v1/colormaps").json()["colormaps"]["viridis"]
    # north is at the top: the first row of latitudes is at the bottom
    for row, column in [(10, 5), (60, 100), (36, 140)]:
        position = (plane[row, column] - plane.min()) / (plane.max() - plane.min())
        found = colour_at(page, 1 - (row + 0.5) / 72, (column + 0.5) / 144)
        near = [colours[int(round(position * 255)) + d] for d in (-2, -1, 0, 1, 2) if 0 <= int(round(position * 255)) + d < 256]
        assert any(np.abs(np.subtract(found, colour)).max() <= 6 for colour in near), (row, column, found, near)
    expect(page.locator(".bar-title")).to_have_text("solar irradiance at the top of the atmosphere [W m-2]")
    expect(page.locator(".bar-ticks span").last).to_have_text(f"{float(plane.max()):.4g}")
    expect(page.locator(".picture-panel .pointer-value strong")).to_have_text(str(int(plane[40, 70])))
    expect(page.get_by_label("time, value")).to_have_value("2001-01-15 12:00")


def test_a_slider_moves_the_picture_the_line_and_the_address(visit, demo):
    page = visit(demo, "/explore/demo/solar/irradiance")
    picture_of(page)
    page.get_by_label("time, index", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("time, value")).to_have_value("2001-01-15 02:00")
    assert state_of(page)["at"] == "2,36,72"
    value = elements(demo, "demo/slices/solar/irradiance", "2,36,72")
    expect(page.locator(".picture-panel .pointer-value strong")).to_have_text(re.compile(f"^{str(float(value))[:5]}"))
    page.get_by_label("time, value").fill("2001-06-15 12:00")
    page.keyboard.press("Enter")
    time = elements(demo, "demo/slices/solar/time", ":")
    index = int(np.abs(time - (165 * 24 + 12)).argmin())
    expect(page).to_have_url(re.compile(f"at={index},36,72"))
    page.go_back()
    expect(page.get_by_label("time, value")).to_have_value("2001-01-15 02:00")
    page.get_by_label("lat, value").fill("no number")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Enter a number")).to_be_visible()


def test_a_click_chooses_a_point_and_a_line_runs_through_it(visit, demo):
    page = visit(demo, "/explore/demo/solar/irradiance?at=12,36,72")
    canvas = picture_of(page)
    click_at(canvas, 0.25, 0.75)
    expect(page).to_have_url(re.compile("at=12,54,108"))
    line = elements(demo, "demo/slices/solar/irradiance", ":,54,108")
    expect(page.locator(".plot")).to_have_attribute("aria-label", f"A line of 576 values from 0 to {float(line.max()):.4g}")
    page.get_by_label("Line through").select_option("lon")
    expect(page.locator(".plot")).to_have_attribute("aria-label", re.compile("A line of 144 values"))
    assert state_of(page)["along"] == "2"
    page.reload()
    expect(page.get_by_label("Line through")).to_have_value("2")
    canvas.focus()
    page.keyboard.press("ArrowUp")
    expect(page).to_have_url(re.compile("at=12,55,108"))


def test_zoom_loads_tiles_and_the_value_under_the_pointer_is_exact(visit, demo):
    asked = []
    page = visit(demo, "/explore/grids/large", before=lambda page: page.on("request", lambda request: "tile=" in request.url and asked.append(request.url)))
    canvas = picture_of(page)
    assert asked == [] or all("tile=1," in url for url in asked)
    for _ in range(6):
        page.get_by_role("button", name="Zoom in").click()
    expect(canvas).to_have_attribute("data-tiles", re.compile("[1-9]"))
    picture_of(page)
    assert any("tile=0," in url for url in asked) and len(asked) < 60
    expect(page).to_have_url(re.compile(r"view=11\.39"))
    zoom, row, column = map(float, state_of(page)["view"].split(","))
    assert zoom == pytest.approx(1.5 ** 6, rel=1e-4) and (row, column) == (1000, 1500)
    canvas.hover(position={"x": 30, "y": 20})
    box = canvas.bounding_box()
    scale = min(box["height"] / 2000, box["width"] / 3000) * zoom
    at = int(1000 + (20 - box["height"] / 2) / scale), int(1500 + (30 - box["width"] / 2) / scale)
    expect(page.locator(".picture-panel .pointer-value strong")).to_have_text(str(int(LARGE[at])))
    expect(page.locator(".picture-panel .pointer-place").first).to_have_text(f"row {at[0]}")
    page.mouse.down()
    page.mouse.move(box["x"] + 130, box["y"] + 70, steps=4)
    page.mouse.up()
    expect(page).not_to_have_url(re.compile(r"view=[\d.]+,1000,1500"))
    page.reload()
    picture_of(page)
    page.get_by_role("button", name="Fit").click()
    expect(page).not_to_have_url(re.compile("view="))


def test_axes_can_be_turned(visit, demo):
    page = visit(demo, "/explore/grids/large?axes=1,0&at=5,7", announced=READBACK)
    picture_of(page)
    expect(page.locator(".picture-panel .pointer-value strong")).to_have_text(str(int(LARGE[5, 7])))
    low, high = colour_at(page, 0.1, 0.5), colour_at(page, 0.9, 0.5)  # down it is columns now: hardly a change
    left, right = colour_at(page, 0.5, 0.4), colour_at(page, 0.5, 0.6)
    assert np.abs(np.subtract(low, high)).max() < np.abs(np.subtract(left, right)).max()
    page.get_by_label("Vertical").select_option("row")
    expect(page.get_by_label("Horizontal")).to_have_value("1")
    expect(page).not_to_have_url(re.compile("axes="))


def test_colours_range_and_stretch_are_what_the_server_is_asked_for(visit, demo):
    page = visit(demo, "/explore/demo/solar/irradiance?at=12,40,70", announced=["400"])
    picture_of(page)
    with page.expect_request(re.compile("cmap=magma")):
        page.get_by_label("Map").select_option("magma")
    with page.expect_request(re.compile("cmap=magma_r")):
        page.get_by_label("reversed").check()
    with page.expect_request(re.compile("vmin=100")):
        page.get_by_label("From", exact=True).fill("100")
        page.keyboard.press("Tab")
    with page.expect_request(re.compile("stretch=log")):
        page.get_by_label("Stretch").select_option("log")
    expect(page.locator(".bar-ticks span").first).to_have_text("100")
    assert state_of(page) == {"at": "12,40,70", "cmap": "magma_r", "vmin": "100", "stretch": "log"}
    page.get_by_label("From", exact=True).fill("-5")
    page.keyboard.press("Tab")
    problem = demo.get("/v1/datasets/demo/images/solar/irradiance?slice=12&vmin=-5&stretch=log").json()
    expect(page.locator(".picture-panel .note.bad")).to_contain_text(problem["detail"])
    page.go_back()
    expect(page.locator(".picture-panel .note.bad")).to_have_count(0)


def test_packed_values_and_calendars_are_read_as_they_are_meant(visit, demo):
    page = visit(demo, "/explore/grids/packed?at=1,2,3")
    picture_of(page)
    expect(page.locator(".picture-panel .pointer-value strong")).to_have_text(f"{PACKED[1, 2, 3] * 0.5 + 200:g}")
    expect(page.get_by_label("time, value")).to_have_value("2001-03-15")  # without a leap day: 73 is March 15th
    page.get_by_label("time, index as a number").fill("5")
    page.keyboard.press("Enter")
    expect(page.get_by_label("time, value")).to_have_value("2002-01-01")
    expect(page.get_by_label("y, value")).to_have_value("20")
    expect(page.locator(".bar-ticks span").last).to_have_text(f"{PACKED[5].max() * 0.5 + 200:g}")
    page.goto("/explore/grids/packed?at=0,0,0")
    expect(page.locator(".picture-panel .pointer-value strong")).to_have_text("NaN")


def test_a_multiscale_group_is_a_picture(visit, demo):
    page = visit(demo, "/explore/demo/pyramid?at=700,900")
    picture_of(page)
    value = elements(demo, "demo/slices/pyramid/0", "700,900")
    expect(page.locator(".picture-panel .pointer-value strong")).to_have_text(str(int(value)))
    page.get_by_role("button", name="Zoom in").click(click_count=5)
    expect(page.locator("canvas.picture")).to_have_attribute("data-tiles", re.compile("[1-9]"))
