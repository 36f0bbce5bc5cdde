"""The interface that tells about the others."""

from __future__ import annotations

import os
from typing import Any

import pytest

from openmsmq.errors import Malformed
from openmsmq.rpc import management
from openmsmq.rpc.association import Associations
from openmsmq.rpc.interface import RpcCall, RpcClient, RpcInterface
from openmsmq.rpc.management import MANAGEMENT, ManagementOpnum, ServerManagement
from openmsmq.rpc.ndr.structure import Structure
from openmsmq.rpc.syntax import SyntaxId

OTHER = SyntaxId.of("1a9134dd-7b39-45ba-ad88-44d01ca47f28", 1)


def ask(opnum: ManagementOpnum, arguments: Structure, kind: type[Any]) -> Any:
    made = ServerManagement([RpcInterface("other", OTHER, {})])
    answers: list[bytes] = []
    refused: list[int] = []
    association = Associations(os.urandom).join(0, "127.0.0.1")
    assert association is not None
    client = RpcClient("", 1, "127.0.0.1")
    call = RpcCall(arguments, association, client, answers.append, refused.append)
    made.interface.methods[opnum].handle(call)
    [answer] = answers
    return kind.decode(answer)


def test_it_lists_the_interfaces_and_itself() -> None:
    nothing = management.Nothing()
    found = ask(ManagementOpnum.INQ_IF_IDS, nothing, management.OfferedInterfaces)
    listed = [(one.uuid, one.major, one.minor) for one in found.interfaces]
    assert listed == [(OTHER.uuid, 1, 0), (MANAGEMENT.uuid, 1, 0)]
    assert found.status == 0


def test_it_listens_and_cannot_be_stopped() -> None:
    nothing = management.Nothing()
    opnum = ManagementOpnum.STOP_SERVER_LISTENING
    assert ask(opnum, nothing, management.ManagementStatus).status == 5
    opnum = ManagementOpnum.IS_SERVER_LISTENING
    assert ask(opnum, nothing, management.ServerListens) == management.ServerListens(0, 1)


def test_it_has_no_statistics_and_no_principal() -> None:
    opnum = ManagementOpnum.INQ_STATS
    found = ask(opnum, management.StatisticsCount(4), management.ServerStatistics)
    assert (found.count, found.status) == (0, 0)
    opnum = ManagementOpnum.INQ_PRINC_NAME
    asked = management.PrincipalNameArguments(10, 100)
    assert ask(opnum, asked, management.PrincipalName).status == 1747


@pytest.mark.parametrize("counts", [(1, 2), (300, 300)])
def test_a_list_that_contradicts_itself_is_malformed(counts: tuple[int, int]) -> None:
    stub = b"".join(number.to_bytes(4, "little") for number in (1, *counts)) + bytes(5000)
    with pytest.raises(Malformed):
        management.OfferedInterfaces.decode(stub)
