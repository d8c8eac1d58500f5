"""Named set-ups: what federations of a kind really do, as defaults that a user may change one by one.

Sources: Kairouz et al., Advances and Open Problems in Federated Learning, 2021, table 1 (cross-silo: 2 to 100 reliable
clients; cross-device: very many, of which a part takes part in a round); Ogier du Terrail et al., FLamby, NeurIPS 2022
(cross-silo sets of 2 to 6 hospitals, from hundreds to thousands of rows, local epochs of Adam or SGD); McMahan et al.,
Communication-Efficient Learning of Deep Networks, 2017 (cross-device: a tenth of the clients in a round, five passes in
batches of ten, SGD).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Scenario = Literal["worst_case", "cross_silo", "cross_device"]

SCENARIOS: dict[str, dict[str, object]] = {
    "worst_case": {},  # one small batch behind every update, plain descent: what is there without asking
    "cross_silo": {
        "protocol": "fedavg",
        "clients": 5,
        "batch_sizes": (64,),
        "local_rows": "all",
        "local_epochs": 2,
        "optimiser": "adam",
        "learning_rate": 0.001,
        "exposure": 40.0,  # 20 rounds of two passes
        "attacks": ("exact", "presence", "counts"),
    },
    "cross_device": {
        "protocol": "fedavg",
        "clients": 50,
        "participation": 0.2,
        "batch_sizes": (10,),
        "local_rows": 20,
        "only_local_rows": True,
        "local_epochs": 5,
        "learning_rate": 0.05,
        "exposure": 20.0,
        "attacks": ("exact", "presence", "counts"),
    },
}
assert set(SCENARIOS) == set(get_args(Scenario))


def with_scenario(values: Mapping[str, object]) -> dict[str, object]:
    """Settings with what their scenario adds; what was said stays."""
    name = values.get("scenario", "worst_case")
    added = dict(SCENARIOS.get(name, {})) if isinstance(name, str) else {}
    if values.get("partition") == "column":  # then a column makes the clients
        added.pop("clients", None)
    return {**added, **values}
