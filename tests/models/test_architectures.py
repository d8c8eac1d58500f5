from __future__ import annotations

import numpy as np
import pytest
import torch
from pytorch_tabnet.sparsemax import sparsemax

from seepage._core import InputError
from seepage.data import Encoder
from seepage.models import MLP, FTTransformer, make_learner, tableak_mlp
from seepage.models.tabnet import Sparsemax
from tests import cases


@pytest.mark.parametrize("batch", [1, 8, 32, 128])
def test_ft_transformer_with_blocks_is_the_native_one(batch: int) -> None:
    """The profiling study, Table 52 (probability simplex): update within 1.49e-08 absolute, 8.04e-09 relative L2."""
    table = cases.table("binary", 200)
    encoder = Encoder(schema=table.schema, categories="ordinal")
    layout = encoder.layout
    architecture = FTTransformer(attention_dropout=0, ffn_dropout=0)
    learner = make_learner(architecture, layout.numeric, layout.sizes, "binary", 2, seed=1)
    rows = table.take(np.arange(batch))
    x = torch.from_numpy(encoder.encode(rows, encoder.statistics(table)))
    y = torch.from_numpy(rows.target)
    ours = learner.gradient(learner.initial(), x, y)
    native = learner.module.native
    native.load_state_dict({name.removeprefix("native."): value for name, value in learner.initial().items()})
    native.requires_grad_(True)
    loss = learner.loss_of_outputs(native(x[:, : layout.numeric], torch.from_numpy(rows.codes)), y)
    theirs = torch.autograd.grad(loss, list(native.parameters()))
    flat = torch.cat([value.flatten() for value in theirs])
    difference = torch.cat([value.flatten() for value in ours.values()]) - flat
    assert difference.norm() / flat.norm() < 1e-6
    assert difference.abs().max() < 1e-6


def test_sparsemax_is_that_of_pytorch_tabnet() -> None:
    x = torch.randn(64, 11, generator=torch.Generator().manual_seed(0)) * 3
    mine, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    ours, reference = Sparsemax()(mine), sparsemax(theirs * 1, -1)
    torch.testing.assert_close(ours, reference)
    weights = torch.arange(11.0)
    torch.testing.assert_close(
        torch.autograd.grad((ours * weights).sum(), mine)[0],
        torch.autograd.grad((reference * weights).sum(), theirs)[0],
    )


def test_tableak_net_has_document_000s_shape() -> None:
    module = tableak_mlp().build(6, (99,), 2)
    assert [tuple(p.shape) for p in module.parameters()] == [(100, 105), (100,), (100, 100), (100,), (2, 100), (2,)]


def test_xavier_draws_within_its_bound_and_leaves_biases_at_zero() -> None:
    for layer in MLP(start="xavier").build(5, (3, 4), 1):
        if isinstance(layer, torch.nn.Linear):
            bound = (6 / (layer.in_features + layer.out_features)) ** 0.5
            assert 0.8 * bound < float(layer.weight.detach().abs().max()) <= bound
            assert not layer.bias.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": "gelo"}, "Did you mean 'gelu'"),
        ({"norm": "lyer"}, "'layer'"),
        ({"start": "xavjer"}, "'xavier'"),
        ({"width": 0}, "at least 1"),
    ],
)
def test_bad_shapes_are_one_sentence(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        MLP(**options)  # type: ignore[arg-type]
