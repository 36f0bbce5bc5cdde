"""A byte stream cut into packets, however the bytes come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from openmsmq import limits
from openmsmq.packet.group import PacketGroup, group_at
from openmsmq.packet.headers.base import SIGNATURE, VERSION, BaseFlags, BaseHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.packet import read_packet
from openmsmq.wire.reader import Reader

T = TypeVar("T")


class PacketFramer:
    """Collects the bytes of a session and gives whole packets ([MS-MQQB] 2.1.1).

    It never holds more than one unfinished packet and what came with its last bytes. The packets
    before a malformed one are given first; then `packets` raises `Malformed`, for good.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    def receive_data(self, data: bytes) -> None:
        """Take what the peer sent."""
        self._buffer += data

    def clear(self) -> None:
        """Forget what is buffered: the rest is not wanted."""
        self._buffer.clear()

    def packets(self) -> Iterator[bytes]:
        """The packets that are whole, each with its SessionHeader if it carries one."""
        return self._cut(_one_packet)

    def parts(self) -> Iterator[bytes | PacketGroup]:
        """The same, with messages that differ in little as groups."""
        return self._cut(_packet_or_group)

    def _cut(self, take: Callable[[bytearray, int, int], tuple[T, int]]) -> Iterator[T]:
        """What `take` makes of each packet that is whole, by its place and size.

        It also says how many bytes it took.
        """
        start = 0
        try:
            while size := self._packet_size(start):
                part, taken = take(self._buffer, start, size)
                start += taken
                yield part
        finally:
            del self._buffer[:start]

    @property
    def pending(self) -> int:
        """How many bytes wait for the rest of their packet."""
        return len(self._buffer)

    @property
    def rest(self) -> bytes:
        """The buffered bytes, to explain why they make no packet."""
        return bytes(self._buffer)

    def _packet_size(self, start: int) -> int:
        """The bytes of the packet at `start`; 0 while some are missing."""
        available = len(self._buffer) - start
        if available < BaseHeader.SIZE:
            return 0
        version, _, flags, signature, size, _ = BaseHeader.LAYOUT.unpack_from(self._buffer, start)
        if (
            version != VERSION
            or signature != SIGNATURE
            or not BaseHeader.SIZE <= size <= limits.PACKET_SIZE_MAX
        ):
            BaseHeader.read(Reader(bytes(self._buffer[start : start + BaseHeader.SIZE])))
        if available < size:
            return 0
        if flags & BaseFlags.SH and not flags & BaseFlags.IN:
            return self._size_with_session(start, size, available)
        return int(size)

    def _size_with_session(self, start: int, size: int, available: int) -> int:
        """PacketSize leaves a UserMessage's SessionHeader out, unless it is found inside (AMB-1).

        The headers are walked as if 16 bytes followed: a SessionHeader inside leaves them over.
        """
        data = bytes(self._buffer[start : start + size])
        reader = Reader(data + bytes(SessionHeader.SIZE))
        read_packet(reader)
        if reader.remaining:
            return size
        whole = size + SessionHeader.SIZE
        return whole if available >= whole else 0


def _one_packet(buffer: bytearray, start: int, size: int) -> tuple[bytes, int]:
    with memoryview(buffer) as view:
        return bytes(view[start : start + size]), size


def _packet_or_group(buffer: bytearray, start: int, size: int) -> tuple[bytes | PacketGroup, int]:
    group = group_at(buffer, start)
    return _one_packet(buffer, start, size) if group is None else (group, len(group.packets))
