"""One seed: some managers, what is done with them, and what goes wrong meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from random import Random
from types import ModuleType
from typing import Final
from unittest.mock import patch

from openmsmq.engine.arrivals import acknowledgements as answering
from openmsmq.engine.arrivals import duplicates, incoming
from openmsmq.engine.arrivals.peers import Identity, Pin
from openmsmq.engine.commit import number_reservation
from openmsmq.engine.messages import expiry_sweep as expiring
from openmsmq.engine.messages import sparse_runs
from openmsmq.engine.outgoing import confirmations, sequence_numbers, sequences
from openmsmq.engine.outgoing import dispatch as dispatcher
from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Part, expanded
from openmsmq.engine.storage import recovery, runs
from openmsmq.engine.transactions import transaction
from openmsmq.packet.view import PacketView
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.mqqb import link
from openmsmq.transports.mqqb import order_acks as ordering
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.timers import SessionTimers
from openmsmq.transports.peers import peer as peers
from tests.simulation.checks import check
from tests.simulation.clients import Client
from tests.simulation.dependents import DependentReader
from tests.simulation.events import Scheduler
from tests.simulation.groups import Groups
from tests.simulation.hostile import NAME, Hostile, check_baits, check_bounds
from tests.simulation.ledger import NORMAL, Ledger
from tests.simulation.network import Net
from tests.simulation.node import Node
from tests.simulation.programs import MISSING, PLAIN, TRANSACTIONAL, Programs, set_up
from tests.simulation.readers import Reader
from tests.simulation.restoring import Backups
from tests.simulation.signatures import Signatures
from tests.simulation.trace import Trace
from tests.simulation.transfers import Transfers
from tests.simulation.web import Links

EVENTS_MAX: Final = 300_000
OFFSETS: Final = (0.0, 1.0, -1.0, 20.0, -20.0, 3600.0, -3600.0)
ALSO: Final = frozenset(("dependents", "groups", "readers", "signatures", "transfers"))
"What was added later, and lets seeds be something else."
PARTICIPANTS: Final = (
    "clients",
    "readers",
    "dependents",
    "groups",
    "transfers",
    "signatures",
    "hostile",
    "restores",
    "clones",
    "http",
)
"What a world may have beside managers and their own programs."
QUIET: Final = 3000.0
"Seconds without faults after which everything is where it belongs."
PATIENT: Final = 100.0
"Seconds between attempts to connect meanwhile: most are for computers that are gone."


class World:
    """All there is in one simulation."""

    signatures: Signatures | None = None
    "Programs that sign, in some worlds."

    def __init__(
        self, seed: int, *, trace: bool = False, also: Collection[str] = ALSO, http: float = 0.0
    ) -> None:
        """A seed without what is `also` there is what it was before there was any of it.

        `http` is the share of pairs of managers that exchange messages over HTTP.
        """
        self.seed = seed
        self.chance = Random(seed)
        self.scheduler = Scheduler()
        self.trace = Trace(self.scheduler, is_on=trace)
        self.ledger = Ledger(self.scheduler)
        self.net = Net(self.scheduler, self.chance, self.trace)
        if http:
            self.net.links = Links(seed, http)
        number = 2 if self.chance.random() < 0.6 else 3
        self.extra = Random(f"{seed} extra")
        "For what is rare: without it, a seed is what it would be if that did not exist."
        self.restores = self.extra.random() < 0.3
        self.failing_disks = self.extra.random() < 0.15
        self.offsets = self.extra.random() < 0.25
        self.has_hostile = self.extra.random() < 0.35
        self.clones = self.extra.random() < 0.12
        if http:  # a post has no identity: managers that are restored, doubled or lie are others
            self.restores = self.has_hostile = self.clones = False
        if self.clones:
            number, self.restores = 4, False
        self.sent: dict[int, list[tuple[int, int]]] = {}
        "On which connections messages were sent, and their places there."
        self.nodes = [
            Node(place, self.scheduler, self.net, self.ledger, self.chance)
            for place in range(number)
        ]
        self.programs = [
            Programs(
                node,
                [other for other in self.nodes if other is not node],
                self.scheduler,
                self.ledger,
                self.chance,
                self.trace,
            )
            for node in self.nodes
        ]
        self.groups: list[Groups] = []
        "Programs that send groups of messages to their own manager, which are stored as runs."
        group_chance = Random(f"{seed} groups")
        if "groups" in also and group_chance.random() < 0.5 and not self.clones:
            self.groups = [Groups(each, self.scheduler, group_chance) for each in self.programs]
        self.transfers = self._make_transfers(also) if "transfers" in also else []
        "Programs that send groups of messages to other managers."
        self.clients: list[Client] = []
        if self._has_clients():
            self._add_clients()
        self.readers: list[Reader] = []
        if "readers" in also and self._has_readers():
            self._add_readers()
        self._add_dependents(also)
        self.identity = Identity.ADDRESS
        self.hostile: Hostile | None = None
        if self.has_hostile:
            self._add_hostile()
        for node in self.nodes[2:] if self.clones else ():
            node.is_copied = True
            node.is_absent = node is self.nodes[-1]
        self.backups = Backups(self.nodes, self.scheduler, self.extra)
        self.is_faulty = True
        self._choose()
        self.calm_at = 2.0 + self.span
        "When the faults end."

    def _add_hostile(self) -> None:
        honest = self.nodes[:2] if self.clones else self.nodes
        self.hostile = Hostile(honest, self.scheduler, self.net, self.ledger, self.extra)
        self.hostile.claims = self.extra.random() < 0.8
        others = (Identity.ADDRESS, Identity.PINNED, Identity.CLAIMED)
        usual = (Identity.ADDRESS, Identity.ADDRESS, Identity.PINNED)
        self.identity = self.extra.choice(usual if self.hostile.claims else others)

    def _make_transfers(self, also: Collection[str]) -> list[Transfers]:
        chance = Random(f"{self.seed} transfers")
        if self.clones or chance.random() >= 0.3:
            return []
        found = [
            Transfers(
                each, [node for node in self.nodes if node is not each.node], self.scheduler, chance
            )
            for each in self.programs
        ]
        signing = Random(f"{self.seed} signatures")
        if "signatures" in also and signing.random() < 0.5 and self.net.links is None:
            self.signatures = Signatures(self.nodes, found, signing)
        return found

    def _has_clients(self) -> bool:
        """Whether programs use connections; after a restore it is not known what was answered."""
        self.net.program_chance = Random(f"{self.seed} programs")
        wanted = self.net.program_chance.random() < 0.5
        return wanted and not self.restores and not self.clones

    def _add_clients(self) -> None:
        chance, number = self.net.program_chance, count(1)
        for node in self.nodes:
            others = [other for other in self.nodes if other is not node]
            for _ in range(chance.choice((1, 2))):
                client = Client(
                    next(number), node, others, self.net, self.scheduler, self.ledger, chance
                )
                if self.groups:
                    client.groups = Random(f"{self.seed} {client.name}")
                self.clients.append(client)

    def _has_readers(self) -> bool:
        """Whether programs elsewhere read remotely; never where those on connections cannot be."""
        self.reader_chance = Random(f"{self.seed} readers")
        wanted = self.reader_chance.random() < 0.5
        return wanted and not self.restores and not self.clones

    def _add_readers(self) -> None:
        chance, number = self.reader_chance, count(1)
        for node in self.nodes:
            for _ in range(chance.choice((1, 2))):
                reader = Reader(next(number), node, self.net, self.scheduler, self.ledger, chance)
                self.readers.append(reader)

    def _add_dependents(self, also: Collection[str]) -> None:
        """Clients without a manager, in some worlds in which there may be readers."""
        chance, number = Random(f"{self.seed} dependents"), count(1)
        wanted = chance.random() < 0.3 and "dependents" in also
        if not wanted or self.restores or self.clones:
            return
        for node in self.nodes:
            parts = self.net, self.scheduler, self.ledger, chance
            self.readers.append(DependentReader(next(number), node, *parts))

    @property
    def participants(self) -> frozenset[str]:
        """Which of `PARTICIPANTS` there are."""
        dependents = [item for item in self.readers if isinstance(item, DependentReader)]
        there = (
            self.clients,
            len(self.readers) > len(dependents),
            dependents,
            self.groups,
            self.transfers,
            self.signatures is not None,
            self.hostile is not None,
            self.restores,
            self.clones,
            self.net.links is not None,
        )
        return frozenset(
            name for name, is_there in zip(PARTICIPANTS, there, strict=True) if is_there
        )

    def _choose(self) -> None:
        """What can go wrong with this seed."""
        chance = self.chance
        self.crashes = chance.random() < 0.6
        self.cuts = chance.random() < 0.7
        self.full_disks = chance.random() < 0.2
        self.breaks = chance.random() < 0.2
        self.io_errors = chance.random() < 0.2
        self.quotas = chance.random() < 0.15
        self.jumps = chance.random() < 0.2
        self.net.is_slow = chance.random() < 0.2
        self.net.is_faulty = self.cuts
        self.is_tight = chance.random() < 0.5
        self.stops = chance.random() < 0.3
        window = chance.choice((1, 2, 5, 64)) if chance.random() < 0.3 else 2048
        for node in self.nodes:
            node.timing = SessionTimers(window=window)
        self.drains = chance.random() < 0.5
        self.span = chance.choice((10.0, 20.0, 40.0, 120.0))
        rate = chance.choice((8.0, 20.0)) / self.span
        purges, pauses = chance.random() < 0.2, chance.random() < 0.3
        lifetimes = chance.random() < 0.4
        for programs in self.programs:
            programs.rate = rate
            programs.is_purging = purges
            programs.is_pausing = pauses
            programs.letters.has_lifetimes = lifetimes
        for groups in self.groups:
            groups.rate = rate
        for transfers in self.transfers:
            transfers.rate = rate
        for client in self.clients:
            client.rate = 2 * rate
            client.letters.has_lifetimes = lifetimes
        for reader in self.readers:
            reader.rate = 2 * rate

    # Faults

    def _fault(self) -> None:
        """Something goes wrong, and more will."""
        if not self.is_faulty:
            return
        self.scheduler.after(self.chance.expovariate(8 / self.span), self._fault)
        node = self.chance.choice(self.nodes)
        fault = self.chance.choices(
            (
                self._crash,
                self._cut,
                self._slow_disk,
                self._full_disk,
                self._break,
                self._io_error,
                self._quota,
                self._jump,
            ),
            (30, 20, 20, 10, 10, 5, 10, 10),
        )[0]
        if node.is_up:
            fault(node)

    def _cut(self, node: Node) -> None:
        if self.cuts:
            self.net.cut_some()

    def _slow_disk(self, node: Node) -> None:
        node.slow_disk = self.chance.choice((0.001, 0.01, 0.5, 3.0, 3.0))

    def _full_disk(self, node: Node) -> None:
        node.fails = self.chance.choice((0.0, 0.3)) if self.full_disks else 0.0

    def _break(self, node: Node) -> None:
        node.breaks = self.chance.choice((0.0, 0.02, 0.3)) if self.breaks else 0.0

    def _io_error(self, node: Node) -> None:
        node.io_errors = self.chance.choice((0.0, 0.02, 0.2)) if self.io_errors else 0.0

    def _quota(self, node: Node) -> None:
        if self.quotas:
            quota = self.chance.choice((None, 2, 10))
            node.do(lambda: self._configure(node, quota))

    def _jump(self, node: Node) -> None:
        if self.jumps:
            node.clock.offset = self.chance.choice((0.0, -900.0, 900.0, 7.0, -7.0))
            node.clock.has_jumped = True

    def _configure(self, node: Node, quota: int | None) -> None:
        assert node.local is not None
        self.trace.note(f"{node.name} has a quota of {quota}")
        node.local.configure(quota=quota)

    def _crash(self, node: Node) -> None:
        if self.stops and self.chance.random() < 0.5:
            node.stop()
        elif not self.crashes:
            return
        elif self.chance.random() < 0.5:
            node.die()
        else:
            node.die_at(1 + self.chance.randrange(60), after=self.chance.random() < 0.5)

    def _revive(self) -> None:
        """A manager that is down comes back some time."""
        if self.scheduler.now < self.calm_at + 10:
            self.scheduler.after(self.chance.random() * 5, self._revive)
        for node in self.nodes:
            if (
                not node.is_up
                and not node.is_absent
                and (not self.is_faulty or self.chance.random() < 0.4)
            ):
                dies = self.is_faulty and self.chance.random() < 0.2
                node.start(dies_at=1 + self.chance.randrange(40) if dies else 0)

    def _prepare(self) -> None:
        """What is rare, if this seed has any of it."""
        for node in self.nodes:
            if self.failing_disks:
                node.dies = self.extra.choice((0.01, 0.05))
        if self.restores:
            self.backups.begin(self.span)
        if self.clones:
            self.scheduler.after(self.extra.random() * self.span, self._clone)
        if self.hostile is not None:
            self.hostile.begin(self.span)
            for _ in range(10):
                programs = self.extra.choice(self.programs)
                self.scheduler.after(self.extra.random() * self.span, partial(self._bait, programs))

    def _bait(self, programs: Programs) -> None:
        node = programs.node
        if node.is_up and not node.is_stopping and not node.is_copied:
            node.do(partial(programs.bait, NAME))

    def _clone(self) -> None:
        """A machine starts with a copy of another one's disk."""
        original, copy = self.nodes[2:]
        copy.store = MemoryStore(original.store.committed)
        copy.is_absent = False
        copy.start()

    # One run

    def run(self) -> None:
        """Everything, to the end."""
        self._begin()
        self._let_work()
        self._fault()
        self._revive()
        self._prepare()
        self._let_pass(self.span)
        self._calm()
        self._let_pass(15.0)
        for client in self.clients:
            client.end()
        for reader in self.readers:
            reader.end()
        self._wind_up()
        if self.hostile is not None:
            for node in self.nodes:
                check_bounds(node)
                if self.is_tight:  # else more counts as sent after a crash than was (SENT_STEP)
                    check_baits(node, self.ledger)
        for node in self.nodes:
            assert node.server is not None
            assert not node.server.clients, f"{node.name} has sessions of programs that are gone"
            assert node.readers is not None
            left = node.readers.associations
            assert not left, f"{node.name} has {left} associations of readers that are gone"
        check(self.nodes, self.ledger, self.sent, drained=self.drains)

    def _let_work(self) -> None:
        """All programs begin."""
        for programs in self.programs:
            programs.go()
        for groups in self.groups:
            groups.go()
        for transfers in self.transfers:
            transfers.go()
        for client in self.clients:
            client.go()
        for reader in self.readers:
            reader.go()

    def _check_clones(self) -> None:
        """Those who speak to both of two managers with one identity name both."""
        original, copy = self.nodes[2:]
        assert original.guid == copy.guid
        for node in self.nodes[:2]:
            assert node.transport is not None
            named = node.transport.session_table.clones.get(original.guid, ())
            assert {*named} == {original.address, copy.address}, f"{node.name} names {named}"

    def _begin(self) -> None:
        """All managers run, and know each other."""
        self.net.is_faulty, faulty = False, self.net.is_faulty
        for node in self.nodes:
            if self.offsets:
                node.clock.offset = self.extra.choice(OFFSETS)
            if not node.is_absent:
                node.start()
                node.do(partial(set_up, node))
        self._let_pass(1.0)
        if self.is_rare:
            self._greet((*TRANSACTIONAL, *PLAIN, MISSING))
            self._let_pass(1.0)
        self._pin()
        self.net.is_faulty = faulty

    def _pin(self) -> None:
        """Configure what is asked of peers, now that it is known who is who."""
        if self.identity is self.net.identity:
            return
        self.net.identity = self.identity
        self.net.pins = {
            node.name: Pin(node.guid) for node in self.nodes if node.is_up and not node.is_copied
        }
        for node in self.nodes:
            if node.is_up:
                node.die()
                node.start()

    def _end_programs(self) -> None:
        """Programs send nothing more, and nothing holds messages back."""
        for programs in self.programs:
            node = programs.node
            node.do(programs.resume_all)
            node.do(partial(self._configure, node, None))
            programs.is_sending = programs.is_receiving = False
            if self.net.links is not None:  # a stream over HTTP waits for room (HTTP-49)
                node.do(programs.make_room)

    def _wind_up(self) -> None:
        """Nothing more is sent, and everything gets where it belongs."""
        self._end_programs()
        if self.is_rare:
            self._greet(TRANSACTIONAL[:1])
        if self.clones:
            self._let_pass(180.0)  # so long may a session stay half open
            self._check_clones()
        if self.hostile is not None:
            for node in self.nodes:
                check_bounds(node)
        self._rest()
        if self.drains:
            for programs in self.programs:
                programs.node.do(programs.drain)
            self._rest()
        if self.full_disks or self.breaks:  # what could not be removed is removed by the next start
            for node in self.nodes:
                node.die()
                node.start()
            self._rest()

    @property
    def tight(self) -> Sequence[tuple[ModuleType, str, int]]:
        """What needs few messages here; a poster is a stranger, little is kept for it."""
        if not self.is_tight:
            return ()
        if self.net.links is None:
            return TIGHT
        return [item for item in TIGHT if item[0] not in (incoming, duplicates, answering)]

    @property
    def is_rare(self) -> bool:
        """Something happens that only some seeds have."""
        rare = (self.restores, self.failing_disks, self.offsets, self.has_hostile, self.clones)
        return any(rare)

    def _greet(self, queues: Sequence[str]) -> None:
        for programs in self.programs:
            programs.node.do(partial(programs.greet, queues))

    def _calm(self) -> None:
        """No more faults; what holds messages back ends."""
        self.trace.note("faults end")
        self.is_faulty = self.backups.is_on = False
        if self.hostile is not None:
            self.hostile.end()
        self.net.is_faulty = self.net.is_slow = False
        for node, programs in zip(self.nodes, self.programs, strict=True):
            node.fails = node.breaks = node.dies = node.io_errors = 0.0
            node.slow_disk = 0.01
            node.store._fails_at = -1
            programs.is_pausing = False

    def _rest(self) -> None:
        """Let everything get where it belongs."""
        with patch.object(peers, "RETRY_MAX", PATIENT):
            self._let_pass(QUIET)

    def _let_pass(self, seconds: float) -> None:
        self.scheduler.run(self.scheduler.now + seconds, EVENTS_MAX)


