"""Properties of a public queue: here, and in its object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from openmsmq.directory.objects import Privacy, QueueObject
from openmsmq.limits import NO_QUOTA, U32_MAX

QUOTAS: Final = ("quota", "journal_quota")
_SAME: Final = (
    "label",
    "type",
    "journal",
    "authenticate",
    "base_priority",
    "transactional",
    "multicast",
)


def local_values(item: QueueObject) -> dict[str, Any]:
    """The properties of a local queue that its object has ([MS-MQDSSM] 3.1.6.11.2)."""
    return {
        "label": item.label,
        "type": item.type,
        "journal": item.journal,
        "quota": NO_QUOTA if item.quota == U32_MAX else item.quota,
        "journal_quota": NO_QUOTA if item.journal_quota == U32_MAX else item.journal_quota,
        "authenticate": item.authenticate,
        "base_priority": item.base_priority,
        "privacy": int(item.privacy),
        "multicast": item.multicast,
    }


def directory_values(properties: Mapping[str, Any]) -> dict[str, Any]:
    """What the directory gets of the properties of a new queue ([MS-MQDSSM] 3.1.6.1.2.2)."""
    made = {name: properties[name] for name in _SAME if name in properties}
    for name in QUOTAS:
        if properties.get(name, NO_QUOTA) != NO_QUOTA:
            made[name] = properties[name]
    if "privacy" in properties:
        made["privacy"] = Privacy(int(properties["privacy"]))
    return made


def changed_values(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a queue that is there: a quota that is none any more is written, too."""
    made = directory_values(properties)
    return made | {name: U32_MAX for name in QUOTAS if properties.get(name) == NO_QUOTA}
