"""The page as text, for every study alike: structure, escaping, size, and what is private."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from seepage._core import InputError
from seepage.cli.report import report
from seepage.report import render, write_report
from seepage.report.templates import unbroken_hashes
from seepage.results import Run, Summary, parse_summary
from seepage.results.facts import NotRun, VariantSettings
from tests.report.cohorts_example import a_cohorts_summary
from tests.report.example import (
    HOSTILE,
    Reader,
    a_cell,
    a_dataset,
    a_parties_summary,
    a_property_cell,
    a_property_summary,
    a_servers_summary,
    a_summary,
    a_training_cell,
    a_training_summary,
    a_utility,
    a_vertical_cell,
    a_vertical_summary,
    every_study,
    many_columns,
    models_made,
    plain,
    property_records,
    records_of,
    trainings,
    vertical_losses,
    vertical_records,
)

STUDIES = every_study()
LIMIT = 2_000_000  # bytes of a page without data
SECTIONS = {
    "rows": "verdict next_steps attacks columns choices trends utility threat_model method outcomes not_tested repeat",
    "vertical": "verdict next_steps attacks equations columns choices trends losses threat_model method "
    "outcomes not_tested repeat",
    "property": "property_verdict next_steps granularity confusion defence_cost shadow_models threat_model "
    "outcomes not_tested repeat",
    "training": "training_verdict next_steps parties_read quality ablations absences crossing training_cost curves "
    "threat_model outcomes not_tested repeat",
    "servers": "servers_verdict next_steps server_attacks threat_model outcomes not_tested repeat",
    "parties": "parties_verdict next_steps party_attacks party_defences threat_model outcomes not_tested repeat",
    "cohorts": "cohorts_verdict next_steps cohort_sums threat_model outcomes not_tested repeat",
    "updates": "untold_verdict next_steps captured sureness threat_model outcomes not_tested repeat",
}
every = pytest.mark.parametrize("study", STUDIES)


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {study: render(summary) for study, summary in STUDIES.items()}


@every
def test_sections_come_in_the_order_of_the_questions(pages: dict[str, str], study: str) -> None:
    assert Reader(pages[study]).sections == SECTIONS[study].split()


@every
def test_loads_nothing_and_stays_small(pages: dict[str, str], study: str) -> None:
    page = pages[study]
    assert all(link.startswith("#") or link == "data:," for link in Reader(page).loads)
    style = page[: page.index("</style>")]
    assert "@import" not in style
    assert "url(" not in style
    assert len(page.encode()) < LIMIT
    assert page.count("plotly.js (basic - minified) v") == 1
    assert "Licensed under the MIT license" in page


@every
def test_policy_allows_only_our_own_scripts(pages: dict[str, str], study: str) -> None:
    (policy,) = [a["content"] or "" for _, a in Reader(pages[study]).elements if a.get("http-equiv")]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == len(re.findall("<script>", pages[study])) == 2
    assert "http" not in policy


@every
def test_every_table_has_a_caption_and_scoped_headers(pages: dict[str, str], study: str) -> None:
    reader = Reader(pages[study])
    assert reader.count("table") == reader.count("caption") > 5
    assert all("scope" in attributes for tag, attributes in reader.elements if tag == "th")


@every
def test_every_plot_is_described_and_has_its_data(pages: dict[str, str], study: str) -> None:
    plots = [a for _, a in Reader(pages[study]).elements if a.get("class") == "plot"]
    assert plots
    for plot in plots:
        assert plot["aria-label"]
        data = re.search(f'id="{plot["id"]}-data">(.*?)</script>', pages[study])
        assert data
        figure = json.loads(data[1])
        assert {trace["type"] for trace in figure["data"]} <= {"scatter", "bar", "pie"}  # the basic bundle has no more
        assert figure["layout"]["xaxis"]


@every
def test_addresses_and_names_of_elements_are_unique(pages: dict[str, str], study: str) -> None:
    reader = Reader(pages[study])
    ids = [str(attributes["id"]) for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in reader.loads if link.startswith("#")} <= set(ids)


@every
def test_no_private_value_and_no_warning_unless_revealed(study: str) -> None:
    settings = STUDIES[study].settings | {"schema": {"columns": [{"categories": ["SECRET-7731"]}]}}
    page = render(STUDIES[study].model_copy(update={"settings": settings}))
    assert "SECRET-7731" not in page
    assert "revealed" not in Reader(page).sections
    assert "private rows" not in page


@every
def test_the_same_summary_gives_the_same_page(pages: dict[str, str], study: str) -> None:
    assert render(parse_summary(STUDIES[study].to_json())) == pages[study]


@every
def test_nobody_is_told_of_numbered_documents(pages: dict[str, str], study: str) -> None:
    text = Reader(pages[study]).text
    assert not re.search(r"[Dd]ocument 00\d", text)
    assert " None" not in text.replace("None of", "")
    assert "nan" not in text.split()


def hostile(study: str) -> Summary:
    """A summary in which every text that a user, a table or a stranger's run folder may bring is hostile."""
    columns = [column.model_copy(update={"name": HOSTILE, "dataset": HOSTILE}) for column in a_dataset().columns[:1]]
    common: dict[str, object] = {
        "name": HOSTILE, "command": HOSTILE, "settings": {HOSTILE: HOSTILE}, "versions": {HOSTILE: HOSTILE},
        "created": HOSTILE, "not_tested": [HOSTILE],
        "not_run": [NotRun(what=HOSTILE, reason=HOSTILE, state="crashed")],
        "variants": [VariantSettings(name=HOSTILE, dataset=HOSTILE, settings={HOSTILE: HOSTILE})] * 2,
        "threat_model": {"adversary": [HOSTILE]},
        "dataset": a_dataset(
            columns, name=HOSTILE, target=HOSTILE, task=HOSTILE, notes=[HOSTILE], digest=HOSTILE,
            dropped=[{"name": HOSTILE, "reason": HOSTILE, "dataset": HOSTILE}],
        ),
    }  # fmt: skip
    if study == "rows":
        cell = a_cell(dataset=HOSTILE, attack=HOSTILE, model=HOSTILE, attack_point=HOSTILE, defense=HOSTILE,
                      protocol=HOSTILE, variant=HOSTILE)  # fmt: skip
        records = [*records_of(cell, columns=columns), *records_of(a_cell(), columns=columns)]
        pair = {"cell": HOSTILE, "client": 1, "truth": {HOSTILE: HOSTILE}, "reconstruction": {}}
        part = {"what": HOSTILE, "verdict": HOSTILE, "why": HOSTILE}
        can = {"protocol": HOSTILE, "model": HOSTILE, "defense": HOSTILE, "batch_size": 8, "rows": 1, "steps": 1,
               "stops": HOSTILE, "findings": [part]}  # fmt: skip
        utility = [a_utility(8, HOSTILE, 0, {HOSTILE: 0.5})]
        return a_summary(records, columns, revealed=[pair], applicability=[can, can], utility=utility, **common)
    if study == "vertical":
        cell = a_vertical_cell(dataset=HOSTILE, model=HOSTILE, attack=HOSTILE, defense=HOSTILE, variant=HOSTILE)
        return a_vertical_summary(
            [*vertical_records(cell), *vertical_records(a_vertical_cell())],
            losses=[vertical_losses(HOSTILE, 0.1, model=HOSTILE), vertical_losses("none", 0.1)],
            **common,
        )
    if study == "property":
        asked = a_property_cell(dataset=HOSTILE, property_text=HOSTILE, loss=HOSTILE, reader=HOSTILE, defense=HOSTILE,
                                hierarchy=HOSTILE, variant=HOSTILE, observed=HOSTILE)  # fmt: skip
        records = [*property_records(asked, 0.9), *property_records(a_property_cell(classes=2), 0.9)]
        return a_property_summary(records, models=[models_made(HOSTILE, dataset=HOSTILE)], **common)
    design = a_training_cell(dataset=HOSTILE, design=HOSTILE, phases=HOSTILE, variant=HOSTILE)
    absent = a_training_cell(design=HOSTILE, failure_probability=0.5, failure_method=HOSTILE)
    return a_training_summary([*trainings(design, 0.8), *trainings(absent, 0.7)], **common)


