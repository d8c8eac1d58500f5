"""Advice: which settings are safe enough, and what they cost. Every number comes from runs of the study of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seepage._core.lazily import lazily

if TYPE_CHECKING:
    from seepage.advice.advising import Advice as Advice
    from seepage.advice.limits import Limits as Limits

__all__ = ["Advice", "Limits"]

__getattr__ = lazily(__name__, {"Advice": "advising", "Limits": "limits"})
