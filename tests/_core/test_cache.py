"""A folder whose content is run as code belongs to the user alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seepage._core import InputError
from seepage._core.cache import platform_cache, private_folder


def test_it_is_made_for_the_user_alone_and_closed_if_it_was_readable(tmp_path: Path) -> None:
    made = private_folder(tmp_path / "a" / "b")
    assert made.stat().st_mode & 0o777 == 0o700
    made.chmod(0o755)
    assert private_folder(made).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707, 0o1777])
def test_one_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(mode)
    with pytest.raises(InputError, match="other users can write to it"):
        private_folder(tmp_path / "cache")


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="it is a link"):
        private_folder(tmp_path / "cache")


def test_one_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: (tmp_path / "cache").stat().st_uid + 1)
    with pytest.raises(InputError, match="it belongs to another user"):
        private_folder(tmp_path / "cache")


def test_one_that_others_can_replace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(InputError, match="other users can replace it in"):
        private_folder(tmp_path / "open" / "cache")
    (tmp_path / "open").chmod(0o1777)  # as /tmp
    assert private_folder(tmp_path / "open" / "cache").is_dir()


def test_the_platform_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert platform_cache() == tmp_path / "seepage"