@every
def test_html_in_names_is_escaped_everywhere(study: str) -> None:
    page = render(hostile(study))
    reader = Reader(page)
    assert "<script>alert" not in page
    assert reader.count("b") == 0
    assert not any("onclick" in attributes for _, attributes in reader.elements)
    assert reader.text.count("alert(1)") > 20  # it is there, as text


def test_revealed_rows_are_warned_of() -> None:
    pair = {"cell": a_cell().id, "client": 2, "truth": {"age": "ROW-41"}, "reconstruction": {"age": "ROW-40"}}
    text = Reader(render(a_summary(revealed=[pair]))).text
    assert text.count("This file holds private rows.") == 1
    assert "ROW-41 ROW-40" in text


@pytest.mark.parametrize("trials", [1, 2])
def test_few_trials(trials: int) -> None:
    text = Reader(render(a_summary(records_of(a_cell(), trials)))).text
    assert "Only one choice of protocol" in text
    assert "None" not in text.replace("None of the", "")
    assert "nan" not in text.split()


def test_all_failed() -> None:
    page = render(a_summary(records_of(a_cell(), 3, outcome="diverged")))
    text = Reader(page).text
    assert "Not measured Nothing could be measured" in text
    assert "not measured: every attack ended as “diverged”" in text
    assert "plotly.js" not in page  # nothing to draw
    assert [a["content"] for _, a in Reader(page).elements if "script-src 'none';" in str(a.get("content"))]


