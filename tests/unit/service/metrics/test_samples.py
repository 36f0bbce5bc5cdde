"""What Prometheus is given about a queue manager, read back by its own parser."""

from __future__ import annotations

import asyncio
import re
import time
from math import inf
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.app_protocol.test_topology import TEXT
from tests.unit.engine import handles
from tests.unit.engine.office import Manager
from tests.unit.engine.world import OWNER, commit_all
from tests.unit.transports.wires import pair

from openmsmq.engine.arrivals.acknowledgements import DROPPED
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.messages import scan as reading
from openmsmq.engine.queues.queue import ManagedQueue, QueueProperties
from openmsmq.engine.storage.history import Event
from openmsmq.engine.subscriptions.owners import bind
from openmsmq.engine.subscriptions.subscription import SubscriptionMode
from openmsmq.names.format import parse_format_name
from openmsmq.names.parts import fold
from openmsmq.routing.file import read_topology
from openmsmq.runtime.commit_cost import Commit
from openmsmq.runtime.startup import open_directory
from openmsmq.service.limits import METRIC_KINDS_MAX
from openmsmq.service.metrics.names import METRICS, PROCESS_METRICS
from openmsmq.service.metrics.samples import (
    INCIDENTS,
    NOT_COUNTED,
    STEP,
    Load,
    ServiceMetrics,
    label,
    render,
)
from openmsmq.transports.mqqb.events import SessionEnd
from openmsmq.transports.mqqb.received_acks import FORGED
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.transports.srmp.outcomes import UNKNOWN_STREAM
from openmsmq.types.access import Access
from openmsmq.types.manager_state import ManagerState
from openmsmq.types.message import Message
from openmsmq.types.outgoing import TransferState
from openmsmq.types.queues import QueueKind

ORDERS = r"server1\private$\orders"
Labels = frozenset[tuple[str, str]]
Scrape = dict[tuple[str, Labels], float]


def parse(text: str) -> Scrape:
    """All samples; none may be there twice."""
    found: Scrape = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, f"{key} is there twice"
            found[key] = sample.value
    return found


class Watched:
    """A manager and what is reported about it."""

    def __init__(self) -> None:
        self.manager = Manager()
        self.service = ServiceMetrics()

    def scrape(self, local: QueueManager | None = None, now: float | None = None) -> Scrape:
        now = self.manager.clock.now() if now is None else now
        page = asyncio.run(render(local or self.manager.local, self.service, now))
        return parse(page.decode())

    def value(self, name: str, **labels: str) -> float:
        return self.scrape()[name, frozenset(labels.items())]


@pytest.fixture
def watched() -> Watched:
    return Watched()


def of_queue(scrape: Scrape, name: str) -> dict[str, float]:
    """The samples of one queue."""
    labels = frozenset({("name", name)})
    return {metric: value for (metric, found), value in scrape.items() if found == labels}


# Queues


def test_an_empty_queue_is_reported_with_zeros(watched: Watched) -> None:
    watched.manager.create("Orders")
    assert of_queue(watched.scrape(), ORDERS) == {
        "windows_msmq_messages_in_queue": 0,
        "windows_msmq_bytes_in_queue": 0,
        "windows_msmq_messages_in_journal_queue": 0,
        "windows_msmq_bytes_in_journal_queue": 0,
        "openmsmq_oldest_message_age_seconds": 0,
        "openmsmq_quota_bytes": inf,
        "openmsmq_quota_used_bytes": 0,
        "openmsmq_waiting_readers": 0,
        "openmsmq_held_messages": 0,
        "openmsmq_delayed_messages": 0,
    }


def test_a_queue_is_reported_with_what_is_in_it(watched: Watched) -> None:
    manager = watched.manager
    queue = manager.create("orders", journal=True, quota=7)
    manager.send(queue, Message(b"first"))
    manager.clock.wait(90)
    manager.send(queue, Message(b"second", recoverable=False), Message(b"third", priority=7))
    manager.receive(queue)
    found = of_queue(watched.scrape(), ORDERS)
    assert found["windows_msmq_messages_in_queue"] == 2
    assert found["windows_msmq_messages_in_journal_queue"] == 1
    size = queue.size + queue.express.size
    assert found["windows_msmq_bytes_in_queue"] == found["openmsmq_quota_used_bytes"] == size
    assert queue.journal is not None
    assert found["windows_msmq_bytes_in_journal_queue"] == queue.journal.size > 0
    assert found["openmsmq_oldest_message_age_seconds"] == 90
    assert found["openmsmq_quota_bytes"] == 7 * 1024


