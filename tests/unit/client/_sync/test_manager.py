"""Threads share a manager; what is wrong is refused by both APIs, with the same errors."""

from __future__ import annotations

import math
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from tests.unit.client.adapter import PATIENCE, Api, AsyncApi, SyncApi, start
from tests.unit.service.stores import SlowStore, until

import openmsmq
from openmsmq import Access, Manager, Message, Queue, Seek, Share, Transaction
from openmsmq.client.embedded._sync.embedded import Embedded
from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import (
    AccessDenied,
    IllegalCursorAction,
    IllegalFormatName,
    IllegalPropertyValue,
    IllegalPropertyVt,
    IllegalQueuePathName,
    InvalidHandle,
    InvalidParameter,
    LabelTooLong,
    MachineQuotaExceeded,
    MessageNotFound,
    MessageTooLarge,
    MQError,
    QueueExists,
    QueueNotFound,
    QueueQuotaExceeded,
    SharingViolation,
    TransactionSequence,
    TransactionUsage,
    UnsupportedAccessMode,
)
from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.runtime.drivers import ThreadDriver

# Threads


def test_threads_share_a_manager(tmp_path: Path) -> None:
    """Every message is received once, those of one sender in their order."""
    count, each = 4, 40
    with openmsmq.open(tmp_path) as manager:
        queue = manager.create_queue("orders")

        def send(sender: int) -> None:
            for number in range(each):
                queue.send(f"{sender} {number}")

        def receive() -> list[str]:
            found: list[str] = []
            while text := queue.receive(timeout=PATIENCE).text:
                found.append(text)
            return found

        readers = [start(receive) for _ in range(count)]
        senders = [start(lambda n=n: send(n)) for n in range(count)]  # type: ignore[misc]
        for sender in senders:
            sender.result(PATIENCE)
        queue.send_many([""] * count)
        received = [reader.result(PATIENCE) for reader in readers]
        assert queue.info().messages == 0
    everything = Counter(text for texts in received for text in texts)
    assert everything == Counter(f"{s} {n}" for s in range(count) for n in range(each))
    for texts in received:
        for one in range(count):
            numbers = [int(text.split()[1]) for text in texts if text.startswith(f"{one} ")]
            assert numbers == sorted(numbers)


def test_threads_transact_beside_each_other(tmp_path: Path) -> None:
    """Each message is moved once, whatever is aborted meanwhile."""
    with openmsmq.open(tmp_path) as manager:
        source = manager.create_queue("source", transactional=True)
        target = manager.create_queue("target", transactional=True)
        with manager.transaction() as transaction:
            source.send_many(map(str, range(60)), transaction=transaction)

        def move(turn: int) -> None:
            for number in range(20):
                transaction = manager.transaction()
                message = source.receive(timeout=PATIENCE, transaction=transaction)
                target.send(message, transaction=transaction)
                if (number + turn) % 4 == 0:
                    transaction.abort()
                else:
                    transaction.commit()

        for mover in [start(lambda n=n: move(n)) for n in range(3)]:  # type: ignore[misc]
            mover.result(PATIENCE)
        moved = [str(message.text) for message in target.peek_many(100, timeout=0)]
        left = [str(message.text) for message in source.peek_many(100, timeout=0)]
    assert len(moved) == 45
    assert sorted(moved + left, key=int) == [str(number) for number in range(60)]


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="only the main thread is interrupted",
)
def test_a_receive_that_is_interrupted_loses_no_message() -> None:
    """Ctrl-C while the message is being removed."""
    store = SlowStore()
    local = QueueManager(store, SystemClock(), name="server1")
    with openmsmq.Manager(Embedded(local, ThreadDriver(local, local.clock))) as manager:
        queue = manager.create_queue("orders")
        queue.send_many(["1", "2"])
        store.gate.clear()
        other = start(lambda: queue.send("3"))
        until(lambda: local.is_committing)

        def interrupt() -> None:
            until(lambda: local.queues.find("private$\\orders").holds)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        interrupting = start(interrupt)
        with pytest.raises(KeyboardInterrupt):
            queue.receive()
        interrupting.result(PATIENCE)
        store.gate.set()
        other.result(PATIENCE)
        queue.send("4")
        texts = [message.text for message in queue.receive_many(9, timeout=0)]
        assert texts == ["1", "2", "3", "4"]


# What is refused


