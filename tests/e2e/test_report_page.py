"""The report as a reader meets it: opened from a file, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from seepage.report import render
from seepage.results import Summary
from tests.e2e.axe import serious
from tests.report.example import COLUMNS, a_cell, a_summary, every_study, many_columns, records_of

pytest_plugins = ["tests.e2e.browser"]
pytestmark = pytest.mark.browser

STUDIES = every_study()
PLOTS = {
    "rows": ["plot-leakage", "plot-batch-size", "plot-attack-point", "plot-utility"],
    "vertical": ["plot-leakage", "plot-defense", "plot-losses"],
    "property": ["plot-granularity"],
    "training": ["plot-quality", "plot-absences", "plot-curves"],
    "servers": ["plot-servers"],
    "parties": ["plot-parties-columns", "plot-parties-labels"],
    "updates": ["plot-sureness-0"],
    "cohorts": ["plot-cohorts-rows"],
}


@dataclass
class Opened:
    """A report in the browser, and everything it said or asked for."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def opened(browser: Browser, folder: Path, summary: Summary, **settings: object) -> Opened:
    path = folder / "report.html"
    path.write_text(render(summary), encoding="utf-8")
    page = browser.new_page(**settings)  # type: ignore[arg-type]
    report = Opened(page, path.as_uri())
    page.on("console", lambda message: report.complaints.append(message.text))
    page.on("pageerror", lambda error: report.complaints.append(str(error)))
    page.on("request", lambda request: report.requests.append(request.url))
    page.goto(report.address)
    return report


@pytest.fixture
def report(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    shown = opened(browser, tmp_path, STUDIES["rows"], viewport={"width": 1280, "height": 900})
    yield shown
    shown.page.close()


@pytest.mark.parametrize("study", STUDIES)
def test_draws_every_plot_asks_nothing_of_any_network_and_is_for_everybody(
    browser: Browser, tmp_path: Path, study: str
) -> None:
    report = opened(browser, tmp_path, STUDIES[study], viewport={"width": 1280, "height": 900})
    assert [plot.get_attribute("id") for plot in report.page.locator(".plot").all()] == PLOTS[study]
    for name in PLOTS[study]:
        report.page.locator(f"#{name} svg.main-svg").first.wait_for()
    assert serious(report.page) == []
    report.page.screenshot(path=tmp_path / "report.png", full_page=True)
    assert (tmp_path / "report.png").stat().st_size > 50_000
    assert report.complaints == []
    assert report.requests == [report.address]
    report.page.close()


@pytest.mark.parametrize("study", ["rows", pytest.param("property", marks=pytest.mark.slow)])
def test_dark_pages_have_nothing_that_axe_calls_serious(browser: Browser, tmp_path: Path, study: str) -> None:
    report = opened(browser, tmp_path, STUDIES[study], color_scheme="dark")
    report.page.locator(f"#{PLOTS[study][0]} svg.main-svg").first.wait_for()
    assert serious(report.page) == []
    report.page.close()


def test_says_the_verdict_on_top(report: Opened) -> None:
    verdict = report.page.locator("#verdict")
    assert verdict.is_visible()
    assert verdict.locator(".headline .badge").inner_text() == "Leaks"
    box = verdict.locator(".headline").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 900


def test_works_for_a_screen_reader(report: Opened) -> None:
    page = report.page
    tables = page.locator("table")
    assert tables.count() == page.locator("table > caption").count() > 5
    assert page.locator("thead th:not([scope]), tbody th:not([scope])").count() == 0
    assert page.locator(".plot:not([role=img][aria-label])").count() == 0
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(landmark).count() == 1  # type: ignore[arg-type]
    assert page.locator(".scroll:not([tabindex='0'][aria-label])").count() == 0


def test_the_keyboard_reaches_the_verdict_first(report: Opened) -> None:
    report.page.keyboard.press("Tab")
    assert report.page.evaluate("document.activeElement.textContent") == "Skip to the verdict"


def ink_of_plot(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.querySelector('#plot-leakage .ytick text')).fill"))


def test_dark_mode_changes_page_and_plots(report: Opened) -> None:
    page = report.page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground), ink_of_plot(page)
    page.emulate_media(color_scheme="dark")
    expect(page.locator("body")).not_to_have_css("background-color", light[0])
    assert page.evaluate(ground) == "rgb(16, 21, 27)"
    assert ink_of_plot(page) == "rgb(228, 233, 239)"
    assert light == ("rgb(246, 247, 249)", "rgb(29, 39, 51)")


