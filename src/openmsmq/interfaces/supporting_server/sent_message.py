"""The message that a dependent client sends, from its transfer buffer ([MS-MQMP] 3.1.5.2)."""

from __future__ import annotations

from array import array
from typing import Any, Final

from openmsmq.engine.arrivals.given_protection import GivenCipher, GivenProtection
from openmsmq.errors import (
    IllegalPropertyValue,
    InvalidParameter,
    Malformed,
    MissingConnectorType,
    PropertyError,
    UnsupportedOperation,
)
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.limits import LABEL_UNITS_MAX, SENDER_CERTIFICATE_SIZE_MAX, U16_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader, encode_provider
from openmsmq.properties.message import (
    INFINITE,
    PRIORITY_DEFAULT,
    PRIORITY_MAX,
    Acknowledge,
    EncryptionAlgorithm,
    HashAlgorithm,
    JournalFlags,
    PrivacyLevel,
    ProviderType,
    SenderIdType,
    SignatureType,
)
from openmsmq.properties.vartype import VECTOR, VarType
from openmsmq.security.sid import Sid
from openmsmq.types.message import Message

SEND: Final = 0
"uTransferType of a message to send ([MS-MQMP] 2.2.3.2)."
PRIVACY: Final = {1: PrivacyLevel.BASE, 2: PrivacyLevel.ENHANCED}
"The privacy levels of clients ([MS-MQMP] 2.2.3.2; SS-61)."
GUID_SIZE: Final = 16
A_DAY: Final = 86400
_APPLICATION_CLASS: Final = ~0x1F00
"Bits 8 to 12 of a class are reserved ([MS-MQMP] 2.2.3.2)."


def message_of(buffer: Any, destination: FormatName, now: int) -> Message:
    """The message of a buffer, by the translation table ([MS-MQMP] 3.1.1.11, 3.1.5.2).

    What a client says of its own authentication, of times, of the source and of its place in a
    transaction is not looked at. `now` is in seconds since 1970 UTC.
    """
    if buffer.transfer_type != SEND:
        raise InvalidParameter(f"a transfer buffer of type {buffer.transfer_type}, not {SEND}")
    _check_class(buffer)
    _check_privacy(buffer, destination)
    _check_sender(buffer)
    _check_signature(buffer)
    auditing = _flags("pAuditing", buffer.auditing, JournalFlags.DEAD_LETTER | JournalFlags.JOURNAL)
    return Message(
        buffer.body or b"",
        body_type=_body_type(buffer.body_type),
        label=_label(buffer.title),
        priority=_value("pPriority", buffer.priority, PRIORITY_DEFAULT, PRIORITY_MAX),
        recoverable=bool(_value("pDelivery", buffer.delivery, 0, 1)),
        journal=bool(auditing & JournalFlags.JOURNAL),
        dead_letter=bool(auditing & JournalFlags.DEAD_LETTER),
        acknowledge=_flags("pAcknowledge", buffer.acknowledge, _ALL_ACKNOWLEDGEMENTS),
        admin_queue=_queue(buffer.part.admin),
        response_queue=_queue(buffer.part.response),
        correlation_id=buffer.correlation_id or b"",
        app_specific=buffer.application_tag or 0,
        extension=buffer.extension or b"",
        time_to_be_received=_lifetime(buffer.relative_time_to_live),
        time_to_reach_queue=_reach(buffer.absolute_time_to_queue, now),
        trace=bool(_value("pTrace", buffer.trace, 0, 1)),
        encrypt=bool(buffer.privacy) and not buffer.is_encrypted,
    )


_ALL_ACKNOWLEDGEMENTS: Final = (
    Acknowledge.POS_ARRIVAL
    | Acknowledge.POS_RECEIVE
    | Acknowledge.NEG_ARRIVAL
    | Acknowledge.NEG_RECEIVE
)


