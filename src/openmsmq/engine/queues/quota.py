"""Quotas of queues and of the whole manager ([MS-MQDMPR] 3.1.1.1, 3.1.1.2)."""

from __future__ import annotations

from openmsmq.limits import KIB, NO_QUOTA


def within_quota(quota: int | None, used: int, added: int) -> bool:
    """Whether `added` bytes fit beside `used` bytes into a quota in KiB, if there is one.

    ([MS-MQDMPR] 3.1.7.1.9)
    """
    return quota is None or quota == NO_QUOTA or used + added <= quota * KIB
