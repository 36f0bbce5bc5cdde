"""Every act of the console in a real browser; narrow screens, and a manager that is away."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

import openmsmq
from openmsmq import Message
from openmsmq.bodies.headers import encode_nservicebus
from openmsmq.console.application import load_files
from openmsmq.console.desk.letters import TYPED_BY
from openmsmq.pipelines.state import Runs, new_run
from tests.e2e.console_pages import AXE, BROWSER, SHOTS, STILL, chromium, log_in
from tests.e2e.managers import ManagerProcess, until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    pytest.mark.skipif(not load_files(), reason="the pages are not built"),
]
FAR = r"DIRECT=OS:far.invalid\private$\q"
HEADERS = {"NServiceBus.FailedQ": "orders@shop01", "NServiceBus.MessageId": "4711"}
SERIOUS = ("serious", "critical")
WIDTH = "document.documentElement.scrollWidth"


class Place:
    """A service with its console."""

    def __init__(self, folder: Path, runs: Path) -> None:
        self.process = ManagerProcess(folder, "shop01", options=("--console-port", "0"))
        self.process.start()
        host, port = self.process.ready["console"]
        self.place = f"http://{host}:{port}"
        self.data = self.process.folder / "data"
        self.runs = runs
        self.manager = openmsmq.connect(self.process.app)
        self.orders = self.manager.create_queue("orders", quota=1000)
        self.manager.create_queue("acme.error").send(
            Message("x", label="bill", extension=encode_nservicebus(HEADERS))
        )
        self.manager.open_queue(FAR).send("far")

    def refill(self) -> None:
        """Let a test find the orders that another one has removed."""
        labels = [message.label for message in self.orders.peek_many(100, timeout=0)]
        wanted = [n for n in range(4) if f"order {n}" not in labels]
        self.orders.send_many(
            [Message(f'{{"no": {n}, "a": 1}}', label=f"order {n}") for n in wanted]
        )

    def count(self, name: str) -> int:
        """Messages in a queue."""
        return int(self.manager.open_queue(name).info().messages)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENMSMQ_RUNS", str(runs))
        found = Place(tmp_path_factory.mktemp("acts"), runs)
    yield found
    found.manager.close()
    found.process.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


@pytest.fixture
def page(browser: Browser, shop: Place) -> Iterator[Page]:
    """A page that has nothing to complain about."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    shop.refill()
    found, complaints = log_in(browser, shop.place, shop.data)
    yield found
    found.context.close()
    assert complaints == []


def plan(page: Page, act: str) -> None:
    """Make the plan of a dialog, and carry it out."""
    page.click("dialog >> text=Make a plan")
    page.click(f"dialog button:text-matches('^{act} [0-9]')")
    page.wait_for_selector("dialog >> text=done:")


def test_deleted_messages_come_back_with_the_keyboard_alone(page: Page, shop: Place) -> None:
    page.goto(f"{shop.place}/m/shop01/q/orders")
    page.wait_for_selector("tbody tr")
    before = shop.count("orders")
    for key in ("j", "x", "k", "x", "Delete"):
        page.keyboard.press(key)
    page.wait_for_selector("dialog >> text=24 hours")
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog >> text=frozen")
    page.screenshot(path=SHOTS / "delete.png")
    page.locator("dialog button.danger").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog >> text=done: 2 done")
    assert (shop.count("orders"), shop.count("orders;console-trash")) == (before - 2, 2)
    page.locator("dialog button:text-is('Undo')").focus()
    page.keyboard.press("Enter")
    until(lambda: shop.count("orders") == before)
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")


def test_what_is_in_the_trash_is_restored(page: Page, shop: Place) -> None:
    before = shop.count("orders")
    page.goto(f"{shop.place}/m/shop01/q/orders")
    page.click("tbody tr >> nth=0 >> a")
    page.click("text=Delete…")
    plan(page, "Delete")
    page.click("dialog >> text=Close")
    page.goto(f"{shop.place}/m/shop01/q/orders;console-trash")
    page.wait_for_selector("tbody tr")
    assert page.locator("button:text-is('Return…')").count() == 0
    page.click("text=Restore…")
    page.click("dialog button.main")
    page.wait_for_selector("dialog >> text=done: 1 done")
    assert shop.count("orders") == before


