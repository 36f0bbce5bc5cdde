"""The subscriptions of a stream, on its driver: opened, checked against the offset, bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from openmsmq import Manager, Queue, Subscription
from openmsmq.errors import (
    InvalidParameter,
    MQError,
    RunReplaced,
    ServiceNotAvailable,
    SubscriptionTaken,
)
from openmsmq.spark.fleet import AT_ONCE, Fleet, at_once
from openmsmq.spark.offsets import (
    POSITIONS,
    SUBSCRIPTION,
    Offset,
    QueueAddress,
    copied,
    key,
    lost,
    manager_of,
    refusal,
)
from openmsmq.spark.options import LATEST, Options
from openmsmq.spark.service import bands
from openmsmq.types.lookup import ARRIVAL_MASK
from openmsmq.types.subscriptions import SubscriptionInfo

Since = Mapping[str, int]
"What a stream leaves out: up to which arrival of each queue, or before which second."
SINCE_TIME: Final = "time"
QUEUES_SHOWN: Final = 50
"Queues that a report of the lag names, those with the greatest first."


@dataclass(frozen=True, slots=True)
class QueueSource:
    """A queue that is read."""

    place: QueueAddress
    reader: Subscription
    reserved: int
    "The last reserved position when the stream opened it."


class Subscribed:
    """The subscriptions with one name, of all queues of a stream."""

    def __init__(
        self,
        options: Options,
        fleet: Fleet,
        name: str,
        run: str,
        owner: str = "",
        *,
        rereads: bool = False,
    ) -> None:
        self.name = name
        self._owner = owner
        "The owner that they are opened for; empty where it is not known yet."
        self._options = options
        self._fleet = fleet
        self._run = run
        self._rereads = rereads
        self._sources: dict[str, QueueSource] = {}
        self._owned: dict[tuple[str, str], Subscription] = {}
        "Subscriptions opened for an owner, by what offsets call the queue, and the owner."
        self._admitted: set[str] = set()
        self._begun: set[str] = set()

    def sources(self) -> Mapping[str, QueueSource]:
        """The subscriptions, by what offsets call the queues; those of new queues are opened."""
        fleet = self._fleet
        for name in self._sources.keys() - fleet.queues.keys():
            del self._sources[name]
            self._owned = {at: one for at, one in self._owned.items() if at[0] != name}
            self._begun.discard(name)
        new = [name for name in fleet.queues if name not in self._sources]
        for group in self.by_manager(new):
            address = fleet.queues[group[0]].place.address
            try:
                self._sources |= dict(at_once(group, self._open))
            except ServiceNotAvailable as error:
                fleet.skip(address, error)
        return self._sources

    def _open(self, name: str) -> QueueSource:
        found = self._fleet.queues[name]
        copies = self._options.copies
        reader = found.queue.subscription(self.name, copy=copies, owner=self._owner)
        return QueueSource(found.place, reader, reader.reserved)

    def by_manager(self, names: Iterable[str]) -> list[list[str]]:
        """Names of queues in offsets, in a list for each manager."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(manager_of(name), []).append(name)
        return list(groups.values())

    # Whether the offset and the subscription go together

    def admit(self, offset: Offset) -> dict[str, int]:
        """Refuse a stream that would lose or repeat messages, before anything is reserved.

        Returns the positions from which queues go on instead, if losses are accepted.
        """
        moved: dict[str, int] = {}
        sources = self.sources()
        for name, source in sources.items():
            if name in self._admitted:
                continue
            reader, queue = source.reader, source.place.queue
            is_new = not offset.owner and self._options.resume
            if reader.owner and reader.owner != offset.owner and not is_new:
                raise refusal(self.name, queue, reader.owner)
            if name in offset.positions and not is_new:
                moved |= self._passed(name, source, offset)
            self._admitted.add(name)
        self._look_for_deleted(offset)
        return moved

    def _passed(self, name: str, source: QueueSource, offset: Offset) -> dict[str, int]:
        """Where a queue goes on if the subscription is elsewhere than the offset."""
        position = offset.positions[name]
        if position > source.reader.reserved:  # as it was when it was opened: ask again
            source = self._sources[name] = self._open(name)
        reader = source.reader
        where = f"subscription {self.name!r} of {source.place.queue} ({source.place.address})"
        if position > reader.reserved:
            self._look_for_other_name(name, offset)
            what = (
                f"option subscription: the checkpoint is at position {position} of {where}, which"
                f" has {reader.reserved}: it was dropped, or its manager was restored from a backup"
            )
        elif position < reader.committed:
            what = (
                f"option checkpointLocation: the checkpoint is at position {position} of {where},"
                f" which is done with {reader.committed}: it is an older state of the checkpoint,"
                " and what followed was read and is gone"
            )
        elif reader.owner and reader.owner == offset.owner and reader.marked > position:
            if self._rereads:
                return {}
            raise copied(self.name, source.place.queue, position, reader.marked)
        else:
            return {}
        if self._options.fail_on_data_loss:
            raise lost(what)
        return {name: reader.committed}

    def check_begin(self, name: str, position: int) -> int:
        """Where a batch that is done again begins; what was committed cannot be read again."""
        source = self._sources[name]
        done = source.reader.committed
        if position < done and self._options.fail_on_data_loss:
            raise lost(
                f"option checkpointLocation: a batch begins behind position {position} of"
                f" subscription {self.name!r} of {source.place.queue} ({source.place.address}),"
                f" which is done with {done}: it is an older state of the checkpoint"
            )
        return max(position, done)

    def _look_for_other_name(self, name: str, offset: Offset) -> None:
        """An older checkpoint does not say the name of its subscription; its owner is known."""
        found = self._fleet.queues[name]
        for info in found.manager.subscriptions() if offset.owner else ():
            if info.owner == offset.owner and info.name.lower() != self.name.lower():
                raise InvalidParameter(
                    f"option subscription is {self.name!r}, and the checkpoint is about"
                    f" {info.name!r} of {info.queue}: leave the name as it was, or give the stream"
                    " with the other name a checkpoint of its own"
                )

    def _look_for_deleted(self, offset: Offset) -> None:
        """Queues of the offset that are not there any more, although their manager is."""
        there = {one.manager.id: one.manager for one in self._fleet.queues.values()}
        missing = [
            name
            for name in offset.positions
            if name not in self._sources
            and name not in self._admitted
            and manager_of(name) in there
        ]
        known: dict[str, set[UUID]] = {}
        for name in missing:
            manager, queue = there[manager_of(name)], name.partition("/")[2].partition(";")[0]
            if manager.id not in known:
                known[manager.id] = {info.id for info in manager.queues(everything=True)}
            self._admitted.add(name)
            if queue not in map(str, known[manager.id]) and self._options.fail_on_data_loss:
                raise lost(
                    f"option queue: the checkpoint is about a queue of manager {manager.name} that"
                    f" is not there any more (GUID {queue}): it was deleted, and perhaps created"
                    " again, with what was not read"
                )

    # For the owner

    def bind(self, names: Iterable[str], owner: str, adopted: Mapping[str, int]) -> None:
        """Let subscriptions belong to the stream, and to this run of it, if they do not yet.

        `adopted` has what it has read before there were owners. Spark has written down the owner.
        """
        sources = self.sources()

        def work(name: str) -> None:
            source = sources[name]
            reader = self.for_owner(name, owner)
            read, take_over = adopted.get(name, 0), self._options.resume
            bind(reader, source.place.queue, self._run, take_over=take_over, read=read, begins=True)

        new = [name for name in names if name in sources and name not in self._begun]
        for group in self.by_manager(new):
            at_once(group, work)
        self._begun |= set(new)

    def for_owner(self, name: str, owner: str) -> Subscription:
        """A subscription as its owner reads it."""
        if owner == self._owner:
            return self._sources[name].reader
        if (name, owner) not in self._owned:
            queue = self._fleet.queues[name].queue
            self._owned[name, owner] = queue.subscription(
                self.name, copy=self._options.copies, owner=owner
            )
        return self._owned[name, owner]

    def finish(self, positions: Mapping[str, int], owner: str) -> None:
        """Be done with what queues of one manager have up to these positions."""
        sources = self._sources

        def work(name: str) -> None:
            position = positions[name]
            if position <= sources[name].reader.committed:
                return
            reader = self.for_owner(name, owner)
            if position > reader.committed:
                if reader.owner != owner:  # a batch that a sink has skipped had no task
                    take_over = self._options.resume
                    bind(reader, sources[name].place.queue, self._run, take_over=take_over)
                reader.commit(position, self._options.moves_to)

        # A manager that is skipped hears of it with a later batch.
        with suppress(*([ServiceNotAvailable] if self._options.skips_away else [])):
            at_once([name for name in positions if name in sources], work)


