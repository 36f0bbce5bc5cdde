"""How messages are sent that are not sent like any other: later, or under ids of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Final, Self

from openmsmq.errors import IllegalPropertyValue, InvalidParameter
from openmsmq.properties.message import INFINITE

MILLIS_MAX: Final = INFINITE * 1000
"The year 2106, as far as lifetimes of messages go."
ID_MAX: Final = 400
"Bytes of an id."
_MILLI: Final = 1000


@dataclass(frozen=True, slots=True)
class DeliveryOptions:
    """What is special about messages that are sent together."""

    at: int = 0
    "They cannot be read before this: milliseconds since 1970 UTC; 0 for none."
    after: int = 0
    "The same in milliseconds from when they are sent, as the manager counts them."
    once: tuple[str, ...] = ()
    "An id for each message, under which it is sent once; none at all for none."

    def __post_init__(self) -> None:
        if not (0 <= self.at < MILLIS_MAX and 0 <= self.after < MILLIS_MAX):
            raise IllegalPropertyValue("deliver_at: a time before the year 2106 is needed")
        for one in self.once:
            _check_id(one)

    @classmethod
    def of(
        cls, deliver_at: datetime | float | None, once: Sequence[str] | None, count: int
    ) -> Self | None:
        """The same as callers say it; None if there is nothing to say."""
        ids: tuple[str, ...] = ()
        if once is not None:
            if isinstance(once, str):
                raise InvalidParameter("once: a list is needed, with an id for each message")
            ids = tuple(once)
            if len(ids) != count:
                raise InvalidParameter(f"once: {len(ids)} ids for {count} messages")
        if deliver_at is None:
            return cls(once=ids) if ids else None
        if isinstance(deliver_at, datetime):
            return cls(at=_moment(deliver_at), once=ids)
        return cls(after=_span(deliver_at), once=ids)


def _check_id(once: object) -> None:
    try:
        size = len(once.encode()) if isinstance(once, str) else 0
    except UnicodeEncodeError:
        raise InvalidParameter(f"once {once!r} has half of a surrogate pair") from None
    if not 0 < size <= ID_MAX:
        raise InvalidParameter(f"once {once!r:.60}: a text of 1 to {ID_MAX} bytes is needed")


def _moment(value: datetime) -> int:
    if value.tzinfo is None:
        raise IllegalPropertyValue(f"deliver_at {value}: a time with a time zone is needed")
    return max(0, ceil(value.astimezone(UTC).timestamp() * _MILLI))


def _span(value: object) -> int:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise IllegalPropertyValue(f"deliver_at {value!r}: a datetime or seconds are needed")
    if not 0 <= value < INFINITE:  # false for NaN, too
        raise IllegalPropertyValue(f"deliver_at {value}: 0 to {INFINITE - 1} seconds are possible")
    return ceil(value * _MILLI)
