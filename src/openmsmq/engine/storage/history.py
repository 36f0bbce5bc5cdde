"""The history of messages: what happened to each, for `explain`.

Events are kept in pages, one or more with each commit, numbered in order. When the pages take more
than they may, the oldest are dropped. An event names the messages it is about by their 20-byte
identifiers, so that a search for one is a search for these bytes. Messages whose identifiers and
lookup identifiers count up together are named by the first and their number (`RANGE`).
"""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import islice
from struct import Struct, pack
from typing import Final, NamedTuple

from openmsmq.engine.storage.layout import DELAYED_BIT
from openmsmq.engine.storage.limits import PAGES_LOOKED_MAX, PAGES_READ_MAX
from openmsmq.engine.storage.tables import Snapshot, Table, Writer
from openmsmq.limits import U16_MAX, U32_MAX

PAGE_SIZE: Final = 3900
"Of a page; more would leave half of LMDB's pages empty."
HISTORY_KEY: Final = b"history"
IDENTIFIER_SIZE: Final = 20

_page = Struct("<I")
_event = Struct("<BIHHH")
_queue = Struct("<I")
_state = Struct("<QQQ")
_lookup = Struct("<Q")
_number = Struct(">Q").pack
Timed = tuple[int, bytes]
"When an event happened, in seconds since 1970 UTC, and the event as pages hold it."

_PER_EVENT: Final = 120
"Messages one event names; those of a larger one are spread over several."
_DETAIL_MAX: Final = 400
_RANGE_MIN: Final = 4
"Messages below which it takes less to name each."
RANGE: Final = 0x80
"Set in the code of an event that names the first of several messages."
_SOURCE_SIZE: Final = 16
_PLACES: Final = 1 << 16
"Places of a page: one for each byte of it."
GONE: Final = b"openmsmq queue gone."
"In the place of an identifier where an event is about a queue."
assert len(GONE) == IDENTIFIER_SIZE


class Event(IntEnum):
    """What can happen to a message."""

    ARRIVED = 1
    ARRIVED_EXPRESS = 2
    RECEIVED = 3
    ABORTED = 4
    MOVED = 5
    EXPIRED = 6
    JOURNALED = 7
    DEAD_LETTERED = 8
    PURGED = 9
    QUEUE_DELETED = 10
    PUT_BACK = 11
    DISCARDED = 12
    "A copy or an acknowledgement that there was no place for."
    ACKNOWLEDGED = 13
    DELIVERED = 14
    REJECTED = 15
    "It came from another manager and was not accepted, or was not accepted there."
    REACHED = 16
    "It is in its queue elsewhere, and we wait to hear what becomes of it there."
    RESERVED = 17
    "A subscription was given it."
    RETURNED = 18
    "The subscription ended before it was done with it."
    DELAYED = 19
    "It cannot be read yet."
    DUE = 20
    "It had to wait after it was aborted, and can be read again."
    POISONED = 21
    "It was aborted too often."
    HANDED_OVER = 22
    "Another manager has it; what it did with it, only that one knows."
    REFUSED = 23
    "It came from another manager, was not accepted, and is kept for people to see."
    REDIRECTED = 24
    "It was sent again, as a new message."
    SENT_AGAIN = 25
    "It is that new message."
    REFUSED_THERE = 26
    "The manager that has it did not accept it, and said so over a session that proves who it is."

    QUEUE_GONE = 27
    "Of a queue, and of no message: it was deleted; its name is kept for what happened in it."

    def __init__(self, _: int) -> None:
        self.word = self._name_.lower()
        "What statistics and people call it."


class Happened(NamedTuple):
    """One event of a message's life."""

    time: int
    "Seconds since 1970 UTC."
    event: int
    queue: int
    "The number of the queue it happened in."
    lookup: int
    by: str
    "Who did it, where that is known."
    extra: str
    "The other queue, a reason: depends on the event."


class Occurrence(NamedTuple):
    """An event of a queue, and the messages that it is about."""

    first: Happened
    "Of the first of them."
    messages: int
    "How many they are."
    identifier: bytes
    "That of the first."
    place: int
    "Where the event is: places of later ones are greater."


class PageRange(NamedTuple):
    """Which pages there are."""

    first: int
    next: int
    size: int
    "Bytes they take."

    def to_row(self) -> tuple[bytes, bytes]:
        """Where and how it is stored."""
        return HISTORY_KEY, _state.pack(*self)


EMPTY: Final = PageRange(0, 0, 0)


def identifiers(packets: Sequence[bytes]) -> bytes:
    """The identifiers of messages, one after the other (see `PacketView.identifier`)."""
    return b"".join([packet[16:32] + packet[56:60] for packet in packets])


