"""A setting as lines to copy: a plan that repeats the measurement, and what to set in Flower, NVFlare and Opacus."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import tomli_w

from seepage.advice.families import local_dp_noise
from seepage.advice.space import WIDTH, Candidate

_NONE = (
    "# {framework} has no setting of its own for this defence ({defense}): write it yourself, before the update is "
    "sent."
)


def plan_text(values: Mapping[str, Any]) -> str:
    """A plan in TOML, for ``seepage audit --plan``.

    Example:
        >>> print(plan_text({"data": "clinic", "trials": 60, "target": None}).strip())
        data = "clinic"
        trials = 60
    """
    return tomli_w.dumps({name: _plain(value) for name, value in values.items() if value not in (None, (), {}, [])})


def framework_lines(candidate: Candidate) -> dict[str, str]:
    """What to set in each framework for this setting; where there is no such setting, that is said. Opacus is DP-SGD.

    Example:
        >>> lines = framework_lines(Candidate(defense="dp_sgd:clip=1:noise=2"))
        >>> "noise_multiplier=2" in lines["Opacus"]
        True
    """
    found = {"Flower": _flower(candidate), "NVFlare": _nvflare(candidate)}
    return {**found, "Opacus": _opacus(candidate)} if candidate.family == "dp_sgd" else found


def _flower(candidate: Candidate) -> str:
    epochs = f" local-epochs={candidate.local_epochs}" if candidate.local_epochs else ""
    lines = [f'flwr run . --run-config "batch-size={candidate.batch_size}{epochs}"']
    lines += ["# The names are those that your client reads from context.run_config."]
    return "\n".join([*lines, *_one_step(candidate), *_model(candidate), *_in_flower(candidate)])


def _flower_epsilon(epsilon: float) -> float:
    """What makes Flower add the noise that an epsilon really needs: its formula is the classic bound, for below 1.

    Example:
        >>> round(_flower_epsilon(100.0), 1)
        51.2
    """
    return 2 * math.sqrt(2 * math.log(1.25 / 1e-5)) / local_dp_noise(epsilon)


def _in_flower(candidate: Candidate) -> list[str]:
    if candidate.plain:
        return []
    if candidate.family == "gaussian_noise":
        return [
            *_change(candidate),
            f"noisy = [each + numpy.random.normal(0.0, {candidate.strength:g}, each.shape) for each in update]",
            _send(candidate),
        ]
    if candidate.family == "dp_sgd":
        return ["# The client trains with Opacus: see the lines for it."]
    if candidate.family == "local_dp" and candidate.strength is not None:
        return [
            "from flwr.clientapp.mod import LocalDpMod",
            "",
            "rate = 0.01  # your learning rate: Flower sends weights, which one step changes by rate x gradient",
            "app = ClientApp(mods=[LocalDpMod(clipping_norm=1.0 * rate, sensitivity=2.0 * rate, "
            f"epsilon={_flower_epsilon(candidate.strength):.3g}, delta=1e-5)])",
            f"# With this epsilon Flower adds the noise that was measured. Its own formula for {candidate.strength:g} "
            "holds only below 1, and would add another.",
        ]
    if candidate.family == "dp_fedavg" and candidate.strength is not None:
        return [
            *_change(candidate),
            "length = numpy.sqrt(sum(float((each**2).sum()) for each in update))",
            "short = [each * min(1.0, 1.0 / max(length, 1e-12)) for each in update]",
            f"noisy = [each + numpy.random.normal(0.0, {candidate.strength:g}, each.shape) for each in short]",
            _send(candidate),
        ]
    return [_NONE.format(framework="Flower", defense=candidate.defense)]


def _change(candidate: Candidate) -> list[str]:
    """What is covered, made of the weights before and after local training: as it was measured.

    FedSGD was measured on gradients. In FedAvg the change of the weights itself is cut and covered.
    """
    if candidate.local_epochs:
        return [
            "# In the ClientApp, with the weights before and after local training:",
            "update = [new - old for old, new in zip(before, after, strict=True)]",
        ]
    return [
        "# In the ClientApp. Measured with plain SGD, which changes weights by rate x gradient; not for Adam.",
        "rate = 0.01  # your learning rate",
        "update = [(old - new) / rate for old, new in zip(before, after, strict=True)]  # weights around the step",
    ]


def _send(candidate: Candidate) -> str:
    """The weights that go into the message."""
    moved = "old + each" if candidate.local_epochs else "old - rate * each"
    return f"send = [{moved} for old, each in zip(before, noisy, strict=True)]  # what goes into the message"


def _nvflare(candidate: Candidate) -> str:
    epochs = f" --epochs {candidate.local_epochs}" if candidate.local_epochs else ""
    lines = [f'train_args = "--batch_size {candidate.batch_size}{epochs}"  # of the recipe']
    lines += ["# The names are those that your training script reads."]
    return "\n".join([*lines, *_one_step(candidate), *_model(candidate), *_in_nvflare(candidate)])


def _in_nvflare(candidate: Candidate) -> list[str]:
    if candidate.plain:
        return []
    if candidate.family == "dp_sgd":
        return ["# The training script trains with Opacus: see the lines for it."]
    if candidate.family == "top_k" and candidate.strength is not None:
        return [
            "from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy",
            "",
            "recipe.add_client_output_filter(",
            f'    PercentilePrivacy(percentile={100 * (1 - candidate.strength):g}, gamma=1000.0), tasks=["train"]',
            ")",
            "# The nearest that NVFlare has: its percentile is of all weights; a large gamma cuts no change.",
        ]
    if candidate.family == "first_layer_withheld":
        return [
            "from nvflare.app_common.filters import ExcludeVars",
            "",
            'recipe.add_client_output_filter(ExcludeVars(exclude_vars=["0.weight", "0.bias"]), tasks=["train"])',
            "# The names are those of your model's first layer, which must stay as it was drawn.",
        ]
    return [_NONE.format(framework="NVFlare", defense=candidate.defense)]


def _opacus(candidate: Candidate) -> str:
    options = dict(part.partition("=")[::2] for part in candidate.defense.split(":")[1:])
    return "\n".join(
        [
            "from opacus import PrivacyEngine",
            "",
            "model, optimizer, loader = PrivacyEngine().make_private(",
            "    module=model, optimizer=optimizer, data_loader=loader,",
            f"    noise_multiplier={options.get('noise', '1')}, max_grad_norm={options.get('clip', '1')},",
            ")",
            f"# The loader's batch size is {candidate.batch_size}. `seepage dp check` recomputes epsilon of your file.",
        ]
    )


def _one_step(candidate: Candidate) -> list[str]:
    """FedSGD is no setting of the frameworks: the client's code decides it."""
    if candidate.local_epochs:
        return [f"# Measured with FedAvg, {4 * candidate.batch_size} rows a client and round, plain SGD."]
    return [
        f"# Measured with ONE step on {candidate.batch_size} rows between two messages (FedSGD): end the local loop "
        "after its first batch.",
        "# What a client sends after more steps is another kind of update, and was not measured.",
    ]


def _model(candidate: Candidate) -> list[str]:
    return [] if candidate.width == WIDTH else [f"# In your model: hidden layers of {candidate.width}."]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str) else str(value)
