"""What a commit is made of."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from openmsmq.model.operation import Operation


def test_an_operation_needs_no_more_room_unless_it_says_so() -> None:
    operation = Operation(lambda batch: None, lambda: None, lambda error: None)
    assert not operation.grows
    with pytest.raises(FrozenInstanceError):
        operation.grows = True  # type: ignore[misc]
