"""Plans: what is to be run, in a TOML file, with the same keys as the command line and Python, and grids over any.

.. code-block:: toml

    study = "rows"                    # rows if it is not said
    data = "adult"
    models = ["mlp", "resnet"]        # every combination of models, defences, batch sizes and attacks is tested
    batch_sizes = [1, 8, 32]

    [grid]                            # and every combination of these beside them
    labels_known = [true, false]
    seed = [0, 1]

    [[cases]]                         # with each of these
    name = "one local epoch"
    protocol = "fedavg"
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from seepage._core import InputError, unknown_name
from seepage._core.paths import user_path
from seepage.data.request import Request
from seepage.plans import registry
from seepage.plans.grid import MANY, check_count, combinations
from seepage.plans.options import Settings, aliases, checked, foreign_name, option_of, renamed, sentence
from seepage.studies import SETTINGS, find_study
from seepage.studies.study import Choice, Study

# Settings that say what is opened, beside the request: the tables of parties, a capture, a truth.
OPENS = ("tables", "key", "guests", "capture", "truth", "client_rows", "client", "rounds", "each_round", "statistics")


@dataclass(frozen=True, eq=False)
class Variant:
    """One table with one setting of everything that is not a coordinate of a cell. ``name`` says how it differs."""

    name: str
    request: Request
    settings: Settings


@dataclass(frozen=True, eq=False)
class Task:
    """What is trained once; what workers are given.

    ``place`` is the variant's in its plan, ``alone`` says that the plan has no other task.
    """

    study: str
    variant: Variant
    choice: Choice
    place: int = 0
    alone: bool = False

    @cached_property
    def id(self) -> str:
        """A short stable name, from everything that can change a number of it."""
        matters = find_study(self.study).matters(self.variant.settings, self.choice)
        choice = [type(self.choice).__name__, asdict(self.choice)]  # type: ignore[call-overload]
        text = json.dumps([self.study, self.variant.request.facts, matters, choice, self.variant.name], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    @cached_property
    def needs(self) -> dict[str, str]:
        """Tasks that must be finished first: their names by the labels of their choices."""
        needed = find_study(self.study).needs(self.variant.settings, self.choice)
        return {choice.label: Task(self.study, self.variant, choice, self.place).id for choice in needed}

    @property
    def label(self) -> str:
        """In words."""
        data = self.variant.request.data
        table = str(data) if isinstance(data, str | Path) else ""
        return ", ".join(part for part in (table, self.choice.label, self.variant.name) if part)


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that is to be run."""

    study: Study
    variants: tuple[Variant, ...]

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """What is to be done, in the order of the plan; what several variants share is done once."""
        every = [
            Task(self.study.name, variant, choice, place)
            for place, variant in enumerate(self.variants)
            for choice in self.study.choices(variant.settings)
        ]
        tasks = tuple({task.id: task for task in reversed(every)}.values())[::-1]
        return (replace(tasks[0], alone=True),) if len(tasks) == 1 else tasks

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal plans."""
        return hashlib.blake2b("".join(task.id for task in self.tasks).encode(), digest_size=8).hexdigest()


def read_plan(path: str | Path) -> dict[str, Any]:
    """The values of a plan, as :func:`seepage.audit` takes them; a mistake is one sentence.

    Every key is ``study``, one about the table, a setting of the study, ``grid`` (lists of values of such keys) or
    ``cases`` (tables of such keys). A path is taken from the folder in which the run is started, as on the command
    line.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        ...     _ = file.write('data = "clinic"\\nbatch_sizes = [1, 8]')
        ...     file.flush()
        ...     len(read_plan(file.name)["batch_sizes"])
        2
    """
    values = _parsed(Path(path))
    where = f"the plan {path}"
    study = str(values.get("study", "rows"))
    plain = {key: value for key, value in values.items() if key not in (*MANY, "study")}
    _check_old_form(values, where)
    known = _known(_study_settings(study), study)(plain, where)
    many = {key: values[key] for key in MANY if key in values}
    values = {"study": study, **known, **many}
    make_plan({"data": None} | values)  # told now, before anything beside the plan can hide it
    return values


def _check_old_form(values: Mapping[str, Any], where: str) -> None:
    """Plans of earlier versions said some things otherwise."""
    listed = values.get("cases")
    parts = [values, *(case for case in (listed if isinstance(listed, list) else []) if isinstance(case, Mapping))]
    for part in parts:
        if part.get("protocol") == "vertical":
            raise InputError(
                f"{where[0].upper()}{where[1:]} is of an earlier form: vertical learning is a study of its own now. "
                'Write study = "vertical" in place of protocol = "vertical".'
            )
        attacks = part.get("attacks", part.get("attack"))
        if attacks in ("property", ["property"]):
            raise InputError(
                f"{where[0].upper()}{where[1:]} is of an earlier form: property inference is a study of its own now. "
                'Write study = "property" in place of attacks = ["property"].'
            )


def _study_settings(study: str) -> type[Settings]:
    if study not in SETTINGS:
        raise unknown_name("study", study, SETTINGS)
    return SETTINGS[study]


def _known(kind: type[Settings], study: str) -> Callable[[Mapping[str, Any], str], dict[str, Any]]:
    """Checks keys, and brings them into one way of writing."""
    own = (*Request.model_fields, *kind.model_fields)
    others = {name: (*each.model_fields, *aliases(each)) for name, each in SETTINGS.items() if name != study}

    def check(values: Mapping[str, Any], place: str) -> dict[str, Any]:
        names = renamed(values, (Request, kind), place)
        for key in names:
            if key == "study":
                raise InputError(f"There is a 'study' in {place}; a plan is of one study, said at its top.")
            if key not in own:
                raise foreign_name(key, own, others, study, place)
        return names

    return check


def make_plan(values: Mapping[str, Any]) -> Plan:
    """The plan that these values make; everything is checked that can be without the tables."""
    name = str(values.get("study") or "rows")
    kind = _study_settings(name)
    study = find_study(name)
    check = _known(kind, name)
    plain = check({key: value for key, value in values.items() if key not in (*MANY, "study")}, "the settings")
    variants, cells = [], 0
    for label, changes in combinations(values, lambda key: key in study.said, check):
        variants.append(Variant(label, *prepare(study, plain | changes)))
        cells += study.count(variants[-1].settings)
        check_count(cells)  # lists of models, attacks, ... multiply as grids do
    _check_apart(study, variants)
    return Plan(study, tuple(variants))


def _check_apart(study: Study, variants: list[Variant]) -> None:
    """Two parts of a plan that test the same thing could not be told apart."""
    seen: set[str] = set()
    for variant in variants:
        data = variant.request.data
        table = str(data) if isinstance(data, str | Path) else "a table"  # frames are told apart by the names of cases
        for choice in study.choices(variant.settings):
            for place in study.places(variant.settings, choice):
                key = json.dumps([variant.name, table, list(place)])
                if key in seen:
                    words = [table, *(str(part) for part in place if part not in ("", "none", False, 0))]
                    raise InputError(f"Two parts of the plan test the same thing ({', '.join(words)}).")
                seen.add(key)


def prepare(study: Study, values: Mapping[str, Any]) -> tuple[Request, Settings]:
    """The request and the settings that these values make; everything is checked."""
    about = {name: value for name, value in values.items() if name in Request.model_fields}
    for name in ("drop", "sensitive"):
        if isinstance(about.get(name), str):  # one column where several are allowed
            about[name] = (about[name],)
    for name in ("schema_file", "path"):
        about[name] = about.get(name) or None
    try:
        request = Request(**about)
    except ValidationError as error:
        raise InputError(sentence(error)) from None
    if request.preprocessing is not None and study.name not in ("rows", "updates"):
        raise InputError(
            f"Preprocessing of your own belongs to the studies rows and updates; this is the study {study.name}."
        )
    own = {name: value for name, value in values.items() if name not in about}

    def written_out(part: str, asked: Any) -> str:
        return registry.written_out(part, asked, study.name)

    settings: Settings = checked(study.settings, own, written_out)
    return request, settings


def with_typed(values: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """A plan's values with others that take their place, also in its grid and its cases."""
    kind = _study_settings(str(values.get("study", "rows")))
    others = {option_of(field).one: name for each in (Request, kind) for name, field in each.model_fields.items()}
    names = {*typed, *(one for one, name in others.items() if name in typed)}
    grid = {key: value for key, value in (values.get("grid") or {}).items() if key not in names}
    left = [{key: value for key, value in case.items() if key not in names} for case in values.get("cases") or []]
    cases = [case for place, case in enumerate(left) if case and case not in left[:place]]  # some became the same
    rest = {key: value for key, value in values.items() if key not in MANY}
    return rest | dict(typed) | ({"grid": grid} if grid else {}) | ({"cases": cases} if cases else {})


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(user_path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"There is no plan {path}.") from None
    except OSError as error:
        raise InputError(f"The plan {path} cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise InputError(f"The plan {path} is nested too deep.") from None
    except ValueError as error:  # not TOML, not text, or a number of thousands of digits
        raise InputError(f"The plan {path} is not valid TOML: {error}.") from None
