"""Options of a send: delayed delivery, deduplication ids, and messages that are sent again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Final, Self

from openmsmq.errors import IllegalPropertyValue, InvalidParameter
from openmsmq.limits import DEDUP_ID_MAX, U32_MAX
from openmsmq.properties.message import INFINITE

MILLIS_MAX: Final = INFINITE * 1000
"The year 2106, as far as lifetimes of messages go."
_MILLI: Final = 1000


@dataclass(frozen=True, slots=True)
class DeliveryOptions:
    """Delayed delivery and deduplication of messages that are sent together."""

    at: int = 0
    "Not readable before this time: milliseconds since 1970 UTC; 0 for no delay."
    after: int = 0
    "Not readable for this many milliseconds after they are sent, by the manager's clock."
    dedup_ids: tuple[str, ...] = ()
    "A deduplication id for each message; empty for no deduplication."

    def __post_init__(self) -> None:
        if not (0 <= self.at < MILLIS_MAX and 0 <= self.after < MILLIS_MAX):
            raise IllegalPropertyValue("deliver_at must be before the year 2106")
        for one in self.dedup_ids:
            _check_id(one)

    @classmethod
    def of(
        cls, deliver_at: datetime | float | None, dedup_ids: Sequence[str] | None, count: int
    ) -> Self | None:
        """From the arguments of `send_many`; None if neither is given."""
        ids: tuple[str, ...] = ()
        if dedup_ids is not None:
            if isinstance(dedup_ids, str):
                raise InvalidParameter(
                    "dedup_ids must be a list with one id for each message, not a str"
                )
            ids = tuple(dedup_ids)
            if len(ids) != count:
                raise InvalidParameter(f"dedup_ids has {len(ids)} ids for {count} messages")
        if deliver_at is None:
            return cls(dedup_ids=ids) if ids else None
        if isinstance(deliver_at, datetime):
            return cls(at=_moment(deliver_at), dedup_ids=ids)
        return cls(after=_span(deliver_at), dedup_ids=ids)


def _check_id(dedup_id: object) -> None:
    try:
        size = len(dedup_id.encode()) if isinstance(dedup_id, str) else 0
    except UnicodeEncodeError:
        raise InvalidParameter(f"dedup_id {dedup_id!r} contains an unpaired surrogate") from None
    if not 0 < size <= DEDUP_ID_MAX:
        raise InvalidParameter(
            f"dedup_id must be a str of 1 to {DEDUP_ID_MAX} bytes: {dedup_id!r:.60}"
        )


def _moment(value: datetime) -> int:
    if value.tzinfo is None:
        raise IllegalPropertyValue(f"deliver_at {value} has no time zone")
    return max(0, ceil(value.astimezone(UTC).timestamp() * _MILLI))


def _span(value: object) -> int:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise IllegalPropertyValue(f"deliver_at must be a datetime or seconds, not {value!r}")
    if not 0 <= value < INFINITE:  # false for NaN, too
        raise IllegalPropertyValue(f"deliver_at must be 0 to {INFINITE - 1} seconds, not {value}")
    return ceil(value * _MILLI)


@dataclass(frozen=True, slots=True)
class RedirectOptions:
    """Whether the old messages stay, and how long the new ones live."""

    copy: bool = False
    "Leave the old ones where they are."
    keeps_lifetime: bool = True
    "The new ones live as long as the old ones would have; what expired once would expire again."
    time_to_be_received: int | None = None
    "Else: seconds; None for ever."

    def __post_init__(self) -> None:
        seconds = self.time_to_be_received
        if seconds is not None and not 0 <= seconds < U32_MAX:
            raise IllegalPropertyValue(
                f"time_to_be_received {seconds}: seconds from 0, or None for ever"
            )
