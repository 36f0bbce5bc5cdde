"""File descriptors: how many this process may have, and how many of them connections may take."""

from __future__ import annotations

import fcntl
import os
import resource
from contextlib import suppress
from typing import NamedTuple

from openmsmq.service.configuration import Config
from openmsmq.service.limits import CONSOLE_MAX, DESCRIPTORS_MAX, FILES_MAX


class Shares(NamedTuple):
    """How many connections each listener may have."""

    clients: int
    sessions: int
    console: int


def needed(config: Config) -> int:
    """The descriptors for all connections that are configured."""
    asked = config.clients_max + config.sessions_max + _remote_calls(config)
    return asked + CONSOLE_MAX + FILES_MAX


def _remote_calls(config: Config) -> int:
    """Connections for remote calls, of all listeners that are on."""
    ports = config.rpc_port, config.rpc_alternate_port, config.endpoint_mapper_port
    return config.rpc_connections_max * sum(port is not None for port in ports)


def raise_limit(wanted: int) -> int:
    """Raise the soft limit of this process to the hard one, within reason; what it is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(wanted, DESCRIPTORS_MAX)
    goal = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft == resource.RLIM_INFINITY or soft >= goal:
        return most if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (goal, hard))
    except (OSError, ValueError):  # not allowed: continue with what there is
        return soft
    return goal


def extend_table(count: int) -> None:
    """Have the system make its table of this process's descriptors as large as it may become.

    Linux doubles it when it is full, and a process with threads waits 10 to 20 ms for that: in the
    middle of its work, with all that its programs ask of it.
    """
    with suppress(OSError), open(os.devnull) as file:
        os.close(fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, count - 1))


def shares(config: Config, descriptors: int) -> Shares:
    """What the listeners may have: what is configured, or less where there are fewer descriptors.

    A quarter of few descriptors is kept for files, and no listener can take those of another.
    """
    usable = descriptors - min(FILES_MAX, descriptors // 4)
    usable -= min(_remote_calls(config), usable // 4)
    asked = config.clients_max + config.sessions_max
    console = min(CONSOLE_MAX, max(1, usable // 8))
    rest = max(2, usable - console)
    if rest >= asked:
        return Shares(config.clients_max, config.sessions_max, console)
    clients = min(max(1, rest * config.clients_max // asked), rest - 1)
    return Shares(clients, rest - clients, console)
