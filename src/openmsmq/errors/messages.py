"""Sending, receiving and transactions."""

from __future__ import annotations

from openmsmq.errors.base import MQError
from openmsmq.errors.hresult import HResult


class ReceiveTimeout(MQError, TimeoutError):
    """No message arrived within the timeout."""

    hresult = HResult.MQ_ERROR_IO_TIMEOUT


class OperationCancelled(MQError):
    """The operation was cancelled before it finished, usually because its queue was closed."""

    hresult = HResult.MQ_ERROR_OPERATION_CANCELLED


class IllegalCursorAction(MQError):
    """The cursor has no current message to advance from. Peek at the current one first."""

    hresult = HResult.MQ_ERROR_ILLEGAL_CURSOR_ACTION


class MessageAlreadyReceived(MQError):
    """Another receiver took the message at the cursor. Advance the cursor."""

    hresult = HResult.MQ_ERROR_MESSAGE_ALREADY_RECEIVED


class MessageNotFound(MQError):
    """No such message in the queue. It never existed, or it was received."""

    hresult = HResult.MQ_ERROR_MESSAGE_NOT_FOUND


class MessageLockedUnderTransaction(MQError):
    """The message is locked by an open transaction.

    It is unlocked, or removed, when that transaction ends.
    """

    hresult = HResult.MQ_ERROR_MESSAGE_LOCKED_UNDER_TRANSACTION


class MessageNotAuthenticated(MQError):
    """The queue accepts signed messages only, and this one has no valid signature."""

    hresult = HResult.MQ_ERROR_MESSAGE_NOT_AUTHENTICATED


class MessageStorageFailed(MQError):
    """The message could not be written to disk and was not sent.

    Check free disk space and quotas.
    """

    hresult = HResult.MQ_ERROR_MESSAGE_STORAGE_FAILED


class InsufficientResources(MQError):
    """Insufficient memory, disk space or quota."""

    hresult = HResult.MQ_ERROR_INSUFFICIENT_RESOURCES


class QueueQuotaExceeded(InsufficientResources):
    """The queue is full. Its quota is used up."""


class MachineQuotaExceeded(InsufficientResources):
    """The queue manager is full. The quota for all its messages is used up."""


class MessageTooLarge(InsufficientResources):
    """The message is too large for a packet of 4 MiB.

    Send a large body in parts, or send a reference to it.
    """


class LabelTooLong(MQError):
    """The message label is too long."""

    hresult = HResult.MQ_ERROR_LABEL_TOO_LONG


class MissingConnectorType(MQError):
    """The message sets a property that is reserved for connectors.

    It must name its connector type.
    """

    hresult = HResult.MQ_ERROR_MISSING_CONNECTOR_TYPE


class BadXmlFormat(MQError):
    """A property that must hold XML does not."""

    hresult = HResult.MQ_ERROR_BAD_XML_FORMAT


class BufferOverflow(MQError):
    """A property of the message is longer than the buffer.

    What fits was copied, and the message is still in the queue.
    """

    hresult = HResult.MQ_ERROR_BUFFER_OVERFLOW


class TransactionUsage(MQError):
    """Transaction and queue do not match.

    A transactional queue takes messages in transactions only, other queues outside transactions
    only.
    """

    hresult = HResult.MQ_ERROR_TRANSACTION_USAGE


class TransactionSequence(MQError):
    """The transaction is in the wrong state for this call."""

    hresult = HResult.MQ_ERROR_TRANSACTION_SEQUENCE


class TransactionTimedOut(TransactionSequence):
    """The transaction was idle for too long and has been aborted.

    Messages it received are back in their queues; messages it sent were discarded. Repeat the
    whole transaction.
    """


class EpochDecided(TransactionSequence):
    """The transaction belongs to an epoch that is committed already. It was aborted."""


class TransactionImport(MQError):
    """The transaction could not be imported from its coordinator."""

    hresult = HResult.MQ_ERROR_TRANSACTION_IMPORT


class TransactionEnlist(MQError):
    """The queue manager could not enlist in the transaction."""

    hresult = HResult.MQ_ERROR_TRANSACTION_ENLIST


class DtcConnect(MQError):
    """The transaction coordinator cannot be reached."""

    hresult = HResult.MQ_ERROR_DTC_CONNECT
