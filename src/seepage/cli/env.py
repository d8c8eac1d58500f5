"""`seepage env`: what this installation is, for bug reports."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version

import typer

PACKAGES = (
    "seepage",
    "torch",
    "numpy",
    "scipy",
    "scikit-learn",
    "polars",
    "pytorch-tabnet",
    "rtdl_revisiting_models",
)


def env(as_json: bool = typer.Option(False, "--json", help="Print JSON.")) -> None:
    """Show versions, and what computes here: processor, kernels, threads, compiler."""
    import torch

    from seepage.runs.machine import machine

    facts: dict[str, str | int] = {"python": platform.python_version(), "platform": platform.platform()}
    for name in PACKAGES:
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            facts[name] = "not installed"
    facts["cores"] = os.cpu_count() or 1
    facts |= machine()
    facts["cuda"] = "available" if torch.cuda.is_available() else "not available"
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        typer.echo(f"{name.ljust(width)}  {value}")
