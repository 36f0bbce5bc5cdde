"""The transfer buffer that a dependent client gets back with a message ([MS-MQMP] 3.1.5.3).

Every pointer that the client has set is filled; what it left NULL stays so.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.storage.layout import NEVER, Record
from openmsmq.errors import (
    BufferOverflow,
    FormatNameBufferTooSmall,
    IllegalFormatName,
    LabelBufferTooSmall,
    MQError,
    ProvNameBufferTooSmall,
    SenderCertBufferTooSmall,
    SenderIdBufferTooSmall,
    SignatureBufferTooSmall,
    SymmKeyBufferTooSmall,
)
from openmsmq.interfaces.qm2qm.transfer_buffer import NAMES
from openmsmq.interfaces.queue_format import ObjectId
from openmsmq.names.base import FormatName
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.headers.transaction import TransactionFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, JournalFlags
from openmsmq.wire.text import encode_utf16z

VERSION: Final = 0x10
"pulVersion ([MS-MQMP] 2.2.3.2, note 6)."
NO_SECURITY: Final = SecurityHeader()
Units = tuple[int, ...]
_NAMED: Final[dict[str, Callable[[PacketView], FormatName | None]]] = {
    "response": lambda view: view.response_queue,
    "admin": lambda view: view.admin_queue,
    "destination": lambda view: view.destination,
}
"How names are found; none is known of a queue for the status of transactions."


@dataclass(frozen=True, slots=True)
class Filled:
    """A buffer with what it had room for."""

    buffer: Any
    error: MQError | None
    "The first buffer that was too small, in the order of the fields (SS-26)."


def filled(buffer: Any, entry: Entry, now: int) -> Filled:
    """The buffer with a message ([MS-MQMP] 3.1.1.11, 3.1.5.3); `now` as lifetimes count.

    Lengths are filled in whatever fits, so that the client can ask again.
    """
    view, record = PacketView(entry.packet), Record.unpack(entry.record)
    room = _Room()
    part = room.names(buffer.part, _names(view))
    changes = _numbers(buffer, view, record, now) | _identifiers(buffer, view)
    room.body(changes, buffer, view.body)
    room.title(changes, buffer, _units(view.label))
    security = view.security or NO_SECURITY
    provider = _units(security.provider_name)
    room.octets(changes, buffer, "sender", security.security_id, SenderIdBufferTooSmall)
    room.octets(changes, buffer, "certificate", security.sender_cert, SenderCertBufferTooSmall)
    room.provider(changes, buffer, provider)
    room.octets(changes, buffer, "keys", security.encryption_key, SymmKeyBufferTooSmall)
    room.octets(changes, buffer, "signature", security.signature, SignatureBufferTooSmall)
    room.octets(changes, buffer, "extension", view.extension, BufferOverflow)
    return Filled(replace(buffer, part=part, **changes), room.error)


class _Room:
    """Fills arrays as far as they have room, and knows the first that was too small."""

    def __init__(self) -> None:
        self.error: MQError | None = None

    def _fits(self, needed: int, size: int, error: type[MQError]) -> bool:
        """Whether there is room, which is tested first ([MS-MQMP] 3.1.5.3, note 73)."""
        if needed <= size:
            return True
        self.error = self.error or error(f"{needed} are needed, there is room for {size}")
        return False

    def names(self, part: Any, found: dict[str, Units]) -> Any:
        """The names of queues, which count their null ([MS-MQMP] 3.1.5.3; SS-45, SS-46)."""
        changes: dict[str, Any] = {}
        for name in NAMES:
            self._text(changes, part, found[name], f"{name}_name", name, FormatNameBufferTooSmall)
        return replace(part, **changes)

    def title(self, changes: dict[str, Any], buffer: Any, label: Units) -> None:
        """The label ([MS-MQMP] 3.1.5.3)."""
        self._text(changes, buffer, label, "title", "title", LabelBufferTooSmall)

    def _text(
        self,
        changes: dict[str, Any],
        given: Any,
        units: Units,
        field: str,
        name: str,
        error: type[MQError],
    ) -> None:
        """A text that is cut to its length, with its size and its full length."""
        if getattr(given, f"{name}_needed") is not None:
            changes[f"{name}_needed"] = len(units)
        size = getattr(given, f"{name}_size")
        if getattr(given, field) is not None and self._fits(len(units), size, error):
            changes[field], changes[f"{name}_size"] = units, len(units)

    def body(self, changes: dict[str, Any], buffer: Any, body: bytes) -> None:
        """The body; the size of the buffer stays ([MS-MQMP] 3.1.5.3)."""
        self.octets(changes, buffer, "body", body, BufferOverflow)

    def octets(
        self,
        changes: dict[str, Any],
        buffer: Any,
        field: str,
        data: bytes,
        error: type[MQError],
    ) -> None:
        """Bytes at the start of an array whose size stays ([MS-MQMP] 3.1.5.3)."""
        if getattr(buffer, f"{field}_needed") is not None:
            changes[f"{field}_needed"] = len(data)
        size = getattr(buffer, f"{field}_size")
        if getattr(buffer, field) is not None and self._fits(len(data), size, error):
            changes[field] = data.ljust(size, b"\0")

    def provider(self, changes: dict[str, Any], buffer: Any, units: Units) -> None:
        """The name of a provider, in an array whose size stays ([MS-MQMP] 3.1.5.3)."""
        if buffer.provider_needed is not None:
            changes["provider_needed"] = len(units)
        size = buffer.provider_size
        if buffer.provider is not None and self._fits(len(units), size, ProvNameBufferTooSmall):
            changes["provider"] = units + (0,) * (size - len(units))


def _numbers(buffer: Any, view: PacketView, record: Record, now: int) -> dict[str, Any]:
    """All that is a number, of what the client wants ([MS-MQMP] 2.2.3.2, 2.2.3.3)."""
    security, transaction = view.security or NO_SECURITY, view.transaction
    flags = 0 if transaction is None else transaction.flags
    auditing = view.dead_letter * JournalFlags.DEAD_LETTER | view.journal * JournalFlags.JOURNAL
    left = INFINITE if record.expires == NEVER else max(0, record.expires - now)
    found = {
        "message_class": record.message_class or view.message_class,
        "sent": view.sent_time,
        "arrived": record.arrived_time,
        "priority": view.priority,
        "delivery": int(view.recoverable),
        "acknowledge": view.acknowledge,
        "auditing": int(auditing),
        "application_tag": view.app_specific,
        "relative_time_to_queue": view.time_to_reach_queue,
        "time_left_to_live": left,
        "trace": int(view.trace),
        "sender_type": security.flags & SecurityFlags.ST,
        "privacy": view.privacy_level,
        "authenticated": security.signature_type,
        "hash_algorithm": view.hash_algorithm,
        "provider_type": security.provider_type,
        "body_type": view.body_type,
        "version": VERSION,
        "is_first": int(bool(flags & TransactionFlags.FM)),
        "is_last": int(bool(flags & TransactionFlags.LM)),
    }
    if buffer.encryption_algorithm is not None:
        found["encryption_algorithm"] = view.message().properties.encryption_algorithm
    return {name: value for name, value in found.items() if getattr(buffer, name) is not None}


def _identifiers(buffer: Any, view: PacketView) -> dict[str, Any]:
    """Identifiers, of what the client wants ([MS-MQMP] 2.2.3.2, 2.2.3.3)."""
    source, transaction = view.source_queue_manager, view.transaction
    number = 0 if transaction is None else transaction.transaction_id
    found = {
        "message_id": ObjectId(source, view.message_id),
        "correlation_id": view.correlation_id,
        "source": source,
        "connector_type": view.connector_type,
        "transaction_id": ObjectId(source, number),
    }
    return {
        name: value
        for name, value in found.items()
        if getattr(buffer, name) is not None and value is not None
    }


def _names(view: PacketView) -> dict[str, Units]:
    """The names that a message has, each with its null ([MS-MQMP] 3.1.1.11)."""
    found: dict[str, FormatName | None] = dict.fromkeys(NAMES)
    for name, read in _NAMED.items():
        with suppress(IllegalFormatName):
            found[name] = read(view)
    return {name: _units("" if value is None else str(value)) for name, value in found.items()}


def _units(text: str) -> Units:
    """A text with its null; nothing for none."""
    return tuple(array("H", encode_utf16z(text))) if text else ()
