"""QUEUE_FORMAT: types, suffixes, flags."""

from __future__ import annotations

from itertools import product
from uuid import UUID

import pytest

from openmsmq.errors import IllegalFormatName
from openmsmq.names.format import parse_format_name
from openmsmq.names.queue_format import (
    ALLOWED_SUFFIXES,
    QueueFormat,
    QueueFormatType,
    QueueSuffixType,
    UnionValue,
)

TEXT = "01234567-89ab-4cde-8f01-23456789abcd"
GUID = UUID(TEXT)
VALUES: dict[int, UnionValue] = {
    0: None,
    1: GUID,
    2: (GUID, 12),
    3: r"OS:h\q",
    4: GUID,
    5: GUID,
    6: (GUID, None),
    7: (0xEA010101, 8001),
    8: r"OS:h\q;retry",
}


@pytest.mark.parametrize(
    ("text", "format_type", "suffix_and_flags", "value"),
    [
        (f"PUBLIC={TEXT}", 1, 0x00, GUID),
        (f"PUBLIC={TEXT};JOURNAL", 1, 0x81, GUID),
        (f"PRIVATE={TEXT}\\0000000c", 2, 0x00, (GUID, 12)),
        (f"PRIVATE={TEXT}\\0000000c;JOURNAL", 2, 0x81, (GUID, 12)),
        (r"DIRECT=OS:server1\private$\orders", 3, 0x00, r"OS:server1\private$\orders"),
        (r"DIRECT=OS:h\q;JOURNAL", 3, 0x81, r"OS:h\q;JOURNAL"),
        (r"DIRECT=OS:h\SYSTEM$;JOURNAL", 3, 0x81, r"OS:h\SYSTEM$;JOURNAL"),
        (r"DIRECT=OS:h\SYSTEM$;DEADLETTER", 3, 0x82, r"OS:h\SYSTEM$;DEADLETTER"),
        (r"DIRECT=OS:h\SYSTEM$;DEADXACT", 3, 0x83, r"OS:h\SYSTEM$;DEADXACT"),
        (f"MACHINE={TEXT};JOURNAL", 4, 0x81, GUID),
        (f"MACHINE={TEXT};DEADLETTER", 4, 0x82, GUID),
        (f"MACHINE={TEXT};DEADXACT", 4, 0x83, GUID),
        (f"CONNECTOR={TEXT}", 5, 0x00, GUID),
        (f"CONNECTOR={TEXT};XACTONLY", 5, 0x04, GUID),
        (f"DL={TEXT}", 6, 0x00, (GUID, None)),
        (f"DL={TEXT}@example.org", 6, 0x00, (GUID, "example.org")),
        ("MULTICAST=234.1.1.1:8001", 7, 0x00, (0xEA010101, 8001)),
        (r"DIRECT=OS:server1\private$\orders;retry", 8, 0x05, r"OS:server1\private$\orders;retry"),
    ],
)
def test_names_become_queue_formats_and_come_back(
    text: str, format_type: int, suffix_and_flags: int, value: UnionValue
) -> None:
    """MQQB-154."""
    made = QueueFormat.of(parse_format_name(text))
    assert made == QueueFormat(format_type, suffix_and_flags, value)
    assert str(made.name()) == text


# [MS-MQMQ] 2.2.7, written the way it is there: suffix, flags, types it cannot have.
RULES = {
    0: (0x00, {4, 8}),
    1: (0x80, {5, 6, 7, 8}),
    2: (0x80, {1, 2, 5, 6, 7, 8}),
    3: (0x80, {1, 2, 5, 6, 7, 8}),
    4: (0x00, {1, 2, 3, 4, 6, 7, 8}),
    5: (0x00, {1, 2, 3, 4, 5, 6, 7}),
}


def test_the_table_of_allowed_suffixes_is_the_specifications() -> None:
    """MQQB-153, MQQB-155."""
    for kind, suffix in product(range(1, 9), range(6)):
        assert (suffix in ALLOWED_SUFFIXES[kind]) == (kind not in RULES[suffix][1])


@pytest.mark.parametrize("kind", range(9))
def test_every_other_combination_is_refused(kind: int) -> None:
    """MQQB-153 to MQQB-155: 256 values of m_SuffixAndFlags for each type."""
    accepted = set()
    for byte in range(256):
        value = VALUES[kind]
        if kind == 3 and byte & 0x0F in (2, 3):
            value = rf"OS:h\SYSTEM$;{QueueSuffixType(byte & 0x0F).name}"
        try:
            QueueFormat(kind, byte, value).name()
        except IllegalFormatName:
            continue
        accepted.add(byte)
    allowed = {s | RULES[s][0] for s in range(6) if kind and kind not in RULES[s][1]}
    if kind == QueueFormatType.CONNECTOR:
        allowed.add(0x84)  # the flags of XACTONLY are not stated
    assert accepted == allowed


@pytest.mark.parametrize("kind", [0, 9, 255])
def test_unknown_types_are_refused(kind: int) -> None:
    """MQQB-153."""
    with pytest.raises(IllegalFormatName, match=f"type {kind} names no queue"):
        QueueFormat(kind, 0, None).name()


@pytest.mark.parametrize("kind", range(1, 9))
def test_a_value_of_another_type_is_refused(kind: int) -> None:
    for value in (None, b"bytes", (1 << 32, 1), (GUID, GUID), (GUID, 1, 2)):
        suffix = ALLOWED_SUFFIXES[kind][0]
        flags = RULES[suffix][0]
        with pytest.raises(IllegalFormatName, match="does not belong"):
            QueueFormat(kind, suffix | flags, value).name()  # type: ignore[arg-type]  # on purpose


def test_the_suffix_alone_can_mean_the_journal_of_a_direct_name() -> None:
    name = QueueFormat(3, 0x81, r"OS:h\q").name()
    assert str(name) == r"DIRECT=OS:h\q;JOURNAL"


@pytest.mark.parametrize(
    ("kind", "suffix_and_flags", "text"),
    [
        (3, 0x00, r"OS:h\q;JOURNAL"),
        (3, 0x82, r"OS:h\q"),
        (3, 0x82, r"OS:h\SYSTEM$;DEADXACT"),
        (3, 0x81, r"OS:h\SYSTEM$;DEADXACT"),
        (3, 0x00, r"OS:h\q;retry"),
        (3, 0x81, r"OS:h\q;retry"),
        (8, 0x05, r"OS:h\q"),
        (8, 0x05, r"OS:h\q;JOURNAL"),
        (3, 0x00, "rubbish"),
    ],
)
def test_text_and_suffix_must_not_contradict(kind: int, suffix_and_flags: int, text: str) -> None:
    """MQQB-153, MQQB-155."""
    with pytest.raises(IllegalFormatName):
        QueueFormat(kind, suffix_and_flags, text).name()


def test_values_out_of_range_are_refused() -> None:
    for kind, value in ((2, (GUID, 1 << 32)), (7, (0x01010101, 1)), (7, (-1, 1)), (6, (GUID, ""))):
        with pytest.raises(IllegalFormatName):
            QueueFormat(kind, 0, value).name()


def test_a_multiple_name_has_no_queue_format() -> None:
    name = parse_format_name(r"DIRECT=OS:h\q,DIRECT=OS:h\r")
    with pytest.raises(IllegalFormatName, match="only name one queue"):
        QueueFormat.of(name)
