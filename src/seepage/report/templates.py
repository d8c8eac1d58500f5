"""Where templates, styles and scripts of the pages are, and the words that templates can use."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined

from seepage.report import words

_HERE = Path(__file__).parent


@cache
def read(name: str) -> str:
    """A style or a script of this room."""
    return (_HERE / name).read_text(encoding="utf-8").strip()


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
        "path": lambda text: quote(text, safe=""),
    }
    return environment
