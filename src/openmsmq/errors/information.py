"""Calls that succeeded, with something worth knowing."""

from __future__ import annotations

from openmsmq.errors.base import MQInformation
from openmsmq.errors.hresult import HResult


class InformationProperty(MQInformation):
    """Done, but at least one property has a warning in its status."""

    hresult = HResult.MQ_INFORMATION_PROPERTY


class InformationIllegalProperty(MQInformation):
    """A property number is unknown; everything else was done."""

    hresult = HResult.MQ_INFORMATION_ILLEGAL_PROPERTY


class InformationPropertyIgnored(MQInformation):
    """This property does not apply to this operation and was ignored."""

    hresult = HResult.MQ_INFORMATION_PROPERTY_IGNORED


class InformationUnsupportedProperty(MQInformation):
    """This property is not supported and was ignored."""

    hresult = HResult.MQ_INFORMATION_UNSUPPORTED_PROPERTY


class InformationDuplicateProperty(MQInformation):
    """This property was given twice in one call; the second one was ignored."""

    hresult = HResult.MQ_INFORMATION_DUPLICATE_PROPERTY


class InformationOperationPending(MQInformation):
    """The operation has begun and will report its result later."""

    hresult = HResult.MQ_INFORMATION_OPERATION_PENDING


class InformationFormatNameBufferTooSmall(MQInformation):
    """The queue was created, but its format name did not fit into the room given."""

    hresult = HResult.MQ_INFORMATION_FORMATNAME_BUFFER_TOO_SMALL


class InformationInternalUserCertExist(MQInformation):
    """The user already has an internal certificate; it was kept."""

    hresult = HResult.MQ_INFORMATION_INTERNAL_USER_CERT_EXIST


class InformationOwnerIgnored(MQInformation):
    """Done, except that the owner of the queue was left as it is."""

    hresult = HResult.MQ_INFORMATION_OWNER_IGNORED
