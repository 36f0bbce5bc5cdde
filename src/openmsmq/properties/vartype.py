"""The types a property value or a message body can declare."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

VECTOR: Final = 0x1000
"Or-ed to a type: a counted array of it ([MS-MQMQ] 2.2.12)."


class VarType(IntEnum):
    """Variant types ([MS-MQMQ] 2.2.12) and, from `VT_R4` on, those met in message bodies only."""

    VT_EMPTY = 0
    VT_NULL = 1
    VT_I2 = 2
    VT_I4 = 3
    VT_BOOL = 11
    VT_VARIANT = 12
    VT_I1 = 16
    VT_UI1 = 17
    VT_UI2 = 18
    VT_UI4 = 19
    VT_I8 = 20
    VT_UI8 = 21
    VT_LPWSTR = 31
    VT_BLOB = 65
    VT_CLSID = 72

    VT_R4 = 4
    VT_R8 = 5
    VT_CY = 6
    VT_DATE = 7
    VT_BSTR = 8
    VT_LPSTR = 30
    VT_STREAMED_OBJECT = 68
    VT_STORED_OBJECT = 69


def vartype_name(code: int) -> str:
    """The name of a type code, whether known or not: `VT_UI1|VT_VECTOR`, `VT_0x300`."""
    base = code & ~VECTOR
    try:
        name = VarType(base).name
    except ValueError:
        name = f"VT_0x{base:X}"
    return f"{name}|VT_VECTOR" if code & VECTOR else name
