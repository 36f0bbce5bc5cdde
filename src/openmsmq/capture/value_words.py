"""What the values of a packet mean, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from uuid import UUID

from openmsmq.bodies.decode import NRBF_BODY_TYPE, decode_body
from openmsmq.bodies.headers import decode_headers
from openmsmq.capture.flag_words import flag_words
from openmsmq.errors import Malformed
from openmsmq.names.mqf import MQFFormatType
from openmsmq.packet.acks import ORDER_QUEUE_NUMBER
from openmsmq.packet.describe import Description
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.properties.message import (
    INFINITE,
    EncryptionAlgorithm,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
    SenderIdType,
    describe_class,
)
from openmsmq.properties.vartype import vartype_name
from openmsmq.security.keys import SimpleBlob
from openmsmq.security.sid import Sid
from openmsmq.wire.trace import Field

TEXT_SHOWN: Final = 120
IPV4: Final = 1
IPV6: Final = 6


class ValueWords:
    """Says what the fields of one packet mean; some depend on others of the same packet."""

    def __init__(self, description: Description) -> None:
        self._data = description.data
        self._stored = description.kind == "StoredMessage"
        self._fields = {field.path: field for field in description.fields}

    def of(self, field: Field) -> str:
        """The meaning of `field` in words; empty where its value says it all."""
        if field.bits is not None and isinstance(field.value, int):
            return flag_words(field.bits, field.value)
        name = field.path.rpartition(".")[2]
        if isinstance(field.value, int):
            in_words = NUMBERS.get(name)
            return in_words(field.value) if in_words else self._number(name, field)
        special = self._SPECIAL.get(name)
        return special(self, field) if special else ""

    def _number(self, name: str, field: Field) -> str:
        value = field.value
        assert isinstance(value, int)
        match name:
            case "TimeToReachQueue" if self._stored:
                return "for ever" if value == INFINITE else f"until {_time(value)}"
            case "TimeToReachQueue":
                return _lifetime(value)
            case "MessageID" if "UserHeader.SourceQueueManager" in self._fields:
                return self._message_id(field)
            case "RecoverableMsgAckFlags":
                return self._acknowledged(field)
            case _:
                return ""

    def _message_id(self, field: Field) -> str:
        parent = field.path.rpartition(".")[0]
        guid = "SourceGUID" if parent.endswith("MessageBody") else "SourceQueueManager"
        source = self._fields[f"{parent}.{guid}"].value
        return f"{str(source).lower()}\\{field.value}"

    def _acknowledged(self, field: Field) -> str:
        """The recoverable messages that are on the peer's disk ([MS-MQMQ] 2.2.20.4)."""
        base = self._value("SessionHeader.RecoverableMsgAckSeqNumber")
        assert isinstance(field.value, int)
        numbers = [str(base + k & 0xFFFF) for k in range(32) if field.value >> k & 1]
        return f"on disk: {', '.join(numbers)}" if numbers else "none on disk since the last"

    def _value(self, path: str) -> int:
        field = self._fields.get(path)
        return field.value if field is not None and isinstance(field.value, int) else 0

    def _bytes(self, field: Field) -> bytes:
        return self._data[field.offset : field.offset + field.size]

    def _correlation(self, field: Field) -> str:
        raw = self._bytes(field)
        if not any(raw):
            return "none"
        return f"{UUID(bytes_le=raw[:16])}\\{int.from_bytes(raw[16:], 'little')}"

    def _security_id(self, field: Field) -> str:
        raw = self._bytes(field)
        kind = self._value("SecurityHeader.Flags") & SecurityFlags.ST
        if kind == SenderIdType.QUEUE_MANAGER and len(raw) == 16:
            return f"queue manager {UUID(bytes_le=raw)}"
        try:
            sid = Sid.decode(raw)
        except Malformed:
            return "not a SID"
        return f"{sid} ({sid.name})" if sid.name else str(sid)

    def _encryption_key(self, field: Field) -> str:
        try:
            blob = SimpleBlob.decode(self._bytes(field))
        except Malformed:
            return "not a SIMPLEBLOB"
        return f"a key for {_name(EncryptionAlgorithm, blob.session_key_algorithm)}"

    def _body(self, field: Field) -> str:
        if self._value("SecurityHeader.Flags") & SecurityFlags.EB:
            return "encrypted"
        size = self._value("MessagePropertiesHeader.MessageSize")
        body = decode_body(
            self._bytes(field)[:size], self._value("MessagePropertiesHeader.BodyType")
        )
        if body.text is None:
            return f"{body.format} ({body.reason})" if body.reason else body.format
        return f"{body.format}: {_shorten(body.text)}"

    def _extension(self, field: Field) -> str:
        headers = decode_headers(self._bytes(field))
        if headers.kind:
            listed = ", ".join(f"{name}={value}" for name, value in headers.values.items())
            return f"{headers.kind} headers: {_shorten(listed)}"
        text = decode_body(self._bytes(field), 0).text
        return _shorten(text) if text else ""

    def _address(self, field: Field) -> str:
        parent = field.path.rpartition(".")[0]
        kind = self._value(f"{parent}.AddressType")
        raw = self._bytes(field)
        if kind == IPV4:
            return str(IPv4Address(raw[:4]))
        if kind == IPV6:
            return f"{IPv6Address(raw.ljust(16, bytes(1)))}" + ("…" if len(raw) < 16 else "")
        return ""

    def _dump(self, field: Field) -> str:
        raw = self._bytes(field)
        return f"{len(raw)} times 0x{raw[0]:02X}" if len(set(raw)) == 1 else ""

    _SPECIAL: Final[Mapping[str, Callable[[ValueWords, Field], str]]] = {
        "CorrelationID": _correlation,
        "SecurityID": _security_id,
        "EncryptionKey": _encryption_key,
        "MessageBody": _body,
        "ExtensionData": _extension,
        "Address": _address,
        "Padding": _dump,
    }