TIGHT: Final[Sequence[tuple[ModuleType, str, int]]] = (
    (confirmations, "STEP", 3),
    (emptying, "STEP", 3),
    (expiring, "STEP", 3),
    (runs, "COUNT_MIN", 1),
    (runs, "SPARSE", 1),
    (sparse_runs, "PATIENCE", 1),
    (transaction, "SPILL_SIZE", 700),
    (number_reservation, "MESSAGE_ID_BLOCK", 64),
    (recovery, "MESSAGE_ID_BLOCK", 64),
    (ordering, "ORDER_ACK_MESSAGES_MAX", 4),
    (link, "TAKE_MAX", 3),
    (link, "TAKE_SIZE_MAX", 1500),
    (link, "IN_FLIGHT_SIZE_MAX", 4000),
    (link, "ARRIVED_SIZE_MAX", 2000),
    (sequences, "SENT_STEP", 1),
    (sequence_numbers, "SENT_STEP", 1),
    (dispatcher, "SENT_STEP", 1),
    (incoming, "STRANGER_SEQUENCES_MAX", 20),
    (duplicates, "STRANGER_DUPLICATES_MAX", 30),
    (answering, "UNSOLICITED_MAX", 3),
    (answering, "ANSWERS_MAX", 3),
)
"What lets happen after few messages what else happens after many."


