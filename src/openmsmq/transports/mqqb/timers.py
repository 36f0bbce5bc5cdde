"""How long a session waits for what ([MS-MQQB] 3.1.2), in seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from openmsmq import limits

RECOVERABLE_FACTOR: Final = 8
"RecoverableAckSendTimeout is this many round trips ([MS-MQQB] 3.1.5.3.2)."
WINDOW: Final = 2048
"Messages under way that we offer a peer; MSMQ offers 64, and the smaller number counts."


@dataclass(frozen=True, slots=True)
class SessionTimers:
    """The durations of a session's timers."""

    establish: float = 60.0
    "Session Initialization Timer (3.1.2.1)."
    clean_up: float = 300.0
    "Session Cleanup Timer (3.1.2.2): a session that was idle for so long is closed."
    router_clean_up: float = 120.0
    "The same on a routing server (Q<44>)."
    ack_wait: float = limits.ACK_TIMEOUT_MS[0] / 1000
    "Session Ack Wait Timer (3.1.2.4), which the initiator chooses for both sides."
    direct_factor: int = 2
    "By which it is longer for direct names (Q<46>)."
    window: int = WINDOW

    def of_router(self) -> SessionTimers:
        """Those of a routing server."""
        return replace(self, clean_up=min(self.clean_up, self.router_clean_up))


def recoverable_ack_ms(round_trip: float) -> int:
    """RecoverableAckSendTimeout for a measured round trip ([MS-MQQB] 3.1.5.3.2)."""
    least, most = limits.RECOVERABLE_ACK_TIMEOUT_MS
    return min(max(round(RECOVERABLE_FACTOR * round_trip * 1000), least), most)
