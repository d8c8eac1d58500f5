"""How each data set's files are read: headers that are missing, one-hot groups that are undone, parts that
are joined.

A reader takes the files of a data set (or the user's one own file) and returns the frame; it never guesses a
schema.
"""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from seepage._core import InputError
from seepage.data.files import EMPTY
from seepage.data.frames import checked, from_text, read_frame

Reader = Callable[[tuple[Path, ...]], pl.DataFrame]

ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    "class",
)  # fmt: skip
ADULT_TEST_ROWS = 16_281  # in the joined file the official test part comes first

CENSUS_COLUMNS = (
    "age", "class of worker", "detailed industry recode", "detailed occupation recode", "education",
    "wage per hour", "enroll in edu inst last wk", "marital stat", "major industry code",
    "major occupation code", "race", "hispanic origin", "sex", "member of a labor union",
    "reason for unemployment", "full or part time employment stat", "capital gains", "capital losses",
    "dividends from stocks", "tax filer stat", "region of previous residence",
    "state of previous residence", "detailed household and family stat",
    "detailed household summary in household", "instance weight", "migration code-change in msa",
    "migration code-change in reg", "migration code-move within reg", "live in this house 1 year ago",
    "migration prev res in sunbelt", "num persons worked for employer", "family members under 18",
    "country of birth father", "country of birth mother", "country of birth self", "citizenship",
    "own business or self employed", "fill inc questionnaire for veteran's admin", "veterans benefits",
    "weeks worked in year", "year", "income",
)  # fmt: skip

INTRUSION_COLUMNS = (
    "duration", "protocol_type", "service", "flag", "src_bytes", "dst_bytes", "land", "wrong_fragment", "urgent", "hot",
    "num_failed_logins", "logged_in", "num_compromised", "root_shell", "su_attempted", "num_root", "num_file_creations",
    "num_shells", "num_access_files", "num_outbound_cmds", "is_host_login", "is_guest_login", "count", "srv_count",
    "serror_rate", "srv_serror_rate", "rerror_rate", "srv_rerror_rate", "same_srv_rate", "diff_srv_rate",
    "srv_diff_host_rate", "dst_host_count", "dst_host_srv_count", "dst_host_same_srv_rate", "dst_host_diff_srv_rate",
    "dst_host_same_src_port_rate", "dst_host_srv_diff_host_rate", "dst_host_serror_rate", "dst_host_srv_serror_rate",
    "dst_host_rerror_rate", "dst_host_srv_rerror_rate", "class",
)  # fmt: skip

AIRLINE_RATINGS = (
    "Inflight wifi service", "Departure/Arrival time convenient", "Ease of Online booking", "Gate location",
    "Food and drink", "Online boarding", "Seat comfort", "Inflight entertainment", "On-board service",
    "Leg room service", "Baggage handling", "Checkin service", "Inflight service", "Cleanliness",
)  # fmt: skip

MNIST_COLUMNS = (*(f"pixel_{place}" for place in range(784)), "label")


def between_zero_and_one(frame: pl.DataFrame) -> pl.DataFrame:
    """Pixels of 0 to 255 as parts of white, so that all of them have one range."""
    return frame.with_columns(pl.exclude(MNIST_COLUMNS[-1]) / 255)


def one_table(files: tuple[Path, ...]) -> pl.DataFrame:
    """One CSV or Parquet file with a header."""
    return read_frame(files[0])


def without_row_number(files: tuple[Path, ...]) -> pl.DataFrame:
    """One file whose first, unnamed column only counts."""
    frame = read_frame(files[0])
    return frame.drop("column_1") if frame.columns[0] == "column_1" else frame  # the name it was given


def headerless(names: tuple[str, ...]) -> Reader:
    """A reader of a CSV file that has no header line (one that has it is read as well)."""

    def read(files: tuple[Path, ...]) -> pl.DataFrame:
        path = files[0]
        if _has_header(path, names):
            return read_frame(path)
        try:
            frame = pl.read_csv(path, has_header=False, infer_schema=False, glob=False)
        except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is not a table: {str(error).splitlines()[0]}") from None
        if frame.width != len(names):
            raise InputError(f"{path} has {frame.width} columns without a header; {len(names)} are expected.")
        frame.columns = list(names)
        return from_text(frame, str(path))

    return read


def _has_header(path: Path, names: tuple[str, ...]) -> bool:
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    if path.suffix.lower() in (".parquet", ".pq"):
        return True
    with path.open("rb") as stream:
        return stream.read(len(names[0]) + 2).strip(b"\"' \xef\xbb\xbf").startswith(names[0].encode())


def adult_training(frame: pl.DataFrame) -> pl.DataFrame:
    """Adult's official training part, if all 48,842 rows came."""
    return frame.slice(ADULT_TEST_ROWS) if frame.height == 48_842 else frame


