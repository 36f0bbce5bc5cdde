"""Queues as values."""

from __future__ import annotations

from math import inf
from types import SimpleNamespace
from typing import cast
from uuid import UUID

import pytest

from openmsmq.errors import IllegalPropertyValue
from openmsmq.limits import NO_QUOTA
from openmsmq.types.queues import Poison, QueueInfo, QueueKind, by_name, queue_properties


def test_properties_that_are_not_given_are_left_out() -> None:
    assert queue_properties(label=None, quota=5) == {"quota": 5}
    assert queue_properties(quota=inf, journal_quota=inf) == {
        "quota": NO_QUOTA,
        "journal_quota": NO_QUOTA,
    }
    assert queue_properties(type=str(UUID(int=5))) == {"type": UUID(int=5)}
    with pytest.raises(IllegalPropertyValue, match="a GUID is needed"):
        queue_properties(type="nonsense")


def test_queues_are_listed_by_who_made_them_and_then_by_name() -> None:
    def info(name: str, kind: QueueKind) -> QueueInfo:
        return cast(QueueInfo, SimpleNamespace(name=name, kind=kind))

    made = [info("b", QueueKind.PRIVATE), info("A", QueueKind.PRIVATE)]
    system = info("Journal$", QueueKind.SYSTEM)
    journal = info("a journal", QueueKind.JOURNAL)
    found = by_name([journal, *made, system])
    assert [one.name for one in found] == ["A", "b", "Journal$", "a journal"]


def test_what_becomes_of_poison_may_be_said_by_its_word() -> None:
    for word in Poison:
        assert queue_properties(poison=str(word.value))["poison"] is word
