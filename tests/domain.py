"""A Samba domain controller for tests, in a network of its own: its ports are fixed.

    with domain(tmp_path) as dc:
        ...  # ldap://dc.address, administrator and PASSWORD

It needs root, Samba and network namespaces; `missing()` says what is not there.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import networks

REALM, DOMAIN, BASE = "OPENMSMQ.TEST", "OMQ", "DC=openmsmq,DC=test"
PASSWORD = "Passw0rd!x"
ADMINISTRATOR = f"administrator@{REALM.lower()}"
NEEDED = ("samba", "samba-tool", "ldbmodify", "ip")


def missing() -> str:
    """Why there can be no controller here; empty if there can."""
    absent = [name for name in NEEDED if shutil.which(name) is None]
    if absent:
        return f"{absent}: apt-get install samba-ad-dc samba-ad-provision ldb-tools iproute2"
    return networks.missing()


def run(*arguments: str, given: str = "") -> str:
    """Run a tool that has to succeed; what it printed."""
    done = subprocess.run(arguments, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments[:4]}: {done.stdout}{done.stderr}"
    return done.stdout


def provision(home: Path, services: str, address: str) -> Path:
    """Make a new domain, whose names are at its own name server; its settings."""
    names = (f"--realm={REALM}", f"--domain={DOMAIN}", "--host-name=dc1", f"--host-ip={address}")
    places = ("--dns-backend=SAMBA_INTERNAL", f"--targetdir={home}")
    made = ("samba-tool", "domain", "provision", "--server-role=dc", f"--adminpass={PASSWORD}")
    run(*made, *names, *places, "--option=interfaces=lo", "--option=bind interfaces only=yes")
    settings = with_services(home, services)
    tool = ("-H", str(home / "private/sam.ldb"), "-s", str(settings))
    run("samba-tool", "spn", "add", f"ldap/dc1.{REALM.lower()}", "DC1$", *tool)
    return settings


def with_services(home: Path, services: str) -> Path:
    """Let a controller have these services, at all addresses; its settings."""
    settings = home / "etc/smb.conf"
    left = [
        line
        for line in settings.read_text().splitlines()
        if not re.search("server services|interfaces", line)
    ]
    text = "\n".join(left).replace("[global]", f"[global]\nserver services = {services}\n")
    settings.write_text(text)
    return settings


@dataclass
class DomainController:
    """A controller that can be killed and started again."""

    home: Path
    settings: Path
    network: str
    address: str
    process: subprocess.Popen[bytes] | None = None

    def keytab(self, account: str) -> Path:
        """A file with the keys of an account of the domain."""
        made = self.home / f"{account.rstrip('$')}.keytab"
        settings = ("-s", str(self.settings))
        run("samba-tool", "domain", "exportkeytab", str(made), f"--principal={account}", *settings)
        return made

    @property
    def database(self) -> Path:
        """The file that its tools work with."""
        return self.home / "private/sam.ldb"

    def tool(self, *arguments: str) -> str:
        """Run `samba-tool` on its database."""
        return run("samba-tool", *arguments, "-H", str(self.database), "-s", str(self.settings))

    def start(self) -> None:
        """Start it; it answers when this returns."""
        inside = ("ip", "netns", "exec", self.network)
        command = ("samba", "-i", "-M", "single", "-s", str(self.settings), "--debug-stdout")
        with (self.home / "log").open("ab") as log:
            options = f"--option=pid directory={self.home}"
            self.process = subprocess.Popen((*inside, *command, options), stdout=log, stderr=log)
        until = time.monotonic() + 600
        while not self._answers():
            assert self.process.poll() is None, (self.home / "log").read_text()[-2000:]
            assert time.monotonic() < until, (self.home / "log").read_text()[-2000:]
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self.address, 636), 1):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def network(name: str, wire: str, own: str, address: str) -> Iterator[None]:
    """A network with one address, which this computer reaches by `own`."""
    run("ip", "netns", "add", name)
    try:
        run("ip", "link", "add", wire, "type", "veth", "peer", "name", "dc0", "netns", name)
        run("ip", "addr", "add", f"{own}/30", "dev", wire)
        run("ip", "link", "set", wire, "up")
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", name, "addr", "add", f"{address}/30", "dev", "dc0")
        run("ip", "-n", name, "link", "set", "dc0", "up")
        yield
    finally:
        subprocess.run(("ip", "netns", "del", name), capture_output=True, check=False)
        subprocess.run(("ip", "link", "del", wire), capture_output=True, check=False)


@contextmanager
def domain(home: Path) -> Iterator[DomainController]:
    """A controller at an address that only this computer reaches."""
    number = os.getpid() % 250 + 1
    name, own, address = f"omq-{os.getpid()}", f"10.{number}.77.1", f"10.{number}.77.2"
    settings = provision(home, "rpc, ldap, cldap, kdc, dns", address)
    with network(name, f"omq{os.getpid()}", own, address):
        controller = DomainController(home, settings, name, address)
        try:
            controller.start()
            yield controller
        finally:
            controller.kill()


@contextmanager
def second_controller(first: DomainController, home: Path) -> Iterator[DomainController]:
    """Another controller of the same domain, which has all that the first one has now."""
    number = os.getpid() % 250 + 1
    name, own, address = f"omq-{os.getpid()}-b", f"10.{number}.78.1", f"10.{number}.78.2"
    resolver = Path("/etc/netns", name)
    try:
        with network(name, f"omqb{os.getpid()}", own, address):
            wire = ("type", "veth", "peer", "name", "first", "netns", name)
            run("ip", "-n", first.network, "link", "add", "second", *wire)
            for place, device, there, here in (
                (first.network, "second", address, first.address),
                (name, "first", first.address, address),
            ):
                run("ip", "-n", place, "link", "set", device, "up")
                run("ip", "-n", place, "route", "add", f"{there}/32", "dev", device, "src", here)
            resolver.mkdir(parents=True)
            (resolver / "resolv.conf").write_text(f"nameserver {first.address}\n")
            login = ("-U", f"administrator%{PASSWORD}", f"--server=dc1.{REALM.lower()}")
            places = ("--dns-backend=NONE", f"--targetdir={home}", "--option=netbios name=DC2")
            join = ("samba-tool", "domain", "join", REALM.lower(), "DC", f"--realm={REALM}")
            run("ip", "netns", "exec", name, *join, *login, *places)
            settings = with_services(home, "rpc, ldap, cldap, kdc")
            controller = DomainController(home, settings, name, address)
            try:
                controller.start()
                yield controller
            finally:
                controller.kill()
    finally:
        shutil.rmtree(resolver, ignore_errors=True)
