"""Health Heritage and Law School with the columns that TabLeak has.

Facts about the columns are those of the authors' public code (eth-sri/tableak); the code is ours.
"""

from __future__ import annotations

import struct
from pathlib import Path

import polars as pl

from seepage._core import InputError
from seepage.data.frames import as_frame, read_frame
from seepage.data.readers import undo_onehot
from seepage.data.schema import Kind

HEALTH_NUMBERS = (
    "LabCount_total", "LabCount_months", "DrugCount_total", "DrugCount_months", "no_Claims", "no_Providers",
    "no_Vendors", "no_PCPs", "PayDelay_total", "PayDelay_max", "PayDelay_min",
)  # fmt: skip
HEALTH_GROUPS = {"PrimaryConditionGroup": "pcg", "Specialty": "sp", "ProcedureGroup": "pg", "PlaceSvc": "ps"}
HEALTH_KINDS: dict[str, Kind] = {
    **dict.fromkeys(HEALTH_NUMBERS, "numeric"),
    **dict.fromkeys((*HEALTH_GROUPS, "AgeAtFirstClaim", "Sex"), "categorical"),
}
# TabLeak counts these too, which makes 110 inputs; nobody in the aggregated file has them.
HEALTH_ABSENT = {"PrimaryConditionGroup": ("pcg 46",), "ProcedureGroup": ("pg 18",), "AgeAtFirstClaim": ("MISS",),
                 "Sex": ("MISS",)}  # fmt: skip
_MEMBER, _LABEL = "MemberID_t", "Charlson>0"
LAW_COLUMNS = ("lsat", "gpa", "race", "resident", "college", "year", "gender", "admit")
LAW_KINDS: dict[str, Kind] = {"lsat": "numeric", "gpa": "numeric", "race": "categorical", "college": "categorical",
                              "year": "categorical", "resident": "binary", "gender": "binary"}  # fmt: skip


def health_tableak(frame: pl.DataFrame) -> pl.DataFrame:
    """The paper's 17 columns from the counts of a member's year.

    A category of a year's claims is the most frequent one, the first of them where several are; totals are averages
    times how many there are. NOTE[DIFF] the file holds the average delay of payments as a whole number, so its total is
    off by less than one day a claim; and years without any claim, which the authors keep, are not in it.
    """
    needed = ("labCount_ave", "labcount_months", "drugCount_ave", "drugcount_months", "PayDelay_ave", "no_Claims")
    absent = [name for name in (_MEMBER, *needed, _LABEL) if name not in frame.columns]
    if absent:
        raise InputError(f"This is not the Heritage Health table: it has no column {absent[0]!r}.")
    frame = undo_onehot(undo_onehot(frame, "AgeAtFirstClaim", "age_"), "Sex", "sex")
    return frame.select(
        _MEMBER,
        _total("labCount_ave", "labcount_months").alias("LabCount_total"),
        pl.col("labcount_months").alias("LabCount_months"),
        _total("drugCount_ave", "drugcount_months").alias("DrugCount_total"),
        pl.col("drugcount_months").alias("DrugCount_months"),
        *("no_Claims", "no_Providers", "no_Vendors", "no_PCPs"),
        _total("PayDelay_ave", "no_Claims").alias("PayDelay_total"),
        *("PayDelay_max", "PayDelay_min"),
        *(_most_frequent(frame, prefix).alias(name) for name, prefix in HEALTH_GROUPS.items()),
        *("AgeAtFirstClaim", "Sex", _LABEL),
    )


def law_school_tableak(files: tuple[Path, ...]) -> pl.DataFrame:
    """The user's copy of ``lawschs1_1.dta`` (Stata; CSV and Parquet as well): complete rows, the paper's columns."""
    frame = _read(files[0])
    absent = [name for name in LAW_COLUMNS if name not in frame.columns]
    if absent:
        raise InputError(f"{files[0]} is not lawschs1_1: it has no column {absent[0]!r}.")
    return frame.select(LAW_COLUMNS).drop_nulls()


def _read(path: Path) -> pl.DataFrame:
    if path.suffix.lower() != ".dta":
        return read_frame(path)
    try:
        import pandas
    except ImportError:
        raise InputError(f"{path} is a Stata file, which pandas reads; install pandas, or save it as CSV.") from None
    try:
        return as_frame(pandas.read_stata(path))
    except (ValueError, struct.error) as error:
        raise InputError(f"{path} is not a Stata table: {str(error).splitlines()[0]}") from None


def _total(average: str, count: str) -> pl.Expr:
    return (pl.col(average) * pl.col(count)).round().cast(pl.Int64)


def _most_frequent(frame: pl.DataFrame, prefix: str) -> pl.Expr:
    """The group of the largest count, named by its number in the file."""
    groups = [name for name in frame.columns if name.removeprefix(prefix).isdigit() and name.startswith(prefix)]
    if not groups:
        raise InputError(f"This is not the Heritage Health table: it has no columns {prefix}1, {prefix}2, ...")
    place = pl.concat_list(groups).list.arg_max()
    names = pl.Series([f"{prefix} {int(name.removeprefix(prefix)):02d}" for name in groups])
    return place.replace_strict(pl.Series(range(len(groups))), names, return_dtype=pl.String)
