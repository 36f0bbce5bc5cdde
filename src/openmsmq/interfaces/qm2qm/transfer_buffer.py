"""CACTransferBufferV1 and V2, the message of old calls ([MS-MQMP] 2.2.3.2, 2.2.3.3).

Every pointer may be NULL whatever the size beside it says; else sizes are those of the arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from openmsmq.interfaces.limits import NAME_MAX, READ_SIZE_MAX, VARIANT_ELEMENTS_MAX
from openmsmq.interfaces.queue_format import ObjectId, QueueFormatArgument
from openmsmq.rpc.ndr.kinds import (
    ByteArray,
    FixedBytes,
    Integer,
    IntegerArray,
    NdrKind,
    Pointer,
    Union,
    Uuid,
)
from openmsmq.rpc.ndr.stream import NdrReader, Scope
from openmsmq.rpc.ndr.structure import Structure, nested, structure

CORRELATION_SIZE: Final = 20


def declared(name: str, **kinds: NdrKind) -> type[Structure]:
    """A structure of fields of these kinds."""
    hints = {field: Annotated[Any, kind] for field, kind in kinds.items()}
    members = {"__annotations__": hints, "__module__": __name__, "__doc__": f"{name}."}
    return structure(type(name, (Structure,), members))


def placed(target: NdrKind) -> NdrKind:
    """A pointer behind a pointer: NULL if either is (SS-25), whatever its size.

    ([MS-MQMP] 3.1.5.2)
    """
    return Pointer(Pointer(target, sizes_null=True))


class ExactBytes(ByteArray):
    """An array of bytes whose counts are the same number always."""

    def read_counts(self, reader: NdrReader, name: str, scope: Scope) -> int:
        """The number of elements that follow; any other is refused ([MS-MQMP] 2.2.3.2)."""
        count = super().read_counts(reader, name, scope)
        if count != self.most:
            reader.fail(name, f"{count} bytes are not {self.most}")
        return count


def _bytes(size: str, length: str | None = None) -> NdrKind:
    """Bytes behind two pointers, as many as fields beside them say ([MS-MQMP] 2.2.3.2)."""
    return placed(ByteArray(most=READ_SIZE_MAX, size_is=size, length_is=length))


def _wide(size: str, length: str | None = None) -> NdrKind:
    """The same for characters ([MS-MQMP] 2.2.3.2)."""
    return placed(IntegerArray("H", most=VARIANT_ELEMENTS_MAX, size_is=size, length_is=length))


_P1, _P2, _P4 = (Pointer(Integer(code)) for code in "BHI")
_N4: Final = Integer("I")
_NAME_SIZE: Final = Integer("I", 0, NAME_MAX)
_OBJECT_ID: Final = placed(nested(ObjectId))
_QUEUE_FORMAT: Final = Pointer(nested(QueueFormatArgument))
NAMES: Final = ("response", "admin", "destination", "ordering")
"What the receiver of a message may ask the names of."

SendPart: Final = declared("SendPart", admin=_QUEUE_FORMAT, response=_QUEUE_FORMAT)
RECEIVE_FIELDS: Final[dict[str, NdrKind]] = {
    "timeout": _N4,
    "action": _N4,
    "asynchronous": _N4,
    "cursor": _N4,
    **{
        field: kind
        for name in NAMES
        for field, kind in (
            (f"{name}_size", _NAME_SIZE),
            (f"{name}_name", _wide(f"{name}_size")),
            (f"{name}_needed", _P4),
        )
    },
}
ReceivePart: Final = declared("ReceivePart", **RECEIVE_FIELDS)
CursorPart: Final = declared("CursorPart", cursor=_N4, server_queue=_N4, client_queue=_N4)
FIELDS: Final[dict[str, NdrKind]] = {
    "transfer_type": Integer("I", 0, 2),
    "part": Union(
        "transfer_type", "I", {0: nested(SendPart), 1: nested(ReceivePart), 2: nested(CursorPart)}
    ),
    "message_class": _P2,
    "message_id": _OBJECT_ID,
    "correlation_id": placed(ExactBytes(most=CORRELATION_SIZE, varying=True)),
    "sent": _P4,
    "arrived": _P4,
    "priority": _P1,
    "delivery": _P1,
    "acknowledge": _P1,
    "auditing": _P1,
    "application_tag": _P4,
    "body": _bytes("body_allocated", "body_size"),
    "body_size": _N4,
    "body_allocated": _N4,
    "body_needed": _P4,
    "title": _wide("title_size", "title_size"),
    "title_size": _N4,
    "title_needed": _P4,
    "absolute_time_to_queue": _N4,
    "relative_time_to_queue": _P4,
    "relative_time_to_live": _N4,
    "time_left_to_live": _P4,
    "trace": _P1,
    "sender_type": _P4,
    "sender": _bytes("sender_size"),
    "sender_needed": _P4,
    "privacy": _P4,
    "authentication_level": _N4,
    "authenticated": _P1,
    "hash_algorithm": _P4,
    "encryption_algorithm": _P4,
    "certificate": _bytes("certificate_size"),
    "certificate_size": _N4,
    "certificate_needed": _P4,
    "provider": _wide("provider_size"),
    "provider_size": _N4,
    "provider_needed": _P4,
    "provider_type": _P4,
    "is_default_provider": _N4,
    "keys": _bytes("keys_size"),
    "keys_size": _N4,
    "keys_needed": _P4,
    "is_encrypted": Integer("B"),
    "is_authenticated": Integer("B"),
    "sender_size": Integer("H"),
    "signature": _bytes("signature_size"),
    "signature_size": _N4,
    "signature_needed": _P4,
    "source": placed(Uuid()),
    "unit": Pointer(FixedBytes(16)),
    "extension": _bytes("extension_size", "extension_size"),
    "extension_size": _N4,
    "extension_needed": _P4,
    "connector_type": placed(Uuid()),
    "body_type": _P4,
    "version": _P4,
}
"The fields of version 1, in their order."
TransferBuffer1: Final = declared("CACTransferBufferV1", **FIELDS)
NEWER_FIELDS: Final[dict[str, NdrKind]] = FIELDS | {
    "is_first": _P1,
    "is_last": _P1,
    "transaction_id": _OBJECT_ID,
}
"Those of version 2 ([MS-MQMP] 2.2.3.3)."
TransferBuffer2: Final = declared("CACTransferBufferV2", **NEWER_FIELDS)


def blank(fields: Mapping[str, NdrKind]) -> dict[str, Any]:
    """Every number 0, every pointer NULL."""
    return {name: 0 if isinstance(kind, Integer) else None for name, kind in fields.items()}


def send_buffer(
    admin: QueueFormatArgument | None = None,
    response: QueueFormatArgument | None = None,
    **given: Any,
) -> Any:
    """A buffer with a message to send; what is not given is the default ([MS-MQMP] 3.1.5.2)."""
    part: Any = SendPart
    make: Any = TransferBuffer2
    return make(**blank(NEWER_FIELDS) | {"part": part(admin, response)} | given)


def receive_buffer(part: Mapping[str, Any], **given: Any) -> Any:
    """A buffer for a message to receive; what is not given is not wanted ([MS-MQMP] 3.1.5.3)."""
    receiving: Any = ReceivePart
    make: Any = TransferBuffer2
    found = receiving(**blank(RECEIVE_FIELDS) | dict(part))
    return make(**blank(NEWER_FIELDS) | {"transfer_type": 1, "part": found} | given)
