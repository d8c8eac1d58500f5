from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seepage._core import Outcome, Streams, nearest, unknown_name


def test_streams_repeat_and_do_not_disturb_each_other() -> None:
    streams = Streams(7)
    first = streams.numpy("a", 1).integers(10**9, size=5)
    streams.numpy("b").integers(10**9, size=100)
    assert (streams.numpy("a", 1).integers(10**9, size=5) == first).all()
    assert (streams.child("a").numpy(1).integers(10**9, size=5) == first).all()
    assert (Streams(8).numpy("a", 1).integers(10**9, size=5) != first).any()


NAMES = st.lists(st.text(alphabet="abc0", min_size=1, max_size=4), max_size=4)


@given(NAMES, NAMES)
def test_different_names_are_different_streams(one: list[str], other: list[str]) -> None:
    assert (Streams(0).integer(*one) == Streams(0).integer(*other)) == (one == other)


def test_nearest_name_ignores_case_and_gives_up_on_nonsense() -> None:
    assert nearest("ResNt", ["mlp", "resnet"]) == "resnet"
    assert nearest("qqqqqq", ["mlp", "resnet"]) is None
    message = str(unknown_name("model", "resnt", ["mlp", "resnet"]))
    assert message == "Unknown model 'resnt'; there are: mlp, resnet. Did you mean 'resnet'?"


def test_only_finished_attacks_are_scored() -> None:
    assert {outcome for outcome in Outcome if outcome.scored} == {Outcome.OK, Outcome.BUDGET_SPENT}
    assert all(outcome.reason for outcome in Outcome)
    assert all(outcome.advice for outcome in Outcome if outcome is not Outcome.OK)


def test_stream_seeds_fit_torch_and_numpy() -> None:
    seeds = [Streams(seed).integer("x") for seed in range(1000)]
    assert len(set(seeds)) == 1000
    assert min(seeds) >= 0
    assert max(seeds) < 2**63
    np.random.default_rng(max(seeds))
