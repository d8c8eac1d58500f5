"""What is followed in a file, what is left open, and that no file can do more than be refused."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seepage._core import InputError
from seepage.dp import Known, check_files
from seepage.dp.readers.nvflare_json import read_json
from seepage.dp.readers.python_source import is_one_over_batches, read_python
from seepage.dp.readers.toml_text import read_dp
from seepage.dp.said import Said, Unclear
from tests.dp.configurations import MISCONFIGURED, RIGHT, svt


def one(source: str, **config: object) -> Said:
    (said,) = read_python(source, "file.py", config).said
    return said


FOLLOWED = {
    "a literal": ("", "2.5", 2.5),
    "a name": ("C = 2.5", "C", 2.5),
    "a name of a name": ("C = 2.5\nD = C", "D", 2.5),
    "said twice the same": ("if x:\n    C = 2.5\nelse:\n    C = 2.5", "C", 2.5),
    "an annotated name": ("C: float = 2.5", "C", 2.5),
    "several at once": ("C, D = 2.5, 1", "C", 2.5),
    "arithmetic": ("C = 5", "C / 2", 2.5),
    "a power": ("", "10 ** -2", 0.01),
    "a root": ("import math", "math.sqrt(6.25)", 2.5),
    "a class": ("class Config:\n    clip = 2.5", "Config.clip", 2.5),
    "an instance of a class": ("class Config:\n    clip: float = 2.5\nconfig = Config()", "config.clip", 2.5),
    "an attribute": ("self.clip = 2.5", "self.clip", 2.5),
    "a dictionary": ("CONFIG = {'clip': 2.5, 'noise': 1}", "CONFIG['clip']", 2.5),
    "a dictionary by get": ("CONFIG = {'clip': 2.5}", "CONFIG.get('clip', 1.0)", 2.5),
    "an option of argparse": ("parser.add_argument('-c', '--clip-norm', default=2.5)", "args.clip_norm", 2.5),
    "an option with dest": ("parser.add_argument('--c', dest='clip', default=2.5)", "args.clip", 2.5),
    "infinity as a word": ("", "float('inf')", math.inf),
    "infinity of a module": ("", "np.inf", math.inf),
    "a cast": ("C = '3'", "float(2.5)", 2.5),
    "the project file": ("clip = context.run_config['clip']", "clip", 2.5),
    "the project file, flattened": ("", "context.run_config['dp.clip']", 2.5),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_is_followed(name: str) -> None:
    before, argument, expected = FOLLOWED[name]
    said = one(f"{before}\nLocalDpMod({argument}, 1.0, 1.0, 1e-5)", **{"clip": 2.5, "dp.clip": 2.5})
    assert said.values["clipping_norm"] == pytest.approx(expected)
    assert bool(said.assumed) == ("argparse" in name or "dest" in name)


OPEN = {
    "a call": ("", "clip()", "it is computed while the program runs"),
    "two values": ("C = 1\nC = 2", "C", "it has different values in lines 1 and 2"),
    "a loop": ("for C in (1, 2): pass", "C", "it is an argument of a function, or changes"),
    "an argument of a function": ("def train(C=1): pass", "C", "it is an argument of a function, or changes"),
    "added to": ("C = 1\nC += 1", "C", "it is an argument of a function, or changes"),
    "from elsewhere": ("from settings import C", "C", "it is not set in this file"),
    "an attribute of another": ("other.clip = 2.5", "self.clip", "it is not set in this file"),
    "divided by nothing": ("", "1 / 0", "it has no value"),
    "enormous": ("", "10 ** 10 ** 10", "it is too large to be followed"),
    "in a circle": ("A = B\nB = A", "A", "it leads too far"),
    "an unknown entry": ("CONFIG = {'noise': 1}", "CONFIG['clip']", "it is computed while the program runs"),
    "no project file": ("", "context.run_config['none']", "give the project's pyproject.toml too"),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_is_left_open(name: str) -> None:
    before, argument, why = OPEN[name]
    said = one(f"{before}\nLocalDpMod({argument}, 1.0, 1.0, 1e-5)")
    assert why in said.unclear["clipping_norm"].why
    assert "clipping_norm" not in said.values


def test_imports_under_other_names_are_known() -> None:
    said = one("from flwr.clientapp.mod import LocalDpMod as Noise\nNoise(1.0, 2.0, 3.0, 1e-5)")
    assert (said.kind, said.line) == ("LocalDpMod", 2)


def test_a_class_of_the_same_name_in_the_file_is_not_flowers() -> None:
    source = "class LocalDpMod:\n    pass\nmod = LocalDpMod(1.0, 2.0, 3.0, 1e-5)"
    assert read_python(source, "a.py", {}).said == ()


def test_arguments_from_elsewhere_are_left_open() -> None:
    said = one("LocalDpMod(**settings)")
    assert set(said.unclear) == {"clipping_norm", "sensitivity", "epsilon", "delta"}


def test_loaders_with_different_batches_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "a = DataLoader(train, batch_size=32)\nb = DataLoader(test, batch_size=64)\n"
        "engine.make_private(module=m, optimizer=o, data_loader=a, noise_multiplier=1.0, max_grad_norm=1.0)"
    )
    (verdict,) = check_files([tmp_path / "train.py"], Known(rows=1000, rounds=1))
    text = " ".join(finding.sentence for finding in verdict.findings)
    assert "--batch-size (files say 32 (train.py, line 1) and 64 (train.py, line 2))" in text
    (verdict,) = check_files([tmp_path / "train.py"], Known(rows=1000, rounds=1, batch_size=32))
    assert verdict.recomputed is not None


@pytest.mark.parametrize(
    ("text", "batches"), [("1/len(loader)", True), ("1 / len(loader.dataset)", False), ("x", False)]
)
def test_one_over_the_number_of_batches(text: str, batches: bool) -> None:
    assert is_one_over_batches(Unclear(text=text, line=1)) is batches


def test_a_sites_privacy_file_and_rounds_of_a_server() -> None:
    scope = {"name": "public", "task_result_filters": json.loads(svt(epsilon=0.2))["task_result_filters"]}
    text = json.dumps({"scopes": [scope], "workflows": [{"args": {"num_rounds": 7}}]})
    source = read_json(text, "privacy.json")
    assert source.said[0].values["epsilon"] == 0.2
    assert [(fact.name, fact.value) for fact in source.facts] == [("rounds", 7)]


def test_variables_of_a_job_are_left_open() -> None:
    assert read_json(svt(epsilon="{eps}"), "a.json").said[0].unclear["epsilon"].text == "{eps}"


WORDS = [
    "LocalDpMod",
    "make_private",
    "(",
    ")",
    "epsilon",
    "=",
    "1",
    "**",
    ",",
    "\n",
    "[",
    "]",
    ".",
    "lambda",
    ":",
    "'",
    "x",
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join) | st.text(max_size=60))
def test_no_python_does_more_than_be_refused(text: str) -> None:
    with suppress(InputError):
        assert all(each.file == "a.py" and each.line > 0 for each in read_python(text, "a.py", {}).said)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.just("x.SVTPrivacy"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "args", "epsilon", "num_rounds", "name", "filters"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_no_json_and_no_toml_does_more_than_be_refused(document: object) -> None:
    with suppress(InputError):
        assert all(each.kind == "SVTPrivacy" for each in read_json(json.dumps(document), "a.json").said)
    with suppress(InputError):
        assert [each.kind for each in read_dp(document, "a.toml").said] == ["dp"]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([case for case in (*MISCONFIGURED, *RIGHT) if "make_private" not in str(case.files)]),
    st.integers(0, 400),
    st.sampled_from(["0", "-1", "1e308", "'a'", "True", "None", "nan", "", "x", "1e-300", "(1, 2)"]),
)
def test_no_number_of_a_setting_does_more_than_be_refused(case: object, place: int, other: str) -> None:
    """One number of a file is exchanged for something else."""
    import re
    import tempfile

    with tempfile.TemporaryDirectory() as folder, suppress(InputError):
        paths = []
        for name, text in case.files.items():  # type: ignore[attr-defined]
            numbers = list(re.finditer(r"\b\d+(\.\d+)?(e-?\d+)?\b", text))
            if numbers:
                hit = numbers[place % len(numbers)]
                text = text[: hit.start()] + other + text[hit.end() :]
            paths.append(Path(folder) / name)
            paths[-1].write_text(text)
        check_files(paths, Known(**case.known), case.given)  # type: ignore[attr-defined]