def test_messages_are_copied_moved_purged_and_compared(page: Page, shop: Place) -> None:
    shop.manager.create_queue("other", exist_ok=True)
    page.goto(f"{shop.place}/m/shop01/q/orders")
    page.wait_for_selector("tbody tr")
    page.keyboard.press("c")
    page.fill("dialog input >> nth=0", "other")
    plan(page, "Copy")
    page.click("dialog >> text=Close")
    copied = shop.count("other")
    assert copied == shop.count("orders")
    page.goto(f"{shop.place}/m/shop01/q/other")
    page.wait_for_selector("tbody tr")
    page.keyboard.press("Control+a")
    page.wait_for_selector(f"text={copied} chosen")
    page.keyboard.press("Escape")
    for key in ("x", "j", "x"):
        page.keyboard.press(key)
    page.click("button:text-is('Compare')")
    page.wait_for_selector("tr.differs")
    page.screenshot(path=SHOTS / "compare.png")
    page.go_back()
    page.wait_for_selector("tbody tr")
    page.keyboard.press("x")
    page.wait_for_selector("text=1 chosen")
    page.keyboard.press("m")
    page.fill("dialog input >> nth=0", "orders")
    plan(page, "Move")
    page.click("dialog >> text=Close")
    assert shop.count("other") == copied - 1
    page.goto(f"{shop.place}/m/shop01/queues")
    page.click("tr:has-text('other') >> text=purge…")
    page.wait_for_selector("dialog >> text=Export first")
    page.fill("dialog input >> nth=-1", "a test")
    plan(page, "Purge")
    page.click("dialog >> text=Close")
    page.click("tr:has-text('other') >> text=delete…")
    page.click("dialog button.danger")
    page.wait_for_selector("a:text-is('other')", state="detached")


def test_a_queue_is_set(page: Page, shop: Place) -> None:
    page.goto(f"{shop.place}/m/shop01/queues")
    page.click("tr:has(a:text-is('orders')) >> text=set…")
    page.fill("dialog label:has-text('Label') input", "of the web shop")
    page.check("dialog label:has-text('journal: keep') input")
    page.fill("dialog label:has-text('Quota in KiB') input", "")
    page.wait_for_selector("dialog >> text=--label")
    page.screenshot(path=SHOTS / "queue.png")
    page.click("dialog button.main")
    page.wait_for_selector("dialog", state="detached")
    info = shop.manager.open_queue("orders").info()
    assert (info.label, info.journal, info.quota) == ("of the web shop", True, None)


def test_a_finding_is_silenced_and_heard_again(page: Page, shop: Place) -> None:
    shop.manager.create_queue("full", quota=1).send("x" * 400)
    page.goto(shop.place)
    page.click("li:has-text('full') >> text=silence…")
    page.wait_for_selector("dialog >> text=openmsmq console silence 'quota'")
    page.click("dialog button.main")
    page.wait_for_selector("text=1 silent")
    page.click("button:text-is('show')")
    page.click("text=hear again")
    page.wait_for_selector("li:has-text('full') >> text=silence…")


def test_messages_are_found_on_all_managers(page: Page, shop: Place) -> None:
    page.keyboard.press("/")
    page.keyboard.type('header.NServiceBus.MessageId:"4711"')
    page.keyboard.press("Enter")
    page.click("td a:text-is('bill')")
    page.click("text=headers of NServiceBus")
    page.wait_for_selector("td:has-text('orders@shop01')")
    page.keyboard.press("3")
    page.wait_for_selector("pre.hex")


