"""From what a manager answers to values."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.client.management.answers import (
    FIELDS,
    MACHINE,
    QUEUE,
    get_info,
    machine_of,
    queue_of,
    values_of,
)
from openmsmq.errors import Malformed
from openmsmq.interfaces.management.stubs import THE_MACHINE, GetInfoResults
from openmsmq.interfaces.variants import NULL
from openmsmq.properties.managed import (
    ConnectionAttempt,
    IncomingStream,
    ManagedMachine,
    ManagedQueueInfo,
    SequencePosition,
)
from openmsmq.properties.propid import MGMT_MSMQ, MGMT_QUEUE
from openmsmq.properties.structures import SequenceInfo
from openmsmq.properties.variant import PropVariant
from openmsmq.properties.vartype import VECTOR, VarType

UI4S, I4S = VECTOR | VarType.VT_UI4, VECTOR | VarType.VT_I4
TEXTS, VARIANTS = VECTOR | VarType.VT_LPWSTR, VECTOR | VarType.VT_VARIANT


def test_every_value_is_asked_for_as_null() -> None:
    """MQMR-057, MQMR-059, SYS-178"""
    asked = get_info(THE_MACHINE, MACHINE)
    assert asked.values == (NULL,) * 6
    assert asked.propids == (1, 2, 3, 4, 5, 6)
    assert FIELDS.keys() == set(ManagedQueueInfo.__dataclass_fields__)
    assert {item for item, _ in FIELDS.values()} == set(QUEUE)


def test_any_property_may_be_null() -> None:
    """MQMR-225"""
    machine = dict.fromkeys(MACHINE)
    queue = dict.fromkeys(QUEUE)
    assert machine_of(machine) == ManagedMachine()
    assert queue_of(queue) == ManagedQueueInfo()


def test_the_number_of_values_is_checked() -> None:
    """MQMR-027"""
    assert values_of((MGMT_MSMQ.TYPE,), GetInfoResults((NULL,), 0)) == {MGMT_MSMQ.TYPE: None}
    with pytest.raises(Malformed):
        values_of((MGMT_MSMQ.TYPE,), GetInfoResults((NULL, NULL), 0))


def test_names_of_subqueues_may_be_variants() -> None:
    """MQMR-132"""
    names = PropVariant(VarType.VT_LPWSTR, "a"), PropVariant(VarType.VT_LPWSTR, "b")
    for value in (("a", "b"), names):
        assert queue_of({MGMT_QUEUE.SUBQUEUE_NAMES: value}).subqueues == ("a", "b")


def test_places_histories_and_streams_are_read() -> None:
    """MQMR-231"""
    blob = SequenceInfo(-1, 41, 40).pack()
    history = (
        PropVariant(UI4S, (0x80000004, 2)),
        PropVariant(I4S, (10, 20)),
        PropVariant(I4S, (0xC00E0069 - (1 << 32), 0)),
        PropVariant(
            VARIANTS,
            (PropVariant(TEXTS, ("192.0.2.17",)), PropVariant(VarType.VT_LPWSTR, "192.0.2.18")),
        ),
    )
    streams = (
        PropVariant(TEXTS, ("DIRECT=OS:h\\q",)),
        PropVariant(VECTOR | VarType.VT_CLSID, (UUID(int=5),)),
        PropVariant(VECTOR | VarType.VT_UI8, (7,)),
        PropVariant(UI4S, (3,)),
        PropVariant(I4S, (1000,)),
        PropVariant(UI4S, (1,)),
    )
    found = queue_of(
        {
            MGMT_QUEUE.EOD_LAST_ACK: blob,
            MGMT_QUEUE.CONNECTION_HISTORY: history,
            MGMT_QUEUE.EOD_SOURCE_INFO: streams,
        }
    )
    assert found.last_ack == SequencePosition(0xFFFFFFFFFFFFFFFF, 41, 40)
    assert found.attempts == (
        ConnectionAttempt(10, 0x80000004, 0xC00E0069, ("192.0.2.17",)),
        ConnectionAttempt(20, 2, 0, ("192.0.2.18",)),
    )
    stream = IncomingStream("DIRECT=OS:h\\q", str(UUID(int=5)), 7, 3, 1000, 1)
    assert found.incoming == (stream,)


@pytest.mark.parametrize("broken", [(), (PropVariant(UI4S, (1,)),) * 3])
def test_a_table_that_is_none_is_malformed(broken: tuple[PropVariant, ...]) -> None:
    """MQMR-027"""
    with pytest.raises(Malformed):
        queue_of({MGMT_QUEUE.CONNECTION_HISTORY: broken})
    uneven = (PropVariant(UI4S, (1, 2)), *(PropVariant(I4S, (1,)),) * 2, PropVariant(VARIANTS, ()))
    with pytest.raises(Malformed):
        queue_of({MGMT_QUEUE.CONNECTION_HISTORY: uneven})