def _value(name: str, given: int | None, default: int, most: int) -> int:
    """A value that is optional, and has a set ([MS-MQMP] 2.2.3.2)."""
    if given is None:
        return default
    if given > most:
        raise IllegalPropertyValue(f"{name} {given}: 0 to {most} are possible")
    return given


def _flags(name: str, given: int | None, known: int) -> int:
    """Bits of which any may be set together ([MS-MQMP] 2.2.3.2; SS-48)."""
    if (given or 0) & ~int(known):
        raise IllegalPropertyValue(f"{name} {given}: only bits of 0x{int(known):X} may be set")
    return given or 0


def _check_class(buffer: Any) -> None:
    """A class is for connector applications ([MS-MQMP] 3.1.5.2, [MS-MQMQ] 2.4; SS-47).

    Those use the application protocol here, which has no classes.
    """
    if (buffer.message_class or 0) & _APPLICATION_CLASS and buffer.connector_type is None:
        raise MissingConnectorType(f"a message of class 0x{buffer.message_class:04X}")
    if buffer.connector_type is not None:
        raise UnsupportedOperation("messages of connector applications are not sent from here")


def _check_privacy(buffer: Any, destination: FormatName) -> None:
    """How the body is or will be encrypted ([MS-MQMP] 2.2.3.2, 3.1.5.2).

    A body that the client has not encrypted is encrypted here when it leaves (SS-61).
    """
    level = _value("pulPrivLevel", buffer.privacy, 0, max(PRIVACY))
    if level and isinstance(destination, DirectName):
        raise PropertyError("messages to a direct name cannot be encrypted")
    algorithm = buffer.encryption_algorithm or 0
    if (level or buffer.is_encrypted) and algorithm not in _CIPHERS:
        raise IllegalPropertyValue(f"pulEncryptAlg {algorithm}: RC2 or RC4")
    if buffer.is_encrypted and not (level and buffer.keys):
        raise InvalidParameter("an encrypted body needs pulPrivLevel and its key, ppSymmKeys")


_CIPHERS: Final = (EncryptionAlgorithm.RC2, EncryptionAlgorithm.RC4)


def _check_sender(buffer: Any) -> None:
    """Who the client says it is ([MS-MQMP] 2.2.3.2, 3.1.5.2); it is not kept, for want of proof."""
    sender = buffer.sender or b""
    if buffer.sender_size and buffer.sender_type is None:
        raise InvalidParameter("ppSenderID without pulSenderIDType")
    match buffer.sender_type:
        case None:
            return
        case SenderIdType.NONE:
            is_sound = not sender
        case SenderIdType.SID:
            is_sound = _is_sid(sender)
        case SenderIdType.QUEUE_MANAGER:
            is_sound = len(sender) == GUID_SIZE
        case _:
            is_sound = False
    if not is_sound:
        raise InvalidParameter(f"a sender of type {buffer.sender_type} in {len(sender)} bytes")


def _is_sid(sender: bytes) -> bool:
    try:
        Sid.decode(sender)
    except Malformed:
        return False
    return True


def _check_signature(buffer: Any) -> None:
    """What goes with a signature of a client ([MS-MQMP] 3.1.5.2)."""
    if not _is_signed(buffer):
        return
    if buffer.hash_algorithm not in set(HashAlgorithm) - {HashAlgorithm.NONE}:
        raise IllegalPropertyValue(f"pulHashAlg {buffer.hash_algorithm}: no hash algorithm")
    if not buffer.is_default_provider and buffer.provider is None:
        raise InvalidParameter("a signature needs the name of its provider")
    if buffer.is_default_provider and buffer.provider_type != ProviderType.RSA_FULL:
        raise InvalidParameter(f"the default provider has type {ProviderType.RSA_FULL:d}")


def _is_signed(buffer: Any) -> bool:
    """Whether there is a signature ([MS-MQMP] 3.1.5.2)."""
    return bool(buffer.signature_size) and buffer.signature is not None