def bind(
    reader: Subscription,
    queue: str,
    run: str,
    *,
    take_over: bool,
    read: int = 0,
    begins: bool = False,
) -> None:
    """Let a subscription belong to a stream; it may have read some before it had owners."""
    try:
        reader.bind(take_over=take_over, read=read, run=run, begins=begins)
    except RunReplaced as error:
        raise RunReplaced(f"option checkpointLocation: {error.detail}") from error
    except SubscriptionTaken as error:
        raise refusal(reader.name, queue, reader.owner) from error


def latest(fleet: Fleet, subscribed: Subscribed) -> dict[str, Any]:
    """The positions that could be read up to, and the lag in messages, bytes and seconds.

    `lag` counts messages that are not reserved for the stream yet. Of messages that stay in their
    queue it is a lower bound.
    """
    known = subscribed.sources()

    def ask(manager: Manager) -> list[SubscriptionInfo] | str:
        try:
            return manager.subscriptions(subscribed.name)
        except MQError as error:
            return error.detail or error.name

    addresses = list(fleet.managers)
    with ThreadPoolExecutor(min(max(1, len(addresses)), AT_ONCE), "openmsmq-lag") as pool:
        answers = list(pool.map(ask, fleet.managers.values()))
    positions: dict[str, int] = {}
    queues: list[dict[str, Any]] = []
    managers: dict[str, Any] = {address: {"away": why} for address, why in fleet.away.items()}
    for address, found in zip(addresses, answers, strict=True):
        if isinstance(found, str):
            managers[address] = {"away": found}
            continue
        manager = fleet.managers.get(address)
        infos = {} if manager is None else {key(manager.id, one.queue_id): one for one in found}
        own = {name: info for name, info in infos.items() if name in known}
        positions |= {name: info.reserved + info.lag for name, info in own.items()}
        managers[address] = _sum(list(own.values()))
        queues += [{"manager": address, "queue": one.queue, **_sum([one])} for one in own.values()]
    queues.sort(key=lambda one: -one["lag"])
    return {
        POSITIONS: positions,
        SUBSCRIPTION: subscribed.name,
        "lag": sum(one["lag"] for one in queues),
        "oldestSeconds": max((one["oldestSeconds"] for one in queues), default=0),
        "reservedBytes": sum(one["reservedBytes"] for one in queues),
        "managers": managers,
        "queues": queues[:QUEUES_SHOWN],
    }


