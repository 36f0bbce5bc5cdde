"""Waiting, and one at a time."""

from __future__ import annotations

import asyncio


async def pause(seconds: float) -> None:
    """Do nothing for a while."""
    await asyncio.sleep(seconds)


def run_once() -> asyncio.Lock:
    """Lets one in at a time."""
    return asyncio.Lock()
