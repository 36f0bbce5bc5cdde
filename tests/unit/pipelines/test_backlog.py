"""What is waiting for a pipeline."""

from __future__ import annotations

from tests.unit.client.services import Service

from openmsmq import Manager
from openmsmq.pipelines.backlog import Waiting
from openmsmq.pipelines.spec import ManagerOptions, Source
from openmsmq.pipelines.work import Progress
from openmsmq.spark.offsets import key

BATCH = Progress(0, 10, 0.5)


def test_what_was_not_read_yet(service: Service, manager: Manager) -> None:
    queue = manager.open_queue("orders")
    queue.send_many([b"1", b"2", b"3"])
    reader = queue.subscription("spark")
    reader.reserve(0, 2)
    waiting = Waiting(Source(ManagerOptions((service.address,)), ("orders",)))
    name = key(manager.id, str(queue.info().id))
    assert waiting.look(BATCH, {name: 0}).lag == 3
    found = waiting.look(BATCH, {name: 2})
    assert (found.lag, found.oldest is not None, found.rows) == (1, True, 10)
    [one] = found.queues
    assert (one.manager, one.queue, one.lag) == (service.address, queue.name, 1)
    assert one.reserved_bytes > 0
    queue.receive(timeout=0)
    found = waiting.look(BATCH, {name: 2})
    assert (found.lag, found.oldest) == (0, None)
    waiting.close()


def test_copies_that_were_not_read_yet(service: Service, manager: Manager) -> None:
    queue = manager.open_queue("orders")
    queue.send_many([b"1", b"2", b"3", b"4"])
    queue.subscription("spark", copy=True).reserve(0, 2)
    waiting = Waiting(Source(ManagerOptions((service.address,)), ("orders",), on_commit="keep"))
    found = waiting.look(BATCH, {key(manager.id, str(queue.info().id)): 1})
    assert (found.lag, found.oldest is not None) == (3, True)
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
    assert waiting.look(BATCH, {key(manager.id, str(queue.info().id)): 0}).lag == 1
    waiting.close()


def test_nothing_is_known_of_managers_that_are_away() -> None:
    place = ManagerOptions(("127.0.0.1:1",))
    assert Waiting(Source(place, ("orders",))).look(BATCH, {}) == BATCH
