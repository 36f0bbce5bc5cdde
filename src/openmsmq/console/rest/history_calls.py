"""Messages on all managers over REST: by label and time, or by a search that runs by itself."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from openmsmq.console.desk.letters import quoted
from openmsmq.console.desk.models import HistoryView, NewSearch, SearchView
from openmsmq.console.desk.searches import Search
from openmsmq.console.filters import parse_filter
from openmsmq.console.limits import HISTORY_MAX, HISTORY_S, PAGE_MAX, SEARCH_HITS_MAX
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiReply, ApiRoute


async def history(call: ApiCall) -> HistoryView:
    """Messages with a label that are in a queue, a journal or a dead-letter queue anywhere."""
    label = call.text("label")
    if not label:
        raise RequestRefused(400, "label: a text; * and ? are wild")
    text = f"label:{quoted(label)}"
    for name, sign in (("from", ">="), ("to", "<=")):
        if given := call.text(name, most=40):
            text += f" sent:{quoted(sign + given)}"
    asked = NewSearch(filter="", limit=call.number("limit", 100, 1, PAGE_MAX) or PAGE_MAX)
    turn = call.state.scanning
    search = Search(asked, parse_filter(text), call.login.token, turn, most=HISTORY_MAX)
    with suppress(TimeoutError):
        async with asyncio.timeout(HISTORY_S):
            await search.run(call.state.links)
    late = f"no answer within {HISTORY_S:.0f} s"
    answers = {name: search.answers.get(name, late) for name in call.state.entries}
    is_whole = search.complete and len(search.answers) == len(answers)
    if all(how not in ("ok", late) for how in answers.values()):
        raise RequestRefused(403, "; ".join(f"{name}: {how}" for name, how in answers.items()))
    hits = sorted(search.hits, key=lambda hit: hit.sent)
    return HistoryView(hits, search.looked_at, is_whole, answers)


async def begin_search(call: ApiCall) -> ApiReply:
    """Look for messages on all managers; the search runs by itself."""
    asked = await call.body(NewSearch)
    if not asked.filter.strip():
        raise RequestRefused(400, "filter: what are you looking for?")
    if call.login.role:
        call.require("peek", everywhere=False)
    wanted = call.wanted(asked.filter)
    for name in asked.managers:
        call.link(name)
    search = Search(asked, wanted, call.login.token, call.state.scanning)
    call.state.searches.begin(search)
    return ApiReply(search.view(0), {"Location": f"/api/v1/searches/{search.id}"}, 201)


async def show_search(call: ApiCall) -> SearchView:
    """How a search stands, and what it has found; it ends when no one asks for 30 seconds."""
    search = call.state.searches.find(call.part("search"), call.login.token)
    return search.view(call.number("after", 0, 0, SEARCH_HITS_MAX) or 0)


async def go_on(call: ApiCall) -> ApiReply:
    """Let a search that found as many messages as were asked for find as many again."""
    search = call.state.searches.find(call.part("search"), call.login.token)
    call.state.searches.go_on(search)
    return ApiReply(search.view(len(search.hits)), {}, 202)


async def stop_search(call: ApiCall) -> None:
    """Look no further."""
    call.state.searches.stop(call.state.searches.find(call.part("search"), call.login.token))


HISTORY_ROUTES: Final = (
    ApiRoute(
        "GET",
        "/history",
        "peek",
        "Messages by label and time, on all managers",
        history,
        HistoryView,
        query={
            "label": "the label; * and ? are wild",
            "from": "sent at this time or later: -2h, or 2026-07-01T10:00",
            "to": "sent at this time or earlier",
            "limit": "messages in the answer",
        },
    ),
    ApiRoute(
        "POST",
        "/searches",
        "peek",
        "Look for messages in many queues of all managers, in the background",
        begin_search,
        SearchView,
        NewSearch,
        status=201,
    ),
    ApiRoute(
        "GET",
        "/searches/{search}",
        "peek",
        "How a search stands, and its hits",
        show_search,
        SearchView,
        query={"after": "skip this many hits"},
    ),
    ApiRoute(
        "POST",
        "/searches/{search}/more",
        "peek",
        "Go on with a search that is full or was stopped, for as many hits again",
        go_on,
        SearchView,
        status=202,
    ),
    ApiRoute("DELETE", "/searches/{search}", "peek", "Stop a search", stop_search, status=204),
)
