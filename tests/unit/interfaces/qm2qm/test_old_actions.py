"""Which messages a read of older remote read is about."""

from __future__ import annotations

import pytest

from openmsmq.errors import InvalidParameter
from openmsmq.interfaces.qm2qm.old_actions import action_of
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.limits import U64_MAX
from openmsmq.types.read import Seek


def test_first_and_last_are_named_by_the_ends_of_the_numbers() -> None:
    """MQQP-124, MQQP-126"""
    assert action_of(ReadAction.LOOKUP_PEEK_NEXT, 0)[1] is Seek.FIRST
    assert action_of(ReadAction.LOOKUP_RECEIVE_PREV, U64_MAX)[1] is Seek.LAST
    assert action_of(ReadAction.LOOKUP_PEEK_CURRENT, U64_MAX)[1] is Seek.CURRENT
    assert action_of(ReadAction.RECEIVE, None) == (ReadAction.RECEIVE, None)


@pytest.mark.parametrize(
    ("code", "lookup_id"),
    [(7, None), (0x40000010, None), (0, 5), (0x40000010, 0), (0x40000022, 0)],
)
def test_actions_go_with_their_calls(code: int, lookup_id: int | None) -> None:
    """MQQP-088, MQQP-089, MQQP-121, MQQP-122"""
    with pytest.raises(InvalidParameter):
        action_of(code, lookup_id)
