"""MIMIC-IV: from the user's own copy of the hosp/ tables to one row per admission, for in-hospital mortality.

A row holds only what is known when the patient is admitted: who he is, how he comes, and what is on file from
stays that had ended by then. Nothing of the stay itself goes in: no discharge, no diagnosis of this stay
(MIMIC codes them after the discharge), no time of death, no later visit.

Needed files: ``hosp/patients``, ``hosp/admissions``, ``hosp/diagnoses_icd`` as ``.csv`` or ``.csv.gz``, as
PhysioNet gives them out (v2 or v3). Access: https://physionet.org/content/mimiciv/.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from seepage._core import InputError, Streams
from seepage.data.charlson import GROUPS, groups_of
from seepage.data.schema import Kind, Schema
from seepage.data.splitting import Splits, split_by_group
from seepage.data.table import Table

TARGET = "died_in_hospital"
CATEGORICAL = (
    "gender", "admission_type", "admission_location", "insurance", "language", "marital_status", "race",
    "weekday",
)  # fmt: skip
FACTS = (
    "age", "hour", "hours_in_emergency", "previous_admissions", "previous_emergencies",
    "admissions_last_month", "admissions_last_year", "previous_days", "mean_previous_days",
    "days_since_discharge", "last_went_home", "previous_diagnoses",
)  # fmt: skip

_PATIENTS = ("subject_id", "gender", "anchor_age", "anchor_year")
_ADMISSIONS = (
    "subject_id", "hadm_id", "admittime", "dischtime", "admission_type", "admission_location",
    "discharge_location", "insurance", "language", "marital_status", "race", "edregtime",
    "hospital_expire_flag",
)  # fmt: skip
_DIAGNOSES = ("subject_id", "hadm_id", "icd_code", "icd_version")
TIME = "%Y-%m-%d %H:%M:%S"


def mimic_frame(folder: Path, *, rows: int = 30_000, seed: int = 0, codes: int = 182, adult: int = 18) -> pl.DataFrame:
    """One row per admission of adults: identifiers, 8 categories, numbers, history flags and
    ``died_in_hospital``.

    NOTE[DIFF] the profiling study has 211 other numeric columns (``mimic_study.py``). Here 12 facts, 17 Charlson groups
    and the 182 most frequent earlier diagnoses (three-character ICD categories) make the same number.

    Args:
        folder: the copy of MIMIC-IV, or its ``hosp`` folder.
        rows: at most so many admissions; whole patients are drawn, only the last one is cut.
        seed: of the draw.
        codes: how many of the most frequent earlier diagnoses become history flags.
        adult: the least age at admission.
    """
    if rows < 1 or codes < 0:
        raise InputError(f"A MIMIC-IV cohort of {rows} rows and {codes} codes cannot be made.")
    hosp = hosp_of(folder)
    patients = scan(hosp, "patients", _PATIENTS).collect()
    admissions = _admissions(hosp)
    stays = _stays(admissions, patients).filter(pl.col("age") >= adult)
    if stays.height == 0:
        raise InputError(f"{hosp} has no admission of a patient of at least {adult} years.")
    chosen = _draw(stays, rows, seed)
    earlier = _earlier(chosen, admissions)
    history = _history(hosp, earlier, codes)
    flags = [name for name in history.columns if name.startswith("history_")]
    frame = chosen.join(_facts(earlier), on="hadm_id", how="left").join(history, on="hadm_id", how="left")
    # NOTE[DIFF] none: as in the profiling study a number that is not there (no earlier stay) is 0.
    numbers = pl.col(*FACTS, *flags).fill_null(0)
    frame = frame.with_columns(numbers).sort("subject_id", "admittime", "hadm_id")
    return frame.select("subject_id", "hadm_id", *CATEGORICAL, *FACTS, *flags, TARGET)


def mimic_kinds(frame: pl.DataFrame) -> dict[str, Kind]:
    """Which columns are numbers: the facts and, as in the profiling study, the history flags."""
    return {name: "numeric" for name in frame.columns if name in FACTS or name.startswith("history_")}


def mimic_splits(frame: pl.DataFrame, schema: Schema, generator: np.random.Generator) -> Splits:
    """70/15/15 by patient: nobody is in two parts."""
    return split_by_group(Table.from_frame(frame, schema), frame["subject_id"].to_numpy(), generator)


def hosp_of(folder: Path) -> Path:
    """The folder of the hospital's tables in a copy of MIMIC-IV."""
    return folder / "hosp" if (folder / "hosp").is_dir() else folder


