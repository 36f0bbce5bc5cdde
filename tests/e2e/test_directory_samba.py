"""The directory of a real domain: a Samba controller in a network of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import openmsmq
from openmsmq import Message
from openmsmq.directory.conditions import Condition
from openmsmq.directory.ldap import distinguished_names as names
from openmsmq.directory.ldap.client import LdapClient
from openmsmq.directory.ldap.controller import Controller
from openmsmq.directory.ldap.controllers import ControllerList
from openmsmq.directory.ldap.filters import ANYTHING, Filter
from openmsmq.directory.ldap.forest import ForestTree
from openmsmq.directory.ldap.login import LdapLogin
from openmsmq.directory.ldap.tree import ROOT, LdapEntry, LdapError, ResultCode, SearchScope
from openmsmq.directory.objects import ManagerObject, QueueObject, SiteObject
from openmsmq.directory.outcome import DirectoryFailed
from openmsmq.directory.reader import DirectoryReader
from openmsmq.directory.rights import manager_descriptor, queue_descriptor
from openmsmq.directory.topology import read_topology
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.errors import NoDs, QueueNotFound
from openmsmq.routing.follow import RouteFinder
from openmsmq.security.sid import Sid
from tests.directories import BASE, LONG_NAME, load
from tests.domain import (
    ADMINISTRATOR,
    PASSWORD,
    DomainController,
    domain,
    missing,
    second_controller,
)
from tests.e2e.enterprise import ADMIN, MACHINE_PASSWORD, ask
from tests.e2e.managers import ManagerProcess, free_port, running, texts, until

WHY = missing()
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(WHY), reason=WHY),
]


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DomainController]:
    """A domain with the example, two more computers and an ordinary user."""
    with domain(tmp_path_factory.mktemp("domain")) as made:
        for name in ("north", "south"):
            made.tool("computer", "create", name)
            made.tool("user", "setpassword", f"{name}$", f"--newpassword={MACHINE_PASSWORD}")
        made.tool("user", "create", "bob", MACHINE_PASSWORD)
        ask(made, ADMIN, lambda tree: load(tree.tree))
        yield made


@pytest.mark.parametrize(
    ("login", "scheme"),
    [
        (ADMIN, "ldap"),
        (LdapLogin("password", ADMINISTRATOR, PASSWORD), "ldaps"),
        (LdapLogin("password", ADMINISTRATOR, PASSWORD), "ldap"),
    ],
    ids=["ntlm", "ldaps", "starttls"],
)
def test_the_example_is_read_in_every_way(
    controller: DomainController, login: LdapLogin, scheme: str
) -> None:
    """MQDS-244, MQDS-246, MQDS-005, MQDS-006"""

    async def read(directory: DirectoryReader) -> None:
        topology = await read_topology(directory)
        ids = {manager.name: manager.id for manager in topology.managers.values()}
        route = RouteFinder(topology).follow(ids["HQ-APP"], ids["SH-GATE"])
        names = [topology.name_of(hop) for hop in route.path]
        assert names == ["HQ-APP", "HQ-GATE", "PL-GATE", "SH-GATE"]
        assert (await directory.queue_by_path(f"hq-app\\{LONG_NAME}")).name == LONG_NAME
        assert (await directory.queue_by_path("hq-app\\a=b#c")).name == "a=b#c"
        queue = await directory.by_id(
            QueueObject, (await directory.queue_by_path("hq-app\\orders")).id, security=True
        )
        assert queue.security

    ask(controller, login, read, scheme)


def test_who_may_do_what(controller: DomainController) -> None:
    """MQDS-155 to MQDS-158, MQDS-194: a computer registers itself, and others only look."""
    machine = LdapLogin("ntlm", "OMQ\\north$", MACHINE_PASSWORD)
    bob = LdapLogin("ntlm", "OMQ\\bob", MACHINE_PASSWORD)

    async def register(directory: DirectoryWriter) -> ManagerObject:
        site = await directory.read(SiteObject, [Condition("name", "=", "HQ")])
        computer = await directory.computer("north")
        sid = Sid.decode(computer.values("objectSid")[0])
        descriptor = manager_descriptor(sid).encode()
        guid = await directory.create_manager("north", {"sites": (site.id,)}, descriptor)
        await directory.create_queue("north\\own", {}, queue_descriptor(sid).encode())
        path = (await directory.by_id(ManagerObject, guid)).path
        await directory.write(ManagerObject, path, {"quota": 500})
        queue = await directory.queue_by_path("north\\own")
        await directory.write(QueueObject, queue.path, {"label": "mine"})
        await directory.create_queue("north\\short", {}, queue_descriptor(sid).encode())
        await directory.delete_queue(path_name="north\\short")
        return await directory.by_id(ManagerObject, guid)

    made: ManagerObject = ask(controller, machine, register)
    assert made.quota == 500

    async def look(directory: DirectoryWriter) -> None:
        assert (await directory.by_id(ManagerObject, made.id)).quota == 500
        for change in (
            directory.write(ManagerObject, made.path, {"in_names": (made.path,)}),
            directory.create_queue("north\\theirs", {}),
        ):
            with pytest.raises(DirectoryFailed) as caught:
                await change
            assert caught.value.code == ResultCode.INSUFFICIENT_ACCESS_RIGHTS

    ask(controller, bob, look)

    async def refused(directory: DirectoryWriter) -> None:
        with pytest.raises(DirectoryFailed) as caught:
            await directory.write_settings(replace(made, router=True))
        assert caught.value.code == ResultCode.INSUFFICIENT_ACCESS_RIGHTS

    ask(controller, machine, refused)


def command(controller: DomainController, folder: Path, *arguments: str) -> dict[str, Any]:
    """What `openmsmq directory` prints for the administrator."""
    where = ("--directory", f"ldap://{controller.address}", "--auth", "ntlm", "--json")
    line = (sys.executable, "-m", "openmsmq", "directory", *arguments, *where)
    environment = {**os.environ, "OPENMSMQ_DIRECTORY_PASSWORD": PASSWORD}
    done = subprocess.run(
        (*line, "--user", ADMINISTRATOR), capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return found


def test_managers_find_each_other_and_outlive_the_controller(
    controller: DomainController, tmp_path: Path
) -> None:
    """MQDS-114, MQDS-194, MQDS-197, MQDS-200, MQDS-202: killed and started during traffic."""
    (tmp_path / "password").write_text(MACHINE_PASSWORD)

    def manager(name: str, **peers: tuple[str, int]) -> ManagerProcess:
        options = ("--directory", f"ldap://{controller.address}")
        made = ManagerProcess(tmp_path, name, port=free_port(), peers=peers, options=options)
        data = made.folder / "data"
        data.mkdir()
        command(controller, tmp_path, "join", "--name", name, "--site", "HQ", "--data", str(data))
        (data / "openmsmq.toml").write_text(
            f'[directory]\nauth = "ntlm"\nuser = "OMQ\\\\{name}$"\n'
            f'password_file = "{tmp_path / "password"}"\n'
        )
        return made

    def is_online(found: openmsmq.Manager) -> bool:
        try:
            found.open_queue(f"PUBLIC={UUID(int=77)}", access=openmsmq.Access.SEND)
        except QueueNotFound:
            return True
        except NoDs:
            return False
        return False

    south = manager("south")
    with running(south), south.connect() as receiver:
        until(lambda: is_online(receiver), "south did not find the directory")
        receiver.create_queue(".\\orders", label="of the south", transactional=True)
        found = command(controller, tmp_path, "find", "--label", "of the south")
        north = manager("north", SOUTH=south.place)
        with running(north), north.connect() as sender:
            until(lambda: is_online(sender), "north did not find the directory")
            target = sender.open_queue(f"PUBLIC={found['id']}", access=openmsmq.Access.SEND)
            for at in range(60):
                if at == 20:
                    controller.kill()
                if at == 40:
                    with pytest.raises(NoDs):
                        sender.open_queue(f"PUBLIC={UUID(int=79)}", access=openmsmq.Access.SEND)
                    controller.start()
                with sender.transaction() as transaction:
                    target.send(Message(str(at)), transaction=transaction)
            until(lambda: len(texts(receiver, ".\\orders")) == 60, "they did not all arrive")
            assert texts(receiver, ".\\orders") == [str(at) for at in range(60)]
            until(lambda: is_online(sender), "it did not recover", patience=180)


class TwoDomains(LdapClient):
    """Says that the forest has two domains: the servers, and all other computers."""

    OWN, OTHER = f"OU=Servers,{BASE}", f"CN=Computers,{BASE}"

    async def search(
        self,
        base: str,
        scope: SearchScope,
        condition: Filter = ANYTHING,
        attributes: Sequence[str] = (),
        *,
        security: bool = False,
    ) -> list[LdapEntry]:
        """What is asked of the forest is answered otherwise; all else by the controller."""
        if base.startswith("CN=Partitions,"):
            domains = (self.OWN, self.OTHER)
            return [LdapEntry(name, {"ncname": (name.encode(),)}) for name in domains]
        if names.key(base) == names.key(self.OTHER):
            raise LdapError(ResultCode.REFERRAL)
        found = await super().search(base, scope, condition, attributes, security=security)
        if base == ROOT:
            own = {"defaultnamingcontext": (self.OWN.encode(),)}
            found = [replace(row, attributes={**row.attributes, **own}) for row in found]
        return found


def test_other_domains_are_read_from_the_global_catalog(controller: DomainController) -> None:
    """MQDS-017: Samba has one domain, so that a part of it is taken for another."""
    place = Controller.parse(f"ldap://{controller.address}")

    async def read() -> None:
        own = TwoDomains(ControllerList([place]), ADMIN)
        catalog = LdapClient(ControllerList([place.catalog]), ADMIN)
        tree = ForestTree(own, lambda forest: catalog)
        directory = DirectoryReader(tree)
        topology = await read_topology(directory)
        ids = {manager.name: manager.id for manager in topology.managers.values()}
        route = RouteFinder(topology).follow(ids["HQ-APP"], ids["SH-GATE"])
        passed = [topology.name_of(hop) for hop in route.path]
        assert passed == ["HQ-APP", "HQ-GATE", "PL-GATE", "SH-GATE"]
        assert catalog.server == controller.address
        report = await directory.queue_by_path("sh-gate\\report")
        assert (report.multicast, report.manager) == ("234.1.1.1:8001", ids["SH-GATE"])
        labelled = await directory.find(QueueObject, [Condition("label", "=", report.label)])
        assert [queue.id for queue in labelled] == [report.id]
        orders = await directory.queue_by_path("hq-app\\orders")
        assert (await directory.by_id(QueueObject, orders.id, security=True)).security
        await tree.close()

    asyncio.run(read())


def test_another_controller_answers_for_one_that_was_killed(
    controller: DomainController, tmp_path: Path
) -> None:
    """MQDS-012, MQDS-023: two controllers of one domain, of which the first is killed."""
    with second_controller(controller, tmp_path) as second:
        places = [Controller.parse(f"ldap://{one.address}") for one in (controller, second)]

        async def run() -> None:
            tree = LdapClient(ControllerList(places), ADMIN)
            directory = DirectoryWriter(tree)
            orders = await directory.queue_by_path("hq-app\\orders")
            assert tree.server == controller.address
            controller.kill()
            assert (await directory.by_id(QueueObject, orders.id)).label == orders.label
            assert tree.server == second.address
            await directory.write(QueueObject, orders.path, {"label": "while it was away"})
            assert (await directory.by_id(QueueObject, orders.id)).label == "while it was away"
            await tree.close()

        try:
            asyncio.run(run())
        finally:
            controller.start()


def test_what_is_refused_says_why(controller: DomainController) -> None:
    """MQDS-010"""
    wrong = LdapLogin("ntlm", ADMINISTRATOR, "wrong")
    with pytest.raises(DirectoryFailed, match="invalid credentials"):
        ask(controller, wrong, lambda directory: directory.find(SiteObject))

    async def search(directory: DirectoryWriter) -> None:
        with pytest.raises(LdapError):
            await directory.tree.search(f"CN=none,{BASE}", SearchScope.BASE)

    ask(controller, ADMIN, search)
