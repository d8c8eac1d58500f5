from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core import InputError
from seepage.data import Column, Schema, Table, Target
from seepage.data.drawing import draw, possible_shares
from seepage.data.properties import Property

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="numeric", integer=True, low=0, high=90),
        Column(name="sex", kind="binary", categories=(" Female", " Male")),
        Column(name="marital stat", kind="categorical", categories=("Divorced", "Never married", "__missing__")),
        Column(name="veteran's pay", kind="numeric", low=-5, high=5),
        Column(name="year", kind="binary", categories=("94", "95")),
    ),
    target=Target(name="class", task="binary", classes=("- 50000.", "50000+.")),
)
TABLE = Table(
    SCHEMA,
    np.array([[10, 0.5], [18, -2.0], [60, 0.0], [61, 1.5], [90, -1.0]]),
    np.array([[0, 1, 0], [1, 0, 1], [0, 2, 0], [1, 1, 1], [-1, -1, 0]]),
    np.array([0, 1, 0, 0, 1]),
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("sex == 'Female'", [0, 2]),
        ("sex == ' Female '", [0, 2]),
        ("sex != 'Female'", [1, 3, 4]),  # an unknown category is not Female
        ("'Male' == sex", [1, 3]),
        ("age > 60", [3, 4]),
        ("60 < age", [3, 4]),
        ("age >= 60", [2, 3, 4]),
        ("age < 18 or age == 90", [0, 4]),
        ("18 <= age < 61", [1, 2]),
        ('age >= 18 and sex != "Male"', [2, 4]),
        ("(age >= 18 and sex == 'Male') or `marital stat` == '__missing__'", [1, 2, 3]),
        ("not age > 18", [0, 1]),
        ("`marital stat` in ('Divorced', 'Never married')", [0, 1, 3]),
        ("`marital stat` not in ['Divorced']", [0, 2, 3, 4]),
        ("`veteran's pay` <= -1", [1, 4]),
        ("`veteran's pay` in (0, 1.5)", [2, 3]),
        ("year == 94", [0, 2, 4]),
        ("year > 94", [1, 3]),
        ("`class` == '50000+.'", [1, 4]),
    ],
)
def test_a_property_is_read_as_it_is_written(text: str, rows: list[int]) -> None:
    asked = Property.parse(text, SCHEMA)
    assert np.flatnonzero(asked.holds(TABLE)).tolist() == rows
    assert asked.share(TABLE) == len(rows) / 5
    assert asked.is_share


def test_a_mean_is_a_statistic_of_the_whole_table() -> None:
    asked = Property.parse(" mean(`veteran's pay`) ", SCHEMA)
    assert asked.share(TABLE) == pytest.approx(-0.2)
    assert not asked.is_share
    with pytest.raises(InputError, match="is a mean"):
        asked.holds(TABLE)
    regression = Schema(columns=SCHEMA.columns, target=Target(name="cost", task="regression"))
    table = Table(regression, TABLE.numbers, TABLE.codes, np.arange(5.0))
    assert Property.parse("mean(cost)", regression).share(table) == 2
    assert Property.parse("cost >= 3", regression).share(table) == 0.4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sexx == 'Female'", "Unknown column 'sexx'.*Did you mean 'sex'"),
        ("sex == 'Femal'", "Unknown category of 'sex' 'Femal'.*Did you mean ' Female'"),
        ("sex in ('Female', 'Mole')", "Did you mean ' Male'"),
        ("sex > 'Female'", "categories without an order"),
        ("sex > 3", "categories without an order"),
        ("age == 'old'", "holds numbers"),
        ("mean(sex)", "have no mean"),
        ("mean(age) > 3", r"at 'mean\(age\)'"),
        ("sex in 'Female'", "a list"),
        ("sex == ('Female', 'Male')", "a list"),
        ("class == 'a'", "in backticks"),
        ("marital stat == 'Divorced'", "in backticks"),
        ("`marital stat == 'Divorced'", "cannot be read"),
        ("`marital stat` + 1 == 3", r"at '`marital stat` \+ 1'"),
        ("age", "cannot be read at 'age'"),
        ("", "cannot be read"),
        ("age is 3", "cannot be read"),
        ("age > 1e999", "cannot be read"),
        ("age == True", "cannot be read at 'True'"),
        ("age > age", "cannot be read at 'age'"),
        ("3 > 2", "cannot be read at '3'"),
        ("3 in age", "cannot be read at '3'"),
        ("__import__('os').system('true')", "cannot be read at"),
        ("age.__class__ == 3", "cannot be read at"),
        ("[age for age in (1, 2)]", "cannot be read at"),
        ("age > 3\x00", "cannot be read"),
        ("(" * 300 + "age > 3" + ")" * 300, "cannot be read"),
        ("not " * 300 + "age > 3", "at most 1000"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Property.parse(text, SCHEMA)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InputError):
        assert len(Property.parse(text, SCHEMA).values(TABLE)) == 5


