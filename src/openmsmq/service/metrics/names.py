"""Every metric there is, with what it means; docs/metrics.md shows the same."""

from __future__ import annotations

from typing import Final

from openmsmq.service.metrics.exposition import Metric

_NAME: Final = ("name",)
_SUBSCRIPTION: Final = ("name", "subscription")
_OUTGOING: Final = ("queue_name", "connection_host")

METRICS: Final = (
    Metric("windows_msmq_messages_in_queue", "gauge", "Messages in the queue.", _NAME),
    Metric("windows_msmq_bytes_in_queue", "gauge", "Bytes of the messages in the queue.", _NAME),
    Metric(
        "windows_msmq_messages_in_journal_queue",
        "gauge",
        "Messages in the queue's journal.",
        _NAME,
    ),
    Metric(
        "windows_msmq_bytes_in_journal_queue",
        "gauge",
        "Bytes of the messages in the queue's journal.",
        _NAME,
    ),
    Metric(
        "msmq_outgoing_queue_message_count",
        "gauge",
        "Messages for another computer that are not known to have arrived there.",
        _OUTGOING,
    ),
    Metric("msmq_outgoing_queue_bytes_in_queue", "gauge", "Their bytes.", _OUTGOING),
    Metric(
        "msmq_outgoing_queue_unacknowledged_message_count",
        "gauge",
        "Of these, those that were sent.",
        _OUTGOING,
    ),
    Metric(
        "msmq_outgoing_queue_unprocessed_message_count",
        "gauge",
        "Messages that arrived and are kept until it is known what became of them.",
        _OUTGOING,
    ),
    Metric(
        "msmq_outgoing_queue_state",
        "gauge",
        "The way to the destination: 1 connected, 0 disconnected, -1 anything else.",
        _OUTGOING,
    ),
    Metric(
        "openmsmq_oldest_message_age_seconds",
        "gauge",
        "Time since the oldest message of the queue arrived; 0 if it is empty.",
        _NAME,
    ),
    Metric(
        "openmsmq_quota_bytes",
        "gauge",
        "What the messages of the queue may take; +Inf without a limit.",
        _NAME,
    ),
    Metric(
        "openmsmq_quota_used_bytes",
        "gauge",
        "What counts against the quota: its messages, those of its subqueues, and accepted ones.",
        _NAME,
    ),
    Metric(
        "openmsmq_waiting_readers", "gauge", "Reads that wait for a message of the queue.", _NAME
    ),
    Metric(
        "openmsmq_held_messages",
        "gauge",
        "Messages that readers and transactions have taken and not yet removed or given back.",
        _NAME,
    ),
    Metric(
        "openmsmq_delayed_messages",
        "gauge",
        "Messages that cannot be read or sent on yet: not due, or aborted a moment ago.",
        _NAME,
    ),
    Metric(
        "openmsmq_queue_messages_total",
        "counter",
        "What happened to messages of the queue since it was made, by event.",
        ("name", "event"),
    ),
    Metric(
        "openmsmq_system_queue_messages",
        "gauge",
        "Messages in each queue that every manager has: dead letters, journal of sent messages.",
        _NAME,
    ),
    Metric("openmsmq_system_queue_bytes", "gauge", "Their bytes.", _NAME),
    Metric(
        "openmsmq_subscription_messages",
        "gauge",
        "Messages that are reserved for the subscription and not committed.",
        _SUBSCRIPTION,
    ),
    Metric(
        "openmsmq_subscription_unread_messages",
        "gauge",
        "Messages that the owner of the subscription committed without having read them.",
        _SUBSCRIPTION,
    ),
    Metric(
        "openmsmq_subscription_bytes",
        "gauge",
        "Size of the uncommitted and unread messages of the subscription.",
        _SUBSCRIPTION,
    ),
    Metric(
        "openmsmq_subscription_idle_seconds",
        "gauge",
        "Time since the last commit of the subscription, or since it was created.",
        _SUBSCRIPTION,
    ),
    Metric(
        "openmsmq_subscription_lag_messages",
        "gauge",
        "Messages of the queue that are not reserved for the subscription yet; a lower bound if"
        " the subscription leaves its messages in the queue.",
        _SUBSCRIPTION,
    ),
    Metric(
        "openmsmq_subscription_lag_seconds",
        "gauge",
        "Time since the first of these messages arrived; 0 if there are none.",
        _SUBSCRIPTION,
    ),
    Metric("openmsmq_queues", "gauge", "Queues there are, by kind.", ("kind",)),
    Metric(
        "openmsmq_messages_total",
        "counter",
        "What happened to messages since the store was made, by event.",
        ("event",),
    ),
    Metric(
        "openmsmq_messages_rejected_total",
        "counter",
        "Messages of other queue managers that were not accepted, by reason.",
        ("reason",),
    ),
    Metric(
        "openmsmq_incidents_total",
        "counter",
        "What else was counted since the store was made and is worth a look.",
        ("incident",),
    ),
    Metric(
        "openmsmq_manager_quota_bytes",
        "gauge",
        "What the messages of all queues may take; +Inf without a limit.",
    ),
    Metric("openmsmq_manager_quota_used_bytes", "gauge", "What they take."),
    Metric("openmsmq_express_bytes", "gauge", "Bytes of the messages kept in memory only."),
    Metric("openmsmq_history_bytes", "gauge", "Bytes of the history kept for `explain`."),
    Metric("openmsmq_store_bytes", "gauge", "What the store takes on the disk."),
    Metric("openmsmq_disk_free_bytes", "gauge", "What is left on the disk that holds the store."),
    Metric("openmsmq_flow_control", "gauge", "1 while nothing new is accepted, else 0."),
    Metric("openmsmq_clock_jumps_total", "counter", "Times the computer's clock was seen to jump."),
    Metric(
        "openmsmq_prepared_transactions",
        "gauge",
        "Transactions that wait for the word of a coordinator.",
    ),
    Metric("openmsmq_open_transactions", "gauge", "Transactions that clients have begun."),
    Metric(
        "openmsmq_transactions_aborted_total",
        "counter",
        "Transactions that were aborted because a limit for them was over, by reason.",
        ("reason",),
    ),
    Metric(
        "openmsmq_commit_seconds", "histogram", "How long commits took, from their beginning on."
    ),
    Metric("openmsmq_sync_seconds", "histogram", "Of these, how long the disk took."),
    Metric("openmsmq_commit_operations", "histogram", "How much was done in one commit."),
    Metric("openmsmq_commit_failures_total", "counter", "Commits that the disk refused."),
    Metric("openmsmq_clients", "gauge", "Clients that are connected."),
    Metric(
        "openmsmq_held_up_clients",
        "gauge",
        "Clients nothing is read from: too many requests, or they do not take their answers.",
    ),
    Metric(
        "openmsmq_request_bytes",
        "gauge",
        "Bytes of requests that are not answered or not even complete yet.",
    ),
    Metric("openmsmq_connections_total", "counter", "Connections that clients have made."),
    Metric("openmsmq_requests_total", "counter", "Requests of clients, by kind.", ("kind",)),
    Metric(
        "openmsmq_rejected_total",
        "counter",
        "Clients, their connections and requests that were turned away, by reason.",
        ("reason",),
    ),
    Metric(
        "openmsmq_logins_refused_total",
        "counter",
        "Tokens, certificates and passwords that were not good.",
    ),
    Metric(
        "openmsmq_sessions",
        "gauge",
        "Open sessions with other queue managers, by who began them.",
        ("direction",),
    ),
    Metric(
        "openmsmq_sessions_ended_total",
        "counter",
        "Sessions with other queue managers that ended, by reason.",
        ("reason",),
    ),
    Metric(
        "openmsmq_unfinished_bytes",
        "gauge",
        "Bytes of packets of other queue managers whose rest has not come yet.",
    ),
    Metric(
        "openmsmq_transfer_bytes_total",
        "counter",
        "Bytes that went to other queue managers or came from them.",
        ("direction",),
    ),
    Metric(
        "openmsmq_http_requests_total",
        "counter",
        "Messages and receipts that came over HTTP, by what became of them.",
        ("outcome",),
    ),
    Metric(
        "openmsmq_http_posts_total",
        "counter",
        "Messages that were posted to other hosts, by how they were answered.",
        ("answer",),
    ),
    Metric(
        "openmsmq_directory_offline",
        "gauge",
        "1 while no domain controller answers a manager of a domain, else 0.",
    ),
    Metric(
        "openmsmq_topology_objects",
        "gauge",
        "Sites, links and managers that messages are routed by.",
        ("kind",),
    ),
    Metric(
        "openmsmq_multicast_packets_total",
        "counter",
        "Packets of multicast: sent, repairs that were sent, received, lost for good, requests for"
        " repairs.",
        ("kind",),
    ),
    Metric(
        "openmsmq_multicast_messages_total",
        "counter",
        "Messages that came by multicast, for each queue of the address, by what became of them.",
        ("outcome",),
    ),
    Metric(
        "openmsmq_multicast_sources",
        "gauge",
        "Sources of multicast that are sent from or heard.",
        ("direction",),
    ),
    Metric("openmsmq_ready", "gauge", "1 while the queue manager is ready, else 0."),
    Metric(
        "openmsmq_info", "gauge", "Always 1; its labels say which one it is.", ("version", "name")
    ),
)
PROCESS_METRICS: Final = {
    "process_cpu_seconds_total": "Time the process spent on processors.",
    "process_resident_memory_bytes": "Memory the process takes.",
    "process_virtual_memory_bytes": "Address space it has, the store's map in it.",
    "process_start_time_seconds": "When it was started, in seconds since 1970 UTC.",
    "process_open_fds": "Files and connections it has open.",
    "process_max_fds": "How many it may have open.",
}
"Those about the process itself, where the system tells."
