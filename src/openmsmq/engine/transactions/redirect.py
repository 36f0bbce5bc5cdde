"""Messages that are sent again: moved or copied to any queue, or returned to where they were sent.

The new messages appear in the commit that removes the old ones, so that neither a crash nor a
repeated call can double or lose one. The history of each names the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.messages.receive import Receiver
from openmsmq.engine.messages.send import Sender
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.queues.info import path_name
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.transactions.lifecycle import Also, Transactions
from openmsmq.errors import InvalidParameter, MessageNotFound, MQError, TransactionUsage
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.types.access import Access
from openmsmq.types.delivery import RedirectOptions
from openmsmq.types.ids import SentId
from openmsmq.types.message import Message
from openmsmq.types.read import Seek
from openmsmq.types.received import ReceivedMessage

Redirected = dict[int, SentId]
"The ids of new messages, by the lookup identifiers of the old ones."


class _Redirecting(Holder):
    """Holds messages that are about to be sent again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Redirects:
    """Sends messages of a queue again."""

    core: Core
    transactions: Transactions
    receiver: Receiver
    sender: Sender

    def redirect(
        self,
        source: QueueHandle,
        lookups: Sequence[int],
        target: QueueHandle,
        options: RedirectOptions,
    ) -> Future[Redirected]:
        """Send messages again, all in one commit; those that are gone are left out.

        What was express is recoverable from now on: it has to be on the disk to be in that commit.
        """
        if len(set(lookups)) != len(lookups):
            raise InvalidParameter("a message can be redirected only once")
        source.require_redirect(Access.PEEK if options.copy else Access.RECEIVE)
        target.require_redirect(Access.SEND)
        holder = _Redirecting()
        entries = self._take(source, lookups, holder, copy=options.copy)
        answer: Future[Redirected] = Future()
        if not entries:
            answer.succeed({})
            return answer
        try:
            self._send(source, entries, target, options, answer)
        except MQError:
            self._release(source.queue, entries, copy=options.copy)
            raise
        return answer

    def _take(
        self, source: QueueHandle, lookups: Sequence[int], holder: Holder, *, copy: bool
    ) -> list[Entry]:
        """The messages that are there and that no one else holds."""
        found: list[Entry] = []
        for lookup in lookups:
            try:
                pending = self.receiver.by_lookup(
                    source.queue, lookup, Seek.CURRENT, peek=copy, holder=holder
                )
            except (MessageNotFound, TransactionUsage):  # gone, or a reader has it
                continue
            found += pending.result()
        return found

    def _send(
        self,
        source: QueueHandle,
        entries: list[Entry],
        target: QueueHandle,
        options: RedirectOptions,
        answer: Future[Redirected],
    ) -> None:
        core, by = self.core, source.owner.name
        is_plain = not all(PacketView(entry.packet).transactional for entry in entries)
        transaction = self.transactions.begin(stages=True)
        transaction.keeps_plain = is_plain
        messages = [_again(entry, options) for entry in entries]
        try:
            sent = self.sender.send(target.queue, messages, transaction, None, source.owner)
        except MQError:
            self.transactions.abort(transaction)
            raise
        first = core.numbers.message_id - len(messages) + 1
        new = _new_ids(core.identity.bytes_le, first, len(messages))
        stored = [entry for entry in entries if not entry.express]

        def write(batch: Batch) -> None:
            if not options.copy and stored:
                core.dispositions.removed_parts(
                    batch, source.queue, stored, MessageClass.ACK_RECEIVE, by
                )
            _note(batch, source.queue, target.queue, entries, new, by)

        def noted() -> None:
            if not options.copy:
                core.removal.forget(source.queue, [entry.lookup for entry in entries])
                express = [entry for entry in entries if entry.express]
                core.dispositions.removed_express(
                    source.queue, express, MessageClass.ACK_RECEIVE, by
                )
            core.readers.notify()

        words = f"{len(entries)} messages to {path_name(target.queue)}"
        core.audit.acted(source.owner, "copy" if options.copy else "move", source.name, words)
        committed = self.transactions.commit(transaction, Also(write, noted), source.owner)

        def done() -> None:
            if committed.error is None:
                ids = sent.result()
                lookups = [entry.lookup for entry in entries]
                answer.succeed(dict(zip(lookups, ids, strict=True)))
                return
            self._release(source.queue, entries, copy=options.copy)
            self.transactions.abort(transaction)
            answer.fail(committed.error)

        committed.on_done = done
        if committed.done and not answer.done:
            done()

    def _release(self, queue: ManagedQueue, entries: list[Entry], *, copy: bool) -> None:
        if not copy:
            self.core.removal.release(queue, [entry.lookup for entry in entries])
            self.core.readers.notify()


def _again(entry: Entry, options: RedirectOptions) -> Message:
    """A message as it is sent again: the same, but with another lifetime."""
    message = replace(ReceivedMessage(entry.packet).to_message(), recoverable=True)
    if options.keeps_lifetime:
        return message
    return replace(
        message, time_to_be_received=options.time_to_be_received, time_to_reach_queue=None
    )


def _new_ids(source: bytes, first: int, count: int) -> list[bytes]:
    """The identifiers of messages that count up from one."""
    numbers = range(first, first + count)
    return [source + (number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers]


def _note(
    batch: Batch,
    source: ManagedQueue,
    target: ManagedQueue,
    entries: list[Entry],
    new: list[bytes],
    by: str,
) -> None:
    """Let the history of each message name the other."""
    batch.count(Event.REDIRECTED.word, len(entries))
    batch.count(Event.SENT_AGAIN.word, len(entries))
    for entry, identifier in zip(entries, new, strict=True):
        old = identifiers([entry.packet])
        batch.note(Event.REDIRECTED, source, [entry.lookup], old, by, _shown(identifier))
        batch.note(Event.SENT_AGAIN, target, [0], identifier, by, _shown(old))


def _shown(identifier: bytes) -> str:
    return ReceivedMessage.id_text(identifier)
