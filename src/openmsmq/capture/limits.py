"""Bounds of recordings and of captures that are read.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

FRAME_SIZE_MAX: Final = 0x10_0000
"Bytes of one frame of a capture. At the limit: `Malformed`."

BLOCK_SIZE_MAX: Final = 0x100_0000
"Bytes of one block of a pcapng file. At the limit: `Malformed`."

INTERFACES_MAX: Final = 1000
"Interfaces in one section of a pcapng file. At the limit: `Malformed`."

CONVERSATIONS_MAX: Final = 1000
"Conversations that are followed. At the limit: the quietest is given up."

KEPT_SIZE_MAX: Final = 0x400_0000
"""Bytes of unfinished packets in all conversations. At the limit: the quietest conversation is
given up.
"""

HELD_BYTES_MAX: Final = 0x10_0000
"Bytes of a direction that came too early. At the limit: the missing bytes are taken for lost."

HELD_SEGMENTS_MAX: Final = 1000
"Segments of a direction that came too early. At the limit: the missing bytes are taken for lost."

SEGMENT_SIZE_MAX: Final = 65_000
"""Bytes of a stream in one recorded packet; an IPv4 packet has room for 65,495. At the limit: the
next packet begins.
"""

FILE_SIZE_MAX: Final = 16 << 20
"Bytes of one file of a recording; a single read may exceed it. At the limit: the next file begins."

FILES_MAX: Final = 256
"""Files in the folder of recordings, those of earlier runs included. At the limit: the oldest is
removed.
"""

BUFFER_SIZE: Final = 256 << 10
"Bytes of one session that wait to be written. At the limit: they are written at once."

RECORDINGS_MAX: Final = 10
"Recordings that clients asked for and that are kept. At the limit: the oldest is removed."

RECORDING_S_MAX: Final = 3600
"Seconds that such a recording may take. At the limit: the call is refused, `InvalidParameter`."

ASKED_FILES_MAX: Final = 32
"Files of such a recording. At the limit: the oldest of them is removed."
