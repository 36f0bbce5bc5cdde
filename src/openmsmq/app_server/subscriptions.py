"""Named, durable subscriptions, which a connection opens as numbered readers: FETCH."""

from __future__ import annotations

from typing import Final

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.app_protocol.slices import slice_start
from openmsmq.app_server.context import SessionContext
from openmsmq.app_server.limits import HANDLES_MAX
from openmsmq.app_server.reads import payload
from openmsmq.engine.subscriptions.info import read_reserved, read_reserved_slices
from openmsmq.engine.subscriptions.subscription import DurableSubscription
from openmsmq.errors import InvalidHandle

CLEAN_FROM: Final = 16
"Subscriptions of a connection from which on it is asked whether some were dropped."


class SubscriptionReaders:
    """The subscriptions that a connection has opened, by number."""

    def __init__(self, session: SessionContext) -> None:
        self._session = session
        self._found: dict[int, tuple[DurableSubscription, str]] = {}
        "With the owner that each is read for."
        self._numbers: dict[tuple[DurableSubscription, str], int] = {}
        self._clean_at = CLEAN_FROM

    def add(self, subscription: DurableSubscription, owner: str) -> int:
        """The number of a subscription on this connection, as it is read for an owner."""
        known = self._numbers.get((subscription, owner))
        if known is not None:
            return known
        if len(self._found) >= self._clean_at:
            self._clean()
        number = self._session.number(self._found)
        self._found[number] = subscription, owner
        self._numbers[subscription, owner] = number
        return number

    def _clean(self) -> None:
        """Forget those that were dropped; not for each new one, since there may be many."""
        for number, known in list(self._found.items()):
            if known[0].is_over:
                del self._found[number], self._numbers[known]
        self._clean_at = min(HANDLES_MAX, max(CLEAN_FROM, 2 * len(self._found)))

    def get(self, number: int) -> tuple[DurableSubscription, str]:
        """The subscription with this number, and the owner that it is read for."""
        found = self._found.get(number)
        if found is None:
            raise InvalidHandle(f"unknown subscription reader {number}")
        return found

    def fetch(self, frame: Frame) -> None:
        """FETCH: read what a subscription was given."""
        session = self._session
        asked = app.Fetch.decode(frame.payload)
        subscription, owner = self.get(asked.reader)
        given = session.local, subscription, asked.after, asked.last, owner
        if session.takes_reserved_slices:
            slices = session.driver.call(lambda: read_reserved_slices(*given))
            parts = [app.count_of(len(slices))]
            for *facts, messages, packets in slices:
                parts += slice_start(*facts, len(packets), messages), packets
            session.answer(frame.id, Kind.SLICES, *parts)
        else:
            entries = session.driver.call(lambda: read_reserved(*given))
            session.answer(frame.id, Kind.MESSAGES, *payload(entries))