def without_empty(frame: pl.DataFrame) -> pl.DataFrame:
    """Only the rows that have no empty cell."""
    return frame.drop_nulls()


def arff(files: tuple[Path, ...]) -> pl.DataFrame:
    """An ARFF file of plain rows; a CSV or Parquet file is read as well."""
    path = files[0]
    if path.suffix.lower() != ".arff":
        return read_frame(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not an ARFF file: it is not UTF-8 text.") from None
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("%")]
    names = [m[1] for line in lines if (m := re.match(r"@attribute\s+['\"]?([^'\"\s]+)", line, re.I))]
    start = next((at for at, line in enumerate(lines) if line.strip().lower() == "@data"), None)
    if start is None or not names:
        raise InputError(f"{path} is not an ARFF file: it has no @attribute or no @data line.")
    rows = list(csv.reader(lines[start + 1 :], quotechar="'", skipinitialspace=True))
    if any(len(row) != len(names) for row in rows):
        raise InputError(f"{path} is not an ARFF file: a row has another number of cells than its {len(names)} names.")
    return from_text(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"), str(path))


def bank(files: tuple[Path, ...]) -> pl.DataFrame:
    """Both parts in the order of the original file, whose row number is the unnamed first column."""
    if len(files) == 1:
        return without_row_number(files)
    parts = pl.concat([pl.read_csv(path, null_values=EMPTY, infer_schema_length=None) for path in files])
    return checked(parts.sort(parts.columns[0]).drop(parts.columns[0]), "bank marketing")


def zipped_csv(name: str) -> Reader:
    """A reader of the member ``name`` of a zip file (a CSV or Parquet file is read as well)."""

    def read(files: tuple[Path, ...]) -> pl.DataFrame:
        path = files[0]
        if path.suffix.lower() != ".zip":
            return read_frame(path)
        try:
            with zipfile.ZipFile(path) as zipped, zipped.open(name) as stream:
                frame = pl.read_csv(stream.read(), null_values=EMPTY, infer_schema=False)
                return from_text(frame, str(path))
        except FileNotFoundError:
            raise InputError(f"There is no file {path}.") from None
        except (zipfile.BadZipFile, KeyError, pl.exceptions.PolarsError):
            raise InputError(f"{path} is not a zip file with a table {name} in it.") from None

    return read


def covertype(frame: pl.DataFrame) -> pl.DataFrame:
    """Wilderness area and soil type as one column each."""
    return undo_onehot(undo_onehot(frame, "wilderness_area", "Wilderness_Area"), "soil_type", "Soil_Type")


def covertype_three(frame: pl.DataFrame) -> pl.DataFrame:
    """6,000 rows of the three most frequent covers, in the class shares of the profiling study's private table."""
    random = np.random.default_rng(0)  # the same rows whoever draws them
    covers = frame["Cover_Type"].cast(pl.Float64).to_numpy()
    drawn = [
        random.permutation(np.flatnonzero(covers == cover))[:count]
        for cover, count in ((1, 1800), (2, 2346), (3, 1854))
    ]
    return covertype(frame[np.sort(np.concatenate(drawn))])


def intrusion(frame: pl.DataFrame) -> pl.DataFrame:
    """The class as normal or anomaly: the original file names each attack and ends it with a full stop."""
    if "class" not in frame.columns or frame["class"].dtype != pl.String:
        return frame
    normal = pl.col("class").str.strip_chars_end(".") == "normal"
    return frame.with_columns(pl.when(normal).then(pl.lit("normal")).otherwise(pl.lit("anomaly")).alias("class"))


def health(frame: pl.DataFrame) -> pl.DataFrame:
    """Age and sex as one column each."""
    return undo_onehot(undo_onehot(frame, "age", "age_"), "sex", "sex")


def undo_onehot(frame: pl.DataFrame, name: str, prefix: str) -> pl.DataFrame:
    """Replace the 0/1 columns that start with ``prefix`` by one categorical column in the place of the first.

    The categories are the rest of the columns' names; a row with no one is empty. A frame without them stays
    as it is.
    """
    group = [column for column in frame.columns if column.startswith(prefix) and column != name]
    if not group:
        return frame
    if not frame.select(pl.sum_horizontal(group).max() <= 1).item():
        raise InputError(f"The columns {group[0]} ... {group[-1]} are not one-hot: a row has more than one of them.")
    # Soil types are numbered; two digits keep them in order as text.
    width = max(len(column.removeprefix(prefix)) for column in group)
    labels = [column.removeprefix(prefix) for column in group]
    labels = [label.zfill(width) if label.isdigit() else label for label in labels]
    which = pl.coalesce(
        pl.when(pl.col(column) == 1).then(pl.lit(f"{name} {label}" if label.isdigit() else label))
        for column, label in zip(group, labels, strict=True)
    )
    at = frame.columns.index(group[0])
    return frame.drop(group).insert_column(at, frame.select(which.alias(name)).to_series())
