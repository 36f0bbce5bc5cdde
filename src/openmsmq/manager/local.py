"""A queue manager of this process: the rules, told the time and fed with messages.

Nothing here waits: a driver serialises the calls and brings the answers (`drivers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from openmsmq.clock import Clock
from openmsmq.errors import (
    IllegalQueuePathName,
    TransactionSequence,
    UnsupportedFormatNameOperation,
)
from openmsmq.messages.message import Message
from openmsmq.messages.pack import Packer
from openmsmq.messages.received import ReceivedMessage
from openmsmq.model.committing import Outgoing
from openmsmq.model.core import Core
from openmsmq.model.layout import ARRIVAL_MASK, local_facts
from openmsmq.model.pending import Pending
from openmsmq.model.queue import Queue, QueueProperties
from openmsmq.model.reading import Entry
from openmsmq.model.receiving import Receiving
from openmsmq.model.sending import Sending
from openmsmq.model.storage import Store
from openmsmq.model.transacting import Transacting
from openmsmq.model.transaction import Transaction
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.parse import parse_name
from openmsmq.names.parts import fold, join_queue
from openmsmq.names.path import PathName
from openmsmq.properties.message import INFINITE

NEVER = INFINITE


class LocalManager:
    """The queues of one directory."""

    def __init__(self, store: Store, clock: Clock, *, name: str) -> None:
        self.name = name
        "What other computers call this one."
        self.core = Core(store, new_identity=clock.new_guid())
        self.receiving = Receiving(self.core)
        self._sending = Sending(self.core)
        self._transacting = Transacting(self.core)
        self._packer = Packer(self.core.identity, computer=name)
        self._clock = clock
        self._own_names = {fold(own) for own in (".", "localhost", name)}

    # Queues

    def local_name(self, name: str | PathName | DirectName) -> str:
        r"""What follows the computer in the name of a queue here: `private$\orders`."""
        parsed = parse_name(name) if isinstance(name, str) else name
        if isinstance(parsed, DirectName):
            parsed = parsed.path
        if not isinstance(parsed, PathName) or fold(parsed.computer) not in self._own_names:
            raise UnsupportedFormatNameOperation(f"{name}: not a queue of this manager")
        if parsed.is_read_only or parsed.subqueue:
            raise UnsupportedFormatNameOperation(f"{name}: a queue the manager itself keeps")
        return join_queue(parsed.queue_parts)

    def create_queue(self, name: str, **properties: Any) -> Pending[Queue]:
        """Create a queue with properties of `QueueProperties`."""
        try:
            path = self.local_name(name)
        except UnsupportedFormatNameOperation as error:
            raise IllegalQueuePathName(error.detail) from None
        now = int(self._clock.now())
        return self.core.create(
            QueueProperties(path, self._clock.new_guid(), now, now, **properties)
        )

    def find_queue(self, name: str) -> Queue:
        """The queue with this name, path or format name; `QueueNotFound` if there is none."""
        return self.core.find(self.local_name(name))

    def change_queue(self, queue: Queue, **changes: Any) -> Pending[None]:
        """Give a queue other properties."""
        return self.core.change(queue, int(self._clock.now()), changes)

    # Messages

    def send(
        self, queue: Queue, messages: Sequence[Message], transaction: Transaction | None
    ) -> Pending[None]:
        """Send messages to a queue of this manager: all of them or none."""
        now = int(self._clock.now())
        transactional = transaction is not None
        numbers = self.core.numbers
        packets = self._packer.pack_many(
            messages,
            _direct_name(self.name, queue.properties.name),
            first_id=numbers.message_id + 1,
            sent_time=now,
            transactional=transactional,
        )
        outgoing = []
        for packet, message in zip(packets, messages, strict=True):
            lifetime = message.time_to_be_received
            # Counted from now, as the packet's own clock is.
            expires = NEVER if lifetime is None else min(now + lifetime, NEVER - 1)
            priority = 0 if transactional else message.priority
            express = not (transactional or message.recoverable)
            outgoing.append(Outgoing(packet, priority, expires, express))
        pending = self._sending.send(queue, outgoing, now, transaction)
        self.core.take_message_ids(len(packets))
        return pending

    # Transactions

    def begin(self, xid: str = "") -> Transaction:
        """A new transaction; with a name it can be prepared."""
        return self._transacting.begin(xid)

    def prepare(self, transaction: Transaction) -> Pending[None]:
        """Write down all that the transaction did, and wait to be told the outcome."""
        return self._transacting.prepare(transaction)

    def commit(self, transaction: Transaction) -> Pending[None]:
        """Let all that the transaction did take effect."""
        return self._transacting.commit(transaction, int(self._clock.now()))

    def abort(self, transaction: Transaction) -> Pending[None]:
        """Undo all that the transaction did."""
        return self._transacting.abort(transaction)

    def prepared(self, xid: str) -> Transaction:
        """The prepared transaction with this name."""
        transaction = self.core.prepared.get(xid)
        if transaction is None:
            raise TransactionSequence(f"no transaction {xid} is prepared")
        return transaction


@lru_cache(maxsize=4096)
def _direct_name(computer: str, queue: str) -> DirectName:
    """The name of a queue here as others write it; parsing it takes longer than sending."""
    return DirectName.from_wire(f"{Protocol.OS}:{computer}\\{queue}")


def received(entries: list[Entry]) -> list[ReceivedMessage]:
    """What a program gets of messages that were found."""
    found = []
    for lookup, raw, packet, _ in entries:
        arrived, aborted, moved = local_facts(raw)
        found.append(
            ReceivedMessage(
                packet,
                lookup_id=lookup,
                arrival=lookup & ARRIVAL_MASK,
                arrived=arrived,
                abort_count=aborted,
                move_count=moved,
            )
        )
    return found
