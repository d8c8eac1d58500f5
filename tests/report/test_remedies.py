"""Settings of Flower and NVFlare that a report names: the lines can be pasted into the packages as they are."""

from __future__ import annotations

import ast
import importlib.util
import math
import re
from dataclasses import replace
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from flwr.clientapp.mod import LocalDpMod
from flwr.serverapp.strategy import DifferentialPrivacyClientSideFixedClipping, FedAvg
from nvflare.app_common.filters.exclude_vars import ExcludeVars
from nvflare.recipe.spec import Recipe

from seepage.report import flower_remedies as flower_module
from seepage.report import nvflare_remedies as nvflare_module
from seepage.report import remedies as remedies_module
from seepage.report.flower_remedies import DELTA, EPSILON, flower_remedies, local_deviation
from seepage.report.measured_settings import MeasuredSetting, MeasuredSettings, measured_settings
from seepage.report.nvflare_remedies import nvflare_remedies
from seepage.report.page import render
from seepage.report.remedies import UNAWARE, UNMEASURED, Remedy, Sent
from seepage.report.sections import settings_to_change as section_module
from seepage.report.sections.next_steps import next_steps
from seepage.report.sections.settings_to_change import TRIED, settings_to_change
from seepage.results import Interval
from seepage.results.updates import Framework
from tests.report.example import an_update, an_updates_summary

SENT = Sent(
    clients=3, rows=512, batch=64, epochs=2, gradient=False, length=0.5, weights=10_000, first_layer="net.0", read="-"
)


def named(remedies: tuple[Remedy, ...], word: str) -> Remedy:
    return next(each for each in remedies if word in each.name)


def test_the_lines_for_flower_can_be_pasted() -> None:
    found = flower_remedies(SENT)
    local: dict[str, object] = {}
    exec(named(found, "LocalDpMod").code, local)
    (mod,) = local["app"]._mods  # type: ignore[attr-defined]
    assert isinstance(mod, LocalDpMod)
    assert (mod.clipping_norm, mod.sensitivity, mod.epsilon) == (0.5, 1.0, 1.0)
    central: dict[str, object] = {"strategy": FedAvg()}
    exec(named(found, "FixedClipping").code, central)
    assert isinstance(central["strategy"], DifferentialPrivacyClientSideFixedClipping)
    assert central["strategy"].num_sampled_clients == 3
    exec(named(found, "SecAgg+").code, {})
    assert 'batch-size=256 local-epochs=4"' in found[0].code


def test_the_noise_is_what_flower_adds() -> None:
    source = Path(importlib.util.find_spec("flwr.clientapp.mod.localdp_mod").origin or "")  # type: ignore[union-attr]
    assert "self.sensitivity * np.sqrt(2 * np.log(1.25 / self.delta)) / self.epsilon" in source.read_text()
    assert local_deviation(0.5) == pytest.approx(math.sqrt(2 * math.log(1.25 / 1e-5)))


def test_the_lines_for_nvflare_can_be_pasted() -> None:
    found = nvflare_remedies(SENT)
    for word in ("SVTPrivacy", "PercentilePrivacy", "ExcludeVars"):
        recipe = create_autospec(Recipe, instance=True)
        exec(named(found, word).code, {"recipe": recipe})
        given = recipe.add_client_output_filter.call_args
        assert type(given.args[0]).__name__ == word
        if isinstance(given.args[0], ExcludeVars):
            found_by = given.args[0].exclude_vars.search
            assert found_by("net.0.bias")
            assert not found_by("net.01.bias")


