"""What a hospital runs: the loop of NVFlare's quickstart."""

import argparse

import nvflare.client as flare
import torch
from network import Net, load
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True, help="A folder with a file of rows for each site.")
parser.add_argument("--rows", type=int, default=64)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--learning-rate", type=float, default=0.05)
args = parser.parse_args()

flare.init()
site = flare.get_site_name()
rows, labels = load(f"{args.data}/{site}.csv")
rows, labels = rows[: args.rows], labels[: args.rows]
net = Net()
loss_of = nn.BCEWithLogitsLoss()

while flare.is_running():
    received = flare.receive()
    net.load_state_dict({name: torch.as_tensor(value) for name, value in received.params.items()})
    optimiser = torch.optim.SGD(net.parameters(), lr=args.learning_rate)
    shuffled = torch.Generator().manual_seed(received.current_round)
    steps = 0
    for _ in range(args.epochs):
        for batch in torch.randperm(len(rows), generator=shuffled).split(args.batch_size):
            optimiser.zero_grad()
            loss = loss_of(net(rows[batch])[:, 0], labels[batch])
            loss.backward()
            optimiser.step()
            steps += 1
    print(f"{site} round {received.current_round}: loss {loss.item():.3f}")
    flare.send(
        flare.FLModel(
            params=net.state_dict(),
            meta={"NUM_STEPS_CURRENT_ROUND": steps, "rows": len(rows)},
        )
    )
