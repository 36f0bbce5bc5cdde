"""Which directory a command of `openmsmq directory` asks, and as whom."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from dataclasses import asdict, dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import click

from openmsmq.cli.options import TOKEN_VARIABLE, WrongUsage
from openmsmq.directory.ldap.client import open_directory_tree, tls_context
from openmsmq.directory.ldap.controller import LOGIN_KINDS, parse_place
from openmsmq.directory.ldap.login import LdapLogin
from openmsmq.directory.notification import Notification, notification_queue
from openmsmq.directory.outcome import DirectoryFailed, as_error
from openmsmq.directory.writer import DirectoryWriter

T = TypeVar("T")
PASSWORD_VARIABLE: Final = "OPENMSMQ_DIRECTORY_PASSWORD"  # noqa: S105
existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)
notify_option = click.option(
    "--notify-by",
    metavar="HOST:PORT",
    help=f"A service of the domain that tells the manager at once; {TOKEN_VARIABLE} is its token.",
)


@dataclass(frozen=True, slots=True)
class DirectoryPlace:
    """Which directory, and who asks it."""

    open: Callable[[], DirectoryWriter]

    def run(self, work: Callable[[DirectoryWriter], Coroutine[Any, Any, T]]) -> T:
        """Do something with it; what it refuses ends the command."""

        async def go() -> T:
            found = self.open()
            try:
                return await work(found)
            finally:
                await found.tree.close()

        try:
            return asyncio.run(go())
        except DirectoryFailed as error:
            raise as_error(error) from error


def directory_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what says which directory is meant, and `--json`; the command gets `place`."""

    @wraps(function)
    def placed(
        *values: Any,
        directory: tuple[str, ...],
        auth: str,
        user: str,
        password_file: Path | None,
        keytab: Path | None,
        ca: Path | None,
        **given: Any,
    ) -> Any:
        if not directory:
            raise WrongUsage(
                "which directory? Give --directory DOMAIN or ldap://HOST, or OPENMSMQ_DIRECTORY"
            )
        password = ""
        if auth != "kerberos":
            password = _password(password_file)
        login = LdapLogin(auth, user, password, keytab)
        places = [parse_place(one) for one in directory]
        context = tls_context(ca)

        def opened() -> DirectoryWriter:
            return DirectoryWriter(open_directory_tree(places, login, context))

        return function(*values, place=DirectoryPlace(opened), **given)

    options = (
        click.option(
            "--directory",
            "-D",
            multiple=True,
            envvar="OPENMSMQ_DIRECTORY",
            metavar="URL",
            help="A domain, whose controllers DNS knows, or a controller: ldap://HOST or"
            " ldaps://HOST; others are tried in turn.",
        ),
        click.option(
            "--auth",
            type=click.Choice(LOGIN_KINDS),
            default="kerberos",
            show_default=True,
            envvar="OPENMSMQ_DIRECTORY_AUTH",
            help="How to log on; a password is sent over TLS only.",
        ),
        click.option("--user", default="", envvar="OPENMSMQ_DIRECTORY_USER", help="Who logs on."),
        click.option(
            "--password-file",
            type=existing_file,
            help=f"A file with the password; else {PASSWORD_VARIABLE}, or a question.",
        ),
        click.option(
            "--keytab", type=existing_file, help="Keys for Kerberos; else a ticket cache."
        ),
        click.option("--ca", type=existing_file, help="Certificates that sign the controller's."),
        click.option("--json", "as_json", is_flag=True, help="JSON, one object a line."),
    )
    for option in reversed(options):
        placed = option(placed)
    return placed


def _password(file: Path | None) -> str:
    if file is not None:
        try:
            return file.read_text().strip("\r\n")
        except OSError as error:
            raise WrongUsage(f"{file}: {error.strerror}") from error
    given = os.environ.get(PASSWORD_VARIABLE)
    return given if given is not None else str(click.prompt("Password", hide_input=True, err=True))


def notify(by: str | None, notification: Notification, manager: UUID) -> None:
    """Let a service tell a manager that something of it has changed ([MS-MQCN] 3.3.4.1)."""
    if by is None:
        return
    import openmsmq  # not at the top: help and usage errors come without it

    with openmsmq.connect(by, token=os.environ.get(TOKEN_VARIABLE, "")) as found:
        name = str(notification_queue(manager))
        found.open_queue(name, access=openmsmq.Access.SEND).send(notification.message())


def document(item: Any) -> dict[str, Any]:
    """An object as JSON: bytes in hexadecimal, identifiers as text."""
    made = {}
    for name, value in asdict(item).items():
        if isinstance(value, bytes):
            value = value.hex()
        elif isinstance(value, tuple):
            value = [one.hex() if isinstance(one, bytes) else str(one) for one in value]
        elif not isinstance(value, str | int | float | bool | None):
            value = str(getattr(item, name))
        made[name] = value
    return made
