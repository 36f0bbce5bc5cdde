"""Other implementations manage a real service: impacket, and Samba's client; tshark reads along."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import openmsmq
from openmsmq.access.users import Users
from openmsmq.interfaces.management import stubs
from openmsmq.interfaces.management.stubs import MANAGEMENT, THE_MACHINE, ManagedOpnum
from openmsmq.properties.propid import MGMT_MSMQ, MGMT_QUEUE
from tests.e2e.managers import ManagerProcess
from tests.e2e.rpc_clients import (
    PASSWORD,
    TSHARK,
    USER,
    Call,
    RecordingRelay,
    impacket_call,
    impacket_client,
    rpcrt,
    samba_client,
)
from tests.strategies.managed import get_info, queue_object

pytestmark = pytest.mark.slow

OFFICE = r"DIRECT=TCP:127.0.0.2\private$\orders"
VECTORS = Path(__file__).parents[1] / "vectors" / "rpc" / "neighbours.json"
SIGNED = ("integrity", "privacy")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagerProcess]:
    made = ManagerProcess(tmp_path_factory.mktemp("shop"), "shop", options=("--rpc-port", "0"))
    users = Users(made.folder / "data")
    users.add(USER, PASSWORD, "admin")
    users.add("reader", PASSWORD, "read")
    made.start()
    with openmsmq.connect(made.app) as manager:
        manager.create_queue("orders").send_many(["1", "2", "3"])
        manager.open_queue(OFFICE).send("away")
    yield made
    made.kill()


def every_operation(call: Call) -> None:
    """Ask for every property, do every action, and be refused for what is wrong."""

    def values(name: str, wanted: Any) -> dict[Any, Any]:
        managed = queue_object(name) if name else THE_MACHINE
        asked = get_info(managed, [item.value for item in wanted])
        found = stubs.GetInfoResults.decode(call(ManagedOpnum.GET_INFO, asked.encode()))
        assert found.result == 0, hex(found.result)
        return {
            item: value.variant().value for item, value in zip(wanted, found.values, strict=True)
        }

    def act(managed: stubs.ManagedObject, word: str) -> int:
        stub = stubs.ActionArguments(managed, word).encode()
        return stubs.ActionResult.decode(call(ManagedOpnum.ACTION, stub)).result

    machine = values("", tuple(MGMT_MSMQ))
    assert r"shop\private$\orders" in machine[MGMT_MSMQ.PRIVATEQ]
    local = values(r"DIRECT=OS:shop\private$\orders", tuple(MGMT_QUEUE))
    assert (local[MGMT_QUEUE.MESSAGE_COUNT], local[MGMT_QUEUE.STATE]) == (3, "LOCAL CONNECTION")
    office = queue_object(OFFICE)
    assert act(office, "PAUSE") == 0
    assert values(OFFICE, tuple(MGMT_QUEUE))[MGMT_QUEUE.STATE] == "ONHOLD"
    assert [act(office, word) for word in ("RESUME", "EOD_RESEND")] == [0, 0]
    assert [act(THE_MACHINE, word) for word in ("DISCONNECT", "CONNECT", "TIDY")] == [0, 0, 0]
    assert act(office, "TIDY") == 0xC00E0006
    assert act(queue_object(r"DIRECT=OS:shop\private$\orders"), "PAUSE") == 0xC00E0004
    for managed, numbers, result in (
        (THE_MACHINE, [7], 0xC00E0039),
        (queue_object(r"DIRECT=OS:shop\private$\none"), [7], 0xC00E0001),
        (stubs.ManagedObject(3, 0), [1], 0xC00E0006),
    ):
        stub = call(ManagedOpnum.GET_INFO, get_info(managed, numbers).encode())
        assert stubs.GetInfoResults.decode(stub).result == result


def connect(port: int, level: str, user: str = USER) -> Any:
    return impacket_client(port, level, MANAGEMENT, user)


@pytest.mark.parametrize("level", SIGNED)
def test_impacket_calls_every_operation(shop: ManagerProcess, level: str) -> None:
    """MQMR-003, MQMR-004, MQMR-048, MQMR-184"""
    client = connect(shop.ready["rpc"][1], level)
    every_operation(impacket_call(client))
    client.disconnect()


def test_impacket_is_refused_with_wrong_arguments_and_served_again(shop: ManagerProcess) -> None:
    """MQMR-012, MQMR-020, MQMR-043, MQMR-045"""
    port = shop.ready["rpc"][1]
    client = connect(port, "privacy")
    call = impacket_call(client)
    asked = get_info(THE_MACHINE, [4]).encode()
    bad, unknown = "rpc_x_bad_stub_data", "nca_s_op_rng_error"
    for opnum, stub, status in ((0, asked[:-1], bad), (1, b"", bad), (2, b"", unknown)):
        with pytest.raises(rpcrt.DCERPCException, match=status):
            call(opnum, stub)
    assert stubs.GetInfoResults.decode(call(0, asked)).result == 0
    client.disconnect()
    weak = connect(port, "connect")
    with pytest.raises(rpcrt.DCERPCException, match="rpc_s_access_denied"):
        impacket_call(weak)(0, asked)
    weak.disconnect()
    reader = connect(port, "privacy", "reader")
    assert stubs.GetInfoResults.decode(impacket_call(reader)(0, asked)).result == 0xC00E0025
    reader.disconnect()


def test_worked_requests_are_answered(shop: ManagerProcess) -> None:
    """MQMR-229, MQMR-230: those of the vectors, sent by impacket as they stand."""
    client = connect(shop.ready["rpc"][1], "privacy")
    call = impacket_call(client)
    vectors = json.loads(VECTORS.read_text())["vectors"]
    kinds: dict[str, tuple[int, Callable[[bytes], Any]]] = {
        "R_QMMgmtGetInfo": (0, stubs.GetInfoResults.decode),
        "R_QMMgmtAction": (1, stubs.ActionResult.decode),
    }
    answered = 0
    for found in vectors.values():
        if found["method"] in kinds and found["direction"] == "request":
            opnum, decode = kinds[found["method"]]
            assert decode(call(opnum, bytes.fromhex(found["stub"]))).result in (
                0,
                0xC00E0001,
                0xC00E0004,
                0xC00E0006,
                0xC00E0039,
            )
            answered += 1
    assert answered >= 8
    call(1, stubs.ActionArguments(THE_MACHINE, "CONNECT").encode())
    client.disconnect()


@pytest.mark.parametrize("level", SIGNED)
def test_samba_calls_every_operation(shop: ManagerProcess, level: str) -> None:
    with samba_client(shop.ready["rpc"][1], level) as samba:
        every_operation(samba.call(MANAGEMENT))


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
def test_tshark_understands_every_pdu(shop: ManagerProcess, tmp_path: Path) -> None:
    """Sealed calls, with the password."""
    relay = RecordingRelay(tmp_path, shop.ready["rpc"][1])
    client = connect(relay.port, "privacy")
    every_operation(impacket_call(client))
    client.disconnect()
    assert relay.opnums() == set(ManagedOpnum)
