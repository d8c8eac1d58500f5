"""Optimisers of local steps, and what a server does with the mean change, by name."""

from __future__ import annotations

from seepage.federation.servers import Mean, Momentum, fedadam, fedyogi
from seepage.models.optimisers import SGD, Adam, adamw
from seepage.models.own_loss import TaskLoss
from seepage.plans.part import Part

_ROWS = ("rows",)
_REDDI = "Reddi et al., Adaptive Federated Optimization, ICLR 2021"

CRITERIA = (Part(name="task", make=TaskLoss, works_on=_ROWS, about="Cross-entropy, or the squared error."),)
OPTIMISERS = (
    Part(name="sgd", make=SGD, works_on=_ROWS, about="Gradient descent, with momentum and weight decay if asked for."),
    Part(
        name="adam",
        make=Adam,
        works_on=_ROWS,
        about="Steps in units of the slopes' own size.",
        paper="Kingma and Ba, Adam, ICLR 2015",
    ),
    Part(
        name="adamw",
        make=adamw,
        works_on=_ROWS,
        about="Adam, with weight decay beside the step.",
        paper="Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019",
    ),
)
SERVERS = (
    Part(name="mean", make=Mean, works_on=_ROWS, about="The mean change is added."),
    Part(
        name="fedavgm",
        make=Momentum,
        works_on=_ROWS,
        about="The server keeps moving in the direction of earlier rounds.",
        paper="Hsu et al., Measuring the Effects of Non-Identical Data Distribution, 2019",
        main="momentum",
    ),
    Part(
        name="fedadam",
        make=fedadam,
        works_on=_ROWS,
        about="The server steps in units of the changes' own size.",
        paper=_REDDI,
        main="rate",
    ),
    Part(
        name="fedyogi",
        make=fedyogi,
        works_on=_ROWS,
        about="FedAdam, with squares that grow slowly.",
        paper=_REDDI,
        main="rate",
    ),
)
