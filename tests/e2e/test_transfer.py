"""Messages from one manager to another, each in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from openmsmq import Acknowledge, Manager, Message, ReceivedMessage
from openmsmq.cli.doctor.findings import check_up
from openmsmq.cli.options import ManagerLocation
from openmsmq.properties.message import MessageClass
from tests.e2e.managers import (
    PATIENCE,
    ManagerProcess,
    free_port,
    is_everything_sent,
    running,
    texts,
    until,
)

pytestmark = pytest.mark.slow

KINDS = ("express", "recoverable", "transactional")
ARRIVAL = Acknowledge.POS_ARRIVAL | Acknowledge.NEG_ARRIVAL
RECEIVE = Acknowledge.POS_RECEIVE | Acknowledge.NEG_RECEIVE


@dataclass
class Pair:
    """Two managers, and a program at each."""

    near: ManagerProcess
    far: ManagerProcess
    a: Manager
    b: Manager

    def send(self, to: str, *messages: Message, kind: str = "recoverable") -> list[str]:
        """Send from the first to the second."""
        queue = self.a.open_queue(to)
        if kind != "transactional":
            return [queue.send(message) for message in messages]
        with self.a.transaction() as transaction:
            return [queue.send(message, transaction=transaction) for message in messages]

    def hasten(self) -> None:
        """Send a recoverable message, with which the session acknowledges all before it soon.

        For express messages alone it waits for 10 seconds.
        """
        self.send(far_name(), letter("last"))
        assert self.take("recoverable").text == "last"

    def take(self, name: str, manager: Manager | None = None) -> ReceivedMessage:
        """The next message that comes."""
        return (manager or self.b).open_queue(name).receive(timeout=PATIENCE)


def far_name(kind: str = "recoverable") -> str:
    return rf"DIRECT=OS:b\private$\{kind}"


def letter(text: str, kind: str = "recoverable", **given: Any) -> Message:
    return Message(text, recoverable=kind != "express", **given)


def correlation(identifier: str) -> bytes:
    """An identifier as acknowledgements carry it."""
    manager, _, number = identifier.partition("\\")
    return UUID(manager).bytes_le + int(number).to_bytes(4, "little")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Managers with a queue of each kind, and one for acknowledgements on the sender's side."""
    folder = tmp_path_factory.mktemp("pair")
    far_port = free_port("127.0.0.2")
    near = ManagerProcess(
        folder, "a", peers={"b": ("127.0.0.2", far_port), "127.0.0.2": ("127.0.0.2", far_port)}
    )
    with running(near):
        far = ManagerProcess(folder, "b", bind="127.0.0.2", port=far_port, peers={"a": near.place})
        with running(far), near.connect() as a, far.connect() as b:
            for kind in KINDS:
                b.create_queue(kind, transactional=kind == "transactional")
            a.create_queue("admin")
            yield Pair(near, far, a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_arrives_as_it_was_sent(pair: Pair, kind: str) -> None:
    """MQQB-002, MQQB-196."""
    sent = letter("héllo", kind, label="greeting", priority=5, app_specific=7, extension=b"ext")
    (identifier,) = pair.send(far_name(kind), sent, kind=kind)
    found = pair.take(kind)
    assert (found.id, found.text, found.label) == (identifier, "héllo", "greeting")
    assert (found.app_specific, found.extension) == (7, b"ext")
    assert found.priority == (0 if kind == "transactional" else 5)
    assert found.recoverable is (kind != "express")
    until(lambda: is_everything_sent(pair.a))


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_stays_in_the_journal_of_the_sender(pair: Pair, kind: str) -> None:
    """MQQB-220, MQQB-275: of a transactional message when someone has received it."""
    journal = pair.a.open_queue(".\\Journal$")
    journal.purge()
    pair.send(far_name(kind), letter("kept", kind, journal=True), kind=kind)
    pair.take(kind)
    pair.hasten()
    assert journal.receive(timeout=PATIENCE).text == "kept"
    until(lambda: is_everything_sent(pair.a))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["direct name", "number"])
