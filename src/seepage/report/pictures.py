"""Pictures that were tables of pixels, as small images inside the page."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from collections.abc import Mapping

from pydantic import JsonValue

_PIXEL = re.compile(r"pixel_?(\d{1,6})")
SIDE = 28  # of a picture; pixels that are the same everywhere are not in a table, so it cannot be counted


def is_picture(row: Mapping[str, JsonValue]) -> bool:
    """Whether all columns of a row are pixels."""
    return len(row) > 1 and all(_PIXEL.fullmatch(name) for name in row)


def drawn_picture(row: Mapping[str, JsonValue]) -> str:
    """A data URI of a grey picture; pixels are 0 to 255, what lies outside is cut off, what is not there is black."""
    places = {int(match[1]): value for name, value in row.items() if (match := _PIXEL.fullmatch(name))}
    side = max(SIDE, math.isqrt(max(places, default=0)) + 1)
    grey = bytearray(side * side)
    for place, value in places.items():
        number = float(value) if isinstance(value, int | float) else 0.0
        grey[place] = round(min(max(number, 0.0), 255.0)) if math.isfinite(number) else 0
    # Every line of a PNG begins with its filter, 0.
    lines = b"".join(b"\0" + bytes(grey[begin : begin + side]) for begin in range(0, side * side, side))
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
