"""Bounds of the binary protocol and of connections to peers; `srmp/` has its own.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

TAKE_MAX: Final = 512
"Messages taken from a queue at a time. At the limit: the rest is taken when these are written."
TAKE_SIZE_MAX: Final = 1 << 20
"""Bytes of messages taken from a queue at a time. At the limit: the rest is taken when these are
written.
"""
IN_FLIGHT_SIZE_MAX: Final = 16 << 20
"""Bytes of messages of a session that are not acknowledged. At the limit: nothing is sent until
some are.
"""
UNSAFE_MAX: Final = 10
"""Messages of a session in a second whose signature or encryption is wrong (MSEC-A34). At the
limit: the session is closed.
"""
ACKS_MAX: Final = 1000
"""OrderAcks that wait to be sent on a session. At the limit: the oldest is dropped, since its
sender sends again.
"""
ARRIVED_SIZE_MAX: Final = 8 << 20
"Bytes of messages of a session that wait to be stored. At the limit: nothing more is read from it."
PIECES_MAX: Final = 256
"""Pieces of 1 KiB of a stranger that are handled in one turn where they cost little. At the limit:
the rest waits for the next turn.
"""
REFUSALS_MAX: Final = 16
"""Connections beyond the limit that get a refusal at the same time. At the limit: further ones are
closed without.
"""
ORDER_ACK_DELAY_MAX: Final = 10.0
"""Seconds between OrderAcks while messages keep coming (MaximumOrderAckDelay, Q<52>). At the limit:
one is sent.
"""
ORDER_ACK_MESSAGES_MAX: Final = 256
"""Messages of a sequence without an OrderAck, which their sender has to remember. At the limit: one
is sent.
"""
ORDER_ACKS_DUE_MAX: Final = 10_000
"""Sequences that are owed an OrderAck. At the limit: the one owed longest is dropped, since its
sender sends again.
"""
VERIFIED_MAX: Final = 1000
"""Managers for which it is remembered when their address was verified. At the limit: the oldest is
forgotten and verified again.
"""
CLONES_MAX: Final = 100
"""Identities with sessions from several places that are remembered. At the limit: the oldest is
forgotten.
"""
SESSIONS_MAX: Final = 10_000
"Sessions at a time (MaxInSessions, Q<57>). At the limit: further connections are refused."
UNSENT_MAX: Final = 600.0
"""Seconds that what strangers make us send to third machines waits for a connection. At the limit:
it is dropped.
"""
RETRY_MAX: Final = 5.0
"""Seconds between attempts to connect (Session Retry Connect Timer, [MS-MQQB] 3.1.2.3). At the
limit: the time between them grows no further.
"""
FAILED_HOPS_MAX: Final = 10_000
"""Managers that could not be connected to and are passed over for a while. At the limit: the one
that failed longest ago is forgotten, and tried again.
"""
TRACE_PIECES_MAX: Final = 10
"Reads and writes of a session that are remembered. At the limit: the oldest is forgotten."
TRACE_BYTES_MAX: Final = 128
"Bytes of each that are kept. At the limit: of further packets in it, only the size is known."
TRACE_PACKETS_MAX: Final = 20
"Packets of a session that are shown. At the limit: older ones are not."
