"""The model of the federation, how a row enters it, and how a hospital trains."""

import numpy as np
import polars as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NUMBERS = {
    "age": (60.0, 18.0),
    "previous_admissions": (1.5, 2.0),
    "hours_in_emergency": (6.0, 4.0),
    "heart_rate": (85.0, 18.0),
    "systolic_pressure": (125.0, 22.0),
}
CATEGORIES = {
    "sex": ["female", "male"],
    "admission_type": ["elective", "emergency", "observation", "surgical", "transfer"],
    "insurance": ["none", "other", "private", "public"],
    "language": ["Chinese", "English", "Haitian", "Portuguese", "Russian", "Spanish"],
    "ward": ["cardiology", "intensive", "medicine", "neurology", "oncology", "surgery"],
}
WIDTH = len(NUMBERS) + sum(map(len, CATEGORIES.values()))


class Net(nn.Module):
    """A small net for tables."""

    def __init__(self, width=WIDTH):
        super().__init__()
        hidden = [nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU()]
        self.layers = nn.Sequential(*hidden, nn.Linear(32, 1))

    def forward(self, rows):
        return self.layers(rows)


def load_data(file, batch_size, seed):
    """A hospital's rows in batches, as the net takes them."""
    table = pl.read_csv(file)
    columns = [(table[name].to_numpy() - shift) / scale for name, (shift, scale) in NUMBERS.items()]
    columns += [(table[name] == value).to_numpy() for name, values in CATEGORIES.items() for value in values]
    rows = torch.from_numpy(np.column_stack(columns).astype(np.float32))
    labels = torch.from_numpy(table["died"].to_numpy().astype(np.float32))
    shuffled = torch.Generator().manual_seed(seed)
    return DataLoader(TensorDataset(rows, labels), batch_size=batch_size, shuffle=True, generator=shuffled)


def train(net, batches, epochs, learning_rate):
    """Train the net on the rows of a hospital."""
    optimiser = torch.optim.SGD(net.parameters(), lr=learning_rate)
    loss_of = nn.BCEWithLogitsLoss()
    for _ in range(epochs):
        for rows, labels in batches:
            optimiser.zero_grad()
            loss = loss_of(net(rows)[:, 0], labels)
            loss.backward()
            optimiser.step()
    return loss.item()


def build(inputs):
    """The net as Seepage asks for it."""
    return Net(inputs.width)
