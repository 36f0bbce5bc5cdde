"""Bounds of the application protocol, for clients and servers.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

FRAME_SIZE_MAX: Final = 8 * 1024 * 1024
"""Bytes of the payload of a frame: more than the largest packet takes. At the limit: the connection
is closed.
"""
BATCH_SIZE_MAX: Final = 4 * 1024 * 1024
"""Bytes of the payload of a MESSAGES or DELIVERY frame, unless it holds a single message. At the
limit: the rest is in another frame.
"""
REDIRECT_MAX: Final = 1000
"""Messages that one call redirects, in one commit. At the limit: the client asks again for the
rest; the server refuses the call, `InvalidParameter`.
"""
DEPTH_MAX: Final = 32
"""Levels of objects and arrays in the members of a frame. At the limit: the frame is refused as
malformed.
"""
FILE_PART_MAX: Final = 1024 * 1024
"Bytes of a recording in one answer. At the limit: the client asks for the next part."
