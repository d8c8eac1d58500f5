"""The slope of gradient matching: by hand, and by automatic differentiation, against float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from seepage._core import Streams
from seepage.attacks.inversion import Inversion, fast, gradient_matching, tableak
from seepage.attacks.inversion.by_hand import ByHand
from seepage.attacks.inversion.objectives import GaussianKernel, Squared
from seepage.attacks.inversion.replay import PlainGradient
from seepage.attacks.inversion.stepping import stacked
from seepage.data import IID, split
from seepage.federation import AttackPoint, Automatic, FedSGD, make_population, simulate
from seepage.models import MLP, FTTransformer, as_layers, has_passes
from seepage.models.ft_tokens import TokensThroughWeights
from seepage.observation import Knowledge, Observation
from tests import cases

SHAPES = {
    "two blocks": FTTransformer(width=16, blocks=2, heads=2),
    "three blocks, one head": FTTransformer(width=12, blocks=3, heads=1),
    "one block": FTTransformer(width=16, blocks=1, heads=4),
}


def points(model: str, task: str = "binary", *, labels: bool = True, rows: int = 4) -> tuple[AttackPoint, ...]:
    protocol = FedSGD(batch_size=rows, exposure=1, schedule=Automatic(keep=("initialized", "final")))
    population = cases.population(model, task)
    return simulate(protocol, population, Knowledge(labels=labels), Streams(2)).points


def slope_in_float64(observation: Observation, x: Tensor) -> Tensor:
    """Of 1 - cosine, by plain autograd."""
    learner, layout = observation.learner.double(), observation.layout
    parameters = {name: value.double() for name, value in observation.parameters.items()}
    theirs = torch.cat([value.flatten() for value in observation.update.values()]).double()
    z = x.double().requires_grad_()
    blocks = z[:, layout.numeric :].split(list(layout.sizes), -1)
    mixed = [block.softmax(-1) if layout.embedded else block for block in blocks]
    rows = torch.cat([z[:, : layout.numeric], *mixed], -1)
    gradient = torch.func.grad(learner.loss)(parameters, rows, observation.labels)
    ours = torch.cat([gradient[name].flatten() for name in observation.update])
    loss = 1 - torch.nn.functional.cosine_similarity(ours, theirs, dim=0)
    (slope,) = torch.autograd.grad(loss, z)
    return slope


def evaluated(
    way: Callable[..., object], attack: Inversion, seen: tuple[Observation, ...], x: Tensor
) -> tuple[Tensor, Tensor]:
    result: tuple[Tensor, Tensor] = way(attack.problem(attack.scene(seen)))(x, *stacked(seen))  # type: ignore[operator]
    return result


def close(one: Tensor, other: Tensor, tolerance: float = 1e-5) -> bool:
    return bool((one - other).abs().max() <= tolerance * other.abs().max())


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(cases.MODELS, "shape", SHAPES[request.param])
    return "shape"


@pytest.mark.parametrize("task", cases.TASKS)
@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("shared", [True, False], ids=["one model", "a model for each"])
def test_by_hand_equals_automatic_differentiation(shape: str, task: str, runs: int, shared: bool) -> None:
    first, last = points(shape, task)
    seen = first.observations if shared else (*first.observations[:2], last.observations[2])
    x = torch.randn(len(seen), runs, 4, seen[0].layout.width, generator=torch.Generator().manual_seed(1))
    assert gradient_matching().scene(seen).shared is shared
    plain, ours = (evaluated(way, gradient_matching(), seen, x) for way in (PlainGradient, ByHand))
    assert torch.allclose(ours[0], plain[0], atol=1e-6)
    assert close(ours[1], plain[1])


@pytest.mark.parametrize("shared", [True, False], ids=["one model", "a model for each"])
def test_one_row_has_fewer_tokens_than_they_are_mixed_of(shape: str, shared: bool) -> None:
    first, last = points(shape, rows=1)
    seen = first.observations if shared else (*first.observations[:2], last.observations[2])
    parameters = as_layers(seen[0].learner, seen[0].parameters)
    tokens = parameters["tokens.bias"].shape[-2]
    assert not TokensThroughWeights.pays(parameters, tokens)
    assert TokensThroughWeights.pays(parameters, 4 * tokens)  # as the batches of the other tests
    x = torch.randn(len(seen), 2, 1, seen[0].layout.width, generator=torch.Generator().manual_seed(1))
    plain, ours = (evaluated(way, gradient_matching(), seen, x) for way in (PlainGradient, ByHand))
    assert close(ours[1], plain[1])


@pytest.mark.parametrize("net", [MLP(width=8), MLP(width=8, activation="relu", norm="none", binary_outputs=2, depth=3)])
@pytest.mark.parametrize("task", cases.TASKS)
@pytest.mark.parametrize("shared", [True, False], ids=["one model", "a model for each"])
def test_perceptrons_by_hand(net: MLP, task: str, shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cases.MODELS, "net", net)
    first, last = points("net", task)
    seen = first.observations if shared else (*first.observations[:2], last.observations[2])
    x = torch.randn(len(seen), 3, 4, seen[0].layout.width, generator=torch.Generator().manual_seed(1))
    assert has_passes(seen[0].learner)
    plain, ours = (evaluated(way, gradient_matching(), seen, x) for way in (PlainGradient, ByHand))
    assert torch.allclose(ours[0], plain[0], atol=1e-6)
    assert close(ours[1], plain[1])


@pytest.mark.parametrize("model", ["mlp", "mlp_batchnorm_dropout", "resnet", "ft_transformer"])
def test_the_slope_is_that_of_float64(model: str) -> None:
    """torch's own LayerNorm, differentiated twice under vmap, would be off by a thousandth or more."""
    seen = points(model)[0].observations
    x = torch.randn(len(seen), 1, 4, seen[0].layout.width, generator=torch.Generator().manual_seed(1))
    ways = (PlainGradient, ByHand) if has_passes(seen[0].learner) else (PlainGradient,)
    for way in ways:
        _, slopes = evaluated(way, gradient_matching(), seen, x)
        for index, observation in enumerate(seen):
            assert close(slopes[index, 0].double(), slope_in_float64(observation, x[index, 0]))


