"""The last packets of a session, for people who look at it: what each was, and no content."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from openmsmq.clock import Clock
from openmsmq.packet.connection import SESSION_ACK_START
from openmsmq.packet.headers.base import SIGNATURE, BaseFlags, BaseHeader
from openmsmq.packet.headers.internal import InternalFlags, InternalHeader, InternalType
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.walk import FLAGS, u16, u32
from openmsmq.transports.limits import TRACE_BYTES_MAX, TRACE_PACKETS_MAX, TRACE_PIECES_MAX
from openmsmq.types.peers import SessionPacket

PART: Final = "part of a packet"
MORE: Final = "more packets"
_SIGNATURE: Final = SIGNATURE.to_bytes(4, "little")
_TYPE: Final = InternalFlags.PT
_TYPE_AT: Final = BaseHeader.SIZE + InternalHeader.offset_of("Flags")
_ACK_SIZE: Final = len(SESSION_ACK_START) + SessionHeader.SIZE
_INTERNAL: Final[dict[int, str]] = {
    InternalType.SESSION_ACK: "SessionAck",
    InternalType.ESTABLISH_CONNECTION: "EstablishConnection",
    InternalType.CONNECTION_PARAMETERS: "ConnectionParameters",
}


class PacketTrace:
    """What a session has read and written last: the beginning of each piece."""

    __slots__ = ("_clock", "_pieces")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pieces: deque[tuple[float, bool, bool, int, bytes]] = deque(maxlen=TRACE_PIECES_MAX)

    def note(self, data: bytes, *, is_sent: bool, is_whole: bool = True) -> None:
        """Some bytes went or came; `is_whole` if they begin with a packet."""
        self._pieces.append(
            (self._clock.now(), is_sent, is_whole, len(data), data[:TRACE_BYTES_MAX])
        )

    def packets(self) -> tuple[SessionPacket, ...]:
        """The last packets, the newest first."""
        found = [packet for piece in self._pieces for packet in _packets(*piece)]
        return tuple(found[::-1][:TRACE_PACKETS_MAX])


def _packets(
    now: float, is_sent: bool, is_whole: bool, size: int, start: bytes
) -> Iterator[SessionPacket]:
    """What is in a piece, as far as its beginning shows that."""
    at, millis = 0, int(now * 1000)
    while is_whole and at + BaseHeader.SIZE <= len(start) and start[at + 4 : at + 8] == _SIGNATURE:
        flags, length = u16(start, at + 2)[0], u32(start, at + 8)[0]
        behind = (
            flags & (BaseFlags.SH | BaseFlags.IN) == BaseFlags.SH
        )  # what its size does not count
        own = min(length + behind * SessionHeader.SIZE, size - at)
        yield SessionPacket(millis, is_sent, _kind(start, at, flags), own)
        at += max(own, BaseHeader.SIZE)
    if at < size:
        yield SessionPacket(millis, is_sent, MORE if at else PART, size - at)


def _kind(data: bytes, at: int, flags: int) -> str:
    """What a packet is, in words."""
    if flags & BaseFlags.IN:
        if data.startswith(SESSION_ACK_START, at) and at + _ACK_SIZE <= len(data):
            header = SessionHeader.unpack(data[at + len(SESSION_ACK_START) : at + _ACK_SIZE])
            return f"SessionAck: {header.ack_sequence_number} came, window {header.window_size}"
        code = data[at + _TYPE_AT : at + _TYPE_AT + 1]
        return _INTERNAL.get(code[0] & _TYPE if code else 0, "internal packet")
    if at + FLAGS + 4 > len(data):
        return "message"
    user = u32(data, at + FLAGS)[0]
    if user & UserFlags.TH:
        return "transactional message"
    return "recoverable message" if user & UserFlags.DM else "express message"
