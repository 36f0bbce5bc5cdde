"""QUEUE_FORMAT as an argument."""

from __future__ import annotations

import pytest

from openmsmq.errors import Malformed
from openmsmq.interfaces.limits import NAME_MAX
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.names.format import parse_format_name
from openmsmq.names.queue_format import QueueFormat

NAMES = [
    "PUBLIC=11223344-5566-7788-99aa-bbccddeeff00",
    "PUBLIC=11223344-5566-7788-99aa-bbccddeeff00;JOURNAL",
    "PRIVATE=11223344-5566-7788-99aa-bbccddeeff00\\7",
    "DIRECT=OS:server1\\private$\\orders",
    "DIRECT=OS:server1\\private$\\orders;retry",
    "MACHINE=11223344-5566-7788-99aa-bbccddeeff00;DEADLETTER",
    "CONNECTOR=11223344-5566-7788-99aa-bbccddeeff00",
    "DL=11223344-5566-7788-99aa-bbccddeeff00@example.org",
    "DL=11223344-5566-7788-99aa-bbccddeeff00",
    "MULTICAST=239.1.2.3:8001",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_name_travels(name: str) -> None:
    parsed = parse_format_name(name)
    stub = QueueFormatArgument.of(parsed).encode()
    assert QueueFormatArgument.decode(stub).queue_format().name() == parsed


def test_an_unknown_queue_has_an_empty_arm() -> None:
    argument = QueueFormatArgument(0, 0, 0, None)
    assert argument.encode().hex() == "0000000000"
    assert QueueFormatArgument.decode(argument.encode()).queue_format() == QueueFormat(0, 0, None)


def test_the_reserved_field_means_nothing() -> None:
    """MQQB-156, MQRR-086"""
    stub = bytearray(QueueFormatArgument.of(parse_format_name(NAMES[0])).encode())
    stub[2:4] = b"\xff\xff"
    assert QueueFormatArgument.decode(bytes(stub)).queue_format().name() == parse_format_name(
        NAMES[0]
    )


@pytest.mark.parametrize(
    ("at", "value", "reason"), [(4, 1, "tag 1 is not"), (0, 9, "tag 3 is not"), (12, 255, "max")]
)
def test_a_tag_or_a_count_that_does_not_agree_is_malformed(
    at: int, value: int, reason: str
) -> None:
    """MQRR-021, MQRR-023"""
    stub = bytearray(QueueFormatArgument.of(parse_format_name(NAMES[3])).encode())
    stub[at] = value
    if at == 12:
        stub[12:16] = (NAME_MAX + 1).to_bytes(4, "little")
        reason = f"more than {NAME_MAX}"
    with pytest.raises(Malformed, match=reason):
        QueueFormatArgument.decode(bytes(stub))
