"""One request to the API: who asks, what for, and what is answered."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import unquote
from uuid import UUID

import msgspec
from aiohttp import web

from openmsmq.client._async.manager import Manager, Queue
from openmsmq.console.bodies.columns import Column, parse_columns
from openmsmq.console.bodies.masks import Names, masks_of
from openmsmq.console.filters import Filter, instant_of, parse_filter
from openmsmq.console.limits import NAME_MAX
from openmsmq.console.links import ManagerLink
from openmsmq.console.problems import RequestRefused
from openmsmq.console.sessions import BrowserSession
from openmsmq.limits import U64_MAX
from openmsmq.types.access import Access
from openmsmq.types.caller import Right, rights_of

if TYPE_CHECKING:
    from openmsmq.console.state import ConsoleState

T = TypeVar("T")
_GUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A request, with the login of who asks."""

    state: ConsoleState
    request: web.Request
    login: BrowserSession

    # What it names

    def link(self, name: str = "") -> ManagerLink:
        """The manager of its path, or another one."""
        return self.state.links.find(name or self.part("manager"), self.login.token)

    async def manager(self) -> Manager:
        """The same, connected."""
        return await self.link().manager()

    def part(self, name: str) -> str:
        """A part of its path."""
        text = unquote(self.request.match_info[name])
        if not 0 < len(text) <= NAME_MAX or not text.isprintable():
            raise RequestRefused(400, f"{name}: 1 to {NAME_MAX} printable characters are needed")
        return text

    async def queue(self, access: Access) -> Queue:
        """The queue of its path, open."""
        manager = await self.manager()
        return await manager.open_queue(await self.queue_name(), access=access)

    async def queue_name(self) -> str:
        """The name of the queue of its path, which may have its identity instead."""
        text = self.part("queue")
        if _GUID.fullmatch(text) is None:
            return text
        known = await (await self.manager()).queues(everything=True)
        return next((one.name for one in known if one.id == UUID(text)), text)

    # What it says

    def text(self, name: str, default: str = "", most: int = NAME_MAX) -> str:
        """A parameter of its query."""
        text = self.request.query.get(name, default)
        if len(text) > most:
            raise RequestRefused(400, f"{name}: at most {most} characters")
        return text

    def number(self, name: str, default: int | None, low: int, high: int) -> int | None:
        """A number in its query."""
        text = self.request.query.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal() and len(text) <= 20):
            raise RequestRefused(400, f"{name}: a number is needed, not {text[:30]!r}")
        if not low <= int(text) <= high:
            raise RequestRefused(400, f"{name}: from {low} to {high}")
        return int(text)

    def flag(self, name: str) -> bool:
        """Whether its query says so."""
        text = self.request.query.get(name, "false").lower()
        if text not in ("true", "false", "1", "0"):
            raise RequestRefused(400, f"{name}: true or false")
        return text in ("true", "1")

    def time(self, name: str) -> datetime | None:
        """A time in its query: `-2h` ago, or a date."""
        text = self.text(name, most=40)
        return instant_of(name, text, datetime.now(UTC)) if text else None

    def columns(self) -> list[Column]:
        """The columns from bodies that its query names; bodies that are masked have none."""
        found = parse_columns(self.request.query.getall("column", []))
        if found:
            self.check_unmasked()
        return found

    async def body(self, kind: type[T]) -> T:
        """The JSON that it brings."""
        if self.request.content_type != "application/json":
            raise RequestRefused(
                415, f"application/json is needed, not {self.request.content_type}"
            )
        return msgspec.json.decode(await self.request.read(), type=kind)

    def require(self, right: Right, *, everywhere: bool = True) -> None:
        """Refuse who lacks a right that no manager is asked about.

        What is of no queue is for those who are not limited to some queues. A console beside its
        managers knows no roles: there, only who started it is trusted.
        """
        role, grant_of = self.login.role, self.state.grant_of
        if not (right in rights_of(role) if role else not self.login.token):
            raise RequestRefused(403, f"this needs the right '{right}'")
        grant = grant_of(self.login.token) if everywhere and grant_of is not None else None
        if grant is not None and not grant.allows(right):
            raise RequestRefused(403, f"this needs the right '{right}' on all queues")

    @property
    def masks(self) -> Names:
        """The fields of bodies that who asks is not to see."""
        return masks_of(self.state.settings.masks, self.login.role)

    def wanted(self, text: str) -> Filter:
        """A filter; who is not to see whole bodies may not look for what is in them."""
        found = parse_filter(text)
        if found.reads_bodies and self.masks:
            raise RequestRefused(
                403, "bodies are masked for this role: their content cannot be looked for"
            )
        return found

    def check_unmasked(self) -> None:
        """Refuse bodies as they are to who is not to see all of them."""
        if self.masks:
            raise RequestRefused(403, "bodies are masked for this role: they are not given away")

    def lookup(self) -> int:
        """The lookup identifier of its path."""
        return lookup_of(self.part("lookup"))

    def audit(self, act: str, target: str, reason: str = "") -> None:
        """Write down what someone did, in the audit log, too: no manager does so by itself."""
        self.state.audit(self.login, act, target, reason, self.request.remote or "")

    def read(self, act: str, target: str, reason: str = "") -> None:
        """Write down that someone looked at messages, where that is asked for."""
        if self.state.settings.audit_reads:
            self.audit(act, target, reason)

    def log(self, act: str, target: str, reason: str = "") -> None:
        """Write down what someone did and the manager has in its audit log."""
        self.state.log(self.login, act, target, reason, self.request.remote or "")


def lookup_of(text: str) -> int:
    """A lookup identifier."""
    if not (text.isascii() and text.isdecimal() and int(text[:21]) <= U64_MAX):
        raise RequestRefused(400, f"{text[:30]!r} is not a lookup identifier")
    return int(text)


CallHandler = Callable[[ApiCall], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """Something that the API can do."""

    method: str
    path: str
    role: str
    "What the login needs: the manager checks it. `none` where no login is needed."
    summary: str
    handler: CallHandler
    answer: Any = None
    body: Any = None
    query: Mapping[str, str] | None = None
    "Parameters of the query, and what they mean."
    status: int = 200


class ApiReply:
    """An answer with headers of its own."""

    def __init__(
        self, value: Any, headers: Mapping[str, str], status: int = 200, *, repeated: Any = None
    ) -> None:
        """`repeated` is the answer if the same request comes again, if that is not `value`."""
        self.value = value
        self.repeated = value if repeated is None else repeated
        self.headers = headers
        self.status = status
