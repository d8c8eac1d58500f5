"""Many federations trained at once are what each is alone, whoever is absent, wherever each stops, after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from seepage._core import InputError, Streams
from seepage.data import clinic
from seepage.federation.vertical import (
    DESIGNS,
    AlignedRows,
    Checkpoint,
    Failures,
    Federation,
    TabVFLClassifier,
    Training,
    fit_together,
    make_design,
)
from seepage.federation.vertical.objective import CrossEntropy
from seepage.federation.vertical.together import train_together
from seepage.models.tabnet_split import TabNetParts

WIDTHS = [5, 4, 3]
SPLIT = np.arange(97), np.arange(97, 130)
FAILURES = [
    Failures(),
    Failures(probability=0.5, method="cache"),
    Failures(probability=0.5, method="zeros"),
    Failures(probability=0.9, method="hybrid"),
]
SHORT = Training(pretraining=1, finetuning=1, batch_size=32, patience=0)


@pytest.fixture(autouse=True)
def in_doubles() -> Iterator[None]:
    """Epochs enlarge what rounding leaves; in doubles, after two of them, it is still small."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def federation(run: int, design: str = "tabvfl", training: Training = SHORT, **changes: object) -> Federation:
    """Four runs of each repeat have rows and seeds in common, and differ in who is absent."""
    widths = [sum(WIDTHS)] if design == "central" else WIDTHS
    x = torch.randn(130, sum(WIDTHS), generator=torch.Generator().manual_seed(run // 4))
    rows = AlignedRows(
        [f"guest{place}" for place in range(len(widths))],
        [part.contiguous() for part in torch.split(x, widths, 1)],
        (x[:, 0] + x[:, -1] > 0).long(),
        2,
    )
    return Federation(
        replace(rows, **changes) if changes else rows,  # type: ignore[arg-type]
        design=make_design(design),
        parts=TabNetParts(latent=4, attention=4, virtual_batch=16),
        training=training,
        streams=Streams(run // 4),
        failures=FAILURES[run % 4],
    )


def weights(made: Federation) -> dict[str, torch.Tensor]:
    parties = {"host": made.host.learning} | {guest.name: guest.learning for guest in made.guests}
    return {
        f"{name}.{key}": value.clone()
        for name, learning in parties.items()
        for key, value in learning.modules.state_dict().items()
    }


def assert_same(one: Federation, other: Federation, tolerance: float) -> None:
    pairs = list(zip(one.history.epochs, other.history.epochs, strict=True))
    assert pairs
    for left, right in pairs:
        assert (left.phase, left.number, left.absent) == (right.phase, right.number, right.absent)
        assert left.loss == pytest.approx(right.loss, rel=tolerance, abs=tolerance)
        assert left.validation == pytest.approx(right.validation, rel=tolerance, abs=tolerance)
    found, expected = weights(one), weights(other)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=tolerance, atol=tolerance, msg=name)


@pytest.mark.parametrize("design", DESIGNS)
def test_a_run_is_what_it_is_alone(design: str) -> None:
    together = [federation(run, design) for run in range(5)]  # four with one repeat's rows, one with another's
    before = weights(together[0])
    train_together(together, [SPLIT] * 5)
    assert any(not torch.equal(before[name], value) for name, value in weights(together[0]).items())
    for run, made in enumerate(together):
        alone = federation(run, design)
        alone.fit(*SPLIT)
        assert_same(made, alone, 1e-6)


@pytest.mark.parametrize("design", ["tabvfl", "local", "local_encoders"])
def test_every_run_stops_where_it_would_alone(design: str) -> None:
    patient = replace(SHORT, pretraining=3, finetuning=4, patience=1, rate=0.002)  # small steps: little is enlarged
    together = [federation(run, design, patient) for run in range(8)]
    train_together(together, [SPLIT] * 8)
    lengths = set()
    for run, made in enumerate(together):
        alone = federation(run, design, patient)
        alone.fit(*SPLIT)
        assert_same(made, alone, 1e-4)
        lengths.add(len(alone.history.epochs))
    assert len(lengths) > 1  # else nothing was tested


class Killed(Exception):
    pass


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_kill_changes_no_number(tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seepage.federation.vertical.together.BETWEEN", -1.0)  # a state after every epoch
    training = replace(SHORT, pretraining=2, finetuning=2, patience=1)
    whole = [federation(run, training=training) for run in range(4)]
    train_together(whole, [SPLIT] * 4)
    checkpoint = Checkpoint(folder=tmp_path, fingerprint="x")
    calls = 0

    def killed(*told: object) -> None:
        nonlocal calls
        calls += 1
        if calls == stop:
            raise Killed

    with pytest.raises(Killed):
        train_together(
            [federation(run, training=training) for run in range(4)],
            [SPLIT] * 4,
            checkpoint=checkpoint,
            progress=killed,
        )
    resumed = [federation(run, training=training) for run in range(4)]
    train_together(resumed, [SPLIT] * 4, checkpoint=checkpoint)
    for one, other in zip(resumed, whole, strict=True):
        assert_same(one, other, 0.0)


def test_what_cannot_be_trained_together_is_refused() -> None:
    with pytest.raises(InputError, match="2 shapes"):
        train_together([federation(0), federation(0, "local")], [SPLIT] * 2)
    with pytest.raises(InputError, match="2 shapes"):
        train_together([federation(0), federation(1)], [SPLIT, (np.arange(90), np.arange(97, 130))])
    weighted = federation(0, objective=CrossEntropy(weights=torch.ones(130)))
    with pytest.raises(InputError, match="one by one"):
        train_together([weighted], [SPLIT])
    trained = federation(0)
    trained.fit(*SPLIT)
    with pytest.raises(InputError, match="trained before"):
        train_together([trained], [SPLIT])


def test_classifiers_of_different_shapes_are_grouped() -> None:
    torch.set_default_dtype(torch.float32)  # what their tables are encoded in
    frame = clinic(200)
    given, models = [], []
    for columns in (frame.columns[:4], frame.columns[:6]):
        for seed in range(2):
            models.append(
                TabVFLClassifier(parties=2, latent=2, pretraining=1, finetuning=1, batch_size=64, rate=1e-3, seed=seed)
            )
            given.append((frame.select(columns), frame["died"], np.arange(150), np.arange(150, 200)))
    fit_together(models, given)
    for model, (tables, labels, train, validation) in zip(models, given, strict=True):
        alone = TabVFLClassifier(**model.get_params())
        alone.fit(tables, labels, train_rows=train, validation_rows=validation)
        np.testing.assert_allclose(model.predict_proba(tables), alone.predict_proba(tables), atol=2e-3)
        assert len(model.history_.epochs) == 2
