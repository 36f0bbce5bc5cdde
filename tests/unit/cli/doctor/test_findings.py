"""What may be wrong or risky in a queue manager."""

from __future__ import annotations

import shutil
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from tests.unit.cli.commands import Cli
from tests.unit.engine.station import parcel
from tests.unit.engine.world import HERE, commit_all

from openmsmq import Message
from openmsmq.cli.doctor.findings import DISK_LOW, JOURNAL_LONG, OLD, Finding, Level, check_up
from openmsmq.cli.options import ManagerLocation
from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.arrivals import Arrivals
from openmsmq.errors import StoreDamaged, UnsupportedOperation
from openmsmq.properties.message import MessageClass
from openmsmq.runtime.startup import open_directory
from openmsmq.store.limits import RESERVE
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.outgoing import OutgoingAttempt, OutgoingInfo
from openmsmq.types.peers import MulticastInfo, PeerInfo
from openmsmq.types.settings import Settings
from openmsmq.types.subscriptions import SubscriptionInfo
from openmsmq.types.units import UnitInfo

Usage = namedtuple("Usage", "total used free")


def info(name: str = r".\private$\orders", **facts: Any) -> Any:
    """A queue, as much of it as a check-up looks at."""
    defaults = {"messages": 0, "bytes": 0, "quota": None, "oldest_age": None, "kind": "private"}
    defaults["restricted"] = True
    return SimpleNamespace(name=name, **{**defaults, **facts})


class Manager:
    """A queue manager as it would be."""

    def __init__(self, *queues: Any, quota: int | None = None, history: int = 64) -> None:
        self._queues = list(queues)
        self.name, self.id = "shop01", "00000000-0000-0000-0000-000000000001"
        self.inherited: tuple[str, ...] = ()
        self.settings = lambda: Settings(
            quota=quota, history=history, inherited_names=self.inherited
        )
        self.control = SimpleNamespace(topology=self._no_service)
        self.waiting: list[str] = []
        self.letters: list[Any] = []
        self.leaving: list[OutgoingInfo] = []
        self.subscribed: list[SubscriptionInfo] = []
        self.decided: list[UnitInfo] = []
        self.known: list[PeerInfo] = []
        self.groups: list[MulticastInfo] = []

    def _no_service(self) -> None:
        raise UnsupportedOperation("topology: only a service can do that")

    def __enter__(self) -> Manager:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def queues(self, *, everything: bool) -> list[Any]:
        assert everything
        return self._queues

    def prepared_ages(self) -> dict[str, int]:
        return dict.fromkeys(self.waiting, 600)

    def peers(self) -> list[PeerInfo]:
        return self.known

    def multicast(self) -> list[MulticastInfo]:
        return self.groups

    def subscriptions(self) -> list[SubscriptionInfo]:
        return self.subscribed

    def outgoing(self) -> list[OutgoingInfo]:
        return self.leaving

    def units(self) -> list[UnitInfo]:
        return self.decided


def look(manager: Manager, directory: Path, level: Level | None = None) -> list[Finding]:
    """What is found, or what of it has a level."""
    location: Any = SimpleNamespace(directory=directory, exists=True, open=lambda: manager)
    return [found for found in check_up(location) if level in (None, found.level)]


def attention(manager: Manager, directory: Path) -> list[tuple[Level, str]]:
    return [(f.level, f.subject) for f in look(manager, directory) if f.needs_attention]