@dataclass
class Scene:
    """A manager with something in it, and handles to do the wrong thing with."""

    manager: Manager
    other: Manager
    plain: Queue
    ledger: Queue
    small: Queue
    send_only: Queue
    peek_only: Queue
    lone: Queue
    closed: Queue
    over: Transaction
    open: Transaction
    foreign: Transaction

    def state(self) -> object:
        """All that a refusal must leave as it was."""
        found = []
        for info in self.manager.queues():
            with self.manager.open_queue(info.name, access=Access.PEEK) as queue:
                contents = [(m.lookup_id, m.packet) for m in queue.peek_many(100, timeout=0)]
            found.append((replace(info, oldest_age=None), contents))  # time goes on
        work = cast(Any, self.open.begun())  # of the backend in this process
        return found, self.manager.prepared(), work.begun.is_open


@pytest.fixture(scope="module", params=[SyncApi, AsyncApi], ids=["sync", "aio"])
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """One for all refusals, since none of them may change it."""
    api: Api = request.param()
    yield made_scene(api, tmp_path_factory.mktemp("scene"))
    api.close()


def made_scene(api: Api, directory: Path) -> Scene:
    manager = api.open(directory / "a", name="server1")
    other = api.open(directory / "b")
    plain = manager.create_queue("plain")
    plain.send_many(["1", Message("2", recoverable=False)])
    ledger = manager.create_queue("ledger", transactional=True)
    with manager.transaction() as transaction:
        ledger.send_many(["1", "2"], transaction=transaction)
    small = manager.create_queue("small", quota=1)
    small.send(b"x" * 300)
    manager.create_queue("lone").close()
    closed = manager.open_queue("plain")
    closed.close()
    over = manager.transaction("over")
    over.commit()
    return Scene(
        manager,
        other,
        plain,
        ledger,
        small,
        manager.open_queue("plain", access=Access.SEND),
        manager.open_queue("plain", access=Access.PEEK),
        manager.open_queue("lone", share=Share.DENY_RECEIVE),
        closed,
        over,
        manager.transaction(),
        other.transaction(),
    )


Case = tuple[str, type[MQError], int, Callable[[Scene], Any]]

NAMES: list[Case] = [
    ("open nowhere", QueueNotFound, 0xC00E0003, lambda s: s.manager.open_queue("nowhere")),
    ("delete nowhere", QueueNotFound, 0xC00E0003, lambda s: s.manager.delete_queue("nowhere")),
    ("create again", QueueExists, 0xC00E0005, lambda s: s.manager.create_queue("PLAIN")),
    ("create no name", IllegalQueuePathName, 0xC00E0014, lambda s: s.manager.create_queue("")),
    ("create control", IllegalQueuePathName, 0xC00E0014, lambda s: s.manager.create_queue("a\rb")),
    ("open path", IllegalQueuePathName, 0xC00E0014, lambda s: s.manager.open_queue("\\a")),
    ("open format", IllegalFormatName, 0xC00E001E, lambda s: s.manager.open_queue("DIRECT=?")),
    (
        "open elsewhere",
        QueueNotFound,
        0xC00E0003,
        lambda s: s.manager.open_queue("there\\private$\\plain", access=Access.RECEIVE),
    ),
    (
        "create elsewhere",
        IllegalQueuePathName,
        0xC00E0014,
        lambda s: s.manager.create_queue("there\\private$\\new"),
    ),
]

HANDLES: list[Case] = [
    ("send to peek", AccessDenied, 0xC00E0025, lambda s: s.peek_only.send("x")),
    ("receive to peek", AccessDenied, 0xC00E0025, lambda s: s.peek_only.receive(0)),
    ("many to peek", AccessDenied, 0xC00E0025, lambda s: s.peek_only.receive_many(1, 0)),
    ("purge to peek", AccessDenied, 0xC00E0025, lambda s: s.peek_only.purge()),
    ("cursor to peek", AccessDenied, 0xC00E0025, lambda s: s.peek_only.cursor().receive(0)),
    (
        "lookup to peek",
        AccessDenied,
        0xC00E0025,
        lambda s: s.peek_only.receive_by_lookup_id(0, Seek.FIRST),
    ),
    ("receive to send", AccessDenied, 0xC00E0025, lambda s: s.send_only.receive(0)),
    ("peek to send", AccessDenied, 0xC00E0025, lambda s: s.send_only.peek(0)),
    ("cursor to send", AccessDenied, 0xC00E0025, lambda s: s.send_only.cursor()),
    (
        "lookup to send",
        AccessDenied,
        0xC00E0025,
        lambda s: s.send_only.peek_by_lookup_id(0, Seek.FIRST),
    ),
    ("shared", SharingViolation, 0xC00E0009, lambda s: s.manager.open_queue("lone")),
    (
        "lone sender",
        UnsupportedAccessMode,
        0xC00E0045,
        lambda s: s.manager.open_queue("plain", access=Access.SEND, share=Share.DENY_RECEIVE),
    ),
    ("closed send", InvalidHandle, 0xC00E0007, lambda s: s.closed.send("x")),
    ("closed receive", InvalidHandle, 0xC00E0007, lambda s: s.closed.receive(0)),
    ("closed peek", InvalidHandle, 0xC00E0007, lambda s: s.closed.peek_many(1, 0)),
    ("closed lookup", InvalidHandle, 0xC00E0007, lambda s: s.closed.peek_by_lookup_id(1)),
    ("closed cursor", InvalidHandle, 0xC00E0007, lambda s: s.closed.cursor()),
    ("closed purge", InvalidHandle, 0xC00E0007, lambda s: s.closed.purge()),
    ("closed set", InvalidHandle, 0xC00E0007, lambda s: s.closed.set(label="x")),
    ("unknown lookup", MessageNotFound, 0xC00E0088, lambda s: s.plain.receive_by_lookup_id(5)),
    ("negative lookup", MessageNotFound, 0xC00E0088, lambda s: s.plain.peek_by_lookup_id(-1)),
    ("next first", IllegalCursorAction, 0xC00E001C, lambda s: s.plain.cursor().next(0)),
]

