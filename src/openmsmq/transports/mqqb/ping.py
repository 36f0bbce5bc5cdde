"""Ping: whether a queue manager would accept a session ([MS-MQQB] 3.1.7.6 to 3.1.7.9).

Current Windows neither sends nor answers pings unless configured to, and nor do we (Q<3>, Q<56>).
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from openmsmq.errors.peer import Malformed
from openmsmq.limits import U32_MAX
from openmsmq.packet.ping import PING_SIGNATURE, PingFlags, PingPacket
from openmsmq.wire.reader import decode_whole

PATIENCE: Final = 1.0
"Ping Response Timer ([MS-MQQB] 3.1.2.9), in seconds."


def answer_ping(datagram: bytes, own: UUID, *, refuses: bool) -> bytes | None:
    """The answer to a Ping Request; None for what is none ([MS-MQQB] 3.1.7.7)."""
    try:
        request = decode_whole(datagram, PingPacket.read)
    except Malformed:
        return None
    flags = request.flags & PingFlags.RC | (PingFlags.RF if refuses else 0)
    return PingPacket(flags, PING_SIGNATURE, request.cookie, own).pack()


class Pinger:
    """Asks others, one at a time ([MS-MQQB] 3.1.7.6, 3.1.7.8)."""

    def __init__(self, own: UUID) -> None:
        self._own = own
        self._cookie = 0
        "PingCookie, one for all sessions (AMB-55)."
        self._is_waiting = False

    def request(self) -> bytes:
        """The datagram to send; the answer is awaited from now on."""
        self._cookie = self._cookie + 1 & U32_MAX
        self._is_waiting = True
        return PingPacket(0, PING_SIGNATURE, self._cookie, self._own).pack()

    def receive(self, datagram: bytes) -> bool | None:
        """Whether a session would be accepted; None for what is no answer to the last request."""
        try:
            response = decode_whole(datagram, PingPacket.read)
        except Malformed:
            return None
        if not self._is_waiting or response.cookie != self._cookie:
            return None
        self._is_waiting = False
        return not response.flags & PingFlags.RF

    def give_up(self) -> None:
        """No answer came in time ([MS-MQQB] 3.1.6.8)."""
        self._is_waiting = False
