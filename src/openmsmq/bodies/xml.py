"""The bodies of XmlMessageFormatter, the default of System.Messaging.

A document in UTF-8 without byte order mark whose root element is named after the type of the value:
`<string>`, `<int>`, or the name of a class. The layout is that of the example in [MC-MQSRM] 4.2.
"""

from __future__ import annotations

import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final, TypeAlias
from uuid import UUID

from openmsmq.bodies.body import Tree
from openmsmq.bodies.xmltree import document_text, read_tree
from openmsmq.bodies.xmlwrite import document, element, escape
from openmsmq.errors import IllegalPropertyValue
from openmsmq.limits import U32_MAX, U64_MAX

XmlValue: TypeAlias = bool | int | float | str | bytes | Decimal | datetime | UUID

INTEGERS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {
        "int": (-(2**31), 2**31 - 1),
        "long": (-(2**63), 2**63 - 1),
        "unsignedLong": (0, U64_MAX),
        "short": (-(2**15), 2**15 - 1),
        "byte": (-(2**7), 2**7 - 1),
        "unsignedByte": (0, 2**8 - 1),
        "unsignedShort": (0, 2**16 - 1),
        "unsignedInt": (0, U32_MAX),
    }
)
"Root elements of whole numbers with the numbers they hold; the first three are the usual choice."

_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_REAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FRACTION = re.compile(r"(\.[0-9]*?)0+(?![0-9])")
_SPECIAL = {"INF": math.inf, "-INF": -math.inf, "NaN": math.nan}


def read_xml(data: bytes) -> tuple[Tree, str]:
    """The value of a document and its text.

    A root element that names a simple type gives the plain value, any other the tree of
    `read_tree`. Decimals, dates and GUIDs stay text: no plain value holds them exactly.
    """
    text = document_text(data).rstrip("\0")
    tree = read_tree(text)
    ((name, content),) = tree.items()
    if content is None:
        return None, text
    if name in _READERS and isinstance(content, str):
        with suppress(ValueError, KeyError):
            return _READERS[name](content), text
    return tree, text


def write_xml(value: XmlValue, type_name: str | None = None) -> bytes:
    """The document XmlMessageFormatter writes for `value`, as the XML type `type_name` if given."""
    forms = _forms(value)
    name = type_name or next(iter(forms), "value")
    if name not in forms:
        raise IllegalPropertyValue(f"{value!r:.100} cannot be an XML {name}")
    return document(element(name, forms[name]))


def _forms(value: XmlValue) -> dict[str, str]:
    """What `value` looks like as each XML type that can hold it, the type .NET would take first."""
    forms: dict[str, str] = {}
    match value:
        case bool():
            forms = {"boolean": "true" if value else "false"}
        case int():
            forms = {n: str(value) for n, (low, high) in INTEGERS.items() if low <= value <= high}
        case float():
            forms = {"double": _real(repr(value)), "float": _real(f"{value:.9g}")}
        case str():
            forms = {"string": escape(value)}
            if len(value) == 1 and value <= "\uffff":
                # .NET writes a character as the number of its UTF-16 unit.
                forms["char"] = str(ord(value))
        case Decimal() if value.is_finite():
            forms = {"decimal": f"{value:f}"}
        case datetime():
            shortest = _FRACTION.sub(r"\1", value.isoformat())
            forms = {"dateTime": shortest.replace("+00:00", "Z")}
        case UUID():
            forms = {"guid": str(value)}
        case bytes():
            forms = {"base64Binary": b64encode(value).decode("ascii")}
    return forms


def _real(text: str) -> str:
    """What Python writes for a float, as XML writes it."""
    names = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}
    return names.get(text) or text.removesuffix(".0").upper()


def _read_integer(name: str) -> Callable[[str], int]:
    low, high = INTEGERS[name]

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text := text.strip()) or not low <= int(text) <= high:
            raise ValueError(text)
        return int(text)

    return read


def _read_real(text: str) -> float:
    text = text.strip()
    if text in _SPECIAL:
        return _SPECIAL[text]
    if not _REAL.fullmatch(text):
        raise ValueError(text)
    return float(text)


def _read_boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.strip()]


def _read_char(text: str) -> str:
    return chr(_read_integer("unsignedShort")(text))


def _read_bytes(text: str) -> bytes:
    return b64decode("".join(text.split()), validate=True)


_READERS: Final[Mapping[str, Callable[[str], Tree]]] = MappingProxyType(
    {
        **{name: _read_integer(name) for name in INTEGERS},
        "string": str,
        "boolean": _read_boolean,
        "char": _read_char,
        "double": _read_real,
        "float": _read_real,
        "decimal": str.strip,
        "dateTime": str.strip,
        "guid": str.strip,
        "base64Binary": _read_bytes,
    }
)
"What makes the value of each simple type; ValueError or KeyError when it is none."
