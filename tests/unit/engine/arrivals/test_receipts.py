"""Receipts: the engine gives the context, a transport writes, and the flag says which transport."""

from __future__ import annotations

from tests.unit.engine.station import ADDRESS, Station, parcel
from tests.unit.engine.world import HERE, ME, NOW

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.receipts import OwedReceipt, ReceiptContext
from openmsmq.engine.storage.layout import Owed
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import MessageClass

THERE = parse_format_name("DIRECT=HTTP://there/msmq/receipts")


def test_the_writer_of_the_transport_is_called_in_the_commit_that_owes_the_receipt() -> None:
    station = Station()
    station.world.queue("t", transactional=True)
    written: list[tuple[MessageClass, ReceiptContext]] = []

    class Writer:
        def acknowledgement(
            self, packet: bytes, reason: MessageClass, context: ReceiptContext
        ) -> None:
            raise AssertionError("no acknowledgement was asked for")

        def final(
            self, packet: bytes, reason: MessageClass, context: ReceiptContext
        ) -> OwedReceipt:
            written.append((reason, context))
            return OwedReceipt(THERE, parcel("receipt"))

    station.core.acknowledgements.receipts = {0: Writer()}
    station.take(parcel("1", to=HERE + "t", place=(1, 1, 0), wants_final=True))
    assert written == []
    station.world.take(station.world.find("t"))
    reason, context = written[-1]  # a commit that is begun again asks again
    assert reason is MessageClass.ACK_RECEIVE
    assert (context.identity, context.sent_time, context.address) == (ME, NOW, ADDRESS)
    queue = station.core.queues.find_outgoing(THERE)
    assert queue is not None
    assert queue.messages == 1


def test_a_session_names_the_transport_of_its_messages() -> None:
    assert Origin(ADDRESS, "binary").transport == 0
    assert Origin(ADDRESS, "HTTP", transport=Owed.SRMP.value).transport == Owed.SRMP.value
