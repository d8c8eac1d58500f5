"""`seepage attacks list` and its siblings: everything that can be named, with what it works on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from seepage._core import InputError
from seepage.cli.main import app
from seepage.plans.registry import KINDS, parts_of
from seepage.studies import SETTINGS

COMMANDS = {
    "attack": "attacks", "defence": "defenses", "model": "models", "optimiser": "optimisers", "server": "servers",
    "reader": "readers", "loss": "losses", "design": "designs",
}  # fmt: skip


def shown(kind: str, *words: str) -> str:
    result = CliRunner().invoke(app, [COMMANDS[kind], "list", *words], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def listed(kind: str, *words: str) -> list[dict[str, Any]]:
    facts: list[dict[str, Any]] = json.loads(shown(kind, "--json", *words))
    return facts


@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_listed_with_what_it_works_on_and_where_it_comes_from(kind: str) -> None:
    text, facts = shown(kind), listed(kind)
    assert [fact["name"] for fact in facts] == [part.name for part in parts_of(kind)]
    for part in parts_of(kind):
        assert part.name in text
        assert part.about in text
        assert part.paper in text
        assert part.about.endswith(".")
        assert set(part.works_on) <= set(SETTINGS)
    assert set(facts[0]) == {"name", "about", "works_on", "needs", "paper", "origin", "options"}


def test_vertical_attacks_and_the_defences_of_all_studies_are_among_them() -> None:
    """FINDINGS: both lists left out every vertical attack and defence."""
    attacks = {fact["name"] for fact in listed("attack")}
    assert {"cafe", "cafe_closed_form", "cafe_nested", "exact", "tableak"} <= attacks
    named = {fact["name"] for fact in listed("defence")}
    assert {"fake_gradients", "hidden_ids", "remapped_ids", "epochs", "weight_noise", "balanced", "dp_sgd"} <= named
    balanced = next(fact for fact in listed("defence") if fact["name"] == "balanced")
    assert balanced["options"] == {"share": 0.5, "keep": 0.2}
    assert balanced["works_on"] == ["property"]


def test_the_parts_of_one_study() -> None:
    assert {"rows"} >= {study for fact in listed("attack", "--study", "rows") for study in fact["works_on"]}
    assert "options: clip=1 noise=1 delta=1e-05" in shown("defence", "--study", "property")
    with pytest.raises(InputError, match="Did you mean 'vertical'"):
        shown("attack", "--study", "vertica")
