"""Names of public queues, and the objects they are kept under ([MS-MQDSSM] 2.2.5)."""

from __future__ import annotations

from typing import Final

from openmsmq.directory.limits import LABEL_MAX, QUEUE_NAME_MAX
from openmsmq.errors import IllegalPropertyValue, IllegalQueuePathName

_POLYNOMIAL: Final = 0x9B619023
_SHORT: Final = 63
"Characters of a name that fits into the name of its object."
_KEPT: Final = 55
_HASHED: Final = 64
"Characters of the name of an object that ends with a hash."
_TAIL: Final = 9


def _table() -> tuple[int, ...]:
    rows = []
    for number in range(256):
        value = number
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        rows.append(value)
    return tuple(rows)


_TABLE: Final = _table()


def name_hash(name: str) -> str:
    """The hash of a long name, in any case ([MS-MQDSSM] 2.2.5)."""
    value = 0
    for byte in name.lower().encode("utf-16-be"):
        value = (value >> 8) ^ _TABLE[(value ^ byte) & 0xFF]
    return f"{value:08x}"


def split_name(name: str) -> tuple[str, str]:
    """The name of the object of a queue, and what does not fit into it.

    ([MS-MQDSSM] 3.1.6.1.2.5; the plain name counts, DS-11.)
    """
    if len(name) <= _SHORT:
        return name, ""
    return f"{name[:_KEPT]}-{name_hash(name)}", name[_KEPT:]


def join_name(common_name: str, extension: str) -> str:
    """The name of a queue from its object ([MS-MQDSSM] 3.1.6.11.2.1)."""
    if extension and len(common_name) == _HASHED:
        return common_name[:-_TAIL] + extension
    return common_name


def check_name(name: str) -> None:
    """Refuse names that no public queue has ([MS-MQMQ] 2.1.1, [MS-MQDSSM] 3.1.6.20.2).

    Private, system, connector and outgoing queues are never in the directory.
    """
    if not 0 < len(name) <= QUEUE_NAME_MAX:
        raise IllegalQueuePathName(f"{name:.40}: a name has 1 to {QUEUE_NAME_MAX} characters")
    if "\\" in name or ";" in name:
        raise IllegalQueuePathName(f"{name}: only public queues are in the directory")


def check_label(label: str) -> None:
    """Refuse a label that the directory has no room for ([MS-MQMQ] 2.3.1.8; DS-10)."""
    if len(label) > LABEL_MAX:
        raise IllegalPropertyValue(
            f"label: {len(label)} characters; a public queue has {LABEL_MAX} at most"
        )
