"""Where a queue manager that runs as a service is found."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from openmsmq.errors import InvalidParameter

PORT: Final = 1811
UNIX: Final = "unix:"
_TCP: Final = re.compile(
    r"(?:\[(?P<v6>[^\[\]]+)\]|(?P<host>[^\[\]:\s]+))(?::(?P<port>[0-9]{1,5}))?"
)


@dataclass(frozen=True, slots=True)
class Address:
    """How to reach a service."""

    host: str = ""
    port: int = PORT
    socket: str = ""
    "The path of a Unix socket, instead of host and port."
    token: str = field(default="", repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    @classmethod
    def parse(
        cls, text: str, *, token: str = "", tls: ssl.SSLContext | str | Path | bool | None = None
    ) -> Self:
        """`HOST`, `HOST:PORT`, `[::1]:PORT` or `unix:/path`; `tls` is a context or a CA's file."""
        context = _context(tls)
        path = text if text.startswith("/") else text.removeprefix(UNIX)
        if path and text.startswith((UNIX, "/")):
            return cls(socket=path, token=token, tls=context)
        found = _TCP.fullmatch(text)
        port = int(found["port"] or PORT) if found else 0
        if found is None or not 0 < port <= 0xFFFF:
            raise InvalidParameter(f"{text!r}: HOST, HOST:PORT or unix:PATH is needed")
        return cls(found["v6"] or found["host"], port, token=token, tls=context)

    def __str__(self) -> str:
        if self.socket:
            return f"{UNIX}{self.socket}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def _context(tls: ssl.SSLContext | str | Path | bool | None) -> ssl.SSLContext | None:
    if tls is None or tls is False:
        return None
    if isinstance(tls, ssl.SSLContext):
        return tls
    return ssl.create_default_context(cafile=None if tls is True else str(tls))
