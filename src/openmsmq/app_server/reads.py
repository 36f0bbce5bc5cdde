"""What a program reads, and what becomes of it: READ, END and CANCEL."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Final

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Frame, Kind
from openmsmq.engine.commit.pending import Pending
from openmsmq.engine.messages.scan import Entry, Holder
from openmsmq.engine.queues.queue import Queue
from openmsmq.engine.storage.layout import local_facts
from openmsmq.engine.transactions.transaction import Transaction
from openmsmq.errors import (
    InvalidParameter,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    TransactionSequence,
)
from openmsmq.properties.message import INFINITE
from openmsmq.types.access import Access
from openmsmq.types.read import Seek

if TYPE_CHECKING:
    from openmsmq.app_server.session import AppSession, OpenQueue

Entries = list[Entry]

_START: Final = 60
"Bytes of a packet that hold its identifier."
_SEEKS: Final = {
    app.Seek.LOOKUP: Seek.CURRENT,
    app.Seek.AFTER_LOOKUP: Seek.NEXT,
    app.Seek.BEFORE_LOOKUP: Seek.PREVIOUS,
    app.Seek.FIRST: Seek.FIRST,
    app.Seek.LAST: Seek.LAST,
    app.Seek.BEHIND: Seek.BEHIND,
    app.Seek.AHEAD: Seek.AHEAD,
}


class Reads:
    """The reads of a connection: those that wait, and messages that are held for the program."""

    def __init__(self, session: AppSession) -> None:
        self._session = session
        self._core = session.local.core
        self._receiving = session.local.receiving
        self.holder = Holder()
        self._waiting: dict[int, tuple[Queue, Pending[Entries], Transaction | None]] = {}
        "Reads that wait, by request."
        self._deadlines: dict[int, float] = {}
        "When those of them time out that do not wait for ever."

    @property
    def transactions(self) -> list[Transaction | None]:
        """Those with which reads wait."""
        return [transaction for _, _, transaction in self._waiting.values()]

    def read(self, frame: Frame) -> None:
        """READ: receive or peek."""
        session, number = self._session, frame.id
        read = app.Read.decode(frame.payload)
        opened = session.handle(read.handle)
        take = read.mode == app.Mode.TAKE
        opened.mode.require(Access.RECEIVE if take else Access.PEEK)
        transaction = session.transaction(read.transaction)
        if transaction is not None:
            transaction.require_active()

        has_waited = False

        def make() -> Pending[Entries]:
            pending = self._begin(opened, read, transaction or self.holder, take=take)
            self._waiting[number] = opened.queue, pending, transaction
            return pending

        def answered(pending: Pending[Entries]) -> None:
            del self._waiting[number]
            self._deadlines.pop(number, None)
            if transaction is not None and has_waited:
                transaction.used = inf  # until this moment, which the next tick knows
            if pending.error is not None:
                session.fail(number, pending.error)
                return
            entries = pending.result()
            if take and transaction is None:
                self.hold(opened, entries)
            session.answer(number, Kind.MESSAGES, *payload(entries))

        session.driver.begin(make, answered)
        has_waited = True
        if number in self._waiting and read.timeout != INFINITE:
            self._deadlines[number] = deadline = session.now + read.timeout / 1000
            session.wake_at(deadline)

    def _begin(
        self, opened: OpenQueue, read: app.Read, holder: Holder, *, take: bool
    ) -> Pending[Entries]:
        receiving, queue, wait = self._receiving, opened.queue, read.timeout != 0
        caller = self._session.caller
        seek = _SEEKS.get(app.Seek(read.seek))
        following = read.seek == app.Seek.NEXT
        if read.cursor:
            if seek is not None or (following and take):
                raise InvalidParameter(f"seek {read.seek} is not for receiving with a cursor")
            cursor = self._session.cursor(read.cursor, opened)
            if take:
                return receiving.receive_cursor(
                    queue, cursor, opened, wait=wait, holder=holder, caller=caller
                )
            return receiving.peek_cursor(queue, cursor, opened, wait=wait, following=following)
        if following:
            raise InvalidParameter("seek 6: there is no next message without a cursor")
        behind = read.lookup if seek is Seek.BEHIND and not take else None
        if seek is not None and behind is None:
            return receiving.by_lookup(
                queue, read.lookup, seek, peek=not take, holder=holder, caller=caller
            )
        if not read.count:
            raise InvalidParameter("count 0: at least 1 message can be asked for")
        count = min(read.count, app.COUNT_MAX)
        room = app.room_for(count)
        if take:
            return receiving.receive(
                queue, count, opened, wait=wait, holder=holder, size_max=room, caller=caller
            )
        return receiving.peek(queue, count, opened, wait=wait, after=behind or 0, size_max=room)

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
        queue, pending, _ = self._waiting[number]
        self._core.cancel(queue, pending, error)

    def hold(self, opened: OpenQueue, entries: Entries) -> None:
        """Remember what was read, until it is ended."""
        new = tuple.__new__
        opened.held.update(
            {
                lookup: new(
                    Entry, (lookup, record, packet if express else packet[:_START], express)
                )
                for lookup, record, packet, express in entries
            }
        )

    def end(self, frame: Frame) -> None:
        """END: remove messages that were read, now or with a transaction, or return them."""
        session, number = self._session, frame.id
        end = app.End.decode(frame.payload)
        opened = session.handle(end.handle)
        transaction = session.transaction(end.transaction)
        lookups, held = end.lookups, opened.held
        for lookup in set(lookups).difference(held):
            raise TransactionSequence(f"message {lookup} is not held here")
        known = {lookup: held[lookup] for lookup in lookups}
        if len(known) < len(lookups):
            raise InvalidParameter("a message can be ended only once")
        remove = end.action == app.Action.REMOVE
        if transaction is not None and remove:
            session.driver.call(lambda: self._receiving.enlist(opened.queue, lookups, transaction))
            _forget(held, lookups)
            session.answer(number, Kind.DONE)
            return

        _forget(held, lookups)  # who returns them may be the first to get them again
        try:
            session.begin(
                number,
                lambda: self._receiving.end(
                    opened.queue, lookups, delete=remove, known=known, caller=session.caller
                ),
                lambda _: session.answer(number, Kind.DONE),
            )
        except MQError:
            held.update(known)
            raise

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


def payload(entries: Entries) -> list[bytes]:
    """The payload of MESSAGES and DELIVERY, in parts."""
    parts = [app.count_of(len(entries))]
    add, start = parts.append, app.queued_start
    for lookup, record, packet, _ in entries:
        arrived, aborts, moves, reason = local_facts(record)
        add(start(lookup, arrived, aborts, moves, reason, len(packet)))
        add(packet)
    return parts


def _forget(held: dict[int, Entry], lookups: Sequence[int]) -> None:
    for lookup in lookups:
        del held[lookup]
