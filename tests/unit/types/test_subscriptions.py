"""Durable subscriptions as values."""

from __future__ import annotations

from uuid import UUID

from openmsmq.types.queues import QueueKind
from openmsmq.types.subscriptions import lasting_id


def test_a_journal_has_an_id_of_its_own_although_it_shares_the_guid_of_its_queue() -> None:
    guid = UUID(int=5)
    assert lasting_id(guid, QueueKind.PRIVATE) == str(guid)
    assert lasting_id(guid, QueueKind.JOURNAL) == f"{guid};JOURNAL"