TRANSACTIONS: list[Case] = [
    ("plain to ledger", TransactionUsage, 0xC00E0050, lambda s: s.ledger.send("x")),
    (
        "tx to plain",
        TransactionUsage,
        0xC00E0050,
        lambda s: s.plain.send("x", transaction=s.open),
    ),
    (
        "tx from plain",
        TransactionUsage,
        0xC00E0050,
        lambda s: s.plain.receive(0, transaction=s.open),
    ),
    (
        "tx cursor on plain",
        TransactionUsage,
        0xC00E0050,
        lambda s: s.plain.cursor().receive(0, transaction=s.open),
    ),
    (
        "tx lookup on plain",
        TransactionUsage,
        0xC00E0050,
        lambda s: s.plain.receive_by_lookup_id(0, Seek.FIRST, transaction=s.open),
    ),
    (
        "send over",
        TransactionSequence,
        0xC00E0051,
        lambda s: s.ledger.send("x", transaction=s.over),
    ),
    (
        "receive over",
        TransactionSequence,
        0xC00E0051,
        lambda s: s.ledger.receive(0, transaction=s.over),
    ),
    ("peek over", TransactionSequence, 0xC00E0051, lambda s: s.ledger.peek(0, transaction=s.over)),
    (
        "cursor over",
        TransactionSequence,
        0xC00E0051,
        lambda s: s.ledger.cursor().peek(0, transaction=s.over),
    ),
    ("commit over", TransactionSequence, 0xC00E0051, lambda s: s.over.commit()),
    ("abort over", TransactionSequence, 0xC00E0051, lambda s: s.over.abort()),
    ("prepare over", TransactionSequence, 0xC00E0051, lambda s: s.over.prepare()),
    ("prepare nameless", TransactionSequence, 0xC00E0051, lambda s: s.open.prepare()),
    ("commit unknown", TransactionSequence, 0xC00E0051, lambda s: s.manager.commit_prepared("?")),
    ("abort unknown", TransactionSequence, 0xC00E0051, lambda s: s.manager.abort_prepared("?")),
    (
        "send foreign",
        TransactionSequence,
        0xC00E0051,
        lambda s: s.ledger.send("x", transaction=s.foreign),
    ),
    (
        "receive foreign",
        TransactionSequence,
        0xC00E0051,
        lambda s: s.ledger.receive(0, transaction=s.foreign),
    ),
]

