"""What ``docs/how-to/nvflare.md`` shows as configuration is built by NVFlare itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from nvflare.apis.filter import FilterChainType, FilterContextKey, FilterSource
from nvflare.apis.fl_constant import FilterKey
from nvflare.apis.workspace import Workspace
from nvflare.app_common.widgets.component_path_authorizer import ComponentPathAuthorizer
from nvflare.private.fed.app.fl_conf import create_privacy_manager

from seepage.integrations.nvflare import GuardFilter, RecorderFilter
from tests.integrations.nvflare_hospitals import ROOT

PAGE = ROOT / "docs" / "how-to" / "nvflare.md"


def shown() -> list[dict[str, Any]]:
    return [json.loads(each) for each in re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(), re.M | re.S)]


def workspace(folder: Path) -> Workspace:
    for name in ("startup", "local"):
        (folder / name).mkdir()
    return Workspace(str(folder))


def test_a_recorder_in_a_jobs_configuration() -> None:
    (found,) = shown()[0]["filters"]
    assert found["path"] == f"{RecorderFilter.__module__}.RecorderFilter"
    made = RecorderFilter(**found["args"])
    assert made.bounds == {"rounds": 20, "clients": 10, "megabytes": 500}


def test_a_guard_in_a_sites_own_configuration(tmp_path: Path) -> None:
    """Both filters are built, and NVFlare marks in which chain they stand."""
    place = workspace(tmp_path)
    (tmp_path / "local" / "privacy.json").write_text(json.dumps(shown()[1]))
    scope = create_privacy_manager(place, names_only=False).default_scope
    (arriving,), (leaving,) = scope.task_data_filters[FilterKey.IN], scope.task_result_filters[FilterKey.OUT]
    for made, chain in (
        (arriving, FilterChainType.TASK_DATA_CHAIN),
        (leaving, FilterChainType.TASK_RESULT_CHAIN),
    ):
        assert type(made) is GuardFilter
        assert made.get_prop(FilterContextKey.CHAIN_TYPE) == chain
        assert made.get_prop(FilterContextKey.SOURCE) == FilterSource.SITE
        assert made.options["action"] == "hold"


@pytest.mark.parametrize("made", [RecorderFilter, GuardFilter])
def test_a_site_allows_our_classes_by_the_name_of_their_room(tmp_path: Path, made: type) -> None:
    """A job without code of its own is only built from classes that the site allows."""
    place = workspace(tmp_path)
    resources = {"format_version": 2, "class_allow_list": ["seepage.integrations."]}
    (tmp_path / "local" / "resources.json").write_text(json.dumps(resources))
    path = f"{made.__module__}.{made.__qualname__}"
    ComponentPathAuthorizer().authorize_component_config({"path": path, "args": {}}, workspace=place)
    (tmp_path / "local" / "resources.json").write_text(json.dumps(resources | {"class_allow_list": ["other."]}))
    with pytest.raises(Exception, match="is not in allow_list"):
        ComponentPathAuthorizer().authorize_component_config({"path": path, "args": {}}, workspace=place)
