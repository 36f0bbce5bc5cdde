"""Properties of queues, as dependent clients set and see them ([MS-MQMP] 3.1.1.12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import (
    IllegalPropertyValue,
    IllegalPropid,
    Malformed,
    PropertyError,
    PropertyNotAllowed,
)
from openmsmq.interfaces.management.queue_properties import path_of, qualified_path_of
from openmsmq.interfaces.variants import NULL, VariantArgument
from openmsmq.properties.propid import Q
from openmsmq.properties.variant import PropVariant, Value
from openmsmq.properties.vartype import VarType

CREATED: Final[Mapping[Q, str]] = {
    Q.TYPE: "type",
    Q.JOURNAL: "journal",
    Q.QUOTA: "quota",
    Q.JOURNAL_QUOTA: "journal_quota",
    Q.LABEL: "label",
    Q.AUTHENTICATE: "authenticate",
    Q.PRIV_LEVEL: "privacy",
    Q.TRANSACTION: "transactional",
    Q.MULTICAST_ADDRESS: "multicast",
}
"What a new queue can be given, and what the manager calls it; a path and a base priority, too."
CHANGED: Final = frozenset(CREATED) - {Q.TRANSACTION} | {Q.BASEPRIORITY}
"What can be changed."
_FLAGS: Final = frozenset({Q.JOURNAL, Q.AUTHENTICATE, Q.TRANSACTION})
_LATEST: Final = (1 << 31) - 1
_KNOWN: Final = {item.value: item for item in Q}
_FOUND: Final[Mapping[Q, Callable[[QueueManager, ManagedQueue], Value]]] = {
    Q.INSTANCE: lambda _, queue: queue.properties.id,
    Q.TYPE: lambda _, queue: queue.properties.type,
    Q.PATHNAME: lambda manager, queue: path_of(manager, queue),
    Q.JOURNAL: lambda _, queue: int(queue.properties.journal),
    Q.QUOTA: lambda _, queue: queue.properties.quota,
    Q.BASEPRIORITY: lambda _, queue: 0,  # that of private queues ([MS-MQMQ] 2.3.1.6; SS-10)
    Q.JOURNAL_QUOTA: lambda _, queue: queue.properties.journal_quota,
    Q.LABEL: lambda _, queue: queue.properties.label,
    Q.CREATE_TIME: lambda _, queue: min(queue.properties.created, _LATEST),
    Q.MODIFY_TIME: lambda _, queue: min(queue.properties.modified, _LATEST),
    Q.AUTHENTICATE: lambda _, queue: int(queue.properties.authenticate),
    Q.PRIV_LEVEL: lambda _, queue: queue.properties.privacy,
    Q.TRANSACTION: lambda _, queue: int(queue.properties.transactional),
    Q.PATHNAME_DNS: lambda manager, queue: qualified_path_of(manager, queue),
    Q.MULTICAST_ADDRESS: lambda _, queue: queue.properties.multicast or None,
    Q.ADS_PATH: lambda _, queue: None,  # no private queue is in a directory
}
"How each of the sixteen properties is found; None is VT_NULL."


def values_of(
    manager: QueueManager,
    queue: ManagedQueue,
    propids: Sequence[int],
    places: Sequence[VariantArgument],
) -> tuple[VariantArgument, ...]:
    """The values of properties ([MS-MQMP] 3.1.4.9); places are VT_NULL or of the right type."""
    wanted = [_known(number, _FOUND) for number in propids]
    for item, place in zip(wanted, places, strict=True):
        if place.vartype not in (VarType.VT_NULL, item.vartype):
            raise PropertyError(f"{item.name}: a place of type {place.vartype}")
    return tuple(_argument(item, _FOUND[item](manager, queue)) for item in wanted)


def created_properties(
    propids: Sequence[int], values: Sequence[VariantArgument]
) -> tuple[dict[str, Any], str | None]:
    """Properties of a new queue ([MS-MQMP] 3.1.4.5), and the path if it is given again (SS-59)."""
    allowed = {*CREATED, Q.BASEPRIORITY, Q.PATHNAME}
    given = _given(propids, values, allowed)
    path = given.pop(Q.PATHNAME, None)
    return _named(given), None if path is None else str(path)


def changed_properties(propids: Sequence[int], values: Sequence[VariantArgument]) -> dict[str, Any]:
    """Other values for properties of a queue: all of them or none ([MS-MQMP] 3.1.4.10; SS-14)."""
    return _named(_given(propids, values, CHANGED))


def _known(number: int, allowed: Any) -> Q:
    """A property that goes with a call ([MS-MQMP] 3.1.1.12; SS-11)."""
    item = _KNOWN.get(number)
    if item is None:
        raise IllegalPropid(f"{number}: there is no such property of a queue")
    if item not in allowed:
        raise PropertyNotAllowed(f"{item.name} does not go with this call")
    return item


def _given(
    propids: Sequence[int], values: Sequence[VariantArgument], allowed: Any
) -> dict[Q, Value]:
    found: dict[Q, Value] = {}
    for number, argument in zip(propids, values, strict=True):
        item = _known(number, allowed)
        if argument.vartype != item.vartype:
            raise PropertyError(f"{item.name}: a value of type {argument.vartype}")
        try:
            found[item] = argument.variant().value
        except Malformed as error:
            raise IllegalPropertyValue(f"{item.name}: {error}") from error
    return found


def _named(given: Mapping[Q, Value]) -> dict[str, Any]:
    """What the manager calls them; a base priority is not kept (SS-10)."""
    found: dict[str, Any] = {}
    for item, value in given.items():
        if item is Q.BASEPRIORITY:
            continue
        if item in _FLAGS:
            if value not in (0, 1):
                raise IllegalPropertyValue(f"{item.name} {value!r}: 0 or 1")
            value = bool(value)
        if item is Q.TYPE and not isinstance(value, UUID):
            raise IllegalPropertyValue("TYPE: no GUID")
        if isinstance(value, type(None)):
            raise IllegalPropertyValue(f"{item.name}: NULL")
        found[CREATED[item]] = value
    return found


def _argument(item: Q, value: Value) -> VariantArgument:
    return NULL if value is None else VariantArgument.of(PropVariant(item.vartype, value))
