"""The receipts of all transports."""

from __future__ import annotations

import pytest
from tests.unit.engine.office import Manager
from tests.unit.transports.wires import pair

from openmsmq.engine.storage.layout import TRANSPORT
from openmsmq.packet.acks import FinalAckBody, ack_body
from openmsmq.packet.view import PacketView
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.message import Message
from openmsmq.types.queues import QueueKind


def test_every_transport_has_a_writer_of_receipts() -> None:
    flags = [1 << bit for bit in range(16) if TRANSPORT >> bit & 1]
    assert list(RECEIPTS) == [0, *flags]


def test_a_process_without_transports_writes_the_receipt_that_it_owes() -> None:
    """What a service took, a program that opens its directory days later may receive."""
    net, a, b = pair(transactional=True)
    queue = a.out(r"DIRECT=OS:b\private$\q")
    a.send_in(queue, Message(b"1", journal=True))
    net.wait(1)
    b.die()
    later = Manager(b.store.committed, name="b")
    later.receive(later.local.find_queue(r".\private$\q"))
    outgoing = [one for one in later.local.queues.everything if one.kind is QueueKind.OUTGOING]
    (packet,) = [found.packet for one in outgoing for found in later.peek(one)]
    assert isinstance(ack_body(PacketView(packet)), FinalAckBody)


def test_a_receipt_that_no_one_can_write_is_never_dropped() -> None:
    """The receive fails, and the message stays in its queue."""
    net, a, b = pair(transactional=True)
    a.send_in(a.out(r"DIRECT=OS:b\private$\q"), Message(b"1", journal=True))
    net.wait(1)
    b.die()
    later = Manager(b.store.committed, name="b")
    later.local.acknowledgements.receipts = {}
    queue = later.local.find_queue(r".\private$\q")
    with pytest.raises(Exception, match="0"):
        later.receive(queue)
    assert later.bodies(queue) == [b"1"]
