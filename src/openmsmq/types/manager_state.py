"""Whether a queue manager runs."""

from __future__ import annotations

from enum import StrEnum


class ManagerState(StrEnum):
    """QueueManagerState ([MS-MQDMPR] 3.1.1.1)."""

    STOPPED = "stopped"
    INITIALIZING = "initializing"
    READY = "ready"
    STOPPING = "stopping"
