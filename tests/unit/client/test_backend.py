"""What the API asks of a backend."""

from __future__ import annotations

import pytest

from openmsmq.client.backend import Handle, Read
from openmsmq.engine.queues.access import Access, Mode
from openmsmq.errors import AccessDenied, InvalidParameter


@pytest.mark.parametrize(
    "wrong", [{"count": 0}, {"count": -1}, {"timeout": -1.0}, {"timeout": float("nan")}], ids=str
)
def test_a_read_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        Read(take=True, **wrong)  # type: ignore[arg-type]


def test_a_handle_allows_what_it_was_opened_for() -> None:
    handle = Handle("q", Mode(Access.PEEK))
    handle.require(Access.PEEK)
    with pytest.raises(AccessDenied):
        handle.require(Access.SEND)
