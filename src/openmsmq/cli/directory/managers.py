"""`openmsmq directory`: queue managers, which join the directory, change in it and leave it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click

from openmsmq.cli.directory.place import (
    DirectoryPlace,
    directory_options,
    notify,
    notify_option,
)
from openmsmq.cli.options import WrongUsage, confirm
from openmsmq.cli.output import count_text, print_json
from openmsmq.directory.join import create_foreign_manager, find_sites, join_manager
from openmsmq.directory.notification import ChangeEvent, Notification
from openmsmq.directory.objects import ManagerObject
from openmsmq.directory.writer import DirectoryWriter, service_bits

_quota = click.IntRange(0, 0xFFFFFFFF)


@click.command()
@click.option(
    "--data", type=click.Path(file_okay=False, path_type=Path), required=True, help="Its directory."
)
@click.option("--name", required=True, help="The computer: its account in the domain.")
@click.option("--site", "sites", multiple=True, required=True, help="A site that it is in.")
@click.option("--router", is_flag=True, help="It passes on messages of others.")
@click.option(
    "--adopt",
    is_flag=True,
    help="Take the identity of the object over, though the manager has another one.",
)
@directory_options
def join(
    data: Path,
    name: str,
    sites: tuple[str, ...],
    *,
    router: bool,
    adopt: bool,
    place: DirectoryPlace,
    as_json: bool,
) -> None:
    """Register the queue manager of this computer, before it is started for the first time.

    The directory chooses its identity. A manager that has run already has one: --adopt gives it
    the new one, unless messages are on their way under the old one.

    \b
    Examples:
      openmsmq directory join --name shop01 --site HQ --data /var/lib/openmsmq -D ldap://dc1
    """

    async def register(found: DirectoryWriter) -> tuple[UUID, list[str]]:
        return await join_manager(found, name, sites, data, router=router, adopt=adopt)

    guid, warnings = place.run(register)
    if as_json:
        print_json({"name": name, "id": str(guid), "warnings": warnings})
        return
    click.echo(f"{name} is {guid}")
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


@click.command("create-foreign-manager")
@click.argument("name")
@click.option("--site", "sites", multiple=True, required=True, help="A foreign site that it is in.")
@directory_options
def create_foreign(
    name: str, sites: tuple[str, ...], *, place: DirectoryPlace, as_json: bool
) -> None:
    """Register the computer NAME of another system, so that its queues can be sent to.

    It needs an account in the domain, as other computers do. Everyone may create queues of it.

    \b
    Examples:
      openmsmq directory create-foreign-manager broker1 --site rabbitmq -D ldap://dc1.example.com
    """
    guid = place.run(lambda found: create_foreign_manager(found, name, sites))
    if as_json:
        print_json({"name": name, "id": str(guid)})
    else:
        click.echo(f"{name} is {guid}")


@click.command("set-manager")
@click.argument("name")
@click.option("--site", "sites", multiple=True, help="A site that it is in, instead of others.")
@click.option("--router/--no-router", default=None, help="It passes on messages of others.")
@click.option(
    "--out", "out_servers", multiple=True, metavar="MANAGER", help="A router for all it sends."
)
@click.option("--no-out", is_flag=True, help="It sends as routing says.")
@click.option(
    "--in", "in_servers", multiple=True, metavar="MANAGER", help="A router for all it gets."
)
@click.option("--no-in", is_flag=True, help="It gets messages as routing says.")
@click.option("--quota", type=_quota, help="KiB that all its messages may take.")
@click.option("--journal-quota", type=_quota, help="KiB that its journal may take.")
@notify_option
@directory_options
def set_manager(
    name: str,
    sites: tuple[str, ...],
    out_servers: tuple[str, ...],
    in_servers: tuple[str, ...],
    quota: int | None,
    journal_quota: int | None,
    notify_by: str | None,
    *,
    router: bool | None,
    no_out: bool,
    no_in: bool,
    place: DirectoryPlace,
    as_json: bool,
) -> None:
    """Change the object of the queue manager NAME.

    It follows when --notify-by lets it know, or when it reads the directory again.

    \b
    Examples:
      openmsmq directory set-manager till7 --out hq-gate --in hq-gate -D ldap://dc1.example.com
      openmsmq directory set-manager hq-gate --router -D ldap://dc1.example.com
      openmsmq directory set-manager shop01 --quota 2000000 -D ldap://dc1.example.com
    """
    given = {"quota": quota, "journal_quota": journal_quota, "router": router}
    values: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    routers = {"out_names": (out_servers, no_out), "in_names": (in_servers, no_in)}
    if any(named and none for named, none in routers.values()):
        raise WrongUsage("--out or --no-out, --in or --no-in, not both")
    if not values and not sites and not any(map(any, routers.values())):
        raise WrongUsage("what is to change? openmsmq directory set-manager --help")

    notification, missing = place.run(lambda found: _change(found, name, sites, routers, values))
    notify(notify_by, notification, notification.object)
    for site in missing:
        click.echo(f"warning: no site {site}", err=True)
    if as_json:
        print_json({"name": name, "changed": sorted(values)})


async def _change(
    found: DirectoryWriter,
    name: str,
    sites: tuple[str, ...],
    routers: Mapping[str, tuple[tuple[str, ...], bool]],
    values: dict[str, Any],
) -> tuple[Notification, list[str]]:
    """Write what is given to the object of a manager, and what a server does to its sites."""
    manager = await found.manager_of(name)
    if sites:
        values["sites"] = await find_sites(found, sites)
    for key, (named, none) in routers.items():
        if named or none:
            ids = [(await found.manager_of(one)).id for one in named]
            values[key] = await found.routing_paths(ids)
    if "router" in values:
        now = {"directory_server": manager.directory_server, "services": manager.services}
        values["services"] = service_bits({**now, "router": values["router"]})
    await found.write(ManagerObject, manager.path, values)
    missing: list[str] = []
    if sites or "router" in values:
        missing = await found.write_settings(await found.by_id(ManagerObject, manager.id))
    return Notification(ChangeEvent.MACHINE_CHANGED, manager.id, found.tree.server), missing


@click.command("delete-manager")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@directory_options
def delete_manager(name: str, *, yes: bool, place: DirectoryPlace, as_json: bool) -> None:
    """Delete the queue manager NAME from the directory, with its public queues.

    NAME is its computer, its identifier or its distinguished name. To take a manager out of the
    domain, stop it first and take `directory` out of its configuration: it keeps all its queues
    and messages, and goes on as one of a workgroup. If it has queues there it asks first; off a
    terminal it needs --yes then.

    \b
    Examples:
      openmsmq directory delete-manager shop01 -D ldap://dc1.example.com
    """

    async def look(found: DirectoryWriter) -> tuple[ManagerObject, int]:
        manager = await _manager(found, name)
        return manager, len(await found.queues_of(manager.path, broken=[]))

    manager, count = place.run(look)
    if count:
        queues = count_text(count, "public queue")
        confirm(f"{manager.computer} has {queues} in the directory. Delete them, too?", yes=yes)
    place.run(lambda found: found.delete_manager(manager))
    if as_json:
        print_json({"deleted": manager.computer, "id": str(manager.id), "queues": count})


async def _manager(found: DirectoryWriter, name: str) -> ManagerObject:
    """A manager by identifier, distinguished name or computer ([MS-MQDSSM] 3.1.6.2.1.2)."""
    try:
        return await found.by_id(ManagerObject, UUID(name))
    except ValueError:
        pass
    if "=" in name:
        return await found.by_path(ManagerObject, name)
    return await found.manager_of(name)


COMMANDS: Final = (join, create_foreign, set_manager, delete_manager)