def test_an_error_queue_is_at_the_desk_and_returns(page: Page, shop: Place) -> None:
    before = shop.count("orders")
    page.goto(f"{shop.place}/m/shop01/letters")
    page.click("tr:has-text('acme.error') >> text=note…")
    page.fill("dialog input", "Ann looks after it")
    page.click("dialog button.main")
    page.wait_for_selector("tr:has-text('acme.error') >> text=Ann looks after it")
    page.click("tr:has-text('acme.error') >> text=Return…")
    page.screenshot(path=SHOTS / "letters.png")
    plan(page, "Return")
    until(lambda: shop.count("orders") == before + 1)
    assert shop.count("acme.error") == 0


def test_a_dead_letter_is_edited_and_sent_to_where_it_failed(page: Page, shop: Place) -> None:
    """The new message has the headers of the old one, which stays."""
    headers = {"NServiceBus.FailedQ": "mended@shop01", TYPED_BY[0]: "Shop.Order"}
    old = Message(b'{"no": 1}', label="odd", extension=encode_nservicebus(headers))
    mended = shop.manager.create_queue("mended")
    shop.manager.create_queue("shop.error").send(old)
    page.goto(f"{shop.place}/m/shop01/letters")
    page.select_option("select[aria-label='Then by']", "type")
    page.click("tr:has-text('Shop.Order') >> text=look at one")
    page.click("text=Edit and send…")
    to = page.locator("dialog label:has-text('To queue') input")
    assert to.input_value() == r"DIRECT=OS:shop01\private$\mended"
    page.fill("dialog textarea", '{"no": 2}')
    page.click("dialog button.main")
    page.wait_for_selector("dialog", state="detached")
    found = mended.receive(10)
    assert (found.body, found.label, found.extension) == (b'{"no": 2}', "odd", old.extension)
    assert shop.count("shop.error") == 1
    page.wait_for_selector(".relatives >> text=answers, and reports")


def test_a_search_that_is_full_goes_on(page: Page, shop: Place) -> None:
    many = shop.manager.create_queue("many")
    many.send_many([Message("x", label=f"many {n}") for n in range(250)])
    page.goto(f"{shop.place}/find?q=label:many*")
    page.wait_for_selector("text=200 messages found")
    page.click("button:text-is('Go on')")
    page.wait_for_selector("text=250 messages found")
    assert page.locator("tbody tr").count() == 250
    many.purge()


def test_on_a_phone_the_screens_are_in_a_menu(browser: Browser, shop: Place) -> None:
    viewport = {"width": 320, "height": 640}
    page, complaints = log_in(browser, shop.place, shop.data, viewport=viewport)
    queues = page.locator("nav a:text-is('Queues')")
    assert not queues.is_visible()
    page.click("nav .menu")
    queues.click()
    page.wait_for_selector("h1:has-text('Queues of shop01')")
    assert not queues.is_visible()
    page.context.close()
    assert complaints == []


def test_an_outgoing_queue_is_paused_resumed_and_tried(page: Page, shop: Place) -> None:
    page.goto(f"{shop.place}/m/shop01/outgoing")
    page.click("button:text-is('Pause')")
    page.click("button:text-is('Resume')")
    page.click("button:text-is('Retry now')")
    page.wait_for_selector("text=retry:")
    page.click("summary:has-text('attempt')")
    page.wait_for_selector(".attempts li")


def test_a_pipeline_is_stopped(page: Page, shop: Place) -> None:
    with Runs(shop.runs).begin(new_run("lake", "archive", "lake.toml", None)) as recorder:
        page.goto(f"{shop.place}/m/shop01/pipelines")
        page.click("text=Stop…")
        page.click("dialog button.danger")
        page.wait_for_selector("td:has-text('stopping')")
        assert recorder.is_asked_to_stop


