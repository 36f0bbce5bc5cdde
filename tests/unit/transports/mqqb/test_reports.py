"""Reports about traced messages: when one is sent, and where to."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.samples import direct, user_message
from tests.unit.engine import handles
from tests.unit.engine.office import Manager
from tests.unit.transports.wires import Station, pair

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.debug import DebugHeader
from openmsmq.properties.message import MessageClass
from openmsmq.transports.mqqb.reports import Reports
from openmsmq.types.message import Message
from openmsmq.types.received import ReceivedMessage

TRACED = 3 | BaseFlags.TR
ELSEWHERE = UUID("01234567-89ab-4cde-8f01-23456789abcd")


def traced(queue: UUID | None, *, recoverable: bool = False) -> bytes:
    """A traced message, whose reports go to a queue."""
    debug = DebugHeader() if queue is None else DebugHeader(1, 0, queue)
    flags = 1 << 5 if recoverable else 0
    to = direct("OS:b\\private$\\q")
    message = user_message(base_flags=TRACED, debug=debug, destination=to, flags=flags)
    return message.encode()


class Desk:
    """A manager with a public queue for reports."""

    def __init__(self) -> None:
        self.manager = Manager()
        self.queue: ManagedQueue = self.manager.create(".\\reports")
        self.sender = Reports(self.manager.local)
        self.manager.done(self.manager.local.configure(reports=True))

    def reports(self) -> list[ReceivedMessage]:
        return self.manager.peek(self.queue)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_reports_are_wanted_if_the_message_is_traced_and_the_manager_reports(desk: Desk) -> None:
    """MQQB-306."""
    packets = [traced(desk.queue.properties.id), user_message().encode()]
    desk.sender.report(packets, "b")
    assert len(desk.reports()) == 1
    desk.manager.done(desk.manager.local.configure(reports=False))
    desk.sender.report(packets, "b")
    assert len(desk.reports()) == 1


def test_a_report_is_in_its_queue_at_once(desk: Desk) -> None:
    """MQQB-306, MQQB-308."""
    desk.sender.send(traced(desk.queue.properties.id))
    (report,) = desk.reports()
    assert report.message_class == MessageClass.REPORT
    assert report.label.startswith("aaaa:00001001:00 received by ")
    assert "NEXT HOP" not in str(report.text)
    assert not report.recoverable


def test_the_report_of_a_sender_says_where_the_message_goes(desk: Desk) -> None:
    """MQQB-307, MQQB-309."""
    desk.sender.send(traced(desk.queue.properties.id), "10.0.0.2")
    (report,) = desk.reports()
    assert "<NEXT HOP>10.0.0.2</NEXT HOP>" in str(report.text)


def test_each_report_is_a_message_of_its_own(desk: Desk) -> None:
    for _ in range(2):
        desk.sender.send(traced(desk.queue.properties.id))
    assert len({report.id for report in desk.reports()}) == 2


def test_without_a_queue_there_is_no_report(desk: Desk) -> None:
    """MQQB-306."""
    desk.sender.send(traced(None))
    assert desk.reports() == []


def test_a_report_for_a_queue_that_is_not_here_is_discarded(desk: Desk) -> None:
    """MQQB-310: and counted."""
    desk.sender.send(traced(ELSEWHERE))
    assert desk.reports() == []
    assert desk.manager.local.statistics.counts["reports without a queue"] == 1


@pytest.mark.parametrize("recoverable", [True, False], ids=["recoverable", "express"])
def test_a_message_that_travels_is_reported_on_both_sides(recoverable: bool) -> None:
    """MQQB-306, MQQB-307."""
    net, a, b = pair()
    queues = {}
    for station in (a, b):
        station.done(station.local.configure(reports=True))
        queues[station.name] = station.create(".\\reports")
    at_a, at_b = (queues[name].properties.id for name in "ab")
    out = a.out("DIRECT=OS:b\\private$\\q")
    for reports_to in (at_a, at_b):
        packet = traced(reports_to, recoverable=recoverable)
        a.done(handles.send_packets(a.local, out, [packet], None))
    net.run()
    assert len(b.peek(b.local.find_queue("q"))) == 2
    (sent,) = texts(a)
    (came,) = texts(b)
    assert f"<NEXT HOP>{b.host}</NEXT HOP>" in sent
    assert "NEXT HOP" not in came
    assert a.count("reports without a queue") == b.count("reports without a queue") == 1


def test_no_one_reports_unless_asked_to() -> None:
    """MQQB-306."""
    net, a, b = pair()
    b.create(".\\reports")
    a.send(a.out("DIRECT=OS:b\\private$\\q"), Message(b"1", trace=True))
    net.run()
    assert texts(b) == []


def texts(station: Station) -> list[str]:
    """The reports at a manager."""
    return [str(report.text) for report in station.peek(station.local.find_queue(".\\reports"))]