@contextmanager
def repeatable(world: World) -> Iterator[None]:
    """Let sets keep the same order in every run, and watch what is sent.

    If the world is tight, what needs many messages needs few.
    """
    numbers = count()
    hashes: dict[int, int] = {}
    places = count()
    links: dict[Link, None] = {}
    send = Link._send

    def of_link(made: Link) -> int:
        return hashes.setdefault(id(made), next(numbers))

    def watched(made: Link, queue: ManagedQueue, parts: list[Part]) -> None:
        links[made] = None  # so that no other gets its number
        for entry in expanded(parts):
            view = PacketView(entry.packet)
            uid = view.app_specific
            world.ledger.handed.add(uid)
            letter = world.ledger.letters.get(uid)
            if letter is not None and view.message_class == NORMAL:
                letter.identifier = view.identifier
                world.sent.setdefault(letter.uid, []).append((hash(made), next(places)))
        send(made, queue, parts)

    with ExitStack() as stack:
        stack.enter_context(patch.object(Link, "_send", watched))
        stack.enter_context(patch.object(ManagedQueue, "__hash__", lambda queue: queue.number))
        stack.enter_context(patch.object(Link, "__hash__", of_link))
        for module, name, value in world.tight:
            stack.enter_context(patch.object(module, name, value))
        yield


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for garbage when a world is over, and not again and again among all that is alive."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Failed(Exception):
    """A seed for which something does not hold."""


def simulate(
    seed: int, *, trace: bool = False, also: Collection[str] = ALSO, http: float = 0.0
) -> World:
    """Run one seed; `Failed` with what does not hold. With `http`, there is nothing else also."""
    world = World(seed, trace=trace, also=() if http else also, http=http)
    with repeatable(world), _uncollected():
        try:
            world.run()
        except Exception as error:
            world.trace.note(f"failed: {error!r}")
            raise Failed(f"seed {seed}: {error!r}", world) from error
    return world