def pack_event(
    event: int, queue: int, lookups: Sequence[int], ids: bytes, by: str, extra: str = ""
) -> list[bytes]:
    """An event as the pages hold it, in as many pieces as it needs."""
    if len(lookups) >= _RANGE_MIN and _count_up(lookups, ids):
        first = ids[:IDENTIFIER_SIZE]
        return [pack_range(event, queue, lookups[0], len(lookups), first, by, extra)]
    detail = _detail(by, extra)
    pieces = []
    for start in range(0, len(lookups), _PER_EVENT):
        part = lookups[start : start + _PER_EVENT]
        count = len(part)
        own = ids[start * IDENTIFIER_SIZE : (start + count) * IDENTIFIER_SIZE]
        head = _event.pack(event, queue, count, len(detail), 0)
        pieces.append(b"".join((head, own, pack(f"<{count}Q", *part), detail)))
    return pieces


def _count_up(lookups: Sequence[int], ids: bytes) -> bool:
    """Whether identifiers and lookup identifiers of messages count up together."""
    count, (first, last) = len(lookups), (lookups[0], lookups[-1])
    number = int.from_bytes(ids[_SOURCE_SIZE:IDENTIFIER_SIZE], "little")
    is_whole = len(ids) == IDENTIFIER_SIZE * count <= IDENTIFIER_SIZE * U16_MAX
    if not is_whole or last - first != count - 1 or number + count > U32_MAX:
        return False
    expected = array("I", ids[:IDENTIFIER_SIZE] * count)
    words = IDENTIFIER_SIZE // expected.itemsize
    expected[words - 1 :: words] = array("I", range(number, number + count))
    return ids == expected.tobytes() and list(lookups) == list(range(first, last + 1))


def pack_range(
    event: int, queue: int, lookup: int, count: int, identifier: bytes, by: str, extra: str = ""
) -> bytes:
    """An event of messages that count up from one, of which this is known."""
    detail = _detail(by, extra)
    head = _event.pack(event | RANGE, queue, count, len(detail), 0)
    return b"".join((head, identifier, _lookup.pack(lookup), detail))


def _detail(by: str, extra: str) -> bytes:
    detail = f"{by}\x1f{extra}".encode()
    if len(detail) > _DETAIL_MAX:
        detail = f"{by[:80]}\x1f{extra[:80]}".encode()[:_DETAIL_MAX]
    return detail


class History:
    """The pages of a store, and the events that wait for the next commit."""

    def __init__(self, snapshot: Snapshot, limit: int) -> None:
        raw = snapshot.get(Table.META, HISTORY_KEY)
        self.state = EMPTY if raw is None else PageRange(*_state.unpack(raw))
        self.limit = limit
        "Bytes the pages may take; 0 to keep none."
        self.pending: list[Timed] = []
        "Of messages that no commit is about."
        self.pending_size = 0

    @property
    def is_on(self) -> bool:
        """Events are kept."""
        return self.limit > 0

    def note(self, now: int, pieces: Sequence[bytes]) -> None:
        """Keep an event that no commit is about (see `pack_event`), until the next one."""
        if self.limit:
            self.pending += [(now, piece) for piece in pieces]
            self.pending_size += sum(map(len, pieces))

    def pages(
        self, writer: Writer, events: Sequence[Timed]
    ) -> tuple[PageRange, list[tuple[bytes, bytes]]]:
        """What is there if this is committed, and the pages that are still to be appended.

        The oldest are dropped, for which the new ones must be in the store.
        """
        state = self.state
        rows = []
        number, size = state.next, state.size
        for page in _pages(events):
            rows.append((_number(number), page))
            number += 1
            size += len(page)
        first = state.first
        if size > self.limit:
            writer.put_many(Table.HISTORY, rows, append=True)
            rows = []
            first, size = self._drop(writer, first, number, size)
        return PageRange(first, number, size), rows

    def _drop(self, writer: Writer, first: int, end: int, size: int) -> tuple[int, int]:
        """Drop the oldest pages; no more than a few at once, should the limit have been lowered."""
        old = []
        for key, page in islice(writer.scan(Table.HISTORY, _number(first), _number(end)), 256):
            if size <= self.limit:
                break
            old.append(key)
            size -= len(page)
        writer.delete_many(Table.HISTORY, old)
        return first + len(old), size

    def committed(self, state: PageRange, written: int) -> None:
        """The pages are on disk, with some of the events that waited."""
        self.state = state
        if written:
            self.pending_size -= sum(len(piece) for _, piece in self.pending[:written])
            del self.pending[:written]

    def of(self, snapshot: Snapshot, identifier: bytes) -> list[Happened]:
        """All that is known of a message, oldest first."""
        found: list[Happened] = []
        for page in self._all_pages(snapshot):
            if identifier[:_SOURCE_SIZE] in page:
                found += _find(page, identifier)
        return found

    def gone(self, snapshot: Snapshot, queues: Container[int]) -> dict[int, str]:
        """The names of some queues that were deleted, by their numbers."""
        return {
            item.queue: item.extra
            for page in self._all_pages(snapshot)
            if GONE in page
            for item in _find(page, GONE)
            if item.queue in queues
        }

    def newest(
        self, snapshot: Snapshot, queue: int, name: str, before: int, count: int
    ) -> tuple[list[Occurrence], int]:
        """The last events of a queue before a place, the newest first, and where to go on.

        Place 0 stands for the end. Messages that were moved away are known by the name of the
        queue. A look takes a bounded number of pages: it may find fewer events than there are.
        """
        pending = _pages(self.pending)
        end = self.state.next + len(pending)
        number, offset = divmod(before or end * _PLACES, _PLACES)
        number = min(number, end - 1) if offset else min(number, end) - 1
        found: list[Occurrence] = []
        looked = read = 0
        marks = _queue.pack(queue), name.encode()
        while number >= self.state.first:
            waits = number - self.state.next
            page = pending[waits] if waits >= 0 else snapshot.get(Table.HISTORY, _number(number))
            if page is not None and any(mark in page for mark in marks):
                for one in reversed(list(_occurrences(page, number * _PLACES))):
                    if _concerns(one.first, queue, name) and (not before or one.place < before):
                        found.append(one)
                        if len(found) == count:
                            return found, one.place
                read += 1
            looked += 1
            if read == PAGES_READ_MAX or looked == PAGES_LOOKED_MAX:
                return found, number * _PLACES
            number -= 1
        return found, 0

    def _all_pages(self, snapshot: Snapshot) -> Iterator[bytes]:
        for _, page in snapshot.scan(Table.HISTORY, b"", b"\xff" * 9):
            yield page
        yield from _pages(self.pending)


