"""impacket and Samba's client call every operation of a supporting server; tshark reads along."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from openmsmq.access.users import Users
from openmsmq.interfaces.management.stubs import GetInfoResults
from openmsmq.interfaces.qm2qm.stubs import (
    QM2QM,
    QMCOMM,
    HandleArgument,
    HandleResult,
    OneNumber,
    VersionResult,
)
from openmsmq.interfaces.qm2qm.transfer_buffer import receive_buffer, send_buffer
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2, MessageOpnum, Opnum
from openmsmq.interfaces.variants import NULL
from openmsmq.names.format import parse_format_name
from openmsmq.properties.propid import Q
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.syntax import SyntaxId
from tests.e2e.managers import ManagerProcess
from tests.e2e.rpc_clients import (
    FAULTS,
    PASSWORD,
    SHORT_SEALED,
    TSHARK,
    USER,
    Call,
    RecordingRelay,
    impacket_call,
    impacket_client,
    impacket_uuid,
    rpcrt,
    samba_client,
)
from tests.strategies.dependent import NO_ID, UNIT, propids, target, text, value, wanted
from tests.strategies.rpc_qmcomm import STUBS

pytestmark = pytest.mark.slow

VECTORS = Path(__file__).parents[1] / "vectors" / "rpc" / "neighbours.json"
QUOTES = r"DIRECT=OS:farm\private$\quotes"
OPNUMS = {
    "R_QMGetRemoteQueueName": 1,
    "R_QMCreateObjectInternal": 6,
    "R_QMSetObjectSecurityInternal": 7,
    "R_QMGetObjectSecurityInternal": 8,
    "R_QMDeleteObject": 9,
    "R_QMGetObjectProperties": 10,
    "R_QMSetObjectProperties": 11,
    "R_QMObjectPathToObjectFormat": 12,
    "R_QMGetTmWhereabouts": 14,
    "R_QMEnlistTransaction": 15,
    "R_QMQueryQMRegistryInternal": 28,
    "R_QMGetRTQMServerPort": 31,
}
"Operations without a handle, whose worked requests can be sent as they stand."


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagerProcess]:
    options = ("--rpc-port", "0", "--supporting-server")
    made = ManagerProcess(tmp_path_factory.mktemp("farm"), "farm", options=options)
    Users(made.folder / "data").add(USER, PASSWORD, "admin")
    made.start()
    yield made
    made.kill()


def connect(farm: ManagerProcess, interface: SyntaxId = QMCOMM) -> tuple[Any, Call]:
    """A connection of impacket."""
    client = impacket_client(farm.ready["rpc"][1], "privacy", interface)
    return client, impacket_call(client)


def ask(call: Call, opnum: int, arguments: Structure, kind: Any = stubs.Status) -> Any:
    """A call, and its results."""
    return kind.decode(call(int(opnum), arguments.encode()))


def every_operation(farm: ManagerProcess, call: Call) -> None:
    """Create, see, change, open, begin, commit, purge, close and delete."""
    assert ask(call, 31, OneNumber(0), OneNumber).number == farm.ready["rpc"][1]
    with pytest.raises(rpcrt.DCERPCException):  # an operation that is obsolete
        ask(call, Opnum.GET_REMOTE_QUEUE_NAME, stubs.RemoteName(1, None))
    assert ask(call, Opnum.QUERY_REGISTRY, OneNumber(3), stubs.RegistryResult).text == "6.1.7600"
    given = {Q.LABEL: text("quotes"), Q.TRANSACTION: value(Q.TRANSACTION, 1)}
    numbers, values = propids(given), tuple(given.values())
    made = stubs.CreateObject(1, ".\\private$\\quotes", 0, None, 2, numbers, values)
    assert ask(call, Opnum.CREATE_OBJECT, made).result == 0
    assert ask(call, Opnum.CREATE_OBJECT, made).result == 0xC00E0005
    seen = stubs.GetProperties(target(QUOTES), 1, (108,), (NULL,))
    [label] = ask(call, Opnum.GET_OBJECT_PROPERTIES, seen, GetInfoResults).values
    assert label.variant().value == "quotes"
    change = stubs.SetProperties(target(QUOTES), 1, (108,), (text("other"),))
    assert ask(call, Opnum.SET_OBJECT_PROPERTIES, change).result == 0
    room = ask(call, 8, stubs.GetSecurity(target(QUOTES), 5, 0), stubs.SizedBytes)
    assert room.result == 0xC00E0023
    found = ask(call, 8, stubs.GetSecurity(target(QUOTES), 5, room.needed), stubs.SizedBytes)
    assert found.result == 0
    kept = stubs.SetSecurity(target(QUOTES), 4, len(found.data), found.data)
    assert ask(call, Opnum.SET_OBJECT_SECURITY, kept).result == 0
    empty = stubs.ObjectFormat(1, QueueFormatArgument(0, 0, 0, None))
    path = stubs.PathToFormat(".\\private$\\quotes", empty)
    assert ask(call, Opnum.PATH_TO_FORMAT, path, stubs.FormatResult).result == 0
    assert ask(call, 14, stubs.GetWhereabouts(8), stubs.SizedBytes).result == 0xC00E004C
    assert ask(call, 15, stubs.Enlist(UNIT, 0, b"")).result == 0xC00E004C
    for ending in (Opnum.COMMIT, Opnum.ABORT):
        unit = ask(call, 16, stubs.EnlistInternal(UNIT), HandleResult)
        assert unit.result == 0
        assert ask(call, ending, HandleArgument(unit.handle), HandleResult).result == 0
    name = QueueFormatArgument.of(parse_format_name(QUOTES))
    place = stubs.NamePlace(None)
    opening = stubs.OpenInternal(name, 1, 0, 0, place, 0, NULL_HANDLE, "CLIENT", 0, 0)
    opened = ask(call, Opnum.OPEN_QUEUE, opening, stubs.OpenedQueue)
    assert opened.result == 0
    named = stubs.NameOfHandle(opened.handle, 0, None, 0)
    assert ask(call, 26, named, stubs.NameResult).needed == len(QUOTES) + 1
    assert ask(call, 27, HandleArgument(opened.handle)).result == 0
    assert ask(call, 22, stubs.HandleCursor(opened.handle, 0x0B)).result == 0
    assert ask(call, 23, stubs.CursorProperties(opened.handle, 1, 1)).result == 0xC00E0064
    assert ask(call, 20, HandleArgument(opened.handle), HandleResult).result == 0
    assert ask(call, Opnum.DELETE_OBJECT, stubs.Target(target(QUOTES))).result == 0


def send_and_receive(call: Call, messages: Call) -> None:
    """Make a queue and open it with qmcomm, send to it and receive from it with qmcomm2."""
    name = f"letters{uuid4().hex}"
    path = f".\\private$\\{name}"
    made = stubs.CreateObject(1, path, 0, None, 1, (103,), (text(path),))
    assert ask(call, Opnum.CREATE_OBJECT, made).result == 0
    format_name = parse_format_name(rf"DIRECT=OS:farm\private$\{name}")
    queue, opened = QueueFormatArgument.of(format_name), []
    for access in (1, 2):
        place = stubs.NamePlace(None)
        asked = stubs.OpenInternal(queue, access, 0, 0, place, 0, NULL_HANDLE, "CLIENT", 0, 0)
        opened.append(ask(call, Opnum.OPEN_QUEUE, asked, stubs.OpenedQueue))
    body = b"hello farm"
    buffer = send_buffer(body=body, body_size=10, body_allocated=10)
    sent = stubs.SendMessage(opened[1].handle, buffer, NO_ID)
    assert ask(messages, MessageOpnum.SEND, sent, stubs.SentBuffer).result == 0
    old = stubs.SendInternal(queue, buffer, NO_ID)
    found = ask(messages, MessageOpnum.SEND_INTERNAL, old, stubs.SentBuffer)
    assert found.result == 0xC00E0064
    cursor = stubs.CreateCursor(opened[0].handle, 0, 0, 0)
    assert ask(messages, MessageOpnum.CREATE_CURSOR, cursor, stubs.CursorNumbers).result == 0
    reading = stubs.ReceiveMessage(opened[0].context, receive_buffer({}, **wanted()))
    found = ask(messages, MessageOpnum.RECEIVE, reading, stubs.ReceivedBuffer)
    assert (found.result, found.buffer.body[: found.buffer.body_needed]) == (0, body)
    again = ask(messages, MessageOpnum.RECEIVE, reading, stubs.ReceivedBuffer)
    assert again.result == 0xC00E001B


def join_associations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a connection of impacket join the association of the one before."""
    groups = [0]
    ack, bind = rpcrt.MSRPCBindAck, rpcrt.MSRPCBind

    def acknowledged(*given: Any) -> Any:
        found = ack(*given)
        groups.append(found["assoc_group"])
        return found

    def bound() -> Any:
        made = bind()
        made["assoc_group"] = groups[-1]
        return made

    monkeypatch.setattr(rpcrt, "MSRPCBindAck", acknowledged)
    monkeypatch.setattr(rpcrt, "MSRPCBind", bound)


