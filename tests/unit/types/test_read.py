"""Which messages a read asks for."""

from __future__ import annotations

import pytest

from openmsmq.errors import InvalidParameter
from openmsmq.types.read import Read, Seek


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
