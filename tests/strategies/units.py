"""Units in a world where the program, its managers and its database die at any step."""

from __future__ import annotations

import contextlib
from enum import StrEnum
from typing import Any, cast

import openmsmq
from openmsmq import Manager
from openmsmq.client._sync.backend import Backend
from openmsmq.client.embedded._sync.embedded import Embedded, EmbeddedWork
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import ConnectionLost, DtcConnect, MQError
from openmsmq.runtime.drivers import ThreadDriver
from openmsmq.store.memory import MemoryStore
from openmsmq.types.queues import QueueKind
from tests.strategies.databases import Connection, Database, DatabaseError
from tests.unit.engine.world import HandClock


class Victim(StrEnum):
    """Who dies."""

    PROGRAM = "program"
    DECIDER = "decider"
    OTHER = "other"
    DATABASE = "database"


class Killed(BaseException):
    """The program dies here."""


class Outcome(StrEnum):
    """What a program knows of its unit."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Party:
    """A queue manager that runs as a service would: it outlives programs, and is started again."""

    def __init__(self, number: int) -> None:
        self._clock = HandClock(1_700_000_000 + number)
        for _ in range(number * 100):
            self._clock.new_guid()
        self.local = QueueManager(MemoryStore(), self._clock, name=f"server{number}")
        self.embedded = Embedded(self.local, ThreadDriver(self.local, self.local.clock))
        self._works: list[EmbeddedWork] = []
        self.lives = 0

    def restart(self) -> None:
        """Die, and start on what is on disk."""
        store = self.local.store
        assert isinstance(store, MemoryStore)
        self.local = QueueManager(MemoryStore(store.committed), self._clock, name=self.local.name)
        self.embedded = Embedded(self.local, ThreadDriver(self.local, self.local.clock))
        self._works = []
        self.lives += 1

    def began(self, work: EmbeddedWork) -> None:
        """A program has begun a transaction."""
        self._works.append(work)

    def drop_programs(self) -> None:
        """All connections are gone: what is not prepared is aborted, no one attends to units."""
        for work in self._works:
            if work.begun.is_undecided:
                self.embedded.abort(work)
        self._works = []
        units = self.local.units
        units.leave([unit.name for unit in units.decided])

    def is_at_rest(self) -> bool:
        """Nothing is prepared, undecided or held."""
        held = [
            lookup
            for queue in self.local.queues.everything
            if queue.kind is QueueKind.PRIVATE
            for lookup in queue.holds
        ]
        return not (self.local.prepared or self.local.units.decided or held)


class Line:
    """A connection to a manager, which breaks when the manager dies."""

    def __init__(self, world: World, victim: Victim) -> None:
        self._world = world
        self._party = world.parties[victim]
        self._victim = victim

    def __getattr__(self, name: str) -> Any:
        if name in ("name", "id", "state"):
            return getattr(self._party.embedded, name)

        def call(*values: Any, **given: Any) -> Any:
            return self._call(name, *values, **given)

        return call

    def is_open(self, work: EmbeddedWork) -> bool:
        """Whether the manager has lived since."""
        return work.backend is self._party.embedded

    def _call(self, name: str, *values: Any, **given: Any) -> Any:
        life = self._party.lives
        self._step(f"before {name}", life)
        found = getattr(self._party.embedded, name)(*values, **given)
        if isinstance(found, EmbeddedWork):
            self._party.began(found)
        self._step(f"after {name}", life)
        return found

    def _step(self, name: str, life: int) -> None:
        self._world.step(f"{self._victim}: {name}")
        if self._party.lives != life:
            raise ConnectionLost(f"{self._victim} died")


class World:
    """A manager that decides, another one, a database, and a program after the other."""

    def __init__(self) -> None:
        self.parties = {Victim.DECIDER: Party(1), Victim.OTHER: Party(2)}
        self.database = Database()
        self.steps: list[str] = []
        self._dies: tuple[int, Victim] | None = None
        for victim, queue in ((Victim.DECIDER, "orders"), (Victim.OTHER, "done")):
            party = self.parties[victim]
            party.embedded.create_queue(queue, {"transactional": True})
        manager = Manager(self._backend(Victim.DECIDER))
        with manager.transaction() as begun:
            manager.open_queue("orders").send("order", transaction=begun)
        self.steps = []

    def _backend(self, victim: Victim) -> Backend:
        return cast(Backend, Line(self, victim))

    def kill_at(self, step: int, victim: Victim) -> None:
        """Let someone die at a step, counted from now and from 1."""
        self.steps, self._dies = [], (step, victim)

    def step(self, name: str) -> None:
        """Something is about to be done, or has been."""
        self.steps.append(name)
        if self._dies is None or len(self.steps) != self._dies[0]:
            return
        _, victim = self._dies
        if victim is Victim.PROGRAM:
            raise Killed
        if victim is Victim.DATABASE:
            self.database.restart()
        else:
            self.parties[victim].restart()

    def run(self, *, with_other: bool = True) -> Outcome:
        """A program takes an order, writes it to the database, and says so to another manager."""
        decider, other = (
            Manager(self._backend(Victim.DECIDER)),
            Manager(self._backend(Victim.OTHER)),
        )
        connection = Connection(self.database, lambda name: self.step(f"database: {name}"))
        others: list[Any] = [connection, other] if with_other else [connection]
        try:
            with openmsmq.distributed(decider, *others, patience=0) as unit:
                order = decider.open_queue("orders").receive(timeout=0, transaction=unit)
                connection.insert(str(order.text))
                if with_other:
                    other.open_queue("done").send(str(order.text), transaction=unit[other])
        except Killed:
            return Outcome.UNKNOWN
        except DtcConnect as error:
            is_known = "the outcome is unknown" not in str(error)
            return Outcome.ABORTED if is_known else Outcome.UNKNOWN
        except (MQError, DatabaseError):
            return Outcome.ABORTED
        return Outcome.COMMITTED

    def recover(self) -> None:
        """The next program looks for what the last one has left."""
        for party in self.parties.values():
            party.drop_programs()
        decider, other = (
            Manager(self._backend(Victim.DECIDER)),
            Manager(self._backend(Victim.OTHER)),
        )
        connection = Connection(self.database, lambda name: self.step(f"database: {name}"))
        with contextlib.suppress(Killed, MQError, DatabaseError):
            openmsmq.recover(decider, connection, other)

    def recover_beside(self) -> list[str]:
        """What another program finds while one is active."""
        decider, other = (
            Manager(self._backend(Victim.DECIDER)),
            Manager(self._backend(Victim.OTHER)),
        )
        found = openmsmq.recover(decider, Connection(self.database), other)
        return [one.outcome for one in found]

    def live_on(self) -> None:
        """No one dies any more."""
        self._dies = None

    def check(self, outcome: Outcome) -> None:
        """All agree, with each other and with what the program was given, and nothing is left."""
        texts = []
        for victim, queue in ((Victim.DECIDER, "orders"), (Victim.OTHER, "done")):
            embedded = self.parties[victim].embedded
            texts.append([m.text for m in _peek(embedded, queue)])
        orders, done = texts
        is_committed = orders == []
        assert orders in ([], ["order"])
        assert self.database.rows == (["order"] if is_committed else [])
        assert done in ([], self.database.rows)
        assert not self.database.prepared
        for party in self.parties.values():
            assert party.is_at_rest()
        if outcome is not Outcome.UNKNOWN:
            assert is_committed == (outcome is Outcome.COMMITTED), outcome


def _peek(embedded: Embedded, queue: str) -> list[openmsmq.ReceivedMessage]:
    manager = Manager(embedded)
    return manager.open_queue(queue).peek_many(10, timeout=0)
