"""Tracebacks that can be passed on: where it broke and the kind of error, without messages that may quote a cell."""

from __future__ import annotations

import os
import re
import traceback

SETTING = "SEEPAGE_MESSAGES"  # set to 1, messages are kept: for whoever may see the table
WITHHELD = f"(its message may quote a cell of the table; {SETTING}=1 keeps it)"
_FRAME = re.compile(r'\s*File ".*", line \d+')
_BETWEEN = re.compile(r"Traceback \(most recent|During handling of|The above exception")
_KIND = re.compile(r'"{0,3}([A-Za-z_][\w.]*)(?::|$)')


def without_messages(error: BaseException) -> str:
    """The traceback of an error, and of those before it, also where it came from another process.

    Example:
        >>> text = without_messages(ValueError("could not convert 'Smith'"))
        >>> "ValueError" in text, "Smith" in text
        (True, False)
    """
    text = "".join(traceback.format_exception(error))
    return text if os.environ.get(SETTING) == "1" else frames_only(text)


def frames_only(text: str) -> str:
    """What a traceback says but for messages: frames with their lines of code, and kinds of errors."""
    kept, in_frame = [], False
    for line in text.splitlines():
        if _FRAME.match(line):
            kept.append(line)
            in_frame = True
        elif in_frame and line.startswith("    "):
            kept.append(line)
        elif _BETWEEN.match(line):
            kept.append(line)
            in_frame = False
        elif found := _KIND.match(line):
            if in_frame or not kept or _BETWEEN.match(kept[-1]):  # the line of the kind; those after it are its message
                kept.append(f"{found[1]} {WITHHELD}")
            in_frame = False
    return "\n".join(kept) + "\n"
