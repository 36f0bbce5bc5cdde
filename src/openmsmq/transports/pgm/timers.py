"""Times and rates of PGM, as MSMQ has them ([MC-MQSRM] 2.1.3.1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PgmTiming:
    """Settings of sources and receivers; all times in seconds."""

    rate: int = 70 * 1024
    "TXW_MAX_RTE: bytes of packets in a second, repairs included."
    bucket_s: float = 0.04
    "What may be sent at once, as seconds of the rate."
    window_s: float = 300.0
    "TXW_SECS: how long packets are kept for repairs."
    opening_s: float = 0.1
    "Between the two SPMs before the first data."
    ambient_s: float = 0.5
    ambient_packets: int = 50
    "An SPM follows that many data packets, or that many seconds of data."
    heartbeat_s: float = 1.0
    heartbeat_max_s: float = 15.0
    "SPMs of a source without data: the interval doubles up to its maximum."
    repair_s: float = 0.06
    "By how long the repair of the newest packet is delayed, so that others can ask for it too."
    linger_s: float = 30.0
    "How long a source that was closed still repairs."
    reset_s: float = 15.0
    "How long a source that was aborted says so."
    backoff_min_s: float = 0.01
    backoff_max_s: float = 0.05
    "NAK_RB_IVL: a random wait before a NAK, so that one receiver asks for all."
    confirmation_s: float = 0.75
    "NAK_RPT_IVL: until a NAK without confirmation is repeated."
    confirmation_retries: int = 10
    repair_wait_s: float = 2.0
    "NAK_RDATA_IVL: until a NAK that was confirmed but not served is repeated."
    repair_retries: int = 10
    silence_s: float = 60.0
    "After which a source that says nothing is forgotten."

    @property
    def advance_s(self) -> float:
        """TXW_ADV_IVL: how often old packets are dropped, 45 seconds of 300."""
        return self.window_s * 0.15

    @property
    def window_bytes(self) -> int:
        """What a source keeps for repairs at the most."""
        return int(self.rate * self.window_s)


class TokenBucket:
    """Holds a source to its rate ([MC-MQSRM] 2.1.3.1).

    A packet is sent if the bucket is not in debt, and may bring it into debt: a bucket below the
    size of a packet would else never let one pass.
    """

    def __init__(self, rate: float, size: float, now: float) -> None:
        self._rate = rate
        self._size = size
        self._tokens = size
        self._at = now

    def is_ready(self, now: float) -> bool:
        """Whether a packet may be sent."""
        self._fill(now)
        return self._tokens > -1e-6  # so that a wait for `debt_s` is long enough

    def take(self, size: float) -> None:
        """A packet is sent."""
        self._tokens -= size

    @property
    def ready_at(self) -> float:
        """When a packet may be sent."""
        return self._at + max(0.0, -self._tokens / self._rate)

    def debt_s(self, now: float) -> float:
        """Seconds until a packet may be sent."""
        self._fill(now)
        return max(0.0, -self._tokens / self._rate)

    def _fill(self, now: float) -> None:
        self._tokens = min(self._size, self._tokens + (now - self._at) * self._rate)
        self._at = now
