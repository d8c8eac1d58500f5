from __future__ import annotations

import pytest
import torch

from seepage._core import InputError, Streams
from seepage.federation.course import server_course
from seepage.models.recipe import Recipe
from seepage.models.stacked_answers import accuracy
from seepage.models.stacked_training import first_weights
from tests.models.test_stacked_training import table

RECIPE = Recipe(hidden=(6,), batch_size=16, rate=0.01)


def test_the_server_s_model_moves_on_and_learns() -> None:
    whole = table(600)
    course = server_course(RECIPE, whole, 400, 6, Streams(0)).rounds(6)
    first = first_weights((whole.width, 6, 2), Streams(0).integer("first weights"))
    assert torch.equal(course[0].weights[0], first.weights[0])
    assert accuracy(course[-1], whole)[0] > accuracy(course[0], whole)[0] + 0.1
    again = server_course(RECIPE, whole, 400, 2, Streams(0)).rounds(2)
    assert torch.equal(again[1].weights[0], course[1].weights[0])


def test_bad_input_is_one_sentence() -> None:
    with pytest.raises(InputError, match="0 rounds; at least 1"):
        server_course(RECIPE, table(20), 5, 0, Streams(0))
