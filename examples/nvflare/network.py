"""The model of the federation, and how a row enters it."""

import numpy as np
import polars as pl
import torch
from torch import nn

NUMBERS = {"age": (60.0, 18.0), "previous_admissions": (1.5, 2.0), "hours_in_emergency": (6.0, 4.0)}
CATEGORIES = {
    "sex": ["female", "male"],
    "ward": ["cardiology", "intensive", "medicine", "neurology", "oncology", "surgery"],
}
WIDTH = len(NUMBERS) + sum(map(len, CATEGORIES.values()))


class Net(nn.Module):
    """A small net for tables."""

    def __init__(self, width=WIDTH):
        super().__init__()
        torch.manual_seed(0)  # the server builds the net anew from its class, and should begin with the same weights
        self.layers = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, rows):
        return self.layers(rows)


def load(file):
    """A hospital's rows as the net takes them, and their labels."""
    table = pl.read_csv(file)
    columns = [(table[name].to_numpy() - shift) / scale for name, (shift, scale) in NUMBERS.items()]
    columns += [(table[name] == value).to_numpy() for name, values in CATEGORIES.items() for value in values]
    labels = torch.from_numpy(table["died"].to_numpy().astype(np.float32))
    return torch.from_numpy(np.column_stack(columns).astype(np.float32)), labels


def build(inputs):
    """The net as Seepage asks for it."""
    return Net(inputs.width)
