"""SRMP messages for tests: the examples of [MC-MQSRM] 4, and envelopes put together from parts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

FOLDER: Final = Path(__file__).parent / "vectors" / "srmp"
EXPECTED: Final[list[dict[str, Any]]] = json.loads((FOLDER / "srmp-expected.json").read_text())[
    "vectors"
]
FRAGMENTS: Final[dict[str, Any]] = json.loads((FOLDER / "srmp-fragments.json").read_text())

MANAGER: Final = UUID("caf195ea-615c-4264-ae08-11a4e60194c0")
MUST: Final = 'se:mustUnderstand="1"'
OPEN: Final = (
    '<se:Envelope xmlns:se="http://schemas.xmlsoap.org/soap/envelope/"'
    ' xmlns="http://schemas.xmlsoap.org/srmp/">'
)
PATH: Final = (
    f'<path xmlns="http://schemas.xmlsoap.org/rp/" {MUST}><action>MSMQ:order 1</action>'
    "<to>http://machine2/msmq/private$/orders</to>"
    f"<id>uuid:7@{MANAGER}</id></path>"
)
PROPERTIES: Final = (
    f"<properties {MUST}><expiresAt>20380119T031407</expiresAt>"
    "<sentAt>20070719T031140</sentAt></properties>"
)
CLASS: Final = "<Class>0</Class><Priority>3</Priority>"
REST: Final = (
    f"<BodyType>0</BodyType><SourceQmGuid>{MANAGER}</SourceQmGuid><TTrq>20070723T031140</TTrq>"
)


def msmq(more: str = "", *, start: str = CLASS, rest: str = REST) -> str:
    """An Msmq entry with `more` in it."""
    return f'<Msmq xmlns="msmq.namespace.xml">{start}{more}{rest}</Msmq>'


def envelope(
    more: str = "",
    *,
    path: str = PATH,
    properties: str = PROPERTIES,
    body: str = "<se:Body></se:Body>",
    opening: str = OPEN,
) -> bytes:
    """An envelope with `more` entries in its Header."""
    header = f"<se:Header>{path}{properties}{more}</se:Header>"
    return f"{opening}{header}{body}</se:Envelope>".encode()


@dataclass(frozen=True, slots=True)
class Example:
    """A printed request: its Content-Type, its content, and what it means."""

    name: str
    content_type: str
    content: bytes
    expected: dict[str, Any]


def examples() -> list[Example]:
    """Every request of [MC-MQSRM] 4."""
    found = []
    for expected in EXPECTED:
        if "request" in expected:
            content = (FOLDER / expected["file"]).read_bytes().partition(b"\r\n\r\n")[2]
            content_type = dict(expected["headers"])["Content-Type"]
            found.append(Example(expected["file"], content_type, content, expected))
    return found
