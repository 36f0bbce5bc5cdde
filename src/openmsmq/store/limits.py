"""Bounds of the store.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

BALLAST_SIZE: Final = 4 * 1024 * 1024
"""Bytes of disk that the store holds so that removals work on a full disk. At the limit: it is
given up, and taken back when there is room.
"""

RESERVE: Final = 32 * 1024 * 1024
"""Bytes of disk kept from new messages, since removals take space too. At the limit: sends are
refused, `StorageFull`.
"""

MAP_SIZE: Final = 1 << 40
"""Bytes that a store may grow to; only address space is reserved. At the limit: sends are refused,
`StorageFull`.
"""

READERS_MAX: Final = 16
"""Readers of LMDB at the same time. At the limit: LMDB refuses to open another one; a manager needs
six.
"""

LOGGED_MAX: Final = 64 * 1024
"""Bytes of a commit that is added to the commit log. At the limit: LMDB's file is synced instead.
"""

SEGMENT_SIZE: Final = 2 * 1024 * 1024
"""Bytes of each half of the commit log. At the limit: a commit waits until LMDB's file is synced.
"""

LOGGED_COMMITS_MAX: Final = 256
"""Commits that are only in the log. At the limit: LMDB's file is synced, beside further commits.
"""

FINDINGS_MAX: Final = 1000
"Findings of a check that are listed. At the limit: further ones are counted."

REFERENCES_IN_MEMORY: Final = 200_000
"""References that a check sorts in memory. At the limit: they are written to a temporary file and
merged.
"""

WALK_MAX: Final = 64 * 1024 * 1024
"""Bytes of a file that is checked page by page before it is opened. At the limit: only its first
pages are checked.
"""