def test_the_age_of_the_oldest_message_is_right_without_recent_calls(watched: Watched) -> None:
    queue = watched.manager.create()
    watched.manager.send(queue, Message(b"a"))
    for passed, age in ((3600, 3600), (-60, 0)):
        now = watched.manager.clock.now() + passed
        found = of_queue(watched.scrape(now=now), ORDERS)
        assert found["openmsmq_oldest_message_age_seconds"] == age


def test_readers_that_wait_and_messages_that_are_held_are_reported(watched: Watched) -> None:
    manager = watched.manager
    queue = manager.create()
    for _ in range(2):
        manager.local.receiver.receive(queue, 1, OWNER, wait=True)
    assert of_queue(watched.scrape(), ORDERS)["openmsmq_waiting_readers"] == 2
    other = manager.create("other", transactional=True)
    manager.send_in(other, Message(b"a"), Message(b"b"), Message(b"c"))
    manager.receive(other, manager.local.begin())
    found = of_queue(watched.scrape(), r"server1\private$\other")
    assert (found["openmsmq_held_messages"], found["windows_msmq_messages_in_queue"]) == (1, 3)


def test_messages_of_a_subqueue_are_its_own_but_count_against_the_quota_of_its_queue(
    watched: Watched,
) -> None:
    manager = watched.manager
    queue = manager.create()
    manager.send(queue, Message(b"a"))
    (found,) = manager.peek(queue)
    manager.done(handles.move(manager.local, queue, found.lookup_id, "Retry", None))
    scrape = watched.scrape()
    retry = of_queue(scrape, rf"{ORDERS};retry")
    assert retry["windows_msmq_messages_in_queue"] == 1
    assert "openmsmq_quota_bytes" not in retry
    own = of_queue(scrape, ORDERS)
    assert own["windows_msmq_messages_in_queue"] == 0
    assert own["openmsmq_quota_used_bytes"] == retry["windows_msmq_bytes_in_queue"] > 0


def test_dead_letters_and_the_journal_of_sent_messages_are_the_computers_queues(
    watched: Watched,
) -> None:
    """Both dead-letter queues together, as on Windows; one by one under names of our own."""
    manager = watched.manager
    queue, strict = manager.create(), manager.create("strict", transactional=True)
    dying = Message(b"a", dead_letter=True, time_to_be_received=1)
    manager.send(queue, dying, dying)
    manager.send_in(strict, dying)
    manager.tick(5)
    core = manager.local
    manager.done(core.queue_lifecycle.change(core.queues.system_journal, 0, {"quota": 3}))
    scrape = watched.scrape()
    computer = of_queue(scrape, "Computer Queues")
    assert computer["windows_msmq_messages_in_queue"] == 3
    dead = [core.queues.dead_letter, core.queues.transactional_dead_letter]
    assert computer["windows_msmq_bytes_in_queue"] == sum(one.size for one in dead)
    assert computer["windows_msmq_messages_in_journal_queue"] == 0
    assert computer["windows_msmq_bytes_in_journal_queue"] == 0
    for name, messages in (("deadletter$", 2), ("xactdeadletter$", 1), ("journal$", 0)):
        own = of_queue(scrape, rf"server1\{name}")
        assert own["openmsmq_system_queue_messages"] == messages
        assert bool(own["openmsmq_system_queue_bytes"]) == bool(messages)
        assert own["openmsmq_quota_bytes"] == (3 * 1024 if name == "journal$" else inf)
        assert not any(metric.startswith("windows") for metric in own), "counted twice"


def test_hidden_queues_are_not_reported(watched: Watched) -> None:
    names = {dict(labels).get("name", "") for _, labels in watched.scrape()}
    assert not any("order_queue$" in name or "notify_queue$" in name for name in names)


def test_what_a_subscription_was_given_is_no_queue(watched: Watched) -> None:
    manager = watched.manager
    manager.done(manager.local.reservations.open("lake", manager.create(), SubscriptionMode.TAKE))
    names = {dict(labels).get("name", "") for _, labels in watched.scrape()}
    assert not any("lake" in name for name in names)


