"""Small runs of every study, smaller than those of the common tests: a campaign repeats them thousands of times."""

from __future__ import annotations

import contextlib
import io
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import tomli_w

from seepage._core import InputError
from seepage.report import write_report
from seepage.results import Run, read_summary
from seepage.runs import Plan, make_plan, read_plan, run
from tests import cases
from tests.faults.tally import Tally

SMALL: dict[str, dict[str, Any]] = {
    "rows": {
        "model": "linear",
        "batch_sizes": [2, 3],
        "attacks": ["inverting_gradients:steps=2"],
        "attack_points": ["initialized"],
        "exposure": 0,
        "trials": 2,
        "clients": 2,
        "reveal": True,
    },
    "property": {
        "property": "smoker == 'yes'",
        "classes": [2],
        "losses": ["nll"],
        "models_per_class": 12,
        "rows_per_model": 20,
        "pools": "shared",
    },
    "vertical": {"people": 20, "batch_sizes": [3], "trials": 2, "reveal": True},
    "training": {
        "guests": 2,
        "rows": 60,
        "designs": ["tabvfl"],
        "latent": 2,
        "pretraining": 1,
        "finetuning": 1,
        "batch_size": 32,
        "runs": 1,
        "evaluate": False,
        "privacy": False,
    },
    "parties": {
        "guests": 2,
        "rows": 60,
        "attacks": ["known_rows", "gradient_norm"],
        "known_labels": 2,
        "latent": 2,
        "pretraining": 0,
        "finetuning": 1,
        "batch_size": 32,
        "predictions": 1,
        "runs": 1,
    },
    "cohorts": {
        "clients": 4,
        "rows_each": 1,
        "cohort_sizes": [2],
        "rounds": [1, 2],
        "attacks": ["rows_of_sum:steps=2:restarts=1:start_steps=2:starts=1", "lone_entries"],
        "trials": 1,
    },
    "updates": {"attacks": ["inverting_gradients:steps=2"], "simulations": 1, "reveal": True},
}


def small_plan(study: str, folder: Path, *, table: Path | None = None, **more: Any) -> Plan:
    """The small plan of a study, with its table in a folder."""
    table = table or folder / "table.csv"
    if not table.exists():
        folder.mkdir(parents=True, exist_ok=True)
        cases.frame().write_csv(table)
    if study == "updates":
        more["capture"] = cases.captured(folder / "capture", table)
    file = folder / f"{study}.toml"
    file.write_text(tomli_w.dumps({"study": study, "data": str(table), "target": "target"} | SMALL[study] | more))
    return make_plan(read_plan(file))


def finished(plan: Plan, out: Path) -> str:
    """Run a plan as the command line does, to the report; returns what a user is told, empty if all went well."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")  # damage is told by warnings
        try:
            run(plan, out=out, command="")
            write_report(Run.open(out))
        except InputError as error:
            return str(error)
    return ""


def result(out: Path) -> tuple[pl.DataFrame, str, list[str]]:
    """All that a finished run says, but for clocks: its records, its summary, its other files with digests."""
    frame = Run(out).frame().drop("seconds").collect()
    frame = frame.filter(~pl.col("metric").fill_null("").is_in(["seconds", "memory_mb"]))
    summary = read_summary(Run(out))
    cells = [cell.model_dump_json(exclude={"metrics", "seconds", "values"}) for cell in summary.cells]
    kept = Run(out).digests_of("files") | Run(out).digests_of("revealed") | Run(out).digests_of("model")
    return frame.sort(frame.columns), "\n".join(cells), [f"{name} {known}" for name, known in kept.items()]


def gone_on_with(plan: Plan, out: Path, whole: Path, story: str, tally: Tally) -> None:
    """Go on with a run that something happened to: it must end as one that nothing happened to."""
    told = finished(plan, out)
    if told:
        tally.bad("lost", f"{story}: {told}")
    elif not same(result(out), result(whole)):
        tally.bad("different", story)


def same(one: tuple[pl.DataFrame, str, list[str]], other: tuple[pl.DataFrame, str, list[str]]) -> bool:
    """Whether two runs say the same."""
    return one[0].equals(other[0]) and one[1:] == other[1:]
