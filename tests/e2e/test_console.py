"""The console in a real browser, and a return of dead letters with a manager killed half-way."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.sync_api import Browser, Error, Page

import openmsmq
from openmsmq import Message
from openmsmq.access.tokens import Tokens
from openmsmq.console.application import load_files
from openmsmq.console.sessions import load_key, make_code
from tests.e2e.console_pages import AXE, BROWSER, SHOTS, STILL, chromium, log_in
from tests.e2e.managers import ManagerProcess, until

SCREENS = {
    "overview": "/",
    "queues": "/m/shop01/queues",
    "messages": "/m/shop01/q/orders?f=label:order*",
    "access to a queue": "/m/shop01/q/orders/access",
    "history of a queue": "/m/shop01/q/orders/history",
    "letters": "/m/shop01/letters",
    "outgoing": "/m/shop01/outgoing",
    "map": "/m/shop01/map",
    "find": "/find?q=order",
    "transactions": "/m/shop01/transactions",
    "pipelines": "/m/shop01/pipelines",
    "access": "/m/shop01/access",
    "settings": "/m/shop01/settings",
}
HOSTILE = '<img src=x onerror="document.title=1"><script>alert(1)</script>\u202eevil'
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    pytest.mark.skipif(not load_files(), reason="the pages are not built"),
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ManagerProcess, str, Path]]:
    """A manager with messages, and where its console is."""
    folder = tmp_path_factory.mktemp("shop")
    process = ManagerProcess(folder, "shop01", options=("--console-port", "0"))
    process.start()
    with openmsmq.connect(process.app) as manager:
        orders = manager.create_queue("orders")
        orders.send_many(
            [Message(f'<order no="{n}"/>', label=f"order {n}", priority=n % 8) for n in range(120)]
        )
        late = Message("late", label="late order", time_to_be_received=0, dead_letter=True)
        orders.send_many([late] * 12)
        manager.create_queue("jobs").send(Message(HOSTILE, label=HOSTILE))
        until(lambda: manager.open_queue(".\\DeadLetter$").info().messages == 12)
    host, port = process.ready["console"]
    yield process, f"http://{host}:{port}", process.folder / "data"
    process.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


def logged_in(
    browser: Browser, shop: tuple[ManagerProcess, str, Path], **options: Any
) -> tuple[Page, list[str]]:
    """A page of someone who opened a one-time link; what a page complains about fails the test."""
    return log_in(browser, shop[1], shop[2], **options)


def screens_of_messages(shop: tuple[ManagerProcess, str, Path]) -> dict[str, str]:
    """Screens of a message, and of two."""
    with openmsmq.connect(shop[0].app) as manager:
        one, other = (
            message.lookup_id for message in manager.open_queue("orders").peek_many(2, timeout=0)
        )
    place = "/m/shop01/q/orders"
    return {"message": f"{place}/{one}", "compare": f"{place}/compare?ids={one},{other}"}


def test_what_is_asked_for_elsewhere_is_a_complaint(
    browser: Browser, shop: tuple[ManagerProcess, str, Path]
) -> None:
    """So that tests notice it: a page may not fetch it, and cannot go there."""
    page, complaints = logged_in(browser, shop)
    page.evaluate("fetch('http://192.0.2.1/data').catch(() => null)")
    assert any("Content Security Policy" in one for one in complaints), complaints
    complaints.clear()
    with suppress(Error):
        page.goto("http://192.0.2.1/page")
    assert "asked for http://192.0.2.1/page" in complaints
    page.context.close()


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.acceptance)])
def test_every_screen_works_and_is_accessible(
    browser: Browser, shop: tuple[ManagerProcess, str, Path], scheme: Any
) -> None:
    """The network is cut off: what is asked for elsewhere is a complaint of the page."""
    page, complaints = logged_in(browser, shop, color_scheme=scheme)
    SHOTS.mkdir(parents=True, exist_ok=True)
    axe = AXE.read_text() if AXE.exists() else ""
    faults = []
    for name, path in {**SCREENS, **screens_of_messages(shop), "login": ""}.items():
        if path:
            page.goto(shop[1] + path)
            page.wait_for_selector("h1")
        else:
            page.click("text=Log out")
            page.wait_for_selector("main.login")
        page.evaluate(STILL)
        page.screenshot(path=SHOTS / f"{scheme}-{name}.png")
        assert complaints == [], name
        if axe:
            page.evaluate(axe)
            found = page.evaluate("axe.run({resultTypes: ['violations']})")
            faults += [
                f"{name}: {one['id']}: {one['nodes'][0]['html'][:120]}"
                for one in found["violations"]
                if one["impact"] in ("serious", "critical")
            ]
    page.context.close()
    assert faults == []


def test_hostile_text_is_text(browser: Browser, shop: tuple[ManagerProcess, str, Path]) -> None:
    page, complaints = logged_in(browser, shop)
    page.goto(f"{shop[1]}/m/shop01/q/jobs")
    page.wait_for_selector("tbody tr")
    page.wait_for_selector("pre")
    assert page.locator("main img, main script").count() == 0
    shown = page.inner_text("main")
    assert "<script>alert(1)</script>" in shown
    assert "\u202e" not in shown
    assert complaints == []
    page.context.close()


FOCUSED = """() => {
    const cell = document.activeElement.closest('[role=grid] td');
    return cell && [cell.parentElement.sectionRowIndex, cell.cellIndex];
}"""


def test_the_list_of_messages_is_a_grid(
    browser: Browser, shop: tuple[ManagerProcess, str, Path]
) -> None:
    """One stop for Tab, arrows inside; what is chosen with Ctrl+A goes beyond the page."""
    page, complaints = logged_in(browser, shop)
    page.goto(f"{shop[1]}/m/shop01/q/orders?f=label:order*")
    page.wait_for_selector("text=50 shown")
    grid = page.locator("[role=grid]")
    assert grid.locator("[tabindex='0']").count() == 1
    assert grid.locator("a:not([tabindex]), input:not([tabindex])").count() == 0
    page.keyboard.press("j")
    places = []
    for key in (
        "ArrowRight",
        "ArrowDown",
        "Home",
        "End",
        "Control+End",
        "Control+Home",
        "PageDown",
    ):
        page.keyboard.press(key)
        places.append(page.evaluate(FOCUSED))
    assert places == [[1, 3], [2, 3], [2, 0], [2, 5], [49, 5], [0, 0], [10, 0]]
    page.keyboard.press("Space")
    page.wait_for_selector("tr[aria-selected=true]")
    assert page.locator("tr[aria-selected=true]").count() == 1
    page.keyboard.press("n")
    page.wait_for_url("**at=*")
    page.wait_for_selector("tr.current:first-child input:focus")
    page.keyboard.press("Control+a")
    page.wait_for_selector("text=all that match chosen")
    assert page.locator("tr[aria-selected=true]").count() == 50
    page.keyboard.press("Delete")
    page.click("dialog >> text=Make a plan")
    page.wait_for_selector("text=120 messages, frozen")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.wait_for_selector("tr[aria-selected=true]", state="detached")
    page.context.close()
    assert complaints == []


def test_dead_letters_are_returned_with_the_keyboard(
    browser: Browser, shop: tuple[ManagerProcess, str, Path]
) -> None:
    page, _ = logged_in(browser, shop)
    page.keyboard.press("g")
    page.keyboard.press("d")
    page.wait_for_selector("text=late order")
    page.locator("button.main", has_text="Return").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    page.locator("dialog button.main").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("text=12 messages, frozen")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / "plan.png")
    page.locator("dialog button.main").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("text=done: 12 done")
    with openmsmq.connect(shop[0].app) as manager:
        assert manager.open_queue(".\\DeadLetter$").info().messages == 0
        assert manager.open_queue("orders").info().messages == 132
    page.context.close()


def test_a_queue_is_made_and_a_message_sent_and_seen(
    browser: Browser, shop: tuple[ManagerProcess, str, Path]
) -> None:
    page, _ = logged_in(browser, shop)
    page.goto(f"{shop[1]}/m/shop01/queues")
    page.click("text=New queue")
    page.fill("dialog input >> nth=0", "fresh")
    page.click("dialog button.main")
    page.click("a:text-is('fresh')")
    page.click("text=Send…")
    page.fill("dialog input >> nth=0", "hello")
    page.fill("dialog textarea", '{"a": 1}')
    page.click("dialog button.main")
    page.wait_for_selector("a:text-is('hello')")
    page.click("a:text-is('hello')")
    page.wait_for_selector("text=arrived in")
    page.context.close()


def test_administration(browser: Browser, shop: tuple[ManagerProcess, str, Path]) -> None:
    """A token whose secret is shown once, a recording, a session that ends, settings as code."""
    page, complaints = logged_in(browser, shop)
    page.goto(f"{shop[1]}/m/shop01/access")
    page.click("text=New token…")
    page.fill("dialog input >> nth=1", "web shop")
    page.click("dialog button.main")
    secret = page.inner_text("dialog code.secret")
    assert Tokens.load(shop[2]).check(secret) is not None
    page.click("dialog button.main")
    assert secret not in page.content()
    page.click("tr:has-text('web shop') >> text=Revoke…")
    page.click("dialog button.danger")
    page.wait_for_selector("text=web shop", state="detached")
    assert Tokens.load(shop[2]).check(secret) is None
    page.goto(f"{shop[1]}/m/shop01/outgoing")
    page.click("button:text-is('Record')")
    page.wait_for_selector("td.acts >> text=Stop")
    page.screenshot(path=SHOTS / "recording.png")
    page.click("td.acts >> text=Stop")
    page.click("td.acts >> text=Remove")
    with openmsmq.connect(shop[0].app) as other:
        own = other.control.sessions()[-1].id
        page.click(f"tr:has(a:text-is('{own}')) >> text=End…")
        page.click("dialog button.danger")
        page.wait_for_selector(f"text=ended {own}")
    page.goto(f"{shop[1]}/m/shop01/settings")
    page.fill("textarea", "[queue.planned]\njournal = true\n")
    page.click("text=Show the plan")
    page.wait_for_selector("text=Apply 1")
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / "settings-plan.png")
    page.click("text=Apply 1")
    page.wait_for_selector("text=1 changes applied")
    with openmsmq.connect(shop[0].app) as manager:
        assert manager.open_queue("planned").info().journal
    assert complaints == []
    page.context.close()


def test_a_link_does_not_log_in_twice(
    browser: Browser, shop: tuple[ManagerProcess, str, Path]
) -> None:
    code = make_code(load_key(shop[2]), time.time())
    for expected in ("nav", "main.login"):
        page = browser.new_context().new_page()
        page.goto(f"{shop[1]}/login#{code}")
        page.wait_for_selector(expected)
        page.context.close()


NAMES = ("one", "two", "three")
COUNT = 334


class Desk:
    """Someone who uses the console of several managers over REST."""

    def __init__(self, place: str, web: aiohttp.ClientSession) -> None:
        self._place = place
        self._web = web

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the API answers."""
        async with self._web.request(method, f"{self._place}/api/v1{path}", json=body) as answer:
            assert answer.status < 300, await answer.text()
            return await answer.json()

    async def begin(self, name: str) -> str:
        """Make a plan that returns all dead letters of a manager, and run it."""
        asked = {"manager": name, "queue": ".\\DeadLetter$", "act": "return", "rate": 400}
        plan = await self.ask("POST", "/plans", asked)
        await self.ask("POST", f"/plans/{plan['id']}/run", {})
        return str(plan["id"])

    async def until(self, plan: str, *, is_done: bool) -> None:
        """Wait until some messages are returned, or all; a plan that was interrupted goes on."""
        end = time.monotonic() + 120
        while True:
            found = await self.ask("GET", f"/plans/{plan}")
            if found["state"] == "done" or (found["done"] and not is_done):
                return
            if found["state"] in ("interrupted", "stopped"):
                await self.ask("POST", f"/plans/{plan}/run", {})
            assert time.monotonic() < end, found
            await asyncio.sleep(0.02)


