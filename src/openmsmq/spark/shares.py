"""How the limit of a batch is shared by the queues of a stream.

All get the same share at first; queues with less to read leave the rest to those with more.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Final

from openmsmq.errors import QueueNotAvailable, QueueNotFound, ServiceNotAvailable
from openmsmq.spark.fleet import AT_ONCE, Fleet, at_once
from openmsmq.spark.offsets import lost
from openmsmq.spark.options import Options
from openmsmq.spark.subscribed import Subscribed

Ends = dict[str, int]
"Positions, by what offsets call the queues."
STEP: Final = 10_000
"Messages that are reserved with one commit."
ROUNDS: Final = 8
"How often what is left of a limit of bytes is shared out."


class BatchShares:
    """Reserves messages for a batch."""

    def __init__(
        self, options: Options, subscribed: Subscribed, fleet: Fleet, targets: Ends | None
    ) -> None:
        self._options = options
        self._subscribed = subscribed
        self._fleet = fleet
        self._targets = targets
        self._sources = dict(subscribed.sources())

    def everything(self, after: Ends) -> Ends:
        """How much there is behind these positions."""
        messages = self._fleet.messages(after)
        reserved = {name: self._sources[name].reader.reserved for name in after}
        return {name: max(reserved[name] - after[name], 0) + messages[name] for name in after}

    def reach(self, begin: Ends, most: int, size: int | None) -> tuple[Ends, Ends]:
        """Reserve up to `most` messages and `size` bytes behind positions; up to where.

        With it, the queues that have more, and how much of it is to be reserved ahead.
        """
        end, hungry, left, room = begin, list(begin), most, size
        rounds = ROUNDS
        while hungry and left > 0 and rounds and (room is None or room > 0):
            shares = dict(zip(hungry, _parts(left, len(hungry)), strict=True))
            each = None if room is None else max(1, room // len(hungry))
            reached = self.reserve_all(end, shares, each)
            left -= sum(reached[name] - end[name] for name in hungry)
            if room is not None:
                rounds -= 1
                room -= self._size(end, reached)
                hungry = [name for name in hungry if reached[name] > end[name]]
            else:
                hungry = [name for name in hungry if reached[name] - end[name] == shares[name]]
            end = end | reached
        if size is not None:
            return end, {}
        more = {name: end[name] - begin[name] for name in hungry}
        return end, {name: share for name, share in more.items() if share >= STEP}

    def _size(self, after: Ends, last: Ends) -> int:
        """The bytes of what was reserved."""

        def size(name: str) -> int:
            return self._sources[name].reader.size(after[name], last[name])

        moved = [name for name in last if last[name] > after[name]]
        groups = self._subscribed.by_manager(moved)
        return sum(found for group in groups for _, found in at_once(group, size))

    def reserve_all(self, after: Ends, shares: Ends, room: int | None = None) -> Ends:
        """Reserve messages behind positions, at all managers at once; up to where."""

        def ask(names: list[str]) -> Ends:
            def one(name: str) -> int:
                return self.reserve(name, after[name], shares[name], room)

            return dict(at_once(names, one))

        groups = self._subscribed.by_manager(shares)
        if len(groups) < 2:
            return {name: end for names in groups for name, end in ask(names).items()}
        with ThreadPoolExecutor(min(len(groups), AT_ONCE), "openmsmq-ask") as pool:
            return {name: end for found in pool.map(ask, groups) for name, end in found.items()}

    def reserve(self, name: str, after: int, share: int, room: int | None = None) -> int:
        """Reserve messages of a queue; a manager that is away may be skipped, a queue lost."""
        source = self._sources[name]
        try:
            return self._reserve(name, after, self._within_target(name, after, share), room)
        except (QueueNotAvailable, QueueNotFound) as error:
            if self._options.fail_on_data_loss:
                raise lost(f"option queue: {source.place.queue} was deleted") from error
            self._fleet.forget(name)
        except ServiceNotAvailable as error:
            self._fleet.skip(source.place.address, error)
        return after

    def _reserve(self, name: str, after: int, count: int, size: int | None) -> int:
        """Without a limit of bytes, in steps."""
        reader = self._sources[name].reader
        if count < 1:
            return after
        if size is not None:
            return reader.reserve(after, count, size)
        end, last = after, after + count
        while end < last:
            reached = reader.reserve(end, min(STEP, last - end))
            if reached == end:
                break
            end = reached
        return end

    def _within_target(self, name: str, after: int, share: int) -> int:
        if self._targets is None:
            return share
        return min(share, self._sources[name].reserved + self._targets.get(name, 0) - after)


def _parts(total: int, count: int) -> list[int]:
    """A number as a sum of `count` numbers that differ by 1 at most."""
    return [total // count + (place < total % count) for place in range(count)]
