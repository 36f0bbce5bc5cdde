"""Subscriptions with a name, as a manager in this process has them."""

from __future__ import annotations

import pytest
from tests.unit.client.adapter import SyncApi
from tests.unit.service.stores import SlowStore

from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.subscriptions.info import find_subscription, subscription_infos
from openmsmq.errors import QueueNotFound


def test_subscriptions_are_found_by_name_and_listed_by_queue() -> None:
    local = QueueManager(SlowStore(), SystemClock(), name="server1")
    api = SyncApi()
    manager = api.over(local)
    for queue, name in (("b", "x"), ("a", "y"), ("a", "X")):
        if queue not in [info.label for info in manager.queues()]:
            manager.create_queue(queue, label=queue)
        manager.open_queue(queue).subscription(name)
    found = [(info.queue[-1], info.name) for info in subscription_infos(local)]
    assert found == [("a", "X"), ("a", "y"), ("b", "x")]
    assert find_subscription(local, "Y", r"SERVER1\private$\A").name == "y"
    with pytest.raises(QueueNotFound):
        find_subscription(local, "y", "b")
    find_subscription(local, "x", "b").finished = local.timeline.wall - 100
    assert [info.idle for info in subscription_infos(local)] == [0, 0, 100]
    api.close()
