"""Messages that a transport has sent: by what they are known until they are acknowledged.

Each message has a token, which names its queue, what it was taken with, and itself. Messages of a
run were taken together, and leave so as far as they are acknowledged together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, repeat
from operator import itemgetter

from openmsmq.engine.messages.scan import hold
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import IN_TRANSIT, REMOVING
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Part, Parts, RunSlice, expanded
from openmsmq.engine.storage.layout import flags_of
from openmsmq.types.lookup import ranges_of

SentToken = tuple[ManagedQueue, Part, int]
"A queue, what was taken from it together, and the lookup identifier of one message of that."

_queue = itemgetter(0)


def entry_tokens(queue: ManagedQueue, entries: Sequence[Entry]) -> list[SentToken]:
    """The tokens of messages that were taken one by one."""
    return list(zip(repeat(queue), entries, [entry[0] for entry in entries], strict=False))


def slice_tokens(queue: ManagedQueue, part: RunSlice) -> list[SentToken]:
    """The tokens of messages of a run."""
    return list(zip(repeat(queue), repeat(part), range(part.first, part.end), strict=False))


def parts_of(tokens: Iterable[SentToken]) -> Iterator[tuple[ManagedQueue, list[Part]]]:
    """The messages that were acknowledged, by their queues."""
    for queue, group in groupby(tokens, key=_queue):
        own = list(group)
        if not any([isinstance(part, RunSlice) for _, part, _ in own]):
            yield queue, [part for _, part, _ in own]
            continue
        parts: list[Part] = []
        for _, together in groupby(own, key=_identity):
            alike = list(together)
            part = alike[0][1]
            if isinstance(part, RunSlice):
                lookups = [lookup for _, _, lookup in alike]
                parts += [part.part(first, end) for first, end in ranges_of(lookups)]
            else:
                parts += [part] * len(alike)
        yield queue, parts


def _identity(token: SentToken) -> int:
    """Of what was taken together; one that was sent again equals itself, and counts again."""
    return id(token[1])


def flags_in(part: Part) -> int:
    """What is owed for messages."""
    return part.run.record.flags if isinstance(part, RunSlice) else flags_of(part.record)


def size_of(parts: Sequence[Part]) -> int:
    """The bytes of packets."""
    return sum([len(part[2]) if isinstance(part, tuple) else part.size for part in parts])


def hold_sent(queue: ManagedQueue, parts: Parts) -> list[Part]:
    """Messages that transports have taken and that are neither gone nor given back, each once."""
    holds = queue.holds
    entries = [part for part in parts if not isinstance(part, RunSlice)]
    known = set(holds.those_of([entry.lookup for entry in entries], IN_TRANSIT))
    once = {entry.lookup: entry for entry in entries if entry.lookup in known}
    holds.hold(once, REMOVING)
    gone: list[Part] = [*once.values()]
    for part in parts:
        if isinstance(part, RunSlice):
            singles = holds.singles_of(part.first, part.end, IN_TRANSIT)
            pieces: list[Part] = [*holds.parts_of(part.first, part.end, IN_TRANSIT)]
            pieces += [one for at in singles for one in part.part(at, at + 1).entries()]
            hold(queue, pieces, REMOVING, from_start=False)
            gone += pieces
    return gone


def hold_taken_back(queue: ManagedQueue, parts: Parts) -> list[Part]:
    """Messages that had reached the next hop when their queue was paused.

    They wait in their places. To send them again would double those that the next hop has forgotten
    by the time the queue goes on.
    """
    holder_of, is_purged, express = queue.holds.holder_of, queue.is_purged, queue.express
    once = {
        entry.lookup: entry
        for entry in expanded(parts)
        if holder_of(entry.lookup) is None and not is_purged(entry.lookup)
    }
    back: list[Part] = [
        entry for lookup, entry in once.items() if not entry.express or lookup in express
    ]
    hold(queue, back, REMOVING, from_start=False)
    return back
