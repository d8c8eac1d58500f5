"""The shape of the source: what a review measured, held."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import seepage

SOURCE = Path(seepage.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
LINES, ARGUMENTS, LONG, UNTYPED = 60, 8, 300, 60


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_functions_are_short_and_take_few_arguments() -> None:
    for file in FILES:
        for function in functions(ast.parse(file.read_text())):
            assert function.end_lineno is not None
            lines = function.end_lineno - function.lineno + 1
            named = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
            count = len([name for name in named if name not in ("self", "cls")])
            assert lines <= LINES, f"{file.relative_to(SOURCE)}: {function.name} has {lines} lines"
            assert count <= ARGUMENTS, f"{file.relative_to(SOURCE)}: {function.name} takes {count} arguments"


def test_long_files_say_why() -> None:
    for file in FILES:
        text = file.read_text()
        if text.count("\n") > LONG:
            assert "Long because" in text.split('"""')[1], f"{file.relative_to(SOURCE)}: {text.count(chr(10))} lines"


def test_rooms_that_hold_the_shape_are_typed() -> None:
    lines = [
        line
        for room in ("cli", "studies", "report", "results")
        for file in (SOURCE / room).rglob("*.py")
        for line in file.read_text().splitlines()
        if re.search(r"\bAny\b", line)
    ]
    assert len(lines) < UNTYPED


def test_people_are_told_of_papers_by_their_names() -> None:
    root = SOURCE.parents[1]
    pages = [
        *FILES,
        *SOURCE.rglob("*.html"),
        *SOURCE.rglob("*.toml"),
        *(root / "docs").rglob("*.md"),
        root / "README.md",
    ]
    for page in pages:
        assert not re.search(r"\bdocuments? 00\d", page.read_text(), re.I), page.name


def test_only_what_is_public_shows() -> None:
    assert dir(seepage) == ["InputError", "SeepageError", "Summary", "__version__", "advise", "audit", "read_plan"]
    assert callable(seepage.audit)
    assert type(seepage.audit).__name__ == "function"
    for name in dir(seepage):
        assert (getattr(seepage, name).__doc__ or "").strip()
