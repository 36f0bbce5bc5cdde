"""Format names other than direct ones, and the parser for all."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address
from uuid import UUID

import pytest

from openmsmq.errors import IllegalFormatName
from openmsmq.limits import MULTIPLE_ELEMENTS_MAX
from openmsmq.names.format import (
    ConnectorName,
    DirectName,
    DistributionListName,
    FormatName,
    MachineName,
    MulticastName,
    MultipleName,
    PrivateName,
    PublicName,
    Suffix,
    has_format_prefix,
    parse_format_name,
)

TEXT = "01234567-89ab-4cde-8f01-23456789abcd"
GUID = UUID(TEXT)
MULTICAST = MulticastName(IPv4Address("234.1.1.1"), 8001)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"PUBLIC={TEXT}", PublicName(GUID)),
        (f"PUBLIC={TEXT};JOURNAL", PublicName(GUID, Suffix.JOURNAL)),
        (f"PRIVATE={TEXT}\\0000001a", PrivateName(GUID, 0x1A)),
        (f"PRIVATE={TEXT}\\ffffffff;JOURNAL", PrivateName(GUID, 0xFFFFFFFF, Suffix.JOURNAL)),
        (f"DL={TEXT}", DistributionListName(GUID)),
        (f"DL={TEXT}@example.org", DistributionListName(GUID, "example.org")),
        (f"MACHINE={TEXT};JOURNAL", MachineName(GUID, Suffix.JOURNAL)),
        (f"MACHINE={TEXT};DEADLETTER", MachineName(GUID, Suffix.DEADLETTER)),
        (f"MACHINE={TEXT};DEADXACT", MachineName(GUID, Suffix.DEADXACT)),
        (f"CONNECTOR={TEXT}", ConnectorName(GUID)),
        (f"CONNECTOR={TEXT};XACTONLY", ConnectorName(GUID, Suffix.XACTONLY)),
        ("MULTICAST=224.0.0.0:0", MulticastName(IPv4Address("224.0.0.0"), 0)),
        ("MULTICAST=239.255.255.255:65535", MulticastName(IPv4Address("239.255.255.255"), 65535)),
        (r"DIRECT=OS:h\q", DirectName.from_wire(r"OS:h\q")),
        (
            f"DIRECT=OS:h\\q,PUBLIC={TEXT},MULTICAST=234.1.1.1:8001",
            MultipleName((DirectName.from_wire(r"OS:h\q"), PublicName(GUID), MULTICAST)),
        ),
    ],
)
def test_format_names_parse_and_print(text: str, name: FormatName) -> None:
    """MQQB-146, MQQB-148 to MQQB-152."""
    assert str(name) == text
    assert repr(parse_format_name(text)) == repr(name)
    assert parse_format_name(text.swapcase()) == name
    assert has_format_prefix(text)


def test_the_number_of_a_private_queue_has_one_to_eight_digits() -> None:
    """MQQB-149."""
    assert parse_format_name(f"PRIVATE={TEXT}\\A") == PrivateName(GUID, 10)
    assert parse_format_name(f"PRIVATE={TEXT}\\00000A") == PrivateName(GUID, 10)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a format name begins with one of DIRECT=, PUBLIC="),
        ("orders", "a format name begins with one of"),
        (r"h\q", "a format name begins with one of"),
        ("PUBLIC", "a format name begins with one of"),
        ("PUBLIC=", "'' is no GUID"),
        (f"PUBLIC={{{TEXT}}}", "is no GUID of the form 8-4-4-4-12"),
        (f"PUBLIC={TEXT.replace('-', '')}", "is no GUID"),
        (f"PUBLIC={TEXT} ", "is no GUID"),
        (f"PUBLIC={TEXT};DEADXACT", "cannot have the suffix DEADXACT"),
        (f"PUBLIC={TEXT};", "'' is none of the suffixes JOURNAL, DEADLETTER, DEADXACT, XACTONLY"),
        (f"PUBLIC={TEXT};NONE", "'NONE' is none of the suffixes"),
        (f"PUBLIC={TEXT};JOURNAL;JOURNAL", "is none of the suffixes"),
        (f"PRIVATE={TEXT}", "1 to 8 hexadecimal digits"),
        (f"PRIVATE={TEXT}\\", "1 to 8 hexadecimal digits"),
        (f"PRIVATE={TEXT}\\123456789", "1 to 8 hexadecimal digits"),
        (f"PRIVATE={TEXT}\\x1", "1 to 8 hexadecimal digits"),
        (f"PRIVATE={TEXT}\\1;XACTONLY", "cannot have the suffix XACTONLY"),
        ("PRIVATE=1\\1", "'1' is no GUID"),
        (f"DL={TEXT}@", "the domain name is empty"),
        (f"DL={TEXT}@{'d' * 256}", "the domain name has 256 characters"),
        (f"DL={TEXT};JOURNAL", "is no GUID"),
        (f"MACHINE={TEXT}", "needs a suffix"),
        (f"MACHINE={TEXT};XACTONLY", "cannot have the suffix XACTONLY"),
        (f"CONNECTOR={TEXT};JOURNAL", "cannot have the suffix JOURNAL"),
        ("MULTICAST=234.1.1.1", "a colon and a port number"),
        ("MULTICAST=234.1.1.1:", "a colon and a port number"),
        ("MULTICAST=234.1.1.1:01", "a colon and a port number"),
        ("MULTICAST=234.1.1.1:65536", "the port is not between 0 and 65535"),
        ("MULTICAST=223.1.1.1:80", "the address does not begin with 224 to 239"),
        ("MULTICAST=240.1.1.1:80", "the address does not begin with 224 to 239"),
        ("MULTICAST=234.1.1:80", "'234.1.1' is no IPv4 address"),
        (r"DIRECT=OS:h", "a backslash and a queue must follow"),
        (r"DIRECT=OS:h\q,", "a format name begins with one of"),
        (r"DIRECT=OS:h\q, DIRECT=OS:h\r", "' DIRECT=OS:h\\r': a format name begins"),
    ],
)
def test_what_is_no_format_name_is_refused_with_the_reason(text: str, reason: str) -> None:
    """MQQB-148 to MQQB-152."""
    with pytest.raises(IllegalFormatName) as caught:
        parse_format_name(text)
    assert reason in caught.value.detail


@pytest.mark.parametrize(
    "text",
    [
        f"PUBLIC={TEXT};JOURNAL",
        f"PRIVATE={TEXT}\\1;JOURNAL",
        r"DIRECT=OS:h\q;JOURNAL",
        r"DIRECT=OS:h\SYSTEM$;DEADLETTER",
        f"MACHINE={TEXT};DEADXACT",
    ],
)
def test_read_only_queues_are_refused_as_elements(text: str) -> None:
    """MQQB-152."""
    assert parse_format_name(text).is_read_only
    with pytest.raises(IllegalFormatName, match=r"element 2, .* is a read-only queue"):
        parse_format_name(f"DIRECT=OS:h\\q,{text}")


@pytest.mark.parametrize(
    "text",
    [
        f"PUBLIC={TEXT}",
        f"PRIVATE={TEXT}\\1",
        f"DL={TEXT}@d",
        f"CONNECTOR={TEXT};XACTONLY",
        "MULTICAST=234.1.1.1:8001",
        r"DIRECT=OS:h\q;retry",
    ],
)
def test_other_queues_can_be_elements(text: str) -> None:
    """MQQB-152."""
    assert not parse_format_name(text).is_read_only
    name = parse_format_name(f"{text},{text}")
    assert isinstance(name, MultipleName)
    assert not name.is_read_only
    assert [str(element) for element in name.elements] == [str(parse_format_name(text))] * 2


def test_the_number_of_elements_is_bounded() -> None:
    most = ",".join([r"DIRECT=OS:h\q"] * MULTIPLE_ELEMENTS_MAX)
    assert str(parse_format_name(most)) == most
    with pytest.raises(IllegalFormatName, match="has 1025 elements, at most 1024 are allowed"):
        parse_format_name(f"{most},x")


def test_multiple_names_have_at_least_two_elements_and_no_inner_ones() -> None:
    for elements in ((), (MULTICAST,), (MULTICAST,) * (MULTIPLE_ELEMENTS_MAX + 1)):
        with pytest.raises(IllegalFormatName, match="has 2 to 1024 elements"):
            MultipleName(elements)
    inner = MultipleName((MULTICAST, MULTICAST))
    with pytest.raises(IllegalFormatName, match="element 2 has several elements itself"):
        MultipleName((MULTICAST, inner))


def test_multiple_names_are_equal_when_their_elements_are() -> None:
    first = parse_format_name(r"DIRECT=HTTP://h:80/msmq/q,DIRECT=OS:h\q")
    assert first == parse_format_name(r"direct=http://h/msmq\Q,direct=os:H\Q")
    assert first != parse_format_name(r"DIRECT=OS:h\q,DIRECT=HTTP://h:80/msmq/q")


@pytest.mark.parametrize(
    "make",
    [
        lambda: PrivateName(GUID, -1),
        lambda: PrivateName(GUID, 1 << 32),
        lambda: MulticastName(IPv4Address("234.1.1.1"), -1),
        lambda: DistributionListName(GUID, "a,b"),
        lambda: MachineName(GUID, Suffix.NONE),
    ],
)
def test_values_that_could_not_be_printed_are_refused(make: Callable[[], FormatName]) -> None:
    with pytest.raises(IllegalFormatName):
        make()


def test_names_of_different_kinds_are_not_equal() -> None:
    kinds = [
        PublicName(GUID),
        PublicName(GUID, Suffix.JOURNAL),
        DistributionListName(GUID),
        ConnectorName(GUID),
        ConnectorName(GUID, Suffix.XACTONLY),
        MachineName(GUID, Suffix.JOURNAL),
        PrivateName(GUID, 1),
    ]
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize("text", ["", "orders", r"h\q", "=x", "LABEL=x", r"h\DIRECT=q"])
def test_only_the_known_prefixes_make_a_format_name(text: str) -> None:
    assert not has_format_prefix(text)