def test_subscriptions_are_reported_with_their_lag(watched: Watched) -> None:
    manager = watched.manager
    queue = manager.create()
    lake = manager.done(manager.local.reservations.open("lake", queue, SubscriptionMode.TAKE))
    manager.send(queue, Message(b"a"), Message(b"b"), Message(b"c"))
    manager.done(manager.local.reservations.reserve(lake, 0, 3, 10_000))
    manager.tick(40)
    labels = frozenset({"name": ORDERS, "subscription": "lake"}.items())
    assert watched.scrape()["openmsmq_subscription_messages", labels] == 3
    assert watched.scrape()["openmsmq_subscription_bytes", labels] == lake.store.size > 0
    assert watched.scrape()["openmsmq_subscription_idle_seconds", labels] == 40
    manager.done(manager.local.reservations.commit(lake, 2))
    manager.clock.wait(2)
    assert watched.scrape()["openmsmq_subscription_messages", labels] == 1
    assert watched.scrape()["openmsmq_subscription_unread_messages", labels] == 0
    assert watched.scrape()["openmsmq_subscription_idle_seconds", labels] == 2
    manager.done(bind(manager.local, lake, "me"))
    manager.done(manager.local.reservations.commit(lake, 3, owner="me"))
    assert watched.scrape()["openmsmq_subscription_messages", labels] == 0
    assert watched.scrape()["openmsmq_subscription_unread_messages", labels] == 1


@pytest.mark.parametrize("way", SubscriptionMode)
def test_the_lag_of_a_subscription(watched: Watched, way: SubscriptionMode) -> None:
    manager = watched.manager
    queue = manager.create()
    lake = manager.done(manager.local.reservations.open("lake", queue, way))
    labels = frozenset({"name": ORDERS, "subscription": "lake"}.items())

    def lag() -> tuple[float, float]:
        page = watched.scrape()
        names = "openmsmq_subscription_lag_messages", "openmsmq_subscription_lag_seconds"
        return page[names[0], labels], page[names[1], labels]

    assert lag() == (0, 0)
    manager.send(queue, Message(b"a"), Message(b"b"), Message(b"c"))
    manager.tick(40)
    assert lag() == (3, 40)
    manager.done(manager.local.reservations.reserve(lake, 0, 2, 10_000))
    assert lag() == (1, 40)
    manager.done(manager.local.reservations.reserve(lake, 2, 2, 10_000))
    assert lag() == (0, 0)


def test_a_queue_that_is_deleted_is_gone_from_the_page(watched: Watched) -> None:
    manager = watched.manager
    queue = manager.create()
    manager.done(manager.local.queue_lifecycle.delete(queue))
    assert of_queue(watched.scrape(), ORDERS) == {}


def test_queues_are_counted_by_kind(watched: Watched) -> None:
    manager = watched.manager
    manager.create("a")
    manager.create("b")
    manager.create(r".\shared")
    manager.open(r"DIRECT=OS:other\private$\orders", Access.SEND)
    kinds = ("private", "public", "system", "subqueue", "outgoing")
    counted = [watched.value("openmsmq_queues", kind=kind) for kind in kinds]
    assert counted == [2, 1, 4, 0, 1]


# Outgoing queues


def test_an_outgoing_queue_is_reported_as_by_both_exporters(watched: Watched) -> None:
    manager = watched.manager
    name = r"DIRECT=OS:Other\private$\Orders"
    queue = manager.open(name, Access.SEND)
    manager.send(queue, Message(b"a"), Message(b"b"))
    scrape = watched.scrape()
    labels = frozenset({("queue_name", name), ("connection_host", "Other")})
    own = {metric: value for (metric, found), value in scrape.items() if found == labels}
    assert own == {
        "msmq_outgoing_queue_message_count": 2,
        "msmq_outgoing_queue_bytes_in_queue": queue.size,
        "msmq_outgoing_queue_unacknowledged_message_count": 0,
        "msmq_outgoing_queue_unprocessed_message_count": 0,
        "msmq_outgoing_queue_state": -1,
    }
    windows = of_queue(scrape, r"os:other\private$\orders")
    assert windows["windows_msmq_messages_in_queue"] == 2
    assert windows["windows_msmq_messages_in_journal_queue"] == 0
    assert "openmsmq_quota_bytes" not in windows


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (TransferState.CONNECTED, 1),
        (TransferState.DISCONNECTED, 0),
        (TransferState.WAITING, -1),
        (TransferState.ON_HOLD, -1),
    ],
)
def test_the_state_of_a_connection_is_a_number(
    watched: Watched, state: TransferState, shown: int
) -> None:
    name = r"DIRECT=TCP:10.0.0.1\private$\q"
    queue = watched.manager.open(name, Access.SEND)
    assert queue.transfer is not None
    queue.transfer.state = state
    labels = {"queue_name": name, "connection_host": "10.0.0.1"}
    assert watched.value("msmq_outgoing_queue_state", **labels) == shown


