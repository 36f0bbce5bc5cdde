"""Controllers that are found by DNS, and Kerberos: a Samba domain with its own name server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from openmsmq.directory.ldap.controller import Domain
from openmsmq.directory.ldap.controllers import ControllerList, record_names
from openmsmq.directory.ldap.resolver import ServiceRecord, find_services
from tests.domain import DOMAIN, PASSWORD, REALM, DomainController, domain, missing
from tests.e2e.enterprise import add_computer, done, is_online
from tests.e2e.managers import ManagerProcess, running, until
from tests.networks import Host, Networks

WHY = missing()
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(WHY), reason=WHY),
]
needs_kerberos = pytest.mark.skipif(
    find_spec("gssapi") is None, reason="the extra kerberos is not installed"
)
NAME = REALM.lower()
SITE = "Default-First-Site-Name"
KERBEROS = f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = true\n rdns = false\n"


class Branch(NamedTuple):
    """A computer that knows nothing of the domain but its name server."""

    controller: DomainController
    host: Host
    keytab: Path

    def ask(self, *arguments: str) -> list[dict[str, Any]]:
        """What `openmsmq directory` prints there."""
        inside = ("ip", "netns", "exec", self.host.name)
        command = (sys.executable, "-m", "openmsmq", "directory", *arguments, "--json")
        ended = subprocess.run((*inside, *command), capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.fixture(scope="module")
def branch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Branch]:
    home = tmp_path_factory.mktemp("domain")
    with domain(home) as controller, Networks() as networks:
        add_computer(controller, "north")
        controller.tool("sites", "create", "HQ")
        host = networks.add("10.77.3.1")
        networks.resolve_by(host, controller.address)
        networks.link(host, Host(controller.network, controller.address))
        (home / "krb5.conf").write_text(KERBEROS)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KRB5_CONFIG", str(home / "krb5.conf"))
            patch.setenv("OPENMSMQ_DIRECTORY_PASSWORD", PASSWORD)
            yield Branch(controller, host, controller.keytab("north$"))


def test_the_name_server_of_a_domain_knows_its_controllers(branch: Branch) -> None:
    """MQDS-001, MQDS-002: all, those of a site, and those with the global catalog."""
    place = (branch.controller.address, 53)

    async def look_up(name: str) -> list[ServiceRecord]:
        return await find_services(name, [place])

    async def run() -> None:
        host = f"dc1.{NAME}"
        for name in record_names(NAME, SITE):
            assert [one.host for one in await look_up(name)] == [host]
        (catalog,) = await look_up(record_names(NAME, "", catalog=True)[0])
        assert (catalog.host, catalog.port) == (host, 3268)
        assert await look_up(record_names(NAME, "Nowhere")[0]) == []
        listed = ControllerList([Domain(NAME)], site=SITE, lookup=look_up)
        assert await listed.current() == ((host, 389, False),)

    asyncio.run(run())


def test_a_command_needs_no_more_than_the_name_of_the_domain(branch: Branch) -> None:
    """MQDS-001, MQDS-005"""
    login = ("--auth", "ntlm", "--user", f"{DOMAIN}\\administrator")
    found = branch.ask("show", "--directory", NAME, *login)
    assert {"HQ", SITE} <= {one["name"] for one in found if one["kind"] == "site"}


@needs_kerberos
def test_kerberos_logs_on_and_encrypts(branch: Branch) -> None:
    """MQDS-005: GSS-SPNEGO with the keys of the computer; the KDC is found by DNS, too."""
    login = ("--keytab", str(branch.keytab), "--user", f"north$@{REALM}")
    found = branch.ask("show", "--directory", NAME, "--auth", "kerberos", *login)
    assert {"HQ", SITE} <= {one["name"] for one in found if one["kind"] == "site"}


@needs_kerberos
def test_a_service_finds_its_domain_and_comes_back_to_it(branch: Branch, tmp_path: Path) -> None:
    """MQDS-001, MQDS-016, MQDS-202: with the account of the computer, over a restart."""
    controller = branch.controller
    options = ("--directory", NAME)
    north = ManagerProcess(
        tmp_path,
        "north",
        bind=branch.host.address,
        port=1801,
        options=options,
        network=branch.host.name,
    )
    data = north.folder / "data"
    data.mkdir()
    done(controller, "join", "--name", "north", "--site", "HQ", "--data", str(data))
    (data / "openmsmq.toml").write_text(
        f'[directory]\nsite = "{SITE}"\nauth = "kerberos"\nuser = "north$@{REALM}"\n'
        f'keytab = "{branch.keytab}"\n'
    )
    with running(north), north.connect() as manager:
        until(lambda: is_online(manager), "the domain was not found", patience=300)
        manager.create_queue(".\\orders", label="of the north")
        assert done(controller, "find", "--label", "of the north")["path_name"] == "north\\orders"
        assert manager.control.topology().source == "directory"
        controller.kill()
        controller.start()
        until(lambda: is_online(manager), "the domain was not found again", patience=400)
        manager.delete_queue(".\\orders")
