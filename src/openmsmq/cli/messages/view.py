"""A message as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from uuid import UUID

from rich.text import Text

from openmsmq.bodies.headers import decode_headers
from openmsmq.cli.output import console, printable, size_text, time_text
from openmsmq.properties.message import Acknowledge, SignatureType, describe_class
from openmsmq.properties.vartype import vartype_name
from openmsmq.types.received import ReceivedMessage

TEXT_SHOWN: Final = 10_000
BYTES_SHOWN: Final = 512
_ROW: Final = 16
_INDENT: Final = "    "
_NAME_WIDTH: Final = 16
_REPORTS: Final = {
    Acknowledge.POS_ARRIVAL: "arrival",
    Acknowledge.POS_RECEIVE: "receive",
    Acknowledge.NEG_ARRIVAL: "failure to arrive",
    Acknowledge.NEG_RECEIVE: "failure to be received",
}
_SIGNATURES: Final[Mapping[int, str]] = {
    SignatureType.MSMQ_1_0: "verified (MSMQ 1.0)",
    SignatureType.MSMQ_2_0: "verified (MSMQ 2.0)",
    SignatureType.MSMQ_3_0: "verified (MSMQ 3.0)",
    SignatureType.XML: "verified (XML)",
}


def print_message(message: ReceivedMessage, *, first: bool = True) -> None:
    """Print a message, after an empty line unless it is the first."""
    text = Text() if first else Text("\n")
    for name, value in _facts(message):
        text.append(f"{name:{_NAME_WIDTH}}", style="bold")
        text.append(f"{printable(value)}\n")
    for line in _body(message):
        text.append(f"{_INDENT}{line}\n")
    console().print(text, end="", soft_wrap=True)


def _facts(message: ReceivedMessage) -> Iterator[tuple[str, str]]:
    """What there is to say, without what says nothing."""
    yield "id", message.id
    yield "label", message.label
    if message.message_class:
        words = describe_class(message.message_class)
        yield "class", f"0x{message.message_class:04X}, {words}"
    yield "sent", time_text(message.sent_time)
    yield "arrived", time_text(message.arrived_time)
    yield "delivery", ", ".join(_delivery(message))
    yield "lookup id", str(message.lookup_id)
    for name, value in _optional(message):
        if value:
            yield name, value
    decoded = message.decoded
    kind = vartype_name(message.body_type) if message.body_type else ""
    if kind in decoded.format:
        kind = ""
    parts = (size_text(len(message.body)), decoded.format, kind, decoded.reason)
    yield "body", ", ".join(part for part in parts if part)


def _delivery(message: ReceivedMessage) -> Iterator[str]:
    yield "recoverable" if message.recoverable else "express"
    yield "transactional" if message.transactional else f"priority {message.priority}"
    if message.journal:
        yield "copy to the sender's journal"
    if message.dead_letter:
        yield "dead letter on failure"
    if message.trace:
        yield "traced"
    if message.time_to_reach_queue is not None:
        yield f"{message.time_to_reach_queue} s to arrive"
    if message.time_to_be_received is not None:
        yield f"{message.time_to_be_received} s to be received"


def _optional(message: ReceivedMessage) -> Iterator[tuple[str, str]]:
    """What most messages do not have."""
    reports = [words for flag, words in _REPORTS.items() if message.acknowledge & flag]
    yield "sent to", str(message.destination_queue or "")
    yield "reports", ", ".join(reports)
    yield "admin queue", str(message.admin_queue or "")
    yield "response queue", str(message.response_queue or "")
    yield "dead letters", str(message.dead_letter_queue or "")
    yield "correlation id", _correlation(message.correlation_id)
    yield "app specific", str(message.app_specific or "")
    yield "sender", message.sender_id or ""
    yield "signature", _SIGNATURES.get(message.signature_type, "")
    yield "aborted", _times(message.abort_count)
    yield "moved", _times(message.move_count)
    yield "extension", _extension(message.extension)


def _times(count: int) -> str:
    return f"{count} time{'s' * (count > 1)}" if count else ""


def _correlation(raw: bytes) -> str:
    if not raw:
        return ""
    return f"{UUID(bytes_le=raw[:16])}\\{int.from_bytes(raw[16:], 'little')} ({raw.hex()})"


def _extension(raw: bytes) -> str:
    if not raw:
        return ""
    headers = decode_headers(raw)
    listed = ", ".join(f"{name}={value}" for name, value in headers.values.items())
    if headers.kind:
        return f"{size_text(len(raw))}, {headers.kind} headers: {listed}"[:TEXT_SHOWN]
    return size_text(len(raw))


def _body(message: ReceivedMessage) -> Iterator[str]:
    """The lines of the body: as text where it is readable, else its bytes."""
    text = message.text
    if text is None:
        yield from _dump(message.body)
        return
    for line in text[:TEXT_SHOWN].splitlines():
        yield printable(line, keep="\t")
    if len(text) > TEXT_SHOWN:
        yield f"… {len(text) - TEXT_SHOWN:,} characters more; --json has all"


def _dump(body: bytes) -> Iterator[str]:
    for start in range(0, min(len(body), BYTES_SHOWN), _ROW):
        row = body[start : start + _ROW]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        yield f"{start:04x}  {row.hex(' '):{3 * _ROW - 1}}  {letters}"
    if len(body) > BYTES_SHOWN:
        yield f"… {len(body) - BYTES_SHOWN:,} bytes more; --json has all"
