"""Messages as the parties received them, and defended ones."""

from __future__ import annotations

import numpy as np
import torch

from seepage.data import clinic
from seepage.defenses import Defense, GradientClipping, IntermediateNoise, LabelSmoothing
from seepage.federation.vertical import Kind, Phase, TabVFLClassifier, Traffic
from seepage.federation.vertical.recording import Recorder
from seepage.observation import parties

FRAME = clinic(160)
TABLES = {"bank": FRAME[:, :6], "shop": FRAME[:, 6:14]}
LABELS = FRAME["died"].to_numpy()


def recorded(
    defense: Defense | None = None, *, epochs: int = 2, finetuning: int = 3
) -> tuple[TabVFLClassifier, Recorder]:
    recorder = Recorder(epochs=epochs)
    model = TabVFLClassifier(latent=2, pretraining=1, finetuning=finetuning, batch_size=64, patience=0, seed=1)
    rows = np.arange(len(LABELS))
    model.defended(defense).fit(
        TABLES, LABELS, train_rows=rows[:120], validation_rows=rows[120:140], traffic=Traffic(listener=recorder),
    )  # fmt: skip
    recorder.trained()
    model.predict(TABLES)
    return model, recorder


MODEL, RECORDER = recorded()


def test_kinds_and_phases_are_named_as_messages_name_them() -> None:
    assert {parties.INTERMEDIATE, parties.GRADIENT} <= {kind.value for kind in Kind}
    assert {parties.PRETRAINING, parties.FINETUNING} == {phase.value for phase in Phase}


def test_a_party_holds_what_it_was_sent_and_nothing_else() -> None:
    host, guest = RECORDER.received("host", "shop"), RECORDER.received("shop", "host")
    assert {each.kind for each in host} == {"intermediate results", "masks", "gradients"}  # of decoder chunks
    assert {each.kind for each in guest} == {"gradients", "decoder chunks"}
    assert not RECORDER.received("shop", "bank")
    assert all(len(each.rows) == len(each.values) for each in host + guest)


def test_after_training_the_messages_are_what_the_guest_computes() -> None:
    z = parties.averaged(RECORDER.received("host", "shop"), len(LABELS))
    guest = MODEL.federation_.guests[1]
    bottom = guest.learning.modules["bottom"].eval()
    with torch.no_grad():
        true = bottom(MODEL.columns_[1].encode(TABLES["shop"]), None, Phase.FINETUNING)[0]
    assert np.allclose(z, true.numpy(), atol=1e-5)


def test_gradients_belong_to_the_rows_of_their_batch_and_old_epochs_are_dropped() -> None:
    seen = RECORDER.received("shop", "host")
    tuned = {each.epoch for each in seen if each.phase == parties.FINETUNING and each.training}
    assert tuned == {1, 2}
    values, told = parties.gradients_by_epoch(seen, len(LABELS), 5)
    assert np.array_equal(np.flatnonzero(told), np.arange(120))
    assert (np.abs(values[:, :120]).sum(2) > 0).mean() > 0.9


def test_a_guest_adds_noise_before_anything_leaves() -> None:
    model, recorder = recorded(IntermediateNoise(deviation=100.0), finetuning=1)
    seen = [each for each in recorder.received("host", "shop") if each.kind == parties.INTERMEDIATE]
    assert {each.phase for each in seen} == {"pretraining", "fine-tuning", "after training"}
    assert min(float(each.values.std()) for each in seen) > 50
    assert model.history_.of(Phase.FINETUNING)


def test_a_host_clips_gradients_of_labels_only() -> None:
    _, recorder = recorded(GradientClipping(norm=1e-3), finetuning=1)
    seen = [each for each in recorder.received("shop", "host") if each.kind == parties.GRADIENT]
    longest = {
        phase: max(np.linalg.norm(each.values * len(each.rows), axis=1).max() for each in seen if each.phase == phase)
        for phase in ("pretraining", "fine-tuning")
    }
    assert longest["fine-tuning"] < 1.01e-3 < longest["pretraining"]


def test_smoothed_labels_keep_a_model_from_being_sure() -> None:
    sure, spread = (
        recorded(each, finetuning=12)[0].predict_proba(TABLES).max(1).mean()
        for each in (None, LabelSmoothing(share=0.6))
    )
    assert spread < sure - 0.05
