"""A cheating server reads rows: what each attack reads, what it proves, and where it does not apply."""

from __future__ import annotations

import numpy as np
import pytest

from seepage._core import InputError, NotApplicable
from seepage.attacks.malicious import Bins, Codes, Cuts, Disguised, Module, ServerAttack
from seepage.models import MLP, Architecture, FTTransformer, ResNet
from tests.attacks.malicious.scenes import played

SHALLOW = MLP(width=160, depth=1, activation="relu", norm="none")
DEEP = MLP(width=160, depth=3, activation="relu", norm="none")


@pytest.mark.parametrize(
    ("attack", "net", "least"),
    [
        (Bins(), None, 0.5),
        (Bins(), SHALLOW, 0.5),
        (Codes(), None, 0.99),
        (Codes(), DEEP, 0.99),
        (Codes(), SHALLOW, 0.8),
        (Cuts(), None, 0.99),
        (Module(bins=4), ResNet(), 0.95),
        (Disguised(share=0.5), SHALLOW, 0.3),
    ],
)
def test_rows_are_read_in_one_round(attack: ServerAttack, net: Architecture | None, least: float) -> None:
    found = played(attack, 40, net=net)
    assert found.read.sum() / 40 >= least
    assert found.false_proofs == 0


def test_a_row_alone_in_its_bin_is_proven_with_its_label() -> None:
    found = played(Codes(), 12)
    assert found.read.all()
    assert found.claim.certified is not None
    assert found.claim.certified.all()
    assert found.claim.labels is not None
    assert sorted(found.claim.labels) == sorted(found.labels)


def test_several_rounds_read_what_one_does_not() -> None:
    narrow = MLP(width=80, activation="relu", norm="none")
    once, often = (played(Cuts(), 130, net=narrow, rounds=rounds) for rounds in (1, 4))
    assert often.read.sum() > 1.2 * once.read.sum()
    assert often.false_proofs == once.false_proofs == 0


def test_equal_rows_are_told_how_many_they_are() -> None:
    found = played(Module(bins=20), 1)
    assert found.claim.rows is not None
    assert found.claim.determined is not None
    assert found.claim.determined.sum() == 1
    assert np.abs(found.claim.rows - found.rows).max() < 1e-3


@pytest.mark.parametrize("classes", [0, 4])
def test_other_targets_are_read_too(classes: int) -> None:
    found = played(Codes(), 30, classes=classes)
    assert found.read.sum() >= 24
    assert found.false_proofs == 0


@pytest.mark.parametrize("attack", [Codes(), Module()])
def test_local_steps_do_not_hide_rows(attack: ServerAttack) -> None:
    found = played(attack, 24, steps=4)
    assert found.read.sum() >= 16
    assert found.false_proofs == 0


@pytest.mark.parametrize("net", [MLP(), MLP(width=160, activation="gelu", norm="none"), FTTransformer()])
def test_a_model_that_does_not_fit_is_one_sentence(net: Architecture) -> None:
    with pytest.raises(NotApplicable, match="attack module needs no such layers"):
        played(Codes(), 8, net=net)


def test_mistakes_are_one_sentence() -> None:
    with pytest.raises(InputError, match="0 chains"):
        Codes(chains=0)
    with pytest.raises(InputError, match="bins a row"):
        Module(bins=0)
    with pytest.raises(InputError, match="share"):
        Disguised(share=2)
    with pytest.raises(NotApplicable, match="bins need"):
        played(Bins(), 8, net=MLP(width=3, activation="relu", norm="none"))


def fuzzed(seed: int) -> tuple[int, int]:
    """Proven rows of one random case, and how many of them are none."""
    generator = np.random.default_rng(seed)
    net = MLP(
        width=int(generator.integers(20, 220)), depth=int(generator.integers(1, 4)), activation="relu", norm="none"
    )
    attack = [Bins(), Codes(), Cuts(), Module(bins=1.0), Disguised(share=0.5)][int(generator.integers(5))]
    count, steps = int(generator.integers(2, 120)), int(generator.choice([0, 0, 2]))
    classes, rounds = int(generator.choice([2, 2, 3, 0])), int(generator.integers(1, 4))
    try:
        found = played(attack, count, net=net, rounds=rounds, classes=classes, steps=steps, seed=seed)
    except NotApplicable:
        return 0, 0
    assert found.claim.certified is not None
    return int(found.claim.certified.sum()), found.false_proofs


def test_certificates_are_true_for_malicious_weights() -> None:
    proofs = np.array([fuzzed(seed) for seed in range(12)])
    assert proofs[:, 0].sum() > 50
    assert proofs[:, 1].sum() == 0


@pytest.mark.slow
def test_none_of_ten_thousand_certificates_is_false() -> None:
    proofs = np.array([fuzzed(seed) for seed in range(1000, 2200)])
    assert proofs[:, 0].sum() > 10_000
    assert proofs[:, 1].sum() == 0
