"""Waiting, for threads; `waiting_aio.py` is the same for asyncio."""

from __future__ import annotations

import threading
import time


def pause(seconds: float) -> None:
    """Do nothing for a while."""
    time.sleep(seconds)


def run_once() -> threading.Lock:
    """Lets one in at a time."""
    return threading.Lock()
