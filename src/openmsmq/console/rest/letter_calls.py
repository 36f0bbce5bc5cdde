"""The dead-letter desk over REST."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final

from openmsmq.console.desk.letters import THEN, LettersWanted, letters_of
from openmsmq.console.desk.models import LettersView, ManagerLetters, NewNote
from openmsmq.console.limits import HINTS_MAX
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiRoute
from openmsmq.errors import AccessDenied, MQError
from openmsmq.properties.message import MessageClass
from openmsmq.types.access import Access

LETTERS_WITHIN_S: Final = 10.0
"How long a manager may take to tell its dead letters."
_PLACE: Final = re.compile(r"DIRECT=OS:([^\\]+)\\private\$\\([^;]+)", re.IGNORECASE)
"A private queue of a computer."


async def dead_letters(call: ApiCall) -> LettersView:
    """Dead letters and poison messages of a manager, grouped by what went wrong."""
    return await _letters(call, call.part("manager"), _wanted(call))


def _wanted(call: ApiCall) -> LettersWanted:
    """Which dead letters are asked for."""
    then, since = call.text("then", THEN[0]), call.time("since")
    if then not in THEN:
        raise RequestRefused(400, f"then: one of {', '.join(THEN)}")
    return LettersWanted(datetime.now(UTC), then, since and since.replace(microsecond=0))


async def _letters(call: ApiCall, name: str, wanted: LettersWanted) -> LettersView:
    """Dead letters with the notes on them, and what may have been meant."""
    letters = await letters_of(await call.link(name).manager(), wanted)
    call.state.notes.mark(name, letters.groups)
    lost = [one for one in letters.groups if one.message_class == MessageClass.NACK_BAD_DST_Q]
    for group in lost[:HINTS_MAX]:
        group.hint = await _hint(call, group.destination)
    return letters


async def _hint(call: ApiCall, destination: str) -> str:
    """A queue that has nearly the name of one that is not there, if its manager is known here."""
    place = _PLACE.fullmatch(destination)
    known = {name.casefold(): name for name in call.state.entries}
    if place is None or place[1].casefold() not in known:
        return ""
    try:
        manager = await call.link(known[place[1].casefold()]).manager()
        names = [one.name.rpartition("\\")[2] for one in await manager.queues()]
    except (MQError, OSError):
        return ""
    return next(iter(get_close_matches(place[2], names, 1)), "")


async def write_note(call: ApiCall) -> None:
    """Write a note on a group of dead letters, or remove it."""
    asked = await call.body(NewNote)
    manager = await call.manager()
    async with await manager.open_queue(asked.queue, access=Access.OPERATE) as queue:
        name = queue.name
    call.state.notes.write(call.part("manager"), asked, call.login.person or call.login.who)
    call.audit("note on dead letters", name, asked.text)


async def all_dead_letters(call: ApiCall) -> list[ManagerLetters]:
    """The same of all managers; one that cannot tell says why."""
    names, wanted = list(call.state.entries), _wanted(call)
    found = await asyncio.gather(*(_answer(call, name, wanted) for name in names))
    refusals = [error for _, error in found if isinstance(error, AccessDenied)]
    if refusals and len(refusals) == len(found):
        raise refusals[0]
    return [
        ManagerLetters(name, letters, "" if error is None else str(error))
        for name, (letters, error) in zip(names, found, strict=True)
    ]


async def _answer(
    call: ApiCall, name: str, wanted: LettersWanted
) -> tuple[LettersView | None, Exception | None]:
    try:
        async with asyncio.timeout(LETTERS_WITHIN_S):
            return await _letters(call, name, wanted), None
    except TimeoutError:
        return None, TimeoutError(f"no answer within {LETTERS_WITHIN_S:.0f} s")
    except (MQError, OSError) as error:
        return None, error


_QUERY: Final = {
    "then": "what messages of a group have in common beside queue, reason and destination: `labels`"
    " (else), `sender`, or `type`, as a service bus says it",
    "since": "only what came at this time or later: -7d, or 2026-07-01T10:00",
}
LETTER_ROUTES: Final = (
    ApiRoute(
        "GET",
        "/deadletters",
        "peek",
        "Dead letters and poison messages of all managers, in groups",
        all_dead_letters,
        list[ManagerLetters],
        query=_QUERY,
    ),
    ApiRoute(
        "GET",
        "/managers/{manager}/deadletters",
        "peek",
        "Dead letters and poison messages, in groups",
        dead_letters,
        LettersView,
        query=_QUERY,
    ),
    ApiRoute(
        "POST",
        "/managers/{manager}/deadletters/note",
        "operate",
        "Write a note on a group of dead letters, or remove it",
        write_note,
        body=NewNote,
        status=204,
    ),
)
