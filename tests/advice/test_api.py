"""`seepage.advise` as a program calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

import seepage
from seepage.advice import Advice, Limits
from tests.cli.test_advise import frame


def test_a_frame_in_an_answer_out(tmp_path: Path) -> None:
    advice = seepage.advise(
        frame().drop("coin", "cost"),
        "ill",
        limits=Limits(max_loss=0.2),
        keep={"batch-size": 2, "local-epochs": 0, "defense": "none"},
        clients=3,
        exposure=1.0,
        out=tmp_path / "advice",
    )
    assert isinstance(advice, Advice)
    assert advice.found.recommended is None  # everything is read without a defence
    assert "No tested setting meets these limits." in str(advice)
    assert "data =" not in advice.plan  # a frame has no name that a plan could give
    page = (tmp_path / "advice" / "report.html").read_text()
    assert 'class="frontier"' in page
    assert (tmp_path / "advice" / "advice.txt").read_text() == str(advice)


def test_what_cannot_be_is_told() -> None:
    with pytest.raises(seepage.InputError, match="is not a time"):
        seepage.advise("clinic", budget="soon")
    with pytest.raises(seepage.InputError, match="seconds above 0"):
        seepage.advise("clinic", budget=0.0)
    with pytest.raises(seepage.InputError, match="batch-size"):
        seepage.advise("clinic", keep={"batchsize": 8})
