"""What one console knows: its managers, logins and plans."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from openmsmq.client._async.manager import Manager
from openmsmq.console.desk.notes import LetterNotes
from openmsmq.console.desk.pipeline_jobs import PipelineJob, PipelineJobs
from openmsmq.console.desk.searches import Searches
from openmsmq.console.desk.silences import Silences
from openmsmq.console.limits import KEYS_MAX, SCAN_REST
from openmsmq.console.links import Links, ManagerEntry
from openmsmq.console.minutes import MinuteKeeper, Minutes
from openmsmq.console.plans import Plan, Plans
from openmsmq.console.proxies import LoginProxy
from openmsmq.console.sessions import BrowserSession, Sessions
from openmsmq.runtime.logs import log_event
from openmsmq.types.caller import Grant

_log: Final = logging.getLogger(__name__)

GrantOf = Callable[[str], Grant | None]
"What a token entitles to; None if it is none."
Audit = Callable[[str, str, str, str], None]
"Keeps an act: token, act, target, reason."


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """How a console is set up."""

    hosts: frozenset[str]
    "The names by which browsers may call it."
    read_only: bool = False
    is_secure: bool = False
    "Browsers reach it over TLS."
    is_open: bool = True
    "Programs of this computer need no token, so that a one-time link logs in."
    link_role: str = "admin"
    "What who logs in by such a link may do."
    masks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    "Names of fields of bodies that are masked, by right."
    proxy: LoginProxy | None = None
    "Who logs people in besides the console itself."
    audit_reads: bool = False
    "To look at a message is an act."


@dataclass(slots=True)
class ConsoleState:
    """All that requests share."""

    settings: ConsoleSettings
    entries: dict[str, ManagerEntry]
    key: bytes | None = None
    grant_of: GrantOf | None = None
    keep_audit: Audit | None = None
    links: Links = field(init=False)
    sessions: Sessions = field(init=False)
    plans: Plans = field(init=False)
    searches: Searches = field(init=False)
    jobs: PipelineJobs = field(init=False)
    silences: Silences = field(init=False)
    notes: LetterNotes = field(init=False)
    keys: OrderedDict[str, tuple[int, bytes]] = field(init=False)
    "Answers to requests with an idempotency key."

    answering: set[str] = field(init=False)
    "Keys of requests that are being answered."
    bearers: OrderedDict[str, BrowserSession] = field(init=False)
    "Tokens of programs that were accepted."

    minutes: dict[str, Minutes] = field(init=False)
    "Numbers of managers over a day."
    keepers: list[asyncio.Task[None]] = field(init=False)
    "What works by itself until the console ends."
    _scans: asyncio.Lock = field(init=False)

    def __post_init__(self) -> None:
        self.links = Links(self.entries, time.monotonic)
        self.sessions = Sessions(self.key, time.time)
        self.plans = Plans(self._audit_plan)
        self.searches = Searches(self.links, time.monotonic)
        self.jobs = PipelineJobs(self._audit_job)
        self.silences = Silences(time.time)
        self.notes = LetterNotes(time.time)
        self.keepers = []
        self.minutes = {}
        self.keys = OrderedDict()
        self.answering = set()
        self.bearers = OrderedDict()
        self._scans = asyncio.Lock()

    def keep_in(self, directory: Path, own: str) -> None:
        """Keep what people say of findings and dead letters in the directory of a manager."""
        self.silences = Silences(time.time, directory, own)
        self.notes = LetterNotes(time.time, directory, own)

    def keep_minutes(
        self,
        name: str,
        connect: Callable[[], Awaitable[Manager]],
        free: Callable[[], int] | None = None,
    ) -> None:
        """Keep the numbers of a manager over a day, with the login of the console itself.

        `free` tells how many bytes are free on its disk.
        """
        minutes = self.minutes[name] = Minutes()
        keeper = MinuteKeeper(minutes, connect, time.time, free)
        self.keepers.append(asyncio.create_task(keeper.run()))

    def by_link(self, name: str) -> Callable[[], Awaitable[Manager]]:
        """Connects to a manager as those do who log in by a link."""

        async def connect() -> Manager:
            return await self.links.find(name, "").manager()  # the one of before may be closed

        return connect

    @asynccontextmanager
    async def scanning(self) -> AsyncIterator[None]:
        """The turn of one search, which the next one has to wait for; then all of them rest."""
        async with self._scans:
            began = time.monotonic()
            yield
            await asyncio.sleep((time.monotonic() - began) * SCAN_REST)

    def wall(self) -> float:
        """Seconds since 1970 UTC."""
        return time.time()

    def now(self) -> float:
        """The clock of connections."""
        return time.monotonic()

    def is_good(self, token: str) -> bool:
        """Whether a token that was good is still."""
        return self.grant_of is None or self.grant_of(token) is not None

    def is_current(self, login: BrowserSession) -> bool:
        """Whether a login is not over; to ask is no use of it."""
        if not login.secret:
            return self.is_good(login.token)
        return self.sessions.find(login.secret, is_use=False) is login and (
            not login.token or self.is_good(login.token)
        )

    def remember_bearer(self, token: str, login: BrowserSession) -> None:
        """A token was accepted."""
        self.bearers[token] = login
        while len(self.bearers) > KEYS_MAX:
            self.bearers.popitem(last=False)

    def remember(self, key: str, status: int, body: bytes) -> None:
        """Keep the answer to a request, should it come again."""
        self.keys[key] = status, body
        while len(self.keys) > KEYS_MAX:
            self.keys.popitem(last=False)

    def audit(self, login: BrowserSession, act: str, target: str, reason: str, place: str) -> None:
        """Write down what someone did: in the log, and in the audit log of the own manager."""
        self.log(login, act, target, reason, place)
        if self.keep_audit is not None:
            if login.person:
                reason = f"{login.person}: {reason}" if reason else login.person
            self.keep_audit(login.token, act, target, reason)

    def log(self, login: BrowserSession, act: str, target: str, reason: str, place: str) -> None:
        """Write down in the log what someone did, and from where."""
        log_event(_log, "act", who=login.who, act=act, target=target, reason=reason, place=place)

    def _audit_plan(self, plan: Plan, how: str) -> None:
        asked = plan.asked
        words = f"{how}: {plan.done} done, {plan.gone} gone, {plan.left} left of {asked.manager}"
        if plan.left:
            words += f" ({plan.fingerprint})"
        if asked.target:
            words += f", to {asked.target}"
        if asked.reason:
            words += f"; {asked.reason}"
        act = f"{asked.act} messages"
        ids = ",".join(map(str, plan.first_ids()))
        log_event(_log, "act", who=plan.who, act=act, target=asked.queue, reason=words, ids=ids)
        if self.keep_audit is not None:
            self.keep_audit(plan.token, act, asked.queue, words)

    def _audit_job(self, job: PipelineJob, how: str) -> None:
        act, words = f"{job.act} pipeline", f"{how}: {job.error}" if job.error else how
        log_event(_log, "act", who=job.who, act=act, target=job.pipeline, reason=words)
        if self.keep_audit is not None:
            self.keep_audit(job.token, act, job.pipeline, words)

    async def close(self) -> None:
        """End all that runs."""
        for keeper in self.keepers:
            keeper.cancel()
        if self.keepers:
            await asyncio.wait(self.keepers)
        await self.plans.close()
        await self.jobs.close()
        await self.searches.close()
        await self.links.close()
