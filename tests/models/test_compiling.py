"""Compiled code is kept, and taken from, where nobody else can put anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._inductor.runtime.cache_dir_utils import cache_dir, default_cache_dir

from seepage._core import InputError
from seepage.models import compiling
from seepage.models.compiling import SETTING, can_compile, compiled, compiled_functions, compiler, has_compiler
from seepage.models.traced import recorded

NINE = torch.ones(9)
TURNED = recorded(lambda x: x.view(3, 3), NINE), [NINE]  # nothing that a C++ compiler is needed for


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose caches are here, and for whom torch has not chosen a folder yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(SETTING, "")  # put back afterwards, whatever is set meanwhile
    monkeypatch.delenv(SETTING)
    monkeypatch.setattr(compiling, "has_compiler", lambda: True)
    return tmp_path / "seepage" / "compiled"


def test_torch_keeps_compiled_code_in_a_folder_of_the_user(home: Path) -> None:
    before = compiled_functions()
    compiled(*TURNED)
    assert Path(cache_dir()) == home
    assert home.stat().st_mode & 0o777 == 0o700
    assert compiled_functions() == before + 1


@pytest.mark.slow
def test_compiling_for_real_leaves_nothing_in_the_shared_folder(tmp_path: Path) -> None:
    if not has_compiler():
        pytest.skip("there is no compiler")
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    script = (
        "import torch; from seepage.models.traced import Traced; "
        "assert Traced(lambda x: (x.sin() * x).sum(), compiled=True)(torch.ones(9)).item() > 0"
    )
    places = {"TMPDIR": str(shared), "XDG_CACHE_HOME": str(own)}
    environment = {name: value for name, value in os.environ.items() if name != SETTING} | places
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=240)
    assert [path for path in shared.rglob("*") if path.is_file()] == []
    assert [path for path in (own / "seepage" / "compiled").rglob("*.so") if path.is_file()]


def test_headers_are_not_compiled_beforehand_for_they_would_be_shared(home: Path) -> None:
    from torch._inductor import config

    with config.patch(cpp_cache_precompile_headers=True):
        compiled(*TURNED)
        assert not config.cpp_cache_precompile_headers


def test_the_folder_that_torch_chose_before_us_is_not_used(home: Path) -> None:
    os.environ[SETTING] = default_cache_dir()
    compiled(*TURNED)
    assert Path(cache_dir()) == home


def test_the_users_own_choice_holds_and_is_looked_at_too(home: Path, tmp_path: Path) -> None:
    os.environ[SETTING] = str(tmp_path / "mine")
    compiled(*TURNED)
    assert Path(cache_dir()) == tmp_path / "mine"
    (tmp_path / "mine").chmod(0o777)
    with pytest.raises(InputError, match="is not safe to use"):
        compiled(*TURNED)


def test_a_planted_folder_stops_an_attack_that_would_compile(home: Path) -> None:
    home.mkdir(parents=True)
    home.chmod(0o777)
    with pytest.raises(InputError, match="other users can write to it"):
        can_compile()


def test_without_a_place_for_it_nothing_is_compiled(home: Path) -> None:
    home.parent.parent.mkdir(exist_ok=True)
    home.parent.write_text("a file is in the way")
    assert not can_compile()
    with pytest.raises(InputError, match="There is no place for compiled code"):
        compiled(*TURNED)


def test_the_compiler_is_named() -> None:
    assert compiler() == "none" or compiler().startswith("g++ ")


def test_outputs_come_nested_as_they_were(home: Path) -> None:
    """Local steps of FedAvg give weights by name and moments; the compiler wants them one after the other."""

    def nested(x: Tensor) -> Any:
        return {"weight": x.view(3, 3), "bias": x.view(9, 1)}, (x.view(1, 9),), ()

    found = compiled(recorded(nested, NINE), [NINE])(NINE)
    assert [tuple(value.shape) for value in found[0].values()] == [(3, 3), (9, 1)]
    assert list(found[0]) == ["weight", "bias"]
    assert (found[1][0].shape, found[2]) == ((1, 9), ())
    assert compiled(*TURNED)(NINE).shape == (3, 3)


def test_inputs_that_are_one_tensor_at_first_need_not_stay_so(home: Path) -> None:
    def both(x: Tensor, y: Tensor) -> Any:
        return x.view(3, 3), y.view(3, 3)

    found = compiled(recorded(both, NINE, NINE), [NINE, NINE])
    one, other = found(NINE, 2 * NINE)
    assert float(one.sum()) == 9
    assert float(other.sum()) == 18


@pytest.mark.slow
def test_what_is_compiled_writes_to_its_arguments_and_gives_nothing_back(home: Path) -> None:
    if not has_compiler.__wrapped__():
        pytest.skip("there is no compiler")

    def add(x: Tensor, y: Tensor) -> None:
        y.add_(x.sin())

    total = torch.zeros(9)
    step = compiled(recorded(add, NINE, total), [NINE, total])
    for _ in range(2):
        assert step(NINE, total) is None
    torch.testing.assert_close(total, 2 * NINE.sin())