def test_the_host_is_where_messages_go_next_unless_their_name_says_it(watched: Watched) -> None:
    manager = watched.manager
    for name, host in (
        (r"DIRECT=OS:other\private$\q", "other"),
        (f"PRIVATE={UUID(int=7)}\\{5:08x}", "router"),
    ):
        queue = manager.open(name, Access.SEND)
        assert queue.transfer is not None
        queue.transfer.next_hops = ("TCP=router", "TCP=another")
        labels = {"queue_name": queue.name, "connection_host": host}
        assert watched.value("msmq_outgoing_queue_message_count", **labels) == 0


def test_messages_under_way_and_arrived_ones_are_counted_apart(watched: Watched) -> None:
    net, a, b = pair(transactional=True)
    queue = a.out(r"DIRECT=OS:b\private$\q")
    labels = {"queue_name": queue.name, "connection_host": "b"}
    names = ("message", "unacknowledged_message", "unprocessed_message")

    def counts() -> list[float]:
        scrape = watched.scrape(a.local)
        found = frozenset(labels.items())
        return [scrape[f"msmq_outgoing_queue_{name}_count", found] for name in names]

    b.is_slow = True  # nothing is stored there, so that nothing is acknowledged
    a.enter(lambda: a.send_in(queue, Message("x", dead_letter=True), Message("y")))
    net.run()
    assert counts() == [2, 2, 0]
    b.go_on()
    net.wait(5)
    assert counts() == [0, 0, 1]
    windows = of_queue(watched.scrape(a.local), r"os:b\private$\q")
    assert windows["windows_msmq_messages_in_journal_queue"] == 0


# Sessions with other managers


def test_sessions_are_counted_by_who_began_them(watched: Watched) -> None:
    net, a, b = pair()
    queue = a.out(r"DIRECT=OS:b\private$\q")
    a.enter(lambda: a.send(queue, Message("x")))
    net.run()
    for station, incoming, outgoing in ((a, 0, 1), (b, 1, 0)):
        scrape = watched.scrape(station.local)
        assert scrape["openmsmq_sessions", frozenset({("direction", "incoming")})] == incoming
        assert scrape["openmsmq_sessions", frozenset({("direction", "outgoing")})] == outgoing
    sent, received = a.transport.bytes_sent, a.transport.bytes_received
    scrape = watched.scrape(a.local)
    assert scrape["openmsmq_transfer_bytes_total", frozenset({("direction", "outgoing")})] == sent
    came = scrape["openmsmq_transfer_bytes_total", frozenset({("direction", "incoming")})]
    assert came == received > 0
    assert sent > received


def test_ends_of_sessions_are_counted_by_reason(watched: Watched) -> None:
    net, a, b = pair()
    queue = a.out(r"DIRECT=OS:b\private$\q")
    a.enter(lambda: a.send(queue, Message("x")))
    net.run()
    b.die()
    scrape = watched.scrape(a.local)
    ended = {
        dict(labels)["reason"]: value
        for (name, labels), value in scrape.items()
        if name == "openmsmq_sessions_ended_total"
    }
    assert ended == {reason.value: float(reason is SessionEnd.LOST) for reason in SessionEnd}
    assert scrape["openmsmq_sessions", frozenset({("direction", "outgoing")})] == 0


def test_without_a_listener_for_others_there_are_no_sessions(watched: Watched) -> None:
    for direction in ("incoming", "outgoing"):
        assert watched.value("openmsmq_sessions", direction=direction) == 0
        assert watched.value("openmsmq_transfer_bytes_total", direction=direction) == 0
    assert watched.value("openmsmq_sessions_ended_total", reason="refused") == 0


