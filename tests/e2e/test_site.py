"""The documentation site: it builds without a warning, its links lead somewhere, and it asks nothing of anywhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser

from seepage.reproductions.paper import NAMES

pytest_plugins = ["tests.e2e.browser"]

ROOT = Path(__file__).parents[2]
BOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # Strict: a link that leads nowhere is an error. Not quiet: quiet warnings are not counted.
    words = ["build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", *words],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Documentation built" in done.stderr, "the build says nothing, so it would not warn either"
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_there_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text()
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]+src=[\"']?(https?:[^\"' >]+)", text)
        links = re.findall(r"<link[^>]+rel=[\"']?(?:stylesheet|preconnect|icon)[^>]+>", text)
        loaded += [link for link in links if re.search(r"href=[\"']?https?:", link)]
        assert not loaded, f"{page.name}: {loaded}"
        assert "@import url(http" not in text


def test_the_python_reference_has_the_public_names(site: Path) -> None:
    import seepage

    text = (site / "reference" / "api.html").read_text()
    for name in seepage.__all__:
        assert name in text or name == "__version__"
    for name in ("check_attack", "Study", "TabVFLClassifier", "TabVFLRegressor"):
        assert name in text


@pytest.mark.browser
def test_pages_on_papers_are_one_screen(site: Path, browser: Browser) -> None:
    """What differs and why is to be seen at once: on a tall screen, and fonts of machines differ by a little."""
    page = browser.new_page(viewport={"width": 1440, "height": 1200})
    for name in NAMES:
        page.goto((site / "papers" / f"{name}.html").as_uri())
        ends = page.evaluate("document.querySelector('article').lastElementChild.getBoundingClientRect().bottom")
        assert 400 < ends < 1200, name
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 1440, name
    page.close()


def test_notebooks_were_run() -> None:
    assert len(BOOKS) == 3
    for book in BOOKS:
        code = [cell for cell in nbformat.read(book, as_version=4).cells if cell.cell_type == "code"]
        assert all(cell.execution_count is not None for cell in code)
        assert all(output.output_type != "error" for cell in code for output in cell.outputs)


@pytest.mark.slow
@pytest.mark.parametrize("book", BOOKS, ids=[book.stem for book in BOOKS])
def test_notebooks_run(book: Path) -> None:
    spec = importlib.util.spec_from_file_location("execute_notebooks", ROOT / "docs" / "execute_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fresh = module.executed(book)
    assert all(output.output_type != "error" for cell in fresh.cells for output in cell.get("outputs", ()))
