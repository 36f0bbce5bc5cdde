"""The MSMQ packets in a capture: conversations separated, streams reassembled and described."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from openmsmq.capture.capture import CapturedFrame
from openmsmq.capture.ip import Datagram, Segment, read_frame
from openmsmq.capture.limits import CONVERSATIONS_MAX, KEPT_SIZE_MAX
from openmsmq.capture.pcap import Endpoint
from openmsmq.capture.tcp import TcpStream
from openmsmq.errors import Malformed
from openmsmq.packet.describe import Description, describe
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.headers.base import SIGNATURE, VERSION
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket

SESSION_PORT: Final = 1801
PING_PORT: Final = 3527
_SIGNATURE: Final = SIGNATURE.to_bytes(4, "little")
_PING: Final = PING_SIGNATURE.to_bytes(2, "little")
_SIGNATURE_PLACE: Final = 4


@dataclass(frozen=True, slots=True)
class CapturedPacket:
    """A packet, with its source and destination."""

    time: int
    "Nanoseconds since 1970 UTC, when its last byte came."
    conversation: int
    "Counted from 1; each datagram is one of its own."
    protocol: str
    "tcp or udp."
    source: Endpoint
    target: Endpoint
    description: Description
    "Its offset counts from the start of what `source` said."


def captured_packets(
    frames: Iterable[CapturedFrame], port: int | None = None
) -> Iterator[CapturedPacket]:
    """The packets in `frames`, each when it is whole.

    Those to and from `port`, whatever they hold. Without it: to and from the ports of MSMQ, and
    all that begins as MSMQ does.
    """
    return _Capture(port).packets(frames)


class _Direction:
    """What one side of a conversation says."""

    def __init__(self, *, expected: bool) -> None:
        self._is_expected = expected
        "MSMQ is spoken here; anything else is worth telling."
        self._stream = TcpStream()
        self._framer = PacketFramer()
        self._is_aligned = False
        "The framer stands at the start of a packet, or in it."
        self._is_over = False
        "What follows cannot be understood."
        self._start = 0
        "Where in the stream the next packet starts."

    @property
    def kept(self) -> int:
        """Bytes that wait for others."""
        return self._stream.held + self._framer.pending

    def add(self, segment: Segment) -> Iterator[Description]:
        """Take a segment; the packets that are whole now."""
        if self._is_over:
            return
        first = segment.sequence
        if segment.opens:
            first += 1
            self._is_aligned |= not self._stream.has_begun
            self._stream.begin(first)
        yield from self._take(self._stream.add(first, segment.data))
        while self._stream.is_stuck and not self._is_over:
            yield from self._skip()

    def finish(self) -> Iterator[Description]:
        """What is left when no more comes."""
        while self._stream.held and not self._is_over:
            yield from self._skip()
        if self._framer.pending and self._is_expected and not self._is_over:
            missing = Malformed("packet", 0, "the rest of it is not in the capture")
            yield self._refused(missing)

    def _take(self, pieces: list[bytes]) -> Iterator[Description]:
        place = self._stream.position - sum(map(len, pieces))
        for piece in pieces:
            start = 0 if self._is_aligned else _find_packet(piece)
            if start >= 0 and not self._is_over:
                if not self._is_aligned:
                    self._is_aligned, self._start = True, place + start
                self._framer.receive_data(piece[start:])
                yield from self._whole()
            place += len(piece)

    def _whole(self) -> Iterator[Description]:
        try:
            for packet in self._framer.packets():
                self._is_expected = True
                yield _described(packet, self._start)
                self._start += len(packet)
        except Malformed as error:
            if self._is_expected:
                yield self._refused(error)
            self._is_over = True
            self._framer = PacketFramer()

    def _refused(self, error: Malformed) -> Description:
        """The packet that the framer cannot or will not finish, as far as it can be read."""
        found = _described(self._framer.rest, self._start)
        if found.error is None:
            return Description("Unknown", self._start, found.data, (), error)
        return found

    def _skip(self) -> Iterator[Description]:
        """Go on behind a hole, at the next packet that can be seen to start."""
        place = self._stream.position
        missing, pieces = self._stream.skip()
        if self._is_expected:
            reason = f"{missing} bytes are missing in the capture"
            yield Description("Missing", place, b"", (), Malformed("stream", 0, reason))
        self._framer = PacketFramer()
        self._is_aligned = False
        yield from self._take(pieces)


def _described(data: bytes, start: int) -> Description:
    """The packet that `data` begins with, `start` bytes into its stream."""
    found = next(describe(data))
    return Description(found.kind, start, found.data, found.fields, found.error)


def _find_packet(data: bytes) -> int:
    """Where a packet seems to start in `data`; -1 if none does."""
    place = data.find(_SIGNATURE, _SIGNATURE_PLACE)
    while place >= 0 and data[place - _SIGNATURE_PLACE] != VERSION:
        place = data.find(_SIGNATURE, place + 1)
    return place - _SIGNATURE_PLACE if place >= 0 else -1


class _Conversation:
    """A TCP connection."""

    def __init__(self, opening: int | None, *, expected: bool) -> None:
        self.opening = opening
        "The sequence number of the SYN that began it, if that was seen."
        self.number = 0
        "0 until there is something to tell."
        self.time = 0
        self._is_expected = expected
        self.directions: dict[tuple[Endpoint, Endpoint], _Direction] = {}

    def direction(self, source: Endpoint, target: Endpoint) -> _Direction:
        """What `source` says."""
        key = source, target
        if key not in self.directions:
            self.directions[key] = _Direction(expected=self._is_expected)
        return self.directions[key]


class _Capture:
    """All conversations of a capture, those that were active last at the end."""

    def __init__(self, port: int | None) -> None:
        self._port = port
        self._conversations: OrderedDict[tuple[Endpoint, ...], _Conversation] = OrderedDict()
        self._count = 0
        self._kept = 0

    def packets(self, frames: Iterable[CapturedFrame]) -> Iterator[CapturedPacket]:
        for frame in frames:
            found = read_frame(frame.link, frame.data)
            if isinstance(found, Segment):
                yield from self._segment(found, frame.time)
            elif found is not None:
                yield from self._datagram(found, frame.time)
        while self._conversations:
            yield from self._give_up()

    def _segment(self, segment: Segment, time: int) -> Iterator[CapturedPacket]:
        source, target = segment.source, segment.target
        if self._port is not None and self._port not in (source[1], target[1]):
            return
        key = tuple(sorted((source, target)))
        conversation = self._conversations.get(key)
        opening = segment.sequence if segment.opens and not segment.acknowledges else None
        if conversation and opening is not None and opening != conversation.opening:
            self._conversations.move_to_end(key, last=False)
            yield from self._give_up()
            conversation = None
        if conversation is None:
            expected = self._is_expected(SESSION_PORT, source, target)
            conversation = self._conversations[key] = _Conversation(opening, expected=expected)
        self._conversations.move_to_end(key)
        conversation.time = time
        direction = conversation.direction(source, target)
        before = direction.kept
        for description in direction.add(segment):
            yield self._captured(conversation, source, target, description)
        self._kept += direction.kept - before
        while len(self._conversations) > CONVERSATIONS_MAX or self._kept > KEPT_SIZE_MAX:
            yield from self._give_up()

    def _give_up(self) -> Iterator[CapturedPacket]:
        """Forget the conversation that has been quiet for longest."""
        _, conversation = self._conversations.popitem(last=False)
        for (source, target), direction in conversation.directions.items():
            self._kept -= direction.kept
            for description in direction.finish():
                yield self._captured(conversation, source, target, description)

    def _captured(
        self, conversation: _Conversation, source: Endpoint, target: Endpoint, found: Description
    ) -> CapturedPacket:
        conversation.number = conversation.number or self._next_number()
        return CapturedPacket(conversation.time, conversation.number, "tcp", source, target, found)

    def _datagram(self, datagram: Datagram, time: int) -> Iterator[CapturedPacket]:
        source, target, data = datagram.source, datagram.target, datagram.data
        is_ping = len(data) == PingPacket.SIZE and data[2:4] == _PING and self._port is None
        if data and (is_ping or self._is_expected(PING_PORT, source, target)):
            number = self._next_number()
            yield CapturedPacket(time, number, "udp", source, target, _described(data, 0))

    def _is_expected(self, port: int, source: Endpoint, target: Endpoint) -> bool:
        return (self._port or port) in (source[1], target[1])

    def _next_number(self) -> int:
        self._count += 1
        return self._count
