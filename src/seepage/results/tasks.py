"""What a run folder keeps of a task beside its records."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, JsonValue

from seepage.results.facts import Facts, ThreatModel


class TaskDone(Facts):
    """A finished task, or why it could not be run.

    Records and files are named with digests: what a task names is there, and is what was written.
    """

    task: str
    records: Annotated[dict[str, str], Field(description="digests of its record files, by name")] = Field(
        default_factory=dict
    )
    files: Annotated[dict[str, str], Field(description="digests of other files it made, by name")] = Field(
        default_factory=dict
    )
    others: Annotated[
        dict[str, str], Field(description="digests of revealed rows and of a model, by their place in the run folder")
    ] = Field(default_factory=dict)
    facts: Annotated[
        dict[str, list[dict[str, JsonValue]]], Field(description="what the study keeps beside records, by kind")
    ] = Field(default_factory=dict)
    threat_model: ThreatModel | None = None
    versions: Annotated[dict[str, str], Field(description="what it ran on")] = Field(default_factory=dict)
    machine: Annotated[
        dict[str, str], Field(description="what computed it: processor, kernels, threads, compiler, if it compiled")
    ] = Field(default_factory=dict)
    seconds: float = 0.0
    reason: Annotated[str, Field(description="why it cannot be run; empty if it was")] = ""
    error: Annotated[str, Field(description="the internal error that stopped it; such a task is tried again")] = ""
