"""The commit log: a file to which small commits are added, with one sync for each.

LMDB itself makes a commit last by two syncs, one after the other: of its pages, and of the one that
says where they are. With a log beside it, LMDB writes without waiting for the disk; its file is
synced at checkpoints (`checkpoints.py`), and what came after the last one is in the log.

    0       two headers in turn, so that one of them is whole
    8192    two segments; records go to one of them, and at a checkpoint to the other

A record is the size of what follows, a checksum, its number, and a `Redo`. Numbers rise by one:
what is left of earlier records in the same place does not count.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openmsmq.errors import StoreDamaged
from openmsmq.store.directories import sync_directory
from openmsmq.store.faults import FULL
from openmsmq.store.limits import LOGGED_MAX, SEGMENT_SIZE
from openmsmq.store.pages import META_SIZE, Anchor

LOG_FILE: Final = "openmsmq.commits"
_MAKING: Final = LOG_FILE + ".making"
_MAGIC: Final = b"OMSQLOG1"
_HEADER: Final = struct.Struct(f"<8sQ16sIQ I{META_SIZE}s{META_SIZE}sI")
_CHECKSUM: Final = struct.Struct("<I")
_RECORD: Final = struct.Struct("<IIQ")
_PLACE: Final = 4096
"Bytes for each of the headers."
_SEGMENTS: Final = (2 * _PLACE, 2 * _PLACE + SEGMENT_SIZE)
"Where they begin."
_STEP: Final = 256 * 1024
"By how much the file grows: to write where it has blocks takes less time than to get more."

sync = getattr(os, "fdatasync", os.fsync)
"Let what was written to a file be on disk; what macOS has instead does more."


@dataclass(frozen=True, slots=True)
class _Header:
    """What a checkpoint was, and where the records begin that came after it."""

    generation: int
    epoch: bytes
    "Random, and part of each checksum: records of an earlier log do not count."
    start: int
    number: int
    "Of the first record."
    anchor: Anchor

    def pack(self) -> bytes:
        """The bytes that are written."""
        anchor = self.anchor
        packed = _HEADER.pack(
            _MAGIC,
            *(self.generation, self.epoch, self.start, self.number),
            *(anchor.page_size, *anchor.metas, anchor.roots),
        )
        return packed + _CHECKSUM.pack(zlib.crc32(packed))

    @classmethod
    def read(cls, file: int, place: int) -> _Header | None:
        """The header at this place, if it is whole."""
        packed = os.pread(file, _HEADER.size + _CHECKSUM.size, place)
        if len(packed) < _HEADER.size + _CHECKSUM.size:
            return None
        checksum = zlib.crc32(packed[: _HEADER.size])
        magic, generation, epoch, start, number, *anchor = _HEADER.unpack_from(packed)
        if magic != _MAGIC or _CHECKSUM.unpack_from(packed, _HEADER.size) != (checksum,):
            return None
        page_size, first, second, roots = anchor
        return cls(generation, epoch, start, number, Anchor(page_size, (first, second), roots))


class CommitLog:
    """A log that is written to; it begins with a checkpoint."""

    def __init__(self, directory: Path, anchor: Anchor) -> None:
        """`anchor` is where everything is in the data file, which is synced."""
        self._path = directory / LOG_FILE
        self._header = _Header(0, os.urandom(16), _SEGMENTS[0], 0, anchor)
        self._number = 0
        "Of the next record."
        self._at = _SEGMENTS[0]
        "Where it goes."
        self._size = _SEGMENTS[0]
        "Bytes of the file that have blocks."
        making = directory / _MAKING
        self._file = os.open(making, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.pwrite(self._file, self._header.pack().ljust(self._size, b"\0"), 0)
            os.fsync(self._file)
            making.rename(self._path)
            sync_directory(directory)
        except BaseException:
            os.close(self._file)
            making.unlink(missing_ok=True)
            raise

    @property
    def is_full(self) -> bool:
        """The segment has no room for another record of any size."""
        end = _SEGMENTS[self._at >= _SEGMENTS[1]] + SEGMENT_SIZE
        return end - self._at < _RECORD.size + LOGGED_MAX

    def add(self, packed: bytes) -> bool:
        """Add a record, which is on disk when this returns; False if the disk is full."""
        number = self._number
        checksum = _checksum(self._header.epoch, number, packed)
        record = _RECORD.pack(len(packed), checksum, number) + packed
        at, end = self._at, self._at + len(record)
        if end > self._size:
            self._size = end + _STEP
            record += bytes(
                _STEP
            )  # at the end of the second segment these are too many, and harmless
        try:
            if os.pwrite(self._file, record, at) < end - at:
                return False
            sync(self._file)
        except OSError as error:
            if error.errno in FULL:
                return False
            raise
        self._at, self._number = end, number + 1
        return True

    def turn(self) -> tuple[int, int]:
        """Go on in the other segment; where that is, and the number of its first record."""
        self._at = _SEGMENTS[self._at < _SEGMENTS[1]]
        return self._at, self._number

    def begin_at(self, place: tuple[int, int], anchor: Anchor) -> None:
        """There was a checkpoint: records before this place do not count any more."""
        generation, epoch = self._header.generation + 1, self._header.epoch
        header = _Header(generation, epoch, *place, anchor)
        os.pwrite(self._file, header.pack(), generation % 2 * _PLACE)
        sync(self._file)
        self._header = header

    def remove(self) -> None:
        """All that it has is on disk without it."""
        self.close()
        self._path.unlink()

    def close(self) -> None:
        """Leave the file where it is."""
        os.close(self._file)


def read_log(path: Path) -> tuple[Anchor, list[bytes]]:
    """The last checkpoint, and each record that came after it."""
    file = os.open(path, os.O_RDONLY)
    try:
        headers = [_Header.read(file, place) for place in (0, _PLACE)]
        header = max(filter(None, headers), key=lambda found: found.generation, default=None)
        if header is None:
            raise StoreDamaged(f"{path} has no header that is whole")
        return header.anchor, list(_records(file, header))
    finally:
        os.close(file)


def _records(file: int, header: _Header) -> Iterator[bytes]:
    at, number = header.start, header.number
    others = [place for place in _SEGMENTS if place != header.start]
    while True:
        packed = _record(file, at, header.epoch, number)
        if packed is not None:
            yield packed
            at, number = at + _RECORD.size + len(packed), number + 1
        elif others:
            at = others.pop()
        else:
            return


def _record(file: int, at: int, epoch: bytes, number: int) -> bytes | None:
    """The record of this number; None if it is not there, or not whole."""
    head = os.pread(file, _RECORD.size, at)
    if len(head) < _RECORD.size:
        return None
    size, checksum, found = _RECORD.unpack(head)
    if found != number or size > LOGGED_MAX:
        return None
    packed = os.pread(file, size, at + _RECORD.size)
    return packed if checksum == _checksum(epoch, number, packed) else None


def _checksum(epoch: bytes, number: int, packed: bytes) -> int:
    return zlib.crc32(packed, zlib.crc32(b"%b%d" % (epoch, number)))
