"""What waits for a pipeline."""

from __future__ import annotations

from tests.unit.client.services import Service

from openmsmq import Manager
from openmsmq.pipelines.spec import Place, Source
from openmsmq.pipelines.waiting import Waiting


def test_what_was_not_read_yet(service: Service, manager: Manager) -> None:
    queue = manager.open_queue("orders")
    queue.send_many([b"1", b"2", b"3"])
    reader = queue.subscription("spark")
    reader.reserve(0, 2)
    waiting = Waiting(Source(Place((service.address,)), ("orders",)))
    key = f"{service.address} {queue.name}"
    assert waiting.look({})[0] == 3
    lag, oldest = waiting.look({key: 2})
    assert (lag, oldest is not None) == (1, True)
    queue.receive(timeout=0)
    assert waiting.look({key: 2}) == (0, None)
    waiting.close()


def test_nothing_is_known_of_copies_and_of_managers_that_are_away(service: Service) -> None:
    place = Place((service.address,))
    assert Waiting(Source(place, ("orders",), on_commit="keep")).look({}) == (None, None)
    assert Waiting(Source(place, ("orders",))).look({}) == (None, None)
