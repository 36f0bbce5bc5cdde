"""Receipts: what a transport tells the sender of a message that it brought, maybe days later.

A local receive owes its receipt in the same commit, also in a process where no transport runs. So
each transport gives the engine a pure function that writes its receipts; a flag in the record of a
message names the transport that brought it.
"""

from __future__ import annotations

from collections.abc import Mapping
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


class OwedReceipt(NamedTuple):
    """A packet for the sender of a message."""

    destination: FormatName
    "The outgoing queue in which it waits."
    packet: bytes


class ReceiptWriter(Protocol):
    """Writes the receipts of one transport; it is pure."""

    def __call__(
        self, packet: bytes, reason: MessageClass, context: ReceiptContext, /
    ) -> OwedReceipt:
        """The receipt for a message that left its queue for a reason."""
        ...


ReceiptWriters = Mapping[int, ReceiptWriter]
"By the flag of records that names the transport (`storage.layout.RECEIPTS`)."
