r"""The last linear layer and its gradient: where labels show.

Every model here ends in :math:`z = W h + b` with an embedding :math:`h` of the row. With the residual
:math:`r_i = \partial \ell_i / \partial z_i` of row i, the mean gradient of the last layer is

.. math:: G_b = \tfrac1B \sum_i r_i, \qquad G_W = \tfrac1B \sum_i r_i h_i^\top,

and the residual depends on the label in a known way (p: the model's probabilities, w: the weight of a class):

=====================  =============================================================
one logit              :math:`r = p` for class 0, :math:`w\,(p - 1)` for class 1
softmax                :math:`r = p - e_y`, rows weighted with :math:`w_y / \sum_j w_{y_j}`
squared error          :math:`r = 2\,(z - y)`
=====================  =============================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn

from seepage._core import NotApplicable
from seepage.attacks.attack import USELESS
from seepage.models import Learner, Parameters
from seepage.observation import Observation, gradient_of

NO_HEAD = "The model does not end in a linear layer, where labels could be read."
SILENT = "The gradient of the last layer is zero: the model is certain, or the layer was not sent."
NOT_CLASSES = "The target is a number, not a class; use the restorer for regression."


@dataclass(frozen=True, eq=False)
class Head:
    """The last layer of one observation, in float64.

    Args:
        weight: (outputs, width).
        bias: (outputs,), or None where the layer has none (TabNet).
        weight_gradient, bias_gradient: mean gradients, shaped alike.
        classes: 0 for regression.
        class_weights: (classes,) weights of the classes in the loss.
        steps: local steps that were averaged into the gradients; they are the gradient only if there is one.
    """

    weight: Tensor
    bias: Tensor | None
    weight_gradient: Tensor
    bias_gradient: Tensor | None
    classes: int
    class_weights: Tensor
    steps: int

    @property
    def outputs(self) -> int:
        return len(self.weight)

    @property
    def silent(self) -> bool:
        """Whether nothing of the rows is in these gradients."""
        shown = self.weight_gradient if self.bias_gradient is None else self.bias_gradient
        return not bool(shown.any())

    def residuals(self, z: Tensor) -> Tensor:
        """(rows, classes, outputs) derivatives of a row's loss by its outputs, if it were of each class.

        Args:
            z: (rows, 1 or classes, outputs) the outputs, the same for all classes or not.
        """
        if self.outputs == 1:
            y = torch.arange(2, dtype=z.dtype)[:, None]
            return self.class_weights[:, None] * (z.sigmoid() - y)
        return z.softmax(-1) - torch.eye(self.classes, dtype=z.dtype)

    def shares(self, counts: Tensor) -> Tensor:
        """(..., classes) what each class weighs in the mean gradient, from how many rows it has."""
        # One logit: the weight is in the residual, and the loss is divided by the rows. Softmax: by the weights.
        weighted = counts if self.outputs == 1 else counts * self.class_weights
        return weighted / weighted.sum(-1, keepdim=True)

    def log_probabilities(self, z: Tensor) -> Tensor:
        """(rows, classes) of the model, with the weights of the loss taken out again."""
        logits = torch.cat([torch.zeros_like(z), z], -1) if self.outputs == 1 else z
        return (logits - self.class_weights.log()).log_softmax(-1)


def read_head(observation: Observation) -> Head | str:
    """The last layer, or one sentence that says why it cannot be read.

    For FedAvg the change stands for the gradient, divided by what the local steps make of one
    (``observation/gradient.py``). It is the gradient after one step, and a mean over a moving model after more, for
    which the model :func:`midway` stands.
    """
    if not observation.finite:
        return USELESS
    exchange, learner = observation.exchange, observation.learner
    try:
        gradient, _ = gradient_of(observation)
    except NotApplicable as error:
        return str(error)
    name = output_layer(learner, observation.layout.width)
    if name is None:
        return NO_HEAD
    prefix, parameters = f"{name}." if name else "", midway(observation)

    def both(part: str) -> tuple[Tensor, Tensor] | tuple[None, None]:
        value = parameters.get(prefix + part)
        return (None, None) if value is None else (value.double(), gradient[prefix + part])

    (weight, weight_gradient), (bias, bias_gradient) = both("weight"), both("bias")
    if weight is None or weight_gradient is None:
        return NO_HEAD
    classes = 0 if learner.task == "regression" else max(2, len(weight))
    class_weights = torch.ones(classes, dtype=torch.float64)
    if learner.task == "binary":
        class_weights[1] = learner.positive_weight
    steps = 1 if exchange.protocol == "fedsgd" else exchange.steps
    return Head(weight, bias, weight_gradient, bias_gradient, classes, class_weights, steps)


def midway(observation: Observation) -> Parameters:
    """The model that was sent out or, for many local steps, the mean of those met on a straight way to the last one."""
    steps = observation.exchange.steps
    if observation.exchange.protocol == "fedsgd" or steps <= 1:
        return observation.parameters
    share = (steps - 1) / (2 * steps)
    return {name: value + share * observation.update[name] for name, value in observation.parameters.items()}


def read_class_head(observation: Observation) -> Head | str:
    """As :func:`read_head`, for a target of classes and a gradient that says something."""
    if observation.learner.task == "regression":
        return NOT_CLASSES
    head = read_head(observation)
    return SILENT if isinstance(head, Head) and head.silent else head


@lru_cache(maxsize=8)
def output_layer(learner: Learner, width: int) -> str | None:
    """The name of the linear layer that makes the outputs, or None. It is the last one of the module, and is tried."""
    names = [name for name, layer in learner.module.named_modules() if isinstance(layer, nn.Linear)]
    if not names:
        return None
    parameters, rows = learner.initial(), torch.linspace(-1, 1, width)[None]
    heard, outputs = listen(learner, parameters, rows, names[-1])
    layer = learner.module.get_submodule(names[-1])
    return names[-1] if heard is not None and torch.allclose(layer(heard), outputs, atol=1e-5) else None


def listen(learner: Learner, parameters: Parameters, rows: Tensor, name: str) -> tuple[Tensor | None, Tensor]:
    """Run the model; what came to the entrance of this layer (None if nothing did), and the outputs."""
    heard: list[Tensor] = []

    def ear(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        heard.append(inputs[0].detach())

    handle = learner.module.get_submodule(name).register_forward_pre_hook(ear)
    try:
        with torch.no_grad():
            outputs = learner.outputs(parameters, rows)
    finally:
        handle.remove()
    return (heard[-1] if heard else None), outputs


def lone_embedding(head: Head) -> Tensor | None:
    r"""(width,) the embedding of the only row: every row of :math:`G_W` is :math:`r_k h^\top` and :math:`G_b` is r."""
    if head.bias_gradient is None or head.silent:
        return None
    strongest = int(head.bias_gradient.abs().argmax())
    return head.weight_gradient[strongest] / head.bias_gradient[strongest]


def estimate_note(head: Head) -> str:
    """What to say of a gradient that is none."""
    return "" if head.steps == 1 else f" The mean of {head.steps} local steps is taken for a gradient at their middle."
