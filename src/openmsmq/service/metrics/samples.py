r"""The metrics of a queue manager and of the service around it.

The names that exporters for Windows use are kept, so that dashboards made for them go on working:
`windows_msmq_*` of windows_exporter with its instance names, `machine\private$\orders` in lower
case, and `msmq_outgoing_*` of the exporter behind Grafana's dashboard 21439. Unlike there, a
queue is reported as long as it exists. All of `openmsmq_*` is our own.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

from openmsmq import __version__
from openmsmq.engine.arrivals.acknowledgements import DROPPED
from openmsmq.engine.arrivals.refusal import REASONS, REJECTED
from openmsmq.engine.core import Core
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.messages.scan import oldest
from openmsmq.engine.outgoing.info import unprocessed
from openmsmq.engine.outgoing.transport import AddressKind
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.system import HIDDEN
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import Total
from openmsmq.engine.subscriptions.info import lag_of
from openmsmq.limits import KIB, NO_QUOTA
from openmsmq.names.direct import PREFIX, DirectName
from openmsmq.names.format import parse_format_name
from openmsmq.names.parts import fold
from openmsmq.names.path import shown
from openmsmq.properties.message import describe_class
from openmsmq.runtime.commit_cost import Commit
from openmsmq.runtime.listener import FAILED, UNFINISHED
from openmsmq.service.limits import LAG_LOOK_MAX, METRIC_KINDS_MAX
from openmsmq.service.metrics.exposition import Histogram, Page, escaped, number
from openmsmq.service.metrics.names import METRICS
from openmsmq.store.pages import DATA_FILE
from openmsmq.transports.mqqb.events import SessionEnd
from openmsmq.transports.mqqb.received_acks import FORGED
from openmsmq.transports.mqqb.transport import BinaryTransport
from openmsmq.transports.srmp.outcomes import UNKNOWN_STREAM, SrmpOutcome, Verdict, outcome_word
from openmsmq.types.manager_state import ManagerState
from openmsmq.types.outgoing import TransferState
from openmsmq.types.queues import QueueKind

if TYPE_CHECKING:  # a service that does not use them starts without them
    from openmsmq.transports.pgm.transport import PgmTransport
    from openmsmq.transports.srmp.transport import SrmpTransport

COMPUTER_QUEUES: Final = "Computer Queues"
"What Windows calls dead letters and the journal of sent messages together."
INCIDENTS: Final = (
    DROPPED,
    FORGED,
    "acknowledgements without a queue",
    "duplicates",
    "final acknowledgements of unknown messages",
    "final receipts of unknown messages",
    "flow control",
    "gaps after a restore",
    "messages lost because they could not be put back",
    "operations that failed alone",
    "order acknowledgements of unknown sequences",
    "out of order",
    "receivers set back",
    "refused and not kept",
    "refused for lack of room",
    "repeated sends",
    "reports without a queue",
    UNKNOWN_STREAM,
)
"What the statistics count beside events of messages; always reported, that a rise is seen."
ABORTS: Final = ("idle", "abandoned")
"Why transactions are aborted by the service itself."
TOO_MANY: Final = "too many clients"
TOO_MANY_CONSOLE: Final = "too many console connections"
EXHAUSTED: Final = "no file descriptor left"
REFUSALS: Final = (TOO_MANY, TOO_MANY_CONSOLE, EXHAUSTED, UNFINISHED, FAILED)
"Why connections are turned away; always reported, that a rise is seen."
STEP: Final = 100
"Queues reported before others get a turn."
LAG_STEP: Final = 5
"The same for subscriptions, which may look at messages to know how far they are behind."
SECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
OPERATIONS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


class Load(NamedTuple):
    """What clients ask of a service at one moment."""

    held_up: int
    "Clients that nothing is read from."
    request_bytes: int
    "In requests that are under way."


class ServiceMetrics:
    """What a service counts: its clients, their requests, and what commits cost."""

    def __init__(self, directory: Path | None = None) -> None:
        """`directory` holds the store, if there is one on disk."""
        self._directory = directory
        self.clients = 0
        self.load: Callable[[], Load] = lambda: Load(0, 0)
        "What clients ask of the service just now."
        self.connections = 0
        self.transactions = 0
        "Those of clients that are neither over nor prepared."
        self.aborted = dict.fromkeys(ABORTS, 0)
        self.logins_refused = 0
        self.commit_failures = 0
        self.requests: Counter[str] = Counter()
        "By the kind of their frame."
        self.rejected: Counter[str] = Counter()
        "By reason; those in `REFUSALS` are reported whether they occurred or not."
        self.commit_seconds = Histogram(SECONDS)
        self.sync_seconds = Histogram(SECONDS)
        self.commit_operations = Histogram(OPERATIONS)

    def client_connected(self) -> None:
        """A client has come."""
        self.clients += 1
        self.connections += 1

    def client_disconnected(self) -> None:
        """A client has gone."""
        self.clients -= 1

    def refused(self, reason: str) -> None:
        """A client or a request was turned away; the number of reasons is bounded."""
        known = reason in self.rejected or len(self.rejected) < METRIC_KINDS_MAX
        self.rejected[reason if known else "other"] += 1

    def login_refused(self) -> None:
        """A token or certificate was refused."""
        self.logins_refused += 1

    def transaction_aborted(self, reason: str) -> None:
        """A transaction was aborted by the service itself."""
        self.aborted[reason] += 1

    def committed(self, commit: Commit) -> None:
        """What a commit cost (`LoopDriver.observer`)."""
        if commit.failed:
            self.commit_failures += 1
            return
        self.commit_seconds.observe(commit.seconds)
        self.sync_seconds.observe(commit.sync_seconds)
        self.commit_operations.observe(commit.operations)

    def report(self, page: Page) -> None:
        """Add all of this to a page."""
        page.add("openmsmq_clients", self.clients)
        load = self.load()
        page.add("openmsmq_held_up_clients", load.held_up)
        page.add("openmsmq_request_bytes", load.request_bytes)
        page.add("openmsmq_connections_total", self.connections)
        page.add("openmsmq_open_transactions", self.transactions)
        for reason, count in self.aborted.items():
            page.add("openmsmq_transactions_aborted_total", count, reason)
        page.add("openmsmq_logins_refused_total", self.logins_refused)
        page.add("openmsmq_commit_failures_total", self.commit_failures)
        for kind, count in sorted(self.requests.items()):
            page.add("openmsmq_requests_total", count, kind)
        for reason in sorted({*REFUSALS, *self.rejected}):
            page.add("openmsmq_rejected_total", self.rejected[reason], reason)
        page.add_histogram("openmsmq_commit_seconds", self.commit_seconds)
        page.add_histogram("openmsmq_sync_seconds", self.sync_seconds)
        page.add_histogram("openmsmq_commit_operations", self.commit_operations)
        if self._directory is not None:
            _report_disk(page, self._directory)


def _report_disk(page: Page, directory: Path) -> None:
    """The store's size is not that of its file, which has holes where nothing was written."""
    try:
        store, disk = os.stat(directory / DATA_FILE), os.statvfs(directory)
    except OSError:
        return  # not made yet, or gone: the next write reports it
    page.add("openmsmq_store_bytes", store.st_blocks * 512)
    page.add("openmsmq_disk_free_bytes", disk.f_bavail * disk.f_frsize)


