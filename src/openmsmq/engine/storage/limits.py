"""Bounds of runs, and of what the store keeps beside messages.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

PENDING_MAX: Final = 64 * 1024
"Bytes of events that wait in memory for the next commit. At the limit: a commit is asked for."
STARTS_MAX: Final = 256
"""Starts that are remembered, so that `explain` can tell why an express message is gone. At the
limit: the oldest is forgotten.
"""
RUN_COUNT_MAX: Final = 1000
"Messages that are stored together as one run. At the limit: the next run begins."
RUN_SIZE_MAX: Final = 2 << 20
"Bytes of the messages of one run. At the limit: the next run begins."
AUDIT_TEXT_MAX: Final = 200
"Characters of each text of an entry of the audit log. At the limit: the rest is cut off."
DENIALS_AT_ONCE: Final = 100
"Denials that are recorded however fast they come. At the limit: only `DENIALS_PER_SECOND` are."
DENIALS_PER_SECOND: Final = 10
"""Denials in a second that the audit log records, after the first `DENIALS_AT_ONCE`. At the limit:
they are counted, and one entry says how many.
"""
PAGES_READ_MAX: Final = 16
"""Pages of the history that one look at a queue takes apart. At the limit: the answer says where to
go on.
"""
PAGES_LOOKED_MAX: Final = 256
"""Pages of the history that one look at a queue passes over or takes apart. At the limit: the
answer says where to go on.
"""
