"""Dead-letter queues of the system, and those that messages name themselves."""

from __future__ import annotations

import pytest
from tests.unit.engine.station import THERE, Station, places
from tests.unit.engine.world import NOW, World, letter

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import Owed
from openmsmq.errors import (
    IllegalQueuePathName,
    QueueNotFound,
    TransactionUsage,
    UnsupportedFormatNameOperation,
)
from openmsmq.packet.headers.trailer import letter_trailer
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass

KINDS = pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
PATH = "here\\dead"


def named(body: str, path: str = PATH, **facts: object) -> NewMessage:
    """A message that names a dead-letter queue."""
    made = letter(body, dead_letter=True, **facts)  # type: ignore[arg-type]
    owed = made.flags | Owed.OWN_LETTERS
    return made._replace(packet=made.packet + letter_trailer(path), flags=owed)


def send(world: World, queue: ManagedQueue, message: NewMessage, *, transactional: bool) -> None:
    if transactional:
        world.send_in(queue, message)
    else:
        world.send(queue, message)


def classes(world: World, queue: ManagedQueue) -> list[int]:
    return [record.message_class for record in world.records(queue)]


@KINDS
@pytest.mark.parametrize("size", [1, 10_000])
def test_a_dead_letter_goes_to_the_queue_that_the_message_names(
    transactional: bool, size: int
) -> None:
    """DMPR-071."""
    world = World()
    queue = world.queue("q", transactional=transactional)
    world.queue("dead", transactional=transactional)
    message = named("x" * size, transactional=transactional, expires=NOW + 5)
    send(world, queue, message, transactional=transactional)
    world = world.restart()
    world.tick(10)
    world.commit()
    queues, dead = world.core.queues, world.find("dead")
    assert world.bodies(dead) == ["x" * size]
    assert classes(world, dead) == [MessageClass.NACK_RECEIVE_TIMEOUT]
    assert world.bodies(queues.dead_letter) == world.bodies(queues.transactional_dead_letter) == []
    happened = world.core.history.of(world.core.snapshot, PacketView(message.packet).identifier)
    assert Event(happened[-1].event) is Event.DEAD_LETTERED
    assert happened[-1].queue == dead.number


def test_so_does_an_express_one() -> None:
    """DMPR-071."""
    world = World()
    queue, dead = world.queue("q"), world.queue("dead")
    world.send(queue, named("x", express=True, expires=NOW + 5))
    world.tick(10)
    assert world.bodies(dead) == ["x"]


@pytest.mark.parametrize("path", ["here\\gone", "here\\t", "elsewhere\\dead", "nonsense"])
def test_if_that_cannot_take_it_the_system_does(path: str) -> None:
    """DMPR-071: it was deleted since, or is of the other kind."""
    world = World()
    queue = world.queue("q")
    world.queue("t", transactional=True)
    world.send(queue, named("x", path, expires=NOW + 5))
    world.tick(10)
    world.commit()
    assert world.bodies(world.core.queues.dead_letter) == ["x"]


@pytest.mark.parametrize("named_first", [True, False])
def test_the_name_does_not_travel(named_first: bool) -> None:
    """[MS-MQRR] 2.2.5: it follows the packet only where that is stored."""
    station = Station()
    station.world.queue("dead", transactional=True)
    out = station.core.queues.outgoing(THERE)
    out.pins += 1
    both = [named("1", transactional=True), letter("2", transactional=True)]
    station.world.send_in(out, *(both if named_first else both[::-1]))
    entries = station.pump()
    assert [len(entry.packet) for entry in entries] == [
        int.from_bytes(entry.packet[8:12], "little") for entry in entries
    ]
    assert [number for _, number, _ in places(entries)] == [1, 2]


def test_a_refusal_elsewhere_makes_it_a_dead_letter_there() -> None:
    """DMPR-071, MQQB-274."""
    station = Station()
    dead = station.world.queue("dead", transactional=True)
    out = station.core.queues.outgoing(THERE)
    out.pins += 1
    message = named("1", transactional=True)
    station.world.send_in(out, message)
    station.pump()
    station.order(1, 1)
    number = PacketView(message.packet).message_id
    station.final(1, 1, number, MessageClass.NACK_Q_EXCEED_QUOTA)
    assert station.world.bodies(dead) == ["1"]
    assert classes(station.world, dead) == [MessageClass.NACK_Q_EXCEED_QUOTA]


def test_without_room_there_it_is_discarded() -> None:
    """DMPR-070, DMPR-071."""
    world = World()
    queue, dead = world.queue("q"), world.queue("dead", quota=0)
    world.send(queue, named("x", expires=NOW + 5))
    world.tick(10)
    world.commit()
    assert world.bodies(dead) == world.bodies(world.core.queues.dead_letter) == []
    assert world.count("discarded") == 1


def test_only_a_queue_of_this_manager_of_the_same_kind_can_be_named() -> None:
    """A-73."""
    world = World()
    plain, strict = world.queue("dead"), world.queue("t", transactional=True)
    queues = world.core.queues
    assert queues.for_letters(PATH, transactional=False) is plain
    assert queues.for_letters("here\\t", transactional=True) is strict
    with pytest.raises(TransactionUsage, match="a transactional queue is needed"):
        queues.for_letters(PATH, transactional=True)
    with pytest.raises(TransactionUsage, match="a queue that is not transactional is needed"):
        queues.for_letters("here\\t", transactional=False)
    with pytest.raises(QueueNotFound):
        queues.for_letters("here\\none", transactional=False)
    with pytest.raises(IllegalQueuePathName, match="a queue of the sending manager is needed"):
        queues.for_letters("elsewhere\\dead", transactional=False)
    with pytest.raises(UnsupportedFormatNameOperation):
        queues.for_letters("here\\dead\\Journal$", transactional=False)
