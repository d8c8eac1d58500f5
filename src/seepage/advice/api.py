"""One call: a table in, advice out."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from seepage._core import InputError, Progress
from seepage._core.paths import user_path
from seepage._core.scratch import scratch_folder
from seepage.advice.advising import Advice, Question, Workers, answered
from seepage.advice.clock import seconds_of
from seepage.advice.limits import Limits
from seepage.advice.space import read_keep
from seepage.runs.notebook import progress_here


def advise(
    data: Any,
    target: str | None = None,
    *,
    limits: Limits | None = None,
    keep: Mapping[str, object] | None = None,
    budget: str | float = "30m",
    out: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Advice:
    """Find settings that leak little enough and cost little: batch size, defence, local epochs, width.

    Args:
        data: a frame (polars or pandas), a path to a CSV, Excel or Parquet file, or a data set's name.
        target: the column to predict.
        limits: what may be read and what the model must be worth; :class:`seepage.advice.Limits` says what is usual.
        keep: what must stay as it is: ``batch-size``, ``defense``, ``local-epochs`` or ``width``.
        budget: seconds, or a time such as ``"30m"``.
        out: a folder for the runs and the answer; nothing is kept without it. A search that is there is continued.
        progress: called with a label, the work done and the whole. Without it: bars in a notebook, nothing elsewhere.
        options: ``clients``, ``exposure`` and ``seed`` of the search; ``jobs``, ``backend``, ``scheduler`` and
            ``plain_tcp`` of its workers; anything else is said about the table, as in :func:`seepage.audit`.

    Returns:
        The answer: ``print`` shows it in words, ``chosen`` is the setting, ``found.confirmed`` whether every attack was
        run on it, and ``plan`` repeats that.

    Example:
        >>> import seepage
        >>> from seepage.data import clinic
        >>> advice = seepage.advise(clinic(), target="died", budget="30m", out="runs/advice")  # doctest: +SKIP
        >>> print(advice)  # doctest: +SKIP
        >>> seepage.advise("clinic", budget="soon")
        Traceback (most recent call last):
        seepage._core.errors.InputError: --budget 'soon' is not a time: a number above 0 and s, m or h, such as 30m.
    """
    seconds = seconds_of(budget) if isinstance(budget, str) else float(budget)
    if not seconds > 0:
        raise InputError(f"The budget is {budget}; it is a number of seconds above 0, or a time such as 30m.")
    workers = Workers(**{name: options.pop(name) for name in Workers.__dataclass_fields__ if name in options})
    own = {name: options.pop(name) for name in ("clients", "exposure", "seed") if name in options}
    question = Question(
        table={"data": data, "target": target, **options},
        limits=limits or Limits(),
        keep=read_keep({name: str(value) for name, value in (keep or {}).items()}),
        budget=seconds,
        workers=workers,
        **own,
    )
    with ExitStack() as stack:
        told = stack.enter_context(progress_here(progress))
        folder = user_path(out) if out else stack.enter_context(scratch_folder()) / "advice"
        return answered(question, folder, progress=told)