async def render(local: QueueManager | None, service: ServiceMetrics, now: float) -> bytes:
    """The page of metrics; where there is no manager yet, those of the service only.

    `now` is what the clock shows: the manager itself may not have looked for a while. With many
    queues this takes long, and others get their turns meanwhile.
    """
    page = Page(METRICS)
    service.report(page)
    is_ready = local is not None and local.state is ManagerState.READY
    page.add("openmsmq_ready", is_ready)
    if local is not None:
        _report_manager(page, local)
        _report_sessions(page, local)
        await _report_queues(page, local, now)
    return page.text().encode() + generate_latest(_process())


NOT_COUNTED: Final = (Event.ARRIVED_EXPRESS, Event.HANDED_OVER, Event.QUEUE_GONE)
"Events that are counted as others, arrived and delivered, or are of no message."


@cache
def _process() -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


def _report_manager(page: Page, local: QueueManager) -> None:
    core = local
    page.add("openmsmq_info", 1, __version__, local.name)
    counts = Counter(core.statistics.counts)
    for event in Event:
        if event not in NOT_COUNTED:
            page.add("openmsmq_messages_total", counts.pop(event.word, 0), event.word)
    for reason in map(describe_class, REASONS):
        page.add("openmsmq_messages_rejected_total", counts.pop(REJECTED + reason, 0), reason)
    for incident in sorted({*INCIDENTS, *counts}):
        page.add("openmsmq_incidents_total", counts[incident], incident)
    quota = core.settings.quota
    page.add("openmsmq_manager_quota_bytes", float("inf") if quota is None else quota * KIB)
    page.add("openmsmq_manager_quota_used_bytes", core.total_size)
    page.add("openmsmq_express_bytes", core.express_size)
    page.add("openmsmq_history_bytes", core.history.state.size)
    page.add("openmsmq_flow_control", core.is_throttled)
    page.add("openmsmq_clock_jumps_total", core.timeline.jumps)
    page.add("openmsmq_prepared_transactions", len(core.prepared))


