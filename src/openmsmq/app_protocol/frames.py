"""Frames: what a connection of the application protocol is cut into."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple, NoReturn

from openmsmq.errors import Malformed

FRAME_SIZE_FIRST: Final = 64 * 1024
"What a frame may have before the WELCOME says otherwise, and what any WELCOME allows."

_HEADER: Final = Struct("<IBI")
_UNCOUNTED: Final = 4
"Bytes of the size itself."
_COUNTED: Final = _HEADER.size - _UNCOUNTED
"The least size: that of kind and id."

_PIECE: Final = 4096
"Bytes up to which what comes little by little is put together at once, not to cost more."


class Kind(IntEnum):
    """What a frame is."""

    HELLO = 0x01
    CALL = 0x02
    SEND = 0x03
    READ = 0x04
    END = 0x05
    SUBSCRIBE = 0x06
    CREDIT = 0x07
    CANCEL = 0x08
    PING = 0x09
    FETCH = 0x0A
    POST = 0x0B
    END_RANGES = 0x0C
    SEND_RUN = 0x0D
    WELCOME = 0x81
    ANSWER = 0x82
    SENT = 0x83
    MESSAGES = 0x84
    DONE = 0x85
    DELIVERY = 0x86
    POSTED = 0x87
    SLICES = 0x88
    PONG = 0x89
    DELIVERED_SLICES = 0x8A
    CLOSING = 0x8E
    ERROR = 0x8F


_FROM_EITHER: Final = (Kind.PING, Kind.PONG)
FROM_CLIENT: Final[Mapping[int, Kind]] = {
    kind.value: kind for kind in Kind if kind < Kind.WELCOME or kind in _FROM_EITHER
}
"What a server may be sent."
FROM_SERVER: Final[Mapping[int, Kind]] = {
    kind.value: kind for kind in Kind if kind >= Kind.WELCOME or kind in _FROM_EITHER
}
"What a client may be sent."


class Frame(NamedTuple):
    """One frame."""

    kind: Kind
    id: int
    "Of the request; 0 if it belongs to none."
    payload: bytes


def encode_frame(kind: Kind, id: int, *parts: bytes) -> bytes:
    """The bytes of a frame whose payload is `parts`, one after the other."""
    size = _COUNTED + sum(map(len, parts))
    return b"".join((_HEADER.pack(size, kind, id), *parts))


class Framer:
    """Collects the bytes of a connection and gives whole frames.

    A size beyond the limit and a kind that the other side may not send are refused when the first 9
    bytes of a frame are there; its payload costs what of it has arrived. The frames before a
    malformed one are given first; then `next_frame` raises `Malformed`, for good.
    """

    __slots__ = ("_data", "_more", "_start", "_waiting", "accepts", "has_more", "limit")

    def __init__(self, accepts: Mapping[int, Kind], *, limit: int = FRAME_SIZE_FIRST) -> None:
        self.accepts = accepts
        self.limit = limit
        "The largest size; it may be set anew at any time, also between two frames."
        self.has_more = False
        "Something has come that is in no frame yet."
        self._data = b""
        "Is cut into frames where it lies: copies are the cost of small frames."
        self._start = 0
        self._more: deque[bytes] = deque()
        "What came before all of `_data` was used up: large frames, which are put together once."
        self._waiting = 0
        "Bytes in it."

    def receive_data(self, data: bytes) -> None:
        """Take what the other side sent."""
        if not self.has_more:
            self._data = data
            self._start = 0
            self.has_more = bool(data)
            return
        more = self._more
        self._waiting += len(data)
        if more and len(more[-1]) + len(data) <= _PIECE:
            more[-1] += data
        else:
            more.append(data)

    def next_frame(self) -> Frame | None:
        """The next frame, if it is whole."""
        while self.has_more:
            data, start = self._data, self._start
            payload = start + _HEADER.size
            if payload > len(data):
                if self._more:
                    self._waiting -= len(self._more[0])
                    self._data, self._start = data[start:] + self._more.popleft(), 0
                    continue
                break
            size, code, id = _HEADER.unpack_from(data, start)
            kind = self.accepts.get(code)
            if kind is None or not _COUNTED <= size <= self.limit:
                self._refuse(size, code)
            end = start + _UNCOUNTED + size
            if end <= len(data):
                content = data[payload:end]
                self._start = end
            elif end <= len(data) + self._waiting:
                content = self._joined(payload, end)
            else:
                break
            if self._start == len(self._data) and not self._more:
                self.has_more = False
                self._data, self._start = b"", 0  # it may be large, and the next long to come
            return tuple.__new__(Frame, (kind, id, content))
        return None

    def _joined(self, payload: int, end: int) -> bytes:
        """The payload of a frame that came in pieces; the rest of the last one stays."""
        parts: list[bytes | memoryview] = [memoryview(self._data)[payload:]]
        left = end - len(self._data)
        while left > 0:
            piece = self._more.popleft()
            self._waiting -= len(piece)
            parts.append(memoryview(piece)[:left])
            self._data, self._start = piece, min(left, len(piece))
            left -= len(piece)
        return b"".join(parts)

    def _refuse(self, size: int, code: int) -> NoReturn:
        if code not in self.accepts:
            raise Malformed("kind", _UNCOUNTED, f"{code:#04x} is not one to be sent here")
        raise Malformed("size", 0, f"is {size}, outside {_COUNTED} to {self.limit}")

    @property
    def pending(self) -> int:
        """How many bytes have come that were not given yet."""
        return len(self._data) - self._start + self._waiting
