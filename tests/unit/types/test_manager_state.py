"""The states of a queue manager."""

from __future__ import annotations

from openmsmq.types.manager_state import ManagerState


def test_a_manager_has_the_states_of_the_specification() -> None:
    """[MS-MQDMPR] 3.1.1.1."""
    assert list(ManagerState) == ["stopped", "initializing", "ready", "stopping"]
