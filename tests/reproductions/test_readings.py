"""Tables that are not cells one by one: factors, differences, costs, curves, losses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage.reproductions import Comparison, Workload, find_paper
from seepage.reproductions.plan_result import PlanResult
from seepage.reproductions.readings import READINGS
from seepage.reproductions.readings.doubt import one_more
from seepage.results import Interval, bootstrap
from seepage.results.rows import RowsSummary
from seepage.results.training import TrainingResult, TrainingSummary, Value
from seepage.results.vertical import VerticalResult, VerticalSummary
from tests.reproductions.imagined import imagined

MATCHING = "GIA (cosine gradient matching)"


def result_of(paper: str, number: str, scale: float = 1.0) -> PlanResult:
    whose = find_paper(paper)
    return next(imagined(whose, whose.table(number), Workload(scale=scale)))


def read(result: PlanResult) -> list[Comparison]:
    return list(READINGS[result.table.reading](result))


def grid(number: str) -> PlanResult:
    """72 nets of which wide ones and those with GELU leak more, and those with LayerNorm are worth more."""
    result = result_of("profiling", number)
    assert isinstance(result.summary, RowsSummary)
    cells = []
    for cell in result.summary.cells:
        leak = 0.1 + 0.2 * ("width=64" in cell.model) + 0.4 * ("gelu" in cell.model)
        cells.append(cell.model_copy(update={"metrics": {"accuracy": Interval(leak, None, None)}}))
    utility = [
        entry.model_copy(update={"validation": {"roc_auc": 0.8 + 0.1 * ("layer" in entry.model)}})
        for entry in result.summary.utility
    ]
    summary = result.summary.model_copy(update={"cells": tuple(cells), "utility": tuple(utility)})
    return replace(result, summary=summary)


def studied(number: str) -> list[Comparison]:
    """What a table of nets says of the study's own attack."""
    return [cell for cell in read(grid(number)) if cell.place["attack"] == MATCHING]


def test_factors_are_means_over_all_other_parts() -> None:
    cells = {(cell.metric, *cell.place.values()): cell for cell in studied("29") if cell.place["batch"] == "8"}
    adult, matching = "Adult", MATCHING
    narrow, wide = cells["accuracy", adult, "8", matching, "32"], cells["accuracy", adult, "8", matching, "64"]
    assert (narrow.ours, wide.ours) == (pytest.approx(0.3), pytest.approx(0.5))
    assert narrow.trials == 24
    modules = {(cell.metric, *cell.place.values()): cell for cell in studied("32")}
    assert modules["accuracy", adult, "8", matching, "GELU"].ours == pytest.approx(0.1 + 0.2 / 3 + 0.4)
    assert modules["utility", adult, "8", matching, "LayerNorm"].ours == pytest.approx(0.9)


def test_modules_are_ranked_from_the_least_leakage() -> None:
    cells = [cell for cell in studied("35") if cell.metric == "accuracy" and cell.place["batch"] == "8"]
    assert [cell.place["rank"] for cell in cells] == [str(rank) for rank in range(1, 9)]
    assert [cell.place["activation"] for cell in cells] == ["ReLU"] * 4 + ["GELU"] * 4


def test_the_most_useful_nets_have_their_rank() -> None:
    cells = [cell for cell in read(grid("44")) if cell.published is None]
    assert len(cells) <= 5
    assert all(cell.place["rank"].endswith("of 72") for cell in cells)
    best = read(grid("44"))
    assert [cell.ours for cell in best] == sorted((cell.ours for cell in best), key=lambda ours: -(ours or 0))


def trained(result: PlanResult, values: dict[tuple[str, float], float]) -> PlanResult:
    """The same with these F1 by method and probability."""
    assert isinstance(result.summary, TrainingSummary)
    cells = tuple(
        cell.model_copy(
            update={
                "values": (
                    Value(
                        scope="quality/published/mean",
                        metric="f1",
                        runs=1,
                        mean=values[cell.failure_method, cell.failure_probability],
                    ),
                )
            }
        )
        for cell in result.summary.cells
    )
    return replace(result, summary=result.summary.model_copy(update={"cells": cells}))


