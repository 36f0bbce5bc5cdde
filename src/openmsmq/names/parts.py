"""What path names and direct format names have in common: hosts, queues, subqueues, suffixes.

The grammar ([MS-MQMQ] 2.1.1) knows ASCII only, although names travel as UTF-16 and Windows takes
more. Here any character will do, except the separators, control characters and half surrogate
pairs. Spaces may stand inside a name but not at its ends. Lengths are counted in UTF-16 units.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

from openmsmq.errors import MQError
from openmsmq.limits import COMPUTER_NAME_MAX, QUEUE_NAME_MAX, SUBQUEUE_NAME_MAX

# The grammar says 32, but the field that stores it has no room for the null then
# ([MS-MQRR] 2.2.5.3).

_UNPRINTABLE = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
# A comma would split a multiple-element name, a backslash ends the computer.
NOT_IN_COMPUTER = re.compile(f"[{_UNPRINTABLE}\\\\,]")
NOT_IN_QUEUE = re.compile(f'[{_UNPRINTABLE}\\\\;+,"]')
_SHOWN_MAX = 80

_PRIVATE = "private$\\"
_SYSTEM = "SYSTEM$;"


class Suffix(StrEnum):
    """What of a queue or computer is meant: itself, its journal, a dead-letter queue, ..."""

    NONE = ""
    JOURNAL = "JOURNAL"
    DEADLETTER = "DEADLETTER"
    DEADXACT = "DEADXACT"
    XACTONLY = "XACTONLY"

    @property
    def is_read_only(self) -> bool:
        """True for journals and dead-letter queues, which only the queue manager writes to."""
        return self in (Suffix.JOURNAL, Suffix.DEADLETTER, Suffix.DEADXACT)


MACHINE_QUEUES = {
    Suffix.JOURNAL: "Journal$",
    Suffix.DEADLETTER: "DeadLetter$",
    Suffix.DEADXACT: "XactDeadLetter$",
}
"The queues every computer has, as System.Messaging writes them in path names."

_RESERVED = {"PRIVATE$", "SYSTEM$", *(name.upper() for name in MACHINE_QUEUES.values())}


class Fault(ValueError):
    """What is wrong with a part of a name, in words; never leaves this package."""


@contextmanager
def refused_as(error: type[MQError], name: str) -> Iterator[None]:
    """Turn a `Fault` inside into `error`, which shows the whole `name` and what is wrong."""
    try:
        yield
    except Fault as fault:
        raise error(f"{show(name)}: {fault}") from None


def show(text: str) -> str:
    """`text` for an error message: quoted, cut where it gets long, its backslashes single."""
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[:_SHOWN_MAX])
    return f"'{shown}...'" if len(text) > _SHOWN_MAX else f"'{shown}'"


def fold(text: str) -> str:
    """`text` without its letter case, one character for one character.

    Full case folding would make names equal that Windows tells apart, such as `ss` and a sharp s,
    and letters that look like ASCII but are not must not pass for it.
    """
    return text.upper() if text.isascii() else "".join(map(_fold_char, text))


def _fold_char(char: str) -> str:
    up = char.upper()
    return up if len(up) == 1 and up.isascii() == char.isascii() else char


@lru_cache(maxsize=1024)
def host_key(host: str) -> str:
    """`host` as it is compared: IP addresses in their shortest form, names without letter case."""
    if ":" in host or (host[:1].isdigit() and host[-1:].isdigit()):
        try:
            return fold(str(ip_address(host)))
        except ValueError:
            pass
    return fold(host)


def check_part(what: str, text: str, limit: int, bad: re.Pattern[str]) -> None:
    """Refuse a part that is empty, too long, or has characters it may not have."""
    if not text:
        raise Fault(f"the {what} is empty")
    units = len(text) + (0 if text.isascii() else sum(char > "\uffff" for char in text))
    if units > limit:
        raise Fault(f"the {what} has {units} characters, at most {limit} are allowed")
    found = bad.search(text)
    if found:
        raise Fault(
            f"the {what} {show(text)} has {show(found.group())} at position {found.start() + 1}, "
            "which is not allowed there"
        )
    if text != text.strip():
        raise Fault(f"the {what} {show(text)} begins or ends with white space")


def check_computer(computer: str) -> None:
    """Refuse what cannot be a computer's name ([MS-MQMQ] 2.1.1)."""
    check_part("computer name", computer, COMPUTER_NAME_MAX, NOT_IN_COMPUTER)
    if fold(computer) in _RESERVED:
        raise Fault(f"{computer} stands where a computer name should be; '.' is this computer")


class QueueParts(NamedTuple):
    """What follows the computer in a name: a queue, or one of the computer's own queues."""

    queue: str
    "Empty for a queue of the computer itself."
    private: bool
    subqueue: str
    suffix: Suffix


def split_queue(text: str) -> QueueParts:
    r"""Split `private$\queue;subqueue` or `SYSTEM$;JOURNAL` ([MS-MQMQ] 2.1.1, 2.1.2)."""
    head = fold(text[: len(_PRIVATE)])
    if head.startswith(_SYSTEM):
        suffix = fold(text[len(_SYSTEM) :])
        if suffix not in MACHINE_QUEUES:
            raise Fault(
                f"after {_SYSTEM} comes JOURNAL, DEADLETTER or DEADXACT, not {show(suffix)}"
            )
        return QueueParts("", False, "", Suffix(suffix))
    private = head == fold(_PRIVATE)
    queue, semicolon, tail = text[len(_PRIVATE) * private :].partition(";")
    if fold(tail) == Suffix.JOURNAL:
        return QueueParts(queue, private, "", Suffix.JOURNAL)
    if semicolon and not tail:
        raise Fault("the subqueue name is empty")
    return QueueParts(queue, private, tail, Suffix.NONE)


def check_queue(parts: QueueParts) -> None:
    """Refuse parts that are no queue ([MS-MQMQ] 2.1.1, 2.1.2)."""
    if not parts.queue and parts.suffix in MACHINE_QUEUES:
        if parts.private or parts.subqueue:
            raise Fault("a computer's own queue is neither private nor does it have subqueues")
        return
    check_part("queue name", parts.queue, QUEUE_NAME_MAX, NOT_IN_QUEUE)
    if fold(parts.queue) in _RESERVED:
        raise Fault(f"{parts.queue} is a reserved word and no queue's name")
    if parts.suffix not in (Suffix.NONE, Suffix.JOURNAL):
        raise Fault(f"a queue has no {parts.suffix}")
    if parts.subqueue:
        if parts.suffix:
            raise Fault("a subqueue has no journal")
        check_part("subqueue name", parts.subqueue, SUBQUEUE_NAME_MAX, NOT_IN_QUEUE)
        if fold(parts.subqueue) == Suffix.JOURNAL:
            raise Fault("no subqueue can be called JOURNAL")


def join_queue(parts: QueueParts) -> str:
    """The text `split_queue` takes apart."""
    if parts.suffix and not parts.queue:
        return _SYSTEM + parts.suffix
    tail = parts.subqueue or parts.suffix
    return _PRIVATE * parts.private + parts.queue + (f";{tail}" if tail else "")
