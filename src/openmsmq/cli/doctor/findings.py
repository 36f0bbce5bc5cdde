"""What may be wrong or risky in a queue manager, found by looking at it."""

from __future__ import annotations

import platform
import shutil
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

import lmdb

from openmsmq import Manager
from openmsmq.cli.doctor.http import exposure, http_advice, is_http
from openmsmq.cli.doctor.message_security import weak_protection
from openmsmq.cli.doctor.remote_read import remote_read_risks
from openmsmq.cli.doctor.routes import idle_connectors, routing_risks
from openmsmq.cli.doctor.security import exposures, weak_settings
from openmsmq.cli.messages.read import walk
from openmsmq.cli.options import ManagerLocation, describe
from openmsmq.cli.outgoing import HELD, notes
from openmsmq.cli.output import age_text, count_text, quota_text, size_text
from openmsmq.errors import (
    AccessDenied,
    MQError,
    ServiceNotAvailable,
    StoreInUse,
    StoreMissing,
    TokenRefused,
)
from openmsmq.names.parts import fold
from openmsmq.names.path import shown
from openmsmq.properties.message import describe_class
from openmsmq.store.format import FORMAT
from openmsmq.store.limits import RESERVE
from openmsmq.types.outgoing import (
    OFFLINE,
    STATUS_WORDS,
    ConnectionStatus,
    OutgoingInfo,
    TransferState,
)
from openmsmq.types.queues import POISON_SUBQUEUE, REFUSED_QUEUE, VISIBLE, QueueInfo, QueueKind
from openmsmq.types.units import UnitState, decider_of

