"""A property value together with its type, checked when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias
from uuid import UUID

from openmsmq.errors import IllegalPropertyValue, IllegalPropertyVt
from openmsmq.limits import U32_MAX, U64_MAX, VARIANT_DEPTH_MAX
from openmsmq.properties.vartype import VECTOR, VarType, vartype_name

VARIANT_TRUE: Final = 0xFFFF
VARIANT_FALSE: Final = 0

Value: TypeAlias = "bool | int | str | bytes | UUID | tuple[Value | PropVariant, ...] | None"

_RANGES: Final[Mapping[int, tuple[int, int]]] = {
    VarType.VT_I1: (-(1 << 7), (1 << 7) - 1),
    VarType.VT_I2: (-(1 << 15), (1 << 15) - 1),
    VarType.VT_I4: (-(1 << 31), (1 << 31) - 1),
    VarType.VT_I8: (-(1 << 63), (1 << 63) - 1),
    VarType.VT_UI1: (0, (1 << 8) - 1),
    VarType.VT_UI2: (0, (1 << 16) - 1),
    VarType.VT_UI4: (0, U32_MAX),
    VarType.VT_UI8: (0, U64_MAX),
}
_KINDS: Final[Mapping[int, type]] = {
    VarType.VT_EMPTY: type(None),
    VarType.VT_NULL: type(None),
    VarType.VT_BOOL: bool,
    VarType.VT_LPWSTR: str,
    VarType.VT_BLOB: bytes,
    VarType.VT_CLSID: UUID,
    VECTOR | VarType.VT_UI1: bytes,
    **dict.fromkeys(_RANGES, int),
}
_VARIANTS: Final = VECTOR | VarType.VT_VARIANT
_VECTORS: Final = frozenset(
    {
        VECTOR | VarType.VT_UI2,
        VECTOR | VarType.VT_I4,
        VECTOR | VarType.VT_UI4,
        VECTOR | VarType.VT_UI8,
        VECTOR | VarType.VT_CLSID,
        VECTOR | VarType.VT_LPWSTR,
        _VARIANTS,
    }
)
"The vectors a property can hold, besides that of VT_UI1 ([MS-MQMQ] 2.2.13.1)."


@dataclass(frozen=True, slots=True)
class PropVariant:
    """A typed value ([MS-MQMQ] 2.2.13).

    Python's own types stand for the variant types: `None`, `bool`, `int`, `str`, `bytes` (also for
    a vector of VT_UI1), `UUID`, and tuples for all other vectors; the elements of a vector of
    variants are variants themselves. A value that is not of its type raises IllegalPropertyVt, one
    out of its range IllegalPropertyValue.
    """

    vartype: int
    value: Value

    def __post_init__(self) -> None:
        if self.vartype in _VECTORS:
            self._check_vector()
        else:
            _check_single(self.vartype, self.value)

    @property
    def type_name(self) -> str:
        """The name of the type: `VT_UI1|VT_VECTOR`."""
        return vartype_name(self.vartype)

    @property
    def depth(self) -> int:
        """1, and one more for every vector of variants this value is made of."""
        if self.vartype != _VARIANTS or not isinstance(self.value, tuple):
            return 1
        inner = (item.depth for item in self.value if isinstance(item, PropVariant))
        return 1 + max(inner, default=0)

    def _check_vector(self) -> None:
        if not isinstance(self.value, tuple):
            raise IllegalPropertyVt(_mismatch(self.vartype, self.value))
        if self.vartype != _VARIANTS:
            for item in self.value:
                _check_single(self.vartype & ~VECTOR, item)
            return
        for item in self.value:
            if not isinstance(item, PropVariant):
                raise IllegalPropertyVt(_mismatch(self.vartype, item))
        if self.depth > VARIANT_DEPTH_MAX:
            raise IllegalPropertyValue(
                f"variants lie more than {VARIANT_DEPTH_MAX} deep in each other"
            )


def _check_single(vartype: int, value: object) -> None:
    kind = _KINDS.get(vartype)
    # Python counts True among the integers; a property does not.
    if kind is None or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise IllegalPropertyVt(_mismatch(vartype, value))
    if isinstance(value, int) and kind is int:
        low, high = _RANGES[vartype]
        if not low <= value <= high:
            raise IllegalPropertyValue(f"{value} does not fit {vartype_name(vartype)}")
    if isinstance(value, str) and "\0" in value:
        raise IllegalPropertyValue("text with a null in it")


def _mismatch(vartype: int, value: object) -> str:
    return f"{type(value).__name__} is no {vartype_name(vartype)}"


def to_variant_bool(value: bool) -> int:
    """A truth value as VARIANT_BOOL ([MS-MQMQ] 2.2.14)."""
    return VARIANT_TRUE if value else VARIANT_FALSE


def from_variant_bool(code: int) -> bool:
    """The truth value of a VARIANT_BOOL; whatever is not FALSE is TRUE ([MS-MQMQ] 2.2.14)."""
    return code != VARIANT_FALSE
