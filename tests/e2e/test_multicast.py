"""Multicast between computers: network namespaces, packets that get lost, and other programs.

Needs root, `ip`, `nft` and OpenPGM's library; skipped where one of them cannot be had.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

import openmsmq

GROUP, PORT = "239.192.0.9", 8001
ADDRESS = f"{GROUP}:{PORT}"
PEER = Path(__file__).with_name("openpgm_peer.py")
WIRE = Path(__file__).with_name("harmful_wire.py")
NEEDED = [tool for tool in ("ip", "nft", "tshark") if shutil.which(tool) is None]


def _has_namespaces() -> bool:
    if os.geteuid() != 0 or NEEDED:
        return False
    name = f"openmsmq-{os.getpid()}-probe"
    if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode:
        return False
    subprocess.run(["ip", "netns", "del", name], check=True)
    return True


def _has_openpgm() -> bool:
    try:
        ctypes.CDLL("libpgm-5.3.so.0")
    except OSError:
        return False
    return True


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not _has_namespaces(),
        reason=f"needs root, network namespaces and {', '.join(NEEDED) or 'their tools'}",
    ),
]
with_openpgm = pytest.mark.skipif(not _has_openpgm(), reason="libpgm-5.3-0 is not installed")


class Host:
    """A computer on the bridge: a network namespace."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address

    def command(self, *words: str) -> list[str]:
        return ["ip", "netns", "exec", self.name, *words]

    def start(self, *words: str, output: Path | None = None) -> subprocess.Popen[str]:
        """A program there; one that prints much needs a file, for a pipe that is full stops it."""
        with ExitStack() as stack:
            out = subprocess.PIPE if output is None else stack.enter_context(output.open("w"))
            return subprocess.Popen(
                self.command(*words), stdout=out, stderr=subprocess.PIPE, text=True
            )

    def openmsmq(self, *words: str, output: Path | None = None) -> subprocess.Popen[str]:
        return self.start(sys.executable, "-m", "openmsmq", *words, output=output)

    def lose(self, percent: int) -> None:
        """Lose packets to and from the group, where they come in."""
        for line in (
            "add table ip loss",
            "add chain ip loss pre { type filter hook prerouting priority -300; }",
            f"add rule ip loss pre ip protocol 113 numgen random mod 100 < {percent} drop",
            f"add rule ip loss pre udp dport 3056 numgen random mod 100 < {percent} drop",
        ):
            subprocess.run(self.command("nft", line), check=True)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def network(count: int) -> Iterator[list[Host]]:
    """Computers on one network segment, which is a namespace, too: the last of them."""
    tag = uuid4().hex[:6]
    hosts = [Host(f"om{tag}{n}", f"10.77.0.{n + 1}") for n in range(count)]
    with ExitStack() as stack:
        wire = f"om{tag}w"
        ip("netns", "add", wire)
        stack.callback(ip, "netns", "del", wire)
        ip("-n", wire, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        ip("-n", wire, "link", "set", "br0", "up")
        for number, host in enumerate(hosts):
            ip("netns", "add", host.name)
            stack.callback(ip, "netns", "del", host.name)
            port = f"p{number}"
            ip("link", "add", port, "netns", wire, "type", "veth", "peer", "eth0", "netns",
               host.name)  # fmt: skip
            ip("-n", wire, "link", "set", port, "master", "br0", "up")
            ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                ip("-n", host.name, "link", "set", device, "up")
            ip("-n", host.name, "route", "add", "224.0.0.0/4", "dev", "eth0")
        yield [*hosts, Host(wire, "")]


@contextmanager
def harmful_wire(wire: Host, *, lost: int, repeated: int, late: int) -> Iterator[None]:
    """Frames between the first computer and the others get lost, come twice, or come late."""
    ip("-n", wire.name, "link", "set", "p0", "nomaster")
    ip("-n", wire.name, "link", "add", "near", "type", "veth", "peer", "far")
    ip("-n", wire.name, "link", "set", "far", "master", "br0", "up")
    ip("-n", wire.name, "link", "set", "near", "up")
    harm = [str(number) for number in (lost, repeated, late, 7)]
    relay = wire.start(sys.executable, str(WIRE), "p0", "near", *harm)
    try:
        assert relay.stdout is not None
        assert relay.stdout.readline() == "ready\n"
        yield
    finally:
        relay.kill()
        relay.communicate()


class TickerManager:
    """A manager in a namespace, with a queue for the group; programs reach it by a socket."""

    def __init__(self, host: Host, folder: Path, *options: str) -> None:
        self._folder = folder / host.name
        self._folder.mkdir()
        self._ready = self._folder / "ready.json"
        self.process = host.openmsmq(
            "serve", "--data", str(self._folder / "data"), "--name", host.name,
            "--app-port", "off", "--app-socket", str(self._folder / "app"),
            "--console-port", "off", "--binary-port", "off", "--ready-file", str(self._ready),
            "--multicast", "raw", "--multicast-interface", host.address, *options,
        )  # fmt: skip

    def connect(self) -> openmsmq.Manager:
        for _ in range(600):
            if self._ready.exists() and json.loads(self._ready.read_text() or "{}"):
                return openmsmq.connect(f"unix:{self._folder / 'app'}")
            time.sleep(0.05)
        raise AssertionError(f"not ready: {self.process.communicate(timeout=1)}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=20)


def eventually(holds: object, seconds: float = 60.0) -> None:
    assert callable(holds)
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.1)


def test_the_stock_ticker(tmp_path: Path) -> None:
    """SYS-075, SYS-102, PGM-053, PGM-057: one sender, many receivers, 5 % of packets lost.

    Scenario 8 of the system overview: each receiver has every price, in order.
    """
    with network(4) as (exchange, *desks, _), ExitStack() as stack:
        config = tmp_path / "fast.toml"
        config.write_text("[multicast]\nrate = 2000\nwindow = 60\n")
        for desk in desks:
            desk.lose(5)
        managers = [
            TickerManager(host, tmp_path, "--config", str(config)) for host in (exchange, *desks)
        ]
        for manager in managers:
            stack.callback(manager.stop)
        sender, *receivers = [stack.enter_context(manager.connect()) for manager in managers]
        for receiver in receivers:
            receiver.create_queue("prices", multicast=ADDRESS)
        prices = sender.open_queue(f"MULTICAST={ADDRESS}", access=openmsmq.Access.SEND)
        prices.send("open", label="0", recoverable=False)
        time.sleep(1.5)  # receivers hear of the session before it matters
        count = 400
        for start in range(1, count, 100):
            prices.send_many(
                [
                    openmsmq.Message("MSFT 410 " * 20, label=f"{n}", recoverable=False)
                    for n in range(start, start + 100)
                ]
            )
        for receiver in receivers:
            with receiver.open_queue("prices") as queue:
                eventually(lambda queue=queue: queue.info().messages >= count)
                labels = [m.label for m in queue.receive_many(count + 1, timeout=0)]
                found = [int(label) for label in labels if label != "0"]
                assert found == list(range(1, count + 1))
            [heard] = receiver.multicast()
            assert (heard.direction, heard.source) == ("incoming", exchange.address)
            assert (heard.group, heard.state, heard.lost) == (ADDRESS, "active", 0)
            assert heard.packets > count
            assert heard.repairs
        [source] = sender.multicast()
        assert (source.direction, source.packets) == ("outgoing", heard.packets)
        assert source.repairs >= heard.repairs
        assert source.requests


@with_openpgm
@pytest.mark.parametrize("mode", ["raw", "udp"])
def test_openpgm_hears_us(tmp_path: Path, mode: str) -> None:
    """PGM-137, PGM-139, PGM-141: with 10 % of packets lost; tshark finds nothing malformed."""
    options = [] if mode == "raw" else ["--udp"]
    with network(2) as (sender, receiver, _):
        receiver.lose(10)
        capture = tmp_path / "wire.pcap"
        recorder = sender.start("tshark", "-q", "-i", "eth0", "-w", str(capture))
        printed = tmp_path / "printed"
        peer = receiver.start(
            *(sys.executable, str(PEER), "receive", receiver.address, GROUP, str(PORT), "60"),
            *options,
            output=printed,
        )
        eventually(lambda: "ready" in printed.read_text())
        time.sleep(1.0)
        raw = ["--raw"] if mode == "raw" else []
        text = "price " * 300
        sent = sender.openmsmq(
            "multicast", "send", ADDRESS, "--body", text, "--label", "{n}", "--count", "60",
            "--interface", sender.address, "--rate", "200", "--linger", "4", *raw,
        )  # fmt: skip
        assert not sent.communicate(timeout=60)[1]
        peer.communicate(timeout=60)
        recorder.terminate()
        recorder.communicate(timeout=20)
    messages = [bytes.fromhex(line) for line in printed.read_text().split()[1:]]
    assert len(messages) == 60
    for number, message in enumerate(messages, 1):
        assert f"<action>MSMQ:{number}</action>".encode() in message
        assert text.encode("utf-16-le") in message
    decoded = ["tshark", "-r", str(capture), "-d", "udp.port==3056,pgm", "-V"]
    shown = subprocess.run(decoded, capture_output=True, text=True, check=True).stdout
    assert shown.count("Type: ODATA") >= 60
    assert "Type: RDATA" in shown
    assert "alformed" not in shown
    assert "incorrect" not in shown


@with_openpgm
@pytest.mark.parametrize("mode", ["raw", "udp"])
def test_we_hear_openpgm(tmp_path: Path, mode: str) -> None:
    """PGM-138, PGM-139, PGM-142: with 8 % of packets lost."""
    options = [] if mode == "raw" else ["--udp"]
    with network(2) as (sender, receiver, _):
        receiver.lose(8)
        raw = ["--raw"] if mode == "raw" else []
        printed = tmp_path / "printed"
        listener = receiver.openmsmq(
            "multicast", "listen", ADDRESS, "--count", "200", "--timeout", "40", "--json",
            "--interface", receiver.address, *raw, output=printed,
        )  # fmt: skip
        time.sleep(4.0)
        peer = sender.start(
            sys.executable, str(PEER), "send", sender.address, GROUP, str(PORT), "200", *options
        )
        errors = listener.communicate(timeout=60)[1]
        peer.kill()  # it repairs for as long as anyone may ask
        peer.communicate()
    lines = printed.read_text().splitlines()
    bodies = [bytes.fromhex(json.loads(line)["body"]) for line in lines]
    assert [body[:14] for body in bodies] == [b"message %06d" % n for n in range(200)], errors


def test_one_request_serves_all_receivers(tmp_path: Path) -> None:
    """PGM-110, PGM-140: a loss that is common to all is asked for once."""
    with network(4) as (sender, *receivers, _):
        capture = tmp_path / "wire.pcap"
        listeners = [
            one.openmsmq(
                "multicast", "listen", ADDRESS, "--count", "40", "--timeout", "40", "--json",
                "--raw", "--interface", one.address,
            )
            for one in receivers
        ]  # fmt: skip
        time.sleep(5.0)
        recorder = sender.start("tshark", "-q", "-i", "eth0", "-w", str(capture))
        time.sleep(2.0)
        # What the sender's own network drops, no receiver gets.
        for line in (
            "add table netdev loss",
            "add chain netdev loss out { type filter hook egress device eth0 priority 0; }",
            f"add rule netdev loss out ip daddr {GROUP} ip length 1000-1499"
            " numgen inc mod 10 == 5 drop",
        ):
            if subprocess.run(sender.command("nft", line), capture_output=True).returncode:
                for one in (*listeners, recorder):
                    one.kill()
                    one.communicate()
                pytest.skip("nft has no egress hook here")
        sent = sender.openmsmq(
            "multicast", "send", ADDRESS, "--body", "x" * 50, "--count", "40", "--raw",
            "--interface", sender.address, "--rate", "200",
        )  # fmt: skip
        assert not sent.communicate(timeout=60)[1]
        for listener in listeners:
            shown = listener.communicate(timeout=60)[0]
            assert len(shown.splitlines()) == 40
        recorder.terminate()
        recorder.communicate(timeout=20)
    fields = ["-T", "fields", "-e", "ip.dst", "-e", "pgm.hdr.type"]
    asked = ["tshark", "-r", str(capture), "-Y", "pgm.hdr.type == 8", *fields]
    rows = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\n")
    unicast = [row for row in rows if row.startswith(sender.address)]
    assert unicast, "something was lost"
    assert len(unicast) <= 12, "not each receiver asks for each packet"


@pytest.mark.parametrize(
    "count",
    [
        400,
        pytest.param(100_000, marks=[pytest.mark.acceptance, pytest.mark.timeout(3000)]),
    ],
)
def test_five_receivers_behind_a_harmful_wire(tmp_path: Path, count: int) -> None:
    """PGM-053, PGM-057: all have all in order, though packets get lost, repeated and reordered.

    Each receiver loses 5 % for itself; the wire of the sender repeats 3 % and delays 3 %.
    """
    rate = os.environ.get("OPENMSMQ_TEST_RATE", "400")
    with (
        network(6) as (sender, *receivers, wire),
        harmful_wire(wire, lost=1, repeated=3, late=3),
    ):
        printed = [tmp_path / one.name for one in receivers]
        listeners = [
            one.openmsmq(
                "multicast", "listen", ADDRESS, "--count", str(count + 1), "--timeout", "2400",
                "--json", "--raw", "--interface", one.address, output=file,
            )
            for one, file in zip(receivers, printed, strict=True)
        ]  # fmt: skip
        for one in receivers:
            one.lose(5)
            memberships = one.command("cat", "/proc/net/igmp")
            group = bytes(int(part) for part in reversed(GROUP.split("."))).hex().upper()
            eventually(
                lambda words=memberships, group=group: (
                    group in subprocess.run(words, capture_output=True, text=True).stdout
                )
            )
        sent = sender.openmsmq(
            "multicast", "send", ADDRESS, "--body", "x", "--label", "{n}", "--count",
            str(count + 1), "--raw", "--interface", sender.address, "--rate", rate,
            "--linger", "30", "--json",
        )  # fmt: skip
        for listener in listeners:
            errors = listener.communicate()[1]
            assert not errors
        sent.terminate()
        sent.communicate()
    for file in printed:
        numbers = [json.loads(line)["number"] for line in file.read_text().splitlines()]
        assert numbers == list(range(1, count + 2))
