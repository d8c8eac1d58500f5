"""How many threads a run computes with: one, unless the user says otherwise.

Two audits side by side on two cores, with two threads each, took eight times as long as with one thread each: threads
that wait for each other burn the time of those they wait for. More cores are used by more processes (``jobs``). A
number that follows the load of the machine would change the last digits from run to run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

ASKED = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")  # a user who sets one of these gets so many


@contextmanager
def own_threads() -> Iterator[None]:
    """One thread while a run computes in this process."""
    before = torch.get_num_threads()
    if not any(os.environ.get(name) for name in ASKED):
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
