"""The conformance suite: what an attack, defence, model, reader, loss or data set promises, checked on tiny instances.

Ours pass it, and a part of your own should too. In a test of your package:

    from seepage.testing import check_attack

    def test_my_attack():
        check_attack(MyAttack(steps=5))

Every check raises an ``AssertionError`` with one sentence about the promise that is broken.
"""

from seepage.testing.attacks import check_attack, check_vertical_attack
from seepage.testing.datasets import check_dataset
from seepage.testing.defenses import check_defense
from seepage.testing.models import check_model
from seepage.testing.readers import check_loss, check_reader
from seepage.testing.scenes import tiny_observations, tiny_stream, tiny_table

__all__ = [
    "check_attack",
    "check_dataset",
    "check_defense",
    "check_loss",
    "check_model",
    "check_reader",
    "check_vertical_attack",
    "tiny_observations",
    "tiny_stream",
    "tiny_table",
]
