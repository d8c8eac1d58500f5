"""What axe-core finds on a page: whether people with other senses can use it."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def serious(page: Page) -> list[str]:
    """What axe-core calls serious or worse on a page, with the places."""
    violations = Axe().run(page).response["violations"]
    return [
        f"{entry['id']}: {entry['help']} ({entry['nodes'][0]['html'][:120]})"
        for entry in violations
        if entry["impact"] in ("serious", "critical")
    ]