def scan(hosp: Path, name: str, columns: tuple[str, ...]) -> pl.LazyFrame:
    """Some columns of one file, as text and not yet read."""
    found = [path for suffix in ("csv", "csv.gz") if (path := hosp / f"{name}.{suffix}").is_file()]
    if not found:
        raise InputError(f"{hosp} is not MIMIC-IV's hosp folder: it has no {name}.csv or {name}.csv.gz.")
    frame = pl.scan_csv(found[0], infer_schema=False, null_values=[""], glob=False)
    try:
        names = frame.collect_schema().names()
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{found[0]} is not a CSV table: {str(error).splitlines()[0]}") from None
    absent = [column for column in columns if column not in names]
    if absent:
        raise InputError(f"{found[0]} is not MIMIC-IV's {name}: it has no column {', '.join(map(repr, absent))}.")
    return frame.select(columns)


def _admissions(hosp: Path) -> pl.DataFrame:
    times = pl.col("admittime", "dischtime", "edregtime").str.to_datetime(TIME)
    try:
        return scan(hosp, "admissions", _ADMISSIONS).with_columns(times).collect()
    except pl.exceptions.PolarsError as error:
        raise InputError(f"MIMIC-IV's admissions in {hosp} cannot be read: {str(error).splitlines()[0]}") from None


def _stays(admissions: pl.DataFrame, patients: pl.DataFrame) -> pl.DataFrame:
    """Admissions with what is known about the patient at the door."""
    whole = patients.with_columns(pl.col("anchor_age", "anchor_year").cast(pl.Int64))
    waited = (pl.col("admittime") - pl.col("edregtime")).dt.total_minutes() / 60
    weekday = pl.col("admittime").dt.strftime("%a")
    return admissions.join(whole, on="subject_id").select(
        "subject_id",
        "hadm_id",
        "admittime",
        *(name for name in CATEGORICAL if name != "weekday"),
        weekday.alias("weekday"),
        (pl.col("anchor_age") + pl.col("admittime").dt.year() - pl.col("anchor_year")).alias("age"),
        pl.col("admittime").dt.hour().cast(pl.Int64).alias("hour"),
        # Registered after the admission means that it was not known by then.
        pl.when(waited >= 0).then(waited.round(2)).alias("hours_in_emergency"),
        pl.col("hospital_expire_flag").cast(pl.Int64).alias(TARGET),
    )


def _draw(stays: pl.DataFrame, rows: int, seed: int) -> pl.DataFrame:
    """The stays of randomly ordered patients, until there are enough."""
    subjects = stays["subject_id"].unique().sort()
    order = Streams(seed).child("mimic").numpy("subjects").permutation(len(subjects))
    ranks = pl.DataFrame({"subject_id": subjects, "_rank": order})
    return stays.join(ranks, on="subject_id").sort("_rank", "admittime", "hadm_id").head(rows).drop("_rank")


def _earlier(chosen: pl.DataFrame, admissions: pl.DataFrame) -> pl.DataFrame:
    """Pairs (a chosen stay, a stay of the same patient that had ended before it began)."""
    before = admissions.select(
        "subject_id",
        pl.col("hadm_id").alias("before_id"),
        pl.col("admittime").alias("before_in"),
        pl.col("dischtime").alias("before_out"),
        pl.col("admission_type").alias("before_type"),
        pl.col("discharge_location").alias("before_went"),
    )
    pairs = chosen.select("subject_id", "hadm_id", "admittime").join(before, on="subject_id")
    return pairs.filter((pl.col("before_out") < pl.col("admittime")) & (pl.col("before_id") != pl.col("hadm_id")))


