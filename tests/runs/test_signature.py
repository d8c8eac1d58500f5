from __future__ import annotations

import inspect
import pydoc

import pytest

import seepage
from seepage._core import InputError
from seepage.data.request import Request
from seepage.runs.signature import said
from seepage.studies import SETTINGS
from tests import cases

DECLARED = [(kind, name) for kind in (Request, *SETTINGS.values()) for name in kind.model_fields]


@pytest.fixture(scope="module")
def page() -> str:
    """What `help(seepage.audit)` says."""
    return pydoc.plain(pydoc.render_doc(seepage.audit))


@pytest.mark.parametrize(("kind", "name"), DECLARED, ids=lambda part: getattr(part, "__name__", part))
def test_every_setting_of_every_study_is_in_the_signature_and_in_help(kind: type, name: str, page: str) -> None:
    field = kind.model_fields[name]  # type: ignore[attr-defined]
    called = said(name, field)
    assert called in inspect.signature(seepage.audit).parameters
    assert f"\n        {called}" in page or called in ("data", "target")


def test_types_and_defaults_are_for_reading() -> None:
    shown = inspect.signature(seepage.audit).parameters
    assert "FieldInfo" not in str(inspect.signature(seepage.audit))
    assert str(shown["trials"]) == "trials: int = <rows: 10, vertical: 3, cohorts: 5, servers: 5>"
    assert shown["local_epochs"].default == 1
    assert "separated by commas" not in (seepage.audit.__doc__ or "")
    assert list(shown)[:2] == ["data", "target"]
    assert list(shown)[-1] == "options"


def test_an_unknown_keyword_is_told_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"'trails'.*Did you mean 'trials'"):
        seepage.audit(cases.frame(), target="target", trails=3)
    with pytest.raises(InputError, match="belongs to the study vertical; this is the study rows"):
        seepage.audit(cases.frame(), target="target", people=3)


@pytest.mark.slow
def test_jobs_without_a_folder_leave_nothing_behind() -> None:
    options = {"model": "linear", "attack": "inverting_gradients:steps=2", "batch_sizes": (2, 3), "exposure": 0}
    options |= {"attack_points": "initialized", "trials": 2, "clients": 2}
    alone = seepage.audit(cases.frame(), target="target", **options)
    shared = seepage.audit(cases.frame(), target="target", jobs=2, **options)
    assert shared.path is None
    assert shared.name == alone.name
    assert [cell.metrics for cell in shared.cells] == [cell.metrics for cell in alone.cells]