def test_a_destination_that_is_no_computer_has_no_host(watched: Watched) -> None:
    core = watched.manager.local
    name = "MULTICAST=234.1.1.1:8001"
    core.queues.outgoing(parse_format_name(name))
    found = watched.value("msmq_outgoing_queue_state", queue_name=name, connection_host="")
    assert found == -1
    assert of_queue(watched.scrape(), "multicast=234.1.1.1:8001")


# Names


def named(name: str, kind: QueueKind = QueueKind.PRIVATE) -> ManagedQueue:
    return ManagedQueue(16, QueueProperties(name, UUID(int=1), 0, 0, kind=kind))


@pytest.mark.parametrize(
    ("name", "kind", "shown"),
    [
        (r"private$\Orders", QueueKind.PRIVATE, r"server1\private$\orders"),
        ("Shared", QueueKind.PUBLIC, r"server1\shared"),
        (r"private$\Orders;Retry", QueueKind.SUBQUEUE, r"server1\private$\orders;retry"),
        ("SYSTEM$;DEADXACT", QueueKind.SYSTEM, r"server1\xactdeadletter$"),
        (r"DIRECT=TCP:10.0.0.1\private$\Q", QueueKind.OUTGOING, r"tcp:10.0.0.1\private$\q"),
        ("DIRECT=HTTPS://Shop/msmq/Q", QueueKind.OUTGOING, "https://shop/msmq/q"),
        ("PUBLIC=6B29FC40", QueueKind.OUTGOING, "public=6b29fc40"),
        (r"private$\ÄRGER", QueueKind.PRIVATE, r"server1\private$\ärger"),
    ],
)
def test_queues_are_called_what_windows_calls_them(name: str, kind: QueueKind, shown: str) -> None:
    assert label(named(name, kind), "Server1") == shown


@given(st.text(max_size=8), st.text(max_size=8))
@example("k", "\N{KELVIN SIGN}")
def test_two_queues_never_have_the_same_name(one: str, other: str) -> None:
    is_same = label(named(one), "a") == label(named(other), "a")
    assert not is_same or fold(one) == fold(other)


def test_odd_characters_come_through(watched: Watched) -> None:
    watched.manager.create("a 'b' {c} #d")
    assert of_queue(watched.scrape(), r"server1\private$\a 'b' {c} #d")


# The manager


def test_what_happens_to_messages_is_counted_by_event(watched: Watched) -> None:
    manager = watched.manager
    for event in Event:
        if event not in NOT_COUNTED:
            assert watched.value("openmsmq_messages_total", event=event.word) == 0
    queue = manager.create(journal=True)
    manager.send(queue, Message(b"a"), Message(b"b"), Message(b"c", recoverable=False))
    manager.receive(queue)
    assert watched.value("openmsmq_messages_total", event="arrived") == 3
    assert watched.value("openmsmq_messages_total", event="received") == 1
    assert watched.value("openmsmq_messages_total", event="journaled") == 1


def test_everything_that_the_rules_count_is_reported(watched: Watched) -> None:
    statistics = watched.manager.local.statistics
    for incident in INCIDENTS:
        assert watched.value("openmsmq_incidents_total", incident=incident) == 0
    statistics.count("flow control", 2)
    statistics.count("something new")
    assert watched.value("openmsmq_incidents_total", incident="flow control") == 2
    assert watched.value("openmsmq_incidents_total", incident="something new") == 1


def test_rejected_messages_are_reported_by_reason(watched: Watched) -> None:
    statistics = watched.manager.local.statistics
    statistics.count("rejected: the destination queue is full", 3)
    reason = "the destination queue is full"
    assert watched.value("openmsmq_messages_rejected_total", reason=reason) == 3
    assert not [labels for _, labels in watched.scrape() if "rejected: " in str(labels)]


def test_every_incident_there_can_be_is_known() -> None:
    package = Path(reading.__file__).parents[2]
    sources = [*package.glob("engine/**/*.py"), *package.glob("transports/**/*.py")]
    counted = {
        what
        for source in sources
        for what in re.findall(r'\b_?count\((?:work,)?\s*"([^"]+)"', source.read_text())
    }
    assert counted | {DROPPED, FORGED, UNKNOWN_STREAM} == set(INCIDENTS)


