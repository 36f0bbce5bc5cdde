"""Pages of the console in a real browser."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Route, sync_playwright

from openmsmq.console.sessions import load_key, make_code

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
ROOT = Path(__file__).parents[2]
AXE = ROOT / "frontend/node_modules/axe-core/axe.min.js"
SHOTS = ROOT / "build" / "console"
COUNTING = """
    window.asking = 0;
    const ask = window.fetch;
    window.fetch = (...given) => {
        window.asking++;
        return ask(...given).finally(() => { window.asking--; });
    };
"""
"Counts the requests of a page that were not answered yet."
STILL = """() => new Promise(still => {
    let quiet = 0;
    const look = () => {
        quiet = window.asking ? 0 : quiet + 1;
        if (quiet > 5) still(); else setTimeout(look, 20);
    };
    const changes = new MutationObserver(() => { quiet = 0; });
    changes.observe(document.body, {subtree: true, childList: true, characterData: true});
    look();
})"""
"Waits until all that a page asked for is answered and shown."


def chromium() -> Iterator[Browser]:
    """A browser, for a fixture."""
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield found
        found.close()


def log_in(browser: Browser, place: str, data: Path, **options: Any) -> tuple[Page, list[str]]:
    """A page of someone who opened a one-time link, and what it complains about from then on.

    The network is cut off: what a page asks for elsewhere is not answered, and a complaint.
    """
    given = {"viewport": {"width": 1280, "height": 800}, **options}
    context = browser.new_context(**given)
    complaints: list[str] = []

    # A pattern, not a function: the driver knows by itself what is elsewhere. What it had to ask
    # us about would wait while a test waits for something else than the page.
    elsewhere = re.compile(rf"^(?!{re.escape(place)}/|data:|blob:)")

    def cut_off(route: Route) -> None:
        complaints.append(f"asked for {route.request.url}")
        route.abort("internetdisconnected")

    context.route(elsewhere, cut_off)
    page = context.new_page()
    page.add_init_script(COUNTING)

    def said(message: ConsoleMessage) -> None:
        complaints.append(message.text)

    def broke(error: Error) -> None:
        complaints.append(str(error))

    page.on("console", said)
    page.on("pageerror", broke)
    page.goto(f"{place}/login#{make_code(load_key(data), time.time())}")
    page.wait_for_selector("nav")
    return page, complaints
