"""The history of messages: pages on disk, the oldest dropped."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.unit.engine.world import NOW, World, letter

from openmsmq.engine.storage.history import (
    HISTORY_KEY,
    PAGE_SIZE,
    Event,
    Happened,
    History,
    PageRange,
    Timed,
    identifiers,
    pack_event,
)
from openmsmq.engine.storage.layout import DELAYED_BIT
from openmsmq.engine.storage.limits import PAGES_LOOKED_MAX, PENDING_MAX
from openmsmq.engine.storage.tables import Table
from openmsmq.packet.view import PacketView
from openmsmq.store.memory import MemoryStore
from openmsmq.types.caller import Caller

LIMIT = 1 << 20


def identifier(number: int) -> bytes:
    return number.to_bytes(20, "big")


def event(
    number: int, *, what: Event = Event.ARRIVED, by: str = "me", extra: str = ""
) -> list[bytes]:
    """An event about one message."""
    return pack_event(what, 16, [number], identifier(number), by, extra)


def put(book: Book, events: Sequence[Timed]) -> PageRange:
    """Write events as a commit does, which is not over yet."""
    writer = book.store.begin()
    state, rows = book.history.pages(writer, events)
    writer.change({Table.HISTORY: rows}, {Table.META: [state.to_row()]}, {})
    return state


class Book:
    """A history over a store in memory."""

    def __init__(self, store: MemoryStore | None = None, limit: int = LIMIT) -> None:
        self.store = store or MemoryStore()
        self.history = History(self.store.snapshot, limit)

    def write(self, *events: list[bytes], now: int = NOW) -> None:
        """Commit events, and those that wait."""
        written = len(self.history.pending)
        timed = [(now, piece) for pieces in events for piece in pieces]
        state = put(self, self.history.pending + timed)
        self.store.commit()
        self.store.refresh()
        self.history.committed(state, written)

    def of(self, number: int) -> list[Happened]:
        return self.history.of(self.store.snapshot, identifier(number))

    @property
    def pages(self) -> list[bytes]:
        return list(self.store.committed.tables[Table.HISTORY].values())


@pytest.fixture
def book() -> Book:
    return Book()


def test_nothing_is_known_of_a_message_that_nothing_happened_to(book: Book) -> None:
    assert book.of(1) == []
    book.write(event(2))
    assert book.of(1) == []


def test_events_are_found_in_their_order_with_all_that_is_known(book: Book) -> None:
    book.write(event(1, by="a"), event(2), now=NOW)
    book.write(event(1, what=Event.EXPIRED, by="", extra="too late"), now=NOW + 60)
    assert book.of(1) == [
        Happened(NOW, Event.ARRIVED, 16, 1, "a", ""),
        Happened(NOW + 60, Event.EXPIRED, 16, 1, "", "too late"),
    ]


def test_they_last(book: Book) -> None:
    book.write(event(1))
    again = Book(book.store)
    assert again.history.state == book.history.state
    assert again.of(1) == book.of(1)
    again.write(event(1, what=Event.RECEIVED))
    assert [found.event for found in again.of(1)] == [Event.ARRIVED, Event.RECEIVED]


@pytest.mark.parametrize("count", [1, 119, 120, 121, 1000])
def test_one_event_may_name_many_messages(book: Book, count: int) -> None:
    numbers = range(1, count + 1)
    ids = b"".join(map(identifier, numbers))
    book.write(pack_event(Event.ARRIVED, 16, numbers, ids, "me"))
    for number in numbers:
        assert book.of(number) == [Happened(NOW, Event.ARRIVED, 16, number, "me", "")]
    assert all(len(page) <= PAGE_SIZE for page in book.pages)


@pytest.mark.parametrize(
    ("numbers", "lookups", "pieces"),
    [
        (range(7, 507), range(50, 550), 1),
        (range(7, 10), range(50, 53), 1),
        ([7, 8, 9, 11], range(50, 54), 1),
        ([*range(7, 300), *range(400, 500)], range(50, 443), 4),
        (range(7, 507), [*range(50, 549), 600], 5),
        (range(2**32 - 100, 2**32), range(50, 150), 1),
    ],
)
def test_messages_that_count_up_are_named_by_the_first(
    book: Book, numbers: Sequence[int], lookups: Sequence[int], pieces: int
) -> None:
    """Each is found all the same, and none beside them."""
    source = bytes(range(16))
    ids = b"".join(source + number.to_bytes(4, "little") for number in numbers)
    found = pack_event(Event.DELIVERED, 16, list(lookups), ids, "me")
    assert len(found) == pieces
    book.write(found)
    for number, lookup in zip(numbers, lookups, strict=True):
        name = source + number.to_bytes(4, "little")
        (happened,) = book.history.of(book.store.snapshot, name)
        assert (happened.event, happened.lookup) == (Event.DELIVERED, lookup)
    for number in {min(numbers) - 1, (max(numbers) + 1) & 0xFFFFFFFF, 350}.difference(numbers):
        name = source + number.to_bytes(4, "little")
        assert book.history.of(book.store.snapshot, name) == []


def test_an_event_about_no_message_is_none() -> None:
    assert pack_event(Event.ARRIVED, 16, [], b"", "me") == []


def test_a_page_holds_many_events_of_one_second(book: Book) -> None:
    book.write(*(event(number) for number in range(50)))
    assert len(book.pages) == 1
    book.write(*(event(number) for number in range(200)))
    assert len(book.pages) > 2
    assert len(book.of(7)) == 2


@pytest.mark.parametrize(("more", "pages"), [(0, 1), (1, 2)])
def test_a_page_is_filled_to_its_last_byte(book: Book, more: int, pages: int) -> None:
    (one,) = event(1)
    count, rest = divmod(PAGE_SIZE - 4, len(one))
    events = [event(number) for number in range(1, count)]
    book.write(*events, event(count, by="me" + "x" * (rest + more)))
    assert len(book.pages) == pages
    assert book.of(count)


def test_what_is_waiting_is_found_with_the_time_at_which_it_happened(book: Book) -> None:
    book.history.note(NOW, event(1))
    book.history.note(NOW + 5, event(1, what=Event.RECEIVED))
    expected = [(NOW, Event.ARRIVED), (NOW + 5, Event.RECEIVED)]
    assert [(found.time, found.event) for found in book.of(1)] == expected
    assert book.of(2) == []
    assert book.pages == []
    book.write(event(1, what=Event.PUT_BACK), now=NOW + 60)
    expected.append((NOW + 60, Event.PUT_BACK))
    assert [(found.time, found.event) for found in book.of(1)] == expected
    assert [(f.time, f.event) for f in Book(book.store).of(1)] == expected


def test_what_is_waiting_is_written_once_and_what_comes_meanwhile_later(book: Book) -> None:
    history = book.history
    history.note(NOW, event(1))
    state = put(book, history.pending)
    history.note(NOW, event(2))
    book.store.commit()
    book.store.refresh()
    history.committed(state, 1)
    assert [piece for _, piece in history.pending] == event(2)
    assert history.pending_size == len(event(2)[0])
    book.write()
    assert (history.pending, history.pending_size) == ([], 0)
    assert (len(book.of(1)), len(book.of(2))) == (1, 1)


def test_a_commit_that_fails_changes_nothing(book: Book) -> None:
    book.write(event(1))
    before = book.history.state
    book.history.note(NOW, event(2))
    put(book, book.history.pending)
    book.store.abort()
    assert book.history.state == before
    assert len(book.of(2)) == 1
    book.write()
    assert len(book.of(2)) == 1


def test_the_oldest_pages_are_dropped_when_there_are_too_many() -> None:
    book = Book(limit=2000)
    for number in range(200):
        book.write(event(number))
        assert sum(map(len, book.pages)) == book.history.state.size <= 2000
    assert book.of(0) == []
    assert len(book.of(199)) == 1
    state = book.history.state
    assert state.next - state.first == len(book.pages)
    kept = [number for number in range(200) if book.of(number)]
    assert kept == list(range(kept[0], 200))


def test_numbers_of_pages_go_on_after_a_restart() -> None:
    book = Book(limit=300)
    for number in range(20):
        book = Book(book.store, limit=300)
        book.write(event(number))
    assert book.history.state.next == 20
    assert book.history.state.size == sum(map(len, book.pages)) <= 300


def test_a_lower_limit_is_reached_step_by_step() -> None:
    """No single commit has to remove a whole history."""
    book = Book()
    for number in range(600):
        book.write(event(number))
    book.history.limit = 100
    sizes = []
    for number in range(600, 604):
        book.write(event(number))
        sizes.append(len(book.pages))
    assert sizes[0] == 601 - 256
    assert sum(map(len, book.pages)) <= 100
    assert len(book.of(603)) == 1


def test_switched_off_it_keeps_nothing() -> None:
    book = Book(limit=0)
    assert not book.history.is_on
    book.history.note(NOW, event(1))
    assert (book.history.pending, book.of(1)) == ([], [])


def test_switched_on_it_says_so(book: Book) -> None:
    assert book.history.is_on


def test_long_words_are_cut(book: Book) -> None:
    book.write(event(1, by="ä" * 500, extra="ö" * 500))
    (found,) = book.of(1)
    assert (found.by, found.extra) == ("ä" * 80, "ö" * 80)
    book.write(event(2, by="x" * 500, extra="\U0001f600" * 500))
    (found,) = book.of(2)
    assert found.by == "x" * 80
    assert found.extra.startswith("\U0001f600" * 79)


def test_identifiers_are_those_of_the_packets() -> None:
    sent = [letter(number=1), letter(number=2)]
    together = identifiers([message.packet for message in sent])
    assert together == b"".join(PacketView(message.packet).identifier for message in sent)


@pytest.mark.parametrize("what", list(Event))
def test_every_event_has_a_word(what: Event) -> None:
    assert what.word == what.name.lower()


# In a queue manager


def test_a_history_survives_a_restart() -> None:
    world = World()
    queue, sent = world.queue(), letter("x")
    world.caller = Caller("partner")
    world.send(queue, sent)
    world.take(queue)
    again = world.restart()
    assert again.reported(sent) == [(Event.ARRIVED, "q"), (Event.RECEIVED, "q")]
    found = again.core.history.of(again.core.snapshot, PacketView(sent.packet).identifier)
    assert {item.by for item in found} == {"partner"}


def test_it_can_be_switched_off_and_on() -> None:
    world = World()
    queue, unseen, seen = world.queue(), letter(number=1), letter(number=2)
    world.done(world.core.configure(history=0))
    world.send(queue, unseen)
    world.take(queue)
    world.done(world.core.configure(history=1))
    world.send(queue, seen)
    assert world.reported(unseen) == []
    assert world.reported(seen) == [(Event.ARRIVED, "q")]
    assert world.restart().core.history.limit == 1 << 20


def test_events_of_express_messages_do_not_fill_the_memory() -> None:
    """They are written when there are many, or at the end."""
    world = World()
    queue = world.queue()
    for number in range(2 * PENDING_MAX // 30):
        world.enqueuer.send(queue, [letter(number=number, express=True)])
        if world.core.wants_commit:
            world.commit()
        assert world.core.history.pending_size <= PENDING_MAX + 100
    assert world.rows(Table.HISTORY)
    left = world.core.history.pending_size
    assert left
    world.core.stop()
    world.commit()
    assert world.core.history.pending_size == 0
    first = letter(number=0, express=True)
    assert world.restart().reported(first) == [(Event.ARRIVED_EXPRESS, "q")]


def test_where_it_stands_is_kept_with_it(book: Book) -> None:
    book.write(event(1))
    row = book.store.committed.tables[Table.META][HISTORY_KEY]
    assert len(row) == 24


def test_switched_off_its_pages_go_with_the_next_commits() -> None:
    world = World()
    queue = world.queue()
    world.send(queue, letter("a"))
    world.done(world.core.configure(history=0))
    world.send(queue, letter("b"))
    assert list(world.core.snapshot.scan(Table.HISTORY, b"", b"\xff" * 9)) == []


def newest(book: Book, queue: int = 16, before: int = 0, count: int = 100) -> tuple[list[int], int]:
    """Places of the last events of a queue, and where to go on."""
    found, following = book.history.newest(
        book.store.snapshot, queue, "private$\\orders", before, count
    )
    assert [one.place for one in found] == sorted((one.place for one in found), reverse=True)
    return [one.first.lookup for one in found], following


def test_events_of_a_queue_are_found_the_newest_first_in_any_steps(book: Book) -> None:
    for number in range(1, 40):
        book.write(event(number), pack_event(Event.ARRIVED, 17, [9], identifier(9), "me"))
    book.history.note(NOW, event(40))  # waits for the next commit
    expected = list(range(40, 0, -1))
    assert newest(book)[0] == expected[:16]  # a look takes a bounded number of pages
    for count in (1, 3, 100):
        seen, before = newest(book, count=count)
        while before:
            more, before = newest(book, before=before, count=count)
            seen += more
        assert seen == expected
    assert newest(book, queue=99) == ([], 0)


def test_what_waited_for_a_commit_is_found_where_one_went_on(book: Book) -> None:
    for number in (1, 2, 3):
        book.history.note(NOW, event(number))
    seen, before = newest(book, count=2)
    assert seen == [3, 2]
    book.write(event(4))
    assert newest(book, before=before)[0] == [1]
    assert newest(book)[0] == [4, 3, 2, 1]


def test_messages_moved_away_and_delayed_ones_belong_to_a_queue(book: Book) -> None:
    moved = pack_event(Event.MOVED, 20, [1], identifier(1), "me", "private$\\orders")
    other = pack_event(Event.MOVED, 20, [2], identifier(2), "me", "private$\\orders2")
    gone = pack_event(Event.QUEUE_GONE, 16, [3], identifier(3), "", "private$\\orders")
    late = pack_event(Event.DELAYED, 16 | DELAYED_BIT, [4], identifier(4), "me")
    said = pack_event(Event.REFUSED_THERE, 16, [5], identifier(5), "manager x", "no room")
    book.write(moved, other, gone, late, said)
    assert newest(book) == ([4, 1], 0)


def test_a_look_passes_over_a_bounded_number_of_pages(book: Book) -> None:
    book.write(event(1))
    for _ in range(PAGES_LOOKED_MAX):
        book.write(pack_event(Event.ARRIVED, 17, [9], identifier(9), "me"))
    seen, before = newest(book)
    assert (seen, bool(before)) == ([], True)
    assert newest(book, before=before) == ([1], 0)


def test_an_event_of_many_messages_names_the_first_and_their_number(book: Book) -> None:
    ids = b"".join(bytes(16) + n.to_bytes(4, "little") for n in range(5, 25))
    book.write(pack_event(Event.RECEIVED, 16, range(100, 120), ids, "me"))
    (one,), _ = book.history.newest(book.store.snapshot, 16, "x", 0, 9)
    assert (one.first.lookup, one.messages, one.identifier) == (100, 20, ids[:20])
    assert one.first.event == Event.RECEIVED


def test_dropped_pages_end_the_history_of_a_queue() -> None:
    book = Book(limit=200)
    for number in range(1, 20):
        book.write(event(number))
    seen, before = newest(book)
    assert (seen[0], before) == (19, 0)
    assert 0 < len(seen) < 19
    assert newest(book, before=1 << 60)[0] == seen
