"""How a call was made: its parameters, properties and buffers."""

from __future__ import annotations

from openmsmq.errors.base import MQError
from openmsmq.errors.hresult import HResult


class GenericError(MQError):
    """An unspecified error occurred."""

    hresult = HResult.MQ_ERROR


class InvalidParameter(MQError):
    """Invalid parameter."""

    hresult = HResult.MQ_ERROR_INVALID_PARAMETER


class PropertyError(MQError):
    """At least one property is invalid. The status of each property says why."""

    hresult = HResult.MQ_ERROR_PROPERTY


class IllegalPropid(MQError):
    """Unknown property number."""

    hresult = HResult.MQ_ERROR_ILLEGAL_PROPID


class IllegalPropertyValue(MQError, ValueError):
    """Invalid value of a property."""

    hresult = HResult.MQ_ERROR_ILLEGAL_PROPERTY_VALUE


class IllegalPropertyVt(MQError, TypeError):
    """The value does not have the variant type of this property."""

    hresult = HResult.MQ_ERROR_ILLEGAL_PROPERTY_VT


class IllegalPropertySize(MQError):
    """The value has the wrong length for this property. Message identifiers have 20 bytes."""

    hresult = HResult.MQ_ERROR_ILLEGAL_PROPERTY_SIZE


class PropertyNotAllowed(MQError):
    """This operation cannot set or change this property."""

    hresult = HResult.MQ_ERROR_PROPERTY_NOTALLOWED


class InsufficientProperties(MQError):
    """A required property is missing."""

    hresult = HResult.MQ_ERROR_INSUFFICIENT_PROPERTIES


class PropertiesConflict(MQError):
    """Two properties exclude each other."""

    hresult = HResult.MQ_ERROR_PROPERTIES_CONFLICT


class TooManyProperties(MQError):
    """One call can carry at most 128 properties."""

    hresult = HResult.MQ_ERROR_TOO_MANY_PROPERTIES


class QDnsPropertyNotSupported(MQError):
    """Queues cannot be searched by their DNS path name."""

    hresult = HResult.MQ_ERROR_Q_DNS_PROPERTY_NOT_SUPPORTED


class QAdsPropertyNotSupported(MQError):
    """Queues cannot be searched by their directory path."""

    hresult = HResult.MQ_ERROR_Q_ADS_PROPERTY_NOT_SUPPORTED


class IllegalMqQueueProps(MQError):
    """The list of queue properties is missing or empty."""

    hresult = HResult.MQ_ERROR_ILLEGAL_MQQUEUEPROPS


class IllegalMqQmProps(MQError):
    """The list of queue manager properties is missing or empty."""

    hresult = HResult.MQ_ERROR_ILLEGAL_MQQMPROPS


class IllegalMqPrivateProps(MQError):
    """The list of private properties is missing or empty."""

    hresult = HResult.MQ_ERROR_ILLEGAL_MQPRIVATEPROPS


class IllegalMqColumns(MQError):
    """The list of properties a search should return is missing or wrong."""

    hresult = HResult.MQ_ERROR_ILLEGAL_MQCOLUMNS


class IllegalRestrictionPropid(MQError):
    """A search condition names a property that cannot be searched."""

    hresult = HResult.MQ_ERROR_ILLEGAL_RESTRICTION_PROPID


class IllegalRelation(MQError):
    """A search condition compares in a way that does not exist."""

    hresult = HResult.MQ_ERROR_ILLEGAL_RELATION


class IllegalSort(MQError):
    """The order asked for cannot be produced; a property may be named twice."""

    hresult = HResult.MQ_ERROR_ILLEGAL_SORT


class IllegalSortPropid(MQError):
    """The result cannot be sorted by this property."""

    hresult = HResult.MQ_ERROR_ILLEGAL_SORT_PROPID


class MultiSortKeys(MQError):
    """A directory search can be sorted by one property only."""

    hresult = HResult.MQ_ERROR_MULTI_SORT_KEYS


class IllegalContext(MQError):
    """The context of the search is not one a search can have."""

    hresult = HResult.MQ_ERROR_ILLEGAL_CONTEXT


class UninitializedObject(MQError):
    """The management object was used before it was initialized."""

    hresult = HResult.MQ_ERROR_UNINITIALIZED_OBJECT


class FormatNameBufferTooSmall(MQError):
    """The room given for the format name is too small."""

    hresult = HResult.MQ_ERROR_FORMATNAME_BUFFER_TOO_SMALL


class UserBufferTooSmall(MQError):
    """The room given for the answer is too small."""

    hresult = HResult.MQ_ERROR_USER_BUFFER_TOO_SMALL


class ResultBufferTooSmall(MQError):
    """The room given for search results is too small."""

    hresult = HResult.MQ_ERROR_RESULT_BUFFER_TOO_SMALL


class LabelBufferTooSmall(MQError):
    """The room given for the label is too small."""

    hresult = HResult.MQ_ERROR_LABEL_BUFFER_TOO_SMALL


class SenderIdBufferTooSmall(MQError):
    """The room given for the sender identifier is too small."""

    hresult = HResult.MQ_ERROR_SENDERID_BUFFER_TOO_SMALL


class SenderCertBufferTooSmall(MQError):
    """The room given for the sender's certificate is too small."""

    hresult = HResult.MQ_ERROR_SENDER_CERT_BUFFER_TOO_SMALL


class SecurityDescriptorTooSmall(MQError):
    """The room given for the security descriptor is too small."""

    hresult = HResult.MQ_ERROR_SECURITY_DESCRIPTOR_TOO_SMALL


class SymmKeyBufferTooSmall(MQError):
    """The room given for the encryption key is too small."""

    hresult = HResult.MQ_ERROR_SYMM_KEY_BUFFER_TOO_SMALL


class SignatureBufferTooSmall(MQError):
    """The room given for the signature is too small."""

    hresult = HResult.MQ_ERROR_SIGNATURE_BUFFER_TOO_SMALL


class ProvNameBufferTooSmall(MQError):
    """The room given for the name of the cryptographic provider is too small."""

    hresult = HResult.MQ_ERROR_PROV_NAME_BUFFER_TOO_SMALL
