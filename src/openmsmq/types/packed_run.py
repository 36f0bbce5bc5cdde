"""Messages packed together: what a program sends in one call, written in one go.

Most calls send messages that are alike but for their bodies. What they share is written once, and
if their bodies have the same size, all of it with one join. Whatever is not plain is left to
`Packer`, which also finds out what is wrong with a message.
"""

from __future__ import annotations

from codecs import utf_16_le_encode
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from struct import Struct
from struct import error as StructError
from typing import Any, Final, NamedTuple

from openmsmq import limits
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.columns import SIZE
from openmsmq.packet.headers.properties import NO_CORRELATION, MessagePropertiesStart
from openmsmq.properties.message import Acknowledge
from openmsmq.types.message import Message
from openmsmq.wire.text import NULL_UNIT, ZEROS

COUNT_MIN: Final = 4
"Messages from which on it pays."

_way: Final = attrgetter(
    *("recoverable", "journal", "dead_letter", "dead_letter_queue", "acknowledge"),
    *("time_to_be_received", "time_to_reach_queue", "trace", "encrypt", "signer"),
    *("priority", "admin_queue", "response_queue"),
)
_PLAIN: Final = (True, False, False, None, Acknowledge.NONE, None, None, False, False, None)
"What a plain message has of these, up to its priority."
_head: Final = attrgetter("label", "correlation_id", "body_type", "app_specific", "extension")
_body: Final = attrgetter("body")


class PackedRun(NamedTuple):
    """Packets one after the other, without identifiers and time."""

    packets: bytes
    sizes: list[int]
    priority: int


def are_plain(messages: Sequence[Message]) -> bool:
    """Whether messages are many, go the same way, and ask for nothing special."""
    count = len(messages)
    if count < COUNT_MIN or [*map(type, messages)].count(Message) != count:
        return False
    way = _way(messages[0])
    return way[: len(_PLAIN)] == _PLAIN and [*map(_way, messages)].count(way) == count


def pack_run(builder: PacketBuilder, messages: Sequence[Message]) -> PackedRun | None:
    """Plain messages as packets; None if one of them does not fit into a packet."""
    priority = messages[0].priority
    front = builder.build(priority=priority)
    base, front = front[:SIZE], front[SIZE + 4 : -MessagePropertiesStart.SIZE]
    heads = [*map(_head, messages)]
    bodies = [*map(_body, messages)]
    first, count = len(bodies[0]), len(bodies)
    try:
        if heads.count(heads[0]) == count and [*map(len, bodies)].count(first) == count:
            parts, sizes = _packed(base, front, heads[:1], bodies[:1])
            *head, _, pad = parts
            start = b"".join(head)
            bodies[0], bodies[-1] = start + bodies[0], bodies[-1] + pad
            return PackedRun((pad + start).join(bodies), sizes * count, priority)
        parts, sizes = _packed(base, front, heads, bodies)
    except (StructError, ValueError):
        return None
    return PackedRun(b"".join(parts), sizes, priority)


def _packed(
    base: bytes, front: bytes, heads: Iterable[tuple[Any, ...]], bodies: Iterable[bytes]
) -> tuple[list[bytes], list[int]]:
    """The parts of packets, five for each, and their sizes."""
    pack = _layout(len(front))
    fixed = len(base) + 4 + len(front) + MessagePropertiesStart.SIZE
    parts: list[bytes] = []
    sizes: list[int] = []
    for (label, correlation, body_type, number, extension), body in zip(heads, bodies, strict=True):
        text = utf_16_le_encode(label, "surrogatepass")[0] + NULL_UNIT if label else b""
        length, more = len(body), len(extension)
        least = fixed + len(text) + more + length
        size = least + 3 & ~3
        if size > limits.PACKET_SIZE_MAX:
            raise ValueError(size)
        units, known = len(text) >> 1, correlation or NO_CORRELATION
        # fmt: off
        start = pack(base, size, front, 0, units, 0, known, body_type, number, length, length,
                     0, 0, 0, more)
        # fmt: on
        parts += start, text, extension, body, ZEROS[size - least]
        sizes.append(size)
    return parts, sizes


@lru_cache(maxsize=256)
def _layout(front_size: int) -> Callable[..., bytes]:
    """What writes all that is before the label, given the bytes between size and properties."""
    properties = MessagePropertiesStart.LAYOUT.format.removeprefix("<")
    return Struct(f"<{SIZE}sI{front_size}s{properties}").pack
