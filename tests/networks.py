"""Computers of a test that have networks of their own, and links between them that can be cut.

    with Networks() as networks:
        shop, hub = networks.add("10.77.0.5"), networks.add("10.77.0.2")
        networks.link(shop, hub)
        ...  # ("ip", "netns", "exec", shop.name, ...)
        networks.cut(shop, hub)

A computer reaches those that it is linked with, and no others: nothing is forwarded. It needs root
and network namespaces; `missing()` says what is not there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from itertools import count
from pathlib import Path
from typing import NamedTuple, Self


def missing() -> str:
    """Why there can be no networks here; empty if there can."""
    if shutil.which("ip") is None:
        return "ip: apt-get install iproute2"
    if os.geteuid() != 0:
        return "a network namespace needs root"
    probe = f"omq-{os.getpid()}-probe"
    done = subprocess.run(
        ("ip", "netns", "add", probe), capture_output=True, text=True, check=False
    )
    subprocess.run(("ip", "netns", "del", probe), capture_output=True, check=False)
    return f"no network namespaces: {done.stderr.strip()}" if done.returncode else ""


def ip(*arguments: str) -> None:
    """Run `ip`, which has to succeed."""
    done = subprocess.run(("ip", *arguments), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"


class Host(NamedTuple):
    """A computer: the name of its network, and its address."""

    name: str
    address: str


class Networks:
    """Computers and the links between them."""

    def __init__(self) -> None:
        self._hosts: list[Host] = []
        self._links: dict[frozenset[Host], dict[Host, str]] = {}
        "The device of each side."
        self._numbers = count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for host in self._hosts:
            shutil.rmtree(Path("/etc/netns", host.name), ignore_errors=True)
            subprocess.run(("ip", "netns", "del", host.name), capture_output=True, check=False)

    def add(self, address: str) -> Host:
        """A computer with an address."""
        host = Host(f"omq-{os.getpid()}-{next(self._numbers)}", address)
        ip("netns", "add", host.name)
        self._hosts.append(host)
        ip("-n", host.name, "link", "set", "lo", "up")
        ip("-n", host.name, "addr", "add", f"{address}/32", "dev", "lo")
        return host

    def resolve_by(self, host: Host, address: str) -> None:
        """Let the programs of a computer ask a name server."""
        folder = Path("/etc/netns", host.name)
        folder.mkdir(parents=True)
        (folder / "resolv.conf").write_text(f"nameserver {address}\n")

    def link(self, one: Host, other: Host) -> None:
        """Let two computers reach each other; one of them may be another's, with its address."""
        number = next(self._numbers)
        devices = {one: f"o{number}a", other: f"o{number}b"}
        near, far = devices.items()
        ip("-n", one.name, "link", "add", near[1], "type", "veth", "peer", "name", far[1],
           "netns", other.name)  # fmt: skip
        self._links[frozenset(devices)] = devices
        self.mend(one, other)

    def cut(self, one: Host, other: Host) -> None:
        """Let two computers not reach each other any longer."""
        for host, device in self._links[frozenset((one, other))].items():
            ip("-n", host.name, "link", "set", device, "down")

    def mend(self, one: Host, other: Host) -> None:
        """Let them reach each other again."""
        devices = self._links[frozenset((one, other))]
        for host, device in devices.items():
            ip("-n", host.name, "link", "set", device, "up")
        for host, there in ((one, other), (other, one)):
            ip("-n", host.name, "route", "replace", f"{there.address}/32", "dev", devices[host],
               "src", host.address)  # fmt: skip
