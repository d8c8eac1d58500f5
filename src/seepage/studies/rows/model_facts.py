"""What a model is to a federation and to algebra, found by trial: its size, where rows enter, what it cannot do."""

from __future__ import annotations

from torch.nn.modules.batchnorm import _BatchNorm

from seepage.attacks.exact.view import usable_layers
from seepage.attacks.structure import Structure, structure_of
from seepage.data.source import Source
from seepage.models import Learner, loop_seconds
from seepage.studies.rows.making import model_of
from seepage.studies.rows.settings import RowsSettings


def model_facts(source: Source, settings: RowsSettings, model: str) -> dict[str, str]:
    """Facts as words, by heading, in the order in which they are read."""
    encoder, learner = model_of(source, settings, model, seed=0)
    layout, structure = encoder.layout, structure_of(learner, encoder.layout)
    blocks = f" and {len(layout.sizes)} {'columns of codes' if layout.embedded else 'one-hot blocks'}"
    tensors = len(learner.initial())
    entrances = [layer.name for layer in usable_layers(learner, layout.width) if layer.entrance]
    facts = {
        "takes": f"{layout.width} entries a row: {layout.numeric} numbers{blocks if layout.sizes else ''}",
        "sends": f"{learner.size:,} numbers in {tensors} tensors, {4 * learner.size / 1e6:.2g} MB a client and round",
        "rows enter": _entrance(structure, entrances),
    }
    if structure.deep:
        widths = ", ".join(f"{each.inputs} x {each.directions}" for each in structure.deep)
        facts["further layers"] = f"every row passes these once, too (inputs x directions): {widths}"
    if structure.dropout:
        facts["dropout"] = "is the client's own, so no attacker can replay a step exactly"
    if any(isinstance(layer, _BatchNorm) for layer in learner.module.modules()):
        stored = "uses its stored statistics and does not update them"
        facts["BatchNorm"] = (
            "is in training mode: its running statistics are sent" if learner.batch_statistics else stored
        )
    if learner.abilities.mixes:
        facts["rows"] = "are mixed: what the model says of a row depends on the others of its batch"
    facts["clients"] = _clients(learner, layout.width, settings.batch_sizes[0])
    if learner.abilities.flat:
        facts["second slopes"] = f"cannot be computed, so no attack can match gradients ({learner.abilities.flat})"
    if learner.abilities.coarse:
        facts["float64"] = f"cannot be computed, so algebra does not apply ({learner.abilities.coarse})"
    return facts


def _clients(learner: Learner, width: int, batch_size: int) -> str:
    """How many clients are computed, and what it costs if that is a loop."""
    if learner.vectorised:
        return "are computed in one call"
    first, second = loop_seconds(learner, width, batch_size)
    attacked = f", and {_duration(second)} for each step of an attack's restart" if second else ""
    return (
        f"are computed one by one, as torch.func.vmap cannot take the model ({learner.abilities.loops}): "
        f"{_duration(first)} for each client and local step of {batch_size} rows{attacked}, measured"
    )


def _duration(seconds: float) -> str:
    return f"{1e3 * seconds:.2g} ms" if seconds < 1 else f"{seconds:.2g} s"


def _entrance(structure: Structure, names: list[str]) -> str:
    if structure.entrance is not None:
        depth = structure.entrance
        return (
            f"through a linear layer ({names[0]}: {depth.inputs} inputs{' with the bias' if depth.biased else ''}, "
            f"{depth.directions} directions): batches of fewer rows can be read by algebra"
        )
    if structure.tokens is not None:
        return "through a table for each column: which categories are in a batch can be read, whatever its size"
    if structure.moved:
        return "through a linear layer, after an affine change that is the same for all"
    return "neither through a linear layer nor through tables: algebra has no hold, and optimisation remains"