def test_the_state_of_the_manager_is_reported(watched: Watched) -> None:
    local = watched.manager.local
    assert watched.value("openmsmq_ready") == 1
    assert watched.value("openmsmq_flow_control") == 0
    assert watched.value("openmsmq_clock_jumps_total") == 0
    assert watched.value("openmsmq_manager_quota_bytes") == inf
    local.state = ManagerState.STOPPING
    local.begin_flow_control()
    watched.manager.clock.time += 1000
    watched.manager.tick()
    watched.manager.done(local.configure(quota=5))
    assert watched.value("openmsmq_ready") == 0
    assert watched.value("openmsmq_flow_control") == 1
    assert watched.value("openmsmq_clock_jumps_total") == 1
    assert watched.value("openmsmq_manager_quota_bytes") == 5 * 1024


def test_what_messages_and_their_history_take_is_reported(watched: Watched) -> None:
    manager = watched.manager
    queue = manager.create()
    manager.send(queue, Message(b"a"), Message(b"b", recoverable=False))
    assert watched.value("openmsmq_express_bytes") == queue.express.size > 0
    assert watched.value("openmsmq_manager_quota_used_bytes") == queue.quota_size
    assert watched.value("openmsmq_history_bytes") > 0


def test_prepared_transactions_are_counted(watched: Watched) -> None:
    manager = watched.manager
    queue = manager.create(transactional=True)
    transaction = manager.local.begin("x1")
    manager.send(queue, Message(b"a"), transaction=transaction)
    manager.done(manager.local.prepare(transaction))
    assert watched.value("openmsmq_prepared_transactions") == 1


def test_every_metric_of_the_catalogue_is_exposed(watched: Watched, tmp_path: Path) -> None:
    watched.service = ServiceMetrics(tmp_path)
    (tmp_path / "data.mdb").touch()
    manager = watched.manager
    manager.open(r"DIRECT=OS:other\private$\q", Access.SEND)
    manager.done(manager.local.reservations.open("lake", manager.create(), SubscriptionMode.TAKE))
    watched.service.requests["send"] += 1
    watched.service.refused("full")
    reported = {re.sub("_(bucket|sum|count)$", "", name) for name, _ in watched.scrape()}
    declared = {re.sub("_count$", "", metric.name) for metric in METRICS}
    assert declared <= reported
    assert reported - declared <= PROCESS_METRICS.keys()
    assert "process_resident_memory_bytes" in reported or not Path("/proc").exists()


def test_it_says_which_manager_it_is(watched: Watched) -> None:
    ((labels, value),) = [
        (dict(labels), value)
        for (name, labels), value in watched.scrape().items()
        if name == "openmsmq_info"
    ]
    assert (labels["name"], value) == ("Server1", 1)
    assert re.match(r"\d+\.\d+", labels["version"])


# The service


def test_without_a_manager_the_service_is_reported(watched: Watched) -> None:
    page = asyncio.run(render(None, watched.service, 0)).decode()
    scrape = parse(page)
    assert scrape["openmsmq_ready", frozenset()] == 0
    assert scrape["openmsmq_clients", frozenset()] == 0
    assert "# TYPE windows_msmq_messages_in_queue gauge\n#" in page


def test_clients_and_what_they_do_are_counted(watched: Watched) -> None:
    service = watched.service
    service.client_connected()
    service.client_connected()
    service.client_disconnected()
    service.transactions += 1
    service.login_refused()
    for kind in ("send", "receive", "send"):
        service.requests[kind] += 1
    service.refused("too large")
    assert watched.value("openmsmq_clients") == 1
    assert watched.value("openmsmq_connections_total") == 2
    assert watched.value("openmsmq_open_transactions") == 1
    assert watched.value("openmsmq_logins_refused_total") == 1
    assert watched.value("openmsmq_requests_total", kind="send") == 2
    assert watched.value("openmsmq_requests_total", kind="receive") == 1
    assert watched.value("openmsmq_rejected_total", reason="too large") == 1


def test_the_number_of_label_values_is_bounded(watched: Watched) -> None:
    for number in range(METRIC_KINDS_MAX + 50):
        watched.service.refused(f"reason {number}")
    watched.service.refused("reason 1")
    assert len(watched.service.rejected) == METRIC_KINDS_MAX + 1
    assert watched.value("openmsmq_rejected_total", reason="other") == 50
    assert watched.value("openmsmq_rejected_total", reason="reason 1") == 2


