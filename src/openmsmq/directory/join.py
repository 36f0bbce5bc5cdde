"""Registration of a queue manager: its object in the directory, and its identity here.

The directory chooses the identity ([MS-MQSO] 6.6.2.1), so that this comes before the first message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID

from openmsmq.directory.conditions import Condition
from openmsmq.directory.credentials import NO_KEYS, publish_keys
from openmsmq.directory.objects import ManagerObject, SiteObject, places
from openmsmq.directory.outcome import DirectoryFailed, DirectoryOutcome
from openmsmq.directory.rights import machine_permissions, manager_descriptor
from openmsmq.directory.values import ValueKind, decode_value
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.engine.storage.recovery import IDENTITY_KEY
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import CantResolveSites, Malformed, MQError, UnsupportedOperation
from openmsmq.limits import U32_MAX
from openmsmq.properties.values import OperatingSystemType
from openmsmq.store.lmdb import LmdbStore
from openmsmq.types.queues import QueueKind
from openmsmq.types.settings import Settings


async def join_manager(
    directory: DirectoryWriter,
    computer: str,
    sites: Iterable[str],
    data: Path,
    *,
    router: bool = False,
    adopt: bool = False,
) -> tuple[UUID, list[str]]:
    """Make or find the object of a manager, and give the manager in `data` its identity.

    (Domain join, [MS-MQSO] 6.6.2.1.) The identity, and what could not be done.
    """
    guid = await _create(directory, computer, sites, router=router)
    set_identity(data, guid, adopt=adopt)
    warnings: list[str] = []
    manager = await directory.by_id(ManagerObject, guid)
    try:
        await publish_keys(directory, manager, data)
    except ImportError:
        warnings.append(NO_KEYS)
    except DirectoryFailed as error:
        if error.outcome is DirectoryOutcome.NOT_CONNECTED:
            raise
        warnings.append(f"the directory did not take all keys: {error}")
    if router:
        try:
            warnings += [f"no site {site}" for site in await directory.write_settings(manager)]
        except DirectoryFailed as error:
            if error.outcome is DirectoryOutcome.NOT_CONNECTED:
                raise
            warnings.append(f"no settings in the site, an administrator has to add them: {error}")
    return guid, warnings


async def create_foreign_manager(
    directory: DirectoryWriter, computer: str, sites: Iterable[str]
) -> UUID:
    """Make the object of a computer of another system ([MS-MQDSSM] 3.1.6.1.1.8).

    One that is there stays as it is, and must be a foreign one.
    """
    guid = await _create(directory, computer, sites, foreign=True)
    if not (await directory.by_id(ManagerObject, guid)).foreign:
        raise UnsupportedOperation(f"{computer} has a queue manager that is not foreign")
    return guid


async def _create(
    directory: DirectoryWriter,
    computer: str,
    sites: Iterable[str],
    *,
    router: bool = False,
    foreign: bool = False,
) -> UUID:
    """Make or find the object of a manager, with what says who may change it.

    ([MS-MQDMPR] 3.1.1.1: OperatingSystemType is one of those that there are.)
    """
    site_ids = await find_sites(directory, sites)
    raw = (await directory.computer(computer)).first("objectSid")
    descriptor = b""
    if raw is not None:
        sid = decode_value(ValueKind.SID, raw)
        descriptor = manager_descriptor(sid, foreign=foreign).encode()
    values = {
        "sites": site_ids,
        "system": OperatingSystemType.FOREIGN,  # not Windows; ForeignSystem is something else
        "foreign": foreign,
        "router": router,
        "directory_server": False,
        "supporting_server": False,
    }
    return await directory.create_manager(computer, values, descriptor)


async def find_sites(directory: DirectoryWriter, names: Iterable[str]) -> tuple[UUID, ...]:
    """The sites with these names; none is MQ_ERROR_CANT_RESOLVE_SITES ([MS-MQDMPR] 3.1.3)."""
    found = []
    for name in names:
        sites = await directory.find(SiteObject, [Condition("name", "=", name)])
        if not sites:
            raise CantResolveSites(f"there is no site {name}")
        found.append(sites[0].id)
    return tuple(found)


def set_identity(data: Path, identity: UUID, *, adopt: bool = False) -> None:
    """Give the manager of a directory an identity; another one that it has stays without `adopt`.

    (DS-22) Messages on their way are known by the old one, so that none may wait.
    """
    store = LmdbStore.open(data)
    try:
        raw = store.snapshot.get(Table.META, IDENTITY_KEY)
        if raw is not None:
            if UUID(bytes=raw) == identity:
                return
            if not adopt:
                raise UnsupportedOperation(
                    f"the manager in {data} is {UUID(bytes=raw)} and the directory says {identity};"
                    " --adopt takes that over"
                )
            _check_idle(store)
        store.begin().put(Table.META, IDENTITY_KEY, identity.bytes)
        store.commit()
    finally:
        store.close()


def _check_idle(store: LmdbStore) -> None:
    """Refuse another identity while messages wait to be sent under the old one."""
    for _, row in store.snapshot.scan(Table.QUEUES, b"", b"\xff" * 16):
        if row[:1] == b"{" and json.loads(row).get("kind") == QueueKind.OUTGOING:
            raise UnsupportedOperation(
                f"messages wait for {json.loads(row).get('name')}: send or purge them first"
            )


async def find_own(directory: DirectoryWriter, name: str, identity: UUID) -> ManagerObject:
    """The object of this manager; `DirectoryFailed` says what an administrator has to do.

    ([MS-MQSO] 6.6.2, 6.6.2.1) Nothing is made or changed, whether the domain is another one now or
    not: an object with this identity that is elsewhere has to be moved.
    """
    try:
        own = await directory.manager_of(name, security=True)
    except DirectoryFailed as error:
        if error.outcome is not DirectoryOutcome.OBJECT_NOT_FOUND:
            raise
        if (moved := await _elsewhere(directory, identity)) is not None:
            raise DirectoryFailed(
                DirectoryOutcome.GENERIC_ERROR,
                f"the object of this manager is {moved}, not below {name}: an administrator has to"
                " move it",
            ) from error
        raise
    if own.id != identity:
        raise DirectoryFailed(
            DirectoryOutcome.GENERIC_ERROR,
            f"{own.path} has the identity {own.id}, this manager {identity}: join the"
            " directory with it (openmsmq directory join), or have the object deleted",
        )
    return own


async def _elsewhere(directory: DirectoryWriter, identity: UUID) -> str | None:
    """Where the object with an identity is, in any domain; None if there is none."""
    try:
        return (await directory.by_id(ManagerObject, identity)).path
    except DirectoryFailed as error:
        if error.outcome is DirectoryOutcome.OBJECT_NOT_FOUND:
            return None
        raise


async def follow_site(directory: DirectoryWriter, own: ManagerObject, site: str) -> str:
    """Write the site that this computer is in now; a server only has it reported.

    ([MS-MQDMPR] 3.1.3; DS-34) Foreign sites, to which a connector server belongs, stay. What an
    administrator has to know, or nothing.
    """
    try:
        (now,) = await find_sites(directory, [site])
    except CantResolveSites as error:
        return f"directory.site: {error.detail}"
    if now in own.sites:
        return ""
    if own.is_server:
        return (
            f"{own.computer} is in the site {site}, and in others in the directory: if it is to"
            f" serve there, openmsmq directory set-manager {own.computer} --site {site}"
        )
    foreign = [one for one in own.sites if await _is_foreign(directory, one)]
    await directory.write(ManagerObject, own.path, {"sites": (now, *foreign)})
    return ""


async def _is_foreign(directory: DirectoryWriter, site: UUID) -> bool:
    try:
        return (await directory.by_id(SiteObject, site)).foreign
    except DirectoryFailed as error:
        if error.outcome is DirectoryOutcome.OBJECT_NOT_FOUND:
            return False
        raise


def machine_changes(own: ManagerObject, settings: Settings) -> tuple[dict[str, Any], str]:
    """The settings that the directory has for this manager, as far as they are others here.

    ([MS-MQCN] 3.2.5.2) What is not set there stays as it is here (DS-35), as do permissions that
    cannot be read; then the reason is returned, too.
    """
    wanted: dict[str, Any] = {}
    for name in ("quota", "journal_quota"):
        value = getattr(own, name)
        if value != places(ManagerObject)[name].default:
            wanted[name] = None if value == U32_MAX else value
    reason = ""
    try:
        if (permissions := machine_permissions(own.security, own.sid)) is not None:
            wanted["permissions"] = permissions
    except (Malformed, MQError) as error:
        reason = f"{own.path}: its permissions cannot be read: {error}"
    changes = {name: value for name, value in wanted.items() if getattr(settings, name) != value}
    return changes, reason
