"""Advice: which settings are safe enough, and what they cost. Every number comes from runs of the study of rows."""

from __future__ import annotations
