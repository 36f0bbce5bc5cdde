"""Signals end a service, or reload its configuration; afterwards they do what they did before."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from openmsmq.service.signals import HANDLED, handle_signals


def test_what_each_signal_does(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr("os._exit", done.append)
    before = [signal.getsignal(number) for number in HANDLED]

    def stop(reason: str) -> bool:
        done.append(reason)
        return done.count("SIGTERM") + done.count("SIGINT") == 1

    async def work() -> None:
        with handle_signals(stop, lambda: done.append("reloaded")):
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                os.kill(os.getpid(), number)
                await asyncio.sleep(0)

    asyncio.run(work())
    assert done == ["reloaded", "SIGTERM", "SIGINT", 128 + signal.SIGINT]
    assert [signal.getsignal(number) for number in HANDLED] == before
