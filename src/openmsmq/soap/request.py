"""A request that carries one message: its line, its headers and its content ([MC-MQSRM] 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from openmsmq.soap.addresses import request_target

SOAP_ACTION: Final = '"MSMQMessage"'


@dataclass(frozen=True, slots=True)
class Request:
    """A POST that carries one message ([MC-MQSRM] 4.1)."""

    target: str
    "Path and query, as they stand in the request line."
    host: str
    "With the port, unless that is the usual one."
    content_type: str
    content: bytes

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers, in the order in which Windows writes them."""
        return (
            ("Host", self.host),
            ("Content-Type", self.content_type),
            ("Content-Length", str(len(self.content))),
            ("SOAPAction", SOAP_ACTION),
            ("Proxy-Accept", "NonInteractiveClient"),
        )

    def encode(self) -> bytes:
        """The bytes of the request."""
        lines = [
            f"POST {self.target} HTTP/1.1",
            *(f"{name}: {text}" for name, text in self.headers),
        ]
        return "\r\n".join([*lines, "", ""]).encode() + self.content


def request_to(url: str, content_type: str, content: bytes) -> Request:
    """The request that posts `content` to a queue."""
    return Request(request_target(url), host_of(url), content_type, content)


@lru_cache(maxsize=4096)
def host_of(url: str) -> str:
    """The host of a URL, with its port if there is one."""
    return url.partition("://")[2].replace("\\", "/").partition("/")[0]
