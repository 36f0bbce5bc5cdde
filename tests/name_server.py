"""A name server for tests, over UDP and TCP: the servers of services, and what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

ANSWER, TRUNCATED = 0x8000, 0x0200
REFUSED, NO_SUCH_NAME = 5, 3


class Row(NamedTuple):
    """A server of a service, and when it is tried (RFC 2782)."""

    priority: int
    weight: int
    port: int
    host: str


def encoded(name: str) -> bytes:
    """A name in its own words."""
    labels = [label.encode() for label in name.split(".") if label]
    return b"".join(bytes((len(label),)) + label for label in labels) + b"\0"


def words(*values: int) -> bytes:
    """Numbers of 16 bits."""
    return b"".join(value.to_bytes(2, "big") for value in values)


def asked_name(request: bytes) -> str:
    """The name that a question is about."""
    labels, at = [], 12
    while request[at]:
        labels.append(request[at + 1 : at + 1 + request[at]].decode())
        at += 1 + request[at]
    return ".".join(labels)


def response(request: bytes, records: Iterable[Row], flags: int = 0) -> bytes:
    """An answer whose records point back at the name of the question."""
    rows = []
    for one in records:
        data = words(one.priority, one.weight, one.port) + encoded(one.host)
        rows.append(words(0xC00C, 33, 1, 0, 60, len(data)) + data)
    header = request[:2] + words(ANSWER | flags, 1, len(rows), 0, 0)
    return header + request[12:] + b"".join(rows)


class NameServer(asyncio.DatagramProtocol):
    """`async with NameServer({name: records}) as server`: `server.place` is where it is."""

    def __init__(self, services: Mapping[str, list[Row]]) -> None:
        self.services = services
        self.asked: list[str] = []
        self.flags = 0
        "Of answers over UDP: truncated, or a failure."
        self.noise: list[bytes] = []
        "What comes before each answer."

    async def __aenter__(self) -> NameServer:
        loop = asyncio.get_running_loop()
        self._tcp = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.place: tuple[str, int] = self._tcp.sockets[0].getsockname()[:2]
        self._udp, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=self.place)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._udp.close()
        self._tcp.close()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        for noise in self.noise:
            self._udp.sendto(noise, addr)
        self._udp.sendto(self._answer(data, self.flags), addr)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(2), "big")
        answer = self._answer(await reader.readexactly(size), 0)
        writer.write(len(answer).to_bytes(2, "big") + answer)
        writer.close()

    def _answer(self, request: bytes, flags: int) -> bytes:
        name = asked_name(request)
        self.asked.append(name)
        if name not in self.services:
            return response(request, [], flags | NO_SUCH_NAME)
        return response(request, [] if flags else self.services[name], flags)
