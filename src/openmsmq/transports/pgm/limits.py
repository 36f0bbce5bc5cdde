"""Bounds of multicast: sessions, packets in memory, rates and waits.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

APDU_SIZE_MAX: Final = 65_535
"Bytes of a message that is sent ([MC-MQSRM] 1.6). At the limit: the send fails with an error."

APDU_RECEIVED_MAX: Final = 65_536
"Bytes that the fragments of a message announce. At the limit: the packet is dropped."

OPTIONS_MAX: Final = 16
"Options of a packet (RFC 3208, 9). At the limit: the packet is dropped."

NAK_NUMBERS_MAX: Final = 63
"Numbers that one NAK asks for (RFC 3208, 9.3). At the limit: a second NAK is sent."

SESSIONS_PER_ADDRESS_MAX: Final = 64
"""Sources of a group address. At the limit: one that has ended is forgotten for a new one; without
such a one, the new one is ignored.
"""

SESSIONS_MAX: Final = 256
"Sources of all group addresses. At the limit: as for one address."

HELD_PACKETS_MAX: Final = 8192
"""Packets of a source that wait for one before them, and numbers that are asked for. At the limit:
they are dropped, and reception starts anew.
"""

HELD_BYTES_MAX: Final = 8 << 20
"Bytes of such packets. At the limit: as for their number."

HELD_BYTES_ALL_MAX: Final = 64 << 20
"Bytes of such packets of all sources. At the limit: as for one source."

RESYNC_S: Final = 1.0
"Seconds between two restarts of the reception of a source. At the limit: its packets are dropped."

NAKS_PER_SECOND_MAX: Final = 100
"Packets in a second that ask a source for repairs. At the limit: later ones wait."

REPAIR_INTERVAL_S: Final = 0.1
"""Seconds between two repairs of one packet, however many receivers ask. At the limit: the request
is confirmed only.
"""

SPM_REQUEST_S: Final = 1.0
"Seconds between two answers to requests for an SPM. At the limit: the request is ignored."

CONFIRMATION_DEBT_S: Final = 1.0
"""Seconds of the rate by which confirmations may exceed it. At the limit: requests for repairs are
ignored.
"""

WINDOW_BYTES_MAX: Final = 256 << 20
"""Bytes that a source keeps for repairs: rate times seconds of the window. At the limit: the
configuration is refused.
"""

BATCH_MAX: Final = 64
"Packets that a source sends at a time. At the limit: other work of the process comes first."

QUEUED_PACKETS_MAX: Final = 4096
"Packets of messages that are not sent yet. At the limit: messages stay in their outgoing queue."

TAKEN_MAX: Final = 64
"Messages that are taken from an outgoing queue at a time. At the limit: the others come next."

DATAGRAM_MAX: Final = 65_535
"Bytes of a packet that is received. At the limit: the rest is cut off, and the packet dropped."

MTU_MAX: Final = 1500
"Bytes of an IP packet that is sent, so that it passes every network. At the limit: it is cut."
