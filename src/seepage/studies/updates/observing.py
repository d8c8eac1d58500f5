"""From a captured update to what an attack is shown: the same object that a simulation hands out."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from seepage._core import InputError
from seepage.captures import CaptureFacts, Entry, Tensors
from seepage.captures.tensors import COUNTER
from seepage.data import Encoder, Statistics
from seepage.federation.space import space_of
from seepage.models import Learner, LocalTraining, Parameters
from seepage.models.optimisers import SGD, Adam, Optimiser
from seepage.observation import Exchange, Knowledge, Observation
from seepage.results.tallies import TALLYING
from seepage.studies.parts import make_parts
from seepage.studies.updates.settings import UpdatesSettings
from seepage.studies.updates.source import CapturedUpdates, Case


def parts_of(source: CapturedUpdates, settings: UpdatesSettings) -> tuple[Encoder, Learner]:
    """The encoder and the federation's model; its weights come with every update."""
    return make_parts(
        source,
        settings,
        settings.model,
        study="updates",
        seed=settings.seed,
        standardise_onehot=settings.standardise_onehot,
    )


def knowledge_of(source: CapturedUpdates, settings: UpdatesSettings) -> Knowledge:
    """What the attacker is given beside the updates. A preprocessing that all clients share is the server's own."""
    return Knowledge(
        labels=settings.labels_known,
        ranges=settings.ranges_known,
        whole=settings.whole_known,
        statistics=settings.statistics == "table" or source.preprocessing is not None,
    )


def shared_statistics(source: CapturedUpdates, settings: UpdatesSettings, encoder: Encoder) -> Statistics | None:
    """The statistics with which all clients scale: what they share, or a public table's; None if each has its own."""
    return encoder.statistics(source.table) if knowledge_of(source, settings).statistics else None


def why_not(case: Case, attack: str) -> str:
    """Why an attack cannot replay how these updates came about; empty if it can."""
    facts = case.facts
    missing = facts.missing(case.entries[0].kind)
    if missing:
        return f"The capture does not say the {' and the '.join(name.replace('_', ' ') for name in missing)}."
    if facts.rows % case.batch_size and attack.partition(":")[0] not in TALLYING:
        whole = f"no whole number of batches of {case.batch_size}"
        return f"The {facts.rows} rows are {whole}, which no attack on rows replays."
    return ""


def exchange_of(case: Case) -> Exchange:
    """The rules of the round, as the server wrote them."""
    facts = case.facts
    if case.protocol == "fedsgd":
        return Exchange(protocol="fedsgd", rows=facts.rows, batch_size=facts.rows, covered=facts.covered)
    return Exchange(
        protocol="fedavg",
        rows=facts.rows // case.batch_size * case.batch_size,  # a last, smaller batch is not replayed
        batch_size=case.batch_size,
        local_epochs=facts.local_epochs,
        learning_rate=facts.learning_rate or 0.0,
        same_order=facts.local_order == "kept",
        training=training_of(facts),
        covered=facts.covered,
    )


def thinned(labels: Tensor, rows: int) -> Tensor:
    """So many labels, in ascending order and of all classes alike: which rows a last, smaller batch has is not told."""
    places = (torch.arange(rows, dtype=torch.float64) + 0.5) * len(labels) / rows
    return labels.sort().values[places.long()]


def training_of(facts: CaptureFacts) -> LocalTraining:
    """How the client took its local steps."""
    own = {"beta1": facts.beta1, "beta2": facts.beta2, "epsilon": facts.epsilon, "weight_decay": facts.weight_decay}
    optimiser: Optimiser = (
        SGD(momentum=facts.momentum, nesterov=facts.nesterov, weight_decay=facts.weight_decay)
        if facts.optimiser == "sgd"
        else Adam(**own, decoupled=facts.optimiser == "adamw")
    )
    return LocalTraining(optimiser=optimiser, schedule=facts.schedule, clip=facts.clip, proximal=facts.proximal)


