"""The packet codec beside the hand-written prototype: 1 KiB bodies, one core."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from bench import prototype
from bench.timing import rates
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.view import PacketView

COUNT = 20_000
READ_SIZE = 65_536
BUILDER = PacketBuilder(uuid4(), parse_format_name(r"DIRECT=OS:server01\private$\orders"))
BODY = prototype.BODY


def build() -> None:
    """COUNT packets, as an application's messages become."""
    pack = BUILDER.build
    for number in range(COUNT):
        pack(BODY, label="order/created", message_id=number, sent_time=1700000000, app_specific=7)


def build_by_hand() -> None:
    """The same number by hand."""
    for number in range(COUNT):
        prototype.pack(number)


PACKETS = [BUILDER.build(BODY, label="order/created", message_id=n) for n in range(COUNT)]
BY_HAND = [prototype.pack(number) for number in range(COUNT)]
STREAM = b"".join(PACKETS)


def lazy() -> None:
    """What a queue manager looks at."""
    for packet in PACKETS:
        view = PacketView(packet)
        _ = view.priority, view.label, view.destination


def lazy_by_hand() -> None:
    """The same by hand, the destination left as bytes."""
    for packet in BY_HAND:
        prototype.parse_lazy(packet)


def full() -> None:
    """Every header as an object."""
    for packet in PACKETS:
        decode_packet(packet)


def full_by_hand() -> None:
    """Every field in a dictionary."""
    for packet in BY_HAND:
        prototype.parse_full(packet)


def check() -> None:
    """The whole structure, as is done to what a peer sent."""
    for packet in PACKETS:
        PacketView.parse(packet)


def frame() -> None:
    """A stream cut into packets."""
    framer = PacketFramer()
    for start in range(0, len(STREAM), READ_SIZE):
        framer.receive_data(STREAM[start : start + READ_SIZE])
        for _ in framer.packets():
            pass


ROWS: tuple[tuple[str, Callable[[], None], Callable[[], None] | None], ...] = (
    ("build a packet", build, build_by_hand),
    ("lazy parse: label, priority, destination", lazy, lazy_by_hand),
    ("full decode", full, full_by_hand),
    ("check the structure of a peer's packet", check, None),
    ("cut a stream into packets, 64 KiB reads", frame, None),
)


def lines() -> list[str]:
    """The table, line by line."""
    table = [f"{'codec, 1 KiB bodies':42s}{'ours':>14s}{'by hand':>14s}{'ratio':>8s}"]
    for title, ours, by_hand in ROWS:
        found = rates(COUNT, *filter(None, (ours, by_hand)))
        line = f"  {title:40s}{found[0]:12,.0f}/s"
        if by_hand is not None:
            line += f"{found[1]:12,.0f}/s{found[1] / found[0]:7.2f}x"
        table.append(line)
    return table
