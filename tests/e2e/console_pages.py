"""Pages of the console in a real browser."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, sync_playwright

from openmsmq.console.sessions import load_key, make_code

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
ROOT = Path(__file__).parents[2]
AXE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
SHOTS = ROOT / "build" / "console"
STILL = """() => new Promise(still => {
    let quiet = setTimeout(still, 300);
    const changes = new MutationObserver(() => {
        clearTimeout(quiet);
        quiet = setTimeout(still, 300);
    });
    changes.observe(document.body, {subtree: true, childList: true, characterData: true});
    setTimeout(still, 1500);
})"""
"Waits until a page has not changed for a moment."


def chromium() -> Iterator[Browser]:
    """A browser, for a fixture."""
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


def log_in(browser: Browser, place: str, data: Path, **options: Any) -> tuple[Page, list[str]]:
    """A page of someone who opened a one-time link, and what it complains about from then on."""
    given = {"viewport": {"width": 1280, "height": 800}, **options}
    page = browser.new_context(**given).new_page()
    complaints: list[str] = []

    def said(message: ConsoleMessage) -> None:
        complaints.append(message.text)

    def broke(error: Error) -> None:
        complaints.append(str(error))

    page.on("console", said)
    page.on("pageerror", broke)
    page.goto(f"{place}/login#{make_code(load_key(data), time.time())}")
    page.wait_for_selector("nav")
    return page, complaints
