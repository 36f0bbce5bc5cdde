"""Fuzzing of the directory: answers of controllers, notifications of changes, topology files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any

from openmsmq.directory.ldap.ber import size_of
from openmsmq.directory.ldap.distinguished_names import key, split
from openmsmq.directory.ldap.filters import parse_filter
from openmsmq.directory.ldap.messages import Row, decode
from openmsmq.directory.limits import NOTIFICATION_SIZE_MAX
from openmsmq.directory.notification import read_notification
from openmsmq.directory.objects import (
    EnterpriseObject,
    LinkObject,
    ManagerObject,
    QueueObject,
    SiteObject,
    UserObject,
    read_object,
)
from openmsmq.directory.outcome import DirectoryFailed
from openmsmq.directory.rights import (
    MANAGER_EXTENDED,
    QUEUE_EXTENDED,
    SITE_EXTENDED,
    from_directory,
    local_permissions,
    site_permissions,
    to_directory,
    with_kept,
)
from openmsmq.errors import InvalidParameter, Malformed, MQError
from openmsmq.limits import HOP_COUNT_MAX
from openmsmq.routing.file import TopologyError, read_topology
from openmsmq.routing.findings import findings
from openmsmq.routing.follow import RouteFinder
from openmsmq.security.access import NetworkRights
from openmsmq.security.descriptor import Ace, AceType, SecurityDescriptor
from openmsmq.security.sddl import parse_sddl
from openmsmq.security.sid import Sid

MACHINE = Sid.from_text("S-1-5-21-1-2-3-1104")
KINDS: tuple[Any, ...] = (
    ManagerObject,
    QueueObject,
    SiteObject,
    LinkObject,
    EnterpriseObject,
    UserObject,
)


def directory_answer(data: bytes) -> None:
    """A message of a controller: read, or malformed; a row is an object, or an error says why."""
    with suppress(Malformed):
        size_of(data)
    try:
        found = decode(data)
    except Malformed:
        return
    if not isinstance(found, Row):
        return
    with suppress(InvalidParameter):
        assert key(found.entry.name).count("=") >= len(split(found.entry.name))
    for kind in KINDS:
        with suppress(DirectoryFailed):
            read_object(kind, found.entry, found.entry)


def directory_text(data: bytes) -> None:
    """A notification, which encodes to a text that says the same, or a filter that does."""
    found = read_notification(data)
    if found is not None:
        assert len(data) <= NOTIFICATION_SIZE_MAX
        assert read_notification(found.encode()) == found
    with suppress(InvalidParameter, UnicodeDecodeError):
        condition = parse_filter(data.decode())
        assert parse_filter(str(condition)) == condition


def directory_rights(data: bytes) -> None:
    """The descriptor of an object: permissions that mean the same when read again, or an error."""
    with suppress(Malformed):
        found = site_permissions(data)
        for ace in _aces(found):
            assert ace.mask == NetworkRights.OPEN_CONNECTOR
            assert ace.sid is not None
    with suppress(Malformed, MQError):
        words = local_permissions(data, MACHINE, "")
        assert all(ace.sid != MACHINE for ace in _aces(words))
    with suppress(Malformed):
        descriptor = SecurityDescriptor.decode(data)
        for extended in (QUEUE_EXTENDED, MANAGER_EXTENDED, SITE_EXTENDED):
            translated = from_directory(descriptor, extended)
            again = from_directory(to_directory(translated, extended), extended)
            assert _granted(again) == _granted(translated)
            with_kept(to_directory(translated, extended), descriptor, extended)


def topology_file(data: bytes) -> None:
    """A topology whose routes can be computed, or the error that says what is wrong with it."""
    text = data.decode(errors="replace")
    try:
        found = read_topology(text)
    except TopologyError:
        return
    assert not text.strip() or read_topology(f"{text}\n# a comment") == found
    for link in found.links:
        assert not found.problem(link)
    for manager in found.managers.values():
        assert found.name_of(manager.id) == manager.name
        assert manager.sites
        assert set(found.targets(manager)) <= set(manager.sites)
        assert found.is_gate(manager.id) <= manager.router
    findings(found)
    finder = RouteFinder(found)
    for start in islice(found.managers, 5):
        for end in islice(found.managers, 5):
            route = finder.follow(start, end)
            assert route.path[0] == start
            assert route.hop_count <= HOP_COUNT_MAX + 1


def _aces(permissions: str) -> tuple[Ace, ...]:
    found = parse_sddl(permissions).dacl if permissions else None
    return found.aces if found is not None else ()


def _granted(descriptor: SecurityDescriptor) -> dict[tuple[Sid | None, bool], int]:
    """What each is allowed and denied, in any number of entries."""
    found: dict[tuple[Sid | None, bool], int] = {}
    for ace in descriptor.dacl.aces if descriptor.dacl is not None else ():
        about = ace.sid, ace.type == AceType.DENIED
        found[about] = found.get(about, 0) | ace.mask
    return found


DIRECTORY_TARGETS: dict[str, Callable[[bytes], None]] = {
    "directory_answer": directory_answer,
    "directory_rights": directory_rights,
    "directory_text": directory_text,
    "topology_file": topology_file,
}
