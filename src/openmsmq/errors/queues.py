"""Queues, handles to them, and the queue managers that hold them."""

from __future__ import annotations

from openmsmq.errors.base import MQError
from openmsmq.errors.hresult import HResult


class QueueNotFound(MQError):
    """The queue does not exist, or you have no permission to see it."""

    hresult = HResult.MQ_ERROR_QUEUE_NOT_FOUND


class QueueNotActive(MQError):
    """The queue is not open here, or does not exist."""

    hresult = HResult.MQ_ERROR_QUEUE_NOT_ACTIVE


class QueueExists(MQError):
    """A queue with this name exists. Open it, or choose another name."""

    hresult = HResult.MQ_ERROR_QUEUE_EXISTS


class QueueDeleted(MQError):
    """The queue was deleted while it was open. Close it: nothing more can be received from it."""

    hresult = HResult.MQ_ERROR_QUEUE_DELETED


class QueueNotAvailable(MQError):
    """Reading from a queue on another machine failed.

    The connection may be lost; open the queue again.
    """

    hresult = HResult.MQ_ERROR_QUEUE_NOT_AVAILABLE


class SharingViolation(MQError):
    """The queue is open for receiving and not shared. Wait until its reader closes it."""

    hresult = HResult.MQ_ERROR_SHARING_VIOLATION


class SubscriptionTaken(SharingViolation):
    """The subscription belongs to another reader, or has no owner where one is required."""


class RunReplaced(SubscriptionTaken):
    """Another run of the same reader has begun since, from the same state or a copy of it."""


class UnsupportedAccessMode(MQError):
    """The queue cannot be opened with this combination of access and sharing."""

    hresult = HResult.MQ_ERROR_UNSUPPORTED_ACCESS_MODE


class InvalidHandle(MQError):
    """Invalid handle. The queue or cursor was probably closed."""

    hresult = HResult.MQ_ERROR_INVALID_HANDLE


class StaleHandle(MQError):
    """The queue manager was restarted after the queue was opened.

    Close the queue and open it again.
    """

    hresult = HResult.MQ_ERROR_STALE_HANDLE


class IllegalQueuePathName(MQError):
    r"""Invalid queue path name.

    A path name looks like `machine\queue` or `.\private$\queue`.
    """

    hresult = HResult.MQ_ERROR_ILLEGAL_QUEUE_PATHNAME


class IllegalFormatName(MQError):
    r"""Invalid format name. A format name looks like `DIRECT=OS:machine\private$\queue`."""

    hresult = HResult.MQ_ERROR_ILLEGAL_FORMATNAME


class UnsupportedFormatNameOperation(MQError):
    """The operation is not supported for a format name of this kind.

    A queue cannot be deleted by a direct name, for example.
    """

    hresult = HResult.MQ_ERROR_UNSUPPORTED_FORMATNAME_OPERATION


class CorruptedQueueWasDeleted(MQError):
    """The stored definition of this queue was damaged, so it was removed.

    Create the queue again.
    """

    hresult = HResult.MQ_CORRUPTED_QUEUE_WAS_DELETED


class MachineNotFound(MQError):
    """Unknown machine name. Check the spelling and the name service."""

    hresult = HResult.MQ_ERROR_MACHINE_NOT_FOUND


class ResolveAddress(MQError):
    """The address could not be resolved: it may be wrong, or the name service did not answer."""

    hresult = HResult.MQ_ERROR_RESOLVE_ADDRESS


class ServiceNotAvailable(MQError, ConnectionError):
    """Cannot connect to the queue manager. Check that it is running, and its address."""

    hresult = HResult.MQ_ERROR_SERVICE_NOT_AVAILABLE


class ConnectionLost(ServiceNotAvailable):
    """The connection to the queue manager was lost.

    The outcome of requests under way is unknown: check before you repeat them, or use a
    deduplication id. An open transaction is aborted.
    """


class RemoteMachineNotAvailable(MQError, ConnectionError):
    """The other machine cannot be reached, or its queue manager does not answer."""

    hresult = HResult.MQ_ERROR_REMOTE_MACHINE_NOT_AVAILABLE


class UnsupportedOperation(MQError):
    """A queue manager that belongs to no domain (workgroup mode) cannot do this."""

    hresult = HResult.MQ_ERROR_UNSUPPORTED_OPERATION


class IllegalOperation(MQError):
    """This cannot be done to a foreign messaging system."""

    hresult = HResult.MQ_ERROR_ILLEGAL_OPERATION


class WksCantServeClient(MQError):
    """This queue manager cannot serve dependent clients.

    Use one that is set up as a supporting server.
    """

    hresult = HResult.MQ_ERROR_WKS_CANT_SERVE_CLIENT


class DependWksLicenseOverflow(MQError):
    """The supporting server already has as many client connections as it accepts."""

    hresult = HResult.MQ_ERROR_DEPEND_WKS_LICENSE_OVERFLOW


class NotSupportedByDependentClients(MQError):
    """A client without a queue manager of its own cannot do this."""

    hresult = HResult.MQ_ERROR_NOT_SUPPORTED_BY_DEPENDENT_CLIENTS


class OperationNotSupportedByRemoteComputer(MQError):
    """The queue manager at the other end is too old for this operation."""

    hresult = HResult.MQ_ERROR_OPERATION_NOT_SUPPORTED_BY_REMOTE_COMPUTER
