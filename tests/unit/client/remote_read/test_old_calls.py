"""Between the values of both kinds of remote read."""

from __future__ import annotations

import pytest
from tests.samples import user_message

from openmsmq.client.remote_read.messages import received_message
from openmsmq.client.remote_read.old_calls import (
    NO_BUFFER,
    is_newer,
    read_description,
    read_results,
)
from openmsmq.errors import OperationCancelled
from openmsmq.interfaces.qm2qm import stubs as old
from openmsmq.interfaces.remote_read import stubs
from openmsmq.rpc.ndr.structure import NULL_HANDLE

ASKED = stubs.StartReceive(NULL_HANDLE, 0, 4, 0x80000000, 1500, 9, 0xFFFFFFFF, 0xFFFFFFFF)


def test_a_request_has_no_size_and_no_buffer() -> None:
    """MQQP-041, MQQP-042, MQQP-206, MQQP-224"""
    found = read_description(77, ASKED, 5)
    assert found == old.ReadDescription(77, 4, 0x80000000, 1500, 0, 77, 5, 0, 0, 0, None)
    assert len(NO_BUFFER.encode()) == 228


def test_an_answer_is_the_message_that_was_sent() -> None:
    """MQQP-044, MQQP-045, MQQP-103, MQQP-225"""
    packet = user_message().encode()
    described = old.ReadDescription(7, 0, 0, 0, len(packet), 7, 1, 99, 1234, 2, packet)
    second = old.StartRead2Result(NULL_HANDLE, old.ReadDescription2(described, 41), 0)
    results = read_results(second)
    assert (results.arrive_time, results.sequence_id, results.result) == (1234, 41, 0)
    assert received_message(results).body == user_message().properties.body
    assert read_results(old.StartReadResult(NULL_HANDLE, described, 0)).sequence_id == 0


@pytest.mark.parametrize(
    ("result", "expected"),
    [(old.CANCELED, OperationCancelled.hresult), (0xC00E001B, 0xC00E001B)],
)
def test_a_read_that_was_cancelled_has_no_message(result: int, expected: int) -> None:
    """MQQP-173"""
    described = old.ReadDescription2(None, 0)
    results = read_results(old.StartRead2Result(NULL_HANDLE, described, result))
    assert (results.result, results.sections) == (expected, None)


def test_versions_are_compared_part_by_part() -> None:
    """MQQP-202"""
    assert not is_newer(old.VersionResult(5, 0, 9999))
    assert is_newer(old.VersionResult(6, 0, 0))
