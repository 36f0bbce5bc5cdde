"""Messages of other managers that a router keeps until the next one has them."""

from __future__ import annotations

from typing import Final

from openmsmq.engine.arrivals.arrival import ArrivalWork
from openmsmq.engine.arrivals.incoming import Head
from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.commit.timeline import expiry
from openmsmq.engine.core import Core
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import NEVER, Owed, owed_for
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import SENT_TIME, all_one_hop_more, one_hop_more, u32
from openmsmq.properties.message import INFINITE

TRACED: Final = 1
"In the fourth byte of a packet: TR of BaseHeader.Flags."


def forward(
    core: Core,
    work: ArrivalWork,
    packet: bytes,
    head: Head,
    queue: ManagedQueue,
    new: NewMessage | None = None,
) -> None:
    """Keep a message for another manager until the next one has it ([MS-MQQB] 3.1.5.8.2).

    `new` is how it is kept for a foreign system, of which this manager is the end.
    """
    new = new or transit_message(core, packet, head, is_known=work.origin.is_known)
    work.add(queue, [new], len(new.packet))
    if packet[3] & TRACED and core.settings.reports:
        work.outcome.traced.append(new.packet)


def transit_message(core: Core, packet: bytes, head: Head, *, is_known: bool) -> NewMessage:
    """A message as a router keeps it ([MS-MQQB] 3.1.5.8.2); `is_known` says who brought it.

    Nothing of it changes but the hop count. It is numbered, journaled and acknowledged where it was
    sent and where it goes, never here; a dead letter of it stays here unless its sender still has
    it (RT-12, RT-13).
    """
    priority, is_express, owed = _treatment(packet, head, is_known=is_known)
    return NewMessage(one_hop_more(packet), priority, _expires(core, head), is_express, owed)


def transit_group(
    core: Core, group: PacketGroup, head: Head, *, is_known: bool
) -> list[NewMessage]:
    """The same for messages that differ in little; `head` is that of the first."""
    priority, is_express, owed = _treatment(group.first, head, is_known=is_known)
    packets = all_one_hop_more(group.packets, group.sizes)
    sent = [u32(packet, SENT_TIME)[0] for packet in packets]
    ends = {moment: _expires(core, head._replace(sent_time=moment)) for moment in set(sent)}
    return [
        NewMessage(packet, priority, ends[moment], is_express, owed)
        for packet, moment in zip(packets, sent, strict=True)
    ]


def _treatment(packet: bytes, head: Head, *, is_known: bool) -> tuple[int, bool, int]:
    """The priority of a message, whether it may be lost, and what may be owed for it."""
    flags = head.flags
    is_ordered = bool(flags & UserFlags.TH)
    owed = owed_for(flags, PacketView(packet).acknowledge) & Owed.NACK_ARRIVAL.value
    if flags & UserFlags.JN and not is_ordered:
        owed |= Owed.DEAD_LETTER.value
    if not is_known:
        owed |= Owed.STRANGER.value
    priority = 0 if is_ordered else head.base_flags & BaseFlags.PR
    return priority, not is_ordered and not flags & UserFlags.DM, owed


def _expires(core: Core, head: Head) -> int:
    """When a message is given up on its way: by its sender's clock, which may be behind (RT-18)."""
    lives = head.time_to_be_received
    if head.time_to_reach_queue != INFINITE:
        lives = min(lives, head.time_to_reach_queue + core.settings.clock_tolerance)
    begun = head.sent_time - core.timeline.shift
    return NEVER if lives == INFINITE else expiry(begun, lives, NEVER)