def test_a_transaction_is_committed_once_its_name_is_typed(page: Page, shop: Place) -> None:
    shop.manager.create_queue("units", transactional=True, exist_ok=True)
    work = shop.manager.transaction("x-1")
    shop.manager.open_queue("units").send("prepared", transaction=work)
    work.prepare()
    before = shop.count("units")
    page.goto(f"{shop.place}/m/shop01/transactions")
    page.click("text=commit…")
    assert page.locator("dialog button.danger").is_disabled()
    page.fill("dialog input", "x-1")
    page.click("dialog button.danger")
    until(lambda: shop.count("units") == before + 1)


def test_settings_and_views_are_kept(page: Page, shop: Place) -> None:
    page.goto(f"{shop.place}/m/shop01/settings")
    page.click("tbody tr:has-text('history') >> text=change… >> nth=0")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.goto(f"{shop.place}/m/shop01/q/orders?f=label:order*")
    page.click("text=save view…")
    page.fill("dialog input", "orders")
    page.click("dialog button.main")
    page.wait_for_selector("text=forget view")
    with page.expect_download() as download:
        page.keyboard.press("e")
    lines = Path(download.value.path()).read_text().splitlines()
    assert {json.loads(line)["label"][:5] for line in lines} == {"order"}


def test_what_comes_late_is_shown(page: Page, shop: Place) -> None:
    """A page asks every two seconds; an answer that takes longer is waited for."""

    def late(route: Route) -> None:
        time.sleep(3)
        route.continue_()

    page.route("**/api/v1/managers", late)
    page.goto(shop.place)
    page.wait_for_selector("[aria-label='Managers'] >> text=ready")
    page.unroute_all(behavior="ignoreErrors")


def test_help_names_the_keys_and_letters_can_be_switched_off(page: Page, shop: Place) -> None:
    page.keyboard.press("?")
    page.wait_for_selector("dialog >> text=return to source")
    page.screenshot(path=SHOTS / "keys.png")
    page.uncheck("dialog input")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    page.keyboard.press("g")
    page.keyboard.press("q")
    assert page.inner_text("h1") == "Overview"


SCREENS = (
    "/",
    "/m/shop01/queues",
    "/m/shop01/q/orders",
    "/m/shop01/q/orders/access",
    "/m/shop01/q/orders/history",
    "/m/shop01/letters",
    "/m/shop01/outgoing",
    "/m/shop01/map",
    "/find?q=order",
    "/m/shop01/transactions",
    "/m/shop01/pipelines",
    "/m/shop01/access",
    "/m/shop01/settings",
)


@pytest.mark.parametrize("width", [320, 640])
def test_screens_are_as_wide_as_a_phone_and_accessible(
    browser: Browser, shop: Place, width: int
) -> None:
    """640 pixels are those of 1280 at 200 % zoom; only tables scroll sideways."""
    viewport = {"width": width, "height": 640}
    page, complaints = log_in(browser, shop.place, shop.data, viewport=viewport)
    faults = []
    for path in SCREENS:
        page.goto(shop.place + path)
        page.wait_for_selector("h1")
        page.evaluate(STILL)
        found = page.evaluate(WIDTH)
        page.evaluate(AXE.read_text())
        serious = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        faults += [f"{path}: {one['id']}" for one in serious if one["impact"] in SERIOUS]
        faults += [f"{path}: {found} wide"] if found > width else []
    page.context.close()
    assert faults == []
    assert complaints == []


def test_many_queues_have_pages_and_a_manager_that_is_away_is_said_to_be(
    browser: Browser, shop: Place, tmp_path: Path
) -> None:
    other = Place(tmp_path, tmp_path)
    for n in range(200):
        other.manager.create_queue(f"q{n:03}")
    page, _ = log_in(browser, other.place, other.data)
    page.goto(f"{other.place}/m/shop01/queues")
    page.click(".pages button:has-text('Next')")
    page.wait_for_selector("text=201 to")
    page.click(".pages button:has-text('Previous')")
    page.wait_for_selector("text=1 to 200")
    page.wait_for_selector("text=live")
    other.manager.close()
    other.process.kill()
    page.wait_for_selector("text=not live", timeout=30_000)
    page.screenshot(path=SHOTS / "away.png")
    page.context.close()
