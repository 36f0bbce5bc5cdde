"""Bounds of a client.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

WAIT_MAX: Final = 4_000_000.0
"Seconds of a timeout. At the limit: the call waits without a timeout."
AUDIT_PAGE: Final = 250
"Entries of the audit log that are asked for at a time. At the limit: the next page is asked for."
