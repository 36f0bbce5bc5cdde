"""`openmsmq multicast`, over UDP on the loopback interface."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import nullcontext
from dataclasses import asdict
from ipaddress import IPv4Address
from types import SimpleNamespace

import pytest
from tests.unit.cli.commands import Cli
from tests.unit.transports.pgm.test_network import free_port

from openmsmq.cli.options import ManagerLocation
from openmsmq.names.format import MulticastName
from openmsmq.transports.pgm import trial
from openmsmq.transports.pgm.timers import PgmTiming
from openmsmq.types.peers import MulticastInfo

GROUP = "239.192.7.8:8001"


def test_a_listener_hears_what_is_sent(cli: Cli) -> None:
    port = free_port()

    def send() -> None:
        time.sleep(0.5)
        name = MulticastName(IPv4Address("239.192.7.8"), 8001)
        messages = trial.pack_texts(name, [(f"tick {n}", "price") for n in (1, 2, 3)])
        network = trial.open_network("127.0.0.1", raw=False, udp_port=port)
        asyncio.run(trial.send(network, name, messages, PgmTiming(rate=1_000_000, linger_s=0.5)))

    sender = threading.Thread(target=send)
    sender.start()
    found = cli.objects(
        *("multicast", "listen", GROUP, "--count", "3", "--timeout", "30"),
        *("--interface", "127.0.0.1", "--udp-port", str(port)),
    )
    sender.join()
    assert [one["label"] for one in found] == ["tick 1", "tick 2", "tick 3"]
    assert {one["source"] for one in found} == {"127.0.0.1"}
    assert {bytes.fromhex(one["body"]).decode("utf-16-le") for one in found} == {"price"}


def test_messages_are_sent(cli: Cli) -> None:
    words = ("--body", "price", "--label", "tick {n}", "--count", "3", "--linger", "0.1")
    here = ("--rate", "1000", "--interface", "127.0.0.1", "--udp-port", str(free_port()))
    sent = cli("multicast", "send", GROUP, *words, *here).stdout
    assert sent == f"sent 3 to {GROUP}: 3 packets, 0 repeated\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("send", "10.0.0.1:80", "--body", "x"), "no group address with a port"),
        (("send", GROUP, "--body", "x" * 40_000), "the message is too large"),
        (("send", GROUP, "--body", "x", "--interface", "nowhere"), "interface nowhere"),
        (
            ("listen", GROUP, "--count", "1", "--timeout", "0.1", "--interface", "127.0.0.1"),
            "0 of 1 messages came",
        ),
    ],
)
def test_mistakes_are_said_in_words(cli: Cli, words: tuple[str, ...], message: str) -> None:
    code = 2 if "10.0.0.1:80" in words else 1
    assert message in cli("multicast", *words, code=code).stderr


def test_the_sessions_of_a_manager_are_listed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    known = MulticastInfo("incoming", GROUP, "10.0.0.5", "aa.1", "active", 900, 3, 4, 2)
    manager = SimpleNamespace(multicast=lambda: [known])
    monkeypatch.setattr(ManagerLocation, "open", lambda self: nullcontext(manager))
    header, row = cli("multicast", "list").stdout.splitlines()
    assert header.split()[:2] == ["DIRECTION", "GROUP"]
    assert row.split() == ["incoming", GROUP, "10.0.0.5", "aa.1", "active", "900", "3", "4", "2"]
    assert cli.objects("multicast", "list") == [asdict(known)]
