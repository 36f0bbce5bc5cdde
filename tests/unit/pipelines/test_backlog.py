"""What waits for a pipeline."""

from __future__ import annotations

from tests.unit.client.services import Service

from openmsmq import Manager
from openmsmq.pipelines.backlog import Waiting
from openmsmq.pipelines.spec import ManagerOptions, Source
from openmsmq.spark.offsets import key


def test_what_was_not_read_yet(service: Service, manager: Manager) -> None:
    queue = manager.open_queue("orders")
    queue.send_many([b"1", b"2", b"3"])
    reader = queue.subscription("spark")
    reader.reserve(0, 2)
    waiting = Waiting(Source(ManagerOptions((service.address,)), ("orders",)))
    name = key(manager.id, str(queue.info().id))
    assert waiting.look({name: 0})[0] == 3
    lag, oldest = waiting.look({name: 2})
    assert (lag, oldest is not None) == (1, True)
    queue.receive(timeout=0)
    assert waiting.look({name: 2}) == (0, None)
    waiting.close()


def test_copies_that_were_not_read_yet(service: Service, manager: Manager) -> None:
    queue = manager.open_queue("orders")
    queue.send_many([b"1", b"2", b"3", b"4"])
    queue.subscription("spark", copy=True).reserve(0, 2)
    waiting = Waiting(Source(ManagerOptions((service.address,)), ("orders",), on_commit="keep"))
    lag, oldest = waiting.look({key(manager.id, str(queue.info().id)): 1})
    assert (lag, oldest is not None) == (3, True)
    waiting.close()


def test_streams_of_the_same_name_elsewhere_do_not_count(
    service: Service, manager: Manager
) -> None:
    queue, other = manager.open_queue("orders"), manager.create_queue("other")
    queue.send(b"1")
    other.send_many([b"2", b"3"])
    queue.subscription("spark")
    other.subscription("spark")
    waiting = Waiting(Source(ManagerOptions((service.address,)), ("orders",)))
    assert waiting.look({key(manager.id, str(queue.info().id)): 0})[0] == 1
    waiting.close()


def test_nothing_is_known_of_managers_that_are_away() -> None:
    place = ManagerOptions(("127.0.0.1:1",))
    assert Waiting(Source(place, ("orders",))).look({}) == (None, None)