def _pages(events: Iterable[Timed]) -> list[bytes]:
    """Events gathered into pages, each of one second."""
    pages: list[list[bytes]] = []
    second, size = -1, 0
    for now, event in events:
        size += len(event)
        if now != second or size > PAGE_SIZE:
            second, size = now, _page.size + len(event)
            pages.append([_page.pack(now)])
        pages[-1].append(event)
    return [b"".join(page) for page in pages]


def _events(page: bytes) -> Iterator[tuple[int, int, int, int, int, int]]:
    """The events of a page: code, queue, messages; where these, the detail and the next begin."""
    at = _page.size
    while at < len(page):
        event, queue, count, detail_size, _ = _event.unpack_from(page, at)
        ids = at + _event.size
        named = 1 if event & RANGE else count
        detail = ids + named * (IDENTIFIER_SIZE + _lookup.size)
        at = detail + detail_size
        yield event, queue, count, ids, detail, at


def _happened(page: bytes, event: int, queue: int, lookup: int, detail: int, end: int) -> Happened:
    (now,) = _page.unpack_from(page)
    by, _, extra = page[detail:end].decode(errors="replace").partition("\x1f")
    return Happened(now, event & ~RANGE, queue, lookup, by, extra)


def _find(page: bytes, identifier: bytes) -> Iterator[Happened]:
    """The events of a page that name a message."""
    for event, queue, count, ids, detail, end in _events(page):
        if event & RANGE:
            found = _find_in_range(page, ids, count, identifier)
        else:
            found = _find_named(page, ids, count, identifier)
        for lookup in found:
            yield _happened(page, event, queue, lookup, detail, end)


def _occurrences(page: bytes, place: int) -> Iterator[Occurrence]:
    """All events of a page that has this place."""
    for event, queue, count, ids, detail, end in _events(page):
        identifier = page[ids : ids + IDENTIFIER_SIZE]
        named = 1 if event & RANGE else count
        (lookup,) = _lookup.unpack_from(page, ids + named * IDENTIFIER_SIZE)
        first = _happened(page, event, queue, lookup, detail, end)
        yield Occurrence(first, count, identifier, place + ids)


def _concerns(one: Happened, queue: int, name: str) -> bool:
    """Whether something happened in a queue, or took a message away from it.

    What other managers say of a message is left to its own story, which knows whom to believe.
    """
    if one.event in (Event.QUEUE_GONE, Event.REFUSED_THERE):
        return False
    return one.queue & ~DELAYED_BIT == queue or (one.event == Event.MOVED and one.extra == name)


def _find_named(page: bytes, ids: int, count: int, identifier: bytes) -> list[int]:
    """The lookup identifiers of a message in an event that names each."""
    lookups = ids + count * IDENTIFIER_SIZE
    if identifier not in page[ids:lookups]:
        return []
    return [
        _lookup.unpack_from(page, lookups + place * _lookup.size)[0]
        for place in range(count)
        if page.startswith(identifier, ids + place * IDENTIFIER_SIZE)
    ]


def _find_in_range(page: bytes, first: int, count: int, identifier: bytes) -> list[int]:
    """The same in an event that names the first of several."""
    if not page.startswith(identifier[:_SOURCE_SIZE], first):
        return []
    start = int.from_bytes(page[first + _SOURCE_SIZE : first + IDENTIFIER_SIZE], "little")
    place = int.from_bytes(identifier[_SOURCE_SIZE:], "little") - start & U32_MAX
    if place >= count:
        return []
    return [_lookup.unpack_from(page, first + IDENTIFIER_SIZE)[0] + place]
