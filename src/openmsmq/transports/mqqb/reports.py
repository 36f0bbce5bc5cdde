"""Reports about traced messages ([MS-MQQB] 3.1.5.8.9, 3.1.7.1.7), if the manager sends any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.core import Core
from openmsmq.engine.storage.layout import NEVER
from openmsmq.errors import MQError, QueueNotFound
from openmsmq.packet.report import build_report, report_queue
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import PRIORITY_DEFAULT

_TRACED: Final = 1
"In the fourth byte of a packet: TR of BaseHeader.Flags."


class Reports:
    """Tells where messages pass that their senders want to trace."""

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def are_sent(self) -> bool:
        """The manager sends reports."""
        return self._core.settings.reports

    def report(self, packets: Sequence[bytes], next_hop: str) -> None:
        """Report that messages were sent to `next_hop`, as far as they are traced."""
        if self._core.settings.reports:
            for packet in packets:
                if packet[3] & _TRACED:
                    self.send(packet, next_hop)

    def send(self, packet: bytes, next_hop: str = "") -> None:
        """Report that a message came, or was sent to `next_hop`; without a queue, nothing."""
        core = self._core
        queue = report_queue(packet)
        if queue is None:
            return
        try:
            local = core.queues.resolver.local(queue)
            if local is None:
                raise QueueNotFound(str(queue))  # there is no directory that knows it
            target = core.queues.find(local)
        except MQError:
            core.statistics.count("reports without a queue")
            return
        report = build_report(
            PacketView(packet),
            queue,
            source=core.identity,
            message_id=core.next_message_id(),
            sent_time=core.timeline.wall,
            next_hop=next_hop,
        )
        new = NewMessage(report, PRIORITY_DEFAULT, NEVER, express=True)
        core.insert_own(target, new)
