"""Plans, dead letters and the lives of messages over REST."""

from __future__ import annotations

import asyncio
from typing import Final

from openmsmq.client._async.manager import Manager, Queue
from openmsmq.console.limits import GROUPS_MAX, LETTERS_MAX, SCAN_BATCH
from openmsmq.console.models import (
    LetterGroup,
    LettersView,
    NewPlan,
    PlanRun,
    PlanView,
    Story,
    StoryEvent,
)
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiReply, ApiRoute
from openmsmq.console.views import label_shape, reason_of
from openmsmq.errors import AccessDenied, InvalidParameter, MQError, QueueNotFound
from openmsmq.types.access import Access
from openmsmq.types.queues import POISON_SUBQUEUE, QueueInfo, QueueKind
from openmsmq.types.received import ReceivedMessage

LETTER_QUEUES: Final = (r".\DeadLetter$", r".\XactDeadLetter$")
ASKED_WITHIN_S: Final = 2.0
"How long a manager may take to tell what it knows of a message."


async def make_plan(call: ApiCall) -> ApiReply:
    """Freeze which messages an act is about, and show what it would do."""
    asked = await call.body(NewPlan)
    call.wanted(asked.filter)
    plan = await call.state.plans.make(
        asked, call.link(asked.manager), call.login.token, call.login.who
    )
    return ApiReply(plan.view(), {"Location": f"/api/v1/plans/{plan.id}"}, 201)


async def list_plans(call: ApiCall) -> list[PlanView]:
    """The plans of this login, the newest first."""
    return [plan.view() for plan in call.state.plans.all(call.login.token)]


async def show_plan(call: ApiCall) -> PlanView:
    """How a plan stands."""
    return call.state.plans.find(call.part("plan"), call.login.token).view()


async def run_plan(call: ApiCall) -> ApiReply:
    """Carry out a plan, or the first messages of it; it goes on in the background."""
    asked = await call.body(PlanRun) if call.request.can_read_body else PlanRun()
    plan = call.state.plans.find(call.part("plan"), call.login.token)
    call.state.plans.run(plan, call.link(plan.asked.manager), asked.first)
    return ApiReply(plan.view(), {}, 202)


async def stop_plan(call: ApiCall) -> PlanView:
    """Carry out a plan no further; what is done stays done."""
    plan = call.state.plans.find(call.part("plan"), call.login.token)
    await call.state.plans.stop(plan)
    return plan.view()


async def forget_plan(call: ApiCall) -> None:
    """Drop a plan."""
    plan = call.state.plans.find(call.part("plan"), call.login.token)
    call.state.plans.forget(plan)


async def dead_letters(call: ApiCall) -> LettersView:
    """Dead letters and poison messages of a manager, grouped by what went wrong."""
    manager = await call.manager()
    infos = await manager.queues(everything=True)
    groups: dict[tuple[str, int, str, str], LetterGroup] = {}
    total, complete = 0, True
    denied: list[AccessDenied] = []
    for info in infos:
        if not is_letter_queue(info) or not info.messages:
            continue
        total += info.messages
        try:
            async with await manager.open_queue(info.name, access=Access.PEEK) as queue:
                complete &= await _group(queue, info, groups)
        except AccessDenied as error:
            denied.append(error)
        except QueueNotFound:
            pass  # it is gone
    if denied and not groups:
        raise denied[0]
    found = sorted(groups.values(), key=lambda group: -group.count)
    return LettersView(found[:GROUPS_MAX], total, complete and len(found) <= GROUPS_MAX)


def is_letter_queue(info: QueueInfo) -> bool:
    """Whether messages end in a queue that something went wrong with."""
    is_poison = info.kind == QueueKind.SUBQUEUE and info.name.endswith(f";{POISON_SUBQUEUE}")
    return info.name in LETTER_QUEUES or is_poison


