"""One connection to a domain controller: operations that share it, and the limits of each."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from openmsmq.directory.ldap import messages
from openmsmq.directory.ldap.ber import size_of
from openmsmq.directory.ldap.controller import Controller
from openmsmq.directory.ldap.filters import ANYTHING, Filter
from openmsmq.directory.ldap.login import MECHANISM, LdapLogin, begin
from openmsmq.directory.ldap.messages import LdapAnswer, Row
from openmsmq.directory.ldap.tree import (
    Change,
    ConnectionFailed,
    LdapEntry,
    LdapError,
    ResultCode,
    SearchScope,
    Values,
)
from openmsmq.directory.limits import (
    ANSWER_SIZE_MAX,
    CALLS_MAX,
    CONNECT_WITHIN,
    PAGE_SIZE,
    ROWS_MAX,
    SEARCH_SIZE_MAX,
    SEARCH_WITHIN,
)
from openmsmq.errors import Malformed
from openmsmq.rpc.auth.context import AuthenticationFailed
from openmsmq.security.access import SecurityInformation

LAST_ID: Final = (1 << 31) - 1
READ: Final = SecurityInformation.OWNER | SecurityInformation.GROUP | SecurityInformation.DACL
_LENGTH_SIZE: Final = 4
_LEGS: Final = 8
_CHUNK: Final = 64 << 10


@dataclass(slots=True)
class _Call:
    """An operation that is not answered."""

    answer: asyncio.Future[LdapAnswer]
    rows: list[LdapEntry] = field(default_factory=list)
    size: int = 0


class LdapConnection:
    """A connection that has logged on; whatever breaks it fails all its operations."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.is_open = False
        self._calls: dict[int, _Call] = {}
        self._last = 0
        self._seal: object = None
        self._reading: asyncio.Task[None] | None = None
        self._why = ""

    @classmethod
    async def open(
        cls, controller: Controller, login: LdapLogin, context: ssl.SSLContext
    ) -> LdapConnection:
        """Connect and log on; `ConnectionFailed` ([MS-MQDSSM] 3.1.6.18)."""
        made = cls(controller)
        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                await made._connect(login, context)
        except TimeoutError:
            await made.close()
            raise ConnectionFailed(f"{controller}: no answer in {CONNECT_WITHIN:g} s") from None
        except (OSError, LdapError, AuthenticationFailed, ConnectionFailed, EOFError) as error:
            await made.close()
            raise ConnectionFailed(f"{controller}: {error}") from error
        return made

    async def _connect(self, login: LdapLogin, context: ssl.SSLContext) -> None:
        host, port, tls = self.controller
        if tls and not login.uses_tls:
            raise ConnectionFailed(f"{login.kind} encrypts by itself: use ldap://, not ldaps://")
        secure = context if tls else None
        self._reader, self._writer = await asyncio.open_connection(host, port, ssl=secure)
        self.is_open = True
        self._reading = asyncio.create_task(self._read())
        if not login.uses_tls:
            await self._log_on(login)
            return
        if not tls:
            await self._start_tls(context)
        answer = await self._call(messages.simple_bind(login.user, login.password))
        _check(answer)

    async def _start_tls(self, context: ssl.SSLContext) -> None:
        """Encrypt before the password is sent (RFC 4511 4.14)."""
        answer = await self._call(messages.start_tls(), stops_reading=True)
        _check(answer)
        await self._writer.start_tls(context, server_hostname=self.controller.host)
        self._reading = asyncio.create_task(self._read())

    async def _log_on(self, login: LdapLogin) -> None:
        """Log on with GSS-SPNEGO, and encrypt everything after it ([MS-MQDSSM] 5.1)."""
        seal = begin(login, self.controller.host)
        token = seal.step(b"")
        for _ in range(_LEGS):
            answer = await self._call(messages.sasl_bind(MECHANISM, token), stops_reading=True)
            if answer.code == ResultCode.SUCCESS:
                if not seal.is_complete:
                    seal.step(answer.credentials)
                if not seal.is_complete:
                    raise AuthenticationFailed("the controller has not proven who it is")
                self._seal = seal
                self._reading = asyncio.create_task(self._read())
                return
            if answer.code != ResultCode.SASL_BIND_IN_PROGRESS:
                _check(answer)
            token = seal.step(answer.credentials)
            self._reading = asyncio.create_task(self._read())
        raise AuthenticationFailed("too many tokens")

    async def close(self) -> None:
        """Log off and close; operations under way fail."""
        if self.is_open:
            self._send(messages.message(self._next_id(), messages.unbind()))
        self._break("the connection was closed")
        if self._reading is not None and self._reading is not asyncio.current_task():
            self._reading.cancel()
        if hasattr(self, "_writer"):
            self._writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await self._writer.wait_closed()

    # Operations

    async def search(
        self,
        base: str,
        scope: SearchScope,
        condition: Filter = ANYTHING,
        attributes: Sequence[str] = (),
        *,
        security: bool = False,
    ) -> list[LdapEntry]:
        """All objects, page by page; a list that was cut is a failure ([MS-MQDSSM] 3.1.6.15)."""
        request = messages.search(base, scope, condition, attributes, int(SEARCH_WITHIN))
        extra = [messages.security_flags(READ)] if security else []
        found: list[LdapEntry] = []
        cookie, size = b"", 0
        try:
            async with asyncio.timeout(SEARCH_WITHIN):
                while True:
                    pages = (
                        [messages.paged(PAGE_SIZE, cookie)] if scope is not SearchScope.BASE else []
                    )
                    call = _Call(asyncio.get_running_loop().create_future(), found, size)
                    answer = await self._call(request, [*extra, *pages], call)
                    _check(answer)
                    cookie, size = answer.cookie, call.size
                    if not cookie:
                        return found
        except TimeoutError:
            raise LdapError(ResultCode.TIME_LIMIT_EXCEEDED, f"{SEARCH_WITHIN:g} s") from None

    async def add(self, name: str, attributes: Mapping[str, Values]) -> None:
        """Make an object."""
        await self._change(messages.add(name, attributes))

    async def modify(self, name: str, changes: Sequence[Change], *, flags: int = 0) -> None:
        """Change an object; `flags` are the parts of its descriptor that are written."""
        controls = [messages.security_flags(flags)] if flags else []
        await self._change(messages.modify(name, changes), controls)

    async def delete(self, name: str) -> None:
        """Remove an object."""
        await self._change(messages.delete(name))

    async def _change(self, request: bytes, controls: Sequence[bytes] = ()) -> None:
        try:
            async with asyncio.timeout(SEARCH_WITHIN):
                _check(await self._call(request, controls))
        except TimeoutError:
            raise LdapError(ResultCode.TIME_LIMIT_EXCEEDED, f"{SEARCH_WITHIN:g} s") from None

    # Messages

    async def _call(
        self,
        request: bytes,
        controls: Sequence[bytes] = (),
        call: _Call | None = None,
        *,
        stops_reading: bool = False,
    ) -> LdapAnswer:
        if not self.is_open:
            raise ConnectionFailed(self._why)
        if len(self._calls) >= CALLS_MAX:
            raise LdapError(ResultCode.BUSY, f"{CALLS_MAX} operations are under way")
        call = call or _Call(asyncio.get_running_loop().create_future())
        number = self._next_id()
        self._calls[number] = call
        self._send(messages.message(number, request, controls))
        try:
            answer = await call.answer
        finally:
            self._calls.pop(number, None)
        if stops_reading and self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reading
        return answer

    def _next_id(self) -> int:
        self._last = self._last % LAST_ID + 1
        return self._last

    def _send(self, data: bytes) -> None:
        if self._seal is not None:
            wrapped = self._seal.wrap(data)  # type: ignore[attr-defined]
            data = len(wrapped).to_bytes(_LENGTH_SIZE, "big") + wrapped
        self._writer.write(data)

    async def _read(self) -> None:
        buffer, plain = bytearray(), bytearray()
        try:
            while data := await self._reader.read(_CHUNK):
                if self._seal is None:
                    plain += data
                else:
                    buffer += data
                    self._unwrap(buffer, plain)
                self._cut(plain)
            self._break("the controller closed the connection")
        except (OSError, Malformed, AuthenticationFailed, LdapError) as error:
            self._break(str(error))

    def _unwrap(self, buffer: bytearray, plain: bytearray) -> None:
        """Decrypt all packets that are complete (RFC 4422 3.7)."""
        while len(buffer) >= _LENGTH_SIZE:
            size = int.from_bytes(buffer[:_LENGTH_SIZE], "big")
            if size > ANSWER_SIZE_MAX:
                raise Malformed("length", 0, f"an encrypted packet of {size} bytes")
            if len(buffer) < _LENGTH_SIZE + size:
                return
            packet = bytes(buffer[_LENGTH_SIZE : _LENGTH_SIZE + size])
            del buffer[: _LENGTH_SIZE + size]
            plain += self._seal.unwrap(packet)  # type: ignore[attr-defined]

    def _cut(self, plain: bytearray) -> None:
        """Take all messages that are complete."""
        while (size := size_of(plain)) is not None:
            if size > ANSWER_SIZE_MAX:
                raise Malformed("length", 0, f"a message of {size} bytes")
            if len(plain) < size:
                return
            data = bytes(plain[:size])
            del plain[:size]
            self._take(messages.decode(data), size)

    def _take(self, found: messages.Received, size: int) -> None:
        call = self._calls.get(found.id)
        if call is None:
            return  # it was given up, or is a notice that the connection ends
        call.size += size
        if isinstance(found, Row):
            call.rows.append(found.entry)
            if len(call.rows) > ROWS_MAX or call.size > SEARCH_SIZE_MAX:
                error = LdapError(ResultCode.SIZE_LIMIT_EXCEEDED, f"{len(call.rows)} objects")
                del self._calls[found.id]
                if not call.answer.done():
                    call.answer.set_exception(error)
        elif isinstance(found, LdapAnswer) and not call.answer.done():
            call.answer.set_result(found)

    def _break(self, why: str) -> None:
        """Fail all that is under way."""
        self.is_open = False
        self._why = self._why or f"{self.controller}: {why}"
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if not call.answer.done():
                call.answer.set_exception(ConnectionFailed(self._why))


def _check(answer: LdapAnswer) -> None:
    if answer.code != ResultCode.SUCCESS:
        raise LdapError(answer.code, answer.text)