def test_absent_guests_are_compared() -> None:
    f1 = {("none", 0.0): 0.9, ("cache", 0.2): 0.89, ("cache", 0.35): 0.88, ("cache", 0.5): 0.87}
    f1 |= {("zeros", 0.2): 0.88, ("zeros", 0.35): 0.85, ("zeros", 0.5): 0.8}
    cells = read(trained(result_of("tabvfl", "III", 0.01), f1))
    bank = cells[:4]
    assert [cell.published for cell in bank] == [1.51, 2.04, -2.71, -0.65]
    assert [cell.ours for cell in bank] == pytest.approx(
        [100 * (0.01 / 0.89 + 0.03 / 0.88 + 0.07 / 0.87) / 3, 7 / 0.87, -10 / 0.8, -3 / 0.87]
    )
    assert "2 of 8 runs" in bank[0].differs


def changed(f1: dict[int, Interval]) -> list[Comparison]:
    """Table 6.3 of trainings whose F1 follows from the number of guests."""
    result = result_of("tabvfl", "6.3")
    assert isinstance(result.summary, TrainingSummary)

    def with_f1(cell: TrainingResult) -> TrainingResult:
        value = Value(scope="quality/published/mean", metric="f1", runs=3, **f1[cell.guests].to_dict())
        return cell.model_copy(update={"values": (value,)})

    return read(
        replace(result, summary=result.summary.model_copy(update={"cells": tuple(map(with_f1, result.summary.cells))}))
    )


def test_guests_are_compared_in_percent_of_five() -> None:
    cells = changed({5: Interval(0.8, None, None), 2: Interval(0.72, 0.7, 0.74)})
    assert {round(cell.ours or 0, 6) for cell in cells} == {-10.0}
    assert {(cell.low, cell.high) for cell in cells} == {(None, None)}  # one run is no idea of the spread
    assert all("guests" not in cell.place for cell in cells)


def test_losses_stand_after_some_epochs() -> None:
    result = result_of("tabvfl", "figure-6.3")
    assert isinstance(result.summary, TrainingSummary)
    values = tuple(
        Value(scope=f"epoch/fine-tuning/{epoch}", metric="loss", runs=3, mean=1 / (epoch + 1), low=0.0, high=1.0)
        for epoch in range(30)
    )
    trained = tuple(cell.model_copy(update={"values": values}) for cell in result.summary.cells)
    cells = read(replace(result, summary=result.summary.model_copy(update={"cells": trained})))
    central = [cell for cell in cells if cell.place["design"] == "CT" and cell.place["data"] == "Bank Marketing"]
    assert [(cell.place["epoch"], cell.ours) for cell in central] == [
        ("1", 1.0), ("2", 0.5), ("5", 0.2), ("10", 0.1), ("20", 0.05),
    ]  # fmt: skip


F1 = st.tuples(st.floats(0.2, 1), st.floats(0.2, 1), st.floats(0.2, 1)).map(sorted)


@given(F1, F1)
def test_a_change_is_as_uncertain_as_both_of_its_means(few: list[float], many: list[float]) -> None:
    one, other = (Interval(mean, low, high) for low, mean, high in (few, many))
    cell = changed({2: one, 5: other})[0]
    assert cell.low is not None
    assert cell.high is not None
    # Surer than with both at their worst, less sure than if one of them were known.
    assert few[0] / many[2] <= 1 + cell.low / 100 + 1e-9
    assert 1 + cell.low / 100 <= min(few[0] / many[1], few[1] / many[2]) + 1e-9
    assert 1 + cell.high / 100 >= max(few[2] / many[1], few[1] / many[0]) - 1e-9
    assert few[2] / many[0] >= 1 + cell.high / 100 - 1e-9


def test_costs_are_those_of_the_papers_epochs_and_batches() -> None:
    cells = {cell.metric: cell for cell in read(result_of("tabvfl", "IV")) if cell.place["design"] == "TabVFL"}
    assert {name: (cell.ours, cell.published) for name, cell in cells.items()} == {
        "runtime_pretraining": (200.0, 194),
        "network_pretraining": (pytest.approx(4.096), 30.38),
        "runtime_finetuning": (200.0, 138),
        "network_finetuning": (pytest.approx(4.096), 14.84),
        "runtime_total": (400.0, 332),
        "memory": (0.5, 14.73),
    }
    assert cells["memory"].place["data"] == "bank_marketing (for Rice MSC)"


