"""What names of each kind can be opened for, and names that stand for several queues."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from openmsmq.errors import (
    IllegalFormatName,
    NoDs,
    QueueNotFound,
    UnsupportedAccessMode,
    UnsupportedFormatNameOperation,
)
from openmsmq.limits import MULTIPLE_ELEMENTS_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.format import DistributionListName, parse_format_name
from openmsmq.names.usage import check_use, expand_name

GUID = "01234567-89ab-4cde-8f01-23456789abcd"
ORDERS = r"DIRECT=OS:a\private$\orders"
INVOICES = r"DIRECT=OS:b\private$\invoices"
PUBLIC = f"PUBLIC={GUID}"
LISTS = {
    f"DL={GUID}": [INVOICES, PUBLIC],
    "DL=00000000-0000-0000-0000-000000000001": [
        ORDERS,
        "DL=00000000-0000-0000-0000-000000000002@example.org",
    ],
    "DL=00000000-0000-0000-0000-000000000002@example.org": [INVOICES],
    "DL=00000000-0000-0000-0000-000000000003": [
        "DL=00000000-0000-0000-0000-000000000004",
        ORDERS,
    ],
    "DL=00000000-0000-0000-0000-000000000004": ["DL=00000000-0000-0000-0000-000000000003"],
    "DL=00000000-0000-0000-0000-000000000005": [],
}
PLAIN = [
    ORDERS,
    r"direct=OS:A\Private$\ORDERS",
    "DIRECT=HTTP://a/msmq/orders",
    PUBLIC,
    rf"PRIVATE={GUID}\0000000c",
    f"MACHINE={GUID};DEADXACT",
    f"CONNECTOR={GUID}",
    "MULTICAST=234.1.1.1:8001",
]


def members(name: DistributionListName) -> Iterable[FormatName]:
    """What the directory of these tests says is in a list."""
    if str(name) not in LISTS:
        raise NoDs(str(name))
    return map(parse_format_name, LISTS[str(name)])


def expanded(text: str) -> str:
    return str(expand_name(parse_format_name(text), members))


@pytest.mark.parametrize("text", PLAIN)
def test_a_name_of_one_queue_stays_as_it_is(text: str) -> None:
    """DMPR-177."""
    name = parse_format_name(text)
    assert expand_name(name, members) is name


def test_a_list_gives_way_to_its_members() -> None:
    """DMPR-178."""
    assert expanded(f"DL={GUID}") == f"{INVOICES},{PUBLIC}"


def test_a_list_in_a_list_gives_way_too() -> None:
    """DMPR-178."""
    text = "DL=00000000-0000-0000-0000-000000000001"
    assert expanded(text) == f"{ORDERS},{INVOICES}"
    assert expanded(f"{PUBLIC},{text}") == f"{ORDERS},{INVOICES},{PUBLIC}"


def test_lists_that_contain_each_other_come_to_an_end() -> None:
    """DMPR-178."""
    assert expanded("DL=00000000-0000-0000-0000-000000000003") == ORDERS


def test_an_unknown_distribution_list_ends_the_expansion() -> None:
    """DMPR-179: with the error of the one who was asked."""
    with pytest.raises(NoDs):
        expanded("DL=00000000-0000-0000-0000-000000000009")
    with pytest.raises(NoDs):
        expanded(f"{ORDERS},DL=00000000-0000-0000-0000-000000000009")


def test_a_list_without_queues_cannot_be_opened() -> None:
    """DMPR-179."""
    with pytest.raises(QueueNotFound, match="no queues"):
        expanded("DL=00000000-0000-0000-0000-000000000005")


def test_names_are_sorted_and_each_is_there_once_whatever_its_letters() -> None:
    """DMPR-180."""
    text = rf"{PUBLIC},DIRECT=OS:B\q,DIRECT=OS:a\q,{PUBLIC.upper()},DIRECT=OS:b\Q,DIRECT=OS:C\q"
    assert expanded(text) == rf"DIRECT=OS:a\q,DIRECT=OS:B\q,DIRECT=OS:C\q,{PUBLIC}"


def test_what_is_left_alone_is_a_plain_name() -> None:
    """DMPR-181."""
    name = expand_name(parse_format_name(f"{ORDERS},{ORDERS.upper()}"), members)
    assert type(name) is type(parse_format_name(ORDERS))
    assert str(name) == ORDERS


def test_several_names_are_joined_by_commas() -> None:
    """DMPR-181."""
    assert expanded(f"{PUBLIC},{ORDERS}") == f"{ORDERS},{PUBLIC}"


def test_an_endless_list_is_refused() -> None:
    def endless(name: DistributionListName) -> Iterable[FormatName]:
        return [DistributionListName(type(name.guid)(int=name.guid.int + 1))]

    with pytest.raises(IllegalFormatName, match=f"more than {MULTIPLE_ELEMENTS_MAX}"):
        expand_name(parse_format_name(f"DL={GUID}"), endless)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"{ORDERS},{PUBLIC}", id="several"),
        pytest.param("DIRECT=HTTP://a/msmq/orders", id="http"),
        pytest.param("DIRECT=https://a/msmq/orders", id="https"),
        pytest.param("MULTICAST=234.1.1.1:8001", id="multicast"),
    ],
)
def test_some_names_are_for_sending_only(text: str) -> None:
    """DMPR-149, DMPR-153, DMPR-155."""
    name = parse_format_name(text)
    check_use(name, sends=True)
    for exclusive in (False, True):
        with pytest.raises(UnsupportedFormatNameOperation, match="for sending only"):
            check_use(name, sends=False, exclusive=exclusive)


def test_several_queues_cannot_be_denied_to_others() -> None:
    """DMPR-150."""
    with pytest.raises(UnsupportedAccessMode):
        check_use(parse_format_name(f"{ORDERS},{PUBLIC}"), sends=True, exclusive=True)


@pytest.mark.parametrize(
    "text",
    [
        f"MACHINE={GUID};JOURNAL",
        f"MACHINE={GUID};DEADLETTER",
        f"MACHINE={GUID};DEADXACT",
        r"DIRECT=OS:a\SYSTEM$;DEADLETTER",
        f"{PUBLIC};JOURNAL",
    ],
)
def test_what_only_the_manager_writes_to_is_for_reading_only(text: str) -> None:
    """DMPR-154."""
    name = parse_format_name(text)
    check_use(name, sends=False)
    check_use(name, sends=False, exclusive=True)
    with pytest.raises(UnsupportedFormatNameOperation, match="only the queue manager"):
        check_use(name, sends=True)


@pytest.mark.parametrize("text", [ORDERS, r"DIRECT=TCP:10.0.0.1\q", PUBLIC, f"CONNECTOR={GUID}"])
@pytest.mark.parametrize("sends", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_all_others_may_be_opened_in_every_way(text: str, sends: bool, exclusive: bool) -> None:
    """What else there is to refuse depends on the queue, not on its name."""
    check_use(parse_format_name(text), sends=sends, exclusive=exclusive)
