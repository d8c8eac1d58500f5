"""What computes: facts of a machine that change the last digits of a number, and nothing that tells whose it is."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

import torch

from seepage.models.compiling import compiler

FIXED = "MKL_CBWR"  # a user who sets this gets one order of sums on every processor


def machine() -> dict[str, str]:
    """Processor, kernels, threads and compiler, as they are now."""
    kernels = torch.backends.cpu.get_cpu_capability()
    if order := os.environ.get(FIXED):
        kernels += f", {FIXED}={order}"
    return {
        "processor": processor(),
        "kernels": kernels,
        "threads": str(torch.get_num_threads()),
        "compiler": compiler(),
    }


@cache
def processor() -> str:
    """The processor's name, as it gives it itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