def _facts(earlier: pl.DataFrame) -> pl.DataFrame:
    """Numbers about the earlier stays, one row per chosen stay that has any."""
    since = (pl.col("admittime") - pl.col("before_out")).dt.total_hours() / 24
    days = (pl.col("before_out") - pl.col("before_in")).dt.total_hours() / 24
    last = pl.col("before_went").sort_by("before_out", "before_id").last()
    return earlier.group_by("hadm_id").agg(
        pl.len().cast(pl.Int64).alias("previous_admissions"),
        # "EW EMER.", "DIRECT EMER." and "URGENT" are MIMIC-IV's words.
        pl.col("before_type").str.contains("EMER|URGENT").sum().cast(pl.Int64).alias("previous_emergencies"),
        (since <= 30).sum().cast(pl.Int64).alias("admissions_last_month"),
        (since <= 365).sum().cast(pl.Int64).alias("admissions_last_year"),
        days.sum().round(2).alias("previous_days"),
        days.mean().round(2).alias("mean_previous_days"),
        since.min().round(2).alias("days_since_discharge"),
        last.str.contains("HOME").fill_null(False).cast(pl.Int64).alias("last_went_home"),
    )


def _history(hosp: Path, earlier: pl.DataFrame, codes: int) -> pl.DataFrame:
    """History flags and the number of diagnoses on file, one row per chosen stay that has an earlier one."""
    stays = earlier.select(pl.col("before_id").unique())
    diagnoses = (
        scan(hosp, "diagnoses_icd", _DIAGNOSES)
        .select(pl.col("hadm_id").alias("before_id"), pl.col("icd_code").str.strip_chars(), "icd_version")
        .filter(pl.col("icd_code").is_not_null())
        .join(stays.lazy(), on="before_id", how="semi")
        .unique()
        .collect()
    )
    pairs = earlier.select("hadm_id", "before_id")
    counts = pairs.join(diagnoses, on="before_id").group_by("hadm_id")
    counted = counts.agg(pl.struct("icd_code", "icd_version").n_unique().cast(pl.Int64).alias("previous_diagnoses"))
    features = diagnoses.join(_features(diagnoses), on=["icd_code", "icd_version"])
    long = pairs.join(features.select("before_id", "feature").unique(), on="before_id")
    long = long.select("hadm_id", "feature").unique()
    names = [*(f"history_{group}" for group in GROUPS), *_most_frequent(long, codes)]
    flags = [(pl.col("feature") == name).any().cast(pl.Int64).alias(name) for name in names]
    wide = long.filter(pl.col("feature").is_in(names)).group_by("hadm_id").agg(flags)
    return counted.join(wide, on="hadm_id", how="left")


def _features(diagnoses: pl.DataFrame) -> pl.DataFrame:
    """Every code that occurs, with the features it sets: its Charlson groups and its three-character
    category.
    """
    rows = []
    for code, version in diagnoses.select("icd_code", "icd_version").unique().sort("icd_version", "icd_code").rows():
        names = [f"history_{group}" for group in groups_of(code, int(version))]
        rows += [(code, version, name) for name in (*names, f"history_icd{version}_{code[:3]}")]
    return pl.DataFrame(
        rows, schema={"icd_code": pl.String, "icd_version": pl.String, "feature": pl.String}, orient="row"
    )


def _most_frequent(long: pl.DataFrame, codes: int) -> list[str]:
    """The diagnosis categories that most chosen stays have on file; names decide between equals."""
    only = long.filter(pl.col("feature").str.starts_with("history_icd"))
    counts = only.group_by("feature").len().sort(["len", "feature"], descending=[True, False])
    return sorted(counts["feature"].head(codes).to_list())
