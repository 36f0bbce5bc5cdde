"""Plans: acts on many messages, by frozen ids.

What a plan showed is what it does: messages that come later are not in it, and those that someone
else has taken are left out. A plan can be tried with some messages, stopped, and run again after a
manager was away: each message is removed and sent again in one commit, so that none is done twice.
"""

from __future__ import annotations

import asyncio
import secrets
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from math import inf
from typing import Final

from msgspec import UNSET

from openmsmq.client._async.manager import Manager, Queue
from openmsmq.console.desk.letters import failed_queue
from openmsmq.console.desk.places import LANES, lane_of, lane_start
from openmsmq.console.desk.trash import TRASH, trash_of
from openmsmq.console.filters import Filter, parse_filter
from openmsmq.console.limits import (
    LOGIN_PLANS_MAX,
    NEWER_MAX,
    PLAN_BATCH,
    PLAN_IDS_MAX,
    PLAN_PATIENCE_S,
    PLANS_MAX,
)
from openmsmq.console.links import ManagerLink
from openmsmq.console.models import NewPlan, PlanTarget, PlanView
from openmsmq.console.pace import Pace
from openmsmq.console.problems import RequestRefused
from openmsmq.errors import (
    AccessDenied,
    MessageNotFound,
    MQError,
    QueueNotFound,
    ServiceNotAvailable,
)
from openmsmq.types.access import Access
from openmsmq.types.ids import SentId
from openmsmq.types.received import ReceivedMessage

REDIRECTS: Final = ("copy", "move", "return")
"Acts that send messages again."
SHOWN_IDS: Final = 100
"Ids that a plan remembers, and that the log has."
_FINGERPRINT: Final = 16
_PAUSE_S: Final = 0.5
READY, RUNNING, STOPPED, INTERRUPTED, DONE = "ready", "running", "stopped", "interrupted", "done"


@dataclass(slots=True)
class PlanStep:
    """Messages of a plan that go the same way."""

    target: str
    ids: list[int]


@dataclass(slots=True, eq=False)
class Plan:
    """What is to be done with which messages, and how far that is."""

    id: str
    asked: NewPlan
    who: str
    token: str = field(repr=False)
    steps: list[PlanStep]
    created: datetime
    state: str = READY
    done: int = 0
    gone: int = 0
    failed: int = 0
    error: str = ""
    new_ids: dict[str, str] = field(default_factory=dict)
    trash: str = ""
    "The subqueue that deleted messages are moved to; empty if they are gone for good."
    places: dict[int, int] | None = None
    "Up to where messages of each priority were looked at; None if they were chosen one by one."
    newer: int = 0
    "Messages that match and came later, as far as they were counted."
    newer_complete: bool = True
    counting: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)
    "One request counts them at a time."
    moved: list[int] = field(default_factory=list)
    "Messages that are there."
    task: asyncio.Task[None] | None = None

    @property
    def left(self) -> int:
        """Messages that it has not come to."""
        return sum(len(step.ids) for step in self.steps)

    @property
    def fingerprint(self) -> str:
        """The same for the same messages: of their lookup identifiers in order, with commas."""
        ids = ",".join(map(str, sorted(one for step in self.steps for one in step.ids)))
        return sha256(ids.encode()).hexdigest()[:_FINGERPRINT]

    def first_ids(self) -> list[int]:
        """The first messages that it has not come to."""
        return [one for step in self.steps for one in step.ids][:SHOWN_IDS]

    def view(self, *, newer: bool = False) -> PlanView:
        """How it stands, with what has come since, if that was counted."""
        count = self.left + self.done + self.gone + self.failed
        return PlanView(
            id=self.id,
            manager=self.asked.manager,
            queue=self.asked.queue,
            act=self.asked.act,
            state=self.state,  # type: ignore[arg-type] # one of these
            count=count,
            done=self.done,
            gone=self.gone,
            failed=self.failed,
            created=self.created,
            who=self.who,
            targets=[PlanTarget(step.target, len(step.ids)) for step in self.steps],
            error=self.error,
            command=command_of(self.asked, self.trash),
            new_ids=self.new_ids,
            trash=self.trash,
            newer=self.newer if newer and self.places is not None else None,
            newer_complete=self.newer_complete,
        )


