"""Pipelines of Spark that a browser starts, looks at and stops: nothing stands in for Spark."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import openmsmq
from openmsmq import Message
from openmsmq.console.application import load_files
from openmsmq.pipelines.state import Runs, new_run
from tests.e2e.console_pages import BROWSER, SHOTS, chromium, log_in
from tests.e2e.managers import ManagerProcess, until

pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(BROWSER is None, reason="there is no Chromium"),
    pytest.mark.skipif(not load_files(), reason="the pages are not built"),
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ, reason="Spark needs Java"
    ),
]
PATIENCE_MS = 600_000
"Spark is slow to start where others work, too."
HOSTILE = "<script>document.title = 'run'</script>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, runs: Path) -> Iterator[ManagerProcess]:
    process = ManagerProcess(
        tmp_path_factory.mktemp("pipes"), "shop01", options=("--console-port", "0")
    )
    process.environment["OPENMSMQ_RUNS"] = str(runs)
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


@pytest.fixture
def page(browser: Browser, shop: ManagerProcess) -> Iterator[Page]:
    """The screen of pipelines, which has nothing to complain about."""
    place = "http://{}:{}".format(*shop.ready["console"])
    found, complaints = log_in(browser, place, shop.folder / "data")
    found.set_default_timeout(PATIENCE_MS)
    found.goto(f"{place}/m/shop01/pipelines")
    yield found
    found.context.close()
    assert complaints == []


@pytest.fixture
def known(runs: Path) -> Callable[[str, str, str], None]:
    """Makes a pipeline known to the console, which runs those that have run before."""

    def make(name: str, kind: str, text: str) -> None:
        file = runs / f"{name}.toml"
        file.write_text(f'master = "local[2]"\n{text}')
        with Runs(runs).begin(new_run(name, kind, str(file), None)) as recorder:
            recorder.end("done")

    return make


def act(page: Page, name: str, what: str) -> None:
    """Do something with a pipeline, and say so in the dialog."""
    page.click(f"table.runs tr:has-text('{name}') >> button:text-is('{what}…')")
    page.click("dialog .acts button:not(:text-is('Cancel'))")
    page.wait_for_selector("dialog", state="detached")


def cell(name: str, title: str) -> str:
    return f"table.runs tr:has-text('{name}') td[data-title='{title}']"


def test_an_archive_runs_is_looked_at_stopped_and_verified(
    page: Page, shop: ManagerProcess, known: Callable[[str, str, str], None], runs: Path
) -> None:
    with openmsmq.connect(shop.app) as manager:
        orders = manager.create_queue("orders")
        orders.send_many([Message(f"{n}", label=f"order {n}") for n in range(300)])
        known(
            "lake",
            "archive",
            f'trigger = 1\n[source]\nqueue = "orders"\nmanager = "{shop.app}"\n'
            f'subscription = "lake"\non_commit = "keep"\n[archive]\npath = "{runs}/archive"\n',
        )
        act(page, "lake", "Run")
        page.wait_for_selector(f"{cell('lake', 'Rows')}:text-is('300')")
        assert page.inner_text(cell("lake", "Waiting")).split("\n")[-1].endswith("0")
        took = page.inner_text(cell("lake", "Last batch"))
        assert took.endswith(("ms", " s")), took
        assert page.inner_text(cell("lake", "Speed")).endswith("rows/s")
        row = page.wait_for_selector("[aria-label='Subscriptions'] tr:has-text('lake')")
        assert row is not None
        assert "stay in the queue" in row.inner_text()
        orders.send_many([Message("more", label=f"order {n}") for n in range(5)])
        page.wait_for_selector(f"{cell('lake', 'Rows')}:text-is('305')")
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / "pipeline.png", full_page=True)
        act(page, "lake", "Stop")
        page.wait_for_selector("table.runs tr:has-text('lake'):has-text('stopped')")
        assert orders.info().messages == 305
    act(page, "lake", "Verify")
    page.wait_for_selector("text=305 rows in")
    page.wait_for_selector("text=every message once")


def test_a_report_is_written_and_read(
    page: Page, shop: ManagerProcess, known: Callable[[str, str, str], None], runs: Path
) -> None:
    """In a page of its own, where nothing runs, whatever messages are called."""
    with openmsmq.connect(shop.app) as manager:
        jobs = manager.create_queue("jobs")
        jobs.send(Message("x", label=HOSTILE, time_to_be_received=0, dead_letter=True))
        dead = manager.open_queue(".\\DeadLetter$")
        until(lambda: dead.info().messages == 1)
    text = f'[deadletters]\nmanager = "{shop.app}"\nreport = "{runs}/dead.html"\n'
    known("letters", "deadletters", text)
    page.wait_for_selector(cell("letters", "Report"))
    assert page.locator(f"{cell('letters', 'Report')} a").count() == 0
    act(page, "letters", "Run")
    with page.expect_popup() as opened:
        page.click(f"{cell('letters', 'Report')} a")
    report = opened.value
    report.wait_for_selector("h1")
    assert HOSTILE in report.inner_text("body")
    assert report.title() != "run"
    assert "not received in time" in report.inner_text("body")
