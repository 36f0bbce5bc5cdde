"""Managers of an enterprise: real processes, and a directory that they find each other by."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import openmsmq
from openmsmq import Message
from openmsmq.directory.memory import MemoryTree
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.errors import NoDs, QueueNotFound
from tests.directories import BASE, example, guid_of
from tests.e2e.managers import ManagerProcess, free_port, running, texts, until
from tests.ldap_server import PASSWORD, USER, LdapServer

pytestmark = pytest.mark.slow


class Enterprise:
    """A directory that answers in a thread of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.tree: MemoryTree = asyncio.run(example())
        self.server = LdapServer(self.tree)
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.run(self.server.__aenter__())
        (folder / "password").write_text(PASSWORD)

    def run(self, work: Awaitable[Any]) -> Any:
        """Do something in its thread."""

        async def go() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(go(), self.loop).result(30)

    def ask(self, work: Callable[[DirectoryWriter], Awaitable[Any]]) -> Any:
        """Do something as an administrator."""
        return self.run(work(DirectoryWriter(self.tree)))

    def close(self) -> None:
        self.run(self.server.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    def command(self, *arguments: str) -> dict[str, Any]:
        """What `openmsmq directory` prints."""
        login = ("--auth", "ntlm", "--user", USER, "--password-file", str(self.folder / "password"))
        command = (sys.executable, "-m", "openmsmq", "directory", *arguments)
        where = ("--directory", self.server.url, "--json")
        done = subprocess.run((*command, *where, *login), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
        return found

    def manager(self, name: str, **peers: tuple[str, int]) -> ManagerProcess:
        """A manager that has joined, and is started with the directory."""
        options = ("--directory", self.server.url)
        made = ManagerProcess(self.folder, name, port=free_port(), peers=peers, options=options)
        data = made.folder / "data"
        data.mkdir()
        self.command("join", "--name", name, "--site", "HQ", "--data", str(data))
        (data / "openmsmq.toml").write_text(
            f'[directory]\nauth = "ntlm"\nuser = "OMQ\\\\{USER}"\n'
            f'password_file = "{self.folder / "password"}"\n'
        )
        return made


@pytest.fixture
def enterprise(tmp_path: Path) -> Iterator[Enterprise]:
    made = Enterprise(tmp_path)
    for name in ("north", "south"):
        attributes = {
            "objectClass": [b"computer"],
            "sAMAccountName": [f"{name.upper()}$".encode()],
            "dNSHostName": [b"127.0.0.1"],
        }
        made.run(made.tree.add(f"CN={name},OU=Servers,{BASE}", attributes))
    yield made
    made.close()


def is_online(manager: openmsmq.Manager) -> bool:
    """Whether the manager has read its directory: an unknown queue is then not found."""
    try:
        manager.open_queue(f"PUBLIC={UUID(int=77)}", access=openmsmq.Access.SEND)
    except QueueNotFound:
        return True
    except NoDs:
        return False
    raise AssertionError("there is no such queue")


def test_a_public_queue_is_found_by_its_identifier(enterprise: Enterprise, tmp_path: Path) -> None:
    """MQDS-016, MQDS-026, MQDS-114, MQDS-115, MQDS-117, MQDS-118, MQDS-182, MQDS-186,
    MQDS-195, MQDS-197, MQDS-199, MQDS-202
    """
    south = enterprise.manager("south")
    with running(south), south.connect() as receiver:
        until(lambda: is_online(receiver), "south did not find the directory")
        receiver.create_queue(".\\orders", label="public orders", transactional=True)
        (info,) = [item for item in receiver.queues() if item.name.endswith("orders")]
        found = enterprise.command("find", "--label", "public orders")
        assert found["id"] == str(info.id)
        assert found["path_name"] == "south\\orders"
        assert enterprise.server.users == {USER}  # not the program that made the queue
        assert south.id == str(
            enterprise.run(guid_of(enterprise.tree, f"CN=msmq,CN=south,OU=Servers,{BASE}"))
        )

        north = enterprise.manager("north", SOUTH=south.place)
        with running(north), north.connect() as sender:
            until(lambda: is_online(sender), "north did not find the directory")
            target = sender.open_queue(f"PUBLIC={info.id}", access=openmsmq.Access.SEND)
            for at in range(20):
                with sender.transaction() as transaction:
                    target.send(Message(str(at)), transaction=transaction)
            until(lambda: len(texts(receiver, ".\\orders")) == 20, "they did not arrive")
            assert texts(receiver, ".\\orders") == [str(at) for at in range(20)]

            enterprise.run(enterprise.server.stop())
            with sender.transaction() as transaction:
                target.send(Message("offline"), transaction=transaction)
            until(lambda: len(texts(receiver, ".\\orders")) == 21, "it did not arrive")
            direct = sender.open_queue("DIRECT=OS:SOUTH\\orders", access=openmsmq.Access.SEND)
            with sender.transaction() as transaction:
                direct.send(Message("direct"), transaction=transaction)
            until(lambda: len(texts(receiver, ".\\orders")) == 22, "it did not arrive")
            with pytest.raises(NoDs):
                sender.open_queue(f"PUBLIC={UUID(int=78)}", access=openmsmq.Access.SEND)
            with pytest.raises(NoDs):
                receiver.create_queue(".\\more")
            assert all("more" not in item.name for item in receiver.queues())
            with pytest.raises(NoDs):
                receiver.delete_queue(".\\orders")
            assert len(texts(receiver, ".\\orders")) == 22


@pytest.mark.acceptance
@pytest.mark.timeout(300)
def test_a_manager_is_notified_of_its_queues_by_another(enterprise: Enterprise) -> None:
    """MQDS-205, MQDS-206, MQDS-240, SYS-070: scenario 3, with the minute that a batch waits."""
    south = enterprise.manager("south")
    with running(south), south.connect() as owner:
        until(lambda: is_online(owner), "south did not find the directory")
        north = enterprise.manager("north", SOUTH=south.place)
        with running(north), north.connect() as manager:
            until(lambda: is_online(manager), "north did not find the directory")
            queue = manager.create_queue("south\\invoices", label="made by the north")

            def labels() -> dict[str, str]:
                return {item.name: item.label for item in owner.queues()}

            until(
                lambda: labels().get(".\\invoices") == "made by the north",
                "south was not notified",
                patience=150,
            )
            queue.send(Message("the first"))
            until(lambda: texts(owner, ".\\invoices") == ["the first"], "it did not arrive")
            found = enterprise.command("find", "--path", "south\\invoices")
            (info,) = [item for item in owner.queues() if item.name == ".\\invoices"]
            assert str(info.id) == found["id"]
