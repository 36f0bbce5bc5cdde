"""Roles over REST, on a service: who lacks a right is refused, with the name of that right."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

import openmsmq
from openmsmq import Message
from openmsmq.access.tokens import Tokens
from openmsmq.types.caller import RIGHTS
from tests.e2e.managers import ManagerProcess

HERE: Final = "/managers/shop01"
ORDERS: Final = f"{HERE}/queues/orders"
OUTGOING: Final = quote(r"DIRECT=OS:far\private$\q", safe="")
Request = tuple[str, str, Any]
Answer = tuple[int, dict[str, Any]]


class Shop:
    """A service with a token for each role."""

    def __init__(self, process: ManagerProcess) -> None:
        self.process = process
        tokens = Tokens.load(process.folder / "data")
        roles = [*RIGHTS, "peek+send", "send+operate"]
        self.tokens = {role: tokens.create(role)[1] for role in roles}
        host, port = process.ready["console"]
        self.place = f"http://{host}:{port}/api/v1"

    def ask(self, role: str, request: Request, **headers: str) -> Answer:
        """What the service answers to the holder of a token."""
        method, path, body = request
        data = None if body is None else json.dumps(body).encode()
        head = {"Authorization": f"Bearer {self.tokens[role]}", **headers}
        if data is not None:
            head["Content-Type"] = "application/json"
        asked = urllib.request.Request(self.place + path, data=data, headers=head, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        try:
            found = json.loads(text) if text else {}
        except ValueError:
            found = {"text": text.decode(errors="replace")}
        return status, found if isinstance(found, dict) else {"list": found}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder: Path = tmp_path_factory.mktemp("rest")
    process = ManagerProcess(folder, "shop01", options=("--console-port", "0"))
    process.start()
    with openmsmq.connect(process.app) as manager:
        for name in ("orders", "copy", "gone"):
            manager.create_queue(name)
        fill(manager)
        manager.open_queue(r"DIRECT=OS:far\private$\q").send("waits")
    yield Shop(process)
    process.stop()


def fill(manager: openmsmq.Manager) -> int:
    """Put messages into the queue; the first of them."""
    queue = manager.open_queue("orders")
    queue.send_many([Message(f"secret {n}", label=f"order {n}") for n in range(3)])
    return queue.peek(timeout=0).lookup_id


def test_to_watch_is_to_see_counts_and_no_bodies(shop: Shop) -> None:
    with openmsmq.connect(shop.process.app) as manager:
        first = fill(manager)
        count = manager.open_queue("orders").info().messages
    status, queue = shop.ask("watch", ("GET", ORDERS, None))
    assert (status, queue.get("messages")) == (200, count), queue
    for path in ("", f"/{first}", f"/{first}/body", f"/{first}/packet"):
        status, problem = shop.ask("watch", ("GET", f"{ORDERS}/messages{path}", None))
        assert (status, "'peek'" in problem["detail"]) == (403, True)


def test_to_peek_is_to_see_bodies_and_to_remove_nothing(shop: Shop) -> None:
    with openmsmq.connect(shop.process.app) as manager:
        first = fill(manager)
        before = manager.open_queue("orders").info().messages
        status, shown = shop.ask("peek", ("GET", f"{ORDERS}/messages/{first}", None))
        assert (status, shown["body"]["text"][:6]) == (200, "secret")
        for act in ("delete", "purge", "move", "return"):
            plan = {"manager": "shop01", "queue": "orders", "act": act, "target": "copy"}
            status, problem = shop.ask("peek", ("POST", "/plans", plan))
            assert (status, "'read'" in problem["detail"]) == (403, True), (act, problem)
        removal: Request = ("DELETE", f"{ORDERS}/messages/{first}", None)
        for role, missing in (("watch", "read"), ("peek", "read"), ("operate", "read")):
            status, problem = shop.ask(role, removal)
            assert (status, f"'{missing}'" in problem["detail"]) == (403, True), (role, problem)
        sending: Request = ("POST", f"{ORDERS}/messages", {"text": "x"})
        for role in ("watch", "peek", "read", "operate"):
            status, problem = shop.ask(role, sending)
            assert (status, "'send'" in problem["detail"]) == (403, True), (role, problem)
        assert manager.open_queue("orders").info().messages == before