def test_an_empty_table_has_no_share() -> None:
    with pytest.raises(InputError, match="without rows"):
        Property.parse("age > 3", SCHEMA).share(TABLE.take(np.array([], dtype=int)))


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1), st.data(), st.integers(0, 2**32 - 1))
def test_a_drawn_sample_has_exactly_its_share_or_the_reason_is_said(
    having: int, lacking: int, share: float, data: st.DataObject, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    holds = generator.permutation(np.arange(having + lacking) < having)
    count = data.draw(st.integers(1, having + lacking))
    smallest, largest = possible_shares(holds, count)
    wanted = round(share * count)
    if smallest <= wanted / count <= largest:
        rows = draw(holds, share, count, generator)
        assert len(rows) == len(set(rows.tolist())) == count
        assert int(holds[rows].sum()) == wanted
    else:
        kind, limit = ("largest", largest) if wanted / count > largest else ("smallest", smallest)
        with pytest.raises(InputError, match=f"the {kind} possible share is {limit:.4g}"):
            draw(holds, share, count, generator)


def test_the_order_of_a_sample_is_random_and_its_generator_s() -> None:
    holds = np.arange(200) < 100
    rows = draw(holds, 0.5, 100, np.random.default_rng(1))
    assert np.array_equal(rows, draw(holds, 0.5, 100, np.random.default_rng(1)))
    assert 10 < holds[rows[:50]].sum() < 40  # those with the property are not all in front


@given(st.integers(0, 2**32 - 1), st.floats(-0.5, 0.5))
def test_a_prescribed_mean_is_hit_nearly(seed: int, mean: float) -> None:
    generator = np.random.default_rng(seed)
    values = generator.normal(size=1000)
    rows = draw(values, mean, 300, generator)
    assert len(set(rows.tolist())) == 300
    assert values[rows].mean() == pytest.approx(mean, abs=np.ptp(values) / 300)


def test_a_mean_of_a_column_that_is_mostly_zero() -> None:
    values = np.where(np.arange(1000) < 50, 100.0, 0.0)
    assert values[draw(values, 4.0, 200, np.random.default_rng(0))].mean() == 4.0
    assert possible_shares(values, 200) == (0.0, 25.0)  # all 50 of them


@pytest.mark.parametrize(
    ("values", "share", "count", "said"),
    [
        (np.ones(5, dtype=bool), 0.5, 2, "Every row of the pool"),
        (np.zeros(5, dtype=bool), 0.5, 2, "No row of the pool"),
        (np.full(5, 3.0), 0.5, 2, "is 3 in every row"),
        (np.zeros(0, dtype=bool), 0.5, 2, "no rows"),
        (np.arange(5) < 2, 0.5, 6, "6 rows cannot be drawn from a pool of 5"),
        (np.arange(5) < 2, 0.5, 0, "0 rows"),
        (np.arange(5) < 2, 1.5, 2, "largest possible share is 1"),
        (np.arange(5) < 2, np.nan, 2, "share is nan"),
        (np.arange(1000.0), 990.0, 400, "about 249.5 to 749.5"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(values: np.ndarray, share: float, count: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        draw(values, share, count, np.random.default_rng(0))
