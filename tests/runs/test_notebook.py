from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from seepage.runs.notebook import NotebookBars, in_notebook, progress_here

CELL = """import seepage
from tests import cases

summary = seepage.audit(
    cases.frame(), target="target", model="linear", batch_sizes=2, attack="inverting_gradients:steps=2", clients=2,
    attack_points="initialized", exposure=0, trials=2,
)
summary"""


class Shown:
    """What IPython's display returns, and everything that it showed."""

    def __init__(self) -> None:
        self.pages: list[str] = []

    def __call__(self, page: Any, display_id: bool) -> Shown:
        assert display_id
        return self

    def update(self, page: Any) -> None:
        self.pages.append(page._repr_html_())


def test_bars_show_the_last_pieces_of_work_and_go() -> None:
    shown = Shown()
    bars = NotebookBars(shown)
    for number in range(6):
        bars(f"<b>{number}</b>", 3, 3, "note & more")
    assert shown.pages[-1].count("<progress") == 4
    assert "&lt;b&gt;5&lt;/b&gt;, note &amp; more" in shown.pages[-1]
    bars.close()
    assert shown.pages[-1] == "<div></div>"


def test_small_steps_are_not_drawn_one_by_one() -> None:
    shown = Shown()
    bars = NotebookBars(shown)
    for step in range(1000):
        bars("attack", step, 1000)
    assert len(shown.pages) < 100


def test_elsewhere_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert not in_notebook()
    with progress_here(None) as progress:
        progress("attack", 1, 2)
    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore")  # of the kernel's own machinery
def test_a_notebook_shows_progress_the_verdict_and_plots() -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    client = NotebookClient(book, timeout=120, kernel_name="python3")
    updates: list[str] = []

    def heard(message: dict[str, Any]) -> None:
        if message["msg_type"] == "update_display_data":
            updates.append(message["content"]["data"]["text/html"])

    client.on_notebook_start = None
    original = client.process_message

    def listening(msg: dict[str, Any], *others: Any, **more: Any) -> Any:
        heard(msg)
        return original(msg, *others, **more)

    client.process_message = listening  # type: ignore[method-assign]
    client.execute()
    assert any("<progress" in page for page in updates)
    assert updates[-1] == "<div></div>"
    (result,) = [out for out in book.cells[0].outputs if out.output_type == "execute_result"]
    page = result.data["text/html"]
    assert "means:" in page
    assert "<svg" in page
    assert "<script" not in page
    assert "http" not in page
    assert "cells read back" in result.data["text/plain"]
