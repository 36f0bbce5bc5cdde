"""What a program reads, and what becomes of it: READ, END and CANCEL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any, cast

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.app_protocol.slices import EndRanges, slice_start
from openmsmq.app_server.context import SessionContext
from openmsmq.app_server.proxy import OpenQueue
from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.slices import Parts, RunSlice, delivered
from openmsmq.engine.storage.layout import local_facts
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    InvalidParameter,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
)
from openmsmq.properties.message import INFINITE
from openmsmq.types.lookup import LOOKUP_MAX
from openmsmq.types.read import Seek


class Reads:
    """The reads of a connection: those that wait, and messages that are held for the program."""

    def __init__(self, session: SessionContext) -> None:
        self._session = session
        self._waiting: dict[int, tuple[OpenQueue, Future[Any], ManagedTransaction | None]] = {}
        "Reads that wait, by request."
        self._deadlines: dict[int, float] = {}
        "When those of them time out that do not wait for ever."

    @property
    def transactions(self) -> list[ManagedTransaction | None]:
        """Those with which reads wait."""
        return [transaction for _, _, transaction in self._waiting.values()]

    def read(self, frame: Frame) -> None:
        """READ: receive or peek."""
        session, number = self._session, frame.id
        read = app.ReadRequest.decode(frame.payload)
        opened = session.handle(read.handle)
        take = read.take
        transaction = session.transaction(read.transaction)
        if transaction is not None:
            transaction.require_active()

        has_waited = False

        def make() -> Future[Any]:
            pending = self._begin(opened, read, transaction, take=take)
            self._waiting[number] = opened, pending, transaction
            return pending

        def answered(pending: Future[Any]) -> None:
            del self._waiting[number]
            self._deadlines.pop(number, None)
            if transaction is not None and has_waited:
                transaction.used = inf  # until this moment, which the next tick knows
            if pending.error is not None:
                session.fail(number, pending.error)
                return
            takes = session.takes_slices if take else session.takes_peeked_slices
            parts, is_sliced = delivered(pending.value, takes_slices=takes)
            kind = Kind.SLICES if is_sliced else Kind.MESSAGES
            session.answer(number, kind, *payload(parts, sliced=is_sliced))

        session.driver.begin(make, answered)
        has_waited = True
        times_out = read.timeout != INFINITE and (read.timeout or opened.answers_at_once)
        if number in self._waiting and times_out:
            self._deadlines[number] = deadline = session.now + read.timeout / 1000
            session.wake_at(deadline)

    def _begin(
        self,
        opened: OpenQueue,
        read: app.ReadRequest,
        transaction: ManagedTransaction | None,
        *,
        take: bool,
    ) -> Future[Any]:
        """What is taken is for a transaction, or held until it is ended."""
        wait, hold = read.timeout != 0, transaction is None
        seek = read.sought
        following = read.following
        if read.cursor:
            if seek is not None or (following and take):
                raise InvalidParameter(f"seek {read.seek} is not for receiving with a cursor")
            cursor = self._session.cursor(read.cursor, opened)
            if take:
                return opened.receive_cursor(cursor, wait=wait, transaction=transaction, hold=hold)
            return opened.peek_cursor(cursor, wait=wait, following=following)
        if following:
            raise InvalidParameter("seek 6: there is no next message without a cursor")
        if seek in (Seek.AHEAD, Seek.LAST) and read.count > 1 and not take:
            before = LOOKUP_MAX if seek is Seek.LAST else read.lookup
            count = min(read.count, app.COUNT_MAX)
            return opened.peek_back(count, before, size_max=app.room_for(count))
        behind = read.lookup if seek is Seek.BEHIND and not take else None
        if seek is not None and behind is None:
            if take:
                return opened.receive_at(read.lookup, seek, transaction=transaction, hold=hold)
            return opened.peek_at(read.lookup, seek)
        if not read.count:
            raise InvalidParameter("count 0: at least 1 message can be asked for")
        count = min(read.count, app.COUNT_MAX)
        room = app.room_for(count)
        if take:
            return opened.receive_parts(
                count, wait=wait, transaction=transaction, hold=hold, size_max=room
            )
        return opened.peek_parts(count, wait=wait, after=behind or 0, size_max=room)

    @property
    def next_deadline(self) -> float:
        """When the first read that waits times out."""
        return min(self._deadlines.values(), default=inf)

    def tick(self, now: float) -> None:
        """Time out reads."""
        for number in [number for number, at in self._deadlines.items() if at <= now]:
            if self._deadlines.pop(number, None) is not None:
                self._cancel(number, ReceiveTimeout())

    def _cancel(self, number: int, error: MQError) -> None:
        """Answer a read that waits with an error."""
        opened, pending, _ = self._waiting[number]
        opened.cancel(pending, error)

    def end(self, frame: Frame) -> None:
        """END: remove messages that were read, now or with a transaction, or return them."""
        session, number = self._session, frame.id
        end = app.End.decode(frame.payload)
        opened = session.handle(end.handle)
        transaction = session.transaction(end.transaction)
        remove = end.action == app.Action.REMOVE
        session.begin(
            number,
            partial(opened.end, end.lookups, remove=remove, transaction=transaction),
            lambda _: session.answer(number, Kind.DONE),
        )

    def end_ranges(self, frame: Frame) -> None:
        """END_RANGES: the same for messages with consecutive lookup identifiers."""
        session, number = self._session, frame.id
        end = EndRanges.decode(frame.payload)
        opened = session.handle(end.handle)
        transaction = session.transaction(end.transaction)
        remove = end.action == app.Action.REMOVE
        session.begin(
            number,
            partial(opened.end_ranges, end.ranges, remove=remove, transaction=transaction),
            lambda _: session.answer(number, Kind.DONE),
        )

    def cancel(self, frame: Frame) -> None:
        """CANCEL: give up a read that waits."""
        request = app.Cancel.decode(frame.payload).request
        if request in self._waiting:
            error = OperationCancelled("cancelled by the program")
            self._session.driver.call(lambda: self._cancel(request, error))
        self._session.answer(frame.id, Kind.DONE)

    def cancel_all(self) -> None:
        """The connection is closed."""
        for number in list(self._waiting):
            self._cancel(number, OperationCancelled("the connection is over"))


def payload(parts: Parts, *, sliced: bool = False) -> list[bytes]:
    """The payload of MESSAGES and DELIVERY, in parts; `sliced`: of those with slices."""
    if sliced:
        return _sliced(parts)
    found = [app.count_of(len(parts))]
    add, start = found.append, app.queued_start
    for lookup, record, packet, _ in cast(Sequence[Entry], parts):
        arrived, aborts, moves, reason = local_facts(record)
        add(start(lookup, arrived, aborts, moves, reason, len(packet)))
        add(packet)
    return found


def _sliced(parts: Parts) -> list[bytes]:
    """The payload of SLICES and DELIVERED_SLICES, in parts."""
    found = [app.count_of(len(parts))]
    for part in parts:
        if isinstance(part, RunSlice):
            lookup, count, packets = part.first, len(part), part.packets
            record = part.run.record
            facts = record.arrived_time, record.abort_count, record.move_count, record.message_class
        else:
            lookup, count, packets = part.lookup, 1, part.packet
            facts = local_facts(part.record)
        found += slice_start(lookup, *facts, len(packets), count), packets
    return found