def command_of(asked: NewPlan, trash: str = "") -> str:
    """The same act on the command line."""
    if asked.act == "restore" or trash:
        to = TRASH if trash else asked.target
        one = "--all" if asked.ids is UNSET else f"--lookup-id {' '.join(asked.ids[:1])}"
        return f"openmsmq message move {shlex.quote(asked.queue)} {one} --to {shlex.quote(to)}"
    act = {"copy": "redirect", "move": "redirect"}.get(asked.act, asked.act)
    words = ["openmsmq", "message", act, asked.queue]
    if asked.act == "purge":
        words = ["openmsmq", "queue", "purge", asked.queue]
    if asked.filter:
        words += ["--filter", asked.filter]
    elif asked.ids is not UNSET and asked.act != "purge":
        for one in asked.ids[:3]:
            words += ["--lookup-id", one]
    elif asked.act != "purge":
        words.append("--all")
    if asked.target:
        words += ["--to", asked.target]
    if asked.act == "copy":
        words.append("--copy")
    line = " ".join(map(shlex.quote, words))
    more = asked.ids is not UNSET and len(asked.ids) > 3
    return line + " ..." if more else line


class Plans:
    """The plans of a console."""

    def __init__(
        self, audit: Callable[[Plan, str], None], patience: float = PLAN_PATIENCE_S
    ) -> None:
        """`audit` records that a plan began, and how it ended."""
        self._plans: dict[str, Plan] = {}
        self._audit = audit
        self._patience = patience

    def all(self, token: str) -> list[Plan]:
        """The plans of a login, the newest first."""
        return [plan for plan in reversed(self._plans.values()) if plan.token == token]

    def find(self, name: str, token: str) -> Plan:
        """A plan of a login."""
        plan = self._plans.get(name)
        if plan is None or plan.token != token:
            raise RequestRefused(404, f"there is no plan {name[:40]!r}")
        return plan

    async def make(self, asked: NewPlan, link: ManagerLink, token: str, who: str) -> Plan:
        """Freeze which messages it is about."""
        manager = await link.manager()
        if asked.act in ("copy", "move") and not asked.target:
            raise RequestRefused(400, "target: which queue are the messages to go to?")
        looks = asked.act == "return" or asked.ids is UNSET
        places: dict[int, int] | None = {} if asked.ids is UNSET else None
        async with await _open_source(manager, asked, looks=looks) as queue:
            steps = await _freeze(asked, queue, places)
            if asked.act in REDIRECTS:
                await _check_targets(manager, queue, steps)
            trash = trash_of(await queue.info()) if asked.act == "delete" else ""
        made = datetime.now(UTC)
        plan = Plan(secrets.token_hex(6), asked, who, token, steps, made)
        plan.trash = "" if asked.for_good else trash
        plan.places = places
        self._make_room(
            [one for one in self._plans.values() if one.token == token], LOGIN_PLANS_MAX
        )
        self._make_room(list(self._plans.values()), PLANS_MAX)
        self._plans[plan.id] = plan
        return plan

    def _make_room(self, plans: list[Plan], limit: int) -> None:
        """Forget the oldest of some plans that are not running, if there are too many of them."""
        if len(plans) < limit:
            return
        old = next((one for one in plans if one.state != RUNNING), None)
        if old is None:
            raise RequestRefused(429, f"{limit} plans are running", "wait until one is done")
        del self._plans[old.id]

    def run(self, plan: Plan, link: ManagerLink, first: int | None) -> None:
        """Carry it out, or the first messages of it, in the background."""
        if plan.state == RUNNING:
            raise RequestRefused(409, "the plan is running")
        if plan.state == DONE:
            raise RequestRefused(409, "the plan is done")
        plan.state, plan.error = RUNNING, ""
        self._audit(plan, "begun")
        plan.task = asyncio.create_task(self._carry_out(plan, link, first))

    async def stop(self, plan: Plan) -> None:
        """Carry it out no further; what is done stays done."""
        if plan.task is not None and not plan.task.done():
            plan.task.cancel()
            await asyncio.wait([plan.task])

    async def count_newer(self, plan: Plan, link: ManagerLink) -> None:
        """Count messages that match and came since the plan was frozen, some at a time.

        Messages of a priority stand in the order in which they came: those behind the last one that
        was looked at are new.
        """
        if plan.places is None:
            return
        wanted = parse_filter(plan.asked.filter if plan.asked.act != "purge" else "")
        manager, pace, left = await link.manager(), Pace(), NEWER_MAX
        source = await manager.open_queue(plan.asked.queue, access=Access.PEEK)
        async with plan.counting, source as queue:
            for lane in range(LANES):
                at = plan.places.get(lane, max(0, lane_start(lane) - 1))
                while left > 0:
                    batch = await queue.peek_many(min(pace.size, left), timeout=0, after=at)
                    own = [one for one in batch if lane_of(one.lookup_id) == lane]
                    with pace.turn(batch):
                        plan.newer += sum(map(wanted.matches, own))
                    left -= len(own)
                    if own:
                        plan.places[lane] = at = own[-1].lookup_id
                    if len(own) < len(batch) or not batch:
                        break
        plan.newer_complete = left > 0

    def undo(self, plan: Plan) -> NewPlan:
        """What takes back from the trash what a plan has moved there."""
        if plan.state == RUNNING:
            raise RequestRefused(409, "the plan is running; stop it first")
        if not plan.moved:
            raise RequestRefused(409, "the plan has moved nothing to the trash")
        asked = plan.asked
        return NewPlan(
            manager=asked.manager,
            queue=plan.trash,
            act="restore",
            ids=list(map(str, plan.moved)),
            target=asked.queue.partition(";")[2],
            reason="undo",
        )

    def forget(self, plan: Plan) -> None:
        """Drop a plan that does not run."""
        if plan.state == RUNNING:
            raise RequestRefused(409, "the plan is running; stop it first")
        del self._plans[plan.id]

    async def close(self) -> None:
        """Stop all of them."""
        for plan in list(self._plans.values()):
            await self.stop(plan)

    async def _carry_out(self, plan: Plan, link: ManagerLink, first: int | None) -> None:
        try:
            await _run(plan, link, plan.left if first is None else first, self._patience)
            plan.state = STOPPED if plan.left else DONE
        except asyncio.CancelledError:
            plan.state = STOPPED
        except (MQError, OSError) as error:
            plan.state, plan.error = INTERRUPTED, str(error)
        finally:
            self._audit(plan, plan.state)


