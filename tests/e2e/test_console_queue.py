"""Queues, messages, sessions and pipelines looked at closely, in a real browser."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import openmsmq
from openmsmq import Message
from openmsmq.access.tokens import Tokens
from openmsmq.console.application import load_files
from openmsmq.pipelines.state import Runs, new_run
from tests.e2e.console_pages import AXE, BROWSER, STILL, chromium, log_in
from tests.e2e.managers import ManagerProcess, address, until
from tests.unit.pipelines.entries import add

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    pytest.mark.skipif(not load_files(), reason="the pages are not built"),
]
ORDERS = "/m/shop01/q/.%5Cprivate$%5Corders"
MINE = f"process {os.getpid()}"
"Who this program is to a manager."


class Place:
    """A service with its console, and another manager that sends to it."""

    def __init__(self, folder: Path, runs: Path) -> None:
        self.runs = runs
        self.process = ManagerProcess(folder, "shop01", options=("--console-port", "0"))
        self.process.start()
        self.place = "http://{}:{}".format(*self.process.ready["console"])
        self.data = self.process.folder / "data"
        self.token = Tokens.load(self.data).create("peek", label="support")[0]
        self.manager = openmsmq.connect(self.process.app)
        self.orders = self.manager.create_queue("orders")
        peer = f"shop01={address(self.process.ready['binary'])}"
        self.other = ManagerProcess(folder, "shop02", options=("--peer", peer))
        self.other.start()
        with openmsmq.connect(self.other.app) as other:
            other.open_queue(r"DIRECT=OS:shop01\private$\orders").send_many(
                [Message(f"{n}", label=f"order {n}") for n in range(20)]
            )
        until(lambda: self.orders.info().messages == 20)

    def close(self) -> None:
        """End it."""
        self.manager.close()
        for one in (self.process, self.other):
            one.stop()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENMSMQ_RUNS", str(runs))
        found = Place(tmp_path_factory.mktemp("queue"), runs)
    yield found
    found.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


@pytest.fixture
def page(browser: Browser, shop: Place) -> Iterator[Page]:
    """A page that has nothing to complain about."""
    found, complaints = log_in(browser, shop.place, shop.data)
    yield found
    found.context.close()
    assert complaints == []


def accessible(page: Page) -> None:
    """No serious fault is on the page."""
    page.evaluate(STILL)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def command(page: Page, title: str = "shell") -> str:
    """The same act for a shell, in a dialog if one is open."""
    inside = "dialog " if page.locator("dialog").count() else "main "
    return page.inner_text(f"{inside}.same div:has(dt:text-is('{title}')) code")


def test_who_may_what_is_shown_with_the_entry_that_decides(page: Page, shop: Place) -> None:
    words = ("queue", "permissions", "set", "orders", "--deny", "user:bob=receive")
    more = ("--allow", "everyone=full", "--allow", "anonymous=send")
    subprocess.run(
        [sys.executable, "-m", "openmsmq", "--manager", shop.process.app, *words, *more],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    page.goto(shop.place + ORDERS)
    page.click(".tabs >> text=Access")
    page.wait_for_selector("h1:text-is('Access to orders')")
    page.wait_for_selector("td:text-is('deny')")
    bob = page.locator("[aria-label='Who may what'] tr:has-text('user:bob')")
    assert "✕ no, entry 1" in bob.inner_text()
    assert page.locator("tr:has-text('support')").count() == 1
    page.fill("main form input", "user:bob")
    page.click("button:text-is('Ask')")
    page.wait_for_selector("text=entry 1 decides: deny user:bob receive")
    assert command(page) == "openmsmq queue permissions check orders --as user:bob --may receive"
    assert "permissions?who=user%3Abob" in command(page, "curl")
    accessible(page)
    shop.orders.set_permissions("")


def test_what_happened_in_a_queue_and_who_read_a_message(page: Page, shop: Place) -> None:
    taken = shop.orders.receive(timeout=5)
    page.goto(shop.place + ORDERS)
    page.focus(".tabs >> text=History")
    page.keyboard.press("Enter")
    page.wait_for_selector("td:has-text('was received from')")
    first = page.locator("[aria-label='History of the queue'] tbody tr").first.inner_text()
    assert MINE in first
    page.wait_for_selector("td:has-text('arrived in')")
    page.wait_for_selector("[aria-label='Audit log of the queue'] >> text=create queue")
    page.select_option("select >> nth=0", "received")
    page.wait_for_selector("text=1 event, the newest first")
    assert command(page) == "openmsmq queue history orders --event received"
    accessible(page)
    page.click("[aria-label='History of the queue'] tbody a")
    page.wait_for_selector("h3:text-is('Who read it?')")
    readers = page.inner_text(".readers")
    assert MINE in readers
    assert "received it" in readers
    assert taken.id in page.url.replace("%5C", "\\")


def test_a_session_shows_its_window_and_its_last_packets(page: Page, shop: Place) -> None:
    page.goto(f"{shop.place}/m/shop01/outgoing")
    page.click("[aria-label='Sessions'] tr:has-text('manager') a")
    page.wait_for_selector("h2:text-is('Last packets')")
    text = page.inner_text("main")
    assert "messages may be under way" in text
    assert "recoverable message" in text
    assert "order" not in page.inner_text("[aria-label='Last packets']")
    assert command(page).startswith("openmsmq session show m")
    accessible(page)
    page.goto(f"{shop.place}/m/shop01/outgoing")
    page.click(f"[aria-label='Sessions'] tr:has-text('{MINE}') a")
    page.click("li a:text-is('orders')")
    page.wait_for_selector("h1:text-is('orders')")


def test_a_plan_says_what_has_come_since(page: Page, shop: Place) -> None:
    page.goto(f"{shop.place}{ORDERS}?f=label:order*")
    page.wait_for_selector("tbody tr")
    page.click("button:text-is('Move…')")
    page.fill("dialog input >> nth=0", "orders")
    page.click("dialog >> text=Make a plan")
    page.wait_for_selector("dialog >> text=frozen")
    shop.orders.send_many([Message("x", label="order late"), Message("x", label="bill")])
    page.wait_for_selector("dialog >> text=1 message has come since.")


def test_edit_notes_and_import_are_commands_too(page: Page, shop: Place, tmp_path: Path) -> None:
    page.goto(shop.place + ORDERS)
    page.click("text=Import…")
    file = tmp_path / "it.jsonl"
    file.write_text("{}")
    page.set_input_files("dialog input", file)
    assert command(page) == "openmsmq message import orders it.jsonl"
    assert "--data-binary '@it.jsonl'" in command(page, "curl")
    page.keyboard.press("Escape")
    page.click("tbody a >> nth=0")
    page.click("text=Edit and send…")
    line = command(page).replace("\n", " ")
    assert line.startswith("openmsmq message send 'orders' --like '.\\private$\\orders' ")
    assert '"like":' in command(page, "curl")
    late = Message("x", label="late 1", time_to_be_received=0, dead_letter=True)
    shop.manager.create_queue("jobs").send(late)
    page.goto(f"{shop.place}/m/shop01/letters")
    page.click("button:text-is('note…')")
    page.fill("dialog input", "Ann asks")
    assert command(page).startswith("openmsmq console note '.\\DeadLetter$' 'Ann asks' --reason ")
    assert "/deadletters/note" in command(page, "curl")


def test_an_archive_is_verified_and_a_pipeline_run(page: Page, shop: Place) -> None:
    archive = shop.runs / "archive"
    add(archive, 0, "a", "b")
    file = shop.runs / "lake.toml"
    source = f'[source]\nqueue = "orders"\nmanager = "{shop.process.app}"\n'
    file.write_text(
        f'{source}subscription = "lake"\non_commit = "keep"\n[archive]\npath = "{archive}"\n'
    )
    with Runs(shop.runs).begin(new_run("lake", "archive", str(file), None)) as recorder:
        recorder.end("done")
    page.goto(f"{shop.place}/m/shop01/pipelines")
    page.click("button:text-is('Verify…')")
    assert command(page) == f"openmsmq pipeline verify '{file}'"
    page.click("dialog button.main")
    page.wait_for_selector("text=2 rows in 1 file: every message once")
    accessible(page)
    file.write_text("[sorce]\n")
    page.click("button:text-is('Run…')")
    page.click("dialog button.main")
    page.wait_for_selector("tr:has-text('run') >> text=✕ failed")
    page.wait_for_selector("text=One of these tables is needed")
    acts = [one.act for one in shop.manager.audit() if one.target == "lake"]
    assert acts == ["verify pipeline"] * 2 + ["run pipeline"] * 2
