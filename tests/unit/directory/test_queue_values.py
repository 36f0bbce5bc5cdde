from __future__ import annotations

from openmsmq.directory.objects import QueueObject
from openmsmq.directory.queue_values import directory_values, local_values


def test_values_of_queues_there_and_here() -> None:
    """MQDS-223"""
    found = local_values(QueueObject(label="l", journal=True))
    assert found["label"] == "l"
    assert found["journal"]
    assert found["quota"] == 0xFFFFFFFF
    given = directory_values({"label": "l", "quota": 5, "privacy": 2, "abort_limit": 3})
    assert given == {"label": "l", "quota": 5, "privacy": 2}