def _report_sessions(page: Page, local: QueueManager) -> None:
    """What goes between managers; zeros where nothing does."""
    binary = [one for one in local.transports if isinstance(one, BinaryTransport)]
    all_links = [link for transport in binary for link in transport.links]
    links = [link for link in all_links if link.is_open]
    begun = sum(link.session.is_initiator for link in links)
    page.add("openmsmq_sessions", len(links) - begun, "incoming")
    page.add("openmsmq_sessions", begun, "outgoing")
    page.add("openmsmq_unfinished_bytes", sum(link.pending for link in all_links))
    ended = sum((transport.ended_by for transport in binary), Counter[str]())
    for reason in SessionEnd:
        page.add("openmsmq_sessions_ended_total", ended[reason.value], reason.value)
    received = sum(transport.bytes_received for transport in binary)
    sent = sum(transport.bytes_sent for transport in binary)
    page.add("openmsmq_transfer_bytes_total", received, "incoming")
    page.add("openmsmq_transfer_bytes_total", sent, "outgoing")
    http = cast("SrmpTransport | None", local.transports.of(AddressKind.HTTP))
    requests = Counter[str]() if http is None else http.received
    for outcome in sorted({*map(outcome_word, SrmpOutcome), *requests}):
        page.add("openmsmq_http_requests_total", requests[outcome], outcome)
    posts = Counter[str]() if http is None else http.posts
    for verdict in Verdict:
        word = verdict.name.lower()
        page.add("openmsmq_http_posts_total", posts[word], word)
    directory = local.directory
    page.add("openmsmq_directory_offline", int(directory.is_used and directory.is_offline))
    found = local.routes.topology
    for kind, count in (
        ("sites", len(found.sites)),
        ("links", len(found.valid_links)),
        ("managers", len(found.managers)),
    ):
        page.add("openmsmq_topology_objects", count, kind)
    _report_multicast(page, cast("PgmTransport | None", local.transports.of(AddressKind.MULTICAST)))


