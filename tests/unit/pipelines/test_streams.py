"""What is checked before there is Spark."""

from __future__ import annotations

import pytest
from tests.unit.client.services import Service

from openmsmq import Manager
from openmsmq.errors import QueueNotFound, ServiceNotAvailable
from openmsmq.pipelines.spec import ManagerOptions, Source
from openmsmq.pipelines.streams import _trigger, check_source, check_targets


def test_queues_are_looked_for(service: Service, manager: Manager) -> None:
    place = ManagerOptions((service.address,))
    check_source(Source(place, ("orders", r".\DeadLetter$", "ord*")))
    check_targets("sink", place, ["orders"])
    with pytest.raises(QueueNotFound) as caught:
        check_source(Source(place, ("ordres",)))
    assert caught.value.detail.startswith("source.queue: there is no queue 'ordres'; did you mean")
    with pytest.raises(QueueNotFound, match=r"route.queue: there is no queue 'x'"):
        check_targets("route", place, ["orders", "x"])


def test_a_manager_that_is_not_there() -> None:
    with pytest.raises(ServiceNotAvailable, match=r"source\.manager"):
        check_source(Source(ManagerOptions(("127.0.0.1:1",)), ("orders",)))


def test_triggers_as_spark_calls_them() -> None:
    assert _trigger("available-now") == {"availableNow": True}
    assert _trigger("once") == {"once": True}
    assert _trigger(5) == {"processingTime": "5 seconds"}
