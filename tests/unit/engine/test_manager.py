"""The queue manager of this process: names, messages into packets, and back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from tests.unit.engine import handles
from tests.unit.engine.office import Manager
from tests.unit.engine.world import NOW, OWNER, commit_all
from tests.unit.transports.wires import pair

from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.storage.layout import Record
from openmsmq.errors import (
    IllegalFormatName,
    IllegalPropertyValue,
    IllegalQueuePathName,
    InvalidParameter,
    MessageTooLarge,
    MQError,
    PropertyNotAllowed,
    QueueExists,
    QueueNotFound,
    TransactionSequence,
    UnsupportedFormatNameOperation,
    UnsupportedOperation,
)
from openmsmq.limits import NO_QUOTA
from openmsmq.properties.message import INFINITE, MessageClass
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller, Grant
from openmsmq.types.manager_state import ManagerState
from openmsmq.types.message import Message
from openmsmq.types.queues import QueueKind


@pytest.fixture
def manager() -> Manager:
    return Manager()


# Names


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        "ORDERS",
        ".\\private$\\orders",
        "server1\\private$\\orders",
        "LOCALHOST\\Private$\\Orders",
        "DIRECT=OS:.\\private$\\orders",
        "direct=os:SERVER1\\private$\\orders",
        "FormatName:DIRECT=OS:server1\\PRIVATE$\\orders",
    ],
)
def test_a_queue_is_found_by_every_name_it_has_here(manager: Manager, name: str) -> None:
    queue = manager.create()
    assert manager.local.find_queue(name) is queue
    with pytest.raises(QueueExists):
        manager.local.create_queue(name)


def test_a_public_queue_and_a_private_one_are_two(manager: Manager) -> None:
    private, public = manager.create("orders"), manager.create(".\\orders")
    assert private.properties.name == "private$\\orders"
    assert public.properties.name == "orders"
    assert manager.local.find_queue("server1\\orders") is public


@pytest.mark.parametrize(
    "name",
    [
        "nowhere",
        ".\\nowhere",
        "DIRECT=OS:server1\\private$\\nowhere",
        "DIRECT=OS:localhost\\private$\\nowhere",
    ],
)
def test_an_unknown_queue_is_not_found(manager: Manager, name: str) -> None:
    """DMPR-156, DMPR-157."""
    manager.create()
    with pytest.raises(QueueNotFound) as info:
        manager.local.find_queue(name)
    assert info.value.hresult == 0xC00E0003


@pytest.mark.parametrize(
    "name",
    [
        "other\\private$\\orders",
        "DIRECT=OS:other\\private$\\orders",
        "DIRECT=TCP:10.0.0.1\\private$\\orders",
        "PUBLIC=12345678-1234-4234-8234-123456789abc",
    ],
)
def test_queues_elsewhere_are_not_found_here(manager: Manager, name: str) -> None:
    """DMPR-116."""
    manager.create()
    with pytest.raises(UnsupportedFormatNameOperation) as info:
        manager.local.find_queue(name)
    assert info.value.hresult == 0xC00E0020
    with pytest.raises(IllegalQueuePathName) as illegal:
        manager.local.create_queue(name)
    assert illegal.value.hresult == 0xC00E0014


@pytest.mark.parametrize(
    "name",
    [".\\private$\\orders;retry", ".\\private$\\orders\\Journal$", ".\\DeadLetter$", ".\\Journal$"],
)
def test_what_the_manager_itself_makes_is_not_created(manager: Manager, name: str) -> None:
    """DMPR-116."""
    manager.create()
    with pytest.raises(IllegalQueuePathName):
        manager.local.create_queue(name)


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("", IllegalQueuePathName),
        (".\\private$\\", IllegalQueuePathName),
        ("\\orders", IllegalQueuePathName),
        (".\\private$\\" + "x" * 200, IllegalQueuePathName),
        ("a\nb", IllegalQueuePathName),
        ("DIRECT=", IllegalFormatName),
        ("DIRECT=XYZ:a\\b", IllegalFormatName),
        ("PUBLIC=nonsense", IllegalFormatName),
    ],
)
def test_what_is_no_name_is_refused_and_changes_nothing(
    manager: Manager, name: str, error: type[MQError]
) -> None:
    """DMPR-116."""
    before = manager.store.committed
    for attempt in (manager.local.create_queue, manager.local.find_queue):
        with pytest.raises(error):
            attempt(name)
    assert manager.store.committed == before
    assert list(manager.local.queues) == []


def test_a_queue_is_created_now_with_an_identifier_of_its_own(manager: Manager) -> None:
    """DMPR-122."""
    first, second = manager.create("a"), manager.create("b")
    for queue in (first, second):
        assert queue.properties.created == queue.properties.modified == NOW
    assert first.properties.id != second.properties.id


def test_a_change_is_noted_with_its_time(manager: Manager) -> None:
    queue = manager.create()
    manager.tick(60)
    manager.done(manager.local.change_queue(queue, label="new"))
    changed = queue.properties
    assert (changed.label, changed.created, changed.modified) == ("new", NOW, NOW + 60)


# Messages


def test_a_message_arrives_as_it_was_sent(manager: Manager) -> None:
    """DMPR-055, DMPR-074, DMPR-075."""
    queue = manager.create()
    sent = Message(
        b"body",
        body_type=17,
        label="Größe",
        priority=5,
        correlation_id=b"x" * 20,
        app_specific=7,
        extension=b"more",
        time_to_be_received=60,
        admin_queue="answers",
    )
    manager.send(queue, sent)
    (found,) = manager.peek(queue)
    assert (found.body, found.body_type, found.label) == (b"body", 17, "Größe")
    assert (found.priority, found.correlation_id, found.app_specific) == (5, b"x" * 20, 7)
    assert (found.extension, found.time_to_be_received) == (b"more", 60)
    assert found.sent_time == found.arrived_time == datetime.fromtimestamp(NOW, UTC)
    assert str(found.destination_queue) == "DIRECT=OS:Server1\\private$\\orders"
    assert str(found.admin_queue) == "DIRECT=OS:Server1\\private$\\answers"
    assert found.source_manager == manager.local.identity
    assert found.lookup_id & (1 << 56) - 1 == found.arrival
    assert (found.abort_count, found.move_count, found.transactional) == (0, 0, False)


def test_identifiers_are_unique_whatever_happens(manager: Manager) -> None:
    """Also those of express messages before a crash (DMPR-053)."""
    queue = manager.create()
    ids: list[str] = []
    for _ in range(3):
        manager.send(queue, Message(b"1"), Message(b"2", recoverable=False), Message(b"3"))
        manager.send(queue, Message(b"4", recoverable=False))
        ids += [found.id for found in manager.peek(queue)]
        queue_of = manager.local.receiver.receive(queue, 100, OWNER, wait=False)
        manager.done(queue_of)
        manager = manager.restart()
        queue = manager.local.find_queue("orders")
    assert len(set(ids)) == len(ids) == 12


@pytest.mark.parametrize(
    ("seconds", "expires"),
    [(None, INFINITE), (1, NOW + 1), (60, NOW + 60), (INFINITE - 1, INFINITE - 1)],
)
def test_the_time_a_message_may_be_received_is_kept(
    manager: Manager, seconds: int | None, expires: int
) -> None:
    """Counted from when it was sent (A-10, DMPR-088)."""
    queue = manager.create()
    manager.send(queue, Message(b"", time_to_be_received=seconds))
    (entry,) = manager.local.receiver.peek(queue, 1, OWNER, wait=False).result()
    assert Record.unpack(entry.record).expires == expires


def test_only_recoverable_messages_outlive_the_process(manager: Manager) -> None:
    """DMPR-061."""
    queue = manager.create()
    manager.send(queue, Message(b"express", recoverable=False), Message(b"recoverable"))
    again = manager.restart()
    assert [m.body for m in again.peek(again.local.find_queue("orders"))] == [b"recoverable"]


def test_a_message_sent_in_a_transaction_is_recoverable_with_priority_0(manager: Manager) -> None:
    """Whatever the caller said (DMPR-394)."""
    queue = manager.create(transactional=True)
    transaction = manager.local.begin()
    messages = [Message(bytes([48 + n]), priority=n, recoverable=n % 2 == 0) for n in range(8)]
    for message in messages:
        manager.send(queue, message, transaction=transaction)
    manager.done(manager.local.commit(transaction))
    again = manager.restart()
    found = again.peek(again.local.find_queue("orders"))
    assert b"".join(message.body for message in found) == b"01234567"
    assert {(m.priority, m.recoverable, m.transactional) for m in found} == {(0, True, True)}
    assert {message.lookup_id >> 56 for message in found} == {7}


def test_a_message_arrives_when_its_transaction_commits(manager: Manager) -> None:
    """DMPR-055."""
    queue = manager.create(transactional=True)
    transaction = manager.local.begin()
    manager.send(queue, Message(b""), transaction=transaction)
    manager.tick(60)
    manager.done(manager.local.commit(transaction))
    (found,) = manager.peek(queue)
    assert found.sent_time == datetime.fromtimestamp(NOW, UTC)
    assert found.arrived_time == datetime.fromtimestamp(NOW + 60, UTC)


def test_an_aborted_receive_is_counted(manager: Manager) -> None:
    queue = manager.create(transactional=True)
    transaction = manager.local.begin()
    manager.send(queue, Message(b""), transaction=transaction)
    manager.done(manager.local.commit(transaction))
    again = manager.local.begin()
    manager.done(manager.local.receiver.receive(queue, 1, OWNER, wait=False, holder=again))
    manager.done(manager.local.abort(again))
    assert [message.abort_count for message in manager.peek(queue)] == [1]


def test_one_message_too_large_and_none_is_sent(manager: Manager) -> None:
    queue = manager.create()
    before = manager.local.numbers.message_id
    with pytest.raises(MessageTooLarge) as info:
        handles.send(manager.local, queue, [Message(b"a"), Message(b"x" * (4 << 20))], None)
    assert info.value.hresult == 0xC00E0027
    assert manager.peek(queue) == []
    assert manager.local.numbers.message_id == before
    manager.send(queue, Message(b"x" * ((4 << 20) - 1000)))


def test_what_is_held_elsewhere_does_not_matter_to_sending(manager: Manager) -> None:
    queue = manager.create()
    manager.send(queue, Message(b"1"))
    manager.local.receiver.receive(queue, 1, OWNER, wait=False, holder=Holder())
    manager.send(queue, Message(b"2"))
    assert [message.body for message in manager.peek(queue)] == [b"2"]


# Prepared transactions


def test_a_prepared_transaction_is_known_by_its_name(manager: Manager) -> None:
    """DMPR-282, DMPR-284, DMPR-289."""
    queue = manager.create(transactional=True)
    transaction = manager.local.begin("transfer")
    manager.send(queue, Message(b"1"), transaction=transaction)
    with pytest.raises(TransactionSequence) as info:
        manager.local.commit_prepared("transfer")
    assert info.value.hresult == 0xC00E0051
    manager.done(manager.local.prepare(transaction))
    again = manager.restart()
    again.done(again.local.commit_prepared("transfer"))
    assert again.bodies(again.local.find_queue("orders")) == [b"1"]
    again.done(again.local.commit_prepared("transfer"))
    with pytest.raises(TransactionSequence, match="committed before"):
        again.local.abort_prepared("transfer")
    assert again.bodies(again.local.find_queue("orders")) == [b"1"]


def test_a_prepared_transaction_can_be_aborted_by_its_name(manager: Manager) -> None:
    queue = manager.create(transactional=True)
    transaction = manager.local.begin("transfer")
    manager.send(queue, Message(b"1"), transaction=transaction)
    manager.done(manager.local.prepare(transaction))
    again = manager.restart()
    again.done(again.local.abort_prepared("transfer"))
    again.done(again.local.abort_prepared("transfer"))
    with pytest.raises(TransactionSequence, match="aborted before"):
        again.local.commit_prepared("transfer")
    assert again.bodies(again.local.find_queue("orders")) == []


def test_a_manager_keeps_its_identity(manager: Manager) -> None:
    """DMPR-004."""
    again = manager.restart()
    assert again.local.identity == manager.local.identity


# Opening


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("orders", QueueKind.PRIVATE),
        (".\\sales", QueueKind.PUBLIC),
        (".\\private$\\orders;retry", QueueKind.SUBQUEUE),
        (".\\private$\\orders\\Journal$", QueueKind.JOURNAL),
        ("DIRECT=OS:.\\private$\\orders;JOURNAL", QueueKind.JOURNAL),
        (".\\DeadLetter$", QueueKind.SYSTEM),
        (".\\XactDeadLetter$", QueueKind.SYSTEM),
        (".\\Journal$", QueueKind.SYSTEM),
        (".\\Refused$", QueueKind.SYSTEM),
        ("other\\private$\\orders", QueueKind.OUTGOING),
        ("DIRECT=TCP:10.0.0.1\\private$\\orders", QueueKind.OUTGOING),
        ("DIRECT=HTTP://other/msmq/orders", QueueKind.OUTGOING),
    ],
)
def test_every_kind_of_queue_can_be_opened(manager: Manager, name: str, kind: QueueKind) -> None:
    """For what can be done with it (DMPR-041, DMPR-120, DMPR-161)."""
    manager.create()
    manager.create(".\\sales")
    opened = manager.local.open_queue(name, Mode())
    queue, mode = opened.queue, opened.mode
    assert queue.kind is kind
    expected = {
        QueueKind.PRIVATE: Access.ALL,
        QueueKind.PUBLIC: Access.ALL,
        QueueKind.OUTGOING: Access.SEND,
    }.get(kind, Access.RECEIVE | Access.PEEK)
    assert mode == Mode(expected)
    assert queue.modes == [mode]


@pytest.mark.parametrize(
    "name",
    [
        ".\\private$\\orders;retry",
        ".\\private$\\orders\\Journal$",
        ".\\DeadLetter$",
        ".\\Refused$",
        "DIRECT=OS:.\\REFUSED$",
        "DIRECT=OS:.\\SYSTEM$;JOURNAL",
        "other\\DeadLetter$",
        "DIRECT=OS:other\\private$\\orders;JOURNAL",
        "PUBLIC=12345678-1234-4234-8234-123456789abc",
    ],
)
def test_no_one_sends_to_what_the_manager_keeps(manager: Manager, name: str) -> None:
    """DMPR-403 (A-63)."""
    manager.create()
    with pytest.raises(UnsupportedFormatNameOperation) as info:
        manager.local.open_queue(name, Mode(Access.SEND))
    assert info.value.hresult == 0xC00E0020
    assert list(manager.local.queues.find("private$\\orders").subqueues) == []


@pytest.mark.parametrize("access", [Access.RECEIVE, Access.PEEK, Access.RECEIVE | Access.PEEK])
def test_queues_elsewhere_cannot_be_read(manager: Manager, access: Access) -> None:
    with pytest.raises(QueueNotFound):
        manager.local.open_queue("other\\private$\\orders", Mode(access))


@pytest.mark.parametrize(
    "name",
    [
        "DIRECT=HTTP://server1/msmq/private$/orders",
        "DIRECT=HTTP://other/msmq/orders",
        "MULTICAST=234.1.1.1:8001",
        "DIRECT=OS:.\\private$\\orders,DIRECT=OS:other\\q",
    ],
)
def test_some_names_are_for_sending_only(manager: Manager, name: str) -> None:
    manager.create()
    with pytest.raises(UnsupportedFormatNameOperation):
        manager.local.open_queue(name, Mode(Access.RECEIVE))


def test_a_list_needs_a_directory(manager: Manager) -> None:
    with pytest.raises(UnsupportedFormatNameOperation, match="no directory"):
        manager.local.open_queue("DL=12345678-1234-4234-8234-123456789abc", Mode())


def test_a_queue_of_a_name_here_can_be_sent_to_over_http(manager: Manager) -> None:
    queue = manager.create()
    opened = manager.local.open_queue(
        "DIRECT=HTTP://server1/msmq/private$/orders", Mode(Access.SEND)
    )
    assert (opened.queue, opened.mode) == (queue, Mode(Access.SEND))


def test_several_queues_are_opened_together_or_not_at_all(manager: Manager) -> None:
    """DMPR-111, DMPR-112, DMPR-151, DMPR-152, DMPR-173."""
    queue = manager.create()
    name = "DIRECT=OS:.\\private$\\orders,DIRECT=OS:other\\q"
    opened = manager.local.open_queue(name, Mode())
    several, mode = opened.queue, opened.mode
    assert (several.kind, mode) == (QueueKind.MULTIPLE, Mode(Access.SEND))
    assert several.members[0] is queue
    assert (queue.members, queue.modes) == ((), [mode])
    opened.close()
    assert (queue.modes, several.members[1].deleted) == ([], True)
    with pytest.raises(QueueNotFound):
        manager.local.open_queue("DIRECT=OS:.\\private$\\orders,DIRECT=OS:.\\zero", Mode())
    assert queue.modes == []


def test_the_same_destination_is_opened_once(manager: Manager) -> None:
    """DMPR-171."""
    first = manager.open("OTHER\\private$\\orders")
    assert manager.open("DIRECT=OS:other\\private$\\Orders") is first
    assert len(first.modes) == 2


# Settings


def test_settings_are_changed_for_good(manager: Manager) -> None:
    """DMPR-001."""
    manager.done(manager.local.configure(history=5, time_to_reach_queue=None))
    for found in (manager, manager.restart()):
        assert (found.local.settings.history, found.local.history.limit) == (5, 5 << 20)
        assert found.local.settings.time_to_reach_queue is None


@pytest.mark.parametrize(("quota", "kept"), [(7, 7), (None, NO_QUOTA)])
def test_the_journal_of_sent_messages_has_the_quota_that_is_set(
    manager: Manager, quota: int | None, kept: int
) -> None:
    """DMPR-010, DMPR-067."""
    assert manager.local.queues.system_journal.properties.quota == NO_QUOTA == 0xFFFFFFFF
    manager.done(manager.local.configure(journal_quota=5))
    manager.done(manager.local.configure(journal_quota=quota))
    assert manager.local.queues.system_journal.properties.quota == kept
    assert manager.restart().local.queues.system_journal.properties.quota == kept


def test_an_unknown_setting_is_refused(manager: Manager) -> None:
    with pytest.raises(PropertyNotAllowed, match=r"color; there are .*hardened, history, ") as info:
        manager.local.configure(color=5)
    assert info.value.hresult == 0xC00E003E
    with pytest.raises(IllegalPropertyValue):
        manager.local.configure(journal_quota=-1)
    assert not manager.local.wants_commit


def test_a_manager_is_ready_when_it_has_started(manager: Manager) -> None:
    """DMPR-025, DMPR-390."""
    assert manager.local.state is ManagerState.READY
    assert [str(state) for state in ManagerState] == [
        "stopped",
        "initializing",
        "ready",
        "stopping",
    ]


# Moving


def test_a_message_is_moved_by_the_name_of_a_subqueue_or_its_whole_name(
    manager: Manager,
) -> None:
    """DMPR-275, DMPR-402, DMPR-403."""
    queue = manager.create()
    manager.send(queue, Message(b"x"))
    (found,) = manager.peek(queue)
    manager.done(handles.move(manager.local, queue, found.lookup_id, "retry", None))
    retry = manager.open(".\\private$\\orders;retry")
    assert manager.peek(retry)[0].move_count == 1
    manager.done(
        handles.move(
            manager.local, retry, found.lookup_id, "DIRECT=OS:.\\private$\\orders;other", None
        )
    )
    other = manager.open(".\\private$\\orders;other")
    manager.done(handles.move(manager.local, other, found.lookup_id, ".\\private$\\orders", None))
    manager.done(handles.move(manager.local, queue, found.lookup_id, "again", None))
    again = manager.open(".\\private$\\orders;again")
    manager.done(handles.move(manager.local, again, found.lookup_id, "", None))
    (back,) = manager.peek(queue)
    assert (back.lookup_id, back.move_count) == (found.lookup_id, 5)


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("a;b", IllegalQueuePathName),
        ("x" * 200, IllegalQueuePathName),
        ("a\nb", IllegalQueuePathName),
        (" a", IllegalQueuePathName),
        ("JOURNAL", InvalidParameter),
        (".\\private$\\orders\\Journal$", InvalidParameter),
        (".\\private$\\nowhere;retry", QueueNotFound),
        ("other\\private$\\orders;retry", UnsupportedFormatNameOperation),
    ],
)
def test_what_cannot_be_a_target_is_refused(
    manager: Manager, target: str, error: type[MQError]
) -> None:
    """Names that could not be read again above all."""
    queue = manager.create()
    manager.send(queue, Message(b"x"))
    (found,) = manager.peek(queue)
    with pytest.raises(error):
        handles.move(manager.local, queue, found.lookup_id, target, None)
    again = manager.restart()
    assert again.bodies(again.local.find_queue("orders")) == [b"x"]


def test_a_move_in_a_transaction_waits_for_its_end(manager: Manager) -> None:
    """DMPR-277, DMPR-287."""
    queue = manager.create(transactional=True)
    manager.send_in(queue, Message(b"x"))
    (found,) = manager.peek(queue)
    transaction = manager.local.begin()
    manager.done(handles.move(manager.local, queue, found.lookup_id, "retry", transaction))
    assert manager.peek(queue) == []
    manager.done(manager.local.commit(transaction))
    assert manager.bodies(manager.open(".\\private$\\orders;retry")) == [b"x"]


# Dead letters


def test_a_dead_letter_says_why_it_is_one(manager: Manager) -> None:
    """DMPR-068, DMPR-310."""
    queue = manager.create()
    (sent,) = manager.send(queue, Message(b"x", dead_letter=True, time_to_be_received=5))
    manager.tick(5)
    assert manager.bodies(queue) == [b"x"]
    manager.tick(1)
    (dead,) = manager.peek(manager.open(".\\DeadLetter$"))
    assert (dead.id, dead.message_class) == (sent, MessageClass.NACK_RECEIVE_TIMEOUT)


# Sending elsewhere


def test_the_next_attempt_to_send_can_be_now() -> None:
    net, a, b = pair()
    queue = a.out("DIRECT=OS:b\\private$\\q")
    b.die()
    a.enter(lambda: a.send(queue, Message("x")))
    net.wait(60)
    tried = len(net.tries)
    a.enter(lambda: a.local.retry(queue))
    net.run()
    assert len(net.tries) == tried + 1


@pytest.mark.parametrize("name", ["orders", "DIRECT=OS:other\\private$\\orders"])
def test_without_a_service_nothing_is_tried(manager: Manager, name: str) -> None:
    manager.create()
    with pytest.raises(UnsupportedOperation):
        manager.local.retry(manager.open(name))


def test_what_is_on_hold_is_not_tried() -> None:
    _, a, _ = pair()
    queue = a.out("DIRECT=OS:b\\private$\\q")
    a.local.dispatcher.pause(queue)
    with pytest.raises(UnsupportedOperation, match="is on hold: resume it first"):
        a.local.retry(queue)
    with pytest.raises(UnsupportedOperation, match="only messages on their way"):
        a.local.retry(a.create())


# The audit log


def test_what_cannot_be_done_is_not_in_the_audit_log_as_done(manager: Manager) -> None:
    """An entry says that an administrator did something, or was not allowed to."""
    local, admin = manager.local, Caller("a program", Grant("admin", user="anna"))
    queue = manager.done(local.create_queue("orders", admin))
    wrong: list[Callable[[], object]] = [
        lambda: local.create_queue("orders", admin),
        lambda: local.create_queue("others", admin, quota=-1),
        lambda: local.change_queue(queue, admin, quota=-1),
        lambda: local.delete_queue("nowhere", admin),
        lambda: local.configure(admin, nonsense=1),
        lambda: local.pause(queue, admin),
        lambda: local.retry(queue, admin),
        lambda: manager.done(local.commit_prepared("no such transaction", admin)),
        lambda: manager.done(local.abort_prepared("no such transaction", admin)),
    ]
    for attempt in wrong:
        with pytest.raises(MQError):
            attempt()
    manager.done(local.change_queue(queue, admin, quota=5))
    manager.done(local.delete_queue("orders", admin))
    acts = [entry.act for entry in local.audit_entries(0, 100)]
    assert acts == ["create queue", "change queue", "delete queue"]


def test_tidy_forgets_queues_that_are_empty_and_not_in_use(manager: Manager) -> None:
    """MQMR-204."""
    manager.create("orders")
    retry = manager.local.subqueue(manager.local.find_queue("orders"), "retry")
    manager.local.tidy()
    assert retry.deleted
    assert not manager.local.find_queue("orders").deleted


def test_who_takes_the_manager_offline_and_back_is_in_the_audit_log() -> None:
    manager = Manager()
    local, queue = manager.local, manager.open("DIRECT=OS:b\\private$\\q")
    anna = Caller("a program", Grant("admin", user="anna"))
    local.take_offline(anna)
    local.bring_online(anna)
    local.resend(queue, anna)
    commit_all(local)
    acts = [entry.act for entry in local.audit.entries(local.snapshot, 0)]
    assert acts[-3:] == ["take offline", "bring online", "resend"]
