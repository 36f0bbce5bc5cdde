"""Messages that are sent again: nothing is lost or doubled, whatever becomes of the manager."""

from __future__ import annotations

from pathlib import Path

import pytest

import openmsmq
from openmsmq import Message
from openmsmq.errors import (
    AccessDenied,
    MachineQuotaExceeded,
    SharingViolation,
    StorageFull,
    UnsupportedFormatNameOperation,
)
from openmsmq.store.lmdb import LmdbStore
from openmsmq.types.access import Access, Share

COUNT = 30


def test_what_was_sent_again_is_there_after_a_restart(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path) as manager:
        queue = manager.create_queue("orders")
        queue.send_many([Message(str(n), recoverable=n % 4 > 0) for n in range(COUNT)])
        before = {one.lookup_id: one.id for one in queue.peek_many(COUNT, timeout=0)}
        manager.create_queue("target")
        ids = queue.redirect(list(before), manager.open_queue("target"))
        counts = manager.statistics()
        assert (counts["redirected"], counts["sent_again"]) == (COUNT, COUNT)
        for lookup in (min(ids), max(ids)):
            story = [event.text for event in manager.explain(before[lookup])]
            assert any(f"{ids[lookup]}" in text for text in story), story
    with openmsmq.open(tmp_path) as manager:
        found = [one.id for one in manager.open_queue("target").peek_many(COUNT, timeout=0)]
        assert set(found) == set(ids.values())
        assert manager.open_queue("orders").info().messages == 0


def test_who_operates_moves_messages_and_sees_none(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path) as manager:
        manager.create_queue("orders").send_many(["a", "b"])
        manager.create_queue("target")
        queue = manager.open_queue("orders", access=Access.OPERATE)
        target = manager.open_queue("target", access=Access.OPERATE)
        lookup = manager.open_queue("orders").peek(timeout=0).lookup_id
        assert len(queue.redirect([lookup], target)) == 1
        assert len(target.redirect([lookup], queue)) == 0, "it has another place there"
        for read in (queue.peek, queue.receive, queue.purge):
            with pytest.raises(AccessDenied):
                read()
        with pytest.raises(AccessDenied):
            target.send("x")
        letters = manager.open_queue(r".\DeadLetter$", access=Access.OPERATE)
        with pytest.raises(AccessDenied, match="not open for send"):
            queue.redirect([lookup], letters)
        both = r"DIRECT=OS:.\private$\orders,DIRECT=OS:.\private$\target"
        with pytest.raises(UnsupportedFormatNameOperation):
            manager.open_queue(both, access=Access.OPERATE)


def test_messages_are_not_moved_away_from_an_exclusive_reader(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path) as manager:
        with manager.create_queue("orders") as orders:
            orders.send("a")
            lookup = orders.peek(timeout=0).lookup_id
        target = manager.create_queue("target")
        queue = manager.open_queue("orders", access=Access.OPERATE)
        with manager.open_queue("orders", access=Access.RECEIVE, share=Share.DENY_RECEIVE):
            with pytest.raises(SharingViolation):
                queue.redirect([lookup], target)
            assert len(queue.redirect([lookup], target, copy=True)) == 1
        assert len(queue.redirect([lookup], target)) == 1


def test_who_does_not_operate_needs_the_access_that_reading_and_sending_need(
    tmp_path: Path,
) -> None:
    with openmsmq.open(tmp_path) as manager:
        orders = manager.create_queue("orders")
        orders.send("a")
        manager.create_queue("target")
        lookup = orders.peek(timeout=0).lookup_id
        peeking = manager.open_queue("orders", access=Access.PEEK)
        sending = manager.open_queue("target", access=Access.SEND)
        with pytest.raises(AccessDenied, match="not open for receive"):
            peeking.redirect([lookup], sending)
        with pytest.raises(AccessDenied, match="not open for send"):
            orders.redirect([lookup], manager.open_queue("target", access=Access.RECEIVE))
        with pytest.raises(AccessDenied, match="not open for send"):
            orders.redirect([lookup + 1], peeking)  # though no such message is there
        assert orders.info().messages == 1
        assert len(peeking.redirect([lookup], sending, copy=True)) == 1


def test_a_redirection_that_the_disk_refuses_fails_and_can_be_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = LmdbStore.commit

    def refuse(store: LmdbStore) -> None:
        monkeypatch.setattr(LmdbStore, "commit", commit)
        store.abort()
        raise StorageFull("disk")

    with openmsmq.open(tmp_path) as manager:
        orders, other = manager.create_queue("orders"), manager.create_queue("other")
        orders.send(Message(b"1"))
        lookup = orders.peek(timeout=0).lookup_id
        target = manager.open_queue("other", access=Access.SEND)
        monkeypatch.setattr(LmdbStore, "commit", refuse)
        with pytest.raises(StorageFull):
            orders.redirect([lookup], target)
        orders.redirect([lookup], target)
        assert other.receive(timeout=0).body == b"1"
        assert not orders.info().messages


def test_what_targets_do_not_take_together_leaves_nothing_behind(tmp_path: Path) -> None:
    """No one holds the message, and the target that took it has its room again."""
    with openmsmq.open(tmp_path) as manager:
        orders, first = manager.create_queue("orders"), manager.create_queue("first")
        manager.create_queue("second")
        orders.send(bytes(2000))
        lookup = orders.peek(timeout=0).lookup_id
        names = [rf"DIRECT=OS:.\private$\{name}" for name in ("first", "second")]
        both = manager.open_queue(",".join(names), access=Access.SEND)
        manager.configure(quota=6)
        for copy in (False, True, True):
            with pytest.raises(MachineQuotaExceeded):
                orders.redirect([lookup], both, copy=copy)
        assert orders.receive(timeout=0).body == bytes(2000)
        first.send(bytes(5000))
        assert first.info().messages == 1
