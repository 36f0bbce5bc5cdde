"""What properties may hold."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.errors import IllegalPropertyValue, IllegalPropertyVt
from openmsmq.properties.directory import CN, SET, D, E, L, S
from openmsmq.properties.propid import MGMT_MSMQ, MGMT_QUEUE, QM, Property, Q
from openmsmq.properties.structures import SequenceInfo
from openmsmq.properties.values import (
    Answer,
    ConnectionStatusCode,
    ManagerConnection,
    OperatingSystemType,
    QueueLocation,
    QueueState,
    QueueType,
    check_property_value,
)
from openmsmq.properties.variant import PropVariant, Value
from openmsmq.properties.vartype import VECTOR, VarType

TEXTS = VECTOR | VarType.VT_LPWSTR
UI4S = VECTOR | VarType.VT_UI4
I4S = VECTOR | VarType.VT_I4
VARIANTS = VECTOR | VarType.VT_VARIANT


def check(item: Property, value: Value) -> None:
    check_property_value(item, PropVariant(item.vartype, value))


def refused(item: Property, value: Value) -> None:
    with pytest.raises(IllegalPropertyValue, match=item.propid):
        check(item, value)


@pytest.mark.parametrize(
    ("item", "values"),
    [
        (Q.JOURNAL, {0, 1}),
        (Q.AUTHENTICATE, {0, 1}),
        (Q.PRIV_LEVEL, {0, 1, 2}),
        (Q.TRANSACTION, {0, 1}),
        (Q.SCOPE, {0, 1}),
        (QM.SERVICE, {0, 1, 2, 4, 8, 0x10}),
        (QM.FOREIGN, {0, 1}),
        (QM.SERVICE_ROUTING, {0, 1}),
        (QM.GROUP_IN_CLUSTER, {0, 1}),
        (S.NT4_STUB, {0, 1}),
        (S.FOREIGN, {0, 1}),
        (CN.PROTOCOLID, {1, 3, 5}),
        (E.NAMESTYLE, {0, 1, 2}),
        (SET.SERVICE, {0, 1, 2, 4, 8}),
        (SET.OLDSERVICE, {0, 1, 2, 4, 8}),
        (SET.NT4, {0, 1}),
        (SET.SERVICE_ROUTING, {0, 1}),
        (SET.SERVICE_DSSERVER, {0, 1}),
        (D.SCOPE, {0, 1}),
        (D.OBJTYPE, {1, 2, 3, 4, 5, 6, 7, 8}),
    ],
    ids=lambda value: str(value) if isinstance(value, Property) else "",
)
def test_codes_outside_their_set_are_refused(item: Property, values: set[int]) -> None:
    """MQQB-367."""
    for value in range(0x21):
        if value in values:
            check(item, value)
        else:
            refused(item, value)


@pytest.mark.parametrize(
    ("item", "good", "bad"),
    [
        (QM.OS, (0, 0x100, 0x200, 0x300, 0x400, 0x500), (1, 0x600)),
        (L.COST, (1, 999_999), (0, 1_000_000)),
        (L.ACTUAL_COST, (1, 999_999), (0, 1_000_000)),
        (Q.QUOTA, (0, 0xFFFFFFFF), ()),
        (Q.BASEPRIORITY, (-32768, 32767), ()),
        (Q.LABEL, ("", "x" * 124), ("x" * 125,)),
        (
            Q.MULTICAST_ADDRESS,
            ("224.0.0.0:0", "239.255.255.255:65535"),
            (
                *("", "224.0.0.1", "224.0.0.1:", "223.0.0.1:1", "240.0.0.1:1", "224.0.0.1:65536"),
                *("224.0.0.1:01", "224.0.0.1:-1", "224.0.0:1", "224.0.0.1:1:1", "224.0.0.1:x"),
            ),
        ),
        (MGMT_MSMQ.DSSERVER, (r"\\server",), ("", "server", "\\\\")),
    ],
    ids=lambda value: str(value) if isinstance(value, Property) else "",
)
def test_ranges_and_texts_are_checked(
    item: Property, good: tuple[Value, ...], bad: tuple[Value, ...]
) -> None:
    """MQQB-367."""
    for value in good:
        check(item, value)
    for value in bad:
        refused(item, value)


def test_a_queue_manager_runs_on_one_of_six_kinds_of_system() -> None:
    """DMPR-008: the specification calls the first of them Other, its property NONE."""
    assert {system.name: system.value for system in OperatingSystemType} == {
        "NONE": 0,
        "FOREIGN": 0x100,
        "WINDOWS_95": 0x200,
        "WINDOWS_CLIENT": 0x300,
        "WINDOWS_SERVER": 0x400,
        "WINDOWS_ENTERPRISE_SERVER": 0x500,
    }
    for code in range(0x600 + 1):
        if code in list(OperatingSystemType):
            check(QM.OS, code)
        else:
            refused(QM.OS, code)


@pytest.mark.parametrize("cost", [0, 1_000_000, 0xFFFFFFFF])
def test_a_link_that_costs_nothing_or_too_much_is_refused(cost: int) -> None:
    """DMPR-101."""
    refused(L.ACTUAL_COST, cost)
    for good in (1, 2, 999_999):
        check(L.ACTUAL_COST, good)


@pytest.mark.parametrize(
    ("item", "strings"),
    [
        (MGMT_MSMQ.CONNECTED, ManagerConnection),
        (MGMT_QUEUE.TYPE, QueueType),
        (MGMT_QUEUE.LOCATION, QueueLocation),
        (MGMT_QUEUE.XACT, Answer),
        (MGMT_QUEUE.FOREIGN, Answer),
        (MGMT_QUEUE.STATE, QueueState),
    ],
    ids=lambda value: str(value),
)
def test_management_strings_are_taken_exactly(
    item: Property, strings: type[ManagerConnection]
) -> None:
    """MQQB-368."""
    for text in strings:
        check(item, str(text))
        refused(item, text.lower())
    refused(item, "")


def test_management_strings_are_those_of_the_specification() -> None:
    """MQQB-368."""
    assert list(ManagerConnection) == ["CONNECTED", "DISCONNECTED"]
    assert list(QueueType) == ["PUBLIC", "PRIVATE", "MACHINE", "CONNECTOR", "MULTICAST"]
    assert list(QueueLocation) == ["LOCAL", "REMOTE"]
    assert list(Answer) == ["UNKNOWN", "YES", "NO"]
    assert list(QueueState) == [
        *("LOCAL CONNECTION", "INACTIVE", "WAITING", "NEED VALIDATION", "ONHOLD"),
        *("CONNECTED", "DISCONNECTING", "DISCONNECTED", "LOCKED"),
    ]


def test_next_hops_name_their_kind_of_address() -> None:
    """MQQB-368."""
    check(MGMT_QUEUE.NEXTHOPS, ())
    check(
        MGMT_QUEUE.NEXTHOPS,
        ("IP=192.0.2.1", "IPv6=2001:db8::1", "FOREIGN=01234567-89AB-CDEF-0123-456789ABCDEF"),
    )
    for bad in ("192.0.2.1", "IP=2001:db8::1", "IPv6=192.0.2.1", "FOREIGN=x", "TCP=192.0.2.1", ""):
        refused(MGMT_QUEUE.NEXTHOPS, ("IP=192.0.2.1", bad))


@pytest.mark.parametrize(
    "item",
    [
        MGMT_QUEUE.EOD_LAST_ACK,
        MGMT_QUEUE.EOD_FIRST_NON_ACK,
        MGMT_QUEUE.EOD_LAST_NON_ACK,
        MGMT_QUEUE.EOD_NEXT_SEQ,
    ],
)
def test_sequence_blobs_have_the_size_of_their_structure(item: Property) -> None:
    """MQQB-366."""
    check(item, SequenceInfo(1, 2, 3).pack())
    refused(item, b"")


def source_info(**changes: PropVariant) -> Value:
    columns = {
        "names": PropVariant(TEXTS, ("DIRECT=OS:a\\b",)),
        "senders": PropVariant(VECTOR | VarType.VT_CLSID, (UUID(int=1),)),
        "ids": PropVariant(VECTOR | VarType.VT_UI8, (1,)),
        "numbers": PropVariant(UI4S, (1,)),
        "times": PropVariant(I4S, (1,)),
        "rejects": PropVariant(UI4S, (0,)),
    }
    return tuple({**columns, **changes}.values())


def test_source_information_is_six_arrays_of_one_length() -> None:
    check(MGMT_QUEUE.EOD_SOURCE_INFO, source_info())
    refused(MGMT_QUEUE.EOD_SOURCE_INFO, ())
    refused(MGMT_QUEUE.EOD_SOURCE_INFO, source_info(rejects=PropVariant(UI4S, (0, 0))))
    refused(MGMT_QUEUE.EOD_SOURCE_INFO, source_info(rejects=PropVariant(I4S, (0,))))


def history(**changes: PropVariant) -> Value:
    columns = {
        "statuses": PropVariant(UI4S, (ConnectionStatusCode.ESTABLISHED, 0x8000000D)),
        "times": PropVariant(I4S, (1, 2)),
        "errors": PropVariant(I4S, (0, -1)),
        "addresses": PropVariant(
            VARIANTS, (PropVariant(TEXTS, ("192.0.2.1",)), PropVariant(TEXTS, ()))
        ),
    }
    return tuple({**columns, **changes}.values())


def test_connection_history_is_four_arrays_of_one_length() -> None:
    """MQQB-369."""
    check(MGMT_QUEUE.CONNECTION_HISTORY, history())
    refused(MGMT_QUEUE.CONNECTION_HISTORY, ())
    refused(MGMT_QUEUE.CONNECTION_HISTORY, history(times=PropVariant(I4S, (1,))))
    refused(MGMT_QUEUE.CONNECTION_HISTORY, history(errors=PropVariant(UI4S, (0, 1))))
    refused(MGMT_QUEUE.CONNECTION_HISTORY, history(statuses=PropVariant(UI4S, (2, 3))))
    texts = PropVariant(VARIANTS, (PropVariant(TEXTS, ()), PropVariant(VarType.VT_LPWSTR, "x")))
    refused(MGMT_QUEUE.CONNECTION_HISTORY, history(addresses=texts))


def test_connection_statuses_have_the_numbers_of_the_specification() -> None:
    """MQQB-369."""
    assert list(ConnectionStatusCode) == [0, 1, 2, *range(0x80000000, 0x8000000E)]


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(IllegalPropertyVt, match="PROPID_Q_JOURNAL is VT_UI1"):
        check_property_value(Q.JOURNAL, PropVariant(VarType.VT_UI4, 1))


def test_reserved_properties_are_not_interpreted() -> None:
    """MQQB-370."""
    for item in (Q.HASHKEY, QM.HASHKEY, E.CRL):
        check_property_value(item, PropVariant(VarType.VT_LPWSTR, "anything"))
