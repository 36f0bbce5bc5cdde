"""Managers over REST: health, findings, outgoing queues, transactions, settings, audit, events."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from aiohttp import web

from openmsmq.client.limits import AUDIT_PAGE
from openmsmq.console.attention import FORECAST_FROM_S, disk_findings, findings_of
from openmsmq.console.desk.audits import entries_about, newest_entries
from openmsmq.console.desk.kinds import letters_in, waiting_in
from openmsmq.console.desk.models import NewSilence
from openmsmq.console.limits import LISTENERS_MAX, TOPICS_MAX
from openmsmq.console.links import ManagerLink
from openmsmq.console.models import FindingView, ManagerView, SettingsView
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiRoute
from openmsmq.console.sampler import COUNTS, Sampler, Topics
from openmsmq.errors import AccessDenied, MQError, TokenRefused
from openmsmq.limits import U64_MAX
from openmsmq.types.access import Access
from openmsmq.types.queues import VISIBLE
from openmsmq.types.subscriptions import SubscriptionInfo

DENIED: Final = "denied"
"The state of a manager whose queues the login may not see."
HEARTBEAT_S: Final = 15.0
OVERVIEW: Final = "overview"
QUEUE_TOPIC: Final = "queue:"
ACTS: Final = ("pause", "resume", "retry")
OUTCOMES: Final = ("commit", "abort", "forget")
SPANS: Final = {"15m": 900, "1h": 3600, "24h": 86_400}
"Spans of time that series cover, in seconds: the first by seconds, the others by minutes."
_STEPS: Final = 60
_EMPTY: Final[dict[str, Any]] = {"time": [], "messages": []}


async def list_managers(call: ApiCall) -> list[ManagerView]:
    """The managers of this console, and how each is."""
    return list(await asyncio.gather(*(_manager_view(call, name) for name in call.state.entries)))


async def show_manager(call: ApiCall) -> ManagerView:
    """A manager, and how it is."""
    call.link()
    view = await _manager_view(call, call.part("manager"))
    if view.state == DENIED:
        raise AccessDenied(view.error)
    return view


async def _manager_view(call: ApiCall, name: str) -> ManagerView:
    link = call.link(name)
    try:
        manager = await link.manager()
        infos = await manager.queues(everything=True)
        outgoing = await manager.outgoing()
    except (AccessDenied, TokenRefused) as error:
        return ManagerView(name=name, state=DENIED, error=error.detail)
    except (MQError, OSError) as error:
        return ManagerView(name=name, state="away", error=str(error))
    link.sampler.start()
    counts: dict[str, int] = {}
    with suppress(MQError):
        counts = await manager.statistics()
    total = link.sampler.totals[-1][1] if link.sampler.totals else {}
    return ManagerView(
        name=name,
        state=manager.state,
        id=manager.id,
        queues=sum(one.kind in VISIBLE for one in infos),
        messages=waiting_in(infos),
        bytes=sum(one.bytes for one in infos),
        dead_letters=letters_in(infos),
        outgoing=sum(one.messages + one.unacknowledged for one in outgoing),
        free=_free(call, name),
        rates={name: rate for name, rate in total.items() if name in COUNTS},
        counts=counts,
    )


def _free(call: ApiCall, name: str) -> int | None:
    minutes = call.state.minutes.get(name)
    points = [] if minutes is None else minutes.disk(call.state.wall() - SPANS["15m"])["free"]
    return int(points[-1]) if points else None


async def findings(call: ApiCall) -> list[FindingView]:
    """What needs attention, the worst first, each with a remedy."""
    manager = await call.manager()
    infos = await manager.queues(everything=True)
    outgoing = await manager.outgoing()
    prepared: dict[str, int] = {}
    with suppress(MQError):
        prepared = await manager.prepared_ages()
    found = findings_of(infos, outgoing, prepared)
    minutes = call.state.minutes.get(call.part("manager"))
    if minutes is not None:
        found = [*disk_findings(minutes.disk(call.state.wall() - FORECAST_FROM_S)), *found]
    return call.state.silences.mark(call.part("manager"), found)


async def silence_finding(call: ApiCall) -> list[FindingView]:
    """Let a finding that someone knows about be silent for some hours; what is found then."""
    asked = await call.body(NewSilence)
    await (await call.manager()).peers()  # which is for administrators
    name = call.part("manager")
    until = call.state.silences.silence(name, asked.kind, asked.queue, asked.hours, asked.reason)
    words = "heard again" if until is None else f"until {until.isoformat(timespec='seconds')}"
    call.audit(f"silence {asked.kind}", asked.queue, f"{words}; {asked.reason}".rstrip("; "))
    return await findings(call)


async def outgoing(call: ApiCall) -> list[dict[str, Any]]:
    """Messages on their way to other managers: the backlog, and its cause."""
    return [asdict(one) for one in await (await call.manager()).outgoing()]


async def control_outgoing(call: ApiCall) -> None:
    """Pause, resume or retry the transfer to another manager."""
    act = call.part("act")
    if act not in ACTS:
        raise RequestRefused(404, f"{act[:20]!r} is not one of {', '.join(ACTS)}")
    manager = await call.manager()
    async with await manager.open_queue(call.part("name"), access=Access.OPERATE) as queue:
        await {"pause": queue.pause, "resume": queue.resume, "retry": queue.retry}[act]()
    call.log(act, queue.name)


async def peers(call: ApiCall) -> list[dict[str, Any]]:
    """Other managers, and the sessions with them."""
    return [asdict(one) for one in await (await call.manager()).peers()]


async def multicast(call: ApiCall) -> list[dict[str, Any]]:
    """What is sent to groups, and the sources that are heard, with losses and repairs."""
    return [asdict(one) for one in await (await call.manager()).multicast()]


async def transactions(call: ApiCall) -> dict[str, Any]:
    """Transactions that are prepared, and units that are not confirmed."""
    manager = await call.manager()
    units: list[dict[str, Any]] = []
    with suppress(MQError):
        units = [asdict(one) for one in await manager.units()]
    return {"prepared": await manager.prepared_ages(), "units": units}


async def end_transaction(call: ApiCall) -> None:
    """Commit or abort a prepared transaction, or forget a unit; the name is a confirmation."""
    xid, outcome = call.part("xid"), call.part("outcome")
    if outcome not in OUTCOMES:
        raise RequestRefused(404, f"{outcome[:20]!r} is not one of {', '.join(OUTCOMES)}")
    if call.text("confirm") != xid:
        raise RequestRefused(
            409, "the outcome of a transaction is final", "repeat its name: ?confirm="
        )
    manager = await call.manager()
    if outcome == "forget":
        waiting = {unit.name: unit.waiting for unit in await manager.units()}
        if xid not in waiting:
            raise RequestRefused(404, f"no unit {xid[:80]!r} waits to be confirmed")
        await manager.backend.finish_unit(xid, list(waiting[xid]))
    else:
        await (manager.commit_prepared if outcome == "commit" else manager.abort_prepared)(xid)
    call.log(f"{outcome} prepared", xid)


async def subscriptions(call: ApiCall) -> list[SubscriptionInfo]:
    """Durable subscriptions: Spark pipelines and others that keep their place."""
    return await (await call.manager()).subscriptions()


async def drop_subscription(call: ApiCall) -> None:
    """End a subscription; what it has taken and not committed is back in its queue."""
    name, queue = call.part("subscription"), call.text("queue")
    manager = await call.manager()
    known = [one for one in await manager.subscriptions(name) if one.queue.lower() == queue.lower()]
    if not known:
        raise RequestRefused(404, f"{queue[:80]!r} has no subscription {name[:40]!r}")
    waiting = known[0].uncommitted + known[0].unread
    if call.number("uncommitted", None, 0, 1 << 62) != waiting:
        raise RequestRefused(
            409,
            f"{name} has {waiting} messages that it has not committed",
            f"say so: ?uncommitted={waiting}",
        )
    await manager.drop_subscription(known[0].name, known[0].queue)
    call.audit("drop subscription", known[0].queue, f"{known[0].name}, {waiting} uncommitted")


async def settings(call: ApiCall) -> SettingsView:
    """What is set for the whole manager."""
    return SettingsView(asdict(await (await call.manager()).settings()))


async def change_settings(call: ApiCall) -> SettingsView:
    """Change settings of the manager."""
    changes = await call.body(dict[str, int | bool | str | None])
    if not changes:
        raise RequestRefused(400, "there is nothing to change")
    manager = await call.manager()
    known = asdict(await manager.settings())
    for name in changes.keys() - known.keys():
        raise RequestRefused(
            400, f"there is no setting {name[:40]!r}", f"known: {', '.join(known)}"
        )
    await manager.configure(**changes)
    call.log("configure", "", ", ".join(f"{a} = {b}" for a, b in changes.items()))
    return SettingsView(asdict(await manager.settings()))


async def audit(call: ApiCall) -> list[dict[str, Any]]:
    """What was denied, and what administrators did; the oldest first."""
    count = call.number("limit", AUDIT_PAGE, 1, AUDIT_PAGE) or AUDIT_PAGE
    after, before = call.number("after", 0, 0, U64_MAX), call.number("before", None, 0, U64_MAX)
    manager, target = await call.manager(), call.text("target").casefold()
    if target:
        found = await entries_about(manager, lambda one: one.target.casefold() == target, count)
    elif before is not None or call.flag("newest"):
        found = await newest_entries(manager, before, count)
    else:
        found = await manager.audit(after=after or 0, limit=count)
    return [asdict(one) for one in found]


async def _watched(link: ManagerLink) -> Sampler:
    """The numbers of a manager, for who may see any: else `AccessDenied`."""
    if not link.sampler.totals:
        await (await link.manager()).queues()
    link.sampler.start()
    return link.sampler


async def series(call: ApiCall) -> dict[str, Any]:
    """Numbers over the last 15 minutes, hour or day, of the manager or of one queue."""
    link, name = call.link(), call.text("queue")
    span = call.text("span", "15m")
    if span not in SPANS:
        raise RequestRefused(400, f"span: {span[:20]!r} is not one of {', '.join(SPANS)}")
    step = call.number("step", 1, 1, _STEPS) or 1
    sampler = await _watched(link)
    since = call.state.wall() - SPANS[span]
    minutes = call.state.minutes.get(call.part("manager"))
    if span != "15m" and minutes is not None:
        manager = await link.manager()
        if name:  # who does not see the queue in the list gets no answer about it, either
            listed = {one.name for one in await manager.queues(everything=True)}
            return dict(minutes.queue(name, since) if name in listed else {}) or _EMPTY
        await manager.statistics()
        return dict(minutes.totals(since))
    if name:
        return dict(sampler.series_of(name, step))
    rows = list(sampler.totals)[::-step][::-1]
    names = sorted({name for _, row in rows for name in row})
    found: dict[str, Any] = {name: [row.get(name) for _, row in rows] for name in names}
    return {"time": [at for at, _ in rows], **found}


def _topics(text: str) -> Topics:
    """What a page wants to hear of; all queues if it does not say."""
    words = [word for word in text.split(",") if word]
    if len(words) > TOPICS_MAX:
        raise RequestRefused(400, f"topics: at most {TOPICS_MAX}")
    for word in words:
        if word != OVERVIEW and not word.startswith(QUEUE_TOPIC):
            raise RequestRefused(400, f"topics: {word[:40]!r} is not overview or queue:NAME")
    names = frozenset(word.removeprefix(QUEUE_TOPIC) for word in words if word != OVERVIEW)
    return names if words else None


async def events(call: ApiCall) -> web.StreamResponse:
    """Changes of the numbers of a manager, as server-sent events."""
    link = call.link(call.text("manager") or next(iter(call.state.entries), ""))
    await _watched(link)
    topics = _topics(call.text("topics", most=TOPICS_MAX * 100))
    used = sum(len(one.sampler.listeners) for one in call.state.links.all())
    if used >= LISTENERS_MAX:
        raise RequestRefused(503, f"{LISTENERS_MAX} pages listen already", "ask every few seconds")
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}
    )
    await response.prepare(call.request)
    queue = link.sampler.listen(topics, call.request.headers.get("Last-Event-ID", ""))
    try:
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), HEARTBEAT_S)
            except TimeoutError:
                event = b": still here\n\n"
            link.used = call.state.now()
            if not call.state.is_current(call.login):
                break
            await response.write(event)
    except (ConnectionError, asyncio.CancelledError):
        pass  # the page was closed
    finally:
        link.sampler.forget(queue)
    return response


Json = dict[str, Any]
_MANAGER: Final = "/managers/{manager}"
MANAGER_ROUTES: Final = (
    ApiRoute(
        "GET",
        "/managers",
        "watch",
        "The managers of this console",
        list_managers,
        list[ManagerView],
    ),
    ApiRoute("GET", _MANAGER, "watch", "A manager, and how it is", show_manager, ManagerView),
    ApiRoute(
        "GET", f"{_MANAGER}/findings", "watch", "What needs attention", findings, list[FindingView]
    ),
    ApiRoute(
        "POST",
        f"{_MANAGER}/findings/silence",
        "admin",
        "Let a finding be silent for some hours",
        silence_finding,
        list[FindingView],
        NewSilence,
    ),
    ApiRoute("GET", f"{_MANAGER}/outgoing", "watch", "Outgoing queues", outgoing, list[Json]),
    ApiRoute(
        "POST",
        f"{_MANAGER}/outgoing/{{name}}/{{act}}",
        "operate",
        "Pause, resume or retry a transfer",
        control_outgoing,
        status=204,
    ),
    ApiRoute(
        "GET", f"{_MANAGER}/peers", "admin", "Other managers and their sessions", peers, list[Json]
    ),
    ApiRoute("GET", f"{_MANAGER}/multicast", "admin", "Multicast sessions", multicast, list[Json]),
    ApiRoute("GET", f"{_MANAGER}/transactions", "send", "Open transactions", transactions, Json),
    ApiRoute(
        "POST",
        f"{_MANAGER}/transactions/{{xid}}/{{outcome}}",
        "admin",
        "Commit or abort a prepared transaction, or forget a unit that others do not confirm",
        end_transaction,
        query={"confirm": "the name of the transaction once more"},
        status=204,
    ),
    ApiRoute(
        "GET",
        f"{_MANAGER}/subscriptions",
        "watch",
        "Durable subscriptions",
        subscriptions,
        list[SubscriptionInfo],
    ),
    ApiRoute(
        "DELETE",
        f"{_MANAGER}/subscriptions/{{subscription}}",
        "admin",
        "Drop a subscription: what it has not committed is back in its queue",
        drop_subscription,
        query={
            "queue": "the queue that it reads",
            "uncommitted": "how many messages it has not committed, as a confirmation",
        },
        status=204,
    ),
    ApiRoute("GET", f"{_MANAGER}/settings", "watch", "Settings", settings, SettingsView),
    ApiRoute(
        "PATCH",
        f"{_MANAGER}/settings",
        "admin",
        "Change settings",
        change_settings,
        SettingsView,
        dict[str, int | bool | str | None],
    ),
    ApiRoute(
        "GET",
        f"{_MANAGER}/audit",
        "admin",
        "The audit log, some entries at a time",
        audit,
        list[Json],
        query={
            "after": "the number of the entry before",
            "before": "the last entries before the one with this number",
            "newest": "true: the last entries",
            "target": "only entries about this queue, the newest first, of the last 2,000",
            "limit": "entries in the answer",
        },
    ),
    ApiRoute(
        "GET",
        f"{_MANAGER}/series",
        "watch",
        "Numbers over time",
        series,
        Json,
        query={
            "queue": "of this queue; else of the manager",
            "span": "15m, by seconds; 1h or 24h, by minutes",
            "step": "seconds between points",
        },
    ),
    ApiRoute(
        "GET",
        "/events",
        "watch",
        "Changes as server-sent events",
        events,
        query={
            "manager": "which one",
            "topics": "`overview` for totals only, `queue:NAME` for one queue, or several with"
            " commas between them; else all queues. `Last-Event-ID` goes on after an event",
        },
    ),
)