def test_what_is_well_is_said_in_a_few_lines(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    found = look(Manager(info(messages=3, bytes=2048, quota=100)), tmp_path)
    assert {finding.level for finding in found} == {Level.FINE}
    assert {finding.subject for finding in found} == {"versions", "disk", "store", "history"}
    assert "Python 3." in found[0].text
    assert any(f.text == "1 queue, 3 messages, 2.0 KiB" for f in found)


def test_queues_without_permissions_are_counted(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    queues = [info("a"), info("b", restricted=False), info("c", restricted=False)]
    [note] = look(Manager(*queues), tmp_path, Level.NOTE)
    assert (note.subject, note.text) == ("permissions", "2 of 3 queues without permissions: open")
    [note] = look(Manager(*queues[:2]), tmp_path, Level.NOTE)
    assert note.text == "1 of 2 queues without permissions: b: open"


@pytest.mark.parametrize(
    ("size", "level"),
    [(8191, None), (8192, Level.RISK), (10239, Level.RISK), (10240, Level.PROBLEM)],
)
def test_full_quotas_are_found(tmp_path: Path, size: int, level: Level | None) -> None:
    expected = [] if level is None else [(level, r".\private$\orders")]
    assert attention(Manager(info(bytes=size, quota=10)), tmp_path) == expected
    expected = [] if level is None else [(level, "all queues")]
    queues = [info("a", bytes=size - 1), info("b", bytes=1)]
    assert attention(Manager(*queues, quota=10), tmp_path) == expected


@pytest.mark.parametrize(
    ("free", "level"),
    [
        (RESERVE, Level.PROBLEM),
        (RESERVE + 1, Level.RISK),
        (DISK_LOW - 1, Level.RISK),
        (DISK_LOW, Level.FINE),
    ],
)
def test_a_full_disk_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: Level
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, free))
    [found] = [f for f in look(Manager(), tmp_path) if f.subject == "disk"]
    assert found.level == level


