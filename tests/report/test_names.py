"""What people read is English, not the name of a class."""

from __future__ import annotations

import re

from seepage.report.section import all_sections


def test_headings_of_sections_are_words() -> None:
    for section in all_sections():
        for text in (section.title, section.short):
            assert text
            assert not re.search(r"[a-z][A-Z]|_", text), text
