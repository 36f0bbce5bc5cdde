"""Log lines about messages that are refused without their senders' knowledge."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.unit.engine.station import parcel
from tests.unit.engine.world import HERE, PARTNER
from tests.unit.transports.wires import pair

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.properties.message import MessageClass
from openmsmq.transports.mqqb.arrival_log import INTERVAL, ArrivalLog
from openmsmq.types.message import Message

MISSING = MessageClass.NACK_BAD_DST_Q
FULL = MessageClass.NACK_Q_EXCEED_QUOTA


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """The fields of the lines about refused messages."""
    return [
        record.fields  # type: ignore[attr-defined]  # `log_event` adds it
        for record in caplog.records
        if record.getMessage() == "messages refused" and record.levelno == logging.WARNING
    ]


def test_a_refused_message_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    log = ArrivalLog(lambda: 5.0)
    log.refused(Origin("192.0.2.9", "x"), parcel("1", to=HERE + "none"), MISSING, is_kept=True)
    (fields,) = lines(caplog)
    assert fields["address"] == "192.0.2.9"
    assert fields["source"] == PARTNER
    assert fields["destination"] == HERE + "none"
    assert (fields["count"], fields["kept"]) == (1, "yes")
    assert "does not exist" in fields["reason"]


def test_many_make_few_lines_which_count_them(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    log = ArrivalLog(lambda: now)
    origin, packet = Origin("192.0.2.9", "x"), parcel("1", to=HERE + "none")
    for _ in range(1000):
        log.refused(origin, packet, MISSING, is_kept=True)
    log.refused(origin, packet, FULL, is_kept=False)
    now = INTERVAL
    log.refused(origin, packet, MISSING, is_kept=True)
    assert [(fields["count"], fields["kept"]) for fields in lines(caplog)] == [
        (1, "yes"), (1, "no"), (1000, "yes"),
    ]  # fmt: skip


def test_managers_log_what_they_refuse(caplog: pytest.LogCaptureFixture) -> None:
    net, a, b = pair()
    a.send(a.out(r"DIRECT=OS:b\private$\none"), Message(b"1"), Message(b"2", recoverable=False))
    net.wait(5)
    (fields,) = lines(caplog)
    assert fields["destination"] == r"DIRECT=OS:b\private$\none"
    assert sorted(b.bodies(b.local.queues.refused)) == [b"1", b"2"]
    assert a.count("delivered") == 2
