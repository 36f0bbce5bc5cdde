"""Branch office order processing ([MS-MQSO] 6.1.5): a domain, four sites, links that are cut.

Every manager is a process in a network of its own: a branch office, two regional headquarters and
the headquarters. Only those whose sites are linked reach each other; all reach the controller.

    branch --1-- region1 --1-- hq
                    \\          /
                     2        1
                      region2
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from openmsmq import Access, Manager, Message, Queue
from openmsmq.directory.objects import LinkObject, SiteObject
from openmsmq.directory.writer import DirectoryWriter
from tests.domain import DomainController, domain, missing
from tests.e2e.enterprise import ADMIN, ask, done, is_online, joined
from tests.e2e.managers import ManagerProcess, is_everything_sent, running, texts, until
from tests.networks import Host, Networks

WHY: Final = missing()
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(WHY), reason=WHY),
]
NAMES: Final = ("branch", "region1", "region2", "hq")
LINKS: Final = {
    ("branch", "region1"): 1,
    ("region1", "hq"): 1,
    ("region1", "region2"): 2,
    ("region2", "hq"): 1,
}
PORT: Final = 1801
IDLE: Final = 400
"Seconds until routers have closed a session that is idle."
PATIENCE: Final = 240
"Seconds until sessions over a link that was cut are given up, and another way is tried."


@dataclass
class Enterprise:
    """The four offices."""

    controller: DomainController
    networks: Networks
    hosts: dict[str, Host]
    processes: dict[str, ManagerProcess]
    managers: dict[str, Manager]

    def cut(self, one: str, other: str) -> None:
        """The line between two offices is out of order."""
        self.networks.cut(self.hosts[one], self.hosts[other])

    def mend(self, one: str, other: str) -> None:
        """It works again."""
        self.networks.mend(self.hosts[one], self.hosts[other])

    def speak(self, one: str, other: str) -> bool:
        """Whether two offices have a session; a detour is taken as long as it is in use."""
        sessions = self.managers[one].control.sessions()
        return any(self.hosts[other].address in item.peer for item in sessions)

    def way(self, message_id: str) -> list[str]:
        """The offices that a message has passed."""
        return [name for name in NAMES if self.managers[name].explain(message_id)]


async def make_links(directory: DirectoryWriter) -> None:
    """The links of the example; each office is the gate of its site."""
    sites = {item.name: item.id for item in await directory.find(SiteObject)}
    gates = {name: (await directory.manager_of(name)).id for name in NAMES}
    for (one, other), cost in LINKS.items():
        await directory.create_link(
            sites[f"site-{one}"], sites[f"site-{other}"], cost, (gates[one], gates[other])
        )


@contextmanager
def offices(folder: Path) -> Iterator[Enterprise]:
    """A domain, and four managers in it."""
    (folder / "domain").mkdir()
    with domain(folder / "domain") as controller, Networks() as networks, ExitStack() as stack:
        hosts = {name: networks.add(f"10.77.0.{at}") for at, name in enumerate(NAMES, 1)}
        for host in hosts.values():
            networks.link(host, Host(controller.network, controller.address))
        for one, other in LINKS:
            networks.link(hosts[one], hosts[other])
        peers = {name: (host.address, PORT) for name, host in hosts.items()}
        processes = {}
        for name, host in hosts.items():
            controller.tool("sites", "create", f"site-{name}")
            processes[name] = joined(
                controller,
                folder,
                name,
                f"site-{name}",
                "--router",
                bind=host.address,
                port=PORT,
                network=host.name,
                peers={other: place for other, place in peers.items() if other != name},
            )
        ask(controller, ADMIN, make_links)
        stack.enter_context(running(*processes.values()))
        managers = {
            name: stack.enter_context(process.connect()) for name, process in processes.items()
        }
        for name, manager in managers.items():
            until(lambda manager=manager: is_online(manager), f"{name} found no directory")  # type: ignore[misc]
        yield Enterprise(controller, networks, hosts, processes, managers)


def report(queue: Queue, text: str) -> str:
    """Sales of the branch, which no one but the headquarters can read; their identifier."""
    return queue.send(Message(text, encrypt=True, recoverable=True, time_to_reach_queue=None))


def test_sales_find_their_way_and_no_one_on_it_can_read_them(tmp_path: Path) -> None:
    """SYS-072, MQBR-087, MQBR-088: the cheapest way, another one, none, and back."""
    with offices(tmp_path) as found:
        hq, branch = found.managers["hq"], found.managers["branch"]
        hq.create_queue(".\\sales", label="sales of all branches")
        name = done(found.controller, "find", "--label", "sales of all branches")["id"]
        queue = branch.open_queue(f"PUBLIC={name}", access=Access.SEND)
        recording = found.managers["region1"].control.start_recording(600)
        came: list[str] = []

        def arrives(text: str, *, by: list[str]) -> None:
            sent = report(queue, text)
            came.append(text)
            until(lambda: texts(hq, ".\\sales") == came, f"{text} did not come", PATIENCE)
            assert found.way(sent) == by, text

        arrives("sales of Monday", by=["branch", "region1", "hq"])
        found.cut("region1", "hq")
        arrives("sales of Tuesday", by=["branch", "region1", "region2", "hq"])
        found.cut("region2", "hq")
        lost = report(queue, "sales of Wednesday")
        until(lambda: "region1" in found.way(lost), "the region did not get it", PATIENCE)
        assert "hq" not in found.way(lost)  # it waits, and does not go to and fro
        found.mend("region1", "hq")
        found.mend("region2", "hq")
        came.append("sales of Wednesday")
        until(lambda: texts(hq, ".\\sales") == came, "what waited did not come", PATIENCE)
        found.cut("branch", "region1")
        late = report(queue, "sales of Thursday")
        assert found.way(late) == ["branch"]
        found.mend("branch", "region1")
        came.append("sales of Thursday")
        until(lambda: texts(hq, ".\\sales") == came, "the branch did not come back", PATIENCE)
        until(lambda: not found.speak("region1", "region2"), "the detour is not over", IDLE)
        arrives("sales of Friday", by=["branch", "region1", "hq"])
        for one in found.managers.values():
            until(lambda one=one: is_everything_sent(one), "something is left")  # type: ignore[misc]
        read_on_the_way(found, recording.id, name)
        costs_change(found, queue, came)


def read_on_the_way(found: Enterprise, recording: str, name: str) -> None:
    """What a region has recorded: nothing that was encrypted, and what was not."""
    plain = found.managers["branch"].open_queue(f"PUBLIC={name}", access=Access.SEND)
    plain.send(Message("the canteen is closed", recoverable=True))
    hq = found.managers["hq"].open_queue(".\\sales")
    until(lambda: hq.info().messages == 6, "it did not come", PATIENCE)
    hq.purge()
    control = found.managers["region1"].control
    done_recording = control.stop_recording(recording)
    data = b"".join(
        part
        for file in done_recording.files
        for part in control.read_recording(recording, file.name)
    )
    assert "the canteen is closed".encode("utf-16-le") in data
    assert "sales of".encode("utf-16-le") not in data


def costs_change(found: Enterprise, queue: Queue, came: list[str]) -> None:
    """Another cost in the directory is another way, once the table is built again."""

    async def raise_cost(directory: DirectoryWriter) -> None:
        sites = {item.id: item.name for item in await directory.find(SiteObject)}
        for link in await directory.find(LinkObject):
            if {sites[link.site1], sites[link.site2]} == {"site-region1", "site-hq"}:
                await directory.write(LinkObject, link.path, {"cost": 50})

    ask(found.controller, ADMIN, raise_cost)
    region = found.processes["region1"]
    region.stop()
    region.start()
    until(lambda: is_online(found.managers["region1"]), "region1 found no directory")
    sent = report(queue, "sales of Saturday")
    hq = found.managers["hq"]
    until(lambda: texts(hq, ".\\sales") == ["sales of Saturday"], "it did not come", PATIENCE)
    assert found.way(sent) == ["branch", "region1", "region2", "hq"]
