"""The newest entries of an audit log, which a manager tells the oldest first."""

from __future__ import annotations

from collections.abc import Callable

from openmsmq.client._async.manager import Manager
from openmsmq.client.limits import AUDIT_PAGE
from openmsmq.console.limits import AUDIT_LOOK_MAX
from openmsmq.types.history import AuditEntry


async def newest_entries(manager: Manager, before: int | None, count: int) -> list[AuditEntry]:
    """The last entries, or the last before one with this number; the oldest of them first.

    Numbers of entries have no gaps: the last one is found by halving, in about forty small calls.
    """
    end = await _after_last(manager) if before is None else before
    found = await manager.audit(after=max(0, end - 1 - count), limit=count)
    return [one for one in found if one.number < end]


async def entries_about(
    manager: Manager, is_about: Callable[[AuditEntry], bool], count: int
) -> list[AuditEntry]:
    """The newest entries about something, the newest first; some thousand are looked at."""
    found: list[AuditEntry] = []
    before, looked = None, 0
    while looked < AUDIT_LOOK_MAX and len(found) < count:
        page = await newest_entries(manager, before, AUDIT_PAGE)
        found += [one for one in reversed(page) if is_about(one)]
        if not page or page[0].number <= 1:
            break
        before, looked = page[0].number, looked + len(page)
    return found[:count]


async def _after_last(manager: Manager) -> int:
    """The number that the next entry will have; 1 if there is none."""
    first = await manager.audit(limit=1)
    if not first:
        return 1
    known = first[0].number
    step = 1
    while found := await manager.audit(after=known + step - 1, limit=1):
        known, step = found[0].number, step * 2
    while step > 1:
        step //= 2
        if found := await manager.audit(after=known + step - 1, limit=1):
            known = found[0].number
    return known + 1
