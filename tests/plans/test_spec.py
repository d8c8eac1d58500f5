"""Specs: names with options."""

from __future__ import annotations

import pytest

from seepage._core import InputError
from seepage.defenses import DPSGD, GaussianNoise, Quantisation, TopK, Undefended
from seepage.plans.registry import make, parts_of, written_out
from seepage.plans.spec import Spec
from tests import cases


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("none", Undefended()),
        ("gaussian_noise:0.01", GaussianNoise(deviation=0.01)),
        ("gaussian_noise : deviation = 1e-3", GaussianNoise(deviation=0.001)),
        ("dp_sgd:clip=1:noise=0.5", DPSGD(clip=1.0, noise=0.5)),
        ("dp_sgd:0.5:clip=2", DPSGD(clip=2.0, noise=0.5)),
        ("top_k:0.25", TopK(share=0.25)),
        ("quantisation:1", Quantisation(bits=1)),
    ],
)
def test_a_defence_by_its_spec(text: str, made: object) -> None:
    assert make("defence", text, "rows") == made


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("gaussian_noise", "gaussian_noise"),
        ("gaussian_noise:0.010", "gaussian_noise:deviation=0.01"),
        ("gaussian_noise:1e-3", "gaussian_noise:deviation=0.001"),
        ("dp_sgd:0.5:clip=1.0", "dp_sgd:noise=0.5:clip=1"),
    ],
)
def test_a_cell_has_one_way_of_writing(text: str, canonical: str) -> None:
    assert written_out("defence", text, "rows") == canonical
    assert written_out("defence", canonical, "rows") == canonical


def test_the_spec_goes_before_common_options() -> None:
    common = {"width": "64"}
    assert make("model", "mlp", "rows", common).width == 64
    assert make("model", "mlp:width=8:depth=3", "rows", common).width == 8
    assert make("attack", "tableak:steps=500", "rows", {"steps": "20", "restarts": "2"}).steps == 500


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("top_k:", "is empty"),
        ("top_k:share=", "is empty"),
        ("top_k:=1", "is empty"),
        ("top_k:share=1:share=2", "twice"),
        ("top_k:0.1:share=0.2", "twice"),
        ("dp_sgd:1:2", "2 values without a name"),
        ("", "Unknown defence ''"),
    ],
)
def test_a_spec_that_cannot_be_read_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make("defence", text, "rows")


def test_parts_of_an_attack_are_not_options() -> None:
    with pytest.raises(InputError, match="Unknown option of attack 'tableak' 'objective'"):
        make("attack", "tableak:objective=cosine", "rows")


def test_every_defence_is_in_the_common_table() -> None:
    assert {part.name for part in parts_of("defence", "rows") if not part.origin} <= set(cases.DEFENSES)
    assert Spec.read("none") == Spec("none", {})
