"""What the API asks of a backend."""

from __future__ import annotations

import pytest

from openmsmq.client.backend import Handle
from openmsmq.errors import AccessDenied
from openmsmq.types.access import Access, Mode


def test_a_handle_allows_what_it_was_opened_for() -> None:
    handle = Handle("q", Mode(Access.PEEK))
    handle.require(Access.PEEK)
    with pytest.raises(AccessDenied):
        handle.require(Access.SEND)
