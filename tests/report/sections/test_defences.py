"""Which defences held."""

from __future__ import annotations

from seepage.report import render
from seepage.report.sections.defences import defences
from seepage.results.defended import Defended
from seepage.results.rows import Promise, RowsSummary
from tests.report.example import a_cell, a_summary, plain, records_of


def promised(defense: str, epsilon: float | None, *, exact: float = 0.0, sampling_rate: float = 1.0) -> RowsSummary:
    """Two attacks on a defence that states an epsilon, on many rows of which nobody guesses one."""
    cells = [a_cell(defense=defense, attack=name) for name in ("fast", "adaptive")]
    records = [record for cell in cells for record in records_of(cell, 100, accuracy=0.2, exact=exact)]
    promise = Promise(
        dataset="clinic", protocol="fedsgd", model="mlp", defense=defense, batch_size=8, repeat=0, client=0, rounds=1,
        epsilon=epsilon, delta=1e-5, steps=1, sampling_rate=sampling_rate,
    )  # fmt: skip
    return a_summary(records, privacy=[promise, promise.model_copy(update={"client": 1})])


def bound_of(summary: RowsSummary) -> tuple[float, bool, str]:
    view = defences(summary)
    assert view is not None
    assert view.bounded
    bound = view.every[0].bound
    assert bound is not None
    return bound.most, bound.above, plain(bound.said)


def test_epsilon_bounds_the_rows_that_any_attack_reads() -> None:
    tight, above, said = bound_of(promised("local_dp:1", 1.0))
    assert 0 < tight < 0.02  # e times a chance of 3 in 800
    assert not above
    assert said == "1 %"
    page = render(promised("local_dp:1", 1.0))
    assert "At most, by epsilon" in page
    assert "At most, by epsilon" not in render(a_summary())


def test_a_bound_for_rows_whose_batch_is_known_is_wider_where_epsilon_counts_on_sampling() -> None:
    whole, *_ = bound_of(promised("dp_sgd:noise=1", 1.0))
    tenth, *_ = bound_of(promised("dp_sgd:noise=1", 1.0, sampling_rate=0.1))
    assert tenth > 9 * whole
    client, *_ = bound_of(promised("local_dp:1", 1.0, sampling_rate=0.1))
    assert client < 2 * whole


def test_an_infinite_epsilon_bounds_nothing() -> None:
    assert bound_of(promised("dp_fedavg:noise=0", None)) == (1.0, False, "no bound")


def test_more_rows_than_epsilon_allows_is_said() -> None:
    _, above, said = bound_of(promised("local_dp:1", 1.0, exact=0.5))
    assert above
    assert "the guarantee does not hold" in said


def test_a_defence_is_judged_by_the_better_of_two_attackers() -> None:
    naive = a_cell(defense="gaussian_noise:deviation=0.01", attack="fast")
    knowing = a_cell(defense="gaussian_noise:deviation=0.01", attack="adaptive:chains=8")
    summary = a_summary([*records_of(naive, accuracy=0.5), *records_of(knowing, accuracy=0.95)])
    view = defences(summary)
    assert view is not None
    (line,) = view.every
    assert line.verdict is Defended.BROKEN
    assert line.naive is not None
    assert line.adaptive is not None
    assert line.adaptive.mean > line.naive.mean
    assert plain(line.label) == "batch 8 · gaussian_noise 0.01"
    assert "Which defences held?" in render(summary)
    assert "Held is said of" not in render(summary)


def test_what_neither_reads_is_held_and_names_its_adversary() -> None:
    cells = [a_cell(defense="dp_sgd:noise=9", attack=name) for name in ("fast", "adaptive")]
    summary = a_summary([record for cell in cells for record in records_of(cell, accuracy=0.2, exact=0.0)])
    view = defences(summary)
    assert view is not None
    assert view.every[0].verdict is Defended.HELD
    assert "An honest-but-curious server" in view.adversary
    assert "Held is said of" in render(summary)


def test_a_failed_attack_shows_nothing() -> None:
    fast, knowing = (a_cell(defense="top_k:0.1", attack=name) for name in ("fast", "adaptive"))
    weak = records_of(fast, accuracy=0.2, exact=0.0)
    failed = defences(a_summary([*weak, *records_of(knowing, outcome="failed")]))
    assert failed is not None
    assert failed.every[0].said == "not tested: the adaptive attack failed"
    absent = defences(a_summary(weak))
    assert absent is not None
    assert absent.every[0].said == "not tested: adaptive was not run"


def test_no_defence_no_section() -> None:
    assert defences(a_summary()) is None
    assert "Which defences held?" not in render(a_summary())
