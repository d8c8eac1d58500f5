"""Programs that are in no package, such as those of docs and examples, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def module_at(file: Path) -> ModuleType:
    """What a file defines."""
    spec = importlib.util.spec_from_file_location(f"loaded_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found  # dataclasses look there for their annotations
    spec.loader.exec_module(found)
    return found
