"""What signals do to a service: SIGTERM and SIGINT end it, SIGHUP reloads its configuration."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

HANDLED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_KILLED: Final = 128
"What shells add to the number of a signal."


@contextlib.contextmanager
def handle_signals(stop: Callable[[str], bool], reload: Callable[[], None]) -> Iterator[None]:
    """Handle signals, also while the store is being opened and the loop waits for that.

    `stop` gets the name of the signal in the signal handler; if it returns False, since the service
    is ending already, the process exits at once. `reload` is called by the loop.
    """
    loop = asyncio.get_running_loop()

    def on_signal(number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:
            loop.call_soon_threadsafe(reload)
        elif not stop(signal.Signals(number).name):
            os._exit(_KILLED + number)

    before = {number: signal.signal(number, on_signal) for number in HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
