"""Results of RemoteRead's operations: messages, HRESULTs, and codes of Windows beside them."""

from __future__ import annotations

from typing import Final

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.storage.layout import Owed, Record
from openmsmq.errors import MQError
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.queue_context import QueueContext
from openmsmq.interfaces.remote_read.sections import MessageFacts, message_packet, sections_of
from openmsmq.packet.headers.base import BaseHeader
from openmsmq.packet.headers.user import UserHeaderStart
from openmsmq.types.access import Access
from openmsmq.types.lookup import ARRIVAL_MASK

OK: Final = 0
_SOURCE: Final = BaseHeader.SIZE + UserHeaderStart.offset_of("SourceQueueManager")
STATUS_INVALID_HANDLE: Final = 0xC0000008
STATUS_INVALID_PARAMETER: Final = 0xC000000D
STATUS_ACCESS_DENIED: Final = 0xC0000022
STATUS_NOT_FOUND: Final = 0xC0000225


class StatusError(Exception):
    """A failure whose code is none of message queueing ([MS-MQRR] 3.1.4)."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def result_of(error: BaseException | None) -> int:
    """The HRESULT of an error, or of success."""
    if error is None:
        return OK
    if isinstance(error, StatusError):
        return error.status
    return error.hresult if isinstance(error, MQError) else MQError.hresult


def require_receive(context: QueueContext) -> None:
    """Refuse what a handle to peek or to move to cannot do ([MS-MQRR] 3.1.4.6)."""
    if context.move_context or Access.RECEIVE not in context.handle.mode.access:
        raise StatusError(STATUS_ACCESS_DENIED)


def require_read(context: QueueContext) -> None:
    """Refuse what a handle to move to cannot do ([MS-MQRR] 3.1.4.11)."""
    if context.move_context:
        raise StatusError(STATUS_ACCESS_DENIED)


def received(
    entry: Entry,
    context: QueueContext,
    asked: stubs.StartReceive,
    manager: QueueManager,
) -> stubs.ReceiveResults:
    """The results of a read ([MS-MQRR] 3.1.4.7)."""
    record = Record.unpack(entry.record)
    facts = MessageFacts(
        aborted=record.abort_count,
        moved=record.move_count,
        last_moved=record.last_move_time if record.move_count else 0,
        subqueue=context.subqueue,
        acknowledgement_class=record.message_class,
        over_http=bool(record.flags & Owed.SRMP),
        is_own=entry.packet.startswith(manager.identity.bytes_le, _SOURCE),
    )
    packet = message_packet(entry.packet, facts, manager.takes_letters)
    sections = sections_of(packet, asked.max_body_size, asked.max_compound_message_size)
    sequence_id = entry.lookup & ARRIVAL_MASK
    return stubs.ReceiveResults(record.arrived_time, sequence_id, len(sections), sections, OK)


def nothing_received(error: BaseException) -> stubs.ReceiveResults:
    """The results of a read that failed ([MS-MQRR] 3.1.4.7)."""
    return stubs.ReceiveResults(0, 0, 0, None, result_of(error))
