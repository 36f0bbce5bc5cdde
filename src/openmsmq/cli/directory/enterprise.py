"""`openmsmq directory`: foreign sites, links between sites, and settings of the enterprise."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import click

from openmsmq.cli.directory.place import DirectoryPlace, directory_options
from openmsmq.cli.options import Refusal, WrongUsage
from openmsmq.cli.output import count_text, print_json
from openmsmq.directory.conditions import Condition
from openmsmq.directory.join import find_sites
from openmsmq.directory.objects import LinkObject, ManagerObject, SiteObject
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.routing.topology import GREATEST_COST, LEAST_COST

_MIXED, _NEW = 3, 200
"mSMQVersion ([MS-MQDSSM] 3.1.6.11.3): with controllers of Windows 2000 and older, or without."
_cost = click.IntRange(LEAST_COST, GREATEST_COST)
_gates = click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="MANAGER",
    help="A router that passes messages between the sites; repeat it for more.",
)


@click.command("create-foreign-site")
@click.argument("name")
@directory_options
def create_foreign_site(name: str, *, place: DirectoryPlace, as_json: bool) -> None:
    """Create NAME, a site of another system, behind a connector.

    Link it to a site with a connector server (create-link), and create its computers
    (create-foreign-manager). Ordinary sites are those of the domain.

    \b
    Examples:
      openmsmq directory create-foreign-site mainframe -D ldap://dc1.example.com
    """
    guid = place.run(lambda found: found.create_foreign_site(name))
    if as_json:
        print_json({"name": name, "id": str(guid)})
    else:
        click.echo(f"{name} is {guid}")


@click.command("delete-foreign-site")
@click.argument("name")
@directory_options
def delete_foreign_site(name: str, *, place: DirectoryPlace, as_json: bool) -> None:
    """Delete the foreign site NAME, which no link and no manager needs any more.

    \b
    Examples:
      openmsmq directory delete-foreign-site mainframe -D ldap://dc1.example.com
    """

    async def delete(found: DirectoryWriter) -> None:
        (guid,) = await find_sites(found, [name])
        if not (await found.by_id(SiteObject, guid)).foreign:
            raise Refusal(f"{name} is no foreign site: sites of the domain are not deleted here")
        links = await found.links_of(guid)
        inside = [Condition("sites", "=", guid)]
        managers = [item.computer for item in await found.find(ManagerObject, inside)]
        if links or managers:
            needed = [*managers, *([count_text(len(links), "link")] if links else [])]
            raise Refusal(f"{name} is needed by {', '.join(needed)}: delete these first")
        await found.delete_object(guid)

    place.run(delete)
    if as_json:
        print_json({"deleted": name})


@click.command("create-link")
@click.argument("site1")
@click.argument("site2")
@click.option("--cost", type=_cost, default=LEAST_COST, show_default=True, help="Less is better.")
@_gates
@click.option("--description", default="", help="What people call it.")
@directory_options
def create_link(
    site1: str,
    site2: str,
    cost: int,
    gates: tuple[str, ...],
    description: str,
    *,
    place: DirectoryPlace,
    as_json: bool,
) -> None:
    """Link SITE1 and SITE2: messages go from one to the other, in both directions.

    Managers route by it within the hour, when they read the directory again.

    \b
    Examples:
      openmsmq directory create-link HQ Plant --cost 10 --gate hq-gate -D ldap://dc1.example.com
    """

    async def create(found: DirectoryWriter) -> UUID:
        first, second = await find_sites(found, [site1, site2])
        if first == second:
            raise WrongUsage("two different sites are needed")
        if await _between(found, first, second):
            raise Refusal(f"{site1} and {site2} are linked already: set-link changes that")
        return await found.create_link(first, second, cost, await _ids(found, gates), description)

    guid = place.run(create)
    if as_json:
        print_json({"site1": site1, "site2": site2, "cost": cost, "id": str(guid)})
    else:
        click.echo(f"linked {site1} and {site2} at a cost of {cost}")


@click.command("set-link")
@click.argument("site1")
@click.argument("site2")
@click.option("--cost", type=_cost, help="Less is better.")
@_gates
@click.option("--no-gates", is_flag=True, help="No router guards it any more.")
@click.option("--description", help="What people call it; an empty text for nothing.")
@directory_options
def set_link(
    site1: str,
    site2: str,
    cost: int | None,
    gates: tuple[str, ...],
    description: str | None,
    *,
    no_gates: bool,
    place: DirectoryPlace,
    as_json: bool,
) -> None:
    """Change the link between SITE1 and SITE2.

    \b
    Examples:
      openmsmq directory set-link HQ Plant --cost 20 -D ldap://dc1.example.com
      openmsmq directory set-link HQ Plant --gate hq-gate --gate pl-gate -D ldap://dc1.example.com
    """
    if gates and no_gates:
        raise WrongUsage("--gate or --no-gates, not both")
    given = {"cost": cost, "description": description}
    values: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not values and not gates and not no_gates:
        raise WrongUsage("what is to change? Give --cost, --gate, --no-gates or --description")

    async def change(found: DirectoryWriter) -> None:
        if gates or no_gates:
            values["gate_names"] = await found.routing_paths(await _ids(found, gates))
        for link in await _links(found, site1, site2):
            await found.write(LinkObject, link.path, values)

    place.run(change)
    if as_json:
        print_json({"site1": site1, "site2": site2, **values})


@click.command("delete-link")
@click.argument("site1")
@click.argument("site2")
@directory_options
def delete_link(site1: str, site2: str, *, place: DirectoryPlace, as_json: bool) -> None:
    """Delete the link between SITE1 and SITE2.

    \b
    Examples:
      openmsmq directory delete-link HQ Plant -D ldap://dc1.example.com
    """

    async def delete(found: DirectoryWriter) -> None:
        for link in await _links(found, site1, site2):
            await found.delete_object(link.id)

    place.run(delete)
    if as_json:
        print_json({"deleted": f"{site1} - {site2}"})


@click.command("set-enterprise")
@click.option(
    "--time-to-reach-queue",
    type=click.IntRange(0, 0x7FFFFFFF),
    help="Seconds that messages may travel whose senders do not say, at managers of MSMQ; others"
    " have the setting time_to_reach_queue.",
)
@click.option(
    "--weakened-security/--no-weakened-security",
    default=None,
    help="Managers may read and write objects without a login, as NT 4 did.",
)
@click.option(
    "--notify-old/--no-notify-old",
    default=None,
    help="Managers of Windows 2000 and older are notified of changes.",
)
@click.option(
    "--mixed/--no-mixed", default=None, help="There are controllers of Windows 2000 and older."
)
@directory_options
def set_enterprise(
    time_to_reach_queue: int | None,
    weakened_security: bool | None,
    notify_old: bool | None,
    mixed: bool | None,
    *,
    place: DirectoryPlace,
    as_json: bool,
) -> None:
    """Change the settings that all managers of the enterprise share; `show` prints them.

    \b
    Examples:
      openmsmq directory set-enterprise --time-to-reach-queue 86400 -D ldap://dc1.example.com
    """
    given: dict[str, Any] = {
        "time_to_live": time_to_reach_queue,
        "weakened_security": weakened_security,
        "notification": None if notify_old is None else "Y" if notify_old else "N",
        "directory_version": None if mixed is None else _MIXED if mixed else _NEW,
    }
    values = {name: value for name, value in given.items() if value is not None}
    if not values:
        raise WrongUsage("what is to change? openmsmq directory set-enterprise --help")
    place.run(lambda found: found.write_enterprise(**values))
    if as_json:
        print_json(values)


async def _ids(found: DirectoryWriter, computers: tuple[str, ...]) -> list[UUID]:
    return [(await found.manager_of(name)).id for name in computers]


async def _between(found: DirectoryWriter, site1: UUID, site2: UUID) -> list[LinkObject]:
    """The links between two sites, whichever is named first in them."""
    links = await found.links_of(site1)
    return [link for link in links if {link.site1, link.site2} == {site1, site2}]


async def _links(found: DirectoryWriter, site1: str, site2: str) -> list[LinkObject]:
    first, second = await find_sites(found, [site1, site2])
    links = await _between(found, first, second)
    if not links:
        raise Refusal(f"{site1} and {site2} are not linked")
    return links


COMMANDS: Final = (
    create_foreign_site,
    delete_foreign_site,
    create_link,
    set_link,
    delete_link,
    set_enterprise,
)
