"""Managers of a domain in processes of their own, and what an administrator does for them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import openmsmq
from openmsmq.directory.ldap.client import LdapClient, tls_context
from openmsmq.directory.ldap.controller import Controller
from openmsmq.directory.ldap.controllers import ControllerList
from openmsmq.directory.ldap.login import LdapLogin
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.errors import NoDs, QueueNotFound
from tests.domain import ADMINISTRATOR, DOMAIN, PASSWORD, DomainController
from tests.e2e.managers import ManagerProcess, Place

MACHINE_PASSWORD: Final = "Machine-Passw0rd!1"
ADMIN: Final = LdapLogin("ntlm", ADMINISTRATOR, PASSWORD)


def ask(
    controller: DomainController,
    login: LdapLogin,
    work: Callable[[DirectoryWriter], Awaitable[Any]],
    scheme: str = "ldap",
) -> Any:
    """Do something with the directory as someone."""

    async def run() -> Any:
        place = Controller.parse(f"{scheme}://{controller.address}")
        client = LdapClient(ControllerList([place]), login, tls_context(None, checks=False))
        try:
            return await work(DirectoryWriter(client))
        finally:
            await client.close()

    return asyncio.run(run())


def command(
    controller: DomainController, *arguments: str, user: str = ADMINISTRATOR
) -> subprocess.CompletedProcess[str]:
    """`openmsmq directory`, run by the administrator or another user of the domain."""
    where = ("--directory", f"ldap://{controller.address}", "--auth", "ntlm", "--json")
    line = (sys.executable, "-m", "openmsmq", "directory", *arguments, *where, "--user", user)
    password = PASSWORD if user == ADMINISTRATOR else MACHINE_PASSWORD
    environment = {**os.environ, "OPENMSMQ_DIRECTORY_PASSWORD": password}
    return subprocess.run(line, capture_output=True, text=True, env=environment, check=False)


def done(controller: DomainController, *arguments: str) -> dict[str, Any]:
    """What `openmsmq directory` prints for the administrator."""
    found = command(controller, *arguments)
    assert found.returncode == 0, found.stderr
    result: dict[str, Any] = json.loads(found.stdout.splitlines()[0])
    return result


def add_computer(controller: DomainController, name: str) -> None:
    """An account for a computer."""
    controller.tool("computer", "create", name)
    controller.tool("user", "setpassword", f"{name}$", f"--newpassword={MACHINE_PASSWORD}")


def joined(
    controller: DomainController,
    folder: Path,
    name: str,
    site: str,
    *join: str,
    bind: str,
    port: int,
    network: str = "",
    peers: Mapping[str, Place] | None = None,
) -> ManagerProcess:
    """A manager that has joined the domain, and is to be started."""
    add_computer(controller, name)
    made = ManagerProcess(
        folder,
        name,
        bind=bind,
        port=port,
        peers=peers,
        options=("--directory", f"ldap://{controller.address}"),
        network=network,
    )
    data = made.folder / "data"
    data.mkdir()
    done(controller, "join", "--name", name, "--site", site, "--data", str(data), *join)
    password = made.folder / "password"
    password.write_text(MACHINE_PASSWORD)
    (data / "openmsmq.toml").write_text(
        f'[directory]\nauth = "ntlm"\nuser = "{DOMAIN}\\\\{name}$"\npassword_file = "{password}"\n'
    )
    return made


def is_online(manager: openmsmq.Manager) -> bool:
    """Whether it has read its directory: an unknown queue is then not found."""
    try:
        manager.open_queue(f"PUBLIC={UUID(int=77)}", access=openmsmq.Access.SEND)
    except QueueNotFound:
        return True
    except NoDs:
        return False
    return False
