"""What happened in a simulation, for the one who looks for a mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openmsmq.errors.peer import Malformed
from openmsmq.packet.acks import OrderAckBody, ack_body
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import u16
from tests.simulation.events import Scheduler

if TYPE_CHECKING:
    from tests.simulation.network import End


class Trace:
    """Lines of text, if anyone wants them."""

    def __init__(self, scheduler: Scheduler, *, is_on: bool) -> None:
        self._scheduler = scheduler
        self.is_on = is_on
        self.lines: list[str] = []
        self._framers: dict[End, PacketFramer] = {}

    def note(self, text: str) -> None:
        """Something happened."""
        if self.is_on:
            self.lines.append(f"{self._scheduler.now:10.3f}  {text}")

    def bytes(self, end: End, data: bytes) -> None:
        """Packets are sent."""
        if not self.is_on or end.node.name.startswith("program"):
            return
        if end.other.node.name.startswith("program"):
            return
        framer = self._framers.setdefault(end, PacketFramer())
        framer.receive_data(data)
        way = f"{end.node.name} -> {end.other.node.name}"
        try:
            for packet in framer.packets():
                self.note(f"{way}  {describe(packet)}")
        except Malformed as error:
            self.note(f"{way}  no packet: {error}")


def describe(packet: bytes) -> str:
    """A packet in a few words."""
    if u16(packet, 2)[0] & BaseFlags.IN:
        text = str(decode_packet(packet))
        return text if len(text) < 300 else text.partition("(")[0]
    view = PacketView(packet)
    ack = ack_body(view)
    if isinstance(ack, OrderAckBody):
        return f"OrderAck {ack.tx_sequence_id.ordinal}/{ack.tx_sequence_number}"
    if ack is not None:
        place = f"{ack.tx_sequence_id.ordinal}/{ack.tx_sequence_number}"
        return f"FinalAck {place} {view.message_class:#x}"
    place = ""
    transaction = view.transaction
    if transaction is not None:
        number, previous = transaction.tx_sequence_number, transaction.previous_tx_sequence_number
        place = f" {transaction.tx_sequence_id.ordinal}/{number} after {previous}"
    kind = "recoverable" if view.recoverable else "express"
    return f"{kind} m{view.app_specific} class {view.message_class:#x}{place} to {view.destination}"
