"""The managers of a stream, without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.managers import until
from tests.unit.spark.conftest import Lasting

import openmsmq
from openmsmq import Manager
from openmsmq.errors import QueueNotFound, ServiceNotAvailable
from openmsmq.spark import fleet
from openmsmq.spark.fleet import Fleet
from openmsmq.spark.options import STREAM, parse


def made(**options: str) -> Fleet:
    return Fleet(parse({"manager": "here"} | options, STREAM))


def names(found: Fleet) -> list[str]:
    return sorted(one.place.queue.rpartition("\\")[2] for one in found.queues.values())


def is_back(found: Fleet) -> bool:
    found.look()
    return not found.away


def test_a_pattern_finds_queues_that_are_created_later(manager: Manager) -> None:
    manager.create_queue("orders1")
    found = made(queue="orders*")
    found.look()
    assert names(found) == ["orders1"]
    manager.create_queue("orders2")
    manager.create_queue("bills")
    manager.open_queue("orders1").send(b"x")
    lookup = manager.open_queue("orders1").peek(timeout=0).lookup_id
    manager.open_queue("orders1").move(lookup, "retry")  # a subqueue cannot be subscribed to
    found.look()
    assert names(found) == ["orders1", "orders2"]
    for name in ("orders1", "orders2"):
        manager.delete_queue(name)
    found.look()
    found.close()
    with pytest.raises(QueueNotFound, match="fits no queue"):
        made(queue="orders*").look()


def test_a_manager_that_is_away_is_an_error_or_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openmsmq.open(tmp_path / "1") as one:
        one.create_queue("orders")
        there: dict[str, Any] = {"one": Lasting(one)}

        def connect(_: object, address: str, **__: object) -> Any:
            if address not in there:
                raise ServiceNotAvailable(f"{address} does not answer")
            return there[address]

        monkeypatch.setattr(fleet, "connect", connect)
        monkeypatch.setattr(fleet, "RETRY_S", 0.0)
        with pytest.raises(ServiceNotAvailable, match="two does not answer"):
            made(manager="one,two", queue="orders").look()
        found = made(manager="one,two", queue="orders", onManagerAway="skip")
        found.look()
        assert (list(found.managers), dict(found.away)) == (["one"], {"two": "two does not answer"})
        there["two"] = Lasting(one)
        until(lambda: is_back(found))
        assert sorted(found.managers) == ["one", "two"]
        found.skip("one", ServiceNotAvailable("one went away"))
        assert dict(found.away) == {"one": "one went away"}
        assert {one.place.address for one in found.queues.values()} <= {"two"}
        found.close()
        there.clear()
        with pytest.raises(ServiceNotAvailable, match="one does not answer"):
            made(manager="one,two", queue="orders", onManagerAway="skip").look()


@pytest.mark.parametrize("list_from", [1, 4])
def test_how_much_queues_have_is_asked_for_one_by_one_or_listed(
    manager: Manager, monkeypatch: pytest.MonkeyPatch, list_from: int
) -> None:
    monkeypatch.setattr(fleet, "LIST_FROM", list_from)
    for number in range(3):
        manager.create_queue(f"orders{number}").send_many([b"x"] * number)
    found = made(queue="orders*")
    found.look()
    counts = found.messages(found.queues)
    paths = {found.queues[name].place.queue: count for name, count in counts.items()}
    assert paths == {rf".\private$\orders{number}": number for number in range(3)}
    assert found.messages([]) == {}
    found.close()