def test_a_directory_open_to_others_is_noted(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    [note] = look(Manager(), tmp_path, Level.NOTE)
    assert "chmod 700" in note.advice
    tmp_path.chmod(0o700)
    assert look(Manager(), tmp_path, Level.NOTE) == []


@pytest.mark.parametrize(
    ("queue", "found"),
    [
        (info("a", oldest_age=OLD - 1, messages=1), False),
        (info("a", oldest_age=OLD, messages=1), True),
        (info("a;retry", oldest_age=OLD, messages=1, kind="subqueue"), True),
        (info(r"a\Journal$", oldest_age=OLD - 1, messages=1, kind="journal"), False),
        (info(r"a\Journal$", oldest_age=OLD, messages=1, kind="journal"), True),
        (info(r".\Journal$", oldest_age=1, messages=JOURNAL_LONG, kind="system"), True),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_messages_that_wait_too_long_are_found(tmp_path: Path, queue: Any, *, found: bool) -> None:
    expected = [(Level.RISK, queue.name)] if found else []
    assert attention(Manager(queue), tmp_path) == expected


LEAVING = OutgoingInfo(
    name="DIRECT=OS:other\\q",
    state="connected",
    messages=2,
    unacknowledged=1,
    unprocessed=5,
    bytes=100,
    oldest_age=60,
    next_hop="",
    connected_since=None,
    failures=0,
    next_retry=None,
    last_error="",
    resends=0,
    attempts=(OutgoingAttempt(0, "cannot connect", "other:1801"),),
)
REFUSED = {"state": "waiting", "last_error": "other:1801: Connection refused", "next_retry": 3}


@pytest.mark.parametrize(
    ("facts", "words", "advice"),
    [
        ({"state": "offline"}, "3 messages waiting to leave", "when a service runs"),
        ({"state": "locked"}, "locked", "hardened = false"),
        ({"state": "on hold"}, "on hold", r"openmsmq outgoing resume 'DIRECT=OS:other\q'"),
        (REFUSED, "Connection refused; next try in 3 s", "firewall"),
        ({**REFUSED, "attempts": ()}, "Connection refused", "openmsmq outgoing show"),
        (
            {**REFUSED, "attempts": (OutgoingAttempt(0, "name not found", "other:1801"),)},
            "Connection refused",
            "--peer",
        ),
        ({"resends": 2}, "sent again 2 times", "the way back"),
        ({"resends": 2, "messages": 0}, "1 message waiting to leave", "the way back"),
    ],
    ids=["offline", "locked", "held", "refused", "untried", "name", "unanswered", "under way"],
)
def test_messages_that_do_not_leave_are_found(
    tmp_path: Path, facts: dict[str, Any], words: str, advice: str
) -> None:
    manager = Manager()
    manager.leaving = [replace(LEAVING, **facts)]
    [found] = [f for f in look(manager, tmp_path) if f.needs_attention]
    assert (found.level, found.subject) == (Level.RISK, LEAVING.name)
    assert words in found.text
    assert "the oldest 60 s old" in found.text
    assert advice in found.advice
    manager.leaving = [replace(LEAVING, **facts, oldest_age=OLD)]
    assert attention(manager, tmp_path) == [(Level.PROBLEM, LEAVING.name)]


@pytest.mark.parametrize(
    "facts", [{}, {**REFUSED, "messages": 0, "unacknowledged": 0}], ids=["leaving", "empty"]
)
def test_messages_that_leave_are_no_finding(tmp_path: Path, facts: dict[str, Any]) -> None:
    manager = Manager()
    manager.leaving = [replace(LEAVING, **facts)]
    assert attention(manager, tmp_path) == []


def test_prepared_transactions_are_found(tmp_path: Path) -> None:
    manager = Manager()
    manager.waiting = ["t-1"]
    [problem] = look(manager, tmp_path, Level.PROBLEM)
    assert problem.subject == "transaction t-1"
    assert "waits 10 min for its outcome" in problem.text
    assert "openmsmq transaction commit" in problem.advice


def test_stalled_subscriptions_are_found(tmp_path: Path) -> None:
    manager = Manager()
    stuck = SubscriptionInfo("lake", r".\private$\orders", False, 1, 4, 3, 300, OLD, 0, None)
    fine = [replace(stuck, uncommitted=0), replace(stuck, idle=OLD - 1)]
    manager.subscribed = [stuck, *fine]
    [risk] = look(manager, tmp_path, Level.RISK)
    assert risk.subject == r"subscription lake of .\private$\orders"
    assert "has 3 messages (300 B) uncommitted, and the last commit was 24 h ago" in risk.text
    assert r"openmsmq subscription drop 'lake' '.\private$\orders'" in risk.advice


def test_subscriptions_that_are_orphans_are_found(tmp_path: Path) -> None:
    manager = Manager()
    orphan = SubscriptionInfo("spark-1f", r".\private$\orders", True, 4, 4, 0, 0, OLD, 7, OLD)
    manager.subscribed = [orphan, replace(orphan, lag=0), replace(orphan, idle=OLD - 1)]
    [risk] = look(manager, tmp_path, Level.RISK)
    assert risk.subject == r"subscription spark-1f of .\private$\orders"
    assert "has read nothing for 24 h, and is behind by 7 messages" in risk.text
    assert r"openmsmq subscription drop 'spark-1f' '.\private$\orders'" in risk.advice


def test_messages_that_streams_have_skipped_are_found(tmp_path: Path) -> None:
    manager = Manager()
    lake = SubscriptionInfo("lake", r".\private$\orders", False, 4, 4, 0, 300, 0, 0, None)
    manager.subscribed = [replace(lake, unread=3), replace(lake, unread=1, copy=True), lake]
    taken, copied = look(manager, tmp_path, Level.PROBLEM)
    assert taken.subject == r"subscription lake of .\private$\orders"
    assert "has 3 messages that its stream committed and never read" in taken.text
    assert r"drop 'lake' '.\private$\orders' --unread returns them" in taken.advice
    assert "--unread drops the copies" in copied.advice


def test_units_that_are_not_over_are_found(tmp_path: Path) -> None:
    manager = Manager()
    manager.waiting = [f"unit:{7:032x}:{1:024x}"]
    manager.decided = [
        UnitInfo("unit a", "committed", 600, ("postgresql 1/shop", "manager 8")),
        UnitInfo("unit b", "committing", 1, ("postgresql 1/shop",)),
    ]
    prepared, decided = look(manager, tmp_path, Level.PROBLEM)
    assert "openmsmq transaction recover" in prepared.advice
    assert "00000000-0000-0000-0000-000000000007" in prepared.advice
    assert decided.subject == "transaction unit a"
    assert "committed 10 min ago, and not confirmed by postgresql 1/shop, manager 8" in decided.text


def test_a_history_that_is_off_is_noted(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    [note] = look(Manager(history=0), tmp_path, Level.NOTE)
    assert note.subject == "history"


def test_names_of_before_are_shown(tmp_path: Path) -> None:
    """AMB-70: those that no one has given this computer, and what to do."""
    tmp_path.chmod(0o700)
    manager = Manager()
    manager.inherited = ("OLD", "SHOP01")
    [note] = look(manager, tmp_path, Level.NOTE)
    assert note.subject == "names"
    assert "messages for OLD are taken" in note.text
    assert "--alias" in note.advice
    manager.inherited = ("SHOP01",)
    assert look(manager, tmp_path, Level.NOTE) == []


def test_an_identity_in_several_places_and_what_a_restore_cost_are_found(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    manager = Manager()
    twice = ("10.0.0.1", "10.0.0.2")
    manager.known = [
        PeerInfo(UUID(int=1), (), "", 0, False, False, twice, twice, 0),
        PeerInfo(UUID(int=2), ("b",), "10.0.0.3", 1801, False, False, (), (), 5),
    ]
    [clone] = look(manager, tmp_path, Level.RISK)
    assert "sessions from 10.0.0.1 and 10.0.0.2 claim this identity" in clone.text
    [gap] = look(manager, tmp_path, Level.PROBLEM)
    assert "up to 5 transactional messages" in gap.text
    assert str(UUID(int=2)) in gap.subject


def test_multicast_sources_with_losses_are_reported(tmp_path: Path) -> None:
    manager = Manager()
    whole = MulticastInfo(
        "incoming", "239.192.0.9:8001", "10.0.0.5", "aa.1", "active", 900, 3, 4, 0
    )
    manager.groups = [whole, replace(whole, source="10.0.0.6", lost=2)]
    [found] = look(manager, tmp_path, Level.PROBLEM)
    assert "239.192.0.9:8001" in found.subject
    assert found.text == "2 packets of 10.0.0.6 lost for good, 900 came: messages are missing"


def test_dead_letters_are_found_by_reason(cli: Cli) -> None:
    with cli.open() as manager:
        queue = manager.create_queue("orders")
        queue.send_many([Message(b"late", dead_letter=True, time_to_be_received=0)] * 2)
    found = [f for f in check_up(ManagerLocation(cli.directory)) if f.subject == r".\DeadLetter$"]
    code = MessageClass.NACK_RECEIVE_TIMEOUT
    assert [f.text for f in found] == [
        f"2 dead letters: the message was not received in time (0x{code:04X})"
    ]
    assert found[0].level == Level.PROBLEM


def test_refused_messages_are_found_by_reason(cli: Cli) -> None:
    cli.open().close()
    local = open_directory(cli.directory, receipts=RECEIPTS)
    arrivals = Arrivals(local)
    packets = [parcel(number=n, to=HERE + "none") for n in (1, 2)]
    arrivals.take(Origin("192.0.2.9", "x"), [(p, None) for p in packets], lambda outcome: None)
    commit_all(local)
    local.store.close()
    [found] = [f for f in check_up(ManagerLocation(cli.directory)) if f.subject == r".\Refused$"]
    assert found.level == Level.PROBLEM
    assert found.text.startswith("2 messages of other queue managers refused: the destination")
    assert "(0x8000)" in found.text
    assert "message peek" in found.advice


def test_poison_is_found(cli: Cli) -> None:
    with cli.open() as manager:
        queue = manager.create_queue("orders", transactional=True, abort_limit=1)
        with manager.transaction() as transaction:
            queue.send_many(["bad", "good"], transaction=transaction)
        transaction = manager.transaction()
        queue.receive(0, transaction=transaction)
        transaction.abort()
    name = r".\private$\orders;poison"
    [found] = [f for f in check_up(ManagerLocation(cli.directory)) if f.subject == name]
    assert found.level == Level.PROBLEM
    assert found.text == "1 message that no program could deal with"
    assert f"openmsmq message move '{name}' --all --to ''" in found.advice


def test_a_store_in_use_is_a_problem(cli: Cli) -> None:
    with cli.open():
        [problem] = [
            f for f in check_up(ManagerLocation(cli.directory)) if f.level == Level.PROBLEM
        ]
    assert "by process" in problem.text
    assert "Stop that process" in problem.advice


def test_no_store_is_a_problem(cli: Cli) -> None:
    [problem] = [f for f in check_up(ManagerLocation(cli.directory)) if f.level == Level.PROBLEM]
    assert "StoreMissing" in problem.text


def test_a_damaged_store_is_a_problem(tmp_path: Path) -> None:
    def fail() -> None:
        raise StoreDamaged("data.mdb")

    location: Any = SimpleNamespace(directory=tmp_path, exists=True, open=fail)
    [problem] = [f for f in check_up(location) if f.level == Level.PROBLEM]
    assert "StoreDamaged" in problem.text
    assert "Restore it from a backup" in problem.text
