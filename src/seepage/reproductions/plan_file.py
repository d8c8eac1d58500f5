"""Plan files whose keys are the fields of a dataclass: vertical training, property inference."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from seepage._core import unknown_name

PLANS = Path(__file__).parent / "plans"


def read_values(paper: str, name: str, kind: type, beside: Sequence[str]) -> dict[str, Any]:
    """The values of ``plans/<paper>/<name>.toml``: fields of ``kind``, lists as tuples, and those ``beside`` them."""
    values = tomllib.loads((PLANS / paper / f"{name}.toml").read_text(encoding="utf-8"))
    known = (*(field.name for field in fields(kind)), *beside)
    for key in values:
        if key not in known:
            raise unknown_name(f"key in the plan {name}.toml:", key, known)
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
