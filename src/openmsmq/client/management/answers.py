"""From the properties that a manager answers to values for programs ([MS-MQMR] 3.2.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from openmsmq.errors import Malformed
from openmsmq.interfaces.management import stubs
from openmsmq.interfaces.variants import NULL
from openmsmq.properties.managed import (
    ConnectionAttempt,
    IncomingStream,
    ManagedMachine,
    ManagedQueueInfo,
    SequencePosition,
)
from openmsmq.properties.propid import MGMT_MSMQ, MGMT_QUEUE, Property
from openmsmq.properties.structures import SequenceInfo
from openmsmq.properties.values import ManagerConnection
from openmsmq.properties.variant import PropVariant, Value
from openmsmq.wire.reader import Reader

PropertyT = TypeVar("PropertyT", bound=Property)
MACHINE: Final = tuple(MGMT_MSMQ)
QUEUE: Final = tuple(MGMT_QUEUE)
OLD_MACHINE: Final = tuple(item for item in MGMT_MSMQ if item.value < 6)
"What managers before 3.0 know (notes 1 to 4)."
OLD_QUEUE: Final = tuple(item for item in MGMT_QUEUE if item.value < 24)
"What older managers know (notes 8 to 11)."


def get_info(managed: stubs.ManagedObject, wanted: tuple[Property, ...]) -> stubs.GetInfo:
    """The arguments that ask for properties; every value is VT_NULL ([MS-MQMR] 3.1.4.1)."""
    numbers = tuple(item.value for item in wanted)
    return stubs.GetInfo(managed, len(numbers), numbers, (NULL,) * len(numbers))


def values_of(
    wanted: tuple[PropertyT, ...], results: stubs.GetInfoResults
) -> dict[PropertyT, Value]:
    """The values by property, as they came; `Malformed` if their number is another."""
    if len(results.values) != len(wanted):
        raise Malformed("apVar", 0, f"{len(results.values)} values, {len(wanted)} were asked for")
    pairs = zip(wanted, results.values, strict=True)
    return {item: value.variant().value for item, value in pairs}


def machine_of(found: Mapping[MGMT_MSMQ, Value]) -> ManagedMachine:
    """What a manager says of itself."""
    return ManagedMachine(
        active_queues=_texts(found.get(MGMT_MSMQ.ACTIVEQUEUES)) or (),
        private_queues=_texts(found.get(MGMT_MSMQ.PRIVATEQ)) or (),
        directory_server=_text(found.get(MGMT_MSMQ.DSSERVER)),
        connected=found.get(MGMT_MSMQ.CONNECTED) != ManagerConnection.DISCONNECTED,
        type=_text(found.get(MGMT_MSMQ.TYPE)) or "",
        bytes=_number(found.get(MGMT_MSMQ.BYTES_IN_ALL_QUEUES)),
    )


def queue_of(found: Mapping[MGMT_QUEUE, Value]) -> ManagedQueueInfo:
    """What a manager says of a queue; VT_NULL is None everywhere (MG-18)."""
    named: dict[str, Any] = {
        name: convert(found.get(item)) for name, (item, convert) in FIELDS.items()
    }
    return ManagedQueueInfo(**named)


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Value) -> int | None:
    return value if isinstance(value, int) else None


def _texts(value: Value) -> tuple[str, ...] | None:
    """A vector of texts, or of variants of texts, as some managers have it.

    ([MS-MQMR] 3.1.4.1; MG-07)
    """
    if not isinstance(value, tuple):
        return None
    return tuple(str(item.value if isinstance(item, PropVariant) else item) for item in value)


def _position(value: Value) -> SequencePosition | None:
    if not isinstance(value, bytes):
        return None
    info = Reader(value).fixed(SequenceInfo)
    return SequencePosition(info.seq_id & 0xFFFF_FFFF_FFFF_FFFF, info.seq_no, info.prev_no)


def _columns(value: Value, count: int) -> list[tuple[Any, ...]] | None:
    """The parallel vectors of a table; `Malformed` if their number or lengths differ."""
    if not isinstance(value, tuple):
        return None
    columns = [item.value for item in value if isinstance(item, PropVariant)]
    found = [column for column in columns if isinstance(column, tuple)]
    if len(found) != count or len({len(column) for column in found}) > 1:
        raise Malformed("PROPVARIANT", 0, f"not a table of {count} columns")
    return found


def _incoming(value: Value) -> tuple[IncomingStream, ...] | None:
    columns = _columns(value, 6)
    if columns is None:
        return None
    rows = zip(*columns, strict=True)
    return tuple(IncomingStream(name, str(sender), *rest) for name, sender, *rest in rows)


def _attempts(value: Value) -> tuple[ConnectionAttempt, ...] | None:
    columns = _columns(value, 4)
    if columns is None:
        return None
    return tuple(
        ConnectionAttempt(time, status, error & 0xFFFFFFFF, _addresses(addresses))
        for status, time, error, addresses in zip(*columns, strict=True)
    )


def _addresses(value: Any) -> tuple[str, ...]:
    """A vector of texts in a variant; some managers may send one text (MG-06)."""
    inner = value.value if isinstance(value, PropVariant) else value
    return (inner,) if isinstance(inner, str) else _texts(inner) or ()


FIELDS: Final[Mapping[str, tuple[MGMT_QUEUE, Callable[[Value], object]]]] = {
    "path_name": (MGMT_QUEUE.PATHNAME, _text),
    "format_name": (MGMT_QUEUE.FORMATNAME, _text),
    "type": (MGMT_QUEUE.TYPE, _text),
    "location": (MGMT_QUEUE.LOCATION, _text),
    "transactional": (MGMT_QUEUE.XACT, _text),
    "foreign": (MGMT_QUEUE.FOREIGN, _text),
    "messages": (MGMT_QUEUE.MESSAGE_COUNT, _number),
    "bytes": (MGMT_QUEUE.BYTES_IN_QUEUE, _number),
    "journal_messages": (MGMT_QUEUE.JOURNAL_MESSAGE_COUNT, _number),
    "journal_bytes": (MGMT_QUEUE.BYTES_IN_JOURNAL, _number),
    "state": (MGMT_QUEUE.STATE, _text),
    "next_hops": (MGMT_QUEUE.NEXTHOPS, _texts),
    "last_ack": (MGMT_QUEUE.EOD_LAST_ACK, _position),
    "last_ack_time": (MGMT_QUEUE.EOD_LAST_ACK_TIME, _number),
    "last_ack_count": (MGMT_QUEUE.EOD_LAST_ACK_COUNT, _number),
    "first_unacknowledged": (MGMT_QUEUE.EOD_FIRST_NON_ACK, _position),
    "last_unacknowledged": (MGMT_QUEUE.EOD_LAST_NON_ACK, _position),
    "next": (MGMT_QUEUE.EOD_NEXT_SEQ, _position),
    "unread": (MGMT_QUEUE.EOD_NO_READ_COUNT, _number),
    "unacknowledged": (MGMT_QUEUE.EOD_NO_ACK_COUNT, _number),
    "resend_time": (MGMT_QUEUE.EOD_RESEND_TIME, _number),
    "resend_interval": (MGMT_QUEUE.EOD_RESEND_INTERVAL, _number),
    "sends": (MGMT_QUEUE.EOD_RESEND_COUNT, _number),
    "incoming": (MGMT_QUEUE.EOD_SOURCE_INFO, _incoming),
    "attempts": (MGMT_QUEUE.CONNECTION_HISTORY, _attempts),
    "subqueue_count": (MGMT_QUEUE.SUBQUEUE_COUNT, _number),
    "subqueues": (MGMT_QUEUE.SUBQUEUE_NAMES, _texts),
}
"Which property a field is, and how it is read."