async def return_all(link: str, shops: dict[str, ManagerProcess]) -> None:
    """Return the dead letters of all managers, and kill each while its plan runs."""
    place, _, code = link.partition("/login#")
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(headers={"X-OpenMSMQ": "1"}, cookie_jar=jar) as web:
        desk = Desk(place, web)
        await desk.ask("POST", "/session", {"code": code})
        plans = {name: await desk.begin(name) for name in NAMES}
        for name in NAMES:
            await desk.until(plans[name], is_done=False)
            shops[name].kill()
            shops[name].start()
        for name in NAMES:
            await desk.until(plans[name], is_done=True)


def fill(process: ManagerProcess) -> None:
    """Let messages become dead letters."""
    late = [
        Message(str(n), label=f"{n}", time_to_be_received=0, dead_letter=True) for n in range(COUNT)
    ]
    with openmsmq.connect(process.app) as manager:
        manager.create_queue("orders").send_many(late)
        letters = manager.open_queue(".\\DeadLetter$")
        until(lambda: letters.info().messages == COUNT)


def test_a_thousand_dead_letters_return_once_and_in_order_though_managers_are_killed(
    tmp_path: Path,
) -> None:
    """Three managers, one console beside them, each manager killed while its plan runs."""
    shops = {name: ManagerProcess(tmp_path, name) for name in NAMES}
    for process in shops.values():
        process.start()
        fill(process)
    given = [word for name in NAMES for word in ("--manager", f"{name}={shops[name].app}")]
    console = subprocess.Popen(
        [sys.executable, "-m", "openmsmq", "console", "--port", "0", *given],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert console.stdout is not None
    try:
        link = console.stdout.readline().split()[-1]
        with ThreadPoolExecutor(1) as pool:  # Playwright has a loop in this thread
            pool.submit(asyncio.run, return_all(link, shops)).result()
        for process in shops.values():
            with openmsmq.connect(process.app) as manager:
                orders = manager.open_queue("orders").peek_many(2 * COUNT, timeout=0)
                assert [one.label for one in orders] == [str(n) for n in range(COUNT)]
                assert manager.open_queue(".\\DeadLetter$").info().messages == 0
    finally:
        console.send_signal(signal.SIGINT)
        console.wait(30)
        console.stdout.close()
        for process in shops.values():
            process.stop()