async def _open_source(manager: Manager, asked: NewPlan, *, looks: bool) -> Queue:
    """The queue of a plan, open for its act, and to look at its messages.

    To move messages takes the right to operate, or to receive them here and send them there.
    """
    also = Access.PEEK if looks else Access(0)
    if asked.act in REDIRECTS:
        queue = await manager.open_queue(asked.queue, access=Access.ALL | Access.OPERATE)
        can_operate = Access.OPERATE in queue.access
        await queue.close()
        if can_operate:
            return await manager.open_queue(asked.queue, access=Access.OPERATE | also)
    needed = Access.PEEK if asked.act == "copy" else Access.RECEIVE
    queue = await manager.open_queue(asked.queue, access=needed | also)
    queue._require(needed)  # before a count is shown
    return queue


def _target_access(source: Queue) -> Access:
    return Access.OPERATE if Access.OPERATE in source.access else Access.SEND


async def _check_targets(manager: Manager, source: Queue, steps: list[PlanStep]) -> None:
    """Refuse a plan for queues that its messages may not go to, before it is shown."""
    for target in {step.target for step in steps if step.target}:
        with suppress(QueueNotFound):  # it may be made before the plan is run
            await (await manager.open_queue(target, access=_target_access(source))).close()


async def _freeze(asked: NewPlan, queue: Queue, places: dict[int, int] | None) -> list[PlanStep]:
    """Which messages a plan is about, by where they go, in their order.

    `places` gets the last place of each priority that was looked at.
    """
    if asked.act == "purge":
        asked = NewPlan(asked.manager, asked.queue, "purge")
    chosen = None if asked.ids is UNSET else dict.fromkeys(map(int, asked.ids))
    if chosen is not None and asked.act != "return":
        return [PlanStep(asked.target, list(chosen))]
    matching = _matching(queue, parse_filter(asked.filter), chosen, places)
    if asked.act != "return":
        return [PlanStep(asked.target, [one.lookup_id async for one in matching])]
    # Not the messages themselves: a hundred thousand bodies take too much memory.
    found = [
        (
            one.sent_time,
            one.arrival,
            one.lookup_id,
            asked.target or source_of(one),
            one.transactional,
        )
        async for one in matching
    ]
    steps: dict[tuple[str, bool], PlanStep] = {}
    for _, _, lookup, target, transactional in sorted(found):
        steps.setdefault((target, transactional), PlanStep(target, [])).ids.append(lookup)
    return list(steps.values())