async def _group(
    queue: Queue, info: QueueInfo, groups: dict[tuple[str, int, str, str], LetterGroup]
) -> bool:
    """Count the messages of a queue by kind; False if there are too many to look at."""
    after = looked_at = 0
    while batch := await queue.peek_many(SCAN_BATCH, timeout=0, after=after):
        for message in batch:
            _count(message, info, groups)
        after = batch[-1].lookup_id
        looked_at += len(batch)
        if looked_at >= LETTERS_MAX:
            return False
        if len(groups) > GROUPS_MAX:
            return False
    return True


def _count(
    message: ReceivedMessage,
    info: QueueInfo,
    groups: dict[tuple[str, int, str, str], LetterGroup],
) -> None:
    destination = str(message.destination_queue or "")
    shape = label_shape(message.label)
    key = info.name, message.message_class, destination, shape
    group = groups.get(key)
    at = message.arrived_time
    if group is None:
        reason = reason_of(message.message_class) or "aborted too often"
        quoted = destination.replace("\\", "\\\\").replace('"', '\\"')
        wanted = f'class:{message.message_class} to:"{quoted}"'
        groups[key] = LetterGroup(
            queue=info.name,
            reason=reason,
            message_class=message.message_class,
            destination=destination,
            labels=shape,
            count=1,
            first=at,
            last=at,
            sample=str(message.lookup_id),
            filter=wanted,
        )
        return
    group.count += 1
    group.first, group.last = min(group.first, at), max(group.last, at)


async def explain(call: ApiCall) -> Story:
    """The life of a message, as all managers of this console know it."""
    message_id = call.text("id")
    if not message_id:
        raise RequestRefused(400, r"id: the id of a message, guid\number")
    names = list(call.state.entries)
    found = await asyncio.gather(*(_ask(call, name, message_id) for name in names))
    events = sorted(
        (event for _, events in found for event in events), key=lambda event: event.time
    )
    asked = {name: how for name, (how, _) in zip(names, found, strict=True)}
    if all(how != "ok" for how in asked.values()):
        raise RequestRefused(
            403 if any("0xC00E0025" in how for how in asked.values()) else 400,
            "; ".join(f"{name}: {how}" for name, how in asked.items()),
        )
    return Story(message_id, events, asked)


async def _ask(call: ApiCall, name: str, message_id: str) -> tuple[str, list[StoryEvent]]:
    try:
        async with asyncio.timeout(ASKED_WITHIN_S):
            manager: Manager = await call.link(name).manager()
            events = await manager.explain(message_id)
    except TimeoutError:
        return f"no answer within {ASKED_WITHIN_S:.0f} s", []
    except InvalidParameter as error:
        return error.text, []
    except (MQError, OSError) as error:
        return str(error), []
    return "ok", [
        StoryEvent(one.time, name, one.event, one.queue, one.text, one.by, str(one.lookup_id))
        for one in events
    ]


PLAN_ROUTES: Final = (
    ApiRoute(
        "POST",
        "/plans",
        "operate",
        "Freeze which messages to copy, move, return (`operate`), delete or purge (`read`)",
        make_plan,
        PlanView,
        NewPlan,
        status=201,
    ),
    ApiRoute("GET", "/plans", "watch", "The plans of this login", list_plans, list[PlanView]),
    ApiRoute("GET", "/plans/{plan}", "watch", "How a plan stands", show_plan, PlanView),
    ApiRoute(
        "POST",
        "/plans/{plan}/run",
        "operate",
        "Carry out a plan, in the background",
        run_plan,
        PlanView,
        PlanRun,
        status=202,
    ),
    ApiRoute("POST", "/plans/{plan}/stop", "operate", "Stop a plan", stop_plan, PlanView),
    ApiRoute("DELETE", "/plans/{plan}", "operate", "Forget a plan", forget_plan, status=204),
    ApiRoute(
        "GET",
        "/managers/{manager}/deadletters",
        "peek",
        "Dead letters and poison messages, in groups",
        dead_letters,
        LettersView,
    ),
    ApiRoute(
        "GET",
        "/explain",
        "watch",
        "The life of a message, on all managers",
        explain,
        Story,
        query={"id": r"the id of the message, guid\number"},
    ),
)