def _sum(infos: list[SubscriptionInfo]) -> dict[str, int]:
    return {
        "lag": sum(info.lag for info in infos),
        "oldestSeconds": max((info.oldest or 0 for info in infos), default=0),
        "reserved": sum(info.uncommitted for info in infos),
        "reservedBytes": sum(info.bytes for info in infos),
    }


# `startingPosition`: the subscription has what a stream leaves out, too; tasks drop these rows.


def begins(options: Options, fleet: Fleet) -> Since:
    """What a stream that begins now leaves out."""
    if isinstance(options.starting, int):
        return {SINCE_TIME: options.starting}
    if options.starting != LATEST:
        return {}
    return dict(at_once(fleet.queues, lambda name: _last_arrival(fleet.queues[name].queue)))


def _last_arrival(queue: Queue) -> int:
    return max((last & ARRIVAL_MASK for _, last in bands(queue)), default=0)


def left_out(
    since: Since, sources: Mapping[str, QueueSource], address: str
) -> tuple[tuple[str, int], ...]:
    """The same for tasks of one manager, by the names of queues."""
    found = [(name, number) for name, number in since.items() if name == SINCE_TIME]
    for name, source in sources.items():
        if name in since and source.place.address == address:
            found.append((source.place.queue, since[name]))
    return tuple(found)
