"""Small files as people write them: misconfigurations of kinds seen in public repositories, and right ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Case:
    """Files of one federation, what is known of it, and the checks that must find something wrong (none if right)."""

    name: str
    files: dict[str, str]
    known: dict[str, Any] = field(default_factory=dict)
    wrong: frozenset[str] = frozenset()
    given: dict[str, str] = field(default_factory=dict)


OPACUS = """
from opacus import PrivacyEngine
from torch.utils.data import DataLoader

{before}
engine = PrivacyEngine({engine})
model, optimizer, train_loader = engine.{call}(
    module=model, optimizer=optimizer, data_loader=train_loader, {arguments}
)
"""


def opacus(arguments: str, *, call: str = "make_private", before: str = "", engine: str = "secure_mode=True") -> str:
    return OPACUS.format(arguments=arguments, call=call, before=before, engine=engine)


def svt(**arguments: object) -> str:
    import json

    entry = {"path": "nvflare.app_common.filters.svt_privacy.SVTPrivacy", "args": arguments}
    return json.dumps({"format_version": 2, "task_result_filters": [{"tasks": ["train"], "filters": [entry]}]})


ROWS = {"rows": 10_000, "batch_size": 100, "rounds": 1, "local_epochs": 5, "delta": 1e-6}
CENTRAL = """
from flwr.serverapp.strategy import FedAvg, {kind}

