"""The calls that say something of privacy, with their arguments as the frameworks take them.

Taken from Opacus 1.6, Flower 1.41 (message-based and older strategies, which take the same) and NVFlare 2.9.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from seepage.dp.said import Value


class _Needed:
    """An argument without a default."""


NEEDED: Final = _Needed()


@dataclass(frozen=True, kw_only=True)
class Signature:
    """A call that is known.

    Args:
        framework: whose it is.
        arguments: in the order in which they can be given, each with its default.
        keywords_only: none can be given without its name.
        swallows: other names are taken without a word.
        objects: arguments that are no settings: models, loaders, strategies.
    """

    framework: str
    arguments: dict[str, Value | _Needed]
    keywords_only: bool = False
    swallows: bool = False
    objects: frozenset[str] = field(default_factory=frozenset)


_OBJECTS = {"module", "optimizer", "criterion", "data_loader", "noise_generator", "checkpoint"}
_ENGINE: dict[str, Value | _Needed] = {
    "batch_first": True,
    "loss_reduction": "mean",
    "poisson_sampling": True,
    "clipping": "flat",
    "noise_generator": None,
    "grad_sample_mode": "hooks",
    "wrap_model": True,
    "rand_on_empty": False,
    "target_unclipped_quantile": None,
    "clipbound_learning_rate": None,
    "max_clipbound": None,
    "min_clipbound": None,
    "unclipped_num_std": None,
}
_PLACES: dict[str, Value | _Needed] = dict.fromkeys(("module", "optimizer", "data_loader"), NEEDED)


def _flower(**arguments: Value | _Needed) -> Signature:
    return Signature(
        framework="Flower",
        arguments={"strategy": NEEDED, **arguments},
        objects=frozenset({"strategy", "accountant"}),
    )


_ADAPTIVE: dict[str, Value | _Needed] = {
    "initial_clipping_norm": 0.1,
    "target_clipped_quantile": 0.5,
    "clip_norm_lr": 0.2,
    "clipped_count_stddev": None,
}


def _fixed() -> Signature:
    return _flower(noise_multiplier=NEEDED, clipping_norm=NEEDED, num_sampled_clients=NEEDED, accountant=None)


def _adaptive() -> Signature:
    return _flower(noise_multiplier=NEEDED, num_sampled_clients=NEEDED, **_ADAPTIVE)


def _nvflare(**arguments: Value | _Needed) -> Signature:
    return Signature(
        framework="NVFlare", arguments={**arguments, "data_kinds": None}, objects=frozenset({"data_kinds"})
    )


SIGNATURES: dict[str, Signature] = {
    "make_private": Signature(
        framework="Opacus",
        arguments={**_PLACES, "criterion": None, "noise_multiplier": NEEDED, "max_grad_norm": NEEDED, **_ENGINE},
        keywords_only=True,
        swallows=True,
        objects=frozenset(_OBJECTS),
    ),
    "make_private_with_epsilon": Signature(
        framework="Opacus",
        arguments={
            **_PLACES,
            "criterion": None,
            "target_epsilon": NEEDED,
            "target_delta": NEEDED,
            "epochs": NEEDED,
            "max_grad_norm": NEEDED,
            **_ENGINE,
        },
        keywords_only=True,
        swallows=True,
        objects=frozenset(_OBJECTS),
    ),
    "PrivacyEngine": Signature(
        framework="Opacus", arguments={"accountant": "prv", "secure_mode": False}, keywords_only=True
    ),
    "LocalDpMod": Signature(
        framework="Flower",
        arguments={"clipping_norm": NEEDED, "sensitivity": NEEDED, "epsilon": NEEDED, "delta": NEEDED},
    ),
    "DifferentialPrivacyServerSideFixedClipping": _fixed(),
    "DifferentialPrivacyClientSideFixedClipping": _fixed(),
    "DifferentialPrivacyServerSideAdaptiveClipping": _adaptive(),
    "DifferentialPrivacyClientSideAdaptiveClipping": _adaptive(),
    "DPFedAvgFixed": _flower(
        num_sampled_clients=NEEDED, clip_norm=NEEDED, noise_multiplier=1.0, server_side_noising=True
    ),
    "DPFedAvgAdaptive": _flower(
        num_sampled_clients=NEEDED,
        init_clip_norm=0.1,
        noise_multiplier=1.0,
        server_side_noising=True,
        clip_norm_lr=0.2,
        clip_norm_target_quantile=0.5,
        clip_count_stddev=None,
    ),
    "SVTPrivacy": Signature(
        framework="NVFlare",
        arguments={
            "fraction": 0.1,
            "epsilon": 0.1,
            "noise_var": 0.1,
            "gamma": 1e-5,
            "tau": 1e-6,
            "data_kinds": None,
            "replace": True,
            "epsilon_threshold": None,
            "epsilon_query": None,
            "epsilon_release": None,
        },
        objects=frozenset({"data_kinds"}),
    ),
    "PercentilePrivacy": _nvflare(percentile=10, gamma=0.01),
    "ExcludeVars": Signature(
        framework="NVFlare",
        arguments={"exclude_vars": None, "data_kinds": None},
        objects=frozenset({"exclude_vars", "data_kinds"}),
    ),
    "DXOBlocker": Signature(framework="NVFlare", arguments={}, swallows=True),
    "StatisticsPrivacyFilter": Signature(framework="NVFlare", arguments={}, swallows=True),
    "HEModelEncryptor": Signature(framework="NVFlare", arguments={}, swallows=True),
}
MODS = ("fixedclipping_mod", "adaptiveclipping_mod")
