"""Groups without a queue manager: the command `openmsmq multicast` does the rest."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address

import pytest
from tests.unit.transports.pgm.test_network import free_port

from openmsmq.errors import MessageTooLarge
from openmsmq.names.format import MulticastName
from openmsmq.transports.pgm.timers import PgmTiming
from openmsmq.transports.pgm.trial import TrialMessage, listen, open_network, pack_texts, send

NAME = MulticastName(IPv4Address("239.192.7.3"), 8001)


def test_what_is_no_message_is_shown_as_it_came() -> None:
    async def run() -> list[TrialMessage]:
        port = free_port()
        found: list[TrialMessage] = []

        def show(message: TrialMessage) -> bool:
            found.append(message)
            return len(found) == 2

        timing = PgmTiming(rate=1_000_000, linger_s=0.2)
        network = open_network("127.0.0.1", raw=False, udp_port=port)
        listening = asyncio.create_task(listen(network, NAME, timing, show, 20.0))
        await asyncio.sleep(0.1)
        foreign = b"POST x HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"
        messages = [foreign, *pack_texts(NAME, [("label", "text")])]
        other = open_network("127.0.0.1", raw=False, udp_port=port)
        counts = await send(other, NAME, messages, timing)
        assert counts["packets"] == 2
        assert await listening == 0
        return found

    first, second = asyncio.run(run())
    assert first.body == b"hello"
    assert first.error
    assert (second.label, second.body, second.error) == ("label", "text".encode("utf-16-le"), "")


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(MessageTooLarge, match="65535 fit"):
        pack_texts(NAME, [("", "x" * 40_000)])
