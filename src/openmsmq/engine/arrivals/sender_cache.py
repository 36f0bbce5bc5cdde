"""Certificates of senders that the directory has, as far as it was asked (UserCertCache).

Rules do not wait for a network: who is not known is asked for, and the message comes again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from openmsmq.engine.arrivals.limits import (
    SENDER_AGE_MAX,
    SENDER_WAIT_MAX,
    SENDERS_DROPPED,
    SENDERS_MAX,
)
from openmsmq.security.sid import Sid

T = TypeVar("T")


class SenderPending(Exception):
    """The directory is being asked for a sender, so that a message can be judged later only."""


class _Sender(NamedTuple):
    since: float
    certificates: tuple[bytes, ...]


class SenderCache:
    """What the directory said of users, for a while ([MS-MQQB] 3.1.3.1)."""

    def __init__(self, ask: Callable[[Sid], None]) -> None:
        """`ask` begins to look a user up; the answer comes with `found`."""
        self._ask = ask
        self._known: dict[Sid, _Sender] = {}
        "Those that have certificates, the oldest first."
        self._strangers: dict[Sid, _Sender] = {}
        "Those that have none: they take no place of the others."
        self._unanswered: dict[Sid, tuple[float, float]] = {}
        "When the directory was asked first and last for those it did not answer, the oldest first."

    def certificates(self, sid: Sid, now: float) -> tuple[bytes, ...]:
        """The certificates of a user, in DER; `SenderPending` if the directory has to be asked.

        Without an answer for long there are none: a message must not hold back all that its manager
        sends as long as no controller answers (MSEC-A18). An answer counts for a time from when it
        came, not from when it was used last ([MS-MQQB] 3.1.3.1, 3.1.6.13). Someone who can be no
        user of a domain has none.
        """
        if sid.authority != 5 or sid.subauthorities[:1] != (21,):
            return ()
        for senders in (self._known, self._strangers):
            found = senders.get(sid)
            if found is not None:
                if now < found.since + SENDER_AGE_MAX:
                    return found.certificates
                del senders[sid]
        self._ask(sid)
        if self._has_waited(sid, now):
            return ()
        raise SenderPending

    def _has_waited(self, sid: Sid, now: float) -> bool:
        """Whether messages of a user have come again and again, for as long as they may."""
        first, last = self._unanswered.pop(sid, (now, now))
        if now >= last + SENDER_AGE_MAX:  # that was another message
            first = now
        _make_room(self._unanswered)
        self._unanswered[sid] = first, now
        return now >= first + SENDER_WAIT_MAX

    def found(self, sid: Sid, certificates: tuple[bytes, ...], now: float) -> None:
        """The directory has answered; a full cache loses its oldest half ([MS-MQQB] 3.1.5.8.3)."""
        senders = self._known if certificates else self._strangers
        self.forget(sid)
        _make_room(senders)
        senders[sid] = _Sender(now, certificates)

    def forget(self, sid: Sid) -> None:
        """Ask for a user again."""
        for senders in (self._known, self._strangers, self._unanswered):
            senders.pop(sid, None)


def _make_room(senders: dict[Sid, T]) -> None:
    """Forget the oldest half of a table that is full ([MS-MQQB] 3.1.5.8.3)."""
    if len(senders) >= SENDERS_MAX:
        for old in list(senders)[:SENDERS_DROPPED]:
            del senders[old]
