"""The server: FedAvg, as Flower's quickstart has it, and two lines of Seepage."""

import torch
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from hospitals.task import Net
from seepage.integrations.flower import record  # Seepage

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    run = context.run_config
    torch.manual_seed(0)
    strategy = FedAvg(fraction_evaluate=0.0, min_train_nodes=3, min_available_nodes=3)
    # Seepage: keep what clients are sent and send, with what the server knows about their training.
    facts = {name: run[name.replace("_", "-")] for name in ("batch_size", "local_epochs", "learning_rate")}
    strategy = record(strategy, run["capture"], **facts)
    strategy.start(grid=grid, initial_arrays=ArrayRecord(Net().state_dict()), num_rounds=run["num-server-rounds"])
