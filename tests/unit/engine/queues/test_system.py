"""The queues that every manager has."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.world import NOW, World

from openmsmq.engine.queues.queue import QueueProperties
from openmsmq.engine.queues.system import (
    FIRST_QUEUE_NUMBER,
    HIDDEN,
    NAMES,
    NOTIFICATION,
    REFUSED,
    TRANSACTIONAL_DEAD_LETTER,
    system_queues,
)
from openmsmq.engine.storage.layout import queue_key
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import QueueExists, QueueNotFound
from openmsmq.limits import REFUSED_SIZE_MAX
from openmsmq.types.queues import QueueKind


def test_there_are_six_and_only_one_is_transactional() -> None:
    made = system_queues(UUID(int=5), NOW)
    assert {number: found.name for number, found in made.items()} == NAMES
    assert {found.kind for found in made.values()} == {QueueKind.SYSTEM}
    assert [n for n, found in made.items() if found.transactional] == [TRANSACTIONAL_DEAD_LETTER]
    assert max(made) < FIRST_QUEUE_NUMBER


def test_they_have_identifiers_of_their_own_in_each_manager() -> None:
    ids = [made.id for guid in (5, 6) for made in system_queues(UUID(int=guid), NOW).values()]
    assert len(set(ids)) == 12


def test_a_manager_has_them_after_its_first_start_and_every_other() -> None:
    """DMPR-383, DMPR-390."""
    world = World()
    for _ in range(2):
        queues = world.core.queues
        assert queues.dead_letter.name == "SYSTEM$;DEADLETTER"
        assert queues.transactional_dead_letter.name == "SYSTEM$;DEADXACT"
        assert queues.system_journal.name == "SYSTEM$;JOURNAL"
        assert queues.find("system$;deadletter") is queues.dead_letter
        assert queues.find("refused$") is queues.refused
        world = world.restart()


def test_those_that_are_missing_are_made_and_the_others_stay() -> None:
    """A-46."""
    world = World()
    world.done(world.core.queue_lifecycle.change(world.core.queues.dead_letter, NOW, {"quota": 5}))
    disk = world.store.committed
    del disk.tables[Table.QUEUES][queue_key(NOTIFICATION)]
    again = World(disk, NOW + 60)
    assert again.core.queues.dead_letter.properties.quota == 5
    made = QueueProperties.from_row(again.store.committed.tables[Table.QUEUES][queue_key(3)])
    assert (made.name, made.created) == (r"private$\notify_queue$", NOW + 60)


def test_a_store_of_an_older_program_gets_the_queue_for_refused_messages() -> None:
    """The one who has a queue of that name keeps it."""
    world = World()
    disk = world.store.committed
    del disk.tables[Table.QUEUES][queue_key(REFUSED)]
    again = World(disk)
    assert again.core.queues.refused.properties.quota == REFUSED_SIZE_MAX // 1024
    assert queue_key(REFUSED) in again.store.committed.tables[Table.QUEUES]
    row = QueueProperties("REFUSED$", UUID(int=1), NOW, NOW, kind=QueueKind.PUBLIC).to_row()
    disk = again.store.committed
    del disk.tables[Table.QUEUES][queue_key(REFUSED)]
    disk.tables[Table.QUEUES][queue_key(FIRST_QUEUE_NUMBER)] = row
    again = World(disk)
    assert again.find("Refused$").kind is QueueKind.PUBLIC
    assert again.core.queues.refused.kind is QueueKind.SYSTEM


@pytest.mark.parametrize("number", sorted(HIDDEN))
def test_applications_do_not_reach_those_of_the_protocols(number: int) -> None:
    """DMPR-384."""
    world = World()
    name = NAMES[number]
    assert world.core.queues.by_number[number].name == name
    with pytest.raises(QueueNotFound):
        world.find(name)
    with pytest.raises(QueueExists):
        world.queue(name)
    assert list(world.core.queues) == []


def test_numbers_of_the_protocols_are_fixed() -> None:
    """DMPR-384: the notification queue is known to others by its number ([MS-MQCN] 1.9)."""
    assert NOTIFICATION == 3
