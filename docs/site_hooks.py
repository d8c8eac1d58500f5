"""What the site changes in pages that also stand in the repository."""

from __future__ import annotations

import re
from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """``sh slow`` tells our tests that a block takes long; to the site it is ``sh``."""
    return re.sub(r"^( *```(?:sh|python)) slow$", r"\1", markdown, flags=re.M)
