"""Dependent clients and their receives that wait, in a real browser and everywhere else."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

import openmsmq
from openmsmq.access.users import Users
from tests.e2e.console_pages import BROWSER
from tests.e2e.managers import ManagerProcess, running, until
from tests.e2e.test_console import logged_in
from tests.e2e.test_console import pytestmark as needs_a_browser

pytestmark = needs_a_browser
NAME = "DIRECT=OS:farm\\private$\\quotes"


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[ManagerProcess]:
    """A supporting server with a console."""
    options = ("--console-port", "0", "--rpc-port", "0", "--supporting-server")
    made = ManagerProcess(tmp_path, "farm", options=options)
    users = Users(made.folder / "data")
    users.add("analyst", "secret", "read+send")
    users.add("boss", "secret", "admin")
    with running(made):
        yield made


def command(farm: ManagerProcess, *words: str) -> list[dict[str, Any]]:
    """What the command line says."""
    line = [sys.executable, "-m", "openmsmq", "--manager", farm.app, *words, "--json"]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_clients_and_what_they_wait_for_are_shown_alike_everywhere(farm: ManagerProcess) -> None:
    """The console, REST, the command line and remote management; a client is ended in the console,
    and the message for which it waited is there for the next one.
    """
    host, port = farm.ready["console"]
    rpc = farm.ready["rpc"][1]
    errors: list[Exception] = []
    with openmsmq.connect(farm.app) as local:
        local.create_queue("quotes").close()

    def wait() -> None:
        try:
            quotes.receive(timeout=None)
        except (openmsmq.MQError, OSError) as error:
            errors.append(error)

    client = openmsmq.connect_dependent(
        "127.0.0.1", port=rpc, user="analyst", password="secret", computer="farm"
    )
    quotes = client.open_queue("quotes", access=openmsmq.Access.RECEIVE)
    waiter = threading.Thread(target=wait)
    waiter.start()
    until(lambda: command(farm, "session", "dependents")[0]["waiting"] == 1)
    (shown,) = command(farm, "session", "dependents")
    assert (shown["id"], shown["who"], shown["open_queues"]) == ("d1", "user:analyst", 1)
    assert [(one["name"].lower(), one["access"]) for one in shown["queues"]] == [
        (NAME.lower(), "receive")
    ]
    (listed,) = (one for one in command(farm, "session", "list") if one["kind"] == "dependent")
    assert {name: listed[name] for name in ("id", "peer", "who")} == {
        name: shown[name] for name in ("id", "peer", "who")
    }
    with openmsmq.connect_management(
        "127.0.0.1", port=rpc, computer="farm", user="boss", password="secret"
    ) as seen:
        assert NAME.lower() in [one.lower() for one in seen.machine().active_queues]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        place = f"http://{host}:{port}"
        page, complaints = logged_in(browser, (farm, place, farm.folder / "data"))
        (rest,) = page.request.get(f"{place}/api/v1/managers/farm/dependents").json()
        assert rest["waiting"] == 1
        assert [one["name"] for one in rest["queues"]] == [one["name"] for one in shown["queues"]]
        page.goto(f"{place}/m/farm/outgoing")
        table = page.get_by_role("region", name="Dependent clients")
        row = table.locator("tbody tr")
        row.first.wait_for()
        assert [cell.lower() for cell in row.locator("td").all_inner_texts()[5:8]] == [
            *(NAME.lower(), "receive", "1")
        ]
        assert "Clients: 1. Receives that wait: 1." in page.inner_text("main")
        sessions = page.get_by_role("region", name="Sessions")
        sessions.locator("tr", has_text="d1").get_by_role("button", name="End…").click()
        page.get_by_role("button", name="End", exact=True).click()
        page.wait_for_selector("h2:has-text('Dependent clients')", state="detached")
        assert complaints == []
        browser.close()
    waiter.join(60)
    client.close()
    assert len(errors) == 1
    assert command(farm, "session", "dependents") == []
    with openmsmq.connect(farm.app) as local, local.open_queue("quotes") as again:
        again.send(b"for the next one")
        assert again.receive(timeout=60).body == b"for the next one"
