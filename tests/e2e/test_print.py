"""The report on paper: every page of the PDF that a browser prints is looked at, for every study."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from playwright.sync_api import Browser

from seepage.report import render
from seepage.results import Summary
from tests.report.example import a_cell, a_summary, every_study, many_columns, records_of

pytest_plugins = ["tests.e2e.browser"]
pytestmark = pytest.mark.browser

A4 = (595, 842)  # points
MARGIN = 14 / 25.4 * 72
CONTENT = 688  # CSS pixels between the margins
FONT = 7.0  # CSS pixels: what is smaller was shrunk, because something did not fit


def wide() -> Summary:
    """Many settings, and columns with names as long as a line."""
    columns = [column.model_copy(update={"name": column.name + "_long" * 12}) for column in many_columns(30)]
    spec = {"defense": "dp_sgd:clip=1:noise=1.25:delta=0.00001", "attack": "gradient_matching:objective=cosine"}
    records = [r for size in range(1, 31) for r in records_of(a_cell(batch_size=size, **spec), 2, columns=columns)]
    return a_summary(records, columns)


REPORTS = {**every_study(), "wide": wide()}


@pytest.fixture(scope="module", params=REPORTS)
def printed(request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with a report and its PDF."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "report.html").write_text(render(REPORTS[request.param]), encoding="utf-8")
    page = browser.new_page()
    page.goto((folder / "report.html").as_uri())
    page.pdf(path=folder / "report.pdf", prefer_css_page_size=True, print_background=True)
    page.close()
    return folder


def words(text: str) -> Counter[str]:
    """Words of letters and digits: where a line ends in a PDF, a long one is in two pieces."""
    return Counter(re.findall(r"[^\W_]{3,}", text))


def test_every_page_has_its_number_and_no_text_beyond_the_margins(printed: Path) -> None:
    document = pdfium.PdfDocument(printed / "report.pdf")
    for number, page in enumerate(document, start=1):
        assert page.get_size() == pytest.approx(A4, abs=1)
        text = page.get_textpage()
        assert f"Page {number} of {len(document)}" in " ".join(text.get_text_bounded().split())
        assert text.count_chars() > 100  # no page holds a lone line
        for index in range(text.count_chars()):
            left, bottom, right, top = text.get_charbox(index)
            if right > left and top > bottom:
                assert left > MARGIN - 2, number
                assert right < A4[0] - MARGIN + 2, number
    document.close()


def test_nothing_that_is_on_the_page_is_cut_on_paper(printed: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.emulate_media(media="print")
    page.goto((printed / "report.html").as_uri())
    shown = words(
        page.evaluate(
            """() => [...document.querySelectorAll("h1, h2, h3, p, li, td, dt, dd, figcaption")]
              .filter((e) => e.checkVisibility()).map((e) => e.innerText).join(" ")"""
        )
    )
    page.close()
    document = pdfium.PdfDocument(printed / "report.pdf")
    paper = words(" ".join(sheet.get_textpage().get_text_bounded() for sheet in document))
    document.close()
    missing = [word for word in shown if word not in paper and "long" not in word]
    assert missing == []


def test_no_box_scrolls_and_nothing_is_shrunk_on_paper(printed: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": CONTENT, "height": 1000})
    page.emulate_media(media="print")
    page.goto((printed / "report.html").as_uri())
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
          .filter((e) => e.offsetParent !== null && !e.closest("svg"))
          .filter((e) => {
            const clips = getComputedStyle(e).overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1;
            return clips || e.getBoundingClientRect().right > innerWidth + 1;
          })
          .map((e) => `${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 40)}`)"""
    )
    page.close()
    assert boxes == []
    document = pdfium.PdfDocument(printed / "report.pdf")
    heading = document[0].get_textpage()
    place = heading.get_text_bounded().index("Verdict")
    _, bottom, _, top = heading.get_charbox(place)
    document.close()
    assert top - bottom > FONT  # a page that does not fit is made smaller as a whole
