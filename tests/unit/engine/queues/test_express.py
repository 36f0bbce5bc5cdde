"""Express messages in memory: the order of the store, whatever comes and goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.express import TIDY_AT, ExpressMessages
from openmsmq.engine.storage.layout import lookup_id
from openmsmq.types.lookup import LOOKUP_MAX


def entry(lookup: int) -> Entry:
    return Entry(lookup, b"", b"packet", express=True)


def held(*lookups: int) -> ExpressMessages:
    messages = ExpressMessages()
    messages.add([entry(lookup) for lookup in lookups])
    return messages


def rising(messages: ExpressMessages, after: int = 0) -> list[int]:
    return [found.lookup for found in messages.after(after)]


def falling(messages: ExpressMessages, before: int = LOOKUP_MAX) -> list[int]:
    return [found.lookup for found in messages.before(before)]


HIGH, MIDDLE, LATER, LOW = lookup_id(7, 9), lookup_id(3, 1), lookup_id(3, 5), lookup_id(0, 2)


def test_messages_are_found_in_the_order_of_the_queue() -> None:
    """DMPR-043."""
    messages = held(LOW, MIDDLE, HIGH, LATER)
    assert rising(messages) == [HIGH, MIDDLE, LATER, LOW]
    assert falling(messages) == [LOW, LATER, MIDDLE, HIGH]
    assert rising(messages, MIDDLE) == [LATER, LOW]
    assert falling(messages, LATER) == [MIDDLE, HIGH]
    assert messages.last() == LOW
    assert sorted(messages.lookups()) == [HIGH, MIDDLE, LATER, LOW]


def test_without_messages_there_is_nothing_to_find() -> None:
    """DMPR-044."""
    messages = ExpressMessages()
    assert (len(messages), messages.size, messages.last()) == (0, 0, 0)
    assert rising(messages) == falling(messages) == messages.lookups() == []
    assert HIGH not in messages
    assert not messages


def test_a_message_that_is_removed_is_gone_and_its_bytes_with_it() -> None:
    messages = held(HIGH, MIDDLE, LATER)
    assert messages.size == 3 * len(b"packet")
    messages.remove(MIDDLE)
    assert rising(messages) == [HIGH, LATER]
    assert falling(messages) == [LATER, HIGH]
    assert MIDDLE not in messages
    assert (len(messages), messages.size) == (2, 2 * len(b"packet"))
    assert messages[LATER] == entry(LATER)


def test_the_first_of_each_priority_is_found() -> None:
    messages = held(HIGH, MIDDLE, LATER, LOW)
    assert [found.lookup for found in messages.firsts()] == [HIGH, MIDDLE, LOW]
    messages.remove(MIDDLE)
    messages.remove(LOW)
    assert [found.lookup for found in messages.firsts()] == [HIGH, LATER]
    assert (messages.get(LATER), messages.get(LOW)) == (entry(LATER), None)


def test_a_message_that_comes_back_is_in_its_old_place_and_there_once() -> None:
    messages = held(HIGH, MIDDLE, LATER)
    for lookup in (MIDDLE, LATER):
        messages.remove(lookup)
        messages.add([entry(lookup)])
        assert rising(messages) == [HIGH, MIDDLE, LATER]


def test_the_order_holds_however_many_were_removed() -> None:
    count = 2 * TIDY_AT + 10
    messages = held(*(lookup_id(3, arrival) for arrival in range(1, count + 1)))
    for arrival in range(1, count - 1):
        messages.remove(lookup_id(3, arrival))
    assert rising(messages) == [lookup_id(3, count - 1), lookup_id(3, count)]
    messages.add([entry(lookup_id(3, count + 1))])
    assert falling(messages) == [lookup_id(3, count + back) for back in (1, 0, -1)]


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(1, 30), st.booleans())), st.integers(0, 30)
)
def test_they_behave_like_a_sorted_list(changes: list[tuple[int, int, bool]], at: int) -> None:
    messages, plain = ExpressMessages(), set[int]()
    for priority, arrival, adds in changes:
        lookup = lookup_id(priority, arrival)
        if adds and lookup not in plain:
            messages.add([entry(lookup)])
            plain.add(lookup)
        elif lookup in plain:
            messages.remove(lookup)
            plain.discard(lookup)
    place = lookup_id(3, at)
    assert rising(messages) == sorted(plain)
    assert rising(messages, place) == sorted(lookup for lookup in plain if lookup > place)
    assert falling(messages, place) == sorted((one for one in plain if one < place), reverse=True)
    assert messages.last() == max(plain, default=0)
    assert messages.size == len(plain) * len(b"packet")


@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(2, 4), st.integers(1, 20)), max_size=6, unique=True),
            st.booleans(),
        ),
        max_size=8,
    )
)
def test_several_that_are_added_at_once_are_in_their_places(
    changes: list[tuple[list[tuple[int, int]], bool]],
) -> None:
    """Whatever their order and priorities, and whether some of them were there before."""
    messages, plain = ExpressMessages(), set[int]()
    for places, adds in changes:
        lookups = [lookup_id(*place) for place in places]
        if adds:
            new = [lookup for lookup in lookups if lookup not in plain]
            messages.add([entry(lookup) for lookup in new])
            plain.update(new)
        else:
            for lookup in plain.intersection(lookups):
                messages.remove(lookup)
            plain.difference_update(lookups)
        assert rising(messages) == sorted(plain)
        assert messages.size == len(plain) * len(b"packet")


def test_messages_that_are_gone_take_no_memory() -> None:
    """However many come and go, one at a time."""
    messages = held(LATER)
    for arrival in range(10, 10 + 5 * TIDY_AT):
        messages.add([entry(lookup_id(3, arrival))])
        messages.remove(lookup_id(3, arrival))
        assert sum(map(len, messages._lists)) <= TIDY_AT + 3
    assert rising(messages) == [LATER]
