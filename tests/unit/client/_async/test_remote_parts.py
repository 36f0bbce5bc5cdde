"""What a service has open for a program, when the connection is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.client.adapter import PATIENCE, start
from tests.unit.client.services import Clients, Relay, Service, SyncClients

from openmsmq import Manager, Subscription
from openmsmq.errors import QueueNotAvailable


@pytest.fixture
def direct(service: Service) -> Iterator[Manager]:
    """A program whose connection is never cut."""
    made = SyncClients()
    yield made.connect(service.address)
    made.close()


@pytest.fixture
def lake(clients: Clients, relay: Relay, direct: Manager) -> Subscription:
    """A subscription of a program whose connection may be cut; three messages wait."""
    direct.create_queue("orders").send_many(["a", "b", "c"])
    manager = clients.connect(relay.address, reconnect=PATIENCE)
    return manager.open_queue("orders").subscription("lake")


def texts(lake: Subscription, after: int, last: int) -> list[str | None]:
    return [message.text for message in lake.read(after, last)]


def test_a_subscription_goes_on_over_the_next_connection(
    lake: Subscription, relay: Relay, direct: Manager
) -> None:
    relay.cut()
    assert lake.reserve(0, 2) == 2
    relay.cut()
    assert texts(lake, 0, 2) == ["a", "b"]
    relay.cut()
    lake.commit(1)
    assert (lake.committed, lake.reserved) == (1, 2)
    [info] = direct.subscriptions()
    assert (info.committed, info.reserved) == (1, 2)


def test_what_was_done_and_not_answered_is_not_done_twice(
    lake: Subscription, relay: Relay, direct: Manager
) -> None:
    for call, expected in (
        (lambda: lake.reserve(0, 2), (0, 2)),
        (lambda: lake.commit(2), (2, 2)),
    ):
        relay.mute()
        under_way = start(call)
        while True:
            [info] = direct.subscriptions()
            if (info.committed, info.reserved) == expected:
                break
        relay.cut()
        assert under_way.result(PATIENCE) in (2, None)
        [info] = direct.subscriptions()
        assert (info.committed, info.reserved) == expected
    assert direct.open_queue("orders").info().messages == 1


def test_a_queue_that_is_deleted_meanwhile_leaves_what_was_given(
    lake: Subscription, relay: Relay, direct: Manager
) -> None:
    assert lake.reserve(0, 2) == 2
    direct.delete_queue("orders")
    relay.cut()
    assert texts(lake, 0, 2) == ["a", "b"]
    lake.commit(2)
    with pytest.raises(QueueNotAvailable):
        lake.reserve(2)
    assert direct.drop_subscription("lake", "orders") == 0


def test_a_service_that_is_started_again_goes_on(clients: Clients, service: Service) -> None:
    manager = clients.connect(service.address, reconnect=PATIENCE)
    queue = manager.create_queue("orders")
    queue.send("a")
    lake = queue.subscription("lake")
    assert lake.reserve(0) == 1
    service.stop()
    service.start()
    assert texts(lake, 0, 1) == ["a"]
