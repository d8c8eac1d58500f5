"""What a client can check before it trains on weights that it was sent.

Each check is a number that training keeps small and that weights made to read rows make large. Limits are those of
training histories (``received.json``, made by ``benchmarks/malicious.py --calibrate``): 1 % of honest rounds may raise
an alarm. Passing is no proof: a server that knows the checks can stay below them, and then reads less.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import torch
from torch import Tensor, nn

from seepage._core import InputError
from seepage.models import Learner, Parameters

ALIKE = 0.999  # cosine of two neurons that look the same way
SAME = 0.9999  # correlation of what two neurons say of the client's rows
MOST_NEURONS = 2000  # of a layer that are compared with each other
FEWEST_ROWS = 20  # on which neurons are compared
SENTENCES = {
    "shapes": "The model is not the agreed one: {detail}.",
    "copies": "{value:.0%} of the neurons of a layer are copies of another one's direction (training: {limit:.0%}).",
    "zeros": "{value:.0%} of the weights of a layer are exactly zero (training: {limit:.0%}).",
    "sizes": "Neurons of one layer differ by 10 to the {value:.1f} in size (training: {limit:.1f}).",
    "scale": "A layer is 10 to the {value:.1f} larger or smaller than weights are drawn (training: {limit:.1f}).",
    "biases": "A bias is {value:.0f} times its neuron's weights (training: {limit:.0f}).",
    "jump": "Since the last round a layer moved by {value:.0%} of its size (training: {limit:.0%}).",
    "echoes": "{value:.0%} of the neurons of a layer say the same of your rows as another (training: {limit:.0%}).",
    "alone": "{value:.0%} of your rows stand alone in a neuron or between two (training: {limit:.0%}).",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check that failed.

    Args:
        check: its name.
        value, limit: what was found, and what training stays below.
        sentence: in words.
    """

    check: str
    value: float
    limit: float
    sentence: str


@cache
def limits() -> Mapping[str, float]:
    """What training stays below, by the name of the check."""
    text = (files("seepage.defenses") / "received.json").read_text(encoding="utf-8")
    return dict(json.loads(text)["limits"])


def check_received(
    learner: Learner,
    parameters: Parameters,
    *,
    before: Parameters | None = None,
    rows: Tensor | None = None,
    scale: float = 1.0,
) -> list[Finding]:
    """Everything about weights that training does not make; an empty list where nothing was found.

    Args:
        learner: the agreed architecture.
        parameters: the weights that were sent.
        before: those of the round before, if there was one.
        rows: (rows, width) the client's own batch, encoded; the attack's own counting is done on it.
        scale: by which the limits are multiplied; below 1 is stricter.

    Example:
        >>> from seepage.models import MLP, make_learner
        >>> learner = make_learner(MLP(width=8), 2, (3,), "binary", 2, seed=0)
        >>> check_received(learner, learner.initial())
        []
    """
    odd = _shapes(learner, parameters)
    if odd:
        return [Finding(check="shapes", value=1.0, limit=0.0, sentence=SENTENCES["shapes"].format(detail=odd))]
    found = measured(learner, parameters, before=before, rows=rows)
    return [
        Finding(check=name, value=value, limit=limit, sentence=SENTENCES[name].format(value=value, limit=limit))
        for name, value in found.items()
        if (limit := limits()[name] * scale) < value
    ]


def measured(
    learner: Learner, parameters: Parameters, *, before: Parameters | None = None, rows: Tensor | None = None
) -> dict[str, float]:
    """The number of every check, without its limit."""
    if not all(value.isfinite().all() for value in parameters.values()):
        raise InputError("The weights that were sent are not all finite numbers.")
    layers = {name: (weight, parameters.get(f"{name}.bias")) for name, weight in _linear(learner, parameters).items()}
    each = [_layer(weight.double().numpy(), bias) for weight, bias in layers.values()]
    found = {name: max((one[name] for one in each), default=0.0) for name in ("copies", "zeros", "sizes", "scale")}
    found["biases"] = max((one["biases"] for one in each), default=0.0)
    if before is not None:
        found["jump"] = max((_moved(parameters[f"{n}.weight"], before[f"{n}.weight"]) for n in layers), default=0.0)
    if rows is not None and len(rows):
        found |= _on_rows(learner, parameters, rows, list(layers)[:-1])
    return found


