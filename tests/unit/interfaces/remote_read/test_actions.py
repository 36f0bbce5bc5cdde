"""What R_StartReceive may be asked for."""

from __future__ import annotations

import pytest

from openmsmq.errors import InvalidParameter
from openmsmq.interfaces.remote_read.actions import ReadAction, checked_action
from openmsmq.types.read import Seek

LOOKUPS = [action for action in ReadAction if action.seek is not None]
CURRENT = [ReadAction.RECEIVE, ReadAction.PEEK_CURRENT]


@pytest.mark.parametrize("action", LOOKUPS)
def test_lookups_want_an_identifier_and_nothing_else(action: ReadAction) -> None:
    """MQRR-130, MQRR-131, MQRR-133, MQRR-134, MQRR-137, MQRR-138"""
    assert checked_action(action, 5, 0, 0) is action
    for arguments in ((0, 0, 0), (5, 1, 0), (5, 0, 1), (5, 0, 0xFFFFFFFF)):
        with pytest.raises(InvalidParameter):
            checked_action(action, *arguments)


@pytest.mark.parametrize("action", CURRENT)
def test_others_may_wait_and_have_a_cursor_but_no_identifier(action: ReadAction) -> None:
    """MQRR-132"""
    for arguments in ((0, 0, 0), (0, 1, 0), (0, 0, 5), (0, 1, 0xFFFFFFFF)):
        assert checked_action(action, *arguments) is action
    with pytest.raises(InvalidParameter):
        checked_action(action, 5, 0, 0)


def test_the_next_message_is_one_for_a_cursor() -> None:
    """MQRR-135"""
    assert checked_action(ReadAction.PEEK_NEXT, 0, 7, 100) is ReadAction.PEEK_NEXT
    with pytest.raises(InvalidParameter):
        checked_action(ReadAction.PEEK_NEXT, 0, 0, 0)


@pytest.mark.parametrize("code", [1, 0x80000002, 0x40000013, 0x40000000, 0xFFFFFFFF])
def test_there_is_no_other_action(code: int) -> None:
    """MQRR-136"""
    with pytest.raises(InvalidParameter, match=f"0x{code:08X}"):
        checked_action(code, 0, 0, 0)


def test_four_actions_receive() -> None:
    assert [action for action in ReadAction if action.is_receive] == [
        ReadAction.RECEIVE,
        ReadAction.LOOKUP_RECEIVE_CURRENT,
        ReadAction.LOOKUP_RECEIVE_NEXT,
        ReadAction.LOOKUP_RECEIVE_PREV,
    ]
    assert ReadAction.LOOKUP_RECEIVE_PREV.seek is Seek.PREVIOUS
    assert ReadAction.RECEIVE.seek is None