def test_batches_until_a_quality_and_a_quality_that_is_not_reached() -> None:
    (reached,) = read(result_of("cafe", "5"))  # the PSNR of an imagined curve is a hundredth of its batches
    assert (reached.ours, reached.published) == (3800.0, 6600)
    (less,) = read(result_of("cafe", "5", 0.25))
    assert (less.ours, less.published) == (2000.0, None)  # another bar than the paper's
    assert "until 20 dB" in less.differs
    result = result_of("cafe", "5", 0.125)
    (missed,) = read(result)
    assert missed.ours is None
    assert missed.reason == "20 dB were not reached: 10.0 dB after 1,000 batches."


def test_losses_stand_at_the_papers_batches_and_epsilons_are_told_apart() -> None:
    cells = read(result_of("cafe", "11", 0.25))
    noisy = [cell for cell in cells if cell.place.get("epsilon") == "0.1" and cell.metric == "train_loss"]
    assert [cell.place["batches"] for cell in noisy][:2] == ["0", "250 (published: 1,000)"]
    assert [cell.published for cell in noisy][:2] == [2.77, 2.69]
    assert {cell.metric for cell in cells if cell.published is None} >= {"psnr", "correlation"}


def test_a_cell_without_a_number_is_told() -> None:
    result = result_of("cafe", "4")
    assert isinstance(result.summary, VerticalSummary)
    first: VerticalResult = result.summary.cells[0].model_copy(
        update={"metrics": {}, "failed": 1, "trials": 1, "outcome": "not_applicable", "notes": ("It has no bias.",)}
    )
    summary = result.summary.model_copy(update={"cells": (first,)})
    (cell,) = read(replace(result, summary=summary))
    assert (cell.ours, cell.trials, cell.failed, cell.deviations) == (None, 0, 1, None)
    assert cell.reason == "not applicable: It has no bias."


def test_a_table_tells_the_other_matching_and_the_guess_that_draws_every_row() -> None:
    cells = [cell for cell in read(result_of("tableak", "1")) if cell.place["batch"] == "8"]
    theirs = [cell for cell in cells if "matching" not in cell.place]
    others = [cell for cell in cells if cell.place.get("matching") == "l1"]
    assert len(theirs) == len(others)
    assert {cell.metric for cell in cells} == {"accuracy"}
    assert all(cell.published is None for cell in others)
    random = {cell.place["attack"]: cell.published for cell in theirs if cell.place["attack"].startswith("Random")}
    assert random == {"Random": 53.9, "Random, each row drawn": None}


def test_german_credit_has_sixteen_rows_a_client_in_fedavg() -> None:
    result = result_of("tableak", "11")
    assert {variant.run.local_rows for variant in result.variants} == {16}  # type: ignore[attr-defined]
    published = {cell.published for cell in read(result) if cell.place["attack"] == "TabLeak"}
    assert 95.2 in published


def test_one_batch_more_lies_where_it_says() -> None:
    """The interval of a mean of ten, widened, covers about 95 % of single batches; as it is, half of them."""
    covered = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        mean = bootstrap(random.normal(0.5, 0.05, 10).tolist())
        assert mean is not None
        fresh = random.normal(0.5, 0.05, 200)
        for interval in (one_more(mean, 10), mean):
            assert interval.low is not None
            assert interval.high is not None
            covered.append(np.mean((interval.low <= fresh) & (fresh <= interval.high)))
    assert np.mean(covered[::2]) == pytest.approx(0.95, abs=0.03)
    assert np.mean(covered[1::2]) < 0.6


def test_doubt_of_tableak_is_of_one_batch() -> None:
    result = result_of("tableak", "4")
    told = read(result)
    assert told
    assert all(cell.ours == 50.0 for cell in told if cell.metric == "accuracy_cat")
    assert one_more(Interval(0.9, 0.8, 0.96), 3) == Interval(0.9, pytest.approx(0.7), 1.0)
    assert one_more(Interval(0.9, None, None), 1) == Interval(0.9, None, None)