def test_acknowledgements_come_back(pair: Pair, kind: str, by: str) -> None:
    """MQQB-291, MQQB-292, MQQB-297, MQQB-298, MQQB-304."""
    admin = r"DIRECT=OS:a\private$\admin"
    if by == "number":
        (info,) = [info for info in pair.a.queues() if info.name.endswith("admin")]
        assert info.format_name.startswith("PRIVATE=")
        admin = info.format_name
    wanted = letter("1", kind, acknowledge=ARRIVAL | RECEIVE, admin_queue=admin)
    (identifier,) = pair.send(far_name(kind), wanted, kind=kind)
    arrived = pair.take("admin", pair.a)
    assert arrived.message_class == MessageClass.ACK_REACH_QUEUE
    pair.take(kind)
    read = pair.take("admin", pair.a)
    assert read.message_class == MessageClass.ACK_RECEIVE
    for ack in (arrived, read):
        assert ack.correlation_id == correlation(identifier)
        assert ack.recoverable is (kind != "express")


@pytest.mark.parametrize(
    ("kind", "to", "reason"),
    [
        ("recoverable", "transactional", MessageClass.NACK_NOT_TRANSACTIONAL_MSG),
        ("transactional", "recoverable", MessageClass.NACK_NOT_TRANSACTIONAL_Q),
    ],
)
def test_a_message_that_is_refused_is_reported(
    pair: Pair, kind: str, to: str, reason: MessageClass
) -> None:
    """MQQB-232, MQQB-233, MQQB-302."""
    admin = r"DIRECT=OS:a\private$\admin"
    pair.send(far_name(to), letter("no", kind, acknowledge=ARRIVAL, admin_queue=admin), kind=kind)
    nack = pair.take("admin", pair.a)
    assert (nack.message_class, nack.text) == (reason, "no")
    until(lambda: is_everything_sent(pair.a))
    assert pair.b.open_queue(to).info().messages == 0


def test_a_refused_transactional_message_is_in_the_dead_letters_of_the_sender(pair: Pair) -> None:
    """MQQB-231, MQQB-276."""
    dead = pair.a.open_queue(".\\XactDeadLetter$")
    dead.purge()
    message = letter("lost", dead_letter=True)
    pair.send(r"DIRECT=OS:b\private$\nowhere", message, kind="transactional")
    found = dead.receive(timeout=PATIENCE)
    assert (found.text, found.message_class) == ("lost", MessageClass.NACK_BAD_DST_Q)
    until(lambda: is_everything_sent(pair.a))


@pytest.mark.parametrize("kind", ["express", "recoverable"])
@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("nowhere", MessageClass.NACK_BAD_DST_Q),
        ("transactional", MessageClass.NACK_NOT_TRANSACTIONAL_MSG),
    ],
)
def test_a_refused_message_leaves_a_trace_where_it_was_refused(
    pair: Pair, kind: str, to: str, reason: MessageClass
) -> None:
    """The protocol does not tell its sender."""
    refused = pair.b.open_queue(".\\Refused$")
    refused.purge()
    (sent,) = pair.send(far_name(to), letter("lost", kind, dead_letter=True), kind=kind)
    found = refused.peek(timeout=PATIENCE)
    assert (found.id, found.text, found.message_class) == (sent, "lost", reason)
    pair.hasten()
    until(lambda: pair.a.explain(sent)[-1].event == "handed_over")
    assert pair.b.explain(sent)[-1].text.startswith(r"is kept in .\Refused$: ")
    findings = list(check_up(ManagerLocation(None, pair.far.app)))
    assert [f.level for f in findings if f.subject == r".\Refused$"] == ["problem"]
    log = (pair.far.folder / "log").read_text()
    assert "messages refused" in log
    assert refused.receive(timeout=0).id == sent


def test_a_direct_name_may_be_an_address(pair: Pair) -> None:
    """MQQB-172."""
    pair.send(r"DIRECT=TCP:127.0.0.2\private$\recoverable", letter("by address"))
    assert pair.take("recoverable").text == "by address"


