"""Every bad input is one sentence that says what was found and what is allowed; nothing is guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seepage._core import InputError
from seepage.dp import Known, check_files
from seepage.dp.canaries import Training
from seepage.dp.reconstruction import gaussian_reconstruction_bound, reconstruction_bound
from tests.dp.configurations import ROWS, central, opacus, svt

LOCAL = "LocalDpMod(1.0, 2.0, 1.0, 1e-5)"
TARGET = "epochs=2, target_epsilon=3.0, target_delta=1e-6, max_grad_norm=1.0"
WITH_EPSILON = "make_private_with_epsilon"


def dp(*lines: str) -> str:
    return "\n".join(["[dp]", *lines])


GAUSSIAN = ('mechanism = "gaussian"', "noise = 1.0", "clip = 1.0")
CASES: list[tuple[dict[str, str], dict[str, Any], dict[str, str], str]] = [
    ({"a.yaml": "x: 1"}, {}, {}, "YAML is not understood; say the same in a [dp] section"),
    ({"a.conf": ""}, {}, {}, "HOCON is not understood"),
    ({"a.ipynb": "{}"}, {}, {}, "notebooks are not understood"),
    ({"a.txt": ""}, {}, {}, "files that are read end in .py, .json, .toml"),
    ({"a.py": "def ("}, {}, {}, "is not Python that can be read: invalid syntax in line 1"),
    ({"a.py": "x = 1\0"}, {}, {}, "is not Python that can be read"),
    ({"a.py": "x = " + "(" * 3000 + ")" * 3000}, {}, {}, "a.py is"),
    ({"a.py": "x = 1"}, {}, {}, "There is no privacy setting in a.py that is known"),
    (
        {"a.py": "LocalDpMod(clip_norm=1.0, sensitivity=1, epsilon=1, delta=1e-5)"},
        {},
        {},
        "Did you mean 'clipping_norm'?",
    ),
    ({"a.py": "LocalDpMod(1.0, 2.0, 1.0)"}, {}, {}, "LocalDpMod in a.py, line 1, has no delta, which it needs"),
    ({"a.py": "LocalDpMod(1, 2, 3, 4, 5)"}, {}, {}, "has 5 arguments; it takes clipping_norm, sensitivity"),
    ({"a.py": "LocalDpMod(1, 2, 3, 4, delta=1)"}, {}, {}, "says delta twice"),
    ({"a.py": "LocalDpMod('a', 2, 3, 1e-5)"}, {}, {}, "clipping_norm of LocalDpMod in a.py, line 1 is 'a'; it must be"),
    ({"a.py": "LocalDpMod(-1, 2, 3, 1e-5)"}, {}, {}, "clipping_norm of LocalDpMod in a.py, line 1 is -1; it must be 0"),
    ({"a.py": "LocalDpMod(1, 2, 3, 2.0)"}, {}, {}, "Delta is 2; it must be above 0 and below 1"),
    ({"a.py": "LocalDpMod(1, 2, 3, 1e-5)"}, {"delta": 1e-6}, {}, "Delta is 1e-05 in the file and 1e-06 by --delta"),
    (
        {"a.py": "PrivacyEngine(model, noise_multiplier=1.0)"},
        {},
        {},
        "is of Opacus before 1.0, which is not understood",
    ),
    ({"a.py": "PrivacyEngine(secure=True)"}, {}, {}, "Did you mean 'secure_mode'?"),
    ({"a.py": opacus("noise_multiplier=1.0")}, ROWS, {}, "has no max_grad_norm, which it needs"),
    ({"a.py": opacus("noise_multiplier=1.0, max_grad_norm=0")}, ROWS, {}, "max_grad_norm in a.py, line 7 is 0"),
    ({"a.py": opacus(TARGET, call=WITH_EPSILON)}, ROWS | {"delta": None}, {}, "epochs is 2 in a.py, line 7, and local"),
    (
        {"a.py": opacus(TARGET, call=WITH_EPSILON)},
        {"rows": 900, "batch_size": 30, "rounds": 1, "claims": 1.0},
        {},
        "target_epsilon is 3 in a.py, line 7, and --claims says 1; leave --claims out",
    ),
    ({"a.py": LOCAL + "\nServerConfig(num_rounds=3)"}, {"rounds": 5}, {}, "rounds is 3 in a.py, line 2, and --rounds"),
    (
        {"a.py": LOCAL + "\nServerConfig(num_rounds=3)", "b.py": "ServerConfig(num_rounds=4)"},
        {},
        {},
        "rounds is 3 in a.py, line 2 and 4 in b.py, line 1; it can have one value only",
    ),
    (
        {"a.py": LOCAL + "\nServerConfig(num_rounds=0)"},
        {},
        {},
        "rounds is 0 in a.py, line 2; it must be a whole number",
    ),
    ({"a.py": central("ServerSideFixedClipping", "1.0, 1.0, 5")}, {"sampled": 5}, {}, "--sampled would say it twice"),
    ({"a.py": central("ServerSideFixedClipping", "1.0, 1.0, 5")}, {"clients": 3}, {}, "and there are 3 clients"),
    ({"a.py": central("ServerSideFixedClipping", "1.0, 0, 5")}, {}, {}, "clipping_norm in a.py, line 4 is 0"),
    ({"a.py": central("ServerSideFixedClipping", "1.0, 1, 2.5")}, {}, {}, "must be a whole number, 1 or above"),
    ({"a.py": LOCAL}, {"clients": 3, "sampled": 5}, {}, "5 clients take part in a round, and there are 3"),
    ({"a.py": LOCAL}, {}, {"epsilon": "1"}, "epsilon stands in a.py, line 1; --set epsilon would say it twice"),
    ({"a.py": LOCAL}, {}, {"noise": "1"}, "--set noise has no place: no argument in these files is left open"),
    ({"a.py": "LocalDpMod(c, 2, 3, 1e-5)"}, {}, {"clipping": "1"}, "Did you mean 'clipping_norm'?"),
    ({"a.py": "LocalDpMod(c, 2, 3, 1e-5)"}, {}, {"clipping_norm": "nan"}, "--set clipping_norm=nan is not a number"),
    ({"a.json": "{"}, {}, {}, "a.json is not valid JSON"),
    ({"a.json": "[1]"}, {}, {}, "a.json is not a configuration of NVFlare"),
    ({"a.json": '{"a": 1, "a": 2}'}, {}, {}, "a.json says 'a' twice, with different values"),
    ({"a.json": '{"format_version": 3}'}, {}, {}, "a.json has format_version 3; only 2 is understood"),
    ({"a.json": "[" * 100_000}, {}, {}, "a.json is"),
    ({"a.json": svt(epsilonn=1)}, {}, {}, "Did you mean 'epsilon'?"),
    ({"a.json": '{"path": "x.SVTPrivacy", "args": 3}'}, {}, {}, "The args of SVTPrivacy in a.json are 3"),
    ({"a.toml": "[x]"}, {}, {}, "has neither a section [dp] nor Flower's [tool.flwr.app.config]"),
    ({"a.toml": "x ="}, {}, {}, "is not valid TOML"),
    ({"a.toml": "dp = 1"}, {}, {}, "[dp] in a.toml is 1; it must be a section"),
    ({"a.toml": dp("format = 2", *GAUSSIAN)}, {}, {}, "has format 2; only 1 is understood"),
    ({"a.toml": dp("clip = 1.0")}, {}, {}, "has no mechanism; there are: gaussian, laplace, none"),
    ({"a.toml": dp('mechanism = "gausian"')}, {}, {}, "Did you mean 'gaussian'?"),
    ({"a.toml": dp(*GAUSSIAN, "clipp = 1")}, {}, {}, "Did you mean 'clip'?"),
    ({"a.toml": dp(*GAUSSIAN, "noise_multiplier = 1")}, {}, {}, "has noise and noise_multiplier; say one"),
    ({"a.toml": dp('mechanism = "gaussian"', "clip = 1.0")}, {}, {}, "has neither noise nor noise_multiplier"),
    ({"a.toml": dp('mechanism = "gaussian"', "noise_multiplier = 1.0")}, {}, {}, "and no clip that it multiplies"),
    (
        {"a.toml": dp('mechanism = "gaussian"', 'noise = "a"')},
        {},
        {},
        "noise in [dp] of a.toml is 'a'; it must be a num",
    ),
    (
        {"a.toml": dp(*GAUSSIAN, "batch_norm = 1")},
        {},
        {},
        "batch_norm in [dp] of a.toml is 1; it must be true or false",
    ),
    ({"a.toml": dp(*GAUSSIAN, "rounds = true")}, {}, {}, "rounds in [dp] of a.toml is True; it must be a number"),
    ({"a.toml": dp(*GAUSSIAN, "rounds = 2.5")}, {}, {}, "rounds is 2.5 in a.toml, [dp]; it must be a whole number"),
    ({"a.toml": dp(*GAUSSIAN, "epsilon = 1.0")}, {"claims": 2.0}, {}, "epsilon stands in a.toml, and --claims says 2"),
    ({"a.toml": dp(*GAUSSIAN[:2], "clip = 0")}, {}, {}, "clip in [dp] of a.toml is 0; it must be above 0"),
    ({"a.toml": dp(*GAUSSIAN, "clip = 2.0")}, {}, {}, "is not valid TOML"),
    (
        {"a.toml": "[tool.flwr.app.config]\nx = 1", "b.toml": "[tool.flwr.app.config]\nx = 2"},
        {},
        {},
        "The setting 'x' has two values in the project files, the second in b.toml",
    ),
]


@pytest.mark.parametrize(("files", "known", "given", "sentence"), CASES, ids=[case[3][:60] for case in CASES])
def test_bad_input_is_one_sentence(
    files: dict[str, str], known: dict[str, Any], given: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as told:
        check_files([tmp_path / name for name in files], Known(**known), given)
    assert sentence in str(told.value)
    assert "\n" not in str(told.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe")
    (tmp_path / "large.py").write_text("#" * 4_000_001)
    for name, sentence in {
        "none.py": "There is no configuration file",
        "folder.py": "it is a folder",
        "bytes.py": "it is not UTF-8 text",
        "large.py": "is larger than 4,000,000 bytes",
    }.items():
        with pytest.raises(InputError, match=sentence):
            check_files([tmp_path / name])
    with pytest.raises(InputError, match="Which files"):
        check_files([])
    with pytest.raises(InputError, match="is given twice"):
        check_files([tmp_path / "none.py", tmp_path / "none.py"])


@pytest.mark.parametrize(("guess", "epsilon", "delta"), [(-0.1, 1, 0), (2, 1, 0), (0.5, -1, 0), (0.5, 1, 2)])
def test_bad_chances_are_refused(guess: float, epsilon: float, delta: float) -> None:
    with pytest.raises(InputError, match=r"must be between 0 and 1|are needed"):
        reconstruction_bound(guess, epsilon, delta)


def test_other_bad_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="must be between 0 and 1"):
        gaussian_reconstruction_bound(1.5, 1.0)
    with pytest.raises(InputError, match="epochs is 0"):
        Training(epochs=0)
