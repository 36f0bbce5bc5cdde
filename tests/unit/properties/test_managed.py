"""What a manager elsewhere says, before it has said anything."""

from __future__ import annotations

from dataclasses import asdict

from openmsmq.properties.managed import ManagedMachine, ManagedQueueInfo


def test_nothing_is_known_at_first() -> None:
    assert set(asdict(ManagedQueueInfo()).values()) == {None}
    assert len(ManagedQueueInfo.__dataclass_fields__) == 27
    machine = ManagedMachine()
    assert (machine.private_queues, machine.bytes, machine.connected) == ((), None, True)