def test_prints_in_light_colours(report: Opened, tmp_path: Path) -> None:
    report.page.emulate_media(color_scheme="dark")
    path = tmp_path / "report.pdf"
    report.page.pdf(path=path, prefer_css_page_size=True, print_background=True)
    assert path.read_bytes().startswith(b"%PDF-")
    report.page.emulate_media(media="print", color_scheme="dark")
    # wait_for_function would poll with eval, which the report's policy forbids.
    expect(report.page.locator("#plot-leakage .main-svg").first).to_have_css("width", "660px")
    assert ink_of_plot(report.page) == "rgb(29, 39, 51)"
    assert not report.page.get_by_role("navigation").is_visible()
    assert report.complaints == []


def test_shades_of_a_map_follow_its_numbers(report: Opened) -> None:
    colours = {
        shade: report.page.evaluate(
            "shade => getComputedStyle(document.querySelector(`.heat td.${shade}`)).backgroundColor", shade
        )
        for shade in ("u1", "u4")
    }
    assert colours["u1"] != colours["u4"]


def test_a_wide_table_on_a_narrow_screen_scrolls_inside_its_frame(browser: Browser, tmp_path: Path) -> None:
    columns = many_columns(220)
    records = [r for size in range(1, 25) for r in records_of(a_cell(batch_size=size), 2, columns=columns)]
    report = opened(browser, tmp_path, a_summary(records, columns), viewport={"width": 390, "height": 800})
    report.page.locator("#plot-leakage svg.main-svg").first.wait_for()
    assert report.page.evaluate("document.documentElement.scrollWidth") == 390
    frame = report.page.locator(".scroll", has=report.page.locator(".heat")).first
    assert frame.evaluate("e => e.scrollHeight > 5000 && e.clientHeight < 800 && e.scrollWidth > 600")
    assert report.complaints == []
    report.page.close()


def test_defences_and_models_have_plots_whose_labels_are_all_there(browser: Browser, tmp_path: Path) -> None:
    defenses = ["none", "gaussian_noise:deviation=0.1", "dp_sgd:clip=1:noise=1", "quantisation:bits=1"]
    cells = [a_cell(defense=defense, model=model) for defense in defenses for model in ("mlp:width=8", "mlp:width=64")]
    report = opened(browser, tmp_path, a_summary([r for cell in cells for r in records_of(cell, 2)]))
    labels = report.page.locator("#plot-defense .xtick text")
    labels.first.wait_for()
    assert [label.text_content() for label in labels.all()] == [
        "none", "gaussian_noise0.1", "dp_sgdclip 1,noise 1", "quantisation1",
    ]  # fmt: skip
    assert report.page.locator("#plot-model .xtick text").count() == 2
    assert report.complaints == []
    report.page.close()


def test_html_in_a_column_name_does_nothing(browser: Browser, tmp_path: Path) -> None:
    name = "</script><img src=x onerror=\"document.title='taken'\"><b>x</b>"
    columns = [COLUMNS[0].model_copy(update={"name": name, "sensitive": True})]
    records = [r for size in (1, 8) for r in records_of(a_cell(attack=name, batch_size=size), 2, columns=columns)]
    records += records_of(a_cell(), 2, columns=columns)
    report = opened(browser, tmp_path, a_summary(records, columns))
    report.page.locator("#plot-leakage svg.main-svg").first.wait_for()
    assert report.page.title() == "Leakage audit of clinic"
    assert report.page.locator("main img").count() == 0
    assert "</script>" in (report.page.locator(".heat tbody th").first.text_content() or "")
    assert "</script>" in (report.page.locator("#plot-leakage .ytick text").first.text_content() or "")
    assert report.requests == [report.address]
    assert report.complaints == []
    report.page.close()


def test_a_report_without_any_plot_is_quiet(browser: Browser, tmp_path: Path) -> None:
    report = opened(browser, tmp_path, a_summary(records_of(a_cell(), 2, outcome="failed")))
    assert report.page.locator(".plot").count() == 0
    assert report.page.locator("#verdict .badge").first.inner_text() == "Not measured"
    assert report.complaints == []
    report.page.close()
