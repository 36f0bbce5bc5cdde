"""How the transactional messages of an outgoing queue stand, before anything is known."""

from __future__ import annotations

from tests.unit.transports.mqqb.test_resend import Deaf
from tests.unit.transports.wires import Net, Station

from openmsmq.engine.outgoing.streams import NOWHERE, stream_status
from openmsmq.types.message import Message


def test_nothing_is_known_of_an_empty_queue() -> None:
    a = Station(Net(), "a")
    found = stream_status(a.local, a.out("DIRECT=TCP:10.0.0.3\\private$\\q"))
    assert (found.last_ack, found.next, found.unacknowledged, found.sends) == (
        NOWHERE,
        NOWHERE,
        0,
        0,
    )


def test_the_next_message_is_the_first_that_was_not_sent() -> None:
    net = Net()
    a = Station(net, "a")
    queue = a.out("DIRECT=TCP:10.0.0.3\\private$\\q")
    a.send_in(queue, Message(b"1"), Message(b"2"))
    found = stream_status(a.local, queue)
    assert (found.next.number, found.next.previous, found.unacknowledged) == (1, 0, 0)
    assert found.first_unacknowledged == NOWHERE


def test_plain_messages_do_not_count() -> None:
    deaf = Deaf()
    deaf.send("1", "2")
    deaf.a.send(deaf.queue, Message(b"plain", priority=0))
    deaf.net.run()
    found = stream_status(deaf.a.local, deaf.queue)
    assert (found.unacknowledged, found.sends) == (2, 1)
