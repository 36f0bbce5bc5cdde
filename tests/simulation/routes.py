"""One country: sites, links and managers that route, cut, off the network and restarted at random.

A message arrives exactly if there is a path that alternates without loops allow (RT-02) once
failures stop changing; else it waits, and all arrive when everything works again.
"""

from __future__ import annotations

from random import Random
from typing import Final
from uuid import UUID

from openmsmq.engine.storage.tables import Table
from openmsmq.names.format import PrivateName
from openmsmq.packet.view import PacketView
from openmsmq.routing.file import read_topology
from openmsmq.routing.follow import Failures, RouteEnd, RouteFinder
from openmsmq.types.message import Message
from tests.unit.transports.wires import Net, Place, Station

NAMES: Final = "abcdefgh"
SETTLED: Final = 500
"Seconds after which idle sessions are closed, and what failed before is tried again."
HEALED: Final = 30_000
"Seconds after which everything is where it belongs."
Stream = tuple[str, str, bool]
"Source, goal, and whether its messages are transactional."


class Country:
    """Some sites with managers, links between them, and what is cut and down."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = Random(seed)
        self._extra = Random(f"{seed} restarts")
        "Without it, a seed is what it would be if no manager were restarted."
        self._restarts = self._extra.random() < 0.7
        self._islands = Random(f"{seed} islands")
        "Without it, no site is cut from all others, and all costs vary."
        self.restarted = 0
        self.net = Net()
        self.net.is_reachable = self._is_reachable
        names = NAMES[: rng.randint(3, 8)]
        self.stations = {name: Station(self.net, name, peers={}) for name in names}
        self.text = self._draw(names)
        self.topology = read_topology(self.text)
        self.finder = RouteFinder(self.topology)
        self.ids = {station.local.identity: name for name, station in self.stations.items()}
        self.guids = {name: guid for guid, name in self.ids.items()}
        self.failures = Failures()
        self.sent: dict[Stream, list[str]] = {}
        for station in self.stations.values():
            station.create("plain")
            station.create("ordered", transactional=True)
            station.enter(lambda station=station: station.local.configure(topology=self.text))  # type: ignore[misc]

    def _draw(self, names: str) -> str:
        """A topology, as its file has it."""
        rng = self.rng
        sites = [f"s{number}" for number in range(rng.randint(1, min(5, len(names))))]
        places = {name: sites[at % len(sites)] for at, name in enumerate(names)}
        routers = [name for at, name in enumerate(names) if at < len(sites) or rng.random() < 0.5]
        lines = [f'[[sites]]\nname = "{site}"' for site in sites]
        is_even = self._islands.random() < 0.5  # many sites are as far from one as others are
        for at, one in enumerate(sites):
            for other in sites[at + 1 :]:
                if rng.random() < 0.7:
                    gates = [n for n in routers if places[n] in (one, other) and rng.random() < 0.9]
                    cost = rng.randint(1, 4)
                    lines.append(
                        f'[[links]]\nsite1 = "{one}"\nsite2 = "{other}"\n'
                        f"cost = {1 if is_even else cost}\ngates = {gates!r}"
                    )
        for name, station in self.stations.items():
            servers = rng.sample(routers, min(2, len(routers)))
            extra = ""
            if name not in routers and rng.random() < 0.3:
                extra = f"\n{rng.choice(('in', 'out'))} = {servers!r}"
            lines.append(
                f'[[managers]]\nname = "{name}"\nid = "{station.local.identity}"\n'
                f'sites = ["{places[name]}"]\nrouter = {str(name in routers).lower()}\n'
                f'address = "{station.host}"{extra}'
            )
        return "\n".join(lines)

    # What goes wrong

    def _is_reachable(self, station: Station, place: Place) -> bool:
        there = self.net.stations.get(place)
        assert isinstance(there, Station)
        here, goal = station.local.identity, there.local.identity
        return not (self._hinders(here, goal) or self._hinders(goal, here))

    def fail(self) -> None:
        """Other sites are cut from each other, other managers are off the network or restarted."""
        sites = list(self.topology.sites)
        pairs = [frozenset((one, other)) for one in sites for other in sites if one < other]
        cut = {pair for pair in pairs if self.rng.random() < 0.4}
        if self._islands.random() < 0.4:  # messages wait before it, and must not go in circles
            island = self._islands.choice(sites)
            cut |= {pair for pair in pairs if island in pair}
        down = {manager for manager in self.ids if self.rng.random() < 0.15}
        self._set(Failures(down, cut))
        self.restart_some()

    def heal(self) -> None:
        """Everything works again."""
        self._set(Failures())

    def _set(self, failures: Failures) -> None:
        self.failures = failures
        by_host = {station.host: station for station in self.stations.values()}
        for end in list(self.net.ends):
            if end.is_over:
                continue
            far = by_host[end.address].local.identity
            near = by_host[end.other.address].local.identity
            one, other = self._hinders(near, far), self._hinders(far, near)
            if one or other:
                end.cut()

    def restart_some(self) -> None:
        """Managers die with what they have in memory, and start again on their disks."""
        for name in list(self.stations) if self._restarts else ():
            if self._extra.random() < 0.4:
                station = self.stations[name]
                station.die()
                disk = station.store.committed
                self.stations[name] = Station(self.net, name, disk=disk, peers={})
                self.restarted += 1

    def _hinders(self, near: UUID, far: UUID) -> bool:
        return self.failures.hinder(self.topology, near, far)

    # What is sent

    def send(self) -> None:
        """One message, from anyone to anyone else."""
        source, goal = self.rng.sample(list(self.stations), 2)
        ordered = self.rng.random() < 0.5
        station, there = self.stations[source], self.stations[goal]
        number = there.local.find_queue("ordered" if ordered else "plain").number
        name = str(PrivateName(there.local.identity, number))
        texts = self.sent.setdefault((source, goal, ordered), [])
        text = f"{source}{goal}{len(texts)};"
        texts.append(text)
        message = Message(text.encode(), recoverable=True, time_to_reach_queue=None)
        queue = station.out(name)
        send = station.send_in if ordered else station.send
        station.enter(lambda: send(queue, message))

    def arrived(self, goal: str, *, ordered: bool) -> dict[str, list[int]]:
        """What is in a queue, and how many routers each copy has passed."""
        local = self.stations[goal].local
        queue = local.find_queue("ordered" if ordered else "plain")
        found: dict[str, list[int]] = {}
        pending = local.receiver.peek(queue, 10_000, self, wait=False)
        for entry in [] if pending.error is not None else pending.result():
            view = PacketView(entry.packet)
            found.setdefault(bytes(view.body).decode(), []).append(view.hop_count)
        return found

    def has_way(self, source: str, goal: str) -> bool:
        """Whether messages of one manager reach another when everything works."""
        return self.finder.follow(self.guids[source], self.guids[goal]).result is RouteEnd.DELIVERED

    # What must hold

    def check_ways(self, before: dict[Stream, int]) -> None:
        """Messages that were sent after the last failure arrive exactly if there is a way.

        Plain ones: others may wait for those that were sent before them. They do not go in circles.
        """
        for (source, goal, ordered), texts in self.sent.items():
            fresh = texts[before.get((source, goal, ordered), 0) :]
            if ordered or not fresh or self.guids[source] in self.failures.down:
                continue
            route = self.finder.follow(self.guids[source], self.guids[goal], self.failures)
            there = self.arrived(goal, ordered=False)
            for text in fresh:
                wanted = [route.hop_count] if route.result is RouteEnd.DELIVERED else []
                got = there.get(text, [])
                assert got == wanted, f"{text} passed {got} routers, not {wanted}: {route.result}"

    def check_kept(self) -> None:
        """Every message that has not arrived waits somewhere."""
        kept = b"".join(
            packet
            for station in self.stations.values()
            for packet in station.store.committed.tables[Table.PACKETS].values()
        )
        for (_, goal, ordered), texts in self.sent.items():
            there = self.arrived(goal, ordered=ordered)
            lost = [text for text in texts if text not in there and text.encode() not in kept]
            assert not lost, f"{lost} are neither there nor under way"

    def check_all(self) -> None:
        """Every message that has a way is there, once, those of a sequence in order."""
        for (source, goal, ordered), texts in self.sent.items():
            if not self.has_way(source, goal) or not self.has_way(goal, source):
                continue
            there = self.arrived(goal, ordered=ordered)
            own = [text for text in there if text.startswith(source + goal)]
            twice = [text for text in own if len(there[text]) > 1]
            assert not twice, f"{twice} came twice"
            if ordered:
                assert own == texts, f"{source} -> {goal}: {own}, not {texts}"
            else:
                assert sorted(own) == sorted(texts), f"{source} -> {goal}: {own}, not {texts}"


def travel(seed: int) -> Country:
    """One country: messages, failures, messages of which it is known what must happen, healing."""
    country = Country(seed)
    for _ in range(country.rng.randint(1, 3)):
        for _ in range(country.rng.randint(0, 6)):
            country.send()
        country.net.wait(country.rng.choice((0, 1, 40)))
        country.fail()
    country.net.wait(SETTLED)
    before = {key: len(texts) for key, texts in country.sent.items()}
    for _ in range(6):
        country.send()
    country.net.wait(600)
    country.check_ways(before)
    country.restart_some()  # with messages that wait in them
    country.check_kept()
    country.heal()
    country.net.wait(HEALED)
    country.check_kept()
    country.check_all()
    return country