NEARLY_FULL: Final = 0.8
"The part of a quota above which `doctor` warns."
DISK_LOW: Final = 1 << 30
"Free bytes on the disk below which `doctor` warns."
OLD: Final = 86_400
"Seconds after which a message that is not received is reported."
JOURNAL_LONG: Final = 10_000
"Messages in a journal above which `doctor` warns."
DEAD_LETTERS_READ: Final = 10_000
"Dead letters that are looked at for their reasons."
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class Level(StrEnum):
    """How much a finding matters."""

    FINE = "fine"
    NOTE = "note"
    RISK = "risk"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something seen, and what to do about it."""

    level: Level
    subject: str
    text: str
    advice: str = ""

    @property
    def needs_attention(self) -> bool:
        """Whether it is a problem."""
        return self.level in (Level.RISK, Level.PROBLEM)


def check_up(location: ManagerLocation) -> Iterator[Finding]:
    """Everything there is to say about a queue manager."""
    if location.directory is not None:
        yield from _versions()
        if location.exists:
            yield from _directory(location.directory)
    try:
        with location.open() as manager:
            if location.directory is None:
                yield Finding(Level.FINE, "service", f"{manager.name} at {location.address}")
            yield from _look_around(manager)
    except ServiceNotAvailable as error:
        yield Finding(Level.PROBLEM, "service", error.detail)
    except TokenRefused as error:
        yield Finding(
            Level.PROBLEM,
            "service",
            error.detail,
            "Give a token that is good: openmsmq token create, then --token.",
        )
    except StoreInUse as error:
        yield Finding(
            Level.PROBLEM,
            "store",
            error.detail,
            "Stop that process, or, if it is a service, ask it: --manager instead of --data.",
        )
    except StoreMissing as error:
        yield Finding(Level.PROBLEM, "store", describe(error), "Check the name of the directory.")
    except MQError as error:
        yield Finding(Level.PROBLEM, "store", describe(error))  # which says what to do


def _look_around(manager: Manager) -> Iterator[Finding]:
    queues = manager.queues(everything=True)
    for look in _LOOKS:
        try:
            yield from look(manager, queues)
        except AccessDenied:
            subject = look.__name__.strip("_").replace("_", " ")
            yield Finding(
                Level.NOTE,
                subject,
                "not looked at: the token does not allow it",
                "Give a token for all queues with --role admin.",
            )


def _versions() -> Iterator[Finding]:
    versions = (
        f"Python {platform.python_version()}, LMDB {'.'.join(map(str, lmdb.version()))}"
        f" (py-lmdb {lmdb.__version__}), store format {FORMAT}"
    )
    yield Finding(Level.FINE, "versions", versions)


def _directory(directory: Path) -> Iterator[Finding]:
    """The disk, and who may look at it."""
    free = shutil.disk_usage(directory).free
    if free <= RESERVE:
        yield Finding(
            Level.PROBLEM,
            "disk",
            f"{size_text(free)} are free: no message is taken any more",
            f"Free disk space; {size_text(RESERVE)} are kept for receiving.",
        )
    elif free < DISK_LOW:
        yield Finding(
            Level.RISK,
            "disk",
            f"only {size_text(free)} are free",
            f"Free disk space; below {size_text(RESERVE)} no message is taken any more.",
        )
    else:
        yield Finding(Level.FINE, "disk", f"{size_text(free)} are free")
    if found := exposure(directory):
        yield Finding(
            Level.RISK,
            "HTTP",
            found,
            "Let only those in who have a certificate (--tls-cert, --tls-key, --tls-client-ca), or"
            " put a proxy before it that knows who may post.",
        )
    for exposed in exposures(directory):
        yield Finding(Level.RISK, "security", exposed.text, exposed.advice)
    for risk in remote_read_risks(directory):
        yield Finding(Level.RISK, "remote read", risk.text, risk.advice)
    for weak in weak_protection(directory):
        yield Finding(Level.RISK, "message security", weak.text, weak.advice)
    if sys.platform != "win32" and directory.stat().st_mode & _OTHERS:
        yield Finding(
            Level.NOTE,
            "directory",
            f"other users of this computer can look into {directory}",
            f"chmod 700 {directory}, unless they should.",
        )


def _quotas(manager: Manager, queues: list[QueueInfo]) -> Iterator[Finding]:
    total = sum(info.bytes for info in queues)
    yield from _quota("all queues", total, manager.settings().quota, "openmsmq apply")
    for info in queues:
        change = f"openmsmq queue set '{info.name}' --quota KIB"
        yield from _quota(info.name, info.bytes, info.quota, change)


def _quota(subject: str, size: int, quota: int | None, change: str) -> Iterator[Finding]:
    if quota is None or size < NEARLY_FULL * quota * 1024:
        return
    full = size >= quota * 1024
    yield Finding(
        Level.PROBLEM if full else Level.RISK,
        subject,
        f"{size_text(size)} of a quota of {quota_text(quota)}"
        + (": new messages are refused" if full else ""),
        f"Receive or purge messages, or raise the quota: {change}.",
    )


def _dead_letters(manager: Manager, queues: list[QueueInfo]) -> Iterator[Finding]:
    """Messages that did not get where they should, by reason."""
    for info in queues:
        if not (info.messages and info.name.lower().endswith("deadletter$")):
            continue
        for code, count in _reasons(manager, info):
            yield Finding(
                Level.PROBLEM,
                info.name,
                f"{count_text(count, 'dead letter')}: {describe_class(code)} (0x{code:04X})",
                f"openmsmq message peek '{info.name}' shows them, explain tells how it came.",
            )


def _reasons(manager: Manager, info: QueueInfo) -> list[tuple[int, int]]:
    """Why messages are in a queue of failed ones, and how many for each reason."""
    with manager.open_queue(info.name) as queue:
        read = islice(walk(queue), DEAD_LETTERS_READ)
        return Counter(message.message_class for message in read).most_common()


def _refused(manager: Manager, queues: list[QueueInfo]) -> Iterator[Finding]:
    """Messages of other managers that were not accepted and whose senders do not know it."""
    for info in queues:
        if not (info.messages and fold(info.name) == _REFUSED):
            continue
        for code, count in _reasons(manager, info):
            yield Finding(
                Level.PROBLEM,
                info.name,
                f"{count_text(count)} of other queue managers refused:"
                f" {describe_class(code)} (0x{code:04X})",
                f"openmsmq message peek '{info.name}' shows what was sent and where to; their"
                " senders take them for delivered. Purge it when that is dealt with.",
            )


def _journals(_: Manager, queues: list[QueueInfo]) -> Iterator[Finding]:
    for info in queues:
        is_journal = info.name.lower().endswith("journal$")
        if is_journal and (info.messages >= JOURNAL_LONG or (info.oldest_age or 0) >= OLD):
            yield Finding(
                Level.RISK,
                info.name,
                f"{count_text(info.messages)}, {size_text(info.bytes)}, the oldest"
                f" {age_text(info.oldest_age)} old: this journal seems to have no reader",
                f"openmsmq message export '{info.name}' --receive, or queue set --no-journal.",
            )


def _old_messages(_: Manager, queues: list[QueueInfo]) -> Iterator[Finding]:
    for info in queues:
        if info.kind in _READ_BY_APPLICATIONS and (info.oldest_age or 0) >= OLD:
            yield Finding(
                Level.RISK,
                info.name,
                f"{count_text(info.messages)}, the oldest {age_text(info.oldest_age)} old",
                "Is the program that reads this queue running?",
            )


def _poison(_: Manager, queues: list[QueueInfo]) -> Iterator[Finding]:
    """Messages that no program could deal with."""
    for info in queues:
        is_poison = info.kind == QueueKind.SUBQUEUE and fold(info.name).endswith(_POISON)
        if is_poison and info.messages:
            yield Finding(
                Level.PROBLEM,
                info.name,
                f"{count_text(info.messages)} that no program could deal with",
                f"openmsmq message move '{info.name}' --all --to '' lets them be tried again.",
            )


def _prepared(manager: Manager, _: list[QueueInfo]) -> Iterator[Finding]:
    for name, age in manager.prepared_ages().items():
        decider = decider_of(name)
        advice = f"Ask its coordinator, then openmsmq transaction commit (or abort) '{name}'."
        if decider is not None:
            advice = (
                f"openmsmq transaction recover --manager HOST:PORT, that of manager {decider},"
                " --with HOST:PORT, that of this one."
            )
        yield Finding(
            Level.PROBLEM,
            f"transaction {name}",
            f"prepared, and waits {age_text(age)} for its outcome;"
            " its messages cannot be read until then",
            advice,
        )


def _subscriptions(manager: Manager, _: list[QueueInfo]) -> Iterator[Finding]:
    """Subscriptions without a reader, or that committed what they never read."""
    for info in manager.subscriptions():
        if info.unread:
            yield Finding(
                Level.PROBLEM,
                f"subscription {info.name} of {info.queue}",
                f"has {count_text(info.unread)} that its stream committed and never read: a sink"
                " skips batches whose numbers it has had before, with another checkpoint",
                f"openmsmq subscription drop '{info.name}' '{info.queue}' --unread"
                + (" drops the copies." if info.copy else " returns them to the queue."),
            )
        if info.uncommitted and info.idle >= OLD:
            yield Finding(
                Level.RISK,
                f"subscription {info.name} of {info.queue}",
                f"has {count_text(info.uncommitted)} ({size_text(info.bytes)}) uncommitted, and the"
                f" last commit was {age_text(info.idle)} ago",
                "Is its reader running? If it is no longer used, openmsmq subscription drop"
                f" '{info.name}' '{info.queue}' returns the messages to the queue.",
            )
        elif info.lag and info.idle >= OLD:
            yield Finding(
                Level.RISK,
                f"subscription {info.name} of {info.queue}",
                f"has read nothing for {age_text(info.idle)}, and is behind by"
                f" {count_text(info.lag)}: a stream whose checkpoint is gone leaves such an orphan",
                "Is its reader running? If it is no longer used:"
                f" openmsmq subscription drop '{info.name}' '{info.queue}'",
            )


def _units(manager: Manager, _: list[QueueInfo]) -> Iterator[Finding]:
    for unit in manager.units():
        if unit.state != UnitState.COMMITTING:
            yield Finding(
                Level.PROBLEM,
                f"transaction {unit.name}",
                f"committed {age_text(unit.age)} ago, and not confirmed by"
                f" {', '.join(unit.waiting)}, where locks may be held until then",
                "openmsmq transaction recover --database DSN (or --with HOST:PORT) tells it.",
            )


def _history(manager: Manager, _: list[QueueInfo]) -> Iterator[Finding]:
    history = manager.settings().history
    if not history:
        yield Finding(
            Level.NOTE,
            "history",
            "switched off: explain cannot tell what became of a message",
            "Set history in [settings] of a file for openmsmq apply.",
        )
    else:
        yield Finding(Level.FINE, "history", f"the last {history} MiB")


def _names(manager: Manager, _: list[QueueInfo]) -> Iterator[Finding]:
    """Names of this computer that are not configured."""
    own = fold(manager.name)
    found = [name for name in manager.settings().inherited_names if fold(name) != own]
    if found:
        yield Finding(
            Level.NOTE,
            "names",
            f"messages for {', '.join(found)} are taken, since some came under these names before"
            " names were checked",
            "Start with --alias NAME for those that are right, then set inherited_names = [] in"
            " [settings] of a file for openmsmq apply.",
        )


def _peers(manager: Manager, _: list[QueueInfo]) -> Iterator[Finding]:
    """Identities that cannot be right, and what a restore has cost."""
    for info in manager.peers():
        if info.claimed_from:
            yield Finding(
                Level.RISK,
                f"manager {info.id}",
                f"sessions from {' and '.join(info.claimed_from)} claim this identity",
                "Was a machine cloned with its MSMQ? Give each an identity of its own; or pin it"
                " with id in [manager.peers].",
            )
        if info.missing:
            yield Finding(
                Level.PROBLEM,
                f"manager {info.id}",
                f"up to {info.missing} transactional messages came after the backup that this store"
                " was restored from; their sender does not have them any more",
                "The log names the queues; look for the messages where they were processed.",
            )


def _multicast(manager: Manager, _: list[QueueInfo]) -> Iterator[Finding]:
    """Packets of groups that were lost for good."""
    for info in manager.multicast():
        if info.lost:
            yield Finding(
                Level.PROBLEM,
                f"multicast {info.group}",
                f"{count_text(info.lost, 'packet')} of {info.source} lost for good,"
                f" {info.packets:,} came: messages are missing",
                "Do packets get lost on the way, or does the source send faster than this computer"
                " takes them (multicast.rate there)? A longer multicast.window there helps, too.",
            )


def _outgoing(manager: Manager, _: list[QueueInfo]) -> Iterator[Finding]:
    """Messages that do not leave, and why."""
    for info in manager.outgoing():
        left = info.messages + info.unacknowledged
        is_stuck = info.state in (OFFLINE, *HELD) or info.last_error or info.resends
        if not (left and is_stuck):
            continue
        yield Finding(
            Level.PROBLEM if (info.oldest_age or 0) >= OLD else Level.RISK,
            info.name,
            "; ".join(
                [
                    f"{count_text(left)} waiting to leave, the oldest"
                    f" {age_text(info.oldest_age)} old",
                    info.state,
                    *notes(info),
                ]
            ),
            _outgoing_advice(info),
        )


def _routing(manager: Manager, queues: list[QueueInfo]) -> Iterator[Finding]:
    yield from (Finding(Level.RISK, *risk) for risk in routing_risks(manager))
    yield from (Finding(Level.RISK, *risk) for risk in idle_connectors(queues))


def _outgoing_advice(info: OutgoingInfo) -> str:
    """What people can do for messages that do not leave."""
    if info.state == OFFLINE:
        return "They leave when a service runs on this store and reaches the other computer."
    if info.state == TransferState.LOCKED:
        return (
            "Hardened mode sends over HTTP only: set hardened = false in [settings] of a file for"
            " openmsmq apply, and start the service again."
        )
    if info.state in HELD:
        return f"openmsmq outgoing resume '{info.name}' lets them go."
    if is_http(info):
        return http_advice(info)
    if info.resends:
        return "Does the queue manager there know the way back? It may need --peer."
    unknown = STATUS_WORDS[ConnectionStatus.DNS_FAILURE]
    if info.attempts and info.attempts[-1].status == unknown:
        return "Is the name right? openmsmq serve --peer NAME=HOST tells where a computer is."
    return (
        "Does a queue manager run there, and does a firewall let its port through? openmsmq"
        f" outgoing show '{info.name}' tells what was tried."
    )


def _whole(_: Manager, queues: list[QueueInfo]) -> Iterator[Finding]:
    messages = sum(info.messages for info in queues)
    size = sum(info.bytes for info in queues)
    yield Finding(
        Level.FINE,
        "store",
        f"{count_text(len(queues), 'queue')}, {count_text(messages)}, {size_text(size)}",
    )


Look = Callable[[Manager, list[QueueInfo]], Iterator[Finding]]
_REFUSED: Final = fold(shown(REFUSED_QUEUE))
_POISON: Final = fold(f";{POISON_SUBQUEUE}")
_READ_BY_APPLICATIONS: Final = ("private", "public", "subqueue")


def _permissions(manager: Manager, queues: list[QueueInfo]) -> Iterator[Finding]:
    """Queues that every queue manager in reach may send to."""
    for weak in weak_settings(manager.settings()):
        yield Finding(Level.NOTE, "security", weak.text, weak.advice)
    made = [queue for queue in queues if queue.kind in VISIBLE]
    is_open = [queue for queue in made if not queue.restricted]
    if not is_open:
        return
    named = f": {is_open[0].name}" if len(is_open) == 1 else ""
    yield Finding(
        Level.NOTE,
        "permissions",
        f"{len(is_open)} of {count_text(len(made), 'queue')} without permissions{named}: open",
        "Roles decide alone, and every queue manager in reach may send: queue permissions set.",
    )


_LOOKS: Final[tuple[Look, ...]] = (
    _whole,
    _permissions,
    _history,
    _quotas,
    _dead_letters,
    _refused,
    _journals,
    _old_messages,
    _poison,
    _prepared,
    _subscriptions,
    _units,
    _names,
    _peers,
    _multicast,
    _outgoing,
    _routing,
)