@pytest.mark.parametrize("attack", [tableak(), fast(), replace(gradient_matching(), objective=Squared())])
def test_priors_structures_and_variable_labels_go_both_ways(attack: Inversion) -> None:
    seen = points("ft_transformer", labels=False)[0].observations
    extra = 1 if attack.targets == "joint" else 0
    x = torch.randn(len(seen), 2, 4, seen[0].layout.width + extra, generator=torch.Generator().manual_seed(1))
    problem = attack.problem(attack.scene(seen), extra=extra)
    plain, ours = (way(problem)(x, *stacked(seen)) for way in (PlainGradient, ByHand))
    assert close(ours[0], plain[0])
    assert close(ours[1], plain[1], 1e-4)


def test_numbers_alone_and_categories_alone() -> None:
    for columns in (["age", "size", "target"], ["colour", "smoker", "target"]):
        seen = _observations(columns)
        x = torch.randn(len(seen), 1, 4, seen[0].layout.width, generator=torch.Generator().manual_seed(1))
        plain, ours = (evaluated(way, gradient_matching(), seen, x) for way in (PlainGradient, ByHand))
        assert close(ours[1], plain[1])


def test_an_objective_of_single_layers_is_differentiated_automatically() -> None:
    seen = points("ft_transformer")[0].observations
    layered = replace(gradient_matching(), objective=GaussianKernel())
    for attack, way in ((layered, PlainGradient), (gradient_matching(), ByHand)):
        made = attack.problem(attack.scene(seen)).evaluation(lambda function: function)
        assert isinstance(made, way)


def _observations(columns: list[str]) -> tuple[Observation, ...]:
    from seepage.data import Encoder, Table, infer_schema
    from seepage.models import make_learner

    frame = cases.frame().select(columns)
    table = Table.from_frame(frame, infer_schema(frame, "target", task="binary"))
    encoder = Encoder(schema=table.schema, categories="ordinal")
    layout, shape = encoder.layout, SHAPES["two blocks"]
    learner = make_learner(shape, layout.numeric, layout.sizes, "binary", 2, seed=5)
    streams = Streams(3)
    people = make_population(split(table, streams.numpy("s")), IID(clients=2), encoder, learner, streams.numpy("p"))
    protocol = FedSGD(batch_size=4, exposure=0, schedule=Automatic(keep=("initialized",)))
    return simulate(protocol, people, Knowledge(), streams).points[0].observations
