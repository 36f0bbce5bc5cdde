"""Status codes of faults."""

from __future__ import annotations

from openmsmq.rpc.status import UNSENDABLE, RpcFault, RpcStatus


def test_a_fault_says_its_name_if_it_has_one() -> None:
    assert str(RpcFault(RpcStatus.BAD_STUB_DATA)) == "BAD_STUB_DATA 0x000006F7"
    assert str(RpcFault(0xC00E0003)) == "status 0xC00E0003"


def test_no_status_of_the_runtime_is_one_that_cannot_be_sent() -> None:
    assert not UNSENDABLE & set(RpcStatus)