def _shapes(learner: Learner, parameters: Parameters) -> str:
    """How the model differs from the agreed one; empty if it does not."""
    agreed = learner.initial() | learner.buffers()
    for name in sorted(agreed.keys() | parameters.keys()):
        if name not in parameters:
            return f"{name} is missing"
        if name not in agreed:
            return f"it has {name}, which was not agreed"
        if agreed[name].shape != parameters[name].shape:
            return f"{name} is {tuple(parameters[name].shape)}, not {tuple(agreed[name].shape)}"
    return ""


def _linear(learner: Learner, parameters: Parameters) -> dict[str, Tensor]:
    """The weights of linear layers with at least four neurons, and the last one."""
    named = [
        (name, parameters[f"{name}.weight"])
        for name, layer in learner.module.named_modules()
        if isinstance(layer, nn.Linear) and f"{name}.weight" in parameters
    ]
    last = named[-1][0] if named else ""
    return {name: weight for name, weight in named if len(weight) >= 4 or name == last}


def _layer(weight: np.ndarray, bias: Tensor | None) -> dict[str, float]:
    """The numbers of one layer."""
    norms = np.linalg.norm(weight, axis=1)
    live = norms > 0
    directions = weight[live][:MOST_NEURONS] / norms[live][:MOST_NEURONS, None]
    close = np.abs(directions @ directions.T) > ALIKE if len(directions) > 1 else np.zeros((1, 1), dtype=bool)
    copies = float((close.sum(1) > 1).mean()) if weight.shape[1] > 2 and len(weight) >= 4 else 0.0
    drawn = 1 / np.sqrt(3 * weight.shape[1])
    typical = np.sqrt((weight**2).mean()) or 1e-30
    offsets = np.zeros(1) if bias is None else np.abs(bias.double().numpy())[live] / norms[live]
    return {
        "copies": copies,
        "zeros": float((weight == 0).mean()),
        "sizes": float(np.log10(norms[live].max() / norms[live].min())) if live.sum() > 1 else 0.0,
        "scale": float(abs(np.log10(typical / drawn))),
        "biases": float(offsets.max(initial=0.0)),
    }


def _moved(now: Tensor, before: Tensor) -> float:
    size = float(before.double().norm())
    return float((now.double() - before.double()).norm()) / (size or 1e-30)


def _on_rows(learner: Learner, parameters: Parameters, rows: Tensor, hidden: list[str]) -> dict[str, float]:
    """What the neurons of hidden layers say of the client's own rows."""
    seen: dict[str, Tensor] = {}

    def keep(name: str, output: Tensor) -> None:
        if output.dim() == 2:  # one number of a neuron for a row; tokens of a transformer have several
            seen[name] = output.detach()

    hooks = [
        learner.module.get_submodule(name).register_forward_hook(
            lambda _module, _inputs, output, name=name: keep(name, output)
        )
        for name in hidden
    ]
    try:
        with torch.no_grad():
            learner.outputs(parameters, rows.float())
    finally:
        for hook in hooks:
            hook.remove()
    return {
        "echoes": max((_share_echoing(each.double().numpy()) for each in seen.values()), default=0.0),
        "alone": max((_share_alone((each > 0).numpy()) for each in seen.values()), default=0.0),
    }


def _share_echoing(outputs: np.ndarray) -> float:
    """The share of neurons that are a line of another one on these rows: weights may hide that, rows do not."""
    if len(outputs) < FEWEST_ROWS:
        return 0.0
    centred = outputs[:, :MOST_NEURONS] - outputs[:, :MOST_NEURONS].mean(0)
    sizes = np.linalg.norm(centred, axis=0)
    live = centred[:, sizes > 1e-30] / sizes[sizes > 1e-30]
    if live.shape[1] < 4:
        return 0.0
    return float(((np.abs(live.T @ live) > SAME).sum(1) > 1).mean())


def _share_alone(fires: np.ndarray) -> float:
    """(rows, neurons) which fire; the share of rows that one neuron, or two neighbours by count, single out."""
    order = np.argsort(fires.sum(0), kind="stable")
    sorted_ = np.concatenate([np.zeros((len(fires), 1), dtype=bool), fires[:, order]], axis=1)
    between = sorted_[:, 1:] ^ sorted_[:, :-1]
    singles = np.concatenate([between[:, between.sum(0) == 1], fires[:, fires.sum(0) == 1]], axis=1)
    return float(singles.any(1).mean())
