"""Permissions, messages sent again and reading from the end, embedded and over a service."""

from __future__ import annotations

import os
from math import inf
from pathlib import Path

import pytest
from tests.unit.client.adapter import Api

import openmsmq
from openmsmq import Manager, Message
from openmsmq.errors import AccessDenied, InvalidHandle, InvalidParameter, MQError

COUNT = 30


def test_permissions_are_read_and_set(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager:
        queue = manager.create_queue("orders")
        owner = queue.permissions()
        assert owner in ("O:BA", f"O:S-1-22-1-{os.getuid()}"), "over a socket it is who connected"
        queue.set_permissions("D:(A;;DC;;;BA)(A;;LC;;;WD)")
        assert queue.permissions() == f"{owner}D:(A;;DC;;;BA)(A;;LC;;;WD)"
        queue.send("taken")
        with pytest.raises(AccessDenied):
            queue.receive(timeout=0)
        queue.set_permissions("D:NO_ACCESS_CONTROL")
        assert queue.receive(timeout=0).body
        queue.close()
        with pytest.raises(InvalidHandle):
            queue.permissions()


def filled(manager: Manager, name: str = "orders") -> tuple[openmsmq.Queue, list[int]]:
    """A queue with messages that came together and alone, of several priorities, and express."""
    queue = manager.create_queue(name)
    queue.send_many([Message(str(n), label=f"m{n}", priority=n % 3) for n in range(COUNT - 2)])
    queue.send(Message("alone", label="alone"))
    queue.send(Message("express", label="express", recoverable=False))
    return queue, [message.lookup_id for message in queue.peek_many(COUNT, timeout=0)]


def test_a_queue_is_read_from_its_end(manager: Manager) -> None:
    queue, lookups = filled(manager)
    assert [one.lookup_id for one in queue.peek_back(COUNT + 5)] == lookups[::-1]
    assert [one.lookup_id for one in queue.peek_back(4, before=lookups[10])] == lookups[9:5:-1]
    assert [one.lookup_id for one in queue.peek_back(1)] == lookups[-1:]
    assert queue.peek_back(3, before=lookups[0]) == []
    assert queue.info().messages == COUNT


def test_messages_that_came_together_are_read_from_their_end(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    queue.send_many([Message(str(n)) for n in range(COUNT)])
    assert [one.text for one in queue.peek_back(3)] == ["29", "28", "27"]
    places = [one.lookup_id for one in queue.peek_back(COUNT)]
    assert [one.text for one in queue.peek_back(2, before=places[9])] == ["19", "18"]


@pytest.mark.parametrize("transactional", [False, True])
def test_messages_are_sent_again_and_the_old_ones_are_gone(
    manager: Manager, transactional: bool
) -> None:
    queue, lookups = filled(manager)
    target = manager.create_queue("target", transactional=transactional)
    chosen = lookups[3:COUNT]
    before = {one.lookup_id: one for one in queue.peek_many(COUNT, timeout=0)}
    ids = queue.redirect(chosen, target)
    assert list(ids) == chosen
    after = {one.id: one for one in target.peek_many(COUNT, timeout=0)}
    assert set(after) == set(ids.values())
    for lookup, new in ids.items():
        old = before[lookup]
        assert (after[new].label, after[new].body) == (old.label, old.body)
        assert after[new].transactional == transactional
        assert after[new].recoverable
        events = [event.event for event in manager.explain(old.id)]
        assert sorted(events[-2:]) == ["received", "redirected"]
        assert new in " ".join(event.text for event in manager.explain(old.id))
        assert old.id in " ".join(event.text for event in manager.explain(new))
    assert [one.lookup_id for one in queue.peek_many(COUNT, timeout=0)] == lookups[:3]
    assert queue.redirect(chosen, target) == {}, "never twice"


def test_copies_leave_the_old_ones(manager: Manager) -> None:
    queue, lookups = filled(manager)
    target = manager.create_queue("target")
    assert len(queue.redirect(lookups, target, copy=True)) == COUNT
    assert queue.info().messages == target.info().messages == COUNT


def test_a_message_that_a_reader_holds_is_left_out(manager: Manager) -> None:
    queue = manager.create_queue("orders", transactional=True)
    with manager.transaction() as work:
        queue.send_many(["a", "b"], transaction=work)
    held, free = [one.lookup_id for one in queue.peek_many(2, timeout=0)]
    target = manager.create_queue("target")
    with manager.transaction() as work:
        queue.receive(timeout=0, transaction=work)
        assert list(queue.redirect([held, free], target)) == [free]


def test_the_lifetime_is_kept_or_given(manager: Manager) -> None:
    queue = manager.create_queue("orders")
    target = manager.create_queue("target")
    queue.send_many([Message("x", time_to_be_received=900)] * 3)
    lookups = [one.lookup_id for one in queue.peek_many(3, timeout=0)]
    queue.redirect(lookups[:1], target)
    queue.redirect(lookups[1:2], target, lifetime=inf)
    queue.redirect(lookups[2:], target, lifetime=77)
    lives = [one.time_to_be_received for one in target.peek_many(3, timeout=0)]
    assert lives == [900, None, 77]


def test_nothing_changes_if_the_target_refuses(manager: Manager) -> None:
    queue, lookups = filled(manager)
    target = manager.create_queue("target", quota=0)
    with pytest.raises(MQError, match="quota"):
        queue.redirect(lookups, target)
    assert [one.lookup_id for one in queue.peek_many(COUNT, timeout=0)] == lookups
    with pytest.raises(InvalidParameter, match="only once"):
        queue.redirect([lookups[0]] * 2, manager.create_queue("other"))


def test_a_plain_message_stays_plain_on_its_way_elsewhere(manager: Manager) -> None:
    queue, lookups = filled(manager)
    queue.redirect(lookups[:2], manager.open_queue(r"DIRECT=OS:elsewhere\private$\x"))
    (outgoing,) = manager.outgoing()
    assert outgoing.messages == 2
    assert queue.info().messages == COUNT - 2
