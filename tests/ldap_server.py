"""An LDAP server over a directory in memory, for tests of the client: NTLM that encrypts, pages.

It misbehaves if a test wants it: closes connections, is busy, lies about sizes.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from openmsmq.directory.ldap import ber, messages
from openmsmq.directory.ldap.filters import (
    And,
    Comparison,
    Contains,
    Filter,
    Not,
    Or,
    Present,
)
from openmsmq.directory.ldap.messages import LdapOperation
from openmsmq.directory.ldap.tree import Change, LdapError, ResultCode, SearchScope
from openmsmq.directory.memory import MemoryTree
from openmsmq.rpc.auth.context import AuthenticationFailed
from openmsmq.rpc.auth.ntlm import NtlmAcceptor, NtlmTarget
from openmsmq.rpc.auth.spnego import SpnegoAcceptor
from openmsmq.security.nt_hash import nt_hash
from openmsmq.wire.reader import Reader

USER, PASSWORD = "hq-app", "machine password"
_KINDS = {0: "add", 1: "delete", 2: "replace"}


def read_filter(reader: Reader) -> Filter:
    """A filter of a request."""
    tag, inner = ber.read_any(reader)
    match tag:
        case 0xA0 | 0xA1:
            parts = []
            while inner.remaining:
                parts.append(read_filter(inner))
            return And(tuple(parts)) if tag == 0xA0 else Or(tuple(parts))
        case 0xA2:
            return Not(read_filter(inner))
        case 0x87:
            return Present(ber.rest(inner).decode())
        case 0xA4:
            name = ber.read_text(inner)
            pieces = {kind: ber.rest(one) for kind, one in ber.members(ber.read(inner, 0x30))}
            return Contains(
                name, (pieces.get(0x80, b""), pieces.get(0x81, b""), pieces.get(0x82, b""))
            )
    operator = {0xA3: "=", 0xA5: ">=", 0xA6: "<="}[tag]
    return Comparison(ber.read_text(inner), operator, ber.read_octets(inner))


class LdapServer:
    """Answers what a client asks; `async with LdapServer(tree) as server`."""

    def __init__(self, tree: MemoryTree, *, user: str = USER, password: str = PASSWORD) -> None:
        self.tree = tree
        self.user = user
        self.password = password
        self.port = 0
        self.binds = 0
        self.users: set[str] = set()
        "Who logged on."
        self.flags: list[int] = []
        "The parts of descriptors that were asked for."
        self.times: list[int] = []
        "The limits of time of searches."
        self.versions: list[int] = []
        self.mechanisms: list[str] = []
        self.page_sizes: list[int] = []
        self.on_request: Callable[[LdapOperation], bytes | None] = lambda operation: None
        "What is answered instead, as the content of a result; nothing closes the connection."
        self.extra: tuple[bytes, ...] = ()
        "Controls with which pages are answered instead of their own."
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> LdapServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Close all connections, and accept none."""
        if self._server is not None:
            self._server.close()
            for writer in list(self._writers):
                writer.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), 1)
            self._server = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"ldap://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await _Session(self, reader, writer).run()
        except (OSError, EOFError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


class _Session:
    def __init__(
        self, server: LdapServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.server, self.reader, self.writer = server, reader, writer
        hashed = nt_hash(server.password)

        def find(domain: str, user: str) -> bytes | None:
            server.users.add(user)
            return hashed if user.lower() == server.user.lower() else None

        ntlm = NtlmAcceptor(find, NtlmTarget("DC1", "OMQ"), bytes(range(8)), 1_790_000_000.0)
        self.seal = SpnegoAcceptor(ntlm)
        self.is_sealed = False

    async def run(self) -> None:
        while True:
            data = await self._message()
            outer = ber.read(Reader(data), ber.SEQUENCE)
            number = ber.read_integer(outer)
            tag, content = ber.read_any(outer)
            if tag == LdapOperation.UNBIND_REQUEST:
                return
            instead = self.server.on_request(LdapOperation(tag))
            if instead is not None:
                if not instead:
                    return
                self._answer(number, instead)
                continue
            controls = ber.read(outer, 0xA0) if outer.remaining else Reader(b"")
            await self._do(number, LdapOperation(tag), content, controls)

    async def _message(self) -> bytes:
        if self.is_sealed:
            size = int.from_bytes(await self.reader.readexactly(4), "big")
            packet = await self.reader.readexactly(size)
            return self.seal.unseal(packet[16:], 0, size - 16, packet[:16])
        data = await self.reader.readexactly(2)
        while ber.size_of(data) is None:
            data += await self.reader.readexactly(1)
        return data + await self.reader.readexactly((ber.size_of(data) or 0) - len(data))

    def _send(self, data: bytes) -> None:
        if self.is_sealed:
            sealed, signature = self.seal.seal(data, 0, len(data))
            data = (len(sealed) + 16).to_bytes(4, "big") + signature + sealed
        self.writer.write(data)

    def _answer(self, number: int, content: bytes, controls: tuple[bytes, ...] = ()) -> None:
        self._send(messages.message(number, content, controls))

    async def _do(
        self, number: int, operation: LdapOperation, content: Reader, controls: Reader
    ) -> None:
        if operation is LdapOperation.BIND_REQUEST:
            self._bind(number, content)
            return
        if not self.is_sealed:
            self._answer(number, result(operation, ResultCode.STRONGER_AUTH_REQUIRED))
            return
        given = dict(_controls(controls))
        try:
            extra = await self._change(number, operation, content, given)
        except LdapError as error:
            self._answer(number, result(operation, error.code, error.text))
        else:
            self._answer(number, result(operation, 0), extra)

    def _bind(self, number: int, content: Reader) -> None:
        self.server.binds += 1
        self.server.versions.append(ber.read_integer(content))
        ber.read_text(content)
        sasl = ber.read(content, 0xA3)
        self.server.mechanisms.append(ber.read_text(sasl))
        try:
            token = self.seal.step(ber.read_octets(sasl))
        except AuthenticationFailed:
            code = ResultCode.INVALID_CREDENTIALS
            self._answer(number, result(LdapOperation.BIND_REQUEST, code))
            return
        is_over = self.seal.is_complete
        code = ResultCode.SUCCESS if is_over else ResultCode.SASL_BIND_IN_PROGRESS
        said = result(LdapOperation.BIND_REQUEST, code, "", ber.octets(token, 0x87))
        self._answer(number, said)
        self.is_sealed = is_over

    async def _change(
        self, number: int, operation: LdapOperation, content: Reader, given: dict[str, bytes]
    ) -> tuple[bytes, ...]:
        tree = self.server.tree
        flags = 0
        if messages.SECURITY_FLAGS in given:
            raw = ber.read(Reader(given[messages.SECURITY_FLAGS]), ber.SEQUENCE)
            flags = ber.read_integer(raw)
            self.server.flags.append(flags)
        if operation is LdapOperation.SEARCH_REQUEST:
            return await self._search(number, content, given, flags)
        if operation is LdapOperation.ADD_REQUEST:
            await tree.add(ber.read_text(content), dict(_attributes(content)))
        elif operation is LdapOperation.DELETE_REQUEST:
            await tree.delete(ber.rest(content).decode())
        elif operation is LdapOperation.MODIFY_REQUEST:
            name = ber.read_text(content)
            changes = []
            for _, item in ber.members(ber.read(content, ber.SEQUENCE)):
                kind = _KINDS[ber.read_integer(item, ber.ENUMERATED)]
                attribute, values = _attribute(ber.read(item, ber.SEQUENCE))
                changes.append(Change(attribute, values, kind))
            await tree.modify(name, changes, flags=flags)
        return ()

    async def _search(
        self, number: int, content: Reader, given: dict[str, bytes], flags: int
    ) -> tuple[bytes, ...]:
        base = ber.read_text(content)
        scope = SearchScope(ber.read_integer(content, ber.ENUMERATED))
        ber.read_integer(content, ber.ENUMERATED)
        ber.read_integer(content)
        self.server.times.append(ber.read_integer(content))
        ber.read(content, ber.BOOLEAN)
        condition = read_filter(content)
        wanted = [ber.rest(one).decode() for _, one in ber.members(ber.read(content, ber.SEQUENCE))]
        rows = await self.server.tree.search(base, scope, condition, wanted, security=bool(flags))
        extra: tuple[bytes, ...] = ()
        if messages.PAGED in given:
            page = ber.read(Reader(given[messages.PAGED]), ber.SEQUENCE)
            size = ber.read_integer(page)
            self.server.page_sizes.append(size)
            cookie = ber.read_octets(page)
            start = int(cookie) if cookie.isdigit() else 0
            more = str(start + size).encode() if start + size < len(rows) else b""
            rows = rows[start : start + size]
            value = ber.element(ber.SEQUENCE, ber.integer(0), ber.octets(more))
            own = messages.control(messages.PAGED, value, critical=False)
            extra = self.server.extra or (own,)
        for row in rows:
            attributes = (
                ber.element(
                    ber.SEQUENCE, ber.octets(name), ber.element(ber.SET, *map(ber.octets, values))
                )
                for name, values in row.attributes.items()
            )
            listed = ber.element(ber.SEQUENCE, *attributes)
            self._answer(number, ber.element(LdapOperation.ROW, ber.octets(row.name), listed))
        return extra


def result(operation: LdapOperation, code: int, text: str = "", extra: bytes = b"") -> bytes:
    """The result of an operation."""
    tag = (
        LdapOperation.DELETE_ANSWER if operation is LdapOperation.DELETE_REQUEST else operation | 1
    )
    if operation is LdapOperation.SEARCH_REQUEST:
        tag = LdapOperation.SEARCH_ANSWER
    if operation is LdapOperation.MODIFY_REQUEST:
        tag = LdapOperation.MODIFY_ANSWER
    if operation is LdapOperation.ADD_REQUEST:
        tag = LdapOperation.ADD_ANSWER
    number = ber.integer(int(code), ber.ENUMERATED)
    return ber.element(int(tag), number, ber.octets(""), ber.octets(text), extra)


def _controls(reader: Reader) -> Any:
    for _, item in ber.members(reader):
        kind = ber.read_text(item)
        value = b""
        for tag, inner in ber.members(item):
            if tag == ber.OCTETS:
                value = ber.rest(inner)
        yield kind, value


def _attributes(reader: Reader) -> Any:
    for _, item in ber.members(ber.read(reader, ber.SEQUENCE)):
        yield _attribute(item)


def _attribute(item: Reader) -> tuple[str, list[bytes]]:
    name = ber.read_text(item)
    return name, [ber.rest(one) for _, one in ber.members(ber.read(item, ber.SET))]