LARGE = b"x" * PACKET_SIZE_MAX
VALUES: list[Case] = [
    ("quota", QueueQuotaExceeded, 0xC00E0027, lambda s: s.small.send(b"x" * 1000)),
    ("quota many", QueueQuotaExceeded, 0xC00E0027, lambda s: s.small.send_many([b"x" * 300] * 9)),
    (
        "quota express",
        QueueQuotaExceeded,
        0xC00E0027,
        lambda s: s.small.send(Message(b"x" * 1000, recoverable=False)),
    ),
    ("oversize", MessageTooLarge, 0xC00E0027, lambda s: s.plain.send(LARGE)),
    ("one oversize", MessageTooLarge, 0xC00E0027, lambda s: s.plain.send_many([b"x", LARGE])),
    (
        "oversize in a transaction",
        MessageTooLarge,
        0xC00E0027,
        lambda s: s.ledger.send(LARGE, transaction=s.open),
    ),
    ("label", LabelTooLong, 0xC00E005D, lambda s: s.plain.send(Message(label="x" * 250))),
    (
        "lifetime",
        IllegalPropertyValue,
        0xC00E0018,
        lambda s: s.plain.send(Message(time_to_be_received=-1)),
    ),
    (
        "time to reach",
        IllegalPropertyValue,
        0xC00E0018,
        lambda s: s.plain.send(Message(time_to_reach_queue=-0.5)),
    ),
    ("priority", IllegalPropertyValue, 0xC00E0018, lambda s: s.plain.send(Message(priority=8))),
    ("body", IllegalPropertyVt, 0xC00E0019, lambda s: s.plain.send(cast(bytes, 5))),
    (
        "one bad body",
        IllegalPropertyVt,
        0xC00E0019,
        lambda s: s.plain.send_many([b"x", cast(bytes, None)]),
    ),
    ("timeout", InvalidParameter, 0xC00E0006, lambda s: s.plain.receive(-1)),
    ("timeout nan", InvalidParameter, 0xC00E0006, lambda s: s.plain.peek(math.nan)),
    ("timeout cursor", InvalidParameter, 0xC00E0006, lambda s: s.plain.cursor().peek(-0.1)),
    (
        "timeout cursor receive",
        InvalidParameter,
        0xC00E0006,
        lambda s: s.plain.cursor().receive(-0.1),
    ),
    ("count 0", InvalidParameter, 0xC00E0006, lambda s: s.plain.receive_many(0, 0)),
    ("count -1", InvalidParameter, 0xC00E0006, lambda s: s.plain.peek_many(-1, 0)),
    ("set quota", IllegalPropertyValue, 0xC00E0018, lambda s: s.plain.set(quota=-1)),
    ("set label", IllegalPropertyValue, 0xC00E0018, lambda s: s.plain.set(label="x" * 125)),
    (
        "create quota",
        IllegalPropertyValue,
        0xC00E0018,
        lambda s: s.manager.create_queue("new", quota=1 << 32),
    ),
]


@pytest.mark.parametrize(
    ("error", "code", "attempt"),
    [pytest.param(*case, id=name) for name, *case in NAMES + HANDLES + TRANSACTIONS + VALUES],
)
def test_what_is_wrong_is_refused_with_its_own_error_and_changes_nothing(
    scene: Scene, error: type[MQError], code: int, attempt: Callable[[Scene], Any]
) -> None:
    """DMPR-129, DMPR-156, DMPR-169, DMPR-187, DMPR-232, DMPR-282, DMPR-296, DMPR-396, DMPR-398."""
    before = scene.state()
    with pytest.raises(MQError) as info:
        attempt(scene)
    assert type(info.value) is error
    assert info.value.hresult == code
    assert f"0x{code:08X}" in str(info.value)
    assert scene.state() == before


def test_everything_still_works_after_all_of_them(api: Api, tmp_path: Path) -> None:
    scene = made_scene(api, tmp_path)
    for _, error, _, attempt in NAMES + HANDLES + TRANSACTIONS + VALUES:
        with pytest.raises(error):
            attempt(scene)
    scene.ledger.send("3", transaction=scene.open)
    scene.open.commit()
    assert [m.text for m in scene.ledger.receive_many(9, timeout=0)] == ["1", "2", "3"]
    assert [m.text for m in scene.plain.receive_many(9, timeout=0)] == ["1", "2"]


def test_the_quota_of_the_machine_counts_over_all_queues(api: Api, tmp_path: Path) -> None:
    """DMPR-186."""
    with api.open(tmp_path, quota=2) as manager:
        first, second = manager.create_queue("a"), manager.create_queue("b")
        first.send(b"x" * 1000)
        before = manager.queues()
        with pytest.raises(MachineQuotaExceeded) as info:
            second.send(b"x" * 1000)
        assert info.value.hresult == 0xC00E0027
        assert manager.queues() == before
        first.receive(timeout=0)
        second.send(b"x" * 1000)


def test_a_closed_cursor_is_refused(scene: Scene) -> None:
    """DMPR-262."""
    cursor = scene.plain.cursor()
    cursor.close()
    before = scene.state()
    for read in (cursor.peek, cursor.next, cursor.receive):
        with pytest.raises(InvalidHandle) as info:
            read(timeout=0)
        assert info.value.hresult == 0xC00E0007
    assert scene.state() == before


def test_a_loop_over_a_queue_receives_one_message_after_the_other(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path) as manager:
        queue = manager.create_queue("orders")
        queue.send_many(["a", "b", "c"])
        found = [message.text for message, _ in zip(queue, range(2), strict=False)]
        assert found == ["a", "b"]


def test_managers_and_queues_show_what_they_are(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path, name="server1") as manager:
        queue = manager.create_queue("orders")
        assert repr(manager) == "<Manager 'server1', ready>"
        assert repr(queue) == r"<Queue '.\\private$\\orders'>"
        queue.close()
        assert repr(queue).endswith("(closed)>")