def _report_multicast(page: Page, transport: PgmTransport | None) -> None:
    sources = [] if transport is None else list(transport.sources)
    sent = Counter[str]() if transport is None else transport.counts.copy()
    for source in sources:
        sent += source.counts
    received: Counter[str] = Counter()
    heard, outcomes = 0, Counter[str]()
    if transport is not None and (reception := transport.reception) is not None:
        received, outcomes = reception.packets, reception.counts
        heard = sum(1 for receiver in reception.receivers for _ in receiver.sessions)
    for kind, count in (
        ("sent", sent["packets"]),
        ("repairs sent", sent["repairs"]),
        ("requests received", sent["naks"]),
        ("received", received["packets"]),
        ("requests sent", received["naks"]),
        ("lost", received["lost"]),
    ):
        page.add("openmsmq_multicast_packets_total", count, kind)
    for outcome in sorted({"stored", "refused", "malformed", *outcomes}):
        page.add("openmsmq_multicast_messages_total", outcomes[outcome], outcome)
    page.add("openmsmq_multicast_sources", heard, "incoming")
    page.add("openmsmq_multicast_sources", len(sources), "outgoing")


async def _report_queues(page: Page, local: QueueManager, now: float) -> None:
    core, machine = local, local.name
    _report_computer(page, core)
    await _report_subscriptions(page, local, now)
    queues = [
        queue
        for queue in core.queues.by_number.values()
        if queue.number not in HIDDEN and queue.kind is not QueueKind.RESERVED
    ]
    kinds = Counter(queue.kind for queue in queues)
    for kind in (
        QueueKind.PRIVATE,
        QueueKind.PUBLIC,
        QueueKind.SYSTEM,
        QueueKind.SUBQUEUE,
        QueueKind.OUTGOING,
        QueueKind.CONNECTOR,
    ):
        page.add("openmsmq_queues", kinds[kind], kind)
    for at, queue in enumerate(queues, 1):
        if at % STEP == 0:
            await asyncio.sleep(0)
        if not queue.deleted:
            _report_queue(page, core, queue, label(queue, machine), now)
            if queue.kind is QueueKind.OUTGOING:
                _report_outgoing(page, local, queue)


async def _report_subscriptions(page: Page, local: QueueManager, now: float) -> None:
    for at, subscription in enumerate(list(local.reservations), 1):
        if at % LAG_STEP == 0:
            await asyncio.sleep(0)
        is_gone = subscription.source.deleted or subscription.is_over
        if is_gone:  # there may be another queue of this name
            continue
        labels = label(subscription.source, local.name), subscription.name
        store, idle = subscription.store, max(0, int(now) - subscription.finished)
        waiting = subscription.reserved - subscription.committed
        page.add("openmsmq_subscription_messages", waiting, *labels)
        page.add("openmsmq_subscription_unread_messages", subscription.unread, *labels)
        page.add("openmsmq_subscription_bytes", store.size, *labels)
        page.add("openmsmq_subscription_idle_seconds", idle, *labels)
        lag, seconds = lag_of(local, subscription, LAG_LOOK_MAX)
        page.add("openmsmq_subscription_lag_messages", lag, *labels)
        page.add("openmsmq_subscription_lag_seconds", seconds, *labels)


def _report_computer(page: Page, core: Core) -> None:
    """Dead letters in the columns of a queue, what was sent in those of its journal."""
    queues = core.queues
    dead = [_held_in(queue) for queue in (queues.dead_letter, queues.transactional_dead_letter)]
    (messages, size), journal = map(sum, zip(*dead, strict=True)), _held_in(queues.system_journal)
    page.add("windows_msmq_messages_in_queue", messages, COMPUTER_QUEUES)
    page.add("windows_msmq_bytes_in_queue", size, COMPUTER_QUEUES)
    page.add("windows_msmq_messages_in_journal_queue", journal[0], COMPUTER_QUEUES)
    page.add("windows_msmq_bytes_in_journal_queue", journal[1], COMPUTER_QUEUES)


def _held_in(queue: ManagedQueue | None) -> tuple[int, int]:
    """The messages of a queue, and their bytes."""
    if queue is None:
        return 0, 0
    return queue.messages + len(queue.express), queue.size + queue.express.size


