"""What is fuzzed of the console: filters, searches, plans and imports, as people write them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import cache

import msgspec

from openmsmq.console.desk.models import NewSearch
from openmsmq.console.desk.searches import Search
from openmsmq.console.filters import parse_filter
from openmsmq.console.models import NewPlan
from openmsmq.console.plans import command_of
from openmsmq.console.problems import RequestRefused, problem_of
from openmsmq.console.rest.message_calls import messages_of
from openmsmq.errors import InvalidParameter, MQError
from openmsmq.types.received import ReceivedMessage
from tests.samples import MESSAGES


@cache
def messages() -> list[ReceivedMessage]:
    """One of each kind, with places of their own."""
    return [
        ReceivedMessage(packet.encode(), lookup_id=number + 1, arrived=1_700_000_000)
        for number, packet in enumerate(MESSAGES.values())
    ]


def filters(data: bytes) -> None:
    """A filter finds what it finds, or says what is wrong with it: never an error of ours."""
    text = data.decode(errors="replace")
    with suppress(InvalidParameter):
        wanted = parse_filter(text)
        found = [message for message in messages() if wanted.matches(message)]
        nothing = parse_filter(f"-({text})") if text.strip() else None
        if nothing is not None:
            others = [message for message in messages() if nothing.matches(message)]
            assert len(found) + len(others) == len(messages())


def plans(data: bytes) -> None:
    """A plan is understood, or refused with a status that blames who asked."""
    try:
        asked = msgspec.json.decode(data, type=NewPlan)
        parse_filter(asked.filter)
    except (msgspec.MsgspecError, InvalidParameter, UnicodeDecodeError) as error:
        problem, _ = problem_of(error)
        assert 400 <= problem.status < 500
        return
    assert command_of(asked).startswith("openmsmq ")
    msgspec.json.encode(asked)


def searches(data: bytes) -> None:
    """A search is understood or refused, and has no more hits than were asked for."""
    try:
        asked = msgspec.json.decode(data, type=NewSearch)
        wanted = parse_filter(asked.filter)
    except (msgspec.MsgspecError, InvalidParameter, UnicodeDecodeError) as error:
        problem, _ = problem_of(error)
        assert 400 <= problem.status < 500
        return
    search = Search(asked, wanted, "token", nullcontext)
    while not search.is_full and search.looked_at < 3 * len(messages()):
        search._take("here", "orders", messages())
    shown = search.view(0)
    assert len(shown.hits) == shown.found <= asked.limit
    msgspec.json.encode(shown)


def imports(data: bytes) -> None:
    """JSON lines are messages, or are refused with a status that blames who asked."""
    try:
        found = messages_of(data)
    except (RequestRefused, MQError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        problem, _ = problem_of(error)
        assert 400 <= problem.status < 500
        return
    assert found


CONSOLE_TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (filters, searches, plans, imports)
}
