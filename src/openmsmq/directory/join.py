"""Registration of a queue manager: its object in the directory, and its identity here.

The directory chooses the identity ([MS-MQSO] 6.6.2.1), so that this comes before the first message.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from openmsmq.directory.conditions import Condition
from openmsmq.directory.credentials import NO_KEYS, publish_keys
from openmsmq.directory.objects import ManagerObject, SiteObject, SystemType
from openmsmq.directory.outcome import DirectoryFailed, DirectoryOutcome
from openmsmq.directory.rights import manager_descriptor
from openmsmq.directory.values import ValueKind, decode_value
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.engine.storage.recovery import IDENTITY_KEY
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import CantResolveSites, UnsupportedOperation
from openmsmq.store.lmdb import LmdbStore
from openmsmq.types.queues import QueueKind


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
    site_ids = await _sites(directory, sites)
    found = await directory.computer(computer)
    raw = found.first("objectSid")
    descriptor = b""
    if raw is not None:
        descriptor = manager_descriptor(decode_value(ValueKind.SID, raw)).encode()
    values = {
        "sites": site_ids,
        "system": SystemType.FOREIGN,  # not Windows; ForeignSystem is something else
        "foreign": False,
        "router": router,
        "directory_server": False,
        "supporting_server": False,
    }
    guid = await directory.create_manager(computer, values, descriptor)
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


async def _sites(directory: DirectoryWriter, names: Iterable[str]) -> tuple[UUID, ...]:
    """The sites of a manager by name; none is MQ_ERROR_CANT_RESOLVE_SITES ([MS-MQDMPR] 3.1.3)."""
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
