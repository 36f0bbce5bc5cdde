"""`openmsmq directory`: the objects of an Active Directory that are about message queuing."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import click

from openmsmq.cli.directory import enterprise, managers
from openmsmq.cli.directory.place import (
    DirectoryPlace,
    directory_options,
    document,
    existing_file,
    notify,
    notify_option,
)
from openmsmq.cli.options import Refusal, WrongUsage
from openmsmq.cli.output import print_json, print_table
from openmsmq.directory.conditions import Condition, SortKey
from openmsmq.directory.notification import ChangeEvent, Notification
from openmsmq.directory.objects import (
    EnterpriseObject,
    LinkObject,
    ManagerObject,
    QueueObject,
    SiteObject,
    UserObject,
)
from openmsmq.directory.rights import published_permissions
from openmsmq.directory.writer import DirectoryWriter


@click.group()
def directory() -> None:
    """Look at managers, public queues, sites and users in an Active Directory, and change them.

    Commands ask a domain controller themselves, as the user who logs on; no service is needed.

    \b
    Examples:
      openmsmq directory show --directory example.com
      openmsmq directory find --label orders -D ldap://dc1.example.com
      openmsmq directory join --name shop01 --site HQ --data /var/lib/openmsmq -D ldap://dc1
    """


@directory.command()
@directory_options
def show(*, place: DirectoryPlace, as_json: bool) -> None:
    """Show the enterprise: its sites, links and queue managers.

    \b
    Examples:
      openmsmq directory show --directory ldap://dc1.example.com
      openmsmq directory show -D ldaps://dc1 --auth password --user anna@example.com --json
    """

    async def read(found: DirectoryWriter) -> tuple[Any, ...]:
        broken: list[str] = []
        return (
            await found.read(EnterpriseObject),
            await found.find(SiteObject, sort=[SortKey("name")]),
            await found.find(LinkObject, broken=broken),
            await found.find(ManagerObject, sort=[SortKey("computer")], broken=broken),
            broken,
        )

    enterprise, sites, links, managers, broken = place.run(read)
    names = {site.id: site.name for site in sites} | {item.id: item.computer for item in managers}
    if as_json:
        kinds = (("site", sites), ("link", links), ("manager", managers))
        for kind, items in (("enterprise", [enterprise]), *kinds):
            for item in items:
                print_json({"kind": kind, **document(item)})
        return
    click.echo(
        f"{enterprise.name}: {len(sites)} sites, {len(links)} links, {len(managers)} managers"
    )
    click.echo(f"time to reach a queue: {enterprise.time_to_live:,} s")
    print_table(
        ("SITE", "ID", "NOTES"), [(s.name, s.id, "foreign" if s.foreign else "") for s in sites]
    )
    print_table(
        ("LINK", "COST", "GATES"),
        [
            (
                f"{names.get(link.site1)} - {names.get(link.site2)}",
                link.cost,
                ", ".join(str(names.get(gate, gate)) for gate in link.gates),
            )
            for link in links
        ],
    )
    print_table(
        ("MANAGER", "ID", "HOST", "SITES", "NOTES"),
        [
            (
                item.computer,
                item.id,
                item.host,
                ", ".join(str(names.get(site, site)) for site in item.sites),
                ", ".join(
                    word
                    for word, is_so in (("router", item.router), ("foreign", item.foreign))
                    if is_so
                ),
            )
            for item in managers
        ],
    )
    for reason in broken:
        click.echo(f"warning: {reason}", err=True)


@directory.command()
@click.option("--label", help="Queues with this label.")
@click.option("--type", "type_", type=click.UUID, help="Queues of this type.")
@click.option("--path", help="The queue with this path name, computer\\\\queue.")
@click.option("--id", "guid", type=click.UUID, help="The queue with this identifier.")
@click.option("--computer", help="Queues of this computer.")
@directory_options
def find(
    label: str | None,
    type_: UUID | None,
    path: str | None,
    guid: UUID | None,
    computer: str | None,
    *,
    place: DirectoryPlace,
    as_json: bool,
) -> None:
    """Find public queues by label, type, path name, identifier or computer.

    \b
    Examples:
      openmsmq directory find -D ldap://dc1.example.com
      openmsmq directory find --label "orders of the HQ" -D ldap://dc1.example.com
      openmsmq directory find --path 'hq-app\\orders' -D ldap://dc1.example.com --json
    """

    async def search(found: DirectoryWriter) -> list[QueueObject]:
        if guid is not None:
            return [await found.by_id(QueueObject, guid)]
        if path is not None:
            return [await found.queue_by_path(path)]
        if computer is not None:
            return await found.queues_of((await found.manager_of(computer)).path)
        conditions = []
        if label is not None:
            conditions.append(Condition("label", "=", label))
        if type_ is not None:
            conditions.append(Condition("type", "=", type_))
        return await found.find(QueueObject, conditions, [SortKey("common_name")])

    queues = place.run(search)
    if as_json:
        for queue in queues:
            print_json({"path_name": queue.path_name, **document(queue)})
        return
    rows = [
        (queue.path_name, f"PUBLIC={queue.id}", queue.label, "yes" if queue.transactional else "")
        for queue in queues
    ]
    print_table(("QUEUE", "FORMAT NAME", "LABEL", "TRANSACTIONAL"), rows)


@directory.command("create-queue")
@click.argument("path_name")
@click.option("--label", default="", help="A description, at most 124 characters.")
@click.option("--type", "type_", type=click.UUID, help="A GUID that says what kind of queue it is.")
@click.option("--transactional", is_flag=True, help="It takes transactional messages only.")
@click.option("--journal", is_flag=True, help="Keep a copy of what is received.")
@notify_option
@directory_options
def create_queue(
    path_name: str,
    label: str,
    type_: UUID | None,
    notify_by: str | None,
    *,
    transactional: bool,
    journal: bool,
    place: DirectoryPlace,
    as_json: bool,
) -> None:
    """Create the public queue PATH_NAME, computer\\queue, of any queue manager.

    Its manager makes the queue when --notify-by lets it know, or when it reads the directory again.

    \b
    Examples:
      openmsmq directory create-queue 'hq-app\\orders' --transactional -D ldap://dc1.example.com
    """

    async def create(found: DirectoryWriter) -> tuple[UUID, Notification, UUID]:
        values: dict[str, Any] = {"transactional": transactional, "journal": journal}
        values |= {"label": label} if label else {}
        values |= {"type": type_} if type_ is not None else {}
        manager = await found.manager_of(path_name.partition("\\")[0])
        descriptor = b"" if manager.sid is None else published_permissions(manager.sid, "").encode()
        made = await found.create_queue(path_name, values, descriptor)
        event = ChangeEvent.QUEUE_CREATED
        return made, Notification(event, made, found.tree.server), manager.id

    guid, notification, owner = place.run(create)
    notify(notify_by, notification, owner)
    if as_json:
        print_json({"path_name": path_name, "id": str(guid)})
    else:
        click.echo(f"PUBLIC={guid}")


@directory.command("set-queue")
@click.argument("path_name")
@click.option("--label", help="A description; an empty text for none.")
@click.option("--journal/--no-journal", default=None, help="Keep a copy of what is received.")
@click.option("--quota", type=click.IntRange(0, 0xFFFFFFFF), help="KiB that its messages may take.")
@notify_option
@directory_options
def set_queue(
    path_name: str,
    label: str | None,
    journal: bool | None,
    quota: int | None,
    notify_by: str | None,
    *,
    place: DirectoryPlace,
    as_json: bool,
) -> None:
    """Change the public queue PATH_NAME.

    \b
    Examples:
      openmsmq directory set-queue 'hq-app\\orders' --label "new orders" -D ldap://dc1.example.com
    """
    given = {"label": label, "journal": journal, "quota": quota}
    values = {name: value for name, value in given.items() if value is not None}
    if not values:
        raise WrongUsage("what is to change? Give --label, --journal or --quota")

    async def change(found: DirectoryWriter) -> tuple[Notification, UUID]:
        queue = await found.queue_by_path(path_name)
        await found.write(QueueObject, queue.path, values)
        event = ChangeEvent.QUEUE_CHANGED
        return Notification(event, queue.id, found.tree.server), queue.manager

    notify(notify_by, *place.run(change))
    if as_json:
        print_json({"path_name": path_name, **values})


@directory.command("delete-queue")
@click.argument("path_name")
@notify_option
@directory_options
def delete_queue(
    path_name: str, notify_by: str | None, *, place: DirectoryPlace, as_json: bool
) -> None:
    """Delete the object of the public queue PATH_NAME.

    \b
    Examples:
      openmsmq directory delete-queue 'hq-app\\orders' -D ldap://dc1.example.com
    """

    async def delete(found: DirectoryWriter) -> tuple[Notification, UUID]:
        queue = await found.queue_by_path(path_name)
        await found.delete_queue(guid=queue.id)
        event = ChangeEvent.QUEUE_DELETED
        return Notification(event, queue.id, found.tree.server), queue.manager

    notify(notify_by, *place.run(delete))
    if as_json:
        print_json({"deleted": path_name})


@directory.command()
@click.argument("guid", type=click.UUID)
@directory_options
def members(guid: UUID, *, place: DirectoryPlace, as_json: bool) -> None:
    """Show what the distribution list or alias GUID stands for: what DL=GUID is sent to.

    \b
    Examples:
      openmsmq directory members 0d1c5e55-a5c7-4a44-abe0-75e80a437b90 -D ldap://dc1.example.com
    """
    for name in place.run(lambda found: found.format_names(guid)):
        if as_json:
            print_json({"format_name": name})
        else:
            click.echo(name)


@directory.command()
@click.argument("account")
@click.argument("certificate", type=existing_file)
@directory_options
def certificate(account: str, certificate: Path, *, place: DirectoryPlace, as_json: bool) -> None:
    """Register CERTIFICATE, an X.509 file in DER, with the user ACCOUNT.

    \b
    Examples:
      openmsmq directory certificate anna anna.der -D ldap://dc1.example.com
    """

    content = certificate.read_bytes()

    async def register(found: DirectoryWriter) -> None:
        users = await found.find(UserObject, [Condition("account", "=", account)])
        if not users:
            raise Refusal(f"no user {account}")
        await found.register_certificate(users[0].path, content, uuid4())

    place.run(register)
    if as_json:
        print_json({"account": account, "certificate": str(certificate)})


for _command in (*enterprise.COMMANDS, *managers.COMMANDS):
    directory.add_command(_command)
