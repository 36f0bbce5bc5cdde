"""The properties of a manager that management asks for ([MS-MQMR] 2.2.3.1, 3.1.4.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Final

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.interfaces.limits import VARIANT_ELEMENTS_MAX
from openmsmq.interfaces.management.queue_properties import format_name_of, path_of
from openmsmq.properties.propid import MGMT_MSMQ
from openmsmq.properties.values import ManagerConnection
from openmsmq.properties.variant import Value
from openmsmq.types.queues import VISIBLE, QueueKind


def is_active(queue: ManagedQueue) -> bool:
    """Whether a queue is Active ([MS-MQDMPR] 3.1.1.2; MG-15).

    It is open, outgoing, or one that people made and has messages.
    """
    if queue.kind is QueueKind.OUTGOING or queue.modes:
        return True
    holds = (*VISIBLE, QueueKind.CONNECTOR)
    return queue.kind in holds and bool(queue.messages or queue.express)


def active_queues(manager: QueueManager) -> tuple[str, ...]:
    """The format names of all queues that are Active ([MS-MQMQ] 2.3.11.1)."""
    made_here = (QueueKind.OUTGOING, QueueKind.CONNECTOR, QueueKind.SYSTEM, QueueKind.JOURNAL)
    listed = (*VISIBLE, *made_here)
    found = (
        format_name_of(manager, queue)
        for queue in manager.queues.everything
        if queue.kind in listed and not queue.deleted and is_active(queue)
    )
    return tuple(islice(found, VARIANT_ELEMENTS_MAX))


def private_queues(manager: QueueManager) -> tuple[str, ...]:
    """The path names of all private queues, with the name of the computer (MG-16)."""
    found = (path_of(manager, queue) for queue in manager.queues if queue.kind is QueueKind.PRIVATE)
    return tuple(islice(found, VARIANT_ELEMENTS_MAX))


def directory_server(manager: QueueManager) -> str | None:
    """The first of DirectoryServerList ([MS-MQMR] 3.1.4.1; [MS-MQMQ] 2.3.11.3).

    It has no value without a directory, while none answers (note 14), and where controllers are
    known by addresses only.
    """
    directory = manager.directory
    if not directory.is_used or directory.is_offline or not directory.servers:
        return None
    return f"\\\\{directory.servers[0]}"


def connection(manager: QueueManager) -> str:
    """ConnectionActive ([MS-MQDMPR] 3.1.1.1)."""
    is_online = manager.transports.is_online
    return ManagerConnection.CONNECTED if is_online else ManagerConnection.DISCONNECTED


def bytes_in_all_queues(manager: QueueManager) -> int:
    """TotalBytes of all queues, journals and outgoing ones among them."""
    return sum(queue.size + queue.express.size for queue in manager.queues.everything)


MACHINE_PROPERTIES: Final[Mapping[MGMT_MSMQ, Callable[[QueueManager], Value]]] = {
    MGMT_MSMQ.ACTIVEQUEUES: active_queues,
    MGMT_MSMQ.PRIVATEQ: private_queues,
    MGMT_MSMQ.DSSERVER: directory_server,
    MGMT_MSMQ.CONNECTED: connection,
    MGMT_MSMQ.TYPE: lambda _: "",  # which system this is, is not said (MG-17)
    MGMT_MSMQ.BYTES_IN_ALL_QUEUES: bytes_in_all_queues,
}
"How the value of each property is found; None is VT_NULL."
