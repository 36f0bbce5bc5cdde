"""Plans and the lives of messages over REST."""

from __future__ import annotations

import asyncio
from typing import Final

from openmsmq.client._async.manager import Manager
from openmsmq.console.desk.audits import entries_about
from openmsmq.console.desk.models import MessageTaker, Story, StoryEvent
from openmsmq.console.desk.stories import clock_differences, in_order, readers_of
from openmsmq.console.limits import READERS_MAX
from openmsmq.console.models import NewPlan, PlanRun, PlanView
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiReply, ApiRoute
from openmsmq.errors import InvalidParameter, MQError

LOOK: Final = "look at message"
"What the audit log calls it (`message_calls`)."
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
    """How a plan stands, and what has come since it was frozen, if that is asked for."""
    plan, newer = call.state.plans.find(call.part("plan"), call.login.token), call.flag("newer")
    if newer:
        await call.state.plans.count_newer(plan, call.link(plan.asked.manager))
    return plan.view(newer=newer)


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


async def undo_plan(call: ApiCall) -> ApiReply:
    """Plan to take back what a plan has moved to the trash, as far as it is still there."""
    plan = call.state.plans.find(call.part("plan"), call.login.token)
    asked = call.state.plans.undo(plan)
    made = await call.state.plans.make(
        asked, call.link(asked.manager), call.login.token, call.login.who
    )
    return ApiReply(made.view(), {"Location": f"/api/v1/plans/{made.id}"}, 201)


async def explain(call: ApiCall) -> Story:
    """The life of a message, as all managers of this console know it."""
    message_id = call.text("id")
    if not message_id:
        raise RequestRefused(400, r"id: the id of a message, guid\number")
    names = list(call.state.entries)
    found = await asyncio.gather(*(_ask(call, name, message_id) for name in names))
    events = [event for _, events, _ in found for event in events]
    asked = {name: how for name, (how, _, _) in zip(names, found, strict=True)}
    if all(how != "ok" for how in asked.values()):
        raise RequestRefused(
            403 if any("0xC00E0025" in how for how in asked.values()) else 400,
            "; ".join(f"{name}: {how}" for name, how in asked.items()),
        )
    origin = message_id.partition("\\")[0].lower()
    sender = next((name for name, (_, _, id) in zip(names, found, strict=True) if id == origin), "")
    clocks = clock_differences(sender, events)
    looks = [look for name in names for look in await _looks(call, name, message_id)]
    readers = readers_of(events, looks)
    return Story(message_id, in_order(events, clocks), asked, clocks, readers)


async def _looks(call: ApiCall, name: str, message_id: str) -> list[MessageTaker]:
    """Who looked at a message in the console, for administrators, if that is written down."""
    if not call.state.settings.audit_reads:
        return []
    wanted = message_id.strip("{}").casefold()
    try:
        async with asyncio.timeout(ASKED_WITHIN_S):
            found = await entries_about(
                await call.link(name).manager(),
                lambda one: one.act == LOOK and one.reason.casefold().endswith(wanted),
                READERS_MAX,
            )
    except (TimeoutError, MQError, OSError):
        return []
    return [MessageTaker(one.time, name, one.who, "looked at it", one.target) for one in found]


async def _ask(call: ApiCall, name: str, message_id: str) -> tuple[str, list[StoryEvent], str]:
    """How that went, what a manager knows of a message, and which manager it is."""
    try:
        async with asyncio.timeout(ASKED_WITHIN_S):
            manager: Manager = await call.link(name).manager()
            events = await manager.explain(message_id)
    except TimeoutError:
        return f"no answer within {ASKED_WITHIN_S:.0f} s", [], ""
    except InvalidParameter as error:
        return error.text, [], ""
    except (MQError, OSError) as error:
        return str(error), [], ""
    known = [
        StoryEvent(one.time, name, one.event, one.queue, one.text, one.by, str(one.lookup_id))
        for one in events
    ]
    return "ok", known, str(manager.id).lower()


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
    ApiRoute(
        "GET",
        "/plans/{plan}",
        "watch",
        "How a plan stands",
        show_plan,
        PlanView,
        query={"newer": "true: count messages that match and came after it was made (`peek`)"},
    ),
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
    ApiRoute(
        "POST",
        "/plans/{plan}/undo",
        "read",
        "Plan to take messages back from the trash that a plan moved there",
        undo_plan,
        PlanView,
        status=201,
    ),
    ApiRoute("DELETE", "/plans/{plan}", "operate", "Forget a plan", forget_plan, status=204),
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
