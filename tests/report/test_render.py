"""The page as text: structure, escaping, and the cases that are not usual."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from seepage._core import InputError
from seepage.cli.report import report
from seepage.report import render, write_report
from seepage.results import Run, Summary
from tests.report.example import COLUMNS, a_cell, a_dataset, a_record, a_summary, a_utility, many_columns, records_of

LOADING = {"src", "href", "srcset", "data", "poster", "action", "background"}


class Reader(HTMLParser):
    """What a browser would make of the page: its elements, what they load, and the text outside scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.words.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def loads(self) -> set[str]:
        return {value or "" for _, attributes in self.elements for key, value in attributes.items() if key in LOADING}


@pytest.fixture(scope="module")
def usual() -> str:
    return render(a_summary())


def test_sections_come_in_the_order_of_the_questions(usual: str) -> None:
    ids = [attributes["id"] for tag, attributes in Reader(usual).elements if tag == "section"]
    assert ids == [
        "verdict", "attacks", "columns", "settings", "utility", "threat-model", "method", "not-tested", "repeat",
    ]  # fmt: skip


def test_loads_nothing_and_stays_small(usual: str) -> None:
    loads = Reader(usual).loads
    assert all(link.startswith("#") or link == "data:," for link in loads)
    assert "@import" not in usual[: usual.index("</style>")]
    assert "url(" not in usual[: usual.index("</style>")]
    assert len(usual.encode()) < 8_000_000
    assert usual.count("plotly.js v") == 1


def test_policy_allows_only_our_own_scripts(usual: str) -> None:
    (policy,) = [a["content"] or "" for t, a in Reader(usual).elements if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == len(re.findall("<script>", usual)) == 2
    assert "http" not in policy


def test_every_table_has_a_caption_and_scoped_headers(usual: str) -> None:
    reader = Reader(usual)
    assert reader.count("table") == reader.count("caption") > 8
    assert all("scope" in attributes for tag, attributes in reader.elements if tag == "th")


def test_every_plot_is_described_and_has_its_data(usual: str) -> None:
    plots = [a for _, a in Reader(usual).elements if a.get("class") == "plot"]
    assert len(plots) == 5
    for plot in plots:
        assert plot["aria-label"]
        data = re.search(f'id="{plot["id"]}-data">(.*?)</script>', usual)
        assert data
        assert set(json.loads(data[1])) == {"light", "dark"}


def test_says_how_the_numbers_are_made(usual: str) -> None:
    text = Reader(usual).text
    for said in ("0.319 of the client's own standard deviations",
                 "Hungarian matching", "bootstrap intervals", "28 gave nothing to score",
                 "Secure aggregation.", "patient_id", "seepage audit --data clinic", "torch 2.13.0"):  # fmt: skip
        assert said in text


def test_no_private_value_and_no_warning_unless_revealed(usual: str) -> None:
    assert "SECRET-7731" not in usual
    assert "Revealed rows" not in usual
    pair = {"cell": a_cell().id, "client": 2, "truth": {"age": "ROW-41"}, "reconstruction": {"age": "ROW-40"}}
    text = Reader(render(a_summary(revealed=[pair]))).text
    assert "This file holds private rows." in text
    assert "ROW-41 ROW-40" in text


def test_the_same_summary_gives_the_same_page(usual: str) -> None:
    assert render(Summary.from_json(a_summary().to_json())) == usual


HOSTILE = '</script><script>alert(1)</script><b onclick="x">&amp;'


def test_html_in_names_is_escaped_everywhere() -> None:
    columns = [dict(COLUMNS[0], name=HOSTILE), *COLUMNS[1:]]
    cell = a_cell(attack=HOSTILE, model=HOSTILE, attack_point=HOSTILE, defense=HOSTILE, protocol=HOSTILE)
    records = records_of(cell, columns=columns) + records_of(a_cell(), columns=columns)
    dataset = a_dataset(columns) | {
        "name": HOSTILE, "target": HOSTILE, "notes": [HOSTILE], "dropped": [{"name": HOSTILE, "reason": HOSTILE}]
    }  # fmt: skip
    pair = {"cell": HOSTILE, "client": 1, "truth": {HOSTILE: HOSTILE}, "reconstruction": {}}
    page = render(
        a_summary(
            records, columns, name=HOSTILE, command=HOSTILE, dataset=dataset, not_tested=[HOSTILE], revealed=[pair],
            settings={HOSTILE: HOSTILE}, versions={HOSTILE: HOSTILE},
            utility=[a_utility(8, HOSTILE, 0, {HOSTILE: 0.5})],
        )
    )  # fmt: skip
    assert "<script>alert" not in page
    assert Reader(page).count("b") == 0
    assert not any("onclick" in attributes for _, attributes in Reader(page).elements)


@pytest.mark.parametrize("trials", [1, 2])
def test_few_trials(trials: int) -> None:
    text = Reader(render(a_summary(records_of(a_cell(), trials)))).text
    assert "Only one choice of protocol" in text
    assert "None" not in text.replace("None of the", "")
    assert "nan" not in text.split()


def test_all_failed() -> None:
    page = render(a_summary(records_of(a_cell(), 3, outcome="diverged")))
    text = Reader(page).text
    assert "Verdict: Not measured" in text
    assert "not measured: every attack ended as “diverged”" in text
    assert "plotly.js v" not in page  # nothing to draw


def test_no_settings_and_no_columns() -> None:
    text = Reader(render(a_summary([], []))).text
    assert "No setting was tested." in text
    assert "The data set has no input column." in text


def test_a_wide_table_and_long_names() -> None:
    columns = [dict(column, name=column["name"] + "_long" * 60) for column in many_columns(230)]
    page = render(a_summary([a_record(a_cell(), columns=columns)], columns))
    (plot,) = [a for _, a in Reader(page).elements if a.get("id") == "plot-columns"]
    assert plot["style"] == f"height: {80 + 24 * 230}px; min-width: 296px"
    assert 'class="screen-only"' in page  # too tall for paper; the table is printed
    assert columns[7]["name"] in page
    assert len(page.encode()) < 8_000_000


def test_regression() -> None:
    utility = [a_utility(8, point, 0, {"loss": 210.5, "rmse": 14.51}) for point in ("untrained", "best")]
    text = Reader(render(a_summary(records_of(a_cell()), dataset=a_dataset(task="regression"), utility=utility))).text
    assert "RMSE" in text
    assert "14.5" in text


def test_report_command_writes_the_page_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run.create(tmp_path / "run", {})
    with pytest.raises(InputError, match=r"no summary\.json"):
        report(run.path)
    run.write("summary.json", a_summary().to_json())
    report(run.path)
    assert "report.html" in capsys.readouterr().out
    assert write_report(run).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in run.path.iterdir()) == ["records", "report.html", "run.json", "summary.json"]
