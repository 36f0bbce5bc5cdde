"""Bounds of a connection of a program, and of the listener for programs.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

from openmsmq.app_protocol.limits import FRAME_SIZE_MAX

PAGE_MAX: Final = 250
"Queues in one page of the list of queues. At the limit: the client asks for the next page."
SESSION_QUEUES_MAX: Final = 100
"Queues that a program has open, as who looks at it is shown. At the limit: the others are not."
HANDLES_MAX: Final = 20_000
"""Handles of one connection: open queues, cursors, transactions and subscriptions, each. At the
limit: the call that opens one more is refused, `InvalidParameter`.
"""
TIMED_OUT_MAX: Final = 1000
"""Transactions that a connection remembers to have timed out. At the limit: the oldest is
forgotten; a call in it says that there is no such transaction.
"""
ANSWER_SIZE_MAX: Final = FRAME_SIZE_MAX - 16
"Bytes of the payload of an ANSWER frame. At the limit: the call fails, `UserBufferTooSmall`."
REFUSALS_MAX: Final = 16
"""Connections beyond the limit that get a reason at the same time. At the limit: further ones are
closed without.
"""
LABEL_MAX: Final = 200
"Characters of the label of a token. At the limit: the call is refused, `InvalidParameter`."
PATTERNS_MAX: Final = 100
"Patterns of queues of a token. At the limit: the call is refused, `InvalidParameter`."
