"""MIMIC-IV as the profiling study has it: 8 categories, 8 numbers, 100 diagnoses, 100 medications and 3 counts.

Which columns these are is in the study's public code (scaleoutsystems/tabular-GIA, its third tier); how they are made
here is ours. An earlier stay is one that began before this one, whether or not it had ended: that is the study's rule,
where ``mimic.py`` asks for the end.

Needed files: those of ``mimic.py``, ``hosp/prescriptions`` and ``hosp/procedures_icd``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from seepage._core import InputError, Streams
from seepage.data.mimic import TARGET, TIME, hosp_of, scan
from seepage.data.schema import Kind

CATEGORICAL = (
    "gender", "admission_type", "admission_location", "insurance", "language", "marital_status", "race",
    "anchor_year_group",
)  # fmt: skip
NUMBERS = (
    "age", "hour", "weekday", "came_by_emergency", "hours_in_emergency", "hours_from_emergency",
    "previous_admissions", "previous_deaths",
)  # fmt: skip
COUNTS = ("previous_diagnoses", "previous_medications", "previous_procedures")
FLAGS = ("diagnosis_", "medication_")
OLDEST = 120

_PATIENTS = ("subject_id", "gender", "anchor_age", "anchor_year", "anchor_year_group")
_ADMISSIONS = (
    "subject_id", "hadm_id", "admittime", "admission_type", "admission_location", "insurance", "language",
    "marital_status", "race", "edregtime", "edouttime", "hospital_expire_flag",
)  # fmt: skip


def mimic_study_frame(folder: Path, *, rows: int = 30_000, seed: int = 0, kept: int = 100) -> pl.DataFrame:
    """One row per admission: identifiers, 8 categories, 8 numbers, 3 counts, flags and ``died_in_hospital``.

    NOTE[DIFF] the study takes the most frequent diagnoses and medications of its training part; parts are drawn later
    here, so they are those of all rows. It draws admissions with as many deaths as there are in all, and so does this;
    which ones cannot be repeated. Its history is that of rows it drew, ours that of all stays.

    Args:
        folder: the copy of MIMIC-IV, or its ``hosp`` folder.
        rows: at most so many admissions.
        seed: of the draw.
        kept: how many of the most frequent diagnoses, and of medications, become flags.
    """
    if rows < 1 or kept < 0:
        raise InputError(f"A MIMIC-IV cohort of {rows} rows and {kept} flags of each kind cannot be made.")
    hosp = hosp_of(folder)
    stays = _stays(hosp)
    if stays.height == 0:
        raise InputError(f"{hosp} has no admission with a known outcome.")
    chosen = _drawn(stays, rows, seed)
    before = stays.select("subject_id", pl.col("hadm_id").alias("before_id"), "admittime", TARGET)
    pairs = chosen.select("subject_id", "hadm_id", pl.col("admittime").alias("begun")).join(before, on="subject_id")
    pairs = pairs.filter(pl.col("admittime") < pl.col("begun"))
    past = pairs.group_by("hadm_id").agg(
        pl.len().cast(pl.Int64).alias("previous_admissions"),
        pl.col(TARGET).sum().cast(pl.Int64).alias("previous_deaths"),
    )
    frame = chosen.join(past, on="hadm_id", how="left")
    code = pl.concat_str("icd_version", pl.lit("_"), pl.col("icd_code").str.strip_chars())
    for name, columns, concept, count, prefix in (
        ("diagnoses_icd", ("hadm_id", "icd_code", "icd_version"), code, COUNTS[0], FLAGS[0]),
        ("prescriptions", ("hadm_id", "drug"), pl.col("drug"), COUNTS[1], FLAGS[1]),
        ("procedures_icd", ("hadm_id", "icd_code", "icd_version"), code, COUNTS[2], ""),
    ):
        events = _events(scan(hosp, name, columns), concept, chosen, pairs)
        frame = frame.join(_history(events, chosen, pairs, count, prefix, kept), on="hadm_id", how="left")
    flags = sorted(name for name in frame.columns if name.startswith(FLAGS))
    numbers = pl.col(*NUMBERS, *COUNTS, *flags).fill_null(0)
    frame = frame.with_columns(numbers).sort("subject_id", "admittime", "hadm_id")
    return frame.select("subject_id", "hadm_id", *CATEGORICAL, *NUMBERS, *COUNTS, *flags, TARGET)


def mimic_study_kinds(frame: pl.DataFrame) -> dict[str, Kind]:
    """Which columns are numbers: all that are no categories, flags too."""
    return {name: "numeric" for name in frame.columns if name in (*NUMBERS, *COUNTS) or name.startswith(FLAGS)}


def _stays(hosp: Path) -> pl.DataFrame:
    """Admissions with what is known at the door."""
    patients = scan(hosp, "patients", _PATIENTS).with_columns(pl.col("anchor_age", "anchor_year").cast(pl.Int64))
    times = pl.col("admittime", "edregtime", "edouttime").str.to_datetime(TIME)
    registered, left = pl.col("edregtime"), pl.col("edouttime")
    age = pl.col("anchor_age") + pl.col("admittime").dt.year() - pl.col("anchor_year")
    try:
        return (
            scan(hosp, "admissions", _ADMISSIONS)
            .with_columns(times)
            .join(patients, on="subject_id")
            .filter(pl.col("hospital_expire_flag").is_in(["0", "1"]))
            .with_columns(
                age.clip(0, OLDEST).alias("age"),
                pl.col("admittime").dt.hour().cast(pl.Int64).alias("hour"),
                (pl.col("admittime").dt.weekday().cast(pl.Int64) - 1).alias("weekday"),
                (registered.is_not_null() & left.is_not_null()).cast(pl.Int64).alias("came_by_emergency"),
                _hours(left - registered).alias("hours_in_emergency"),
                _hours(pl.col("admittime") - registered).alias("hours_from_emergency"),
                pl.col("hospital_expire_flag").cast(pl.Int64).alias(TARGET),
            )
            .collect()
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"MIMIC-IV's admissions in {hosp} cannot be read: {str(error).splitlines()[0]}") from None


def _hours(between: pl.Expr) -> pl.Expr:
    return (between.dt.total_minutes() / 60).round(2)


def _drawn(stays: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    """Admissions, with the share of deaths that all have."""
    if stays.height <= rows:
        return stays
    ordered = stays.sort("subject_id", "admittime", "hadm_id")
    random, outcomes = Streams(seed).child("mimic").numpy("admissions"), ordered[TARGET].to_numpy()
    deaths = np.flatnonzero(outcomes == 1)
    dead = min(round(rows * len(deaths) / stays.height), len(deaths))
    parts = [random.permutation(deaths)[:dead], random.permutation(np.flatnonzero(outcomes == 0))[: rows - dead]]
    return ordered[np.sort(np.concatenate(parts))]


def _events(table: pl.LazyFrame, concept: pl.Expr, chosen: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """What was noted in the stays that matter: (stay, concept), once for every note."""
    needed = pl.concat([chosen["hadm_id"], pairs["before_id"]]).unique()
    events = table.select("hadm_id", concept.alias("concept")).filter(pl.col("concept").is_not_null())
    return events.join(pl.LazyFrame({"hadm_id": needed}), on="hadm_id", how="semi").collect()


def _history(
    events: pl.DataFrame, chosen: pl.DataFrame, pairs: pl.DataFrame, count: str, prefix: str, kept: int
) -> pl.DataFrame:
    """Notes of earlier stays: how many, and whether each frequent concept is among them; a row per stay with any."""
    earlier = pairs.select("hadm_id", "before_id").join(events, left_on="before_id", right_on="hadm_id")
    known = earlier.group_by("hadm_id").agg(pl.len().cast(pl.Int64).alias(count))
    if not prefix:
        return known
    own = events.join(chosen.select("hadm_id"), on="hadm_id", how="semi")["concept"].value_counts()
    frequent = own.sort(["count", "concept"], descending=[True, False])["concept"].head(kept).to_list()
    flags = [(pl.col("concept") == each).any().cast(pl.Int64).alias(f"{prefix}{each}") for each in frequent]
    return known.join(earlier.group_by("hadm_id").agg(flags), on="hadm_id", how="left") if flags else known
