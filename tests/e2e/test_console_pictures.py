"""The pictures of the console in the documentation, taken of a small shop.

`OPENMSMQ_PICTURES=docs/pictures pytest -m acceptance tests/e2e/test_console_pictures.py` takes them
anew; without that they are in `build/console/pictures`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest
from playwright.sync_api import Browser, Page

import openmsmq
from openmsmq import Manager, Message
from openmsmq.access.tokens import Tokens
from openmsmq.bodies.headers import encode_nservicebus
from openmsmq.console.application import load_files
from openmsmq.security.access import QueueRights
from openmsmq.security.descriptor import AceType, Acl, SecurityDescriptor
from openmsmq.security.permissions import parse_entry
from openmsmq.security.sddl import format_sddl
from openmsmq.service.configuration import CONFIG_FILE
from tests.e2e.console_pages import BROWSER, ROOT, SHOTS, chromium, log_in
from tests.e2e.managers import ManagerProcess, address

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    pytest.mark.skipif(not load_files(), reason="the pages are not built"),
]
WHERE = Path(os.environ.get("OPENMSMQ_PICTURES", SHOTS / "pictures"))
ORDERS = "/m/shop01/q/.%5Cprivate%24%5Corders"
HEIGHTS = {"overview": 800, "messages": 520, "history": 480}
WHO_MAY = (
    parse_entry("user:ben=receive", QueueRights, AceType.DENIED),
    parse_entry("administrators=full", QueueRights, AceType.ALLOWED),
    parse_entry("authenticated=peek,send,receive", QueueRights, AceType.ALLOWED),
    parse_entry("anonymous=send", QueueRights, AceType.ALLOWED),
)
PLAN = """[queue.orders]
journal = true
quota = 40000
[queue.refunds]
transactional = true
label = "to cards and accounts"
"""


def late(label: str) -> Message:
    """A message that is a dead letter at once."""
    return Message("x", label=label, time_to_be_received=0, dead_letter=True)


class Shop:
    """Two shops and an office, in one console, with orders going on."""

    def __init__(self, folder: Path) -> None:
        self.others = [
            ManagerProcess(folder, name, options=("--app-port", "0")).start()
            for name in ("shop02", "office")
        ]
        peers = {one.name: one.place for one in self.others}
        self.process = ManagerProcess(
            folder, "shop01", peers=peers, options=("--console-port", "0")
        )
        self.data = self.process.folder / "data"
        self.data.mkdir()
        lines = ["[console.managers]"]
        for one in self.others:
            token = Tokens.load(one.folder / "data").create("admin")[1]
            (self.data / f"{one.name}.token").write_text(token)
            place = address(one.ready["app"])
            lines.append(f'{one.name} = {{ address = "{place}", token_file = "{one.name}.token" }}')
        (self.data / CONFIG_FILE).write_text("\n".join(lines))
        self.process.start()
        self.place = "http://{}:{}".format(*self.process.ready["console"])
        self.over = Event()
        self.work = Thread(target=self._work)
        with openmsmq.connect(self.process.app) as manager:
            self._fill(manager)
        self.work.start()

    def _fill(self, manager: Manager) -> None:
        manager.create_queue("orders", transactional=True, quota=2000, label="of the web shop")
        jobs = manager.create_queue("jobs")
        payments = manager.create_queue("payments", quota=1000)
        payments.set_permissions(format_sddl(SecurityDescriptor(dacl=Acl(WHO_MAY))))
        payments.send_many(
            [
                Message(json.dumps({"no": n, "card": {"type": "visa"}}), label=f"payment {n}")
                for n in range(17)
            ]
        )
        jobs.send_many([late(f"job {n}") for n in range(130)])
        payments.send_many([late(f"payment {n}") for n in range(12)])
        failed = {"NServiceBus.FailedQ": "orders@shop01", "NServiceBus.MessageId": "4711"}
        failed["NServiceBus.ExceptionInfo.ExceptionType"] = "System.TimeoutException"
        manager.create_queue("billing.error").send(
            Message("{}", label="bill 7", extension=encode_nservicebus(failed))
        )
        manager.open_queue(r"DIRECT=OS:depot\private$\stock").send_many(
            [Message("x", label=f"stock {n}") for n in range(12)]
        )
        for one in self.others:
            with openmsmq.connect(one.app) as other:
                other.create_queue("books", transactional=True)
                stock = other.create_queue("stock")
                if one.name == "shop02":
                    stock.send_many([late(f"stock {n}") for n in range(30)])
        manager.open_queue(r"DIRECT=OS:shop02\private$\stok").send_many(
            [Message("x", label=f"stock {n}", dead_letter=True) for n in range(5)]
        )

    def _work(self) -> None:
        with openmsmq.connect(self.process.app) as manager:
            orders = manager.open_queue("orders")
            books = manager.open_queue(r"DIRECT=OS:office\private$\books")
            number = 4600
            while not self.over.wait(0.2):
                with manager.transaction() as work:
                    for _ in range(4):
                        number += 1
                        who = ("ACME", "Bee Ltd", "Corner Shop")[number % 3]
                        body = f'<order no="{number}"><customer>{who}</customer></order>'
                        message = Message(body, label=f"order {number}")
                        orders.send(message, transaction=work)
                    books.send(Message("booked", label=f"booking {number}"), transaction=work)
                if orders.info().messages > 500:
                    with manager.transaction() as work:
                        for _ in range(4):
                            orders.receive(timeout=0, transaction=work)

    def close(self) -> None:
        """End it."""
        self.over.set()
        self.work.join()
        for one in (self.process, *self.others):
            one.stop()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    found = Shop(tmp_path_factory.mktemp("shop"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


def overview(page: Page) -> None:
    page.wait_for_selector("figure >> text=waiting")
    page.wait_for_selector(".findings li >> nth=2")
    page.wait_for_timeout(20_000)  # for numbers over time


def messages(page: Page) -> None:
    page.wait_for_selector("aside h2")


def columns(page: Page) -> None:
    page.click("aside button:text-is('tree')")
    page.wait_for_selector(".tree")


def letters(page: Page) -> None:
    page.wait_for_selector("text=meant?")


def plan(page: Page) -> None:
    page.click("tr:has-text('job #') >> button:has-text('Return')")
    page.fill("dialog input[maxlength='500']", "the readers run again")
    page.click("dialog >> text=Make a plan")
    page.wait_for_selector("dialog >> text=frozen")


def message(page: Page) -> None:
    page.wait_for_selector("aside h2")
    page.click("aside >> text=all properties and its life")
    page.wait_for_selector(".story li")


def access(page: Page) -> None:
    page.fill("main form input", "user:ben")
    page.click("button:text-is('Ask')")
    page.wait_for_selector("text=entry 1 decides")


def history(page: Page) -> None:
    page.wait_for_selector("td:has-text('arrived in')")


def outgoing(page: Page) -> None:
    page.click("button:text-is('Record')")
    page.wait_for_selector("td:text-is('running')")


def settings(page: Page) -> None:
    page.fill("textarea", PLAN)
    page.click("text=Show the plan")
    page.wait_for_selector("button:has-text('Apply')")
    page.set_viewport_size({"width": 1280, "height": 490})  # without paths of this computer
    page.evaluate("document.querySelector('form:has(textarea)').scrollIntoView()")
    page.evaluate("scrollBy(0, -40)")


PICTURES: dict[str, tuple[str, Callable[[Page], None]]] = {
    "overview": ("/", overview),
    "messages": (f"{ORDERS}?newest=true&f=label:order* body:ACME", messages),
    "columns": (f"{ORDERS}?newest=true&c=size&c=xpath:/order/@no&c=xpath:/order/customer", columns),
    "message": (f"{ORDERS}?newest=true", message),
    "letters": ("/m/shop01/letters", letters),
    "plan": ("/m/shop01/letters", plan),
    "access": ("/m/shop01/q/.%5Cprivate%24%5Cpayments/access", access),
    "history": (f"{ORDERS}/history", history),
    "outgoing": ("/m/shop01/outgoing", outgoing),
    "settings": ("/m/shop01/settings", settings),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_taken(browser: Browser, shop: Shop, name: str) -> None:
    viewport = {"width": 1280, "height": HEIGHTS.get(name, 620)}
    page, complaints = log_in(browser, shop.place, shop.data, viewport=viewport)
    where, act = PICTURES[name]
    page.goto(shop.place + where)
    page.wait_for_selector("h1")
    act(page)
    WHERE.mkdir(parents=True, exist_ok=True)
    picture = WHERE / f"console-{name}.png"
    page.screenshot(path=picture)
    page.context.close()
    assert picture.stat().st_size > 10_000
    assert [one for one in complaints if "404" not in one] == [], "a message may be taken meanwhile"


def test_the_documentation_shows_these_pictures_and_no_others() -> None:
    kept = {one.stem for one in (ROOT / "docs" / "pictures").glob("console-*.png")}
    assert kept == {f"console-{name}" for name in PICTURES}
