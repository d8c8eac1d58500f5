"""The server's model over the rounds of a federation of many clients."""

from __future__ import annotations

import numpy as np
import torch

from seepage._core import InputError, Streams
from seepage.models.encoded import Encoded
from seepage.models.recipe import Recipe
from seepage.models.stack import Stack
from seepage.models.stacked_training import first_weights, train_stack


def server_course(recipe: Recipe, table: Encoded, count: int, rounds: int, streams: Streams) -> Stack:
    """The model that the server sends out in each round, chained.

    Between two rounds it moves on as a federation of many clients moves it: by a training on other clients' rows. What
    the one client whose updates are read adds to it is left out; among many clients it is little.

    Args:
        recipe: how clients train.
        table: rows of the other clients.
        count: rows behind each round.
        rounds: how many.
        streams: of the first weights and of the rows of each round.
    """
    if rounds < 1:
        raise InputError(f"There are {rounds} rounds; at least 1 is needed.")
    models = [first_weights((table.width, *recipe.hidden, table.classes), streams.integer("first weights"))]
    for number in range(1, rounds):
        rows = streams.numpy("rows", number).permutation(len(table))[: min(count, len(table))]
        chosen = torch.from_numpy(np.ascontiguousarray(rows))[None]
        models.append(train_stack(recipe, table, chosen, [streams.integer("order", number)], start=models[-1]))
    return Stack.chained(models)
