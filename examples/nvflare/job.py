"""The job of the federation: hospitals that train one net by FedAvg."""

import argparse
from pathlib import Path

from network import Net
from nvflare.app_opt.pt.recipes.fedavg import FedAvgRecipe
from nvflare.recipe import PocEnv, SimEnv

from seepage.integrations.nvflare import guard, record

parser = argparse.ArgumentParser()
parser.add_argument("--env", choices=("sim", "poc"), default="sim", help="NVFlare's simulator, or real processes.")
parser.add_argument("--hospitals", type=int, default=3)
parser.add_argument("--rounds", type=int, default=2)
parser.add_argument("--rows", type=int, default=64, help="Rows that a hospital trains on.")
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--learning-rate", type=float, default=0.05)
parser.add_argument("--guard", choices=("log", "warn", "hold"), help="Look at updates before they leave a hospital.")
parser.add_argument(
    "--answer", choices=("error", "empty"), default="error", help="What the server gets if one is held."
)
parser.add_argument("--attack-seconds", type=float, help="Attack each update for so long; else the guard counts.")
args = parser.parse_args()
here = Path.cwd()

recipe = FedAvgRecipe(
    name="hospitals",
    model=Net(),
    min_clients=args.hospitals,
    num_rounds=args.rounds,
    train_script="client.py",
    train_args=f"--data {here} --rows {args.rows} --epochs {args.epochs} --batch-size {args.batch_size} "
    f"--learning-rate {args.learning_rate}",
)

facts = {"batch_size": args.batch_size, "local_epochs": args.epochs, "learning_rate": args.learning_rate}
record(recipe, "capture", **facts)  # Seepage: keep what the server sends and gets
if args.guard:  # Seepage: look at what hospitals send, before it leaves
    guard(
        recipe,
        model="network:build",
        schema="schema.toml",
        preprocessing="preprocessing.toml",
        facts=facts,
        action=args.guard,
        answer=args.answer,
        attack_seconds=args.attack_seconds,
        rows="{site}.csv" if args.attack_seconds else None,
    )

if args.env == "sim":
    env = SimEnv(num_clients=args.hospitals, workspace_root=str(here / "workspace"))
else:
    env = PocEnv(num_clients=args.hospitals, project_conf_path=str(here / "project.yml"))
run = recipe.execute(env)
print(run.get_status())
print(run.get_result())
