"""Other queue managers as values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from uuid import UUID

import pytest

from openmsmq.types.peers import PeerInfo


def test_a_peer_is_a_frozen_value() -> None:
    found = PeerInfo(UUID(int=1), ("B",), "192.0.2.9", 1801, False, False, (), (), 0)
    assert found == replace(found)
    with pytest.raises(FrozenInstanceError):
        found.address = "x"  # type: ignore[misc]  # that it is refused is the point