def observations_of(
    source: CapturedUpdates, settings: UpdatesSettings, case: Case, encoder: Encoder, learner: Learner
) -> list[Observation]:
    """The updates of a case, as a server saw them."""
    space = space_of(encoder, shared_statistics(source, settings, encoder), knowledge_of(source, settings))
    labels = None
    if settings.labels_known:
        assert source.truth is not None
        labels = thinned(torch.from_numpy(source.truth.target), exchange_of(case).rows)
    mixing = in_training_mode(learner, case)
    return [
        Observation(
            learner=mixing or with_buffers(learner, entry),
            space=space,
            parameters=parameters,
            update=update,
            exchange=exchange_of(case),
            labels=labels,
            buffers=running(mixing, entry.before()),
            moved=running(mixing, entry.update()),
        )
        for entry in case.entries
        for parameters, update in [fitted_tensors(entry, learner, settings.model)]
    ]


def in_training_mode(learner: Learner, case: Case) -> Learner | None:
    """The model with BatchNorm in training mode; None if it has none, or its clients keep the stored statistics."""
    if case.facts.batch_norm == "stored" or not any(isinstance(each, _BatchNorm) for each in learner.module.modules()):
        return None
    return replace(learner, module=copy.deepcopy(learner.module), batch_statistics=True)


def running(learner: Learner | None, tensors: Tensors) -> Parameters:
    """The running statistics among these tensors, where they were sent."""
    names = learner.buffers() if learner is not None else {}
    return {name: tensor(tensors[name]) for name in names if name in tensors}


def fitted_tensors(entry: Entry, learner: Learner, model: str) -> tuple[Parameters, Parameters]:
    """The weights that a client was sent and its update, if they are the model's; one sentence if not."""
    before, update = entry.before(), entry.update()
    wanted = learner.initial()
    check_fits(before, wanted, learner, model, f"round {entry.round} of {entry.client}")
    absent = [name for name in wanted if name not in update]
    if absent:
        raise InputError(f"What {entry.client} sent in round {entry.round} has no {absent[0]!r}, which {model!r} has.")
    return {name: tensor(before[name]) for name in wanted}, {name: tensor(update[name]) for name in wanted}


def check_fits(before: Tensors, wanted: Mapping[str, Tensor], learner: Learner, model: str, where: str) -> None:
    """Stop with a sentence at weights that are not those of the model."""
    buffers = dict(learner.module.named_buffers())
    absent = [name for name in wanted if name not in before]
    extra = [name for name in before if name not in wanted and name not in buffers]
    if absent or extra:
        told = f"it has no {absent[0]!r}" if absent else f"it has {extra[0]!r}, the model has not"
        raise InputError(
            f"The weights of {where} are not those of the model {model!r}: {told}. Say the federation's own model "
            "and its options (--model, --model-option)."
        )
    for name, value in {**wanted, **{key: each for key, each in buffers.items() if key in before}}.items():
        if before[name].shape != tuple(value.shape):
            raise InputError(
                f"The weights of {where} are not those of the model {model!r}: {name!r} has the shape "
                f"{before[name].shape}, in the model {tuple(value.shape)}."
            )


def with_buffers(learner: Learner, entry: Entry) -> Learner:
    """The model with the running statistics that were sent out, where it has any."""
    names = [name for name, _ in learner.module.named_buffers() if not name.endswith(COUNTER)]
    if not names:
        return learner
    before = entry.before()
    module = copy.deepcopy(learner.module)
    module.load_state_dict({name: tensor(before[name]) for name in names if name in before}, strict=False)
    return replace(learner, module=module)


def tensor(value: np.ndarray) -> Tensor:
    """An array as a tensor of its own."""
    return torch.from_numpy(value.copy())


def swapped(observation: Observation) -> Observation:
    """The same update read backwards: as if the weights before were those after."""
    later = {name: value + observation.update[name] for name, value in observation.parameters.items()}
    back = {name: -value for name, value in observation.update.items()}
    buffers = {
        name: value + observation.moved[name] for name, value in observation.buffers.items() if observation.moved
    }
    moved = {name: -value for name, value in observation.moved.items()}
    return replace(observation, parameters=later, update=back, buffers=buffers, moved=moved)
