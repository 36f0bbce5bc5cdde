"""What a handle may do."""

from __future__ import annotations

import pytest

from openmsmq.errors import AccessDenied
from openmsmq.types.access import Access, Mode


@pytest.mark.parametrize(
    ("access", "allowed"),
    [
        (Access.SEND, {Access.SEND}),
        (Access.PEEK, {Access.PEEK}),
        (Access.RECEIVE, {Access.RECEIVE, Access.PEEK}),
        (Access.ALL, {Access.SEND, Access.RECEIVE, Access.PEEK}),
    ],
)
def test_a_handle_does_what_it_was_opened_for(access: Access, allowed: set[Access]) -> None:
    """The one who may receive may also peek."""
    for needed in (Access.SEND, Access.PEEK, Access.RECEIVE):
        if needed in allowed:
            Mode(access).require(needed)
        else:
            with pytest.raises(AccessDenied, match=str(needed.name).lower()) as info:
                Mode(access).require(needed)
            assert info.value.hresult == 0xC00E0025
