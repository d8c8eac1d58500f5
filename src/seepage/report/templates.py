"""Where templates, styles and scripts of the pages are, and the words that templates can use."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup

from seepage.report import words

_HERE = Path(__file__).parent


@cache
def read(name: str) -> str:
    """A style or a script of this room."""
    return (_HERE / name).read_text(encoding="utf-8").strip()


def unbroken_hashes(text: str) -> Markup:
    """A sentence whose hashes of clients' names stay on one line."""
    parts = re.split(r"(client-[0-9a-f]{16})", text)
    return Markup("").join(
        Markup('<span class="hash">{}</span>').format(p) if n % 2 else p for n, p in enumerate(parts)
    )


def css_string(text: str) -> Markup:
    """A text as a string of a style sheet: whatever is no letter, digit or space is written by its number."""
    plain = "".join(each if each.isascii() and each.isalnum() else f"\\{ord(each):x} " for each in text)
    return Markup(f'"{plain}"')  # nothing in it can end the string or the sheet


@cache
def templates(folders: tuple[str, ...] = ()) -> Environment:
    """The templates of this room, and those of sections in their folders. Everything is escaped."""
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(_HERE), PrefixLoader({"section": FileSystemLoader(folders)})]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": words.percent,
        "ends": words.ends,
        "point_ends": words.point_ends,
        "points": words.points,
        "score": words.score,
        "score_ends": words.score_ends,
        "count": words.count,
        "size": words.size,
        "metric": words.metric,
        "css_string": css_string,
        "hashes": unbroken_hashes,
        "path": lambda text: quote(text, safe=""),
    }
    return environment
