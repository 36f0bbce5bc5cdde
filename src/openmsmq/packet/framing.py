"""A byte stream cut into packets, however the bytes come."""

from __future__ import annotations

from collections.abc import Iterator

from openmsmq import limits
from openmsmq.packet.group import PacketGroup, group_at
from openmsmq.packet.headers.base import SIGNATURE, VERSION, BaseFlags, BaseHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.packet import read_packet
from openmsmq.wire.reader import Reader


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
        buffer = self._buffer
        start = 0
        try:
            while size := self._packet_size(start):
                with memoryview(buffer) as view:
                    packet = bytes(view[start : start + size])
                start += size
                yield packet
        finally:
            del buffer[:start]

    def parts(self) -> Iterator[bytes | PacketGroup]:
        """The same, with messages that differ in little as groups."""
        buffer = self._buffer
        start = 0
        try:
            while size := self._packet_size(start):
                group = group_at(buffer, start)
                if group is not None:
                    start += len(group.packets)
                    yield group
                    continue
                with memoryview(buffer) as view:
                    packet = bytes(view[start : start + size])
                start += size
                yield packet
        finally:
            del buffer[:start]

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