def protection_of(buffer: Any, destination: FormatName) -> GivenProtection | None:
    """The signature and the session key of a client in a buffer that was checked; None for none."""
    kind, signature = _signature(buffer)
    if not signature and not buffer.is_encrypted:
        return None
    certificate, sender = buffer.certificate or b"", buffer.sender or b""
    keys, cipher = b"", None
    if buffer.is_encrypted:
        keys = buffer.keys
        algorithm = EncryptionAlgorithm(buffer.encryption_algorithm)
        cipher = GivenCipher(PRIVACY[buffer.privacy], algorithm)
    if max(len(signature), len(keys)) > U16_MAX or len(certificate) > SENDER_CERTIFICATE_SIZE_MAX:
        raise InvalidParameter("a signature, key or certificate that is too large for a message")
    security = SecurityHeader.make(
        (buffer.sender_type or 0) | SecurityFlags.AI,
        security_id=sender,
        encryption_key=keys,
        signature=signature,
        sender_cert=certificate,
        provider_info=_provider(buffer) if signature else b"",
    )
    hashed = buffer.hash_algorithm if signature else HashAlgorithm.NONE
    return GivenProtection(security, hashed, kind, destination, cipher)


def _signature(buffer: Any) -> tuple[SignatureType, bytes]:
    """The signature of a client ([MS-MQMP] 3.1.5.2).

    Without pulAuthProvNameLenProp it is one of version 1.0. Else the part at the end, which that
    number and the length of the provider's name tell the size of, is one of version 2.0; what
    stands before is ignored.
    """
    if not _is_signed(buffer):
        return SignatureType.NONE, b""
    signature: bytes = buffer.signature
    if buffer.provider_needed is None:
        return SignatureType.MSMQ_1_0, signature
    size = buffer.provider_needed - buffer.provider_size
    if not 0 < size <= len(signature):
        raise InvalidParameter(f"a signature of {size} bytes in {len(signature)}")
    return SignatureType.MSMQ_2_0, signature[-size:]


def _provider(buffer: Any) -> bytes:
    """ProviderInfo: a name up to its null, and a type ([MS-MQMP] 3.1.5.2); nothing by default."""
    if buffer.is_default_provider:
        return b""
    return encode_provider(buffer.provider_type or 0, _text(buffer.provider))


def _body_type(given: int | None) -> int:
    """A VARTYPE ([MS-MQMP] 2.2.3.2)."""
    if given is not None and given & ~VECTOR not in set(VarType):
        raise IllegalPropertyValue(f"pulBodyType {given}: no type of a property")
    return given or 0


def _label(units: tuple[int, ...] | None) -> str:
    """The title up to its null or its end, at most 249 characters ([MS-MQMP] 3.1.5.2)."""
    return _text((units or ())[: LABEL_UNITS_MAX - 1])


def _text(units: tuple[int, ...]) -> str:
    """Characters up to a null, or all of them ([MS-MQMP] 3.1.5.2)."""
    raw = array("H", units).tobytes()
    return raw.decode("utf-16-le", "surrogatepass").partition("\0")[0]


def _queue(given: QueueFormatArgument | None) -> FormatName | None:
    """A queue for reports or answers; it is only named ([MS-MQMP] 2.2.3.2)."""
    return None if given is None else given.queue_format().name()


def _lifetime(seconds: int) -> int | None:
    """ulRelativeTimeToLive ([MS-MQMP] 2.2.3.2); 0 is what no one has set (SS-23)."""
    return None if seconds in (0, INFINITE) else seconds


def _reach(given: int, now: int) -> int | None:
    """ulAbsoluteTimeToQueue: seconds, or a date ([MS-MQMP] 2.2.3.2, 3.1.5.2; SS-22)."""
    if given in (0, INFINITE):
        return None
    return max(0, given - now) if given > now - A_DAY else given
