"""The sections of the report: one ``.py`` and one ``.html`` each, found by themselves (see ``report/section.py``)."""
