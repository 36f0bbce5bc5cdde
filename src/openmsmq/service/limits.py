"""Bounds of the service as a process.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

CONSOLE_MAX: Final = 256
"""Connections to the console. At the limit: the oldest connection without a request is closed; if
all are busy, the new one is.
"""

FILES_MAX: Final = 384
"Descriptors kept for the store, logs and copies. At the limit: connections get fewer."

DESCRIPTORS_MAX: Final = 1 << 16
"""Descriptors that are asked for, unless more connections are configured. At the limit: connections
get less in proportion, and the log says so.
"""

INFO_SIZE_MAX: Final = 1 << 16
"""Bytes of the description of a backup that are read. At the limit: the backup is refused as
damaged.
"""

METRIC_KINDS_MAX: Final = 100
"""Kinds of requests and reasons for refusals that metrics tell apart. At the limit: further ones
count as `other`.
"""

STOP_WITHIN_S: Final = 10.0
"Seconds that a listener gets to stop. At the limit: it is cancelled."

HTTP_DRAIN_S: Final = 2.0
"""Seconds that HTTP answers under way may take when the service stops. At the limit: connections
are closed.
"""

PROXIED_MANAGERS_MAX: Final = 100
"""Managers that programs read through this one, over all programs, and queues of others that are
read for dependent clients. At the limit: to open a queue of one more fails.
"""

PROXIED_CONNECTIONS_MAX: Final = 16
"""Connections of a program to another manager that it reads through this one, each with one call
under way. At the limit: a further read fails.
"""

PROXIED_BATCH_MAX: Final = 16
"""Messages that one read takes from another manager, each with a call of its own. At the limit: the
rest is for the next read.
"""

PASSWORD_FILE_MAX: Final = 1024
"Bytes of a file with a password. At the limit: it is refused."

LAG_LOOK_MAX: Final = 1000
"""Messages that metrics look at to know how far a subscription with copies is behind. At the limit:
they say how many there are at least.
"""
