"""Which messages a read asks for."""

from __future__ import annotations

import pytest

from openmsmq.errors import InvalidParameter
from openmsmq.types.read import Read, Seek, behind


@pytest.mark.parametrize(
    "wrong", [{"count": 0}, {"count": -1}, {"timeout": -1.0}, {"timeout": float("nan")}], ids=str
)
def test_a_read_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        Read(take=True, **wrong)  # type: ignore[arg-type]


def test_the_message_sought_may_be_given_by_name() -> None:
    assert Read(take=False, seek="previous").sought is Seek.PREVIOUS
    with pytest.raises(InvalidParameter, match="one of current, next"):
        Read(take=False, seek="nonsense")


def test_which_reads_go_back() -> None:
    assert Read(take=False, count=2, seek=Seek.LAST).is_back
    assert Read(take=False, count=2, lookup_id=5, seek=Seek.AHEAD).is_back
    assert not Read(take=False, count=1, seek=Seek.LAST).is_back
    assert not Read(take=False, count=2, seek=Seek.FIRST).is_back
    assert not Read(take=True, count=2, seek=Seek.LAST).is_back


def test_messages_behind_a_place_or_from_the_head() -> None:
    assert behind(0, 5, 1.0) == Read(take=False, count=5, timeout=1.0)
    assert behind(7, 5, None) == Read(
        take=False, count=5, timeout=None, lookup_id=7, seek=Seek.BEHIND
    )
