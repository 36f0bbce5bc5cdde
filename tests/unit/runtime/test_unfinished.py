"""Packets of which only a part has come."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.runtime.unfinished import RATE_LEAST, RATE_WINDOW, Unfinished

KIB = 1024
LIMIT = 800 * KIB
LEFT = 700 * KIB
"What may be there after someone had to go."


@dataclass(eq=False)
class Session:
    """A session of someone."""

    name: str
    address: str = "192.0.2.1"
    is_known: bool = False
    reads_paused: bool = False

    def __repr__(self) -> str:
        return self.name


def holding(*held: tuple[Session, int]) -> Unfinished[Session]:
    """What is there when sessions hold these numbers of bytes, which came in this order."""
    unfinished: Unfinished[Session] = Unfinished(LIMIT)
    for now, (session, size) in enumerate(held):
        unfinished.note(session, size, size, float(now))
    return unfinished


def cut(unfinished: Unfinished[Session]) -> list[str]:
    """Who has to go."""
    chosen = unfinished.excess()
    for session in chosen:
        unfinished.forget(session)
    return [session.name for session in chosen]


def test_bytes_are_counted_until_their_packet_is_whole() -> None:
    one, two = Session("one"), Session("two")
    unfinished = holding((one, 100), (two, 10))
    unfinished.note(one, 50, 150, 2)
    assert unfinished.total == 160
    unfinished.note(one, 500, 0, 3)
    assert unfinished.total == 10
    unfinished.forget(two)
    unfinished.forget(two)
    assert unfinished.total == 0


def test_within_the_budget_no_one_has_to_go() -> None:
    assert cut(holding((Session("one"), LIMIT))) == []


def test_strangers_go_first_and_known_managers_only_if_that_is_not_enough() -> None:
    known = Session("known", is_known=True)
    stranger = Session("stranger", "192.0.2.2")
    assert cut(holding((known, 600 * KIB), (stranger, 300 * KIB))) == ["stranger"]
    other = Session("other", "192.0.2.3", is_known=True)
    found = cut(holding((known, 600 * KIB), (other, 550 * KIB), (stranger, 50 * KIB)))
    assert found == ["stranger", "known"]


def test_the_address_that_holds_most_loses_its_oldest_packet() -> None:
    single = Session("single", "192.0.2.9")
    crowd = [Session(f"crowd {n}") for n in range(4)]
    held = [(single, 300 * KIB), *((session, 150 * KIB) for session in crowd)]
    assert cut(holding(*held)) == ["crowd 0", "crowd 1"], "900 KiB: 200 have to go"
    assert cut(holding(*held, (Session("more", "192.0.2.9"), 400 * KIB))) == [
        "single",
        "crowd 0",
        "crowd 1",
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.booleans(), st.integers(1, LIMIT)), min_size=1, max_size=30
    )
)
def test_afterwards_there_is_room_and_no_more_went_than_had_to(
    found: list[tuple[int, bool, int]],
) -> None:
    held = [
        (Session(str(n), f"192.0.2.{address}", is_known=known), size)
        for n, (address, known, size) in enumerate(found)
    ]
    unfinished = holding(*held)
    total = sum(size for _, size in held)
    chosen = unfinished.excess()
    sizes = dict(held)
    if total <= LIMIT:
        assert not chosen
        return
    left = total - sum(sizes[session] for session in chosen)
    assert left <= LEFT
    assert left + sizes[chosen[-1]] > LEFT, "without the last one there was too much"
    if any(session.is_known for session in chosen):
        assert all(session in chosen for session in sizes if not session.is_known)


@pytest.mark.parametrize(
    ("pieces", "is_slow"),
    [
        ([(0, 1)], True),
        ([(0, 1), (50, int(RATE_LEAST * RATE_WINDOW) - 2)], True),
        ([(0, 1), (50, int(RATE_LEAST * RATE_WINDOW))], False),
        ([(0, 100 * KIB)], False),
    ],
    ids=["nothing more", "too little", "enough", "much at first"],
)
def test_a_packet_gains_so_much_in_a_minute(pieces: list[tuple[int, int]], is_slow: bool) -> None:
    session, unfinished = Session("one"), holding()
    size = 0
    for at, came in pieces:
        size += came
        unfinished.note(session, came, size, float(at))
    assert unfinished.slow(RATE_WINDOW - 1) == []
    assert unfinished.slow(RATE_WINDOW) == ([session] if is_slow else [])


def test_each_minute_counts_for_itself() -> None:
    session, unfinished = Session("one"), holding()
    unfinished.note(session, 1 << 20, 1 << 20, 0)
    assert unfinished.slow(RATE_WINDOW) == []
    unfinished.note(session, 1, (1 << 20) + 1, RATE_WINDOW + 1)
    assert unfinished.slow(2 * RATE_WINDOW - 1) == []
    assert unfinished.slow(2 * RATE_WINDOW) == [session]


def test_a_new_packet_has_a_minute_of_its_own() -> None:
    session, unfinished = Session("one"), holding()
    unfinished.note(session, 10, 10, 0)
    unfinished.note(session, 500, 20, RATE_WINDOW - 1)
    assert unfinished.slow(RATE_WINDOW) == []
    unfinished.note(session, 500, 0, RATE_WINDOW)
    assert unfinished.slow(10 * RATE_WINDOW) == []


def test_who_is_not_read_from_is_not_slow() -> None:
    session, unfinished = Session("one"), holding()
    unfinished.note(session, 10, 10, 0)
    session.reads_paused = True
    assert unfinished.slow(RATE_WINDOW) == []
    session.reads_paused = False
    assert unfinished.slow(2 * RATE_WINDOW - 1) == []
    assert unfinished.slow(2 * RATE_WINDOW) == [session]
