"""A file that ends its reader's whole process does not end ours."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from seepage._core import InputError
from seepage.data.apart import survives
from seepage.data.files import read_raw

DEADLY = Path(__file__).with_name("deadly.parquet")  # found by fuzzing: it asks for 2^61 bytes


def test_a_file_that_kills_its_reader_is_one_sentence(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "good.parquet")
    for _ in range(2):  # another reader takes the place of the dead one
        with pytest.raises(InputError, match="is damaged, so that its reader died"):
            read_raw(DEADLY)
        assert read_raw(tmp_path / "good.parquet").frame.height == 2
    (tmp_path / "bad.parquet").write_bytes(b"no table")
    assert survives(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="is not a Parquet table"):
        read_raw(tmp_path / "bad.parquet")