EMPTY = {
    "rows": a_summary([], []),
    "vertical": a_vertical_summary([]),
    "property": a_property_summary([], models=()),
    "training": a_training_summary([]),
    "parties": a_parties_summary([]),
    "cohorts": a_cohorts_summary([], counted=()),
    "servers": a_servers_summary([]),
}


@pytest.mark.parametrize("summary", EMPTY.values(), ids=EMPTY)
def test_a_run_without_any_setting_says_so(summary: Summary) -> None:
    text = Reader(render(summary)).text
    assert "Not measured" in text
    assert "The run holds no tested setting." in text


def test_a_wide_table_with_long_names_stays_small() -> None:
    columns = [column.model_copy(update={"name": column.name + "_long" * 60}) for column in many_columns(230)]
    records = [r for size in range(1, 31) for r in records_of(a_cell(batch_size=size), 2, columns=columns)]
    page = render(a_summary(records, columns))
    assert columns[7].name in page
    assert len(page.encode()) < 2 * LIMIT


def test_the_report_command_writes_the_page_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Run.create(tmp_path / "run", {})
    with pytest.raises(InputError, match=r"no summary\.json"):
        report(run.path)
    run.write("summary.json", a_summary().to_json())
    report(run.path)
    assert "report.html" in capsys.readouterr().out
    assert write_report(run).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in run.path.iterdir()) == ["records", "report.html", "run.json", "summary.json"]


def test_the_skip_link_leads_to_the_verdict(pages: dict[str, str]) -> None:
    for study, page in pages.items():
        assert f'<a class="skip" href="#{SECTIONS[study].split()[0]}">Skip to the verdict</a>' in plain(page)


def test_a_hash_in_a_headline_stays_on_one_line_and_nothing_of_it_is_markup() -> None:
    told = unbroken_hashes("<b> of client-0123456789abcdef & more")
    assert told == '&lt;b&gt; of <span class="hash">client-0123456789abcdef</span> &amp; more'
