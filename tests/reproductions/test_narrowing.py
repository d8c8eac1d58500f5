"""A part of a plan, and the user's own data in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from seepage._core import InputError
from seepage.reproductions.narrowing import Values, narrowed, with_part
from seepage.reproductions.own_data import check_used, with_own_data

PLAN: Values = {"models": ["mlp", "resnet"], "trials": 3, "grid": {"data": ["adult", "clinic"], "alpha": [0.4, 1.0]}}


def test_a_part_is_taken_from_the_grid_where_the_key_stands_there() -> None:
    part = with_part(PLAN, {"data": "clinic", "models": ["mlp"]})
    assert part == {"models": ["mlp"], "trials": 3, "grid": {"data": ["clinic"], "alpha": [0.4, 1.0]}}
    assert PLAN["grid"] == {"data": ["adult", "clinic"], "alpha": [0.4, 1.0]}


def test_values_are_chosen_by_their_text_and_by_either_name_of_a_key() -> None:
    (left,) = narrowed([PLAN], {"model": ["resnet"], "alpha": ["1"], "trials": ["3"]})
    assert left == {"models": ["resnet"], "trials": 3, "grid": {"data": ["adult", "clinic"], "alpha": [1.0]}}


def test_a_spec_is_chosen_by_its_name_where_no_other_has_it() -> None:
    plan: Values = {"models": ["mlp:start=xavier", "resnet:blocks=1", "resnet:blocks=2"]}
    assert narrowed([plan], {"models": ["mlp"]}) == [{"models": ["mlp:start=xavier"]}]
    with pytest.raises(InputError, match="resnet:blocks=1"):
        narrowed([plan], {"models": ["resnet"]})


def test_a_plan_that_has_none_of_the_values_is_left_out() -> None:
    closed: Values = {"study": "vertical", "attacks": ["cafe_closed_form"], "batch_sizes": [40]}
    descent: Values = {"study": "vertical", "attacks": ["cafe", "dlg"]}
    assert narrowed([closed, descent], {"attacks": ["dlg"]}) == [None, {"study": "vertical", "attacks": ["dlg"]}]
    assert narrowed([closed, descent], {"batch_sizes": ["40"]}) == [closed, descent]  # the other has no such key


def test_wrong_keys_and_values_are_told_with_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'alpha'"):
        narrowed([PLAN], {"alpah": ["1"]})
    with pytest.raises(InputError, match="Did you mean 'resnet'"):
        narrowed([PLAN], {"models": ["resnt"]})


def test_an_own_copy_takes_the_place_of_what_stands_in_for_it() -> None:
    values, missing = with_own_data({"data": "clinic"}, {"clinic": "mimic_iv"}, {"mimic_iv": Path("mimic")})
    assert (values, missing) == ({"data": "mimic_iv", "path": "mimic"}, ())
    assert with_own_data({"data": "clinic"}, {"clinic": "mimic_iv"}, {})[0] == {"data": "clinic"}


def test_data_sets_without_a_file_are_left_out_and_named() -> None:
    plan: Values = {"grid": {"data": ["covertype", "airline", "rice_msc", "adult"], "guests": [2, 5]}}
    values, missing = with_own_data(plan, {}, {})
    assert values == {"grid": {"data": ["covertype", "adult"], "guests": [2, 5]}}
    assert missing == ("airline", "rice_msc")
    values, missing = with_own_data(plan, {}, {"airline": Path("airline.csv")})
    own = {"name": "airline", "data": "airline", "path": "airline.csv"}
    assert values == {"cases": [{"data": "covertype"}, own, {"data": "adult"}], "grid": {"guests": [2, 5]}}
    assert missing == ("rice_msc",)
    with pytest.raises(InputError, match="--path airline=FILE"):
        with_own_data({"data": "airline"}, {}, {})


def test_a_file_that_no_plan_reads_is_told_with_the_nearest_name() -> None:
    own = {"clinic": "mimic_iv_study"}
    check_used([PLAN], own, {"mimic_iv_study": Path("mimic"), "adult": Path("adult.csv")})
    with pytest.raises(InputError, match="Did you mean 'mimic_iv_study'"):
        check_used([PLAN], own, {"mimic_iv": Path("mimic")})
