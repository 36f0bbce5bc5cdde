"""Fuzzing of the directory: answers of controllers, and notifications of changes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
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
from openmsmq.errors import InvalidParameter, Malformed

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


DIRECTORY_TARGETS: dict[str, Callable[[bytes], None]] = {
    "directory_answer": directory_answer,
    "directory_text": directory_text,
}
