"""What is said about a set-up agrees with what the attack finds there."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from seepage._core import InputError
from seepage.attacks.applicability import Finding, Setup, findings, row_limit, what_stops
from seepage.attacks.exact.view import view_of
from seepage.attacks.structure import structure_of
from seepage.data import Layout
from seepage.models import MLP, Architecture, FTTransformer, Learner, Linear, ResNet, TabNet, make_learner
from seepage.observation import Exchange, Observation, Space

LAYOUT = Layout(2, (6, 5, 4))  # 15 dimensions of valid rows: 2 numbers, 5 + 4 + 3 categories, the bias
EMBEDDED = Layout(2, (7, 6, 5), embedded=True)
PRESENCE, SPAN, SINGLE, PEELING, EXHAUSTION, CLOSED, ROUNDS, OPTIMISATION = range(8)


def a_setup(architecture: Architecture | None = None, *, rows: int = 3, **changes: object) -> Setup:
    """A small net without anything that is in the way."""
    architecture = architecture or MLP(width=12, norm="none", activation="tanh")
    layout = EMBEDDED if architecture.encoding == "ordinal" else LAYOUT
    learner = make_learner(architecture, layout.numeric, layout.sizes, "binary", 2, seed=0)
    return Setup(learner=learner, layout=layout, rows=rows, **changes)  # type: ignore[arg-type]


def verdicts(setup: Setup) -> list[str]:
    return told(findings(setup))


def told(found: list[Finding]) -> list[str]:
    """What is said of one update: rounds have tests of their own."""
    return [finding.verdict for place, finding in enumerate(found) if place != ROUNDS]


@pytest.mark.parametrize(
    ("changes", "verdict", "why"),
    [
        ({"rows": 14}, "cannot", "One update is looked at. 14 rows span up to 14 dimensions"),
        ({"rows": 14, "watched": 2}, "partly", "2 rounds give 24 directions, enough; so many rows are valid"),
        ({"rows": 5, "watched": 2}, "works", "rows are told apart by their slopes over all rounds"),
        ({"rows": 3, "watched": 5, "steps": 4}, "partly", "rounds are read one by one"),
        ({"rows": 3, "watched": 2, "optimiser": "adam"}, "cannot", "Adam divides"),
    ],
)
def test_rounds_on_the_same_rows_open_what_one_update_leaves_shut(
    changes: dict[str, object], verdict: str, why: str
) -> None:
    found = findings(a_setup(**changes))[ROUNDS]  # type: ignore[arg-type]
    assert (found.verdict, why in found.why) == (verdict, True), found.why


def test_few_rows_of_a_plain_net_are_open_to_everything() -> None:
    found = findings(a_setup())
    assert told(found) == ["works"] * 5 + ["cannot", "works"]
    assert found[PRESENCE].why.startswith("The first layer's column")
    assert "15 categories" in found[PRESENCE].why
    assert found[SPAN].why == "3 rows span 3 of 15 dimensions: a row meets 12 equations."
    assert found[SINGLE].why == "1 deeper layer gives 10 equations for every row alone, and a row has 5 cells."
    assert found[CLOSED].why == "It reads an update of one row; here are 3."


def test_one_row_is_read_in_closed_form() -> None:
    assert verdicts(a_setup(rows=1))[CLOSED] == "works"
    assert verdicts(a_setup(Linear(), rows=1))[CLOSED] == "works"
    assert verdicts(a_setup(FTTransformer(width=8, blocks=1, heads=2), rows=1))[CLOSED] == "works"


def test_rows_against_the_width() -> None:
    setup = a_setup(rows=13)
    found = findings(setup)
    assert told(found) == ["works"] + ["cannot"] * 5 + ["works"]
    assert found[SPAN].why == "13 rows can hide each other in the first layer's 12 directions."
    assert found[SINGLE].why == "13 rows are more than the 12 that the deeper layers can tell apart."
    assert row_limit(setup) == 12
    assert what_stops(setup).startswith("Exact reading ends at 12 rows behind one update, if not before; here are 13.")


def test_rows_against_the_dimensions_of_valid_rows() -> None:
    found = findings(a_setup(MLP(width=40, norm="none", activation="tanh"), rows=16))
    assert found[SPAN].why == "16 rows can fill all 15 dimensions of valid rows, so the span leaves nothing out."
    assert found[SINGLE].verdict == "works"  # the deeper layer is wide enough, and knows nothing of the schema
    assert found[PEELING].verdict == "works"


def test_a_search_and_its_proof_fade_with_the_rows() -> None:
    wide = MLP(width=40, norm="none", activation="tanh")
    layout = Layout(2, (30, 30))
    learner = make_learner(wide, 2, (30, 30), "binary", 2, seed=0)
    found = [verdicts(Setup(learner=learner, layout=layout, rows=rows)) for rows in (4, 16, 17)]
    assert [each[SPAN] for each in found] == ["works", "works", "partly"]
    assert [each[EXHAUSTION] for each in found] == ["works", "partly", "partly"]


def test_too_few_equations_prove_nothing() -> None:
    wide = MLP(width=18, norm="none", activation="tanh")
    rows = [findings(a_setup(wide, rows=rows))[SINGLE] for rows in (15, 16, 18)]
    assert [finding.verdict for finding in rows] == ["works", "partly", "cannot"]
    assert rows[1].why == (
        "1 deeper layer gives 3 equations for every row alone beside 2 open numbers: "
        "fewer than its 5 cells, so some rows have rivals."
    )
    assert rows[2].why.endswith("too few to prove anything.")


def test_a_layer_norm_takes_a_direction() -> None:
    setup = a_setup(MLP(width=12), rows=12)
    assert structure_of(setup.learner, LAYOUT).entrance.directions == 11  # type: ignore[union-attr]
    assert verdicts(setup)[SPAN] == "cannot"


def test_secure_aggregation_adds_rows_up() -> None:
    assert verdicts(a_setup(rows=4, clients=2))[SINGLE] == "works"
    assert verdicts(a_setup(rows=4, clients=4))[SPAN : CLOSED + 1] == ["cannot"] * 5
    assert "over 4 clients or more" in what_stops(a_setup(rows=4))


def test_several_local_steps_leave_the_first_layer_and_exhaustion() -> None:
    found = findings(a_setup(steps=4, optimiser="momentum"))
    assert told(found) == ["works", "works", "partly", "cannot", "works", "cannot", "works"]
    assert "exact over all 4 local steps, momentum or not" in found[SPAN].why
    assert "none is proven" in found[SINGLE].why
    assert "the only proof" in found[EXHAUSTION].why


def test_adam_breaks_the_spans_but_leaves_untouched_entries_still() -> None:
    setup = a_setup(steps=2, optimiser="adam")
    assert verdicts(setup) == ["works"] + ["cannot"] * 5 + ["partly"]
    # What it rests on: an entry without a gradient stands still, and the rest is no longer of low rank.
    net, x = nn.Linear(6, 8), torch.eye(6)[[0, 0, 2]] + torch.tensor([0.0, 0, 0, 0, 0.3, 0.7])
    x[:, 5] = torch.tensor([0.2, -1.0, 0.4])
    before = net.weight.detach().clone()
    optimiser = torch.optim.Adam(net.parameters())
    for _ in range(2):
        optimiser.zero_grad()
        net(x).square().sum().backward()
        optimiser.step()
    moved = net.weight.detach() - before
    assert (moved != 0).any(0).tolist() == [True, False, True, False, True, True]
    assert "no sum of multiples" in findings(setup)[SPAN].why


def test_weight_decay_costs_nothing_as_the_protocol_tells_it() -> None:
    found = findings(a_setup(weight_decay=0.01))
    assert told(found) == verdicts(a_setup())
    assert "is taken out" in found[SPAN].why
    # What it rests on: without the known shrinkage of the first weights, the update has the rank of its rows again.
    net, rows = nn.Linear(9, 7).double(), torch.randn(3, 9, generator=torch.Generator().manual_seed(0)).double()
    before = net.weight.detach().clone()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, weight_decay=0.01)
    for _ in range(4):
        optimiser.zero_grad()
        net(rows).square().mean().backward()
        optimiser.step()
    after = net.weight.detach()
    ranks = [int(torch.linalg.matrix_rank(after - share * before, rtol=1e-9)) for share in (1, (1 - 0.1 * 0.01) ** 4)]
    assert ranks == [7, 3]


@pytest.mark.parametrize("defense", ["gaussian_noise:0.01", "dp_sgd", "top_k:share=0.1", "quantisation:8"])
def test_a_defence_leaves_what_stands_above_its_error(defense: str) -> None:
    found = findings(a_setup(defense=defense))
    assert told(found) == ["partly"] * 5 + ["cannot", "partly"]
    assert f"But {defense.partition(':')[0]} puts an error on it" in found[SPAN].why


def test_unknown_scales_of_one_hot_entries() -> None:
    assert verdicts(a_setup(hidden_scales=True)) == ["cannot"] * 6 + ["partly"]


def test_dropout_hides_the_deeper_layers() -> None:
    found = findings(a_setup(ResNet(width=16, blocks=1)))
    assert told(found) == ["works", "works", "cannot", "cannot", "works", "cannot", "partly"]
    assert "dropout" in found[SINGLE].why
    assert "dropout" in found[PEELING].why


def test_a_single_hidden_layer_has_rows_fitted_together() -> None:
    found = findings(a_setup(MLP(width=12, depth=1, norm="none", activation="tanh")))
    assert found[SINGLE].why == "3 rows are more than the 1 that the deeper layers can tell apart."
    assert found[PEELING] == Finding(
        found[PEELING].what, "partly", "No row is proven alone, but 3 rows are few enough to be fitted together."
    )


def test_tables_show_categories_and_single_rows() -> None:
    setup = a_setup(FTTransformer(width=8, blocks=1, heads=2), rows=8)
    assert verdicts(setup)[:CLOSED] == ["works"] + ["cannot"] * 4
    assert "15 categories" in findings(setup)[PRESENCE].why
    assert row_limit(setup) == 1
    assert verdicts(a_setup(TabNet(n_d=4, n_a=4, steps=2), rows=8))[SPAN] == "cannot"


def test_a_linear_model_hides_all_but_one_row() -> None:
    setup = a_setup(Linear(), rows=2)
    assert verdicts(setup) == ["works"] + ["cannot"] * 5 + ["works"]
    assert row_limit(setup) == 1
    assert verdicts(a_setup(Linear(), rows=8))[-1] == "partly"  # 40 cells from 18 entries


def own(*layers: nn.Module, layout: Layout = LAYOUT, rows: int = 3) -> Setup:
    return Setup(learner=Learner(nn.Sequential(*layers), "binary"), layout=layout, rows=rows)


def test_without_a_bias_a_block_takes_its_place() -> None:
    net = nn.Linear(17, 12, bias=False), nn.ReLU(), nn.Linear(12, 1)
    assert "stands in for the missing bias" in findings(own(*net))[SPAN].why
    numbers = nn.Linear(5, 12, bias=False), nn.ReLU(), nn.Linear(12, 1)
    found = findings(own(*numbers, layout=Layout(5, ()), rows=1))
    assert [found[place].verdict for place in (PRESENCE, SPAN, CLOSED)] == ["cannot"] * 3
    assert "up to their length only" in found[SPAN].why


def test_a_norm_before_the_first_layer() -> None:
    found = findings(own(nn.BatchNorm1d(17), nn.Linear(17, 12), nn.ReLU(), nn.Linear(12, 1)))
    assert found[SPAN].why.startswith("The rows are changed before the first linear layer.")
    assert "reads no whole rows" in what_stops(own(nn.Tanh(), nn.Linear(17, 1)))


def test_weighted_classes_are_not_peeled() -> None:
    learner = make_learner(
        MLP(width=12, norm="none", activation="tanh", binary_outputs=2), 2, (6, 5, 4), "binary", 2, seed=0,
        positive_weight=3.0,
    )  # fmt: skip
    assert verdicts(Setup(learner=learner, layout=LAYOUT, rows=3))[PEELING] == "cannot"


@pytest.mark.parametrize("rows", [2, 6, 11, 12, 13, 20])
@pytest.mark.parametrize("width", [8, 12, 40])
def test_agrees_with_the_attack(rows: int, width: int) -> None:
    """Where a span is promised, the attack finds it with the equations that were promised."""
    setup = a_setup(MLP(width=width, norm="none", activation="tanh"), rows=rows)
    generator = torch.Generator().manual_seed(rows)
    blocks = [torch.eye(size)[torch.randint(size, (rows,), generator=generator)] for size in LAYOUT.sizes]
    x = torch.cat([torch.randn(rows, 2, generator=generator), *blocks], 1)
    y = torch.randint(2, (rows,), generator=generator)
    parameters = setup.learner.initial()
    view = view_of(
        Observation(
            learner=setup.learner, space=Space(layout=LAYOUT), parameters=parameters,
            update=setup.learner.gradient(parameters, x, y),
            exchange=Exchange(protocol="fedsgd", rows=rows, batch_size=rows),
        )
    )  # fmt: skip
    deep = sum(view.spans[place].equations for place in view.deep)
    promised = [layer for layer in setup.structure.deep if rows <= layer.directions and rows < layer.inputs]
    assert deep == sum(layer.inputs - rows for layer in promised)
    if findings(setup)[SPAN].verdict != "cannot":
        assert view.entrance is not None
        rank = int(torch.linalg.matrix_rank(torch.cat([x, torch.ones(rows, 1)], 1)))
        assert view.entrance.rank == rank <= setup.spanned


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rows": 0}, "The number of rows is 0"),
        ({"clients": 0}, "The number of clients is 0"),
        ({"optimiser": "adm"}, "Did you mean 'adam'"),
        ({"weight_decay": -1.0}, "The weight decay is -1.0"),
    ],
)
def test_what_cannot_be_is_told(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        a_setup(**changes)
