"""Which user of this computer is at the other end of a Unix socket."""

from __future__ import annotations

import os
import socket
from struct import Struct, error
from typing import Any, Final

_credentials: Final = Struct("=iII")
"Process, user and group (struct ucred of Linux)."


def unix_user(connected: Any) -> tuple[int, ...]:
    """The number of the user that connected, and those of its groups.

    Empty if the socket is of another kind, or where the system does not tell (only Linux does).
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None or getattr(connected, "family", None) != socket.AF_UNIX:
        return ()
    try:
        raw = connected.getsockopt(socket.SOL_SOCKET, option, _credentials.size)
        _, user, group = _credentials.unpack(raw)
    except (OSError, error):
        return ()
    return user, *_groups(user, group)


def _groups(user: int, group: int) -> list[int]:
    """All groups of a user; its first one alone if the system does not know the user."""
    try:
        import pwd

        return sorted({group, *os.getgrouplist(pwd.getpwuid(user).pw_name, group)})
    except (ImportError, KeyError, OSError):
        return [group]