async def _matching(
    queue: Queue,
    wanted: Filter,
    chosen: dict[int, None] | None,
    places: dict[int, int] | None,
) -> AsyncIterator[ReceivedMessage]:
    """The messages of a queue that match, or that were chosen."""
    if chosen is not None:
        for lookup in chosen:
            with suppress(MessageNotFound):
                yield await queue.peek_by_lookup_id(lookup)
        return
    after = count = 0
    pace = Pace()
    while batch := await queue.peek_many(pace.size, timeout=0, after=after):
        with pace.turn(batch):
            found = [message for message in batch if wanted.matches(message)]
        count += len(found)
        if count > PLAN_IDS_MAX:
            raise RequestRefused(413, f"a plan has at most {PLAN_IDS_MAX} messages", "filter more")
        for message in found:
            yield message
        after = batch[-1].lookup_id
        if places is not None:
            places |= {lane_of(one.lookup_id): one.lookup_id for one in batch}


def source_of(message: ReceivedMessage) -> str:
    """The queue that a message was sent to, or failed in, if a service bus has put it here."""
    if failed := failed_queue(message):
        return failed
    if message.destination_queue is None:
        raise RequestRefused(
            422, f"message {message.id} does not say where it was sent", "move it instead"
        )
    return str(message.destination_queue)


class CopyUncertain(ServiceNotAvailable):
    """The manager went away before it said whether it copied some messages."""


async def _run(plan: Plan, link: ManagerLink, count: int, seconds: float) -> None:
    """Do what is left, batch by batch; a manager that is away is waited for."""
    loop = asyncio.get_running_loop()
    patience = loop.time() + seconds
    began, done = loop.time(), 0
    while count and plan.steps:
        step = plan.steps[0]
        batch = step.ids[: min(PLAN_BATCH, count, plan.asked.rate or PLAN_BATCH)]
        try:
            await _do(plan, await link.manager(), step, batch)
        except (CopyUncertain, AccessDenied):
            raise
        except (ServiceNotAvailable, OSError) as error:
            plan.error = f"waiting for the manager: {error}"
            if loop.time() > patience:
                raise
            await asyncio.sleep(_PAUSE_S)
            continue
        patience, plan.error = loop.time() + seconds, ""
        if not step.ids:
            plan.steps.pop(0)
        count -= len(batch)
        done += len(batch)
        if plan.asked.rate is not None:
            await asyncio.sleep(max(0.0, began + done / plan.asked.rate - loop.time()))


async def _do(plan: Plan, manager: Manager, step: PlanStep, batch: list[int]) -> None:
    """One batch: a commit, or a message at a time to delete; what is done is left no more."""
    asked = plan.asked
    async with await _open_source(manager, asked, looks=False) as queue:
        if asked.act in ("delete", "purge", "restore"):
            for lookup in batch:
                try:
                    await _remove(plan, queue, lookup)
                    plan.done += 1
                except MessageNotFound:
                    plan.gone += 1
                del step.ids[0]
            return
        async with await manager.open_queue(step.target, access=_target_access(queue)) as target:
            ids = await _redirect(plan, step, batch, queue, target)
    del step.ids[: len(batch)]
    plan.done += len(ids)
    plan.gone += len(batch) - len(ids)
    for lookup, new in ids.items():
        if len(plan.new_ids) < SHOWN_IDS:
            plan.new_ids[str(lookup)] = str(new)


async def _remove(plan: Plan, queue: Queue, lookup: int) -> None:
    """Move a message to the trash or back from it, or remove it for good."""
    if plan.asked.act == "restore":
        await queue.move(lookup, plan.asked.target)
    elif plan.trash:
        await queue.move(lookup, TRASH)
        plan.moved.append(lookup)
    else:
        await queue.receive_by_lookup_id(lookup)


async def _redirect(
    plan: Plan, step: PlanStep, batch: list[int], queue: Queue, target: Queue
) -> dict[int, SentId]:
    """Send messages again. To repeat this is harmless, but for copies: the old ones are there."""
    asked = plan.asked
    lifetime = None if asked.lifetime == "keep" else asked.lifetime
    life = None if asked.lifetime == "keep" else (inf if lifetime is None else lifetime)
    try:
        return await queue.redirect(batch, target, copy=asked.act == "copy", lifetime=life)
    except (ServiceNotAvailable, OSError) as error:
        if asked.act != "copy":
            raise
        del step.ids[: len(batch)]
        plan.failed += len(batch)
        raise CopyUncertain(
            f"{error}; whether {len(batch)} messages were copied is not known: look into"
            f" {step.target} before you copy them again"
        ) from error
