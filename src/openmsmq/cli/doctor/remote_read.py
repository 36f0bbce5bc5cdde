"""What can be wrong with remote read: who can log on, how calls are protected, and passwords."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from openmsmq.access.users import ANONYMOUS, USERS_FILE, Users
from openmsmq.errors import MQError
from openmsmq.names.parts import fold
from openmsmq.net.addresses import is_loopback
from openmsmq.service.backup import SERVING_FILE
from openmsmq.service.configuration import Config, load_config


class RemoteReadRisk(NamedTuple):
    """Something about remote read, and what to do about it."""

    text: str
    advice: str


def remote_read_risks(directory: Path) -> Iterator[RemoteReadRisk]:
    """What is risky or cannot work, as the service was started last."""
    file = directory / SERVING_FILE
    try:
        config = load_config(file, {"data": directory}) if file.exists() else Config(data=directory)
        users = list(Users.load(directory))
    except (MQError, OSError):
        return
    if config.takes_remote_calls:
        yield from _protection(config)
        yield from _logins(config, [fold(user.name) for user in users])
    yield from _files(config, directory)


def _protection(config: Config) -> Iterator[RemoteReadRisk]:
    if is_loopback(config.rpc_host):
        return
    if config.rpc_allow_unauthenticated or config.rpc_allow_anonymous:
        yield RemoteReadRisk(
            f"remote calls at {config.rpc_host} need no login and no encryption",
            "Turn rpc.allow_unauthenticated and rpc.allow_anonymous off, unless old peers need it.",
        )
    elif config.rpc_accept_integrity:
        yield RemoteReadRisk(
            f"remote calls at {config.rpc_host} need not be encrypted",
            "Turn rpc.accept_integrity off, unless old peers need it.",
        )


def _logins(config: Config, users: list[str]) -> Iterator[RemoteReadRisk]:
    needs_none = config.rpc_allow_unauthenticated or config.rpc_allow_anonymous
    if not users:
        yield RemoteReadRisk(
            "remote calls are taken, and there is no user who could make one",
            "openmsmq user add NAME --role read --queue PATTERN",
        )
    elif needs_none and fold(ANONYMOUS) not in users:
        yield RemoteReadRisk(
            "remote calls need no login, but the user anonymous does not exist and has no rights",
            "openmsmq user add anonymous --role read --queue PATTERN",
        )
    elif not needs_none and fold(ANONYMOUS) in users:
        yield RemoteReadRisk(
            "the user anonymous has rights, but all remote calls need a login",
            "openmsmq user remove anonymous",
        )


def _files(config: Config, directory: Path) -> Iterator[RemoteReadRisk]:
    """Files with passwords, or what is as good as one."""
    paths = [directory / USERS_FILE]
    for computer, entry in config.rpc_managers.items():
        if entry.password_file is not None:
            path = directory / entry.password_file
            paths.append(path)
            if not path.exists():
                yield RemoteReadRisk(
                    f"queues of {computer} cannot be read: there is no {path}",
                    f"Write the password of {entry.user} there, and chmod 600 {path}",
                )
    for path in paths:
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield RemoteReadRisk(
                f"other users of this computer can read {path}", f"chmod 600 {path}"
            )
