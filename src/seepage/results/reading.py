"""A stored summary, whatever its study."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic import ValidationError

from seepage._core import InputError
from seepage._core.files import unsealed
from seepage.results.cohorts import CohortsSummary
from seepage.results.outline import partial_summary
from seepage.results.parties import PartiesSummary
from seepage.results.property import PropertySummary
from seepage.results.rows import RowsSummary
from seepage.results.servers import ServersSummary
from seepage.results.store import STORE_VERSION, Run
from seepage.results.summary import SCHEMA_VERSION, Summary
from seepage.results.training import TrainingSummary
from seepage.results.updates import UpdatesSummary
from seepage.results.vertical import VerticalSummary

SUMMARIES: dict[str, type[Summary]] = {
    "rows": RowsSummary,
    "property": PropertySummary,
    "vertical": VerticalSummary,
    "training": TrainingSummary,
    "parties": PartiesSummary,
    "updates": UpdatesSummary,
    "cohorts": CohortsSummary,
    "servers": ServersSummary,
}


def check_form(run: Run) -> None:
    """Stop with one sentence if a run folder was written by a Seepage that stored runs in another form."""
    head = run.head()
    version = head.get("store_version")
    # Before version 3, property inference and vertical training kept stores of their own, with a kind and no version.
    if "kind" not in head and version in (None, STORE_VERSION):
        return
    later = isinstance(version, int) and version > STORE_VERSION
    raise InputError(
        f"The run {run.path} was written by {'a later' if later else 'an earlier'} version of Seepage, in a form that "
        f"this version cannot read; {'read it with that version' if later else 'repeat it with another --out'}."
    )


def read_summary(run: Run) -> Summary:
    """The summary of a run folder; of one that is not finished, the summary of what is there (``unfinished``)."""
    check_form(run)
    try:
        return parse_summary(run.read("summary.json"), str(run.path / "summary.json"))
    except FileNotFoundError:
        return partial_summary(run, SUMMARIES)


def parse_summary(content: bytes | str, where: str = "summary.json") -> Summary:
    """A summary from its JSON; whatever is wrong with it is one sentence."""
    content = content.encode() if isinstance(content, str) else content
    content = unsealed(content) or content  # as it is in a run folder, or as it was printed
    try:
        document = json.loads(content)
    except ValueError as error:  # not JSON, or not even text
        raise InputError(f"{where} is not valid JSON: {error}.") from None
    except RecursionError:
        raise InputError(f"{where} is not valid JSON: it is nested too deep.") from None
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(
            f"{where} has schema version {version}; this Seepage reads version {SCHEMA_VERSION}. Run it again to write "
            "it anew, in another folder."
        )
    kind = SUMMARIES.get(str(document.get("study")))
    if kind is None:
        raise InputError(f"{where} is of the study {document.get('study')!r}; there are: {', '.join(SUMMARIES)}.")
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{where} cannot be read: {place}: {first['msg']}. Run it again to write it anew.") from None


def odd_entry(path: Path) -> str:
    """The name of something in a run folder that is neither a file nor a folder: a link, a pipe, a device.

    Seepage writes none. In a folder that came from somebody else, a link leads to other files of the reader, and a pipe
    never ends. Empty if there is none in the folder and those in it.
    """
    if path.is_symlink():
        return path.name
    for folder in (path, *(Path(entry) for entry in _listed(path) if entry.is_dir(follow_symlinks=False))):
        for entry in _listed(folder):
            if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)):
                return Path(entry).relative_to(path).as_posix()
    return ""


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing, if a runner has just removed it."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def runs_below(folder: Path) -> list[Path]:
    """The run folders of a folder."""
    return [file.parent for file in folder.glob("*/run.json")]