strategy = {kind}(FedAvg(fraction_train=0.5), {arguments})
"""


def central(kind: str, arguments: str) -> str:
    return CENTRAL.format(kind=f"DifferentialPrivacy{kind}", arguments=arguments)


MISCONFIGURED = [
    Case(
        name="sensitivity 10,000 times below the clip, called epsilon 10",
        files={"client_app.py": "mod = LocalDpMod(clipping_norm=1.0, sensitivity=0.0001, epsilon=10.0, delta=1e-5)"},
        known={"rounds": 1},
        wrong=frozenset({"sensitivity", "claim"}),
    ),
    Case(
        name="the budget of a run given to every message",
        files={
            "client_app.py": "CLIP = 1.0\nEPSILON = 8.0  # total privacy budget\nDELTA = 1e-5\n"
            "mod = LocalDpMod(CLIP, 1.0, EPSILON, DELTA)",
        },
        known={"rounds": 30},
        wrong=frozenset({"composition", "claim"}),
    ),
    Case(
        name="a new engine in every round, each with the whole target",
        files={
            "client.py": opacus(
                "epochs=1, target_epsilon=3.0, target_delta=1e-6, max_grad_norm=1.0",
                call="make_private_with_epsilon",
                engine="accountant='rdp', secure_mode=True",
            )
        },
        known={"rows": 10_000, "batch_size": 100, "rounds": 50},
        wrong=frozenset({"composition", "claim"}),
    ),
    Case(
        name="a percentile filter called differential privacy",
        files={
            "config_fed_client.json": '{"format_version": 2, "task_result_filters": [{"tasks": ["train"], "filters": [{'
            '"path": "nvflare.app_common.filters.percentile_privacy.PercentilePrivacy", "args": {"percentile": 10}}]}]}'
        },
        known={"claims": 1.0},
        wrong=frozenset({"no guarantee"}),
    ),
    Case(
        name="the sparse vector technique with its release left at the default",
        files={"config_fed_client.json": svt(fraction=0.1, epsilon=0.1)},
        known={"parameters": 10_000, "rounds": 1},
        wrong=frozenset({"release", "claim"}),
    ),
    Case(
        name="delta is one over the number of batches",
        files={
            "train.py": opacus(
                "epochs=3, target_epsilon=2.0, target_delta=DELTA, max_grad_norm=0.1",
                call="make_private_with_epsilon",
                before="DELTA = 1 / len(train_loader)",
                engine="accountant='rdp', secure_mode=True",
            )
        },
        known={"rows": 10_000, "batch_size": 100, "rounds": 1},
        wrong=frozenset({"delta"}),
    ),
    Case(
        name="no clip at all",
        files={"train.py": opacus("noise_multiplier=1.0, max_grad_norm=float('inf')")},
        known=ROWS | {"claims": 3.0},
        wrong=frozenset({"clip", "claim"}),
    ),
    Case(
        name="no noise unless somebody types it",
        files={
            "train.py": opacus(
                "noise_multiplier=args.sigma, max_grad_norm=1.0",
                before="parser.add_argument('--sigma', type=float, default=0.0)\nargs = parser.parse_args()",
            )
        },
        known=ROWS,
        wrong=frozenset({"noise", "claim"}),
    ),
    Case(
        name="a strategy with next to no noise, said to protect from the server",
        files={"server_app.py": central("ServerSideFixedClipping", "0.01, 2.0, num_sampled_clients=3")},
        known={"rounds": 10, "delta": 1e-5, "against": "server"},
        wrong=frozenset({"server", "claim"}),
    ),
    Case(
        name="noise divided over clients whose messages are all seen",
        files={
            "server.py": "strategy = DPFedAvgFixed(FedAvg(), num_sampled_clients=100, clip_norm=1.0, "
            "noise_multiplier=4.0, "
            "server_side_noising=False)\nclient = DPFedAvgNumPyClient(client)"
        },
        known={"rounds": 10, "delta": 1e-5},
        wrong=frozenset({"divided noise", "claim"}),
    ),
    Case(
        name="BatchNorm beside gradients of rows",
        files={
            "model.py": "net = nn.Sequential(nn.Linear(9, 9), nn.BatchNorm1d(9))",
            "train.py": opacus("noise_multiplier=1.1, max_grad_norm=1.0"),
        },
        known=ROWS | {"claims": 3.0},
        wrong=frozenset({"batch norm"}),
    ),
    Case(
        name="Laplace noise made for an L2 clip",
        files={
            "dp.toml": '[dp]\nmechanism = "laplace"\nunit = "client"\nnoise = 2.0\nclip = 1.0\nepsilon = 1.0\n'
            "parameters = 5000\nrounds = 1\ndelta = 1e-6"
        },
        wrong=frozenset({"norm", "claim"}),
    ),
    Case(
        name="shuffled batches accounted as drawn ones",
        files={"train.py": opacus("noise_multiplier=1.0, max_grad_norm=1.0, poisson_sampling=False")},
        known=ROWS | {"claims": 1.5},
        wrong=frozenset({"claim"}),
    ),
    Case(
        name="delta above one over the rows",
        files={"client_app.py": "mod = LocalDpMod(1.0, 2.0, 0.9, 0.01)"},
        known={"rounds": 1, "rows": 5000},
        wrong=frozenset({"delta"}),
    ),
    Case(
        name="a promise for rows sold as one for hospitals",
        files={"train.py": opacus("noise_multiplier=1.1, max_grad_norm=1.0")},
        known=ROWS | {"claims": 3.0, "unit": "client"},
        wrong=frozenset({"unit"}),
    ),
    Case(
        name="adaptive clipping with too few clients for its count",
        files={"server_app.py": central("ServerSideAdaptiveClipping", "noise_multiplier=1.0, num_sampled_clients=10")},
        known={"rounds": 5, "delta": 1e-5, "against": "outsiders"},
        wrong=frozenset({"adaptive clip"}),
    ),
    Case(
        name="the smaller sensitivity of a table of one's own",
        files={
            "dp.toml": '[dp]\nmechanism = "gaussian"\nunit = "client"\nnoise = 0.01\nclip = 1.0\nsensitivity = 0.001\n'
            "epsilon = 5.0\nepsilon_of = 'round'\nrounds = 20\ndelta = 1e-6"
        },
        wrong=frozenset({"sensitivity", "composition", "claim"}),
    ),
    Case(
        name="noise divided by more clients than take part",
        files={"server_app.py": central("ServerSideFixedClipping", "4.0, 1.0, 100")},
        known={"rounds": 10, "delta": 1e-5, "against": "outsiders", "clients": 100, "claims": 4.0},
        wrong=frozenset({"sampled clients", "claim"}),
    ),
    Case(
        name="a target that promises nothing",
        files={
            "train.py": opacus(
                "epochs=5, target_epsilon=1e6, target_delta=1e-6, max_grad_norm=1.0", call="make_private_with_epsilon"
            )
        },
        known={"rows": 10_000, "batch_size": 100, "rounds": 1},
        wrong=frozenset({"claim"}),
    ),
    Case(
        name="layers left out, and nothing else",
        files={"job.py": "job.to_clients(ExcludeVars(exclude_vars=['head']), filter_type=FilterType.TASK_RESULT)"},
        wrong=frozenset({"no guarantee"}),
    ),
]

RIGHT = [
    Case(
        name="one message with noise for twice the clip",
        files={"client_app.py": "mod = LocalDpMod(clipping_norm=1.0, sensitivity=2.0, epsilon=0.9, delta=1e-6)"},
        known={"rounds": 1, "rows": 10_000},
    ),
    Case(
        name="a budget that is divided over rounds",
        files={
            "client_app.py": "class Privacy:\n    clip = 0.5\n    epsilon = 0.2\n\n"
            "mod = LocalDpMod(Privacy.clip, 2 * Privacy.clip, Privacy.epsilon, 1e-6)"
        },
        known={"rounds": 50, "claims": 2.0},
    ),
    Case(
        name="DP-SGD with Poisson batches",
        files={"train.py": opacus("noise_multiplier=1.1, max_grad_norm=1.0")},
        known=ROWS | {"claims": 2.0},
    ),
    Case(
        name="a target epsilon for one training",
        files={
            "train.py": opacus(
                "epochs=5, target_epsilon=3.0, target_delta=1e-6, max_grad_norm=1.0", call="make_private_with_epsilon"
            )
        },
        known={"rows": 10_000, "batch_size": 100, "rounds": 1},
    ),
    Case(
        name="a target epsilon whose noise Opacus finds by Rényi",
        files={
            "train.py": opacus(
                "epochs=5, target_epsilon=3.0, target_delta=1e-6, max_grad_norm=1.0",
                call="make_private_with_epsilon",
                engine="accountant='rdp', secure_mode=True",
            )
        },
        known={"rows": 10_000, "batch_size": 100, "rounds": 1},
    ),
    Case(
        name="noise of the server, for those who get the model",
        files={"server_app.py": central("ServerSideFixedClipping", "4.0, 1.0, 20")},
        known={"rounds": 10, "delta": 1e-5, "against": "outsiders", "claims": 4.0},
    ),
    Case(
        name="clipping at the clients, with its mod",
        files={
            "server_app.py": central(
                "ClientSideFixedClipping", "noise_multiplier=4.0, clipping_norm=1, num_sampled_clients=20"
            ),
            "client_app.py": "app = ClientApp(mods=[fixedclipping_mod])",
        },
        known={"rounds": 10, "delta": 1e-5, "against": "outsiders"},
    ),
    Case(
        name="adaptive clipping with many clients",
        files={"server_app.py": central("ServerSideAdaptiveClipping", "noise_multiplier=3.0, num_sampled_clients=500")},
        known={"rounds": 10, "delta": 1e-5, "against": "outsiders", "claims": 6.0},
    ),
    Case(
        name="the sparse vector technique with a budget for sending",
        files={"config_fed_client.json": svt(fraction=0.1, epsilon=0.1, epsilon_release=0.3)},
        known={"rounds": 5, "claims": 2.0},
    ),
    Case(
        name="layers left out beside a mechanism",
        files={
            "job.py": "job.to_clients(SVTPrivacy(epsilon=0.1, epsilon_release=0.3))\njob.to_clients(ExcludeVars('bn'))"
        },
        known={"rounds": 2, "claims": 0.9},
    ),
    Case(
        name="plain words: drawn batches",
        files={
            "dp.toml": '[dp]\nformat = 1\nmechanism = "gaussian"\nunit = "row"\nnoise_multiplier = 1.1\nclip = 1.0\n'
            'sampling = "poisson"\nrows = 10000\nbatch_size = 100\nlocal_epochs = 5\n'
            "rounds = 1\ndelta = 1e-6\nepsilon = 2.0"
        },
    ),
    Case(
        name="plain words: Laplace noise and an L1 clip",
        files={
            "dp.toml": '[dp]\nmechanism = "laplace"\nunit = "client"\nnoise = 40.0\nclip = 1.0\nclip_by = "l1"\n'
            "rounds = 10\ndelta = 1e-6\nepsilon = 0.5"
        },
    ),
    Case(
        name="shuffled batches, accounted without drawing",
        files={"train.py": opacus("noise_multiplier=2.0, max_grad_norm=1.0, poisson_sampling=False")},
        known=ROWS | {"claims": 8.0},
    ),
    Case(
        name="settings in Flower's project file",
        files={
            "pyproject.toml": "[tool.flwr.app.config]\nnum-server-rounds = 10\nnoise-multiplier = "
            "4.0\nclipping-norm = 1.0",
            "server_app.py": "noise = context.run_config['noise-multiplier']\nclip: float = "
            "context.run_config['clipping-norm']\n"
            + central("ServerSideFixedClipping", "noise_multiplier=noise, clipping_norm=clip, num_sampled_clients=20"),
        },
        known={"delta": 1e-5, "against": "outsiders", "claims": 4.0},
    ),
    Case(
        name="noise divided over clients of whom only the sum is seen",
        files={
            "server.py": "strategy = DPFedAvgFixed(FedAvg(), 100, 1.0, noise_multiplier=4.0, "
            "server_side_noising=False)",
            "client.py": "app = ClientApp(mods=[secaggplus_mod])\nclient = DPFedAvgNumPyClient(client)",
        },
        known={"rounds": 10, "delta": 1e-5, "claims": 4.0},
    ),
    Case(
        name="an argument that the user says",
        files={"train.py": opacus("noise_multiplier=cfg.noise, max_grad_norm=1.0")},
        known=ROWS | {"claims": 2.0},
        given={"noise_multiplier": "1.1"},
    ),
]
