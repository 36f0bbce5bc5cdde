"""The console of one manager shows another one, to everyone with no more rights than are theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import openmsmq
from openmsmq.access.tokens import Tokens
from openmsmq.service.configuration import CONFIG_FILE
from tests.e2e.managers import ManagerProcess, address
from tests.e2e.rest import RestProgram

pytestmark = pytest.mark.slow


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[ManagerProcess, ManagerProcess]]:
    """Two managers, the first of which shows the second."""
    second = ManagerProcess(tmp_path, "shop02", options=("--app-port", "0"))
    data = second.folder / "data"
    data.mkdir()
    (data / CONFIG_FILE).write_text('[app]\nloopback = "anonymous"\n')
    second.start()
    with openmsmq.connect(second.app) as manager:
        manager.create_queue("payments").send("hello")
    first = ManagerProcess(tmp_path, "shop01", options=("--console-port", "0"))
    data = first.folder / "data"
    data.mkdir()
    (data / CONFIG_FILE).write_text(
        "[console.managers]\n"
        f'shop02 = {{ address = "{address(second.ready["app"])}", token_file = "shop02.token" }}\n'
        'SHOP01 = { address = "127.0.0.1:1" }\n'
    )
    (data / "shop02.token").write_text(Tokens.load(second.folder / "data").create("admin")[1])
    first.start()
    yield first, second
    first.stop()
    second.stop()


def managers_of(program: RestProgram) -> dict[str, Any]:
    status, found = program.ask(("GET", "/managers", None))
    assert status == 200
    return {one["name"]: (one["state"], one["messages"]) for one in found["list"]}


def test_a_console_shows_further_managers(both: tuple[ManagerProcess, ManagerProcess]) -> None:
    first, second = both
    tokens = Tokens.load(first.folder / "data")
    chief = RestProgram(first, tokens.create("admin")[1])
    assert managers_of(chief) == {"shop01": ("ready", 0), "shop02": ("ready", 1)}
    made = ("POST", "/managers/shop02/queues", {"name": "made"})
    assert chief.ask(made)[0] == 201
    # The token in the file is not for others: what they may do there, their own tokens say.
    for role, patterns in (("watch", ()), ("read", ()), ("admin", ("orders*",))):
        other = RestProgram(first, tokens.create(role, patterns)[1])
        assert managers_of(other)["shop02"] == ("denied", 0), role
        assert other.ask(("GET", "/managers/shop02/queues", None))[0] == 403
    everywhere = Tokens.load(second.folder / "data").create("watch")[1]
    assert RestProgram(first, everywhere).ask(("GET", "/managers", None))[0] == 401
    # Only the service of a manager knows what goes on at its queues.
    with openmsmq.connect(first.app) as manager:
        orders = manager.create_queue("orders", transactional=True)
        with manager.transaction() as work:
            orders.send_many(["a", "b"], transaction=work)
        taking = manager.transaction()
        orders.receive(timeout=0, transaction=taking)
        _, found = chief.ask(("GET", "/managers/shop01/queues", None))
        assert [(one["readers"], one["held"]) for one in found["queues"]] == [(0, 1)]
        _, found = chief.ask(("GET", "/managers/shop02/queues", None))
        assert {(one["readers"], one["held"]) for one in found["queues"]} == {(None, None)}
        taking.abort()
    second.kill()
    assert managers_of(chief)["shop02"][0] == "away"
    second.start()
