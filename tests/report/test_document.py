"""What a summary says of a plan, before anything is run."""

from __future__ import annotations

from seepage.runs.document import _not_run, threat_model
from seepage.runs.plan import make_plan
from seepage.studies.rows.settings import Settings


def test_what_only_some_settings_know_is_said_so() -> None:
    told = threat_model([Settings(), Settings(labels_known=False, protocol="fedavg")])
    labels = "In some settings: the labels of the attacked rows."
    assert labels in told["knows"]
    assert labels in told["does_not_know"]
    assert told["does_not_know"][0] == "The rows."
    assert told["sees"][0] == "The global model of every round."
    assert [sentence[:22] for sentence in told["sees"][1:]] == ["In some settings: each"] * 2


def test_one_setting_is_told_plainly() -> None:
    told = threat_model([Settings()])
    assert "The labels of the attacked rows." in told["knows"]
    assert not any("some settings" in sentence for part in told.values() for sentence in part)


def test_a_training_that_broke_down_is_told_apart_from_one_that_cannot_be() -> None:
    (task,) = make_plan({"data": None, "batch_sizes": [8]}).tasks
    assert _not_run(task, {"reason": "Too few rows."}).endswith(", batch 8. Too few rows.")
    assert _not_run(task, {"error": "KeyError: 'x'"}).endswith("An internal error stopped it: KeyError: 'x'")
    assert _not_run(task, {"reason": "Too few rows."}, "clinic").startswith("Not run: clinic, ")
