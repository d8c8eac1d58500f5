"""A traceback can be passed on: no message of an error is in it, whatever it looks like."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seepage._core.tracebacks import SETTING, without_messages

WORD = "Zyxw" + "quartz"  # a line of code is shown, so it must not stand in one


def breaks(message: str) -> None:
    try:
        float(message)
    except ValueError as first:
        raise RuntimeError(f"row: {message}\n    indented {message}\nKind: {message}") from first


def test_no_message_is_in_it_and_every_frame_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError) as caught:
        breaks(WORD)
    text = without_messages(caught.value)
    assert WORD not in text
    assert text.count("in breaks") == 2
    assert "ValueError" in text
    assert "RuntimeError" in text
    monkeypatch.setenv(SETTING, "1")
    assert WORD in without_messages(caught.value)


def test_what_another_process_says_is_not_in_it_either() -> None:
    with ProcessPoolExecutor(1) as pool, pytest.raises(RuntimeError) as caught:
        pool.submit(breaks, WORD).result()
    text = without_messages(caught.value)
    assert WORD not in text
    assert text.count("in breaks") >= 2


@given(st.text(st.characters(codec="utf-8"), min_size=4).filter(lambda text: text.strip() and "File" not in text))
def test_whatever_the_message_is(message: str) -> None:
    marked = f"{WORD} {message} {WORD}"
    assert WORD not in without_messages(ValueError(marked))
