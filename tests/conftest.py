"""Shared by all tests."""

from __future__ import annotations

import torch

# The suite runs in two processes on two cores, and its tensors are tiny: more threads only wait for each other.
torch.set_num_threads(1)
