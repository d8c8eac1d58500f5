"""`seepage attacks` as a user types it."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from seepage.cli.attacks import app
from seepage.plans.registry import ATTACKS


def test_list_shows_every_attack_with_its_needs_and_paper() -> None:
    result = CliRunner().invoke(app, ["list"], catch_exceptions=False)
    assert result.exit_code == 0
    for name, entry in ATTACKS.items():
        assert name in result.output
        assert entry.paper in result.output
        assert entry.needs


def test_list_as_json() -> None:
    facts = json.loads(CliRunner().invoke(app, ["list", "--json"], catch_exceptions=False).output)
    assert [fact["name"] for fact in facts] == list(ATTACKS)
    assert set(facts[0]) == {"name", "about", "needs", "paper", "options"}
