"""Time for lifetimes: the clock without its jumps."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import NOW

from openmsmq.engine.commit.timeline import DRIFT, JUMP, SHIFT_KEY, Timeline, expiry
from openmsmq.engine.storage.layout import NEVER
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import MemoryStore


@pytest.fixture
def timeline() -> Timeline:
    """One that has seen the clock once."""
    made = Timeline(MemoryStore().snapshot)
    assert not made.observe(NOW + 0.5, 100.0)
    return made


def test_it_shows_what_the_clock_shows(timeline: Timeline) -> None:
    assert (timeline.wall, timeline.now, timeline.shift) == (NOW, NOW, 0)
    assert not timeline.observe(NOW + 60.4, 159.9)
    assert (timeline.wall, timeline.now, timeline.jumps) == (NOW + 60, NOW + 60, 0)


@pytest.mark.parametrize("jump", [3600, -3600, 10 * 365 * 86400, 7, -7])
def test_a_jump_of_the_clock_is_no_time(timeline: Timeline, jump: int) -> None:
    assert timeline.observe(NOW + 1.5 + jump, 101.0)
    assert (timeline.wall, timeline.now) == (NOW + 1 + jump, NOW + 1)
    assert (timeline.shift, timeline.jumps) == (jump, 1)
    assert not timeline.observe(NOW + 2.5 + jump, 102.0)
    assert timeline.now == NOW + 2


def test_a_clock_that_is_set_right_again_goes_on_as_before(timeline: Timeline) -> None:
    assert timeline.observe(NOW + 1000.5, 100.0)
    assert timeline.observe(NOW + 10.5, 110.0)
    assert (timeline.now, timeline.shift, timeline.jumps) == (NOW + 10, 0, 2)


@pytest.mark.parametrize("passed", [0.0, 1000.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_small_correction_is_no_jump(timeline: Timeline, passed: float, sign: int) -> None:
    """How much a clock may go wrong grows with the time passed."""
    allowed = JUMP + DRIFT * passed
    wall = NOW + 0.5 + passed + sign * (allowed - 0.01)
    assert not timeline.observe(wall, 100.0 + passed)
    assert (timeline.wall, timeline.now) == (int(wall), max(NOW, int(wall)))


@pytest.mark.parametrize("passed", [0.0, 1000.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_more_than_that_is_one(timeline: Timeline, passed: float, sign: int) -> None:
    difference = JUMP + DRIFT * passed + 0.01
    assert timeline.observe(NOW + 0.5 + passed + sign * difference, 100.0 + passed)
    assert timeline.shift == sign * round(difference)


def test_many_small_corrections_add_up_to_none(timeline: Timeline) -> None:
    """A clock that is slowly set right shows the right time in the end."""
    for second in range(1, 21):
        assert not timeline.observe(NOW + 0.5 + 3 * second, 100.0 + second)
    assert timeline.now == NOW + 60


def test_it_never_goes_back(timeline: Timeline) -> None:
    """What has expired stays so, though the clock is set right a little."""
    timeline.observe(NOW + 60.5, 160.0)
    assert not timeline.observe(NOW + 57.5, 160.0)
    assert (timeline.wall, timeline.now) == (NOW + 57, NOW + 60)
    assert not timeline.observe(NOW + 61.5, 164.0)
    assert timeline.now == NOW + 61


def test_the_first_look_at_the_clock_is_never_a_jump() -> None:
    made = Timeline(MemoryStore().snapshot)
    assert not made.observe(5.0, 1e9)
    assert made.now == 5


@pytest.mark.parametrize("jump", [86_400, -86_400])
def test_a_jump_lasts_as_long_as_the_messages(timeline: Timeline, jump: int) -> None:
    timeline.observe(NOW + 0.5 + jump, 100.0)
    store = MemoryStore()
    store.begin().put(Table.META, SHIFT_KEY, timeline.to_row())
    store.commit()
    store.refresh()
    again = Timeline(store.snapshot)
    again.observe(NOW + 60 + jump, 3.0)
    assert (again.now, again.wall) == (NOW + 60, NOW + 60 + jump)


@pytest.mark.parametrize(
    ("lifetime", "last"),
    [
        (None, NEVER),
        (0, NOW - 1),
        (1, NOW + 1),
        (60, NOW + 60),
        (NEVER - 1, NEVER - 1),
    ],
)
def test_a_message_lives_to_the_end_of_its_last_second(lifetime: int | None, last: int) -> None:
    """DMPR-088, DMPR-307, DMPR-308."""
    assert expiry(NOW, lifetime, NEVER) == last


def test_no_lifetime_is_before_the_first_second() -> None:
    """The clock of a computer may stand at zero, or lifetimes may have been set back further."""
    assert expiry(0, 0, NEVER) == 0
    assert expiry(-50, 10, NEVER) == 0
