"""What differential privacy promises."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.promises import promises
from seepage.results.rows import Promise
from tests.report.example import a_summary, plain

PROMISE = Promise(
    dataset="clinic", protocol="fedsgd", model="mlp", defense="dp_sgd:noise=1", batch_size=8, repeat=0, client=0,
    rounds=30, epsilon=2.345, delta=1e-05, steps=30, sampling_rate=0.1,
)  # fmt: skip


def test_promises_are_one_line_for_all_clients() -> None:
    others = ({"client": 1, "epsilon": 3.0}, {"batch_size": 1, "epsilon": None})
    summary = a_summary(privacy=[PROMISE, *(PROMISE.model_copy(update=changes) for changes in others)])
    view = promises(summary)
    assert view is not None
    first, second = view.every
    assert (plain(first.label), first.epsilon, first.clients) == ("batch 8 · dp_sgd 1", "2.35–3", 2)
    assert second.epsilon == "infinite: nothing is promised"
    assert "What differential privacy promises" in render(summary)


def test_no_promise_no_heading() -> None:
    assert promises(a_summary()) is None
    assert "What differential privacy promises" not in render(a_summary())
