"""What all HTTP listeners share: start, stop, and the bound on connections."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Collection, Iterable

import pytest
from aiohttp import web

from openmsmq.runtime.http import HttpListener


class Plain(HttpListener):
    """A listener of which every connection may give way, unless `kept` says otherwise."""

    name = "plain"
    too_many = "too many"
    out_of_sockets = "no sockets"

    def __init__(self, port: int = 0, connections_max: int = 2) -> None:
        super().__init__(web.Application(), ("127.0.0.1", port), connections_max=connections_max)
        self.reasons: list[str] = []
        self.kept = False

    def replaceable(
        self, connections: Collection[asyncio.BaseProtocol]
    ) -> Iterable[asyncio.BaseProtocol]:
        return () if self.kept else connections

    def refused(self, reason: str) -> None:
        self.reasons.append(reason)


async def is_closed(reader: asyncio.StreamReader) -> bool:
    try:
        return not await asyncio.wait_for(reader.read(1), 0.2)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


async def connect_three(listener: Plain) -> list[bool]:
    """Which of three connections were closed when all were made."""
    address = await listener.start()
    made = []
    for _ in range(3):
        made.append(await asyncio.open_connection(*address))
        await asyncio.sleep(0.05)
    closed = [await is_closed(reader) for reader, _ in made]
    for _, writer in made:
        writer.close()
    await listener.stop("the test is over")
    return closed


def test_at_the_limit_the_first_replaceable_connection_is_closed() -> None:
    listener = Plain()
    assert asyncio.run(connect_three(listener)).count(True) == 1
    assert listener.reasons == ["too many"]


def test_a_new_connection_is_closed_when_none_is_replaceable() -> None:
    listener = Plain()
    listener.kept = True
    assert asyncio.run(connect_three(listener)) == [False, False, True]


def test_a_port_in_use_fails_the_start_and_leaves_nothing_open() -> None:
    async def run() -> None:
        first = Plain()
        _, port = await first.start()
        second = Plain(port)
        with pytest.raises(OSError, match=f"cannot listen at 127.0.0.1:{port}"):
            await second.start()
        assert second._runner.server is None
        await first.stop("the test is over")

    asyncio.run(run())


def test_a_lack_of_file_descriptors_is_counted_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    listener = Plain()
    with caplog.at_level(logging.ERROR):
        listener.exhausted(OSError(errno.EMFILE, "too many open files"))
    assert listener.reasons == ["no sockets"]
    assert [record.getMessage() for record in caplog.records] == ["cannot accept connections"]