def test_impacket_calls_every_operation_of_qmcomm(farm: ManagerProcess) -> None:
    """MQMP-014, MQMP-038: create, see, change, open, begin, commit, purge, close and delete."""
    client, call = connect(farm)
    every_operation(farm, call)
    client.disconnect()


def test_samba_calls_every_operation_of_both_interfaces(farm: ManagerProcess) -> None:
    """MQMP-014, MQMP-038: with handles that cross two interfaces of one connection."""
    with samba_client(farm.ready["rpc"][1], "privacy") as samba:
        every_operation(farm, samba.call(QMCOMM))
        send_and_receive(samba.call(QMCOMM), samba.call(QMCOMM2))


def test_impacket_sends_and_receives_with_handles_of_both_interfaces(
    farm: ManagerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMP-061: qmcomm opens, and qmcomm2 is bound on a connection that joins the first."""
    join_associations(monkeypatch)
    client, call = connect(farm)
    second, messages = connect(farm, QMCOMM2)
    send_and_receive(call, messages)
    second.disconnect()
    client.disconnect()


def test_impacket_is_refused_with_wrong_arguments_and_served_again(farm: ManagerProcess) -> None:
    """Cut, empty and over-long arguments of every operation: a fault or a failure."""
    for interface, opnums in ((QMCOMM, tuple(Opnum)), (QMCOMM2, tuple(MessageOpnum))):
        client, call = connect(farm, interface)
        for opnum in opnums:
            for stub in (b"", b"\xff" * 7, b"\xff" * 400):
                try:
                    answer = call(int(opnum), stub)
                except rpcrt.DCERPCException:
                    continue
                is_any = opnum is Opnum.ENLIST_INTERNAL  # for which 16 bytes are an identifier
                assert is_any or int.from_bytes(answer[-4:], "little") & 0x80000000, opnum
        client.disconnect()
    client, call = connect(farm)
    assert ask(call, Opnum.QUERY_REGISTRY, OneNumber(4), stubs.RegistryResult).result == 0
    client.disconnect()


def test_impacket_learns_that_a_connection_has_one_login(farm: ManagerProcess) -> None:
    """Its alter_ctx logs on a second time without having asked ([MS-RPCE] 3.3.1.5.4): refused, and
    the first login goes on. Handles are shared by a second connection of the association.
    """
    client, call = connect(farm)
    bound = impacket_uuid.uuidtup_to_bin((str(QMCOMM2.uuid), "1.0"))
    with pytest.raises(rpcrt.DCERPCException, match="access_denied"):
        client.alter_ctx(bound)
    assert ask(call, Opnum.QUERY_REGISTRY, OneNumber(4), stubs.RegistryResult).result == 0
    client.disconnect()


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
def test_tshark_understands_every_pdu(
    farm: ManagerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sealed calls of both interfaces, with the password."""
    join_associations(monkeypatch)
    clients, relays = [], []
    for interface in (QMCOMM, QMCOMM2):
        folder = tmp_path / str(interface.uuid)
        folder.mkdir()
        relays.append(RecordingRelay(folder, farm.ready["rpc"][1]))
        clients.append(impacket_client(relays[-1].port, "privacy", interface))
    every_operation(farm, impacket_call(clients[0]))
    send_and_receive(*map(impacket_call, clients))
    for client in clients:
        client.disconnect()
    assert relays[0].opnums() == {31, *Opnum}
    assert relays[1].opnums() == set(MessageOpnum)
    for relay in relays:
        whole = f"dcerpc.pkt_type == 0 && !{SHORT_SEALED}"
        shown = relay.tshark("-V", "-Y", whole)
        assert shown.count("Decrypted stub data") >= len(relay.tshark("-Y", whole).splitlines()) > 0


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
def test_tshark_finds_no_fault_with_calls_of_samba(farm: ManagerProcess, tmp_path: Path) -> None:
    """Every operation again, padded to 16 bytes: short ones, too."""
    relay = RecordingRelay(tmp_path, farm.ready["rpc"][1])
    with samba_client(relay.port, "privacy") as samba:
        every_operation(farm, samba.call(QMCOMM))
        send_and_receive(samba.call(QMCOMM), samba.call(QMCOMM2))
    assert relay.opnums() >= {31, *Opnum, *MessageOpnum}
    assert relay.tshark("-Y", FAULTS) == ""


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
def test_tshark_finds_fault_with_nothing_but_short_sealed_requests(
    farm: ManagerProcess, tmp_path: Path
) -> None:
    """The same operation with 0 to 20 bytes: what impacket has sealed is marked by its size alone,
    and without the password not at all; the server has opened and checked each of them.
    """
    relay = RecordingRelay(tmp_path, farm.ready["rpc"][1])
    client = impacket_client(relay.port, "privacy", QM2QM)
    call = impacket_call(client)
    for size in range(21):
        if size < len(OneNumber(0).encode()):
            with pytest.raises(rpcrt.DCERPCException, match="bad_stub_data"):
                call(7, bytes(size))
        else:  # what is behind the arguments means nothing
            assert OneNumber.decode(call(7, bytes(size))).number == farm.ready["rpc"][1]
    client.disconnect()
    assert relay.opnums() == {7}
    assert len(relay.tshark("-Y", SHORT_SEALED).splitlines()) == 13
    assert relay.tshark("-Y", FAULTS, password="") == ""


def test_both_protocols_of_dependent_clients_are_there(farm: ManagerProcess) -> None:
    """SYS-003, SYS-012, SYS-015, SYS-016: supporting server, and older remote read."""
    client, call = connect(farm)
    assert ask(call, Opnum.QUERY_REGISTRY, OneNumber(4), stubs.RegistryResult).result == 0
    client.disconnect()
    client, call = connect(farm, QM2QM)
    assert VersionResult.decode(call(8, b"")).major == 6
    client.disconnect()


def test_worked_requests_are_answered(farm: ManagerProcess) -> None:
    """MQMP-517: those of the vectors, sent by impacket as they stand."""
    client, call = connect(farm)
    answered = 0
    for found in json.loads(VECTORS.read_text())["vectors"].values():
        if found["method"] not in OPNUMS or found["direction"] != "request":
            continue
        try:
            stub = call(OPNUMS[found["method"]], bytes.fromhex(found["stub"]))
        except rpcrt.DCERPCException as error:
            if found["method"] != "R_QMGetRemoteQueueName":
                raise AssertionError(found["method"]) from error
        else:
            kind = STUBS.get((found["method"], "response"), stubs.Status)
            kind.decode(stub)
        answered += 1
    assert answered >= 12
    client.disconnect()
