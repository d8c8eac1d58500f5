"""What readers of models and losses of meta-models promise."""

from __future__ import annotations

import torch

from seepage.attacks.properties.losses import Loss, classes_of
from seepage.attacks.properties.readers import Reader, take
from seepage.models import scoped_randomness
from seepage.testing.scenes import tiny_models

MODELS = 24


def check_reader(reader: Reader) -> None:
    """Check a reader: one finite line of features for each model, whatever other models stand beside it, and a network
    that can learn from them."""
    name = type(reader).__name__
    stack, shares = tiny_models(MODELS)
    parts = reader.parts(stack)
    assert all(len(part) == MODELS for part in parts), f"{name} does not read one line for each model."
    again = reader.parts(stack)
    assert all(bool((a == b).all()) for a, b in zip(parts, again, strict=True)), f"{name} reads a model in two ways."
    with scoped_randomness(1):
        network = reader.network(parts).eval()
    features = network(parts)
    assert features.shape[0] == MODELS, f"{name}'s network answers {features.shape[0]} lines for {MODELS} models."
    assert features.dim() == 2, f"{name}'s network answers {features.dim()} axes; it must be (models, features)."
    assert bool(features.isfinite().all()), f"{name}'s features are not finite."
    some = torch.tensor([3, 1])
    alone = network(take(parts, some))
    assert torch.allclose(alone, features[some], atol=1e-4), f"{name} reads a model by the others beside it."
    torch.autograd.backward((features.mean(1) - shares).square().mean())
    slopes = [value.grad for value in network.parameters()]
    assert any(slope is not None and bool(slope.any()) for slope in slopes), f"{name}'s network cannot learn."


def check_loss(loss: Loss) -> None:
    """Check a loss of a meta-model: it falls when its last layer is trained, decodes to classes that exist, and its
    probabilities are probabilities."""
    name = type(loss).__name__
    shares = torch.linspace(0.01, 0.99, 40)
    features = torch.stack([shares, shares**2, torch.ones(40)], 1)
    with scoped_randomness(1):
        layer = loss.layer(3)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    values = []
    for _ in range(150):
        optimiser.zero_grad()
        value = loss.loss(layer(features), shares)
        torch.autograd.backward(value)
        optimiser.step()
        values.append(float(value.detach()))
    assert values[-1] < values[0], f"{name} does not fall while its layer is trained."
    outputs = layer(features).detach()
    assert outputs.shape == (40, loss.outputs), f"{name}'s layer has {outputs.shape[1]} outputs, not {loss.outputs}."
    named = loss.decode(outputs)
    assert 0 <= int(named.min()) <= int(named.max()) < loss.classes, f"{name} names classes that are none."
    truth = classes_of(shares, loss.classes)
    chance = 1 / loss.classes
    assert float((named == truth).double().mean()) > chance, f"{name} does not beat chance on what it was trained on."
    probabilities = loss.probabilities(outputs)
    assert probabilities.shape == (40, loss.classes), (
        f"{name}'s probabilities are of shape {tuple(probabilities.shape)}."
    )
    assert torch.allclose(probabilities.sum(1), torch.ones(40).to(probabilities), atol=1e-4), f"{name}: not 1 in sum."