def test_the_encrypted_recipe_takes_what_is_named() -> None:
    # It needs tenseal, which is in no environment of ours: its source is looked at.
    code = ast.parse(named(nvflare_remedies(SENT), "FedAvgRecipeWithHE").code)
    call = next(node for node in ast.walk(code) if isinstance(node, ast.Call))
    spec = importlib.util.find_spec("nvflare.app_opt.pt.recipes")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = ast.parse((Path(spec.submodule_search_locations[0]) / "fedavg_he.py").read_text())
    recipe = next(n for n in source.body if isinstance(n, ast.ClassDef) and n.name == "FedAvgRecipeWithHE")
    made = next(n for n in recipe.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    assert {word.arg for word in call.keywords} <= {each.arg for each in made.args.kwonlyargs}


@pytest.mark.parametrize("name", ["flower", "nvflare"])
def test_the_section_names_settings_and_says_what_was_not_measured(name: str) -> None:
    update = an_update(norm=0.25, weights=100, first_tensor="net.0.weight")
    summary = an_updates_summary(framework=Framework(name=name, version="0.1"), updates=(update,))
    view = settings_to_change(summary)
    assert view is not None
    assert all(each.measured.startswith(("Not measured on this federation.", UNMEASURED)) for each in view.remedies[1:])
    assert "added up: 4 of 8\u00a0rows certified at batches of 8" in view.remedies[0].measured
    assert UNAWARE in view.elsewhere
    page = render(summary)
    assert "Which setting to change" in page
    assert "None of them is safe by itself" in page
    assert "look names up in yours" in page
    assert any("Which setting to change" in step.sentence for step in next_steps(summary).steps)


def test_without_a_known_framework_nothing_is_named() -> None:
    assert settings_to_change(an_updates_summary()) is None
    assert settings_to_change(an_updates_summary(framework=Framework(name="other"))) is None
    assert settings_to_change(an_updates_summary(framework=Framework(name="flower"), updates=())) is None


def test_what_cannot_be_worked_out_is_left_out() -> None:
    bare = replace(SENT, length=None, first_layer="", gradient=True, batch=None)
    assert [each.name.split(":")[0] for each in flower_remedies(bare)] == ["More rows behind an update", "SecAgg+"]
    assert len(nvflare_remedies(bare)) == 2
    assert "batch-size=2048" in flower_remedies(bare)[0].code


def test_clipping_and_secure_sums_give_no_comfort() -> None:
    every = (*flower_remedies(SENT), *nvflare_remedies(SENT))
    assert "Everything that this audit read" in named(every, "FixedClipping").remains
    assert "3\u00a0clients of up to 512\u00a0rows each add up" in named(every, "SecAgg+").remains
    assert all(each.remains and each.stops and each.measured for each in every)
    assert not any(word in each.stops.lower() for each in every for word in ("safe", "secure", "guarantee"))


def test_what_was_measured_is_a_stored_run_with_seeds_versions_and_intervals() -> None:
    stored = measured_settings()
    assert len(set(stored.seeds)) >= 3
    assert {name: stored.versions[package] for name, package in (("flower", "flwr"), ("nvflare", "nvflare"))} == {
        name: tried for name, (_, tried) in TRIED.items()
    }
    assert (stored.epsilon, stored.delta) == (EPSILON, DELTA)
    for each in stored.settings:
        assert each.updates == len(stored.seeds) * (1 if each.key == "sum" else stored.hospitals)
        assert each.cells is None or each.cells.low is not None
    assert stored.of("as it is").certified == stored.of("as it is").rows


def _other(stored: MeasuredSettings) -> MeasuredSettings:
    """A run of which every number is another one."""

    def share(place: int) -> Interval:
        return Interval(0.0101 * place, 0.0101 * place - 0.01, 0.0101 * place + 0.01)

    settings = tuple(
        MeasuredSetting(
            key=each.key, name=each.name, updates=7, rows=7 * (901 + place), certified=801 + place,
            near=None if each.near is None else 701 + place, cells=each.cells and share(20 + place),
            guess=each.guess and 0.5 + place / 100, presence=each.presence and share(80 + place),
        )
        for place, each in enumerate(stored.settings)
    )  # fmt: skip
    changes = {"hospitals": 11, "rows": 601, "seeds": (1,) * 13, "epsilon": 17.0, "loose_epsilon": 501.0}
    return stored.model_copy(update={"settings": settings, **changes})


def test_every_measured_number_of_a_sentence_comes_from_the_stored_run(monkeypatch: pytest.MonkeyPatch) -> None:
    other = _other(measured_settings())
    for module in (flower_module, nvflare_module, remedies_module, section_module):
        monkeypatch.setattr(module, "measured_settings", lambda: other)
    shares = [each.cells for each in other.settings] + [each.presence for each in other.settings]
    ends = [f"{100 * end:.0f}" for share in shares if share for end in (share.mean, share.low or 0, share.high or 0)]
    known = {str(number) for number in (11, 601, 13, 17, 501, *range(901, 910))} | set(ends)
    for each in other.settings:
        known |= {str(number) for number in (each.rows, each.certified, each.near)}
        known.add(f"{100 * (each.guess or 0):.0f}")
    summary = an_updates_summary(cells=())
    read = Sent.of(summary).read
    said = [each.measured for each in (*flower_remedies(SENT), *nvflare_remedies(SENT))]
    for sentence in (read, section_module._elsewhere(), *said):
        numbers = {number.replace(",", "") for number in re.findall(r"\d[\d,]*", sentence)}
        assert numbers <= known, (numbers - known, sentence)
    assert sum(bool(re.search(r"\d", sentence)) for sentence in said) >= 5
