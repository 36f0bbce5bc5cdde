"""Reports about traced messages: their label and body follow the grammars."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from tests.samples import DEBUG, OTHER, SENT, SOURCE, TARGET, user_message

from openmsmq.names.format import PublicName
from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.debug import DebugHeader
from openmsmq.packet.report import build_report, report_queue
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge, MessageClass

TRACED = 3 | BaseFlags.TR
REPORTS = PublicName(OTHER)
REPORTER = UUID("99999999-2222-4333-8444-555566667777")

HEX = "[0-9A-Fa-f]"
GUID = f"{HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}}"
MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
LABEL = re.compile(
    rf"(?P<qm>{HEX}{{4}}):(?P<id>{HEX}{{8}}):(?P<hops>{HEX}{{2}}) received by (?P<computer>{GUID})"
    r" at \d\d:\d\d(:\d\d)? (?P<half>AM|PM) (Mon|Tue|Wed|Thu|Fri|Sat|Sun),"
    rf"({MONTHS}) \d\d \d\d"
)


def report(packet: bytes, *, at: int = SENT, next_hop: str = "") -> PacketView:
    """A report about a message, as its reader sees it."""
    built = build_report(
        PacketView(packet),
        REPORTS,
        source=REPORTER,
        message_id=7,
        sent_time=at,
        next_hop=next_hop,
    )
    return PacketView.parse(built)


def text(view: PacketView) -> str:
    return bytes(view.body).decode("utf-16-le")


PACKET = user_message(base_flags=TRACED, debug=DEBUG).encode()


def test_a_report_is_an_express_message_of_its_own_class() -> None:
    """MQQB-308: for the public queue that the DebugHeader names."""
    view = report(PACKET)
    assert view.message_class == MessageClass.REPORT
    assert view.destination == REPORTS
    assert not view.recoverable
    assert view.source_queue_manager == REPORTER
    assert (view.message_id, view.sent_time) == (7, SENT)
    assert view.acknowledge == Acknowledge.NONE
    assert view.admin_queue is None
    assert view.time_to_be_received == INFINITE
    assert not view.base_flags & BaseFlags.TR, "or there would be a report about it"


def test_the_label_follows_the_grammar() -> None:
    """MQQB-309."""
    found = LABEL.fullmatch(report(PACKET).label)
    assert found is not None
    assert (found["qm"], found["id"], found["hops"]) == ("aaaa", "00001001", "00")
    assert found["computer"] == str(SOURCE)


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        (SENT, "06:06:56 AM Tue,Sep 12 23"),
        (SENT + 6 * 3600, "12:06:56 PM Tue,Sep 12 23"),
        (0, "00:00:00 AM Thu,Jan 01 70"),
        (1_704_067_199, "23:59:59 PM Sun,Dec 31 23"),
    ],
)
def test_the_time_is_that_of_the_report(at: int, shown: str) -> None:
    """MQQB-309: two digits each, in UTC."""
    label = report(PACKET, at=at).label
    assert label.endswith(f" at {shown}")
    assert LABEL.fullmatch(label)


def test_hops_are_counted_in_two_digits() -> None:
    """MQQB-309."""
    packet = user_message(base_flags=TRACED, debug=DEBUG, flags=3).encode()
    assert report(packet).label.startswith("aaaa:00001001:03 ")


def test_the_report_of_a_receiver_says_which_message_and_which_queue() -> None:
    """MQQB-309."""
    expected = (
        "<MESSAGE ID>00001001</MESSAGE ID>\r\n"
        "<TARGET QUEUE>DIRECT=OS:server1\\private$\\orders</TARGET QUEUE>\r\n"
    )
    assert text(report(PACKET)) == expected


def test_the_report_of_a_sender_adds_where_it_goes() -> None:
    """MQQB-309: with a space where the grammar has one."""
    expected = (
        "<MESSAGE ID>00001001</MESSAGE ID>\r\n"
        "<TARGET QUEUE>DIRECT=OS:server1\\private$\\orders</TARGET QUEUE>\r\n"
        "<NEXT HOP>10.0.0.2</NEXT HOP>\r\n"
        "<HOP COUNT>00 </HOP COUNT>\r\n"
    )
    assert text(report(PACKET, next_hop="10.0.0.2")) == expected


def test_a_private_queue_is_named_with_its_manager() -> None:
    number = QueueReference(ReferenceCode.PRIVATE_ON_DESTINATION, number=12)
    packet = user_message(base_flags=TRACED, debug=DEBUG, destination=number).encode()
    assert f"<TARGET QUEUE>PRIVATE={TARGET}\\" in text(report(packet))


def test_the_queue_for_reports_stands_in_the_debug_header() -> None:
    """MQQB-308."""
    assert report_queue(PACKET) == REPORTS


@pytest.mark.parametrize(
    "packet",
    [
        user_message().encode(),
        user_message(debug=DEBUG).encode(),
        user_message(base_flags=TRACED).encode(),
        user_message(base_flags=TRACED, debug=DebugHeader()).encode(),
    ],
    ids=["not traced", "only a header", "only the flag", "no queue"],
)
def test_without_flag_or_queue_no_report_is_wanted(packet: bytes) -> None:
    """MQQB-306."""
    assert report_queue(packet) is None
