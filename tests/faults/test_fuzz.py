"""Inputs that a fuzzer found, and a few hundred new ones for every reader: `make fault-tests` tries 100,000 each."""

from __future__ import annotations

from pathlib import Path

import pytest

from seepage._core import SeepageError
from tests.faults.fuzz import NAMES, Tried, drawn, fuzzed, kept
from tests.faults.readers import READERS, quietly
from tests.faults.tally import Tally

FEW = {"run_folder": 60, "model_folder": 60, "csv": 150, "plan": 150, "summary": 150}


def test_every_reader_is_in_the_campaign() -> None:
    assert set(READERS) == set(NAMES)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_answers_anything_with_a_sentence(name: str) -> None:
    inputs = (*kept(name), *drawn(name, FEW.get(name, 300)))
    assert [said for content in inputs if (said := broken_by(name, content))] == []


def broken_by(name: str, content: bytes) -> str:
    """What an input broke in a reader, and with which bytes; empty if it was read, or refused in a sentence."""
    try:
        quietly(READERS[name], content)
    except SeepageError:
        return ""
    except Exception as error:  # noqa: BLE001  # whatever it is
        return f"{error!r} for {content.hex()}"
    return ""


def test_a_reader_that_breaks_or_hangs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.faults.fuzz.HANGS", 0.05)

    def broken(content: bytes) -> None:
        while content == b"hang":
            pass
        raise KeyError(content)

    monkeypatch.setitem(READERS, "broken", broken)
    tried = Tried("broken", 3, tmp_path)
    for content in (b"hang", b"a", b"b"):
        tried(content)
    told = (tmp_path / "told.json").read_text()
    assert told.count("hangs") == 1
    assert told.count("tracebacks") == 1  # the same place is told once


@pytest.mark.slow
def test_a_share_of_the_campaign() -> None:
    tally: Tally = fuzzed("messages", 2000)
    assert tally.clean
    assert tally.tried == 2000
