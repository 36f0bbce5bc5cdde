"""Looking at messages in a real browser: bodies of all kinds, columns, times, charts; only keys."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import openmsmq
from openmsmq import Message
from openmsmq.bodies.decode import NRBF_BODY_TYPE
from openmsmq.bodies.headers import encode_nservicebus
from openmsmq.console.application import load_files
from tests.e2e.console_pages import AXE, BROWSER, SHOTS, STILL, chromium, log_in
from tests.e2e.managers import ManagerProcess, until
from tests.unit.console.bodies.test_columns import ORDER, WCF

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    pytest.mark.skipif(not load_files(), reason="the pages are not built"),
]
HEADERS = {"NServiceBus.MessageId": "4711", "NServiceBus.FailedQ": "orders@shop01"}
HOSTILE = (
    '<img src=x onerror="document.title=1"><script>document.title=1</script>',
    "\x1b[31mred\x1b]0;title\x07",
    "\u202eevil\u2066\u200f",
    "{{constructor.constructor('document.title=1')()}}",
    "javascript:document.title=1",
)
BIG = 4_000_000


class Shop:
    """A service with messages of all kinds."""

    def __init__(self, folder: Path) -> None:
        self.process = ManagerProcess(folder, "shop01", options=("--console-port", "0"))
        self.process.start()
        host, port = self.process.ready["console"]
        self.place = f"http://{host}:{port}"
        self.data = self.process.folder / "data"
        with openmsmq.connect(self.process.app) as manager:
            orders = manager.create_queue("orders")
            orders.send_many(
                [
                    Message(
                        f'{{"no": {n}, "who": {{"name": "n{n}"}}}}'.encode(), label=f"order {n}"
                    )
                    for n in range(130)
                ]
            )
            manager.create_queue("formats").send_many(
                [
                    Message(b'{"a": 1}', label="bus", extension=encode_nservicebus(HEADERS)),
                    Message(WCF, label="wcf"),
                    Message(ORDER, label="nrbf", body_type=NRBF_BODY_TYPE),
                    Message(gzip.compress(b'{"inside": 5}'), label="gzip"),
                ]
            )
            hostile = manager.create_queue("hostile", label=HOSTILE[0][:120])
            texts = [Message(text, label=text[:100], dead_letter=True) for text in HOSTILE]
            hostile.send_many(texts)
            hostile.send_many([Message(text.encode(), label="bytes") for text in HOSTILE])
            hostile.send(Message(b"\xff\xfe\xc3\x28 <b>invalid</b>", label="invalid"))
            hostile.send(Message(b"<" + b"a" * BIG, label="long"))
            late = [
                Message(text, label=text[:100], time_to_be_received=0, dead_letter=True)
                for text in HOSTILE
            ]
            hostile.send_many(late)
            letters = manager.open_queue(".\\DeadLetter$")
            until(lambda: letters.info().messages == len(HOSTILE))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    found = Shop(tmp_path_factory.mktemp("views"))
    yield found
    found.process.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


@pytest.fixture
def page(browser: Browser, shop: Shop) -> Iterator[Page]:
    SHOTS.mkdir(parents=True, exist_ok=True)
    found, complaints = log_in(browser, shop.place, shop.data)
    yield found
    found.context.close()
    assert complaints == []


def test_bodies_are_trees(page: Page, shop: Shop) -> None:
    page.goto(f"{shop.place}/m/shop01/q/formats")
    page.click("tr:has-text('wcf') >> td >> nth=1")
    page.wait_for_selector(".tree >> text=Submit")
    page.screenshot(path=SHOTS / "wcf.png")
    page.click("tr:has-text('nrbf') >> td >> nth=1")
    page.wait_for_selector(".tree >> text=Shop.Order")
    page.click("tr:has-text('gzip') >> td >> nth=1")
    page.wait_for_selector("text=auto: gzip, json")
    page.click("button:text-is('tree')")
    page.wait_for_selector(".tree >> text=inside")
    page.click("tr:has-text('bus') >> td >> nth=1")
    page.click("text=headers of NServiceBus")
    page.wait_for_selector("td:has-text('orders@shop01')")
    page.click("button:text-is('packet')")
    page.wait_for_selector("td:has-text('UserHeader')")
    page.screenshot(path=SHOTS / "packet.png")


def test_a_value_of_bodies_becomes_a_column_and_a_filter(page: Page, shop: Shop) -> None:
    page.goto(f"{shop.place}/m/shop01/q/orders")
    page.wait_for_selector("tbody tr")
    page.click("button:text-is('tree')")
    page.hover(".tree li.leaf:has-text('n0')")
    page.click(".tree li.leaf:has-text('n0') >> text=show as column")
    page.wait_for_selector("td:text-is('n7')")
    page.screenshot(path=SHOTS / "columns.png")
    page.click("button:text-is('tree')")
    page.hover(".tree li.leaf:has-text('n0')")
    page.click(".tree li.leaf:has-text('n0') >> button:text-is('filter')")
    page.wait_for_selector("text=1 shown")
    assert page.input_value("#filter") == 'json:$.who.name=="n0"'
    page.click("text=Columns…")
    page.check("dialog label:has-text('format') input")
    page.fill("dialog textarea", "json:$.no")
    page.click("dialog button.main")
    page.wait_for_selector("th:has-text('no')")
    assert page.locator("th:has-text('who.name')").count() == 0


def test_pages_and_times(page: Page, shop: Shop) -> None:
    page.goto(f"{shop.place}/m/shop01/q/orders")
    page.wait_for_selector("text=order 49")
    page.keyboard.press("n")
    page.wait_for_selector("text=order 99")
    page.keyboard.press("n")
    page.wait_for_selector("text=30 shown")
    page.keyboard.press("p")
    page.wait_for_selector("text=order 50")
    assert page.locator("tbody tr").count() <= 100
    page.keyboard.press("Shift+T")
    page.fill("dialog input >> nth=0", "2099-01-01")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=No message is there.")
    page.click("button[aria-label='from the beginning']")
    page.wait_for_selector("text=order 49")
    page.click("text=Go to time…")
    page.fill("dialog input >> nth=0", "-1h")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=order 49")
    assert "time=-1h" in page.url


def test_charts_of_a_queue_and_of_a_day(page: Page, shop: Shop) -> None:
    page.goto(f"{shop.place}/m/shop01/q/orders")
    page.click("button:has-text('Chart')")
    page.wait_for_selector("figure >> text=messages")
    page.click("button:text-is('24 h')")
    page.wait_for_selector("button[aria-pressed=true]:text-is('24 h')")
    page.goto(shop.place)
    page.wait_for_selector("figure >> text=dead letters")
    page.click("button:text-is('1 h')")
    page.hover("figure >> nth=0")
    page.click("figure >> nth=0 >> text=as a table")
    page.wait_for_selector("figure table")


def test_dialogs_show_the_act_as_a_command_and_as_curl(page: Page, shop: Shop) -> None:
    page.goto(f"{shop.place}/m/shop01/q/orders")
    page.click("text=Send…")
    page.fill("dialog input >> nth=0", "it's")
    curl = page.inner_text("dialog .same div:has-text('curl') code")
    assert curl.startswith('curl -X POST -H "Authorization: Bearer $OPENMSMQ_TOKEN"')
    assert "/api/v1/managers/shop01/queues/orders/messages" in curl
    assert "--label 'it'\\''s'" in page.inner_text("dialog .same div:has-text('shell') code")
    page.click("dialog .same div:has-text('curl') >> text=copy")
    page.wait_for_selector("text=copied")


@pytest.mark.parametrize(
    "path",
    [
        "/m/shop01/q/hostile",
        "/m/shop01/queues",
        "/m/shop01/letters",
        "/find?q=title",
        "/",
    ],
)
def test_hostile_text_is_text_everywhere(page: Page, shop: Shop, path: str) -> None:
    page.goto(shop.place + path)
    page.wait_for_selector("h1")
    page.evaluate(STILL)
    assert page.locator("main img, main script").count() == 0
    shown = page.inner_text("main")
    assert not {"\u202e", "\u2066", "\u200f", "\x1b", "\x07"} & set(shown)
    assert "OpenMSMQ" in page.title()


def test_every_hostile_body_is_shown_in_every_view(page: Page, shop: Shop) -> None:
    page.goto(f"{shop.place}/m/shop01/q/hostile")
    page.wait_for_selector("tbody tr")
    for row in range(page.locator("tbody tr").count()):
        label = page.inner_text(f"tbody tr >> nth={row} >> td >> nth=2")
        page.click(f"tbody tr >> nth={row} >> td >> nth=1")
        page.wait_for_function(
            "label => document.querySelector('aside h2')?.innerText === label", arg=label
        )
        for view in page.locator(".tabs button:not([disabled])").all():
            view.click()
            shown = page.inner_text("aside")
            assert not {"\u202e", "\u2066", "\x1b"} & set(shown), (label, shown)
            assert page.locator("main img, main script").count() == 0
    assert "OpenMSMQ" in page.title()


def test_what_was_sent_is_found_and_read_with_keys_alone(page: Page, shop: Shop) -> None:
    """From the overview to the tree of a body, without a pointer."""
    page.wait_for_selector("h1:text-is('Overview')")
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.wait_for_selector("a:text-is('orders')")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "orders":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector("text=order 49")
    page.keyboard.press("f")
    page.keyboard.type("label:*77")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=1 shown")
    page.keyboard.press("Tab")  # out of the field
    page.wait_for_selector("aside h2:text-is('order 77')")
    page.keyboard.press("2")
    page.wait_for_selector(".tree >> text=n77")
    page.keyboard.press("j")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('order 77')")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_views_and_dialogs_are_accessible(browser: Browser, shop: Shop, scheme: str) -> None:
    page, complaints = log_in(browser, shop.place, shop.data, color_scheme=scheme)
    faults: list[str] = []

    def look(name: str) -> None:
        page.evaluate(STILL)
        page.screenshot(path=SHOTS / f"{scheme}-{name}.png")
        page.evaluate(AXE.read_text())
        found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        faults.extend(
            f"{name}: {one['id']}: {one['nodes'][0]['html'][:140]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        )

    page.goto(f"{shop.place}/m/shop01/q/formats")
    for label, view in (("wcf", "WCF envelope"), ("bus", "packet"), ("nrbf", "hex")):
        page.click(f"tr:has-text('{label}') >> td >> nth=1")
        page.click(f"button:text-is('{view}')")
        look(f"view-{label}")
    for button in (
        "Send…",
        "Import…",
        "Columns…",
        "Go to time…",
        "Settings…",
        "Return…",
        "Delete…",
    ):
        page.click(f"main >> button:text-is('{button}')")
        page.wait_for_selector("dialog[open]")
        look(f"dialog-{button.strip('…').lower().replace(' ', '-')}")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
    page.click("tr:has-text('bus') >> a")
    page.wait_for_selector("text=arrived in")
    look("message")
    page.goto(f"{shop.place}/m/shop01/access")
    page.click("text=New token…")
    look("dialog-token")
    page.context.close()
    assert faults == []
    assert complaints == []


def test_what_is_not_there_is_not_shown_as_empty(browser: Browser, shop: Shop) -> None:
    page, complaints = log_in(browser, shop.place, shop.data)
    page.goto(f"{shop.place}/m/shop01/q/nothing")
    page.wait_for_selector("[role='alert']:has-text('does not exist')")
    assert page.locator("text=The queue is empty").count() == 0
    page.goto(f"{shop.place}/m/shop01/q/orders?f=size:abc")
    page.wait_for_selector("main [role='alert']:has-text('size')")
    assert page.locator("text=No message matches").count() == 0
    for path in ("/m/shop01/nonsense", "/m/shop99/queues", "/nonsense"):
        page.goto(shop.place + path)
        page.wait_for_selector("h1:text-is('Not found')")
    page.click("main >> text=Go to the overview")
    page.wait_for_selector("h1:text-is('Overview')")
    page.wait_for_selector("h2 >> text=free on the disk")
    page.context.close()
    wrong = [one for one in complaints if "status of 404" not in one and "status of 400" not in one]
    assert wrong == []


def test_a_phone_shows_words_and_not_their_letters(browser: Browser, shop: Shop) -> None:
    """Columns of a table are as wide as words; dead letters are cards with all their acts."""
    page, complaints = log_in(
        browser, shop.place, shop.data, viewport={"width": 320, "height": 640}, has_touch=True
    )
    narrow = """() => [...document.querySelectorAll("td.wrap")]
        .filter(one => one.offsetWidth && one.offsetWidth < 100).map(one => one.innerText)"""
    for path in ("settings", "access", "outgoing", "pipelines", "map"):
        page.goto(f"{shop.place}/m/shop01/{path}")
        page.wait_for_selector("h1")
        page.evaluate(STILL)
        assert page.evaluate(narrow) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
    page.goto(f"{shop.place}/m/shop01/letters")
    page.wait_for_selector("table.desk")
    page.evaluate(STILL)
    assert page.evaluate("document.querySelector('.scroll').scrollWidth") <= 320
    seen = page.locator("table.desk button:has-text('Return')").first.bounding_box()
    assert seen is not None
    assert seen["x"] + seen["width"] <= 320
    page.context.close()
    assert complaints == []


def test_properties_are_explained_and_settings_have_units(browser: Browser, shop: Shop) -> None:
    page, complaints = log_in(browser, shop.place, shop.data)
    page.goto(f"{shop.place}/m/shop01/q/orders")
    page.click("td.name a >> nth=0")
    page.wait_for_selector(".facts")
    page.check("text=explain them")
    shown = page.locator(".facts dt").all_inner_texts()
    assert [one for one in shown if "\n" not in one] == [], "each says what it means"
    page.goto(f"{shop.place}/m/shop01/settings")
    page.wait_for_selector("tr:has-text('time_to_reach_queue') >> text=345,600 s (4 d)")
    page.context.close()
    assert complaints == []
