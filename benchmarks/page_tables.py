"""Tables of the docs that are made from stored runs stand between marks; this puts them there. No benchmark itself."""

from __future__ import annotations

import re
from collections.abc import Mapping


def filled(page: str, tables: Mapping[str, str]) -> str:
    """The page with each table between ``<!-- name -->`` and ``<!-- end of name -->``."""
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        if not re.search(pattern, page, re.S):
            raise SystemExit(f"The page has no place for the table {name!r}.")
        before, after = re.split(pattern, page, maxsplit=1, flags=re.S)
        page = f"{before}{begin}{table}\n{end}{after}"
    return page