def _report_queue(page: Page, core: Core, queue: ManagedQueue, name: str, now: float) -> None:
    messages, size = _held_in(queue)
    samples: dict[str, float] = {
        "openmsmq_oldest_message_age_seconds": _age(core, queue, now) if messages else 0,
        "openmsmq_waiting_readers": len(queue.waiters),
        "openmsmq_held_messages": len(queue.holds),
    }
    if queue.kind is QueueKind.SYSTEM:
        samples["openmsmq_system_queue_messages"] = messages
        samples["openmsmq_system_queue_bytes"] = size
    else:
        samples["windows_msmq_messages_in_queue"] = messages
        samples["windows_msmq_bytes_in_queue"] = size
        # That of an outgoing queue is none: see `unprocessed`.
        kept = _held_in(None if queue.kind is QueueKind.OUTGOING else queue.journal)
        samples["windows_msmq_messages_in_journal_queue"] = kept[0]
        samples["windows_msmq_bytes_in_journal_queue"] = kept[1]
        samples["openmsmq_delayed_messages"] = _held_in(queue.delayed)[0]
    # A subqueue is counted against the quota of its queue, an outgoing queue has none.
    if queue.kind not in (QueueKind.OUTGOING, QueueKind.SUBQUEUE):
        quota = queue.properties.quota
        samples["openmsmq_quota_bytes"] = float("inf") if quota == NO_QUOTA else quota * KIB
        samples["openmsmq_quota_used_bytes"] = queue.quota_size
    labels = f'{{name="{escaped(name)}"}} '
    for metric, value in samples.items():
        page.lines[metric].append(f"{metric}{labels}{number(value)}\n")
    metric = "openmsmq_queue_messages_total"
    for total in Total:
        words = f'{{name="{escaped(name)}",event="{total.name.lower()}"}} '
        page.lines[metric].append(f"{metric}{words}{queue.totals[total]}\n")


def _age(core: Core, queue: ManagedQueue, now: float) -> int:
    arrived = oldest(core.snapshot, queue)
    return 0 if arrived is None else max(0, int(now) - arrived)


def _report_outgoing(page: Page, local: QueueManager, queue: ManagedQueue) -> None:
    assert queue.transfer is not None, "an outgoing queue knows its way"
    messages, size = _held_in(queue)
    unacknowledged = local.dispatcher.in_transit(queue)
    states = {TransferState.CONNECTED: 1, TransferState.DISCONNECTED: 0}
    destination = parse_format_name(queue.name)
    # A direct name says where its messages go; its label does not change when they do.
    hop = next(iter(queue.transfer.next_hops), "").rpartition("=")[2]
    host = destination.address if isinstance(destination, DirectName) else hop
    labels = queue.name, host
    page.add("msmq_outgoing_queue_message_count", messages, *labels)
    page.add("msmq_outgoing_queue_bytes_in_queue", size, *labels)
    page.add("msmq_outgoing_queue_unacknowledged_message_count", unacknowledged, *labels)
    page.add("msmq_outgoing_queue_unprocessed_message_count", unprocessed(queue), *labels)
    page.add("msmq_outgoing_queue_state", states.get(queue.transfer.state, -1), *labels)


def label(queue: ManagedQueue, machine: str) -> str:
    r"""What Windows calls a queue: `machine\private$\orders`, `os:other\private$\orders`."""
    if queue.kind is QueueKind.OUTGOING:
        return _lower(queue.name.removeprefix(PREFIX))
    if queue.kind is QueueKind.CONNECTOR:
        return _lower(queue.name)
    name = shown(queue.name)[2:] if queue.kind is QueueKind.SYSTEM else queue.name
    return _lower(f"{machine}\\{name}")


def _lower(text: str) -> str:
    """In lower case, but for letters that would make two names one."""
    if text.isascii():
        return text.lower()
    return "".join(c.lower() if fold(c.lower()) == fold(c) else c for c in text)
