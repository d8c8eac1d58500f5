"""Pictures in the report: tables of pixels become images, nothing else does."""

from __future__ import annotations

import base64
import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from seepage.report.pictures import SIDE, drawn_picture, is_picture


def grey(uri: str) -> list[bytes]:
    """The lines of a picture, read back."""
    data = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    place, found = 8, b""
    while place < len(data):
        size = struct.unpack(">I", data[place : place + 4])[0]
        name, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        assert struct.unpack(">I", data[place + 8 + size : place + 12 + size])[0] == zlib.crc32(name + body)
        found += body if name == b"IDAT" else b""
        place += 12 + size
    lines = zlib.decompress(found)
    return [lines[begin + 1 : begin + 1 + SIDE] for begin in range(0, len(lines), SIDE + 1)]


@given(st.dictionaries(st.integers(0, 783), st.floats(allow_nan=True, allow_infinity=True), min_size=2))
def test_a_picture_holds_its_pixels(pixels: dict[int, float]) -> None:
    row = {f"pixel_{place}": value for place, value in pixels.items()}
    assert is_picture(row)
    lines = grey(drawn_picture(row))
    assert len(lines) == SIDE
    for place, value in pixels.items():
        expected = round(min(max(value, 0), 255)) if abs(value) < float("inf") else 0
        assert lines[place // SIDE][place % SIDE] == expected


def test_a_table_is_not_a_picture() -> None:
    assert not is_picture({"age": 3, "pixel_1": 2})
    assert not is_picture({"pixel_1": 2})
