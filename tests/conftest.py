"""Shared by all tests."""

from __future__ import annotations

import os

import torch

# The suite runs in two processes on two cores, and its tensors are tiny: more threads only wait for each other.
# `make test-portable` tries two all the same: sums are then made in another order.
torch.set_num_threads(int(os.environ.get("SEEPAGE_TEST_THREADS", "1")))
if not os.environ.get("ATEN_CPU_CAPABILITY", "unset"):
    del os.environ["ATEN_CPU_CAPABILITY"]  # empty: the machine's own