def test_a_queue_may_be_named_by_its_number_once_the_manager_is_known(pair: Pair) -> None:
    """MQQB-172, MQQB-173."""
    pair.send(far_name(), letter("hello"))
    assert pair.take("recoverable").text == "hello"
    (info,) = [info for info in pair.b.queues() if info.name.endswith("recoverable")]
    assert info.format_name.startswith(f"PRIVATE={pair.far.id}")
    pair.send(info.format_name, letter("by number"))
    assert pair.take("recoverable").text == "by number"


def test_several_queues_at_several_managers_get_a_copy_each(pair: Pair) -> None:
    """MQQB-226: copies have one identifier, and are no duplicates of each other."""
    pair.a.create_queue("here")
    name = rf"{far_name('express')},{far_name()},DIRECT=OS:a\private$\here"
    pair.send(name, letter("copy"))
    for manager, queue in ((pair.b, "express"), (pair.b, "recoverable"), (pair.a, "here")):
        assert pair.take(queue, manager).text == "copy"


def test_a_message_that_expires_on_its_way_is_a_dead_letter(tmp_path: Path) -> None:
    """MQQB-250, MQQB-251, MQQB-252: the other side is down."""
    near = ManagerProcess(tmp_path, "a", peers={"b": ("127.0.0.1", free_port())})
    with running(near), near.connect() as a:
        a.create_queue("admin")
        queue = a.open_queue(far_name())
        wishes: dict[str, Any] = {
            "time_to_reach_queue": 1,
            "dead_letter": True,
            "acknowledge": ARRIVAL,
            "admin_queue": r"DIRECT=OS:a\private$\admin",
        }
        queue.send(letter("late", **wishes))
        with a.transaction() as transaction:
            queue.send(letter("too late", **wishes), transaction=transaction)
        timeout = MessageClass.NACK_REACH_QUEUE_TIMEOUT
        for name, text in (("DeadLetter$", "late"), ("XactDeadLetter$", "too late")):
            found = a.open_queue(f".\\{name}").receive(timeout=PATIENCE)
            assert (found.text, found.message_class) == (text, timeout)
        nacks = [a.open_queue("admin").receive(timeout=PATIENCE) for _ in range(2)]
        assert {nack.message_class for nack in nacks} == {timeout}
        until(lambda: is_everything_sent(a))


def stories(manager: Manager, identifier: str) -> str:
    """What `explain` says of a message."""
    return "\n".join(event.text for event in manager.explain(identifier))


def test_a_message_that_no_one_confirms_is_given_up(tmp_path: Path) -> None:
    """AMB-50: it has arrived, and its receiver is gone before it says what became of it."""
    port = free_port("127.0.0.2")
    near = ManagerProcess(tmp_path, "a", peers={"b": ("127.0.0.2", port)})
    far = ManagerProcess(tmp_path, "b", bind="127.0.0.2", port=port)
    with running(near, far), near.connect() as a, far.connect() as b:
        b.create_queue("transactional", transactional=True)
        with a.transaction() as transaction:
            sent = a.open_queue(far_name("transactional")).send(
                letter("1", dead_letter=True, time_to_be_received=8), transaction=transaction
            )
        until(lambda: "waiting for the receive acknowledgement" in stories(a, sent))
        far.kill()
        found = a.open_queue(".\\XactDeadLetter$").receive(timeout=PATIENCE)
        assert (found.id, found.text) == (sent, "1")
        assert found.message_class == MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER
        assert "not confirmed, may have been received" in stories(a, sent)
        until(lambda: is_everything_sent(a))


def test_a_message_that_is_not_acknowledged_expires_in_transit(tmp_path: Path) -> None:
    """AMB-27, AMB-50: the other side hangs, and goes on with the next message later."""
    port = free_port("127.0.0.2")
    near = ManagerProcess(tmp_path, "a", peers={"b": ("127.0.0.2", port)})
    far = ManagerProcess(tmp_path, "b", bind="127.0.0.2", port=port)
    with running(near, far), near.connect() as a, far.connect() as b:
        b.create_queue("transactional", transactional=True)
        b.configure(clock_tolerance=0)
        queue = a.open_queue(far_name("transactional"))

        def send(text: str, reach: int) -> str:
            message = letter(text, dead_letter=True, time_to_reach_queue=reach)
            with a.transaction() as transaction:
                return queue.send(message, transaction=transaction)

        send("before", 600)
        until(lambda: texts(b, "transactional") == ["before"])
        os.kill(far.pid, signal.SIGSTOP)
        try:
            sent = send("late", 2)
            found = a.open_queue(".\\XactDeadLetter$").receive(timeout=PATIENCE)
        finally:
            os.kill(far.pid, signal.SIGCONT)
        assert (found.id, found.message_class) == (sent, MessageClass.NACK_REACH_QUEUE_TIMEOUT)
        assert "not confirmed, may have arrived" in stories(a, sent)
        send("after", 600)
        until(lambda: texts(b, "transactional") == ["before", "after"])
        assert not a.open_queue(".\\XactDeadLetter$").info().messages


