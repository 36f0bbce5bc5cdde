"""Sending, receiving and transactions."""

from __future__ import annotations

from openmsmq.errors.base import MQError
from openmsmq.errors.hresult import HResult


class ReceiveTimeout(MQError, TimeoutError):
    """No message arrived within the time the caller would wait."""

    hresult = HResult.MQ_ERROR_IO_TIMEOUT


class OperationCancelled(MQError):
    """The operation was called off before it finished, usually because its queue was closed."""

    hresult = HResult.MQ_ERROR_OPERATION_CANCELLED


class IllegalCursorAction(MQError):
    """The cursor has no next message from where it stands. Peek at the current one first."""

    hresult = HResult.MQ_ERROR_ILLEGAL_CURSOR_ACTION


class MessageAlreadyReceived(MQError):
    """Somebody else took the message this cursor stands on. Move the cursor on."""

    hresult = HResult.MQ_ERROR_MESSAGE_ALREADY_RECEIVED


class MessageNotFound(MQError):
    """There is no such message in the queue; it was never there or has been taken."""

    hresult = HResult.MQ_ERROR_MESSAGE_NOT_FOUND


class MessageLockedUnderTransaction(MQError):
    """An open transaction has received this message.

    It is free again, or gone, once that transaction ends.
    """

    hresult = HResult.MQ_ERROR_MESSAGE_LOCKED_UNDER_TRANSACTION


class MessageNotAuthenticated(MQError):
    """The queue takes signed messages only, and this one has no valid signature."""

    hresult = HResult.MQ_ERROR_MESSAGE_NOT_AUTHENTICATED


class MessageStorageFailed(MQError):
    """The message could not be written to disk and was not sent.

    Look at free space and the quotas.
    """

    hresult = HResult.MQ_ERROR_MESSAGE_STORAGE_FAILED


class InsufficientResources(MQError):
    """There is not enough memory, disk or quota left for this."""

    hresult = HResult.MQ_ERROR_INSUFFICIENT_RESOURCES


class QueueQuotaExceeded(InsufficientResources):
    """The queue is full: its messages take all the space its quota allows."""


class MachineQuotaExceeded(InsufficientResources):
    """The queue manager is full: all messages together take what its quota allows."""


class MessageTooLarge(InsufficientResources):
    """The message does not fit into a packet, which holds 4 MiB with all its headers.

    Send a large body in parts, or send where it can be fetched.
    """


class LabelTooLong(MQError):
    """The message label is longer than a label may be."""

    hresult = HResult.MQ_ERROR_LABEL_TOO_LONG


class MissingConnectorType(MQError):
    """The message sets what only a connector may set. It must name its connector type as well."""

    hresult = HResult.MQ_ERROR_MISSING_CONNECTOR_TYPE


class BadXmlFormat(MQError):
    """A property that must hold XML does not."""

    hresult = HResult.MQ_ERROR_BAD_XML_FORMAT


class BufferOverflow(MQError):
    """A property of the message is longer than the room given for it.

    What fits was copied and the message is still in the queue.
    """

    hresult = HResult.MQ_ERROR_BUFFER_OVERFLOW


class TransactionUsage(MQError):
    """Transaction and queue do not fit.

    A transactional queue takes messages in a transaction only, others outside one only.
    """

    hresult = HResult.MQ_ERROR_TRANSACTION_USAGE


class TransactionSequence(MQError):
    """The transaction is not in a state in which this step is allowed."""

    hresult = HResult.MQ_ERROR_TRANSACTION_SEQUENCE


class TransactionTimedOut(TransactionSequence):
    """The transaction is aborted: nothing was done with it for too long.

    What it received is back in its place; what it sent was not sent. Do all of it again.
    """


class EpochDecided(TransactionSequence):
    """The transaction is one of an epoch that is decided: it came too late, and does not count."""


class TransactionImport(MQError):
    """The transaction given could not be taken over from its coordinator."""

    hresult = HResult.MQ_ERROR_TRANSACTION_IMPORT


class TransactionEnlist(MQError):
    """The queue manager could not take part in the transaction given."""

    hresult = HResult.MQ_ERROR_TRANSACTION_ENLIST


class DtcConnect(MQError):
    """The transaction coordinator cannot be reached."""

    hresult = HResult.MQ_ERROR_DTC_CONNECT
