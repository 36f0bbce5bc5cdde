"""Other implementations call every operation of a real service: impacket, and Samba's client.

What goes over the wire is recorded on its way, and read by tshark.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

import openmsmq
from openmsmq.access.users import ANONYMOUS, Users
from openmsmq.interfaces.management.stubs import MANAGEMENT as QMMGMT
from openmsmq.interfaces.qm2qm.stubs import QM2QM, QMCOMM
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.coordinator import COORDINATOR, OWN_TOKEN
from openmsmq.interfaces.remote_read.sections import joined
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ, ReadOpnum
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2
from openmsmq.names.format import parse_format_name
from openmsmq.packet.headers.trailer import split_stored
from openmsmq.packet.view import PacketView
from openmsmq.rpc.management import MANAGEMENT
from openmsmq.rpc.ndr.structure import Structure
from tests.e2e.managers import ManagerProcess
from tests.e2e.rpc_clients import (
    LEVELS,
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

pytestmark = pytest.mark.slow

mgmt = pytest.importorskip("impacket.dcerpc.v5.mgmt")

OFFERED = (REMOTE_READ, COORDINATOR, QMMGMT, QM2QM, QMCOMM, QMCOMM2, MANAGEMENT)
"The interfaces of the service, in their order."
CLIENT = UUID(int=7)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagerProcess]:
    """A manager that asks for no more than each test gives."""
    ports = ("--rpc-port", "0", "--endpoint-mapper-port", "0")
    made = ManagerProcess(tmp_path_factory.mktemp("shop"), "shop", options=ports)
    data = made.folder / "data"
    users = Users(data)
    users.add(USER, PASSWORD, "read")
    users.add(ANONYMOUS, "", "read")
    (data / "openmsmq.toml").write_text("[rpc]\nallow_unauthenticated = true\n")
    made.start()
    yield made
    made.kill()


def every_operation(shop: ManagerProcess, call: Call) -> set[int]:  # noqa: PLR0915  # one session
    """Call every operation of RemoteRead and check what it did; the operations that were called."""
    called: set[int] = set()

    def ask(opnum: ReadOpnum, arguments: Structure, kind: type[Any]) -> Any:
        called.add(opnum)
        return kind.decode(call(opnum, arguments.encode()))

    name = f"q{uuid4().hex}"
    with openmsmq.connect(shop.app) as manager:
        queue = manager.create_queue(name, transactional=True)
        with manager.transaction() as sending:
            queue.send_many(list("abcdef"), transaction=sending)

        def open_arguments(suffix: str = "", access: int = 1) -> stubs.OpenArguments:
            format_name = parse_format_name(rf"DIRECT=OS:shop\private$\{name}{suffix}")
            found = QueueFormatArgument.of(format_name)
            return stubs.OpenArguments(found, access, 0, CLIENT, 1, 6, 1, 7600, 1)

        port = ask(ReadOpnum.GET_SERVER_PORT, stubs.NoArguments(), stubs.Status32).result
        assert port == shop.ready["rpc"][1]
        opened = ask(ReadOpnum.OPEN_QUEUE, open_arguments(), stubs.QueueContextArgument)
        context = opened.context

        def start(request: int, action: int, cursor: int = 0, lookup: int = 0) -> Any:
            asked = stubs.StartReceive(
                context, lookup, cursor, action, 0, request, 0xFFFFFFFF, 0xFFFFFFFF
            )
            return ask(ReadOpnum.START_RECEIVE, asked, stubs.ReceiveResults)

        def end(request: int, acknowledge: int, opnum: ReadOpnum = ReadOpnum.END_RECEIVE) -> int:
            asked = stubs.EndReceive(context, acknowledge, request)
            result: int = ask(opnum, asked, stubs.Status32).result
            return result

        made = ask(
            ReadOpnum.CREATE_CURSOR, stubs.QueueContextArgument(context), stubs.CreatedCursor
        )
        assert text_of(start(1, ReadAction.PEEK_CURRENT, made.cursor)) == "a"
        second = start(2, ReadAction.PEEK_NEXT, made.cursor)
        assert text_of(second) == "b"
        closing = stubs.CursorContext(context, made.cursor)
        assert not ask(ReadOpnum.CLOSE_CURSOR, closing, stubs.Status32).result
        assert text_of(start(3, ReadAction.RECEIVE)) == "a"
        assert end(3, stubs.NACK) == 0
        assert text_of(start(4, ReadAction.RECEIVE)) == "a"
        assert end(4, stubs.ACK) == 0
        assert queue.info().messages == 5
        cancelled = ask(ReadOpnum.CANCEL_RECEIVE, stubs.CancelReceive(context, 99), stubs.Status32)
        assert cancelled.result
        moving = ask(ReadOpnum.OPEN_QUEUE_FOR_MOVE, open_arguments(";retry", 4), stubs.MoveContext)
        lookup = queue.peek(0).lookup_id
        asked = stubs.MoveMessage(context, moving.move_context, lookup, stubs.NO_TRANSACTION)
        assert not ask(ReadOpnum.MOVE_MESSAGE, asked, stubs.Status32).result
        assert manager.open_queue(rf".\private$\{name};retry").peek(0).text == "b"

        unit = uuid4().bytes
        enlisting = stubs.EnlistRemoteTransaction(
            unit, len(OWN_TOKEN), OWN_TOKEN, open_arguments().queue_format
        )
        assert not ask(ReadOpnum.ENLIST_REMOTE_TRANSACTION, enlisting, stubs.Status32).result
        starting = stubs.StartTransactionalReceive(
            context, 0, 0, ReadAction.RECEIVE, 0, 5, 0xFFFFFFFF, 0xFFFFFFFF, unit
        )
        third = ask(ReadOpnum.START_TRANSACTIONAL_RECEIVE, starting, stubs.ReceiveResults)
        assert text_of(third) == "c"
        assert end(5, stubs.ACK, ReadOpnum.END_TRANSACTIONAL_RECEIVE) == 0
        place = 7 - 3 << 56 | third.sequence_id
        classed = stubs.SetUserAcknowledgementClass(context, place, 0)
        opnum = ReadOpnum.SET_USER_ACKNOWLEDGEMENT_CLASS
        ask(opnum, classed, stubs.Status32)
        purging = stubs.QueueContextArgument(context)
        assert not ask(ReadOpnum.PURGE_QUEUE, purging, stubs.Status32).result
        assert not ask(ReadOpnum.CLOSE_QUEUE, purging, stubs.ClosedContext).result
        with pytest.raises(openmsmq.ReceiveTimeout):
            queue.peek(0)
    return called


def text_of(results: stubs.ReceiveResults) -> str:
    """The body of the message that was read."""
    assert results.result == 0, hex(results.result)
    packet, _ = split_stored(joined(results.sections or ()).encode())
    return PacketView(packet).body.decode("utf-16-le").rstrip("\0")


@pytest.mark.parametrize("level", LEVELS)
def test_impacket_calls_every_operation(shop: ManagerProcess, level: str) -> None:
    client = impacket_client(shop.ready["rpc"][1], level)
    assert every_operation(shop, impacket_call(client)) == set(ReadOpnum)
    client.disconnect()


@pytest.mark.parametrize("level", LEVELS)
def test_samba_calls_every_operation(shop: ManagerProcess, level: str) -> None:
    with samba_client(shop.ready["rpc"][1], level) as samba:
        assert samba.offered == [str(one.uuid) for one in OFFERED]
        assert every_operation(shop, samba.call(REMOTE_READ)) == set(ReadOpnum)


# Tools that list interfaces


def test_rpcmap_lists_the_interfaces(shop: ManagerProcess) -> None:
    tool = Path(sys.executable).with_name("rpcmap.py")
    place = "ncacn_ip_tcp:127.0.0.1[{}]".format(shop.ready["rpc"][1])
    for options in (("-auth-level", "1"), ("-auth-rpc", f"WORKGROUP/{USER}:{PASSWORD}")):
        command = [sys.executable, str(tool), *options, place]
        shown = subprocess.check_output(command, text=True, timeout=60)
        assert "[MS-MQRR]: Message Queuing" in shown
        assert f"UUID: {str(MANAGEMENT.uuid).upper()} v1.0" in shown


RPCDUMP = """
import runpy, sys
tool = runpy.run_path(sys.argv[1], run_name="rpcdump")["RPCDump"]
port = int(sys.argv[2])
tool.KNOWN_PROTOCOLS[port] = {"bindstr": f"ncacn_ip_tcp:%s[{port}]"}
tool(port=port).dump("127.0.0.1", "127.0.0.1")
"""
"In a process of its own, since the tool turns off certificate checks in the process it runs in."


def test_rpcdump_lists_the_endpoints(shop: ManagerProcess) -> None:
    tool = Path(sys.executable).with_name("rpcdump.py")
    port = shop.ready["endpoint_mapper"][1]
    command = [sys.executable, "-c", RPCDUMP, str(tool), str(port)]
    shown = subprocess.check_output(command, text=True, timeout=60)
    assert f"{str(REMOTE_READ.uuid).upper()} v1.0" in shown
    assert "ncacn_ip_tcp:127.0.0.1[{}]".format(shop.ready["rpc"][1]) in shown


def test_the_server_is_asked_about_itself(shop: ManagerProcess) -> None:
    client = impacket_client(shop.ready["rpc"][1], "none", MANAGEMENT)
    vector = mgmt.hinq_if_ids(client)["if_id_vector"]
    assert vector["count"] == len(OFFERED)
    assert mgmt.his_server_listening(client)["status"] == 0
    assert mgmt.hinq_stats(client)["count"] == 0
    with pytest.raises(rpcrt.DCERPCException) as refused:
        mgmt.hstop_server_listening(client)
    assert refused.value.get_error_code() == 5
    assert mgmt.his_server_listening(client)["status"] == 0
    client.disconnect()


# What another program sees on the wire


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
@pytest.mark.parametrize("level", LEVELS)
def test_tshark_understands_every_pdu(shop: ManagerProcess, level: str, tmp_path: Path) -> None:
    """Sealed calls too, with the password."""
    relay = RecordingRelay(tmp_path, shop.ready["rpc"][1])
    client = impacket_client(relay.port, level)
    every_operation(shop, impacket_call(client))
    client.disconnect()
    assert relay.opnums() == set(ReadOpnum)
    assert not relay.tshark("-Y", "dcerpc.pkt_type == 3"), "no call ended in a fault"
    if level == "privacy":
        shown = relay.tshark("-V", "-Y", "dcerpc.pkt_type == 0")
        assert shown.count("Decrypted stub data") >= len(ReadOpnum)
