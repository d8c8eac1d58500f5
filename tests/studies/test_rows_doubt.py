from __future__ import annotations

from pathlib import Path

from tests.runs.test_api import audited


def test_the_attackers_doubt_goes_from_its_restarts_to_the_summary(tmp_path: Path) -> None:
    summary = audited(attacks=("tableak",), attack_options={"steps": "3", "restarts": "3"}, out=tmp_path / "run")
    for cell in summary.cells:
        for kind in ("categorical", "numeric"):  # two columns of each kind, and every cell is in one bucket
            assert sum(bucket.cells for bucket in cell.doubt if bucket.kind == kind) == 2 * cell.rows
        assert {"doubt_cat", "doubt_num"} <= set(cell.metrics)
    assert "What the attacker can trust without the truth" in (tmp_path / "run" / "report.html").read_text()
    assert all(
        cell.doubt == () for cell in audited(attacks=("gradient_matching",)).cells
    )  # one restart without probabilities cannot tell
