"""`seepage defenses` as a user types it."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from seepage.cli.defenses import app
from seepage.plans.registry import DEFENSES


def test_list_shows_every_defence_with_its_options_and_paper() -> None:
    result = CliRunner().invoke(app, ["list"], catch_exceptions=False)
    assert result.exit_code == 0
    for name, entry in DEFENSES.items():
        assert name in result.output
        assert entry.about in result.output
        assert entry.paper in result.output
    assert "options: clip=1 noise=1 delta=1e-05" in result.output


def test_list_as_json() -> None:
    facts = json.loads(CliRunner().invoke(app, ["list", "--json"], catch_exceptions=False).output)
    names = [fact["name"] for fact in facts]
    assert names[: len(DEFENSES)] == list(DEFENSES)
    assert {"epochs", "weight_noise", "balanced"} <= set(names)  # an owner of a model has these
    assert facts[1]["options"] == {"deviation": 0.01}
