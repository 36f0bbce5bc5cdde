"""Asks the name servers of this computer for the servers of a service (RFC 2782)."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from openmsmq.directory.ldap.dns import (
    NO_ERROR,
    NO_SUCH_NAME,
    DnsAnswer,
    ServiceRecord,
    decode,
    question,
)
from openmsmq.directory.ldap.tree import ConnectionFailed
from openmsmq.directory.limits import DNS_ROUNDS, DNS_WITHIN, NAME_SERVERS_MAX
from openmsmq.errors import Malformed

PORT: Final = 53
SETTINGS: Final = Path("/etc/resolv.conf")


def name_servers(text: str) -> list[str]:
    """The name servers that resolv.conf names; this computer if it names none (resolv.conf(5))."""
    lines = (line.split() for line in text.splitlines())
    found = [line[1] for line in lines if len(line) > 1 and line[0] == "nameserver"]
    return found[:NAME_SERVERS_MAX] or ["127.0.0.1"]


async def find_services(
    name: str, servers: Sequence[tuple[str, int]] | None = None
) -> list[ServiceRecord]:
    """The servers of a service, none if there are none; `ConnectionFailed` without an answer."""
    if servers is None:
        try:
            text = SETTINGS.read_text(errors="replace")
        except OSError:
            text = ""
        servers = [(server, PORT) for server in name_servers(text)]
    reasons: dict[str, None] = {}
    for server in list(servers) * DNS_ROUNDS:
        try:
            async with asyncio.timeout(DNS_WITHIN):
                answer = await _ask(server, name)
        except TimeoutError:
            reasons[f"{server[0]}: no answer in {DNS_WITHIN:g} s"] = None
            continue
        except (OSError, EOFError, Malformed) as error:
            reasons[f"{server[0]}: {error}"] = None
            continue
        if answer.code in (NO_ERROR, NO_SUCH_NAME):
            return list(answer.records)
        reasons[f"{server[0]}: response code {answer.code}"] = None
    raise ConnectionFailed(f"DNS was asked for {name}: {'; '.join(reasons)}")


async def _ask(server: tuple[str, int], name: str) -> DnsAnswer:
    """Ask over UDP, and over TCP for an answer that is too long (RFC 1035 4.2)."""
    number = secrets.randbelow(1 << 16)
    request = question(number, name)
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[DnsAnswer] = loop.create_future()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Datagrams(number, answered), remote_addr=server
    )
    try:
        transport.sendto(request)
        answer = await answered
    finally:
        transport.close()
    if not answer.is_truncated:
        return answer
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(len(request).to_bytes(2, "big") + request)
        size = int.from_bytes(await reader.readexactly(2), "big")
        return decode(await reader.readexactly(size), number)
    finally:
        writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    """Waits for the answer; what cannot be it is passed over."""

    def __init__(self, number: int, answered: asyncio.Future[DnsAnswer]) -> None:
        self._number = number
        self._answered = answered

    def datagram_received(self, data: bytes, addr: object) -> None:
        try:
            answer = decode(data, self._number)
        except Malformed:
            return
        if not self._answered.done():
            self._answered.set_result(answer)

    def error_received(self, exc: Exception) -> None:
        if not self._answered.done():
            self._answered.set_exception(exc)