def _name(kind: type[IntEnum], code: int) -> str:
    try:
        return kind(code).name
    except ValueError:
        return f"unknown (0x{code:X})"


def _named(kind: type[IntEnum]) -> Callable[[int], str]:
    return lambda code: _name(kind, code)


def _lifetime(seconds: int) -> str:
    return "for ever" if seconds == INFINITE else str(timedelta(seconds=seconds))


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _milliseconds(value: int) -> str:
    return f"{value / 1000:g} s"


def _message_class(code: int) -> str:
    name = next((known.name for known in MessageClass if known == code), f"0x{code:04X}")
    return f"{name}: {describe_class(code)}"


def _body_type(code: int) -> str:
    return "BinaryMessageFormatter" if code == NRBF_BODY_TYPE else vartype_name(code)


def _private_queue(number: int) -> str:
    return "order_queue$" if number == ORDER_QUEUE_NUMBER else ""


def _address_type(code: int) -> str:
    return {0: "none", IPV4: "IPv4", IPV6: "IPv6"}.get(code, "unknown")


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line if len(line) <= TEXT_SHOWN else f"{line[:TEXT_SHOWN]}…"


NUMBERS: Final[Mapping[str, Callable[[int], str]]] = {
    "TimeToBeReceived": _lifetime,
    "SentTime": _time,
    "LastMoveTime": lambda seconds: _time(seconds) if seconds else "never moved",
    "RecoverableAckTimeout": _milliseconds,
    "AckTimeout": _milliseconds,
    "MessageClass": _message_class,
    "BodyType": _body_type,
    "PrivacyLevel": _named(PrivacyLevel),
    "HashAlgorithm": _named(HashAlgorithm),
    "EncryptionAlgorithm": _named(EncryptionAlgorithm),
    "FormatType": _named(MQFFormatType),
    "PrivateQueueIdentifier": _private_queue,
    "AddressType": _address_type,
}