def test_durations_of_commits_are_exposed_and_failures_apart(watched: Watched) -> None:
    watched.service.committed(Commit(3, 0.02, 0.004))
    watched.service.committed(Commit(40, 3.0, 2.0))
    watched.service.committed(Commit(7, 60.0, 60.0, failed=True))
    scrape = watched.scrape()
    for name, least, total in (
        ("openmsmq_commit_seconds", "0.025", 3.02),
        ("openmsmq_sync_seconds", "0.005", 2.004),
        ("openmsmq_commit_operations", "5", 43),
    ):
        assert scrape[f"{name}_bucket", frozenset({("le", least)})] == 1
        assert scrape[f"{name}_count", frozenset()] == 2
        assert scrape[f"{name}_sum", frozenset()] == pytest.approx(total)
    assert scrape["openmsmq_commit_failures_total", frozenset()] == 1


def test_the_free_space_of_the_disk_is_exposed(watched: Watched, tmp_path: Path) -> None:
    watched.service = ServiceMetrics(tmp_path)
    assert ("openmsmq_store_bytes", frozenset()) not in watched.scrape()
    local = open_directory(tmp_path, name="Server1", receipts=RECEIPTS)
    try:
        assert 0 < watched.value("openmsmq_store_bytes") < 1 << 20
        assert watched.value("openmsmq_disk_free_bytes") > 0
    finally:
        local.store.close()


# Many queues


def test_others_get_their_turns_while_many_queues_are_reported(watched: Watched) -> None:
    """What they do meanwhile changes nothing: a queue that is gone is not reported."""
    manager = watched.manager
    queues = [manager.create(f"q{number}") for number in range(2 * STEP)]

    async def test() -> bytes:
        rendering = asyncio.create_task(render(manager.local, watched.service, 0))
        await asyncio.sleep(0)
        manager.done(manager.local.queue_lifecycle.delete(queues[-1]))
        manager.create("another")
        assert not rendering.done()
        return await rendering

    scrape = parse(asyncio.run(test()).decode())
    assert of_queue(scrape, r"server1\private$\q0")
    assert not of_queue(scrape, rf"server1\private$\q{2 * STEP - 1}")


def test_a_thousand_queues_are_reported_quickly(watched: Watched) -> None:
    """Ten thousand take about a fifth of a second, twice as long if all have messages."""
    core = watched.manager.local
    for number in range(1000):
        watched.manager.local.create_queue(f"q{number}")
    commit_all(core)
    start = time.perf_counter()
    page = asyncio.run(render(watched.manager.local, watched.service, 0))
    assert time.perf_counter() - start < 1
    assert page.count(b"\nwindows_msmq_messages_in_queue{") == 1001


def test_requests_of_clients_are_exposed_as_they_are_now(watched: Watched) -> None:
    assert watched.value("openmsmq_held_up_clients") == 0
    watched.service.load = lambda: Load(3, 5000)
    assert watched.value("openmsmq_held_up_clients") == 3
    assert watched.value("openmsmq_request_bytes") == 5000


def test_transactions_that_limits_have_ended_are_counted(watched: Watched) -> None:
    watched.service.transaction_aborted("idle")
    name = "openmsmq_transactions_aborted_total"
    assert watched.value(name, reason="idle") == 1
    assert watched.value(name, reason="abandoned") == 0


@pytest.mark.parametrize("is_offline", [True, False])
def test_a_manager_of_a_domain_says_whether_a_controller_answers(
    watched: Watched, is_offline: bool
) -> None:
    assert watched.value("openmsmq_directory_offline") == 0
    directory = watched.manager.local.directory
    directory.is_used, directory.is_offline = True, is_offline
    assert watched.value("openmsmq_directory_offline") == is_offline


def test_sites_links_and_managers_of_a_directory_are_counted(watched: Watched) -> None:
    local = watched.manager.local
    local.directory.is_used = True
    local.route_by(read_topology(TEXT))
    counts = [
        watched.value("openmsmq_topology_objects", kind=kind)
        for kind in ("sites", "links", "managers")
    ]
    assert counts == [3, 1, 3]
