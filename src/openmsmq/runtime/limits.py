"""Bounds of listeners, logs and commits in the event loop.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

BACKLOG: Final = 1024
"""Connections that the system keeps until they are accepted. At the limit: the system refuses or
delays further ones.
"""

HANDSHAKES_MAX: Final = 256
"Handshakes of TLS under way. At the limit: the oldest is closed."

HANDSHAKE_WITHIN_S: Final = 10.0
"Seconds that a TLS handshake may take. At the limit: the connection is closed."

LOG_LINES_MAX: Final = 200
"""Lines of one kind in the log a minute. At the limit: further ones are counted, and the next one
says how many (`left_out`).
"""

LOG_KINDS_MAX: Final = 1000
"Kinds of log lines that are counted apart. At the limit: all further kinds count as one."

FAULTS_LOGGED: Final = 100
"""Faults of this program that are logged in one run. At the limit: further ones are only counted in
the statistics.
"""

INLINE_OPERATIONS_MAX: Final = 64
"Operations of a commit that the event loop makes itself. At the limit: the commit thread does."

INLINE_BYTES_MAX: Final = 256 * 1024
"""Bytes of messages that wait for such a commit. At the limit: the commit thread does it, so that
other connections are served meanwhile.
"""

INLINE_SECONDS_MAX: Final = 0.002
"""Seconds that commits take, as a moving average, while the event loop makes small ones itself. At
the limit: all are left to the commit thread, until they are short again.
"""

HELPERS_MAX: Final = 3
"""Threads that verify signatures beside the event loop, on other processors. At the limit: further
processors are left to other programs.
"""
