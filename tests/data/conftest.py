"""Every test of this room has a cache of its own and, unless it is marked ``network``, no mirror."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("shared machine", deadline=None)  # a busy neighbour is no failure
settings.load_profile("shared machine")


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the network tests fetched: the user's own cache if one is named, so that it comes only once."""
    given = os.environ.get("SEEPAGE_CACHE")
    return Path(given) if given else tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    if request.node.get_closest_marker("network"):
        folder: Path = request.getfixturevalue("shared_cache")
    else:
        folder = tmp_path_factory.mktemp("cache")
        links = tmp_path_factory.mktemp("no-packages")
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(links))
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setattr("urllib.request._opener", None)  # urlopen keeps the proxies of its first use
    monkeypatch.setenv("SEEPAGE_CACHE", str(folder))
    return folder
