"""The map of sites in a real browser: what a manager routes by, and a hop that it cannot reach."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import openmsmq
from openmsmq import Access, Message
from openmsmq.console.application import load_files
from tests.e2e.console_pages import AXE, BROWSER, STILL, chromium, log_in
from tests.e2e.managers import ManagerProcess, until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    pytest.mark.skipif(not load_files(), reason="the pages are not built"),
]
GATE = "00000002-0000-4000-8000-000000000002"
TOPOLOGY = """\
[[sites]]
name = "shop"
[[sites]]
name = "hq"
[[sites]]
name = "mainframe"
foreign = true
[[links]]
site1 = "shop"
site2 = "hq"
cost = 17
gates = ["shop01", "hq-gate"]
[[managers]]
name = "shop01"
id = "{own}"
sites = ["shop"]
router = true
[[managers]]
name = "hq-gate"
id = "{gate}"
sites = ["hq"]
router = true
address = "127.0.0.1:{port}"
"""


class Shop:
    """A gate of a shop, and a headquarters that is off."""

    def __init__(self, folder: Path) -> None:
        self.process = ManagerProcess(folder, "shop01", options=("--console-port", "0"))
        self.process.start()
        host, port = self.process.ready["console"]
        self.place = f"http://{host}:{port}"
        self.data = self.process.folder / "data"
        self._off = socket.socket()
        self._off.bind(("127.0.0.1", 0))  # no one else listens there meanwhile
        self.gate = f"127.0.0.1:{self._off.getsockname()[1]}"

    def close(self) -> None:
        """Stop it."""
        self._off.close()
        self.process.stop()

    def apply(self, text: str) -> None:
        """Let it route by a topology."""
        with openmsmq.connect(self.process.app) as manager:
            manager.configure(topology=text)

    def send(self) -> None:
        """Let a message wait for the headquarters."""
        name = f"PRIVATE={GATE}\\00000009"
        with openmsmq.connect(self.process.app) as manager:
            manager.open_queue(name, access=Access.SEND).send(Message("x"))
            until(lambda: any(one.failures for one in manager.outgoing()), "it was not tried")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    found = Shop(tmp_path)
    yield found
    found.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


def shown(page: Page, region: str) -> str:
    """The table of a region."""
    return str(page.locator(f"[aria-label='{region}']").inner_text())


def test_the_map_shows_sites_links_and_what_cannot_be_reached(browser: Browser, shop: Shop) -> None:
    """Nothing without a topology; then the picture and the tables say the same."""
    page, complaints = log_in(browser, shop.place, shop.data)
    page.goto(f"{shop.place}/m/shop01/map")
    page.wait_for_selector("h1:has-text('Map')")
    page.evaluate(STILL)
    assert page.locator("text=Routing of shop01").count() == 0
    port = shop.gate.rpartition(":")[2]
    shop.apply(TOPOLOGY.format(own=shop.process.id, gate=GATE, port=port))
    shop.send()
    page.reload()
    page.wait_for_selector("h2:has-text('Routing of shop01')")
    page.wait_for_selector("[aria-label='Hops that cannot be reached']")
    page.evaluate(STILL)
    picture = page.locator("svg[aria-label^='Sites and the links']")
    drawn = picture.locator("text").all_text_contents()
    assert sorted(drawn) == ["17", "hq", "mainframe", "shop"]
    assert (picture.locator("line").count(), picture.locator("rect").count()) == (1, 3)
    assert "From the file. Directory: none. 3 sites, 1 link, 2 managers." in page.inner_text("main")
    assert "shop \u2013 hq\t17\tshop01, hq-gate" in shown(page, "Links")
    assert f"hq-gate\thq\tgate\t{shop.gate}" in shown(page, "Managers of the topology")
    assert shop.gate in shown(page, "Hops that cannot be reached")
    if AXE.exists():
        page.evaluate(AXE.read_text())
        assert page.evaluate("axe.run({resultTypes: ['violations']})")["violations"] == []
    page.context.close()
    assert complaints == []


def test_a_way_between_managers_leads_to_why_they_wait(browser: Browser, shop: Shop) -> None:
    with openmsmq.connect(shop.process.app) as manager:
        away = manager.open_queue(r"DIRECT=OS:depot.invalid\private$\stock", access=Access.SEND)
        away.send_many([Message("x")] * 3)
        until(lambda: any(one.failures for one in manager.outgoing()), "it was not tried")
    page, complaints = log_in(browser, shop.place, shop.data)
    page.goto(f"{shop.place}/m/shop01/map")
    page.wait_for_selector("[aria-label='Ways between managers'] tr:has-text('depot.invalid')")
    page.wait_for_selector(".way.failing text:has-text('3 wait')")
    here, there = (
        page.locator(f".map g:has(text:text-is('{name}')) rect").bounding_box()
        for name in ("shop01", "depot.invalid")
    )
    assert here is not None
    assert there is not None
    assert there["x"] > here["x"] + here["width"], "the way is not hidden behind a box"
    page.locator(".way.failing text").click()
    page.wait_for_selector("table.outgoing tr:has-text('stock on depot.invalid')")
    page.go_back()
    page.click("[aria-label='Ways between managers'] a:text-is('3')")
    page.wait_for_selector("table.outgoing tr:has-text('stock on depot.invalid')")
    page.goto(f"{shop.place}/m/shop01/queues")
    page.click("tr:has-text('stock on depot.invalid') a >> nth=0")
    page.wait_for_selector("h1:has-text('Outgoing messages')")
    page.context.close()
    assert complaints == []