def test_messages_wait_for_a_manager_that_is_down(tmp_path: Path) -> None:
    """MQQB-346, MQQB-349, MQQB-350: also through an end of the sender."""
    port = free_port()
    far = ManagerProcess(tmp_path, "b", port=port)
    near = ManagerProcess(tmp_path, "a", peers={"b": ("127.0.0.1", port)})
    with running(far, near):
        with far.connect() as b:
            b.create_queue("recoverable")
        far.stop()
        with near.connect() as a:
            for number in range(100):
                a.open_queue(far_name()).send(str(number))
        near.stop()
        near.start()
        time.sleep(1)
        far.start()
        with far.connect() as b, near.connect() as a:
            until(lambda: b.open_queue("recoverable").info().messages == 100)
            assert texts(b, "recoverable") == [str(number) for number in range(100)]
            until(lambda: is_everything_sent(a))


def test_managers_speak_ipv6_too(tmp_path: Path) -> None:
    """MQQB-002, MQQB-172, MQQB-286: acknowledgements find their way back."""
    if not has_ipv6():
        pytest.skip("there is no IPv6 here")
    port = free_port("::1")
    far = ManagerProcess(tmp_path, "b", bind="::1", port=port)
    near = ManagerProcess(tmp_path, "a", peers={"b": ("::1", port)})
    with running(far, near), far.connect() as b, near.connect() as a:
        b.create_queue("transactional", transactional=True)
        with a.transaction() as transaction:
            a.open_queue(far_name("transactional")).send("six", transaction=transaction)
        assert b.open_queue("transactional").receive(timeout=PATIENCE).text == "six"
        until(lambda: is_everything_sent(a))


def has_ipv6() -> bool:
    try:
        free_port("::1")
    except OSError:
        return False
    return socket.has_ipv6


# The computer in a name


@pytest.mark.parametrize(
    ("options", "file", "taken"),
    [
        ((), "", False),
        (("--alias", "old"), "", True),
        ((), "[binary]\nignore_os_name_validation = true\n", True),
    ],
    ids=["unknown", "alias", "switched off"],
)
def test_a_message_under_another_name_is_taken_only_if_that_is_known(
    tmp_path: Path, options: tuple[str, ...], file: str, taken: bool
) -> None:
    """AMB-70, DMPR-071: it comes back to the dead-letter queue that it names, else."""
    far = ManagerProcess(tmp_path, "b", options=options)
    (far.folder / "data").mkdir(mode=0o700)
    (far.folder / "data/openmsmq.toml").write_text(file)
    with running(far):
        near = ManagerProcess(tmp_path, "a", peers={"old": far.place})
        with running(near), near.connect() as a, far.connect() as b:
            orders = b.create_queue("orders", transactional=True)
            dead = a.create_queue("dead", transactional=True)
            with a.transaction() as transaction:
                queue = a.open_queue(r"DIRECT=OS:old\private$\orders")
                message = Message("x", dead_letter_queue="dead")
                sent = queue.send(message, transaction=transaction)
            if taken:
                found = orders.receive(timeout=PATIENCE)
                assert (found.text, found.dead_letter_queue) == ("x", None)
                return
            found = dead.receive(timeout=PATIENCE)
            assert (found.text, found.message_class) == ("x", MessageClass.NACK_BAD_DST_Q)
            (event,) = b.explain(sent)
            assert "--alias old" in event.text
