"""Commits are made in the loop while they are small, and the last ones were short."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from openmsmq.runtime.commit_cost import InlineGuard
from openmsmq.runtime.limits import (
    INLINE_BYTES_MAX,
    INLINE_OPERATIONS_MAX,
    INLINE_SECONDS_MAX,
)


@dataclass
class Asked:
    """What is waiting for a commit."""

    operations_waiting: int = 1
    reserved_size: int = 0


def quick() -> InlineGuard:
    guard = InlineGuard()
    guard.took(INLINE_SECONDS_MAX / 4)
    return guard


def test_the_first_commit_is_not_made_in_the_loop() -> None:
    assert not InlineGuard().is_quick
    assert quick().is_quick


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        (Asked(INLINE_OPERATIONS_MAX, INLINE_BYTES_MAX), True),
        (Asked(INLINE_OPERATIONS_MAX + 1), False),
        (Asked(1, INLINE_BYTES_MAX + 1), False),
    ],
)
def test_a_commit_in_the_loop_is_small(asked: Asked, *, allowed: bool) -> None:
    assert quick().allows(asked) is allowed
    assert not InlineGuard().allows(asked)


def test_one_commit_that_takes_long_ends_it_until_others_were_short() -> None:
    guard = quick()
    guard.took(1.0)
    assert not guard.allows(Asked())
    short = 0
    while not guard.is_quick:
        guard.took(INLINE_SECONDS_MAX / 4)
        short += 1
    assert 20 < short < 80


def test_commits_that_are_a_little_too_long_end_it_in_time() -> None:
    guard = quick()
    for _ in range(100):
        guard.took(INLINE_SECONDS_MAX * 1.1)
    assert not guard.is_quick
