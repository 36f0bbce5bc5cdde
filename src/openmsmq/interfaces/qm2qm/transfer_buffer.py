"""CACTransferBufferV1, the message of old calls ([MS-MQMP] 2.2.3.2).

Every pointer may be NULL whatever the size beside it says; sizes are those of the arrays.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from openmsmq.interfaces.limits import VARIANT_ELEMENTS_MAX
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
from openmsmq.rpc.ndr.structure import Structure, nested, structure


def declared(name: str, **kinds: NdrKind) -> type[Structure]:
    """A structure of fields of these kinds."""
    hints = {field: Annotated[Any, kind] for field, kind in kinds.items()}
    members = {"__annotations__": hints, "__module__": __name__, "__doc__": f"{name}."}
    return structure(type(name, (Structure,), members))


def placed(target: NdrKind) -> NdrKind:
    """A pointer behind a pointer."""
    return Pointer(nested(declared("Place", place=Pointer(target))))


_MOST: Final = VARIANT_ELEMENTS_MAX
_P1, _P2, _P4 = (Pointer(Integer(code)) for code in "BHI")
_N4: Final = Integer("I")
_VARYING: Final = placed(ByteArray(most=_MOST, varying=True))
_SIZED: Final = placed(ByteArray(most=_MOST))
_WIDE: Final = placed(IntegerArray("H", most=_MOST))
_QUEUE_FORMAT: Final = Pointer(nested(QueueFormatArgument))

SendPart: Final = declared("SendPart", admin=_QUEUE_FORMAT, response=_QUEUE_FORMAT)
ReceivePart: Final = declared(
    "ReceivePart",
    timeout=_N4,
    action=_N4,
    asynchronous=_N4,
    cursor=_N4,
    **{
        field: kind
        for name in ("response", "admin", "destination", "ordering")
        for field, kind in (
            (f"{name}_size", _N4),
            (f"{name}_name", _WIDE),
            (f"{name}_needed", _P4),
        )
    },
)
FIELDS: Final[dict[str, NdrKind]] = {
    "transfer_type": Integer("I", 0, 2),
    "part": Union("transfer_type", "I", {0: nested(SendPart), 1: nested(ReceivePart), 2: None}),
    "message_class": _P2,
    "message_id": placed(nested(ObjectId)),
    "correlation_id": _VARYING,
    "sent": _P4,
    "arrived": _P4,
    "priority": _P1,
    "delivery": _P1,
    "acknowledge": _P1,
    "auditing": _P1,
    "application_tag": _P4,
    "body": _VARYING,
    "body_size": _N4,
    "body_allocated": _N4,
    "body_needed": _P4,
    "title": placed(IntegerArray("H", most=_MOST, varying=True)),
    "title_size": _N4,
    "title_needed": _P4,
    "absolute_time_to_queue": _N4,
    "relative_time_to_queue": _P4,
    "relative_time_to_live": _N4,
    "time_left_to_live": _P4,
    "trace": _P1,
    "sender_type": _P4,
    "sender": _SIZED,
    "sender_needed": _P4,
    "privacy": _P4,
    "authentication_level": _N4,
    "authenticated": _P1,
    "hash_algorithm": _P4,
    "encryption_algorithm": _P4,
    "certificate": _SIZED,
    "certificate_size": _N4,
    "certificate_needed": _P4,
    "provider": _WIDE,
    "provider_size": _N4,
    "provider_needed": _P4,
    "provider_type": _P4,
    "is_default_provider": _N4,
    "keys": _SIZED,
    "keys_size": _N4,
    "keys_needed": _P4,
    "is_encrypted": Integer("B"),
    "is_authenticated": Integer("B"),
    "sender_size": Integer("H"),
    "signature": _SIZED,
    "signature_size": _N4,
    "signature_needed": _P4,
    "source": placed(Uuid()),
    "unit": Pointer(FixedBytes(16)),
    "extension": _VARYING,
    "extension_size": _N4,
    "extension_needed": _P4,
    "connector_type": placed(Uuid()),
    "body_type": _P4,
    "version": _P4,
}
"The fields of version 1, in their order."
TransferBuffer1: Final = declared("CACTransferBufferV1", **FIELDS)
