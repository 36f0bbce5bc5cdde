"""Random topologies and failures, with real managers: what can arrive does, once and in order.

python -m tests.simulation.test_routes 0 5000
"""

from __future__ import annotations

import random
import sys
from uuid import UUID

import pytest

from openmsmq.names.format import PrivateName
from openmsmq.routing.file import read_topology
from openmsmq.routing.follow import Failures, RouteEnd, RouteFinder
from openmsmq.types.message import Message
from tests.unit.transports.wires import Net, Place, Station

NAMES = "abcdefgh"


class Country:
    """Some sites with managers, links between them, and what is cut and down."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.net = Net()
        self.net.is_reachable = self._is_reachable
        names = NAMES[: rng.randint(3, 8)]
        self.stations = {name: Station(self.net, name, peers={}) for name in names}
        sites = [f"s{number}" for number in range(rng.randint(1, min(5, len(names))))]
        places = {name: sites[at % len(sites)] for at, name in enumerate(names)}
        routers = [name for at, name in enumerate(names) if at < len(sites) or rng.random() < 0.5]
        lines = [f'[[sites]]\nname = "{site}"' for site in sites]
        for at, one in enumerate(sites):
            for other in sites[at + 1 :]:
                if rng.random() < 0.7:
                    gates = [n for n in routers if places[n] in (one, other) and rng.random() < 0.9]
                    lines.append(
                        f'[[links]]\nsite1 = "{one}"\nsite2 = "{other}"\n'
                        f"cost = {rng.randint(1, 4)}\ngates = {gates!r}"
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
        self.text = "\n".join(lines)
        self.topology = read_topology(self.text)
        self.ids = {station.local.identity: name for name, station in self.stations.items()}
        self.failures = Failures()
        self.sent: dict[tuple[str, str, bool], list[str]] = {}
        for station in self.stations.values():
            station.create("plain")
            station.create("ordered", transactional=True)
            station.enter(lambda station=station: station.local.configure(topology=self.text))  # type: ignore[misc]

    def _is_reachable(self, station: Station, place: Place) -> bool:
        there = self.net.stations.get(place)
        assert isinstance(there, Station)
        here, goal = station.local.identity, there.local.identity
        return not (self._hinders(here, goal) or self._hinders(goal, here))

    def fail(self) -> None:
        """Other sites are cut from each other, other managers are off the network."""
        sites = list(self.topology.sites)
        pairs = [frozenset((one, other)) for one in sites for other in sites if one < other]
        cut = {pair for pair in pairs if self.rng.random() < 0.4}
        down = {manager for manager in self.ids if self.rng.random() < 0.15}
        self._set(Failures(down, cut))

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

    def _hinders(self, near: UUID, far: UUID) -> bool:
        return self.failures.hinder(self.topology, near, far)

    def send(self) -> None:
        """One message, from anyone to anyone else."""
        source, goal = self.rng.sample(list(self.stations), 2)
        ordered = self.rng.random() < 0.5
        station, there = self.stations[source], self.stations[goal]
        number = there.local.find_queue("ordered" if ordered else "plain").number
        name = str(PrivateName(there.local.identity, number))
        texts = self.sent.setdefault((source, goal, ordered), [])
        text = f"{source}{goal}{len(texts)}"
        texts.append(text)
        message = Message(text.encode(), recoverable=True, time_to_reach_queue=None)
        queue = station.out(name)
        send = station.send_in if ordered else station.send
        station.enter(lambda: send(queue, message))

    def arrived(self, goal: str, *, ordered: bool) -> list[str]:
        """What is in a queue."""
        return self.stations[goal].texts("ordered" if ordered else "plain")

    def has_way(self, finder: RouteFinder, source: str, goal: str) -> bool:
        """Whether messages of one manager reach another when everything works."""
        ends = [self.stations[name].local.identity for name in (source, goal)]
        return finder.follow(ends[0], ends[1]).result is RouteEnd.DELIVERED

    def check_all(self) -> None:
        """Every message is there, once, those of a sequence in order."""
        for (source, goal, ordered), texts in self.sent.items():
            there = [t for t in self.arrived(goal, ordered=ordered) if t.startswith(source + goal)]
            if ordered:
                assert there == texts, (source, goal)
            else:
                assert sorted(there) == sorted(texts), (source, goal)


def run(seed: int) -> None:
    """One country: messages, failures, one message for each pair that has a way, healing."""
    country = Country(seed)
    finder = RouteFinder(country.topology)
    for _ in range(country.rng.randint(1, 3)):
        for _ in range(country.rng.randint(0, 6)):
            country.send()
        country.net.wait(country.rng.choice((0, 1, 40)))
        country.fail()
    country.net.wait(500)  # idle sessions are closed, and what failed before is tried again
    before = {key: len(texts) for key, texts in country.sent.items()}
    for _ in range(6):
        country.send()
    country.net.wait(600)
    _check_ways(country, finder, before)
    country.heal()
    country.net.wait(30_000)
    country.sent = {
        key: texts
        for key, texts in country.sent.items()
        if country.has_way(finder, key[0], key[1]) and country.has_way(finder, key[1], key[0])
    }
    country.check_all()


def _check_ways(
    country: Country, finder: RouteFinder, before: dict[tuple[str, str, bool], int]
) -> None:
    """Plain messages that were sent after the last failure arrive exactly if there is a way."""
    for (source, goal, ordered), texts in country.sent.items():
        fresh = texts[before.get((source, goal, ordered), 0) :]
        if ordered or not fresh:
            continue
        ends = [country.stations[name].local.identity for name in (source, goal)]
        result = finder.follow(ends[0], ends[1], country.failures).result
        there = country.arrived(goal, ordered=False)
        if source not in {country.ids[guid] for guid in country.failures.down}:
            arrived = [text in there for text in fresh]
            assert all(arrived) if result is RouteEnd.DELIVERED else not any(arrived), (
                source,
                goal,
                result,
            )


def run_all(seeds: range) -> None:
    """All of them; the first that fails is named."""
    for seed in seeds:
        try:
            run(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.parametrize("first", [0, 15])
def test_what_has_a_way_arrives_and_all_of_it_after_healing(first: int) -> None:
    """MQBR-089, MQBR-101, MQBR-141, MQBR-143."""
    run_all(range(first, first + 15))


@pytest.mark.torture
@pytest.mark.parametrize("first", range(0, 5000, 250))
def test_the_same_with_many_seeds(first: int) -> None:
    run_all(range(first, first + 250))


if __name__ == "__main__":
    for number in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            run(number)
        except Exception as error:
            sys.stdout.write(f"{number} {error!r:.300}\n")
    sys.stdout.write("done\n")
