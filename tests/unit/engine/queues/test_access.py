"""What a handle may do, and who may hold one beside it."""

from __future__ import annotations

import pytest

from openmsmq.engine.queues.access import check_sharing
from openmsmq.errors import SharingViolation, UnsupportedAccessMode
from openmsmq.types.access import Access, Mode, Share

SEND, PEEK, RECEIVE = Mode(Access.SEND), Mode(Access.PEEK), Mode(Access.RECEIVE)
ALL = Mode()
LONE_PEEK = Mode(Access.PEEK, Share.DENY_RECEIVE)
LONE_RECEIVE = Mode(Access.RECEIVE, Share.DENY_RECEIVE)
LONE_ALL = Mode(Access.ALL, Share.DENY_RECEIVE)
WANTED = (SEND, PEEK, RECEIVE, ALL, LONE_PEEK, LONE_RECEIVE, LONE_ALL)

REFUSED: list[tuple[Mode, set[Mode]]] = [
    (SEND, set()),
    (PEEK, set()),
    (RECEIVE, {LONE_PEEK, LONE_RECEIVE, LONE_ALL}),
    (ALL, {LONE_PEEK, LONE_RECEIVE, LONE_ALL}),
    (LONE_PEEK, {RECEIVE, ALL, LONE_RECEIVE, LONE_ALL}),
    (LONE_RECEIVE, {RECEIVE, ALL, LONE_PEEK, LONE_RECEIVE, LONE_ALL}),
    (LONE_ALL, {RECEIVE, ALL, LONE_PEEK, LONE_RECEIVE, LONE_ALL}),
]


@pytest.mark.parametrize("wanted", WANTED, ids=str)
@pytest.mark.parametrize(("opened", "refused"), REFUSED, ids=range(len(REFUSED)))
def test_an_open_handle_excludes_others_as_the_table_says(
    opened: Mode, refused: set[Mode], wanted: Mode
) -> None:
    """DMPR-165, DMPR-166, DMPR-167, DMPR-168, DMPR-169."""
    if wanted in refused:
        with pytest.raises(SharingViolation) as info:
            check_sharing([opened], wanted)
        assert info.value.hresult == 0xC00E0009
    else:
        check_sharing([opened], wanted)


def test_one_handle_that_excludes_is_enough() -> None:
    with pytest.raises(SharingViolation):
        check_sharing([PEEK, SEND, LONE_RECEIVE], RECEIVE)
    check_sharing([], LONE_ALL)


def test_a_queue_cannot_be_opened_to_send_alone() -> None:
    """DMPR-396."""
    with pytest.raises(UnsupportedAccessMode) as info:
        check_sharing([], Mode(Access.SEND, Share.DENY_RECEIVE))
    assert info.value.hresult == 0xC00E0045
