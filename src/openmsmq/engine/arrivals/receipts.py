"""Receipts: what a transport tells the sender of a message that it brought, maybe days later.

A local receive owes its receipt in the same commit, also in a process where no transport runs. So
each transport gives the engine a pure function that writes its receipts; a flag in the record of a
message names the transport that brought it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol
from uuid import UUID

from openmsmq.names.base import FormatName
from openmsmq.properties.message import MessageClass


class ReceiptContext(NamedTuple):
    """What a receipt needs beside the message."""

    identity: UUID
    "Of this manager."
    message_id: int
    "For the receipt."
    sent_time: int
    "Seconds since 1970 UTC."
    address: str
    "Where messages of the same stream came from last; empty if that is not known."
    receipts_to: Callable[[bytes, bytes], str]
    "The address that the sender of a stream named for receipts: by its source and the packet."


class OwedReceipt(NamedTuple):
    """A packet for the sender of a message."""

    destination: FormatName
    "The outgoing queue in which it waits."
    packet: bytes


class ReceiptWriter(Protocol):
    """Writes the receipts of one transport; it is pure."""

    def acknowledgement(
        self, packet: bytes, reason: MessageClass, context: ReceiptContext, /
    ) -> OwedReceipt | None:
        """What the administration queue of a message gets; None if it does not ask for that."""
        ...

    def final(
        self, packet: bytes, reason: MessageClass, context: ReceiptContext, /
    ) -> OwedReceipt | None:
        """The receipt for a message of a stream that left its queue; None if none is owed."""
        ...


ReceiptWriters = Mapping[int, ReceiptWriter]
"By the flag of records that names the transport (`storage.layout.TRANSPORT`)."
