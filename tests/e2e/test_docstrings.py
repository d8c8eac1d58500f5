"""Docstrings: every example runs, and what is public has what the template asks for."""

from __future__ import annotations

import doctest
import importlib
from functools import partial
from pathlib import Path

import pytest

import seepage
from seepage.plans.registry import parts_of

SOURCE = Path(seepage.__file__).parent
EXAMPLES = [path for path in sorted(SOURCE.rglob("*.py")) if ">>> " in path.read_text()]
SECTIONS = {"attack": ("Example:", "References:"), "defence": ("Guarantees:", "Example:", "References:")}
SECTIONS |= {"model": ("Example:", "References:"), "reader": ("Example:", "References:")}
EXEMPT = {"none": ("References:",)}  # nothing to refer to


@pytest.mark.parametrize("path", EXAMPLES, ids=[str(path.relative_to(SOURCE)) for path in EXAMPLES])
def test_examples_run(path: Path) -> None:
    name = ".".join(("seepage", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("kind", SECTIONS)
def test_parts_have_the_sections_of_the_template(kind: str) -> None:
    for part in parts_of(kind):
        made = part.make.func if isinstance(part.make, partial) else part.make
        for section in SECTIONS[kind]:
            if section not in EXEMPT.get(part.name, ()):
                assert section in (made.__doc__ or ""), f"{kind} {part.name} has no {section}"


def test_public_names_have_examples() -> None:
    for name in dir(seepage):
        if name != "__version__":
            assert "Example:" in (getattr(seepage, name).__doc__ or ""), name
