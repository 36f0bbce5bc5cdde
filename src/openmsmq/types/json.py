"""Messages as JSON objects, for the command line and for files ([MS-MQDMPR] 3.1.1.12).

And messages like others: another text or label, and all else as it was.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from openmsmq.errors import (
    IllegalPropertyValue,
    IllegalPropertyVt,
    InvalidParameter,
    PropertyNotAllowed,
)
from openmsmq.names.base import FormatName
from openmsmq.properties.vartype import VarType
from openmsmq.types.message import FIELDS, Message
from openmsmq.types.received import ReceivedMessage

Json: TypeAlias = bool | int | float | str | None

FACTS: Final = (
    "id",
    "lookup_id",
    "arrival",
    "message_class",
    "sent_time",
    "arrived_time",
    "destination_queue",
    "source_manager",
    "sender_id",
    "signature_type",
    "transactional",
    "abort_count",
    "move_count",
)
"What a received message has beyond the fields of any, in order."
_WRITTEN: Final = tuple(name for name in FIELDS if name != "signer")
"What has a form in JSON: a private key has none."
_SETTABLE: Final = frozenset(_WRITTEN)
_IGNORED: Final = frozenset({"text", *FACTS})
"What a program may leave in an object that it sends on."
ENCODINGS: Final = ("utf-8", "utf-16-le", "utf-8-sig", "utf-16")
"What texts in bodies are written in."
WIDE: Final = ("utf-16-le", "utf-16")
"The same where the type of the body says so."


def to_json(message: Message) -> dict[str, Json]:
    """The object for `message`: bytes in base64, `correlation_id` in hex, times in ISO 8601 UTC.

    `text` is there if the body can be read; what is for ever is null.
    """
    names = (*FACTS, *_WRITTEN) if isinstance(message, ReceivedMessage) else _WRITTEN
    found = {name: _written(name, getattr(message, name)) for name in names}
    text = message.text
    return found if text is None else {**found, "text": text}


def from_json(data: object) -> Message:
    """The message to send that an object stands for, with the fields it names.

    `text` is the body where there is no `body`. What only received messages have is ignored, so
    that they can be sent again; any other name is a mistake and refused, as a wrong value is.
    """
    if not isinstance(data, Mapping):
        raise IllegalPropertyVt(f"a message is a JSON object, not {type(data).__name__}")
    unknown = [str(name) for name in data if name not in _SETTABLE and name not in _IGNORED]
    if unknown:
        raise PropertyNotAllowed(f"a message has no field {', '.join(unknown):.100}")
    found = {name: data[name] for name in data if name in _SETTABLE}
    for name, read in _READERS.items():
        if name in found:
            found[name] = read(name, found[name])
    if "body" not in found and "text" in data:
        found["body"] = _text("text", data["text"])
    return Message(**found)


def _written(name: str, value: object) -> Json:
    match value:
        case bytes():
            return value.hex() if name == "correlation_id" else b64encode(value).decode("ascii")
        case FormatName() | UUID():
            return str(value)
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case bool() | str() | None:
            return value
    assert isinstance(value, int), f"{name} has no form in JSON"
    return int(value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise IllegalPropertyVt(f"{name}: text is needed, not {type(value).__name__}")
    return value


def _base64(name: str, value: object) -> bytes:
    try:
        return b64decode(_text(name, value), validate=True)
    except ValueError as error:
        raise IllegalPropertyValue(f"{name}: not base64 ({error})") from None


def _hex(name: str, value: object) -> bytes:
    try:
        return bytes.fromhex(_text(name, value))
    except ValueError as error:
        raise IllegalPropertyValue(f"{name}: not hexadecimal ({error})") from None


_READERS: Final[Mapping[str, Callable[[str, object], bytes]]] = {
    "body": _base64,
    "extension": _base64,
    "correlation_id": _hex,
}


def renewed(old: ReceivedMessage, *, text: str | None = None, **given: Any) -> Message:
    """A message like `old` but for what is given; it lives for ever unless that says otherwise.

    A text is written as the body there is: in its encoding.
    """
    if text is not None:
        given["body"] = rewritten(old, text)
    lives = {"time_to_be_received": None, "time_to_reach_queue": None}
    return replace(from_json(to_json(old)), **{**lives, **given})


def rewritten(old: ReceivedMessage, text: str) -> bytes:
    """A text in the encoding of the body that it takes the place of."""
    wide = old.body_type in (VarType.VT_LPWSTR, VarType.VT_BSTR)
    for encoding in WIDE if wide else ENCODINGS:  # one letter in UTF-16 is one in UTF-8 with a null
        try:
            if old.body.decode(encoding).removesuffix("\0") == old.text:
                return text.encode(encoding)
        except UnicodeError:
            continue
    raise InvalidParameter("the body there is not a text that can be written anew: give it whole")
