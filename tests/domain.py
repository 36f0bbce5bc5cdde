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


def provision(home: Path, services: str) -> Path:
    """Make a new domain; its settings."""
    names = (f"--realm={REALM}", f"--domain={DOMAIN}", "--host-name=dc1", "--host-ip=127.0.0.1")
    places = ("--dns-backend=NONE", f"--targetdir={home}")
    made = ("samba-tool", "domain", "provision", "--server-role=dc", f"--adminpass={PASSWORD}")
    run(*made, *names, *places, "--option=interfaces=lo", "--option=bind interfaces only=yes")
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
        until = time.monotonic() + 120
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
def domain(home: Path) -> Iterator[DomainController]:
    """A controller at an address that only this computer reaches."""
    settings = provision(home, "rpc, ldap, cldap, kdc")
    number = os.getpid() % 250 + 1
    network, wire = f"omq-{os.getpid()}", f"omq{os.getpid()}"
    own, address = f"10.{number}.77.1/30", f"10.{number}.77.2"
    run("ip", "netns", "add", network)
    controller = DomainController(home, settings, network, address)
    try:
        run("ip", "link", "add", wire, "type", "veth", "peer", "name", "dc0", "netns", network)
        run("ip", "addr", "add", own, "dev", wire)
        run("ip", "link", "set", wire, "up")
        run("ip", "-n", network, "link", "set", "lo", "up")
        run("ip", "-n", network, "addr", "add", f"{address}/30", "dev", "dc0")
        run("ip", "-n", network, "link", "set", "dc0", "up")
        controller.start()
        yield controller
    finally:
        controller.kill()
        subprocess.run(("ip", "netns", "del", network), capture_output=True, check=False)
        subprocess.run(("ip", "link", "del", wire), capture_output=True, check=False)
