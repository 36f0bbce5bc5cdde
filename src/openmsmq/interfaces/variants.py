"""PROPVARIANT as an argument of remote calls ([MS-MQMQ] 2.2.12 to 2.2.17)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Self

from openmsmq.errors import IllegalPropertyValue, IllegalPropertyVt, Malformed
from openmsmq.interfaces.limits import VARIANT_ELEMENTS_MAX
from openmsmq.limits import VARIANT_DEPTH_MAX
from openmsmq.properties.variant import PropVariant, from_variant_bool, to_variant_bool
from openmsmq.properties.vartype import VECTOR, VarType
from openmsmq.rpc.ndr.kinds import (
    ByteArray,
    Integer,
    IntegerArray,
    NdrArray,
    NdrKind,
    Pointer,
    Union,
    Uuid,
    WideString,
)
from openmsmq.rpc.ndr.structure import Structure, nested, structure
from openmsmq.wire.fixed import U8, U16, U32

_MOST: Final = VARIANT_ELEMENTS_MAX
_TEXT: Final = Pointer(WideString(most=_MOST))
_VARIANTS: Final = VECTOR | VarType.VT_VARIANT


@structure
class Texts(Structure):
    """A vector of texts (CALPWSTR)."""

    count: U32
    elements: Annotated[Any, Pointer(NdrArray(_TEXT, most=_MOST, size_is="count"))]


@structure
class Guids(Structure):
    """A vector of GUIDs (CACLSID)."""

    count: U32
    elements: Annotated[Any, Pointer(NdrArray(Uuid(), most=_MOST, size_is="count"))]


@structure
class Blob(Structure):
    """Bytes (BLOB and CAUB)."""

    count: U32
    elements: Annotated[bytes | None, Pointer(ByteArray(most=_MOST, size_is="count"))]


@structure
class Shorts(Structure):
    """A vector of VT_UI2 (CAUI)."""

    count: U32
    elements: Annotated[Any, Pointer(IntegerArray("H", most=_MOST, size_is="count"))]


@structure
class SignedLongs(Structure):
    """A vector of VT_I4 (CAL)."""

    count: U32
    elements: Annotated[Any, Pointer(IntegerArray("i", most=_MOST, size_is="count"))]


@structure
class Longs(Structure):
    """A vector of VT_UI4 (CAUL)."""

    count: U32
    elements: Annotated[Any, Pointer(IntegerArray("I", most=_MOST, size_is="count"))]


@structure
class Hypers(Structure):
    """A vector of VT_UI8 (CAUH)."""

    count: U32
    elements: Annotated[Any, Pointer(IntegerArray("Q", most=_MOST, size_is="count"))]


_SIMPLE: Final[dict[int, NdrKind | None]] = {
    VarType.VT_EMPTY: None,
    VarType.VT_NULL: None,
    VarType.VT_I1: Integer("b"),
    VarType.VT_I2: Integer("h"),
    VarType.VT_I4: Integer("i"),
    VarType.VT_BOOL: Integer("H"),
    VarType.VT_UI1: Integer("B"),
    VarType.VT_UI2: Integer("H"),
    VarType.VT_UI4: Integer("I"),
    VarType.VT_I8: Integer("q"),
    VarType.VT_UI8: Integer("Q"),
    VarType.VT_LPWSTR: _TEXT,
    VarType.VT_CLSID: Pointer(Uuid()),
}
_COUNTED: Final[dict[int, type[Structure]]] = {
    VarType.VT_BLOB: Blob,
    VECTOR | VarType.VT_UI1: Blob,
    VECTOR | VarType.VT_UI2: Shorts,
    VECTOR | VarType.VT_I4: SignedLongs,
    VECTOR | VarType.VT_UI4: Longs,
    VECTOR | VarType.VT_UI8: Hypers,
    VECTOR | VarType.VT_CLSID: Guids,
    VECTOR | VarType.VT_LPWSTR: Texts,
}
ARMS: Final[dict[int, NdrKind | None]] = _SIMPLE | {
    code: nested(kind) for code, kind in _COUNTED.items()
}
"What each type has on the wire; there is no default arm ([MS-MQMQ] 2.2.13.1)."


@structure
class VariantArgument(Structure):
    """PROPVARIANT: the union's tag repeats the type, arms stand at their own alignment (MG-08)."""

    vartype: U16
    reserved1: U8
    reserved2: U8
    reserved3: U32
    value: Annotated[Any, Union("vartype", "H", ARMS)]

    @classmethod
    def of(cls, variant: PropVariant) -> Self:
        """The argument that carries a value ([MS-MQMQ] 2.2.13)."""
        return cls(variant.vartype, 0, 0, 0, _wire_value(variant))

    def variant(self) -> PropVariant:
        """The value; `Malformed` if it is none that a property can have."""
        try:
            return self._variant(VARIANT_DEPTH_MAX)
        except (IllegalPropertyVt, IllegalPropertyValue) as error:
            raise Malformed("PROPVARIANT", 0, str(error)) from error

    def check_depth(self) -> None:
        """Refuse variants that lie too deep in each other; `Malformed`."""
        self._check_depth(VARIANT_DEPTH_MAX)

    def _check_depth(self, left: int) -> None:
        if not left:
            what = f"variants lie more than {VARIANT_DEPTH_MAX} deep in each other"
            raise Malformed("PROPVARIANT", 0, what)
        if self.vartype == _VARIANTS:
            for item in self.value.elements or ():
                item._check_depth(left - 1)

    def _variant(self, left: int) -> PropVariant:
        self._check_depth(left)
        kind, value = self.vartype, self.value
        if kind == VarType.VT_BOOL:
            value = from_variant_bool(value)
        elif kind == _VARIANTS:
            value = tuple(item._variant(left - 1) for item in value.elements or ())
        elif kind in (VarType.VT_BLOB, VECTOR | VarType.VT_UI1):
            value = value.elements or b""
        elif kind in _COUNTED:
            value = tuple(value.elements or ())
        return PropVariant(kind, value)


def _wire_value(variant: PropVariant) -> Any:
    value: Any = variant.value
    if variant.vartype == VarType.VT_BOOL:
        return to_variant_bool(value)
    if variant.vartype == _VARIANTS:
        elements = tuple(map(VariantArgument.of, value))
        return Variants(len(elements), elements or None)
    counted: Any = _COUNTED.get(variant.vartype)
    return value if counted is None else counted(len(value), value or None)


@structure
class Variants(Structure):
    """A vector of variants (CAPROPVARIANT)."""

    count: U32
    elements: Annotated[
        Any, Pointer(NdrArray(nested(VariantArgument), most=_MOST, size_is="count"))
    ]


ARMS[_VARIANTS] = nested(Variants)
NULL: Final = VariantArgument(VarType.VT_NULL, 0, 0, 0, None)
"What stands for a value that is to be filled in, or that there is none of."
