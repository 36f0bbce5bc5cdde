"""Subscriptions with a name: what they were given they are given again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.client.adapter import Api

from openmsmq import Manager, Message, Queue, Subscription
from openmsmq.app_protocol.payloads import COUNT_MAX
from openmsmq.errors import (
    AccessDenied,
    InvalidParameter,
    QueueNotFound,
    SubscriptionTaken,
)
from openmsmq.types.access import Access

MANY = 1 << 40
LARGE = 1_500_000


@pytest.fixture
def kept(api: Api, tmp_path: Path) -> Manager:
    return api.open(tmp_path)


@pytest.fixture
def queue(kept: Manager) -> Queue:
    return kept.create_queue("orders")


def texts(queue: Queue) -> list[str | None]:
    return [message.text for message in queue.peek_many(1000, timeout=0)]


def read(subscription: Subscription, after: int, last: int) -> list[str | None]:
    return [message.text for message in subscription.read(after, last)]


def test_messages_are_reserved_read_and_finished(queue: Queue) -> None:
    queue.send_many(["a", "b", "c"])
    lookups = [message.lookup_id for message in queue.peek_many(3)]
    lake = queue.subscription("lake")
    assert (lake.name, lake.committed, lake.reserved) == ("lake", 0, 0)
    assert lake.reserve(0, 2) == 2
    assert texts(queue) == ["c"]
    assert read(lake, 0, 2) == ["a", "b"]
    assert [message.lookup_id for message in lake.read(0, 2)] == lookups[:2]
    assert read(lake, 1, 2) == ["b"]
    slices = lake.read_slices(0, 2)
    assert [packet for one in slices for packet in one.split()] == [
        message.packet for message in lake.read(0, 2)
    ]
    assert slices[0].lookup_id == lookups[0]
    with pytest.raises(InvalidParameter):
        lake.read_slices(1, 1)
    assert lake.read(1, 1) == []
    assert lake.reserve(0) == 2
    assert lake.reserve(2) == 3
    for _ in range(2):
        lake.commit(2)
    assert (lake.committed, lake.reserved) == (2, 3)
    with pytest.raises(InvalidParameter):
        lake.read(0, 2)
    assert read(lake, 2, 3) == ["c"]


def test_what_was_given_outlives_the_manager(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager:
        queue = manager.create_queue("orders")
        queue.send_many(["a", "b"])
        assert queue.subscription("lake").reserve(0) == 2
    lake = api.open(tmp_path).open_queue("orders").subscription("lake")
    assert (lake.committed, lake.reserved) == (0, 2)
    assert read(lake, 0, 2) == ["a", "b"]


def test_copies_leave_the_messages_where_they_are(queue: Queue) -> None:
    queue.send_many(["a", "b"])
    audit = queue.subscription("audit", copy=True)
    assert audit.reserve(0) == 2
    audit.commit(2)
    assert audit.reserve(2) == 2
    assert texts(queue) == ["a", "b"]
    with pytest.raises(InvalidParameter):
        queue.subscription("audit")


def test_what_is_done_can_be_moved(kept: Manager, queue: Queue) -> None:
    queue.send("a")
    lake = queue.subscription("lake")
    lake.commit(lake.reserve(0), move_to="archive")
    assert texts(kept.open_queue(r".\private$\orders;archive")) == ["a"]


def test_no_more_is_read_than_fits_a_frame(queue: Queue) -> None:
    queue.send_many([Message(b"x" * LARGE), Message(b"y" * LARGE), Message(b"z" * LARGE)])
    lake = queue.subscription("lake")
    assert lake.reserve(0, size_max=1) == 1
    assert lake.reserve(1, size_max=MANY) == 3
    assert [message.body[:1] for message in lake.read(0, 3)] == [b"x", b"y"]
    assert [message.body[:1] for message in lake.read(2, 3)] == [b"z"]
    assert COUNT_MAX < 1 << 20


@pytest.mark.parametrize("values", [(-1, 1, 1), (0, 0, 1), (0, 1, 0), (1, 1, 1), (1 << 64, 1, 1)])
def test_what_cannot_be_reserved(queue: Queue, values: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidParameter):
        queue.subscription("lake").reserve(*values)


@pytest.mark.parametrize("places", [(-1, 0), (1, 0), (0, 1), (0, 1 << 64)])
def test_what_cannot_be_read(queue: Queue, places: tuple[int, int]) -> None:
    with pytest.raises(InvalidParameter):
        queue.subscription("lake").read(*places)


@pytest.mark.parametrize("position", [-1, 1, 1 << 64])
def test_what_cannot_be_finished(queue: Queue, position: int) -> None:
    with pytest.raises(InvalidParameter):
        queue.subscription("lake").commit(position)


def test_only_who_may_receive_can_subscribe(kept: Manager, queue: Queue) -> None:
    with pytest.raises(AccessDenied):
        kept.open_queue("orders", access=Access.SEND).subscription("lake")


def test_subscriptions_are_listed_and_dropped(kept: Manager, queue: Queue) -> None:
    queue.send_many(["a", "b", "c"])
    lake, audit = queue.subscription("lake"), queue.subscription("audit", copy=True)
    audit.reserve(0)
    lake.reserve(0)
    lake.commit(1)
    first, second = kept.subscriptions()
    assert (first.name, first.copy, first.committed, first.reserved) == ("audit", True, 0, 3)
    assert (second.name, second.queue) == ("lake", r".\private$\orders")
    assert (second.copy, second.committed, second.reserved, second.uncommitted) == (False, 1, 3, 2)
    assert 2 * second.bytes == 2 * first.bytes * 2 // 3
    assert kept.drop_subscription("LAKE", "orders") == 2
    assert texts(queue) == ["b", "c"]
    assert [info.name for info in kept.subscriptions()] == ["audit"]
    with pytest.raises(QueueNotFound):
        kept.drop_subscription("lake", "orders")
    for call in (lambda: lake.reserve(3), lambda: lake.read(1, 2), lambda: lake.commit(2)):
        with pytest.raises(QueueNotFound):
            call()
    assert queue.subscription("lake").reserved == 0


def test_what_was_given_of_a_deleted_queue_can_be_read_and_finished(
    kept: Manager, queue: Queue
) -> None:
    queue.send_many(["a", "b"])
    lake = queue.subscription("lake")
    lake.reserve(0)
    kept.delete_queue("orders")
    assert read(lake, 0, 2) == ["a", "b"]
    lake.commit(1)
    assert [info.queue for info in kept.subscriptions()] == [r".\private$\orders"]
    assert kept.drop_subscription("lake", "orders") == 1
    assert kept.subscriptions() == []


def test_a_subscription_with_an_owner(api: Api, tmp_path: Path) -> None:
    with api.open(tmp_path) as manager:
        queue = manager.create_queue("orders")
        queue.send_many(["a", "b", "c"])
        lake = queue.subscription("lake", owner="me")
        assert lake.owner == ""
        lake.reserve(0)
        lake.bind()
        assert lake.owner == "me"
        assert read(lake, 0, 3) == ["a", "b", "c"]
        lake.mark_read(0, 2)
    manager = api.open(tmp_path)
    queue = manager.open_queue("orders")
    other = queue.subscription("lake", owner="you")
    assert other.owner == "me"
    for call in (lambda: other.read(0, 1), lambda: other.commit(1), other.bind):
        with pytest.raises(SubscriptionTaken):
            call()
    with pytest.raises(SubscriptionTaken):
        queue.subscription("lake").commit(1)
    queue.subscription("lake", owner="me").commit(3)
    [info] = manager.subscriptions()
    assert (info.owner, info.committed, info.uncommitted, info.unread) == ("me", 3, 0, 1)
    assert info.queue_id == str(queue.info().id)
    other.bind(take_over=True, read=3)
    assert manager.drop_subscription("lake", "orders", unread=True) == 1
    assert texts(queue) == ["c"]
    assert other.reserve(3) == 4
    assert read(other, 3, 4) == ["c"]


@pytest.mark.parametrize("places", [(-1, 0), (1, 0), (0, 1), (0, 1 << 64)])
def test_what_cannot_be_marked(queue: Queue, places: tuple[int, int]) -> None:
    lake = queue.subscription("lake", owner="me")
    lake.bind()
    with pytest.raises(InvalidParameter):
        lake.mark_read(*places)
    with pytest.raises(InvalidParameter):
        lake.bind(read=-1)
