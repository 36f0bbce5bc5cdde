"""Reports about the way of a traced message, for the queue that its DebugHeader names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from openmsmq.names.format import PublicName
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass

NOON: Final = 12
_VT_LPWSTR: Final = 31
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)


def report_queue(packet: bytes) -> PublicName | None:
    """The queue that takes reports about a message; None if none are wanted."""
    view = PacketView(packet)
    if not view.base_flags & BaseFlags.TR:
        return None
    debug = view.message().debug
    if debug is None or debug.queue_identifier is None:
        return None
    return PublicName(debug.queue_identifier)


def build_report(
    original: PacketView,
    queue: PublicName,
    *,
    source: UUID,
    message_id: int,
    sent_time: int,
    next_hop: str = "",
) -> bytes:
    """A report: the message was received, or sent to `next_hop` ([MS-MQQB] 3.1.5.8.9, 3.1.7.1.7).

    Both labels say "received by" and name the source, as the specification has it (AMB-42).
    """
    lines = [
        f"<MESSAGE ID>{original.message_id:08x}</MESSAGE ID>",
        f"<TARGET QUEUE>{original.destination}</TARGET QUEUE>",
    ]
    if next_hop:
        lines += [
            f"<NEXT HOP>{next_hop}</NEXT HOP>",
            f"<HOP COUNT>{original.hop_count:02x} </HOP COUNT>",
        ]
    manager = original.source_queue_manager
    start = f"{manager.hex[:4]}:{original.message_id:08x}:{original.hop_count:02x}"
    text = "".join(f"{line}\r\n" for line in lines)
    return PacketBuilder(source, queue).build(
        text.encode("utf-16-le", "surrogatepass"),
        label=f"{start} received by {manager} at {_date(sent_time)}",
        recoverable=False,
        message_id=message_id,
        sent_time=sent_time,
        message_class=MessageClass.REPORT,
        body_type=_VT_LPWSTR,
    )


def _date(seconds: int) -> str:
    """The time as reports write it, in UTC."""
    at = datetime.fromtimestamp(seconds, UTC)
    half = "AM" if at.hour < NOON else "PM"
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{at:%H:%M:%S} {half} {day},{month} {at:%d %y}"
