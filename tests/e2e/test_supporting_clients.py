"""impacket calls every operation of a supporting server, with wrong arguments, too."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

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
from openmsmq.interfaces.remote_read.stubs import NoArguments
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2, MessageOpnum, Opnum
from openmsmq.interfaces.variants import NULL
from openmsmq.names.format import parse_format_name
from openmsmq.properties.propid import Q
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from tests.e2e.managers import ManagerProcess
from tests.e2e.test_remote_read_clients import (
    PASSWORD,
    TSHARK,
    USER,
    Call,
    RecordingRelay,
    impacket_call,
    impacket_client,
    impacket_uuid,
    rpcrt,
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


def connect(farm: ManagerProcess, interface: Any = QMCOMM) -> tuple[Any, Any]:
    """A connection of impacket."""
    bound = impacket_uuid.uuidtup_to_bin((str(interface.uuid), "1.0"))
    client = impacket_client(farm.ready["rpc"][1], "privacy", bound, USER)
    return client, impacket_call(client)


def ask(call: Call, opnum: int, arguments: Structure, kind: Any = stubs.Status) -> Any:
    """A call, and its results."""
    return kind.decode(call(int(opnum), arguments.encode()))


def test_impacket_calls_every_operation_of_qmcomm(farm: ManagerProcess) -> None:
    """MQMP-014, MQMP-038: create, see, change, open, begin, commit, purge, close and delete."""
    client, call = connect(farm)
    assert ask(call, 31, OneNumber(0), OneNumber).number == farm.ready["rpc"][1]
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
    client.disconnect()


def test_impacket_sends_and_receives_with_handles_of_both_interfaces(
    farm: ManagerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMP-061: qmcomm opens, and qmcomm2 is bound on a connection that joins the first."""
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
    client, call = connect(farm)
    made = stubs.CreateObject(
        1, ".\\private$\\letters", 0, None, 1, (103,), (text(".\\private$\\letters"),)
    )
    assert ask(call, Opnum.CREATE_OBJECT, made).result == 0
    name = QueueFormatArgument.of(parse_format_name(r"DIRECT=OS:farm\private$\letters"))
    opened = []
    for access in (1, 2):
        place = stubs.NamePlace(None)
        asked = stubs.OpenInternal(name, access, 0, 0, place, 0, NULL_HANDLE, "CLIENT", 0, 0)
        opened.append(ask(call, Opnum.OPEN_QUEUE, asked, stubs.OpenedQueue))
    second, messages = connect(farm, QMCOMM2)
    body = b"hello farm"
    buffer = send_buffer(body=body, body_size=10, body_allocated=10)
    sent = stubs.SendMessage(opened[1].handle, buffer, NO_ID)
    assert ask(messages, MessageOpnum.SEND, sent, stubs.SentBuffer).result == 0
    cursor = stubs.CreateCursor(opened[0].handle, 0, 0, 0)
    assert ask(messages, MessageOpnum.CREATE_CURSOR, cursor, stubs.CursorNumbers).result == 0
    reading = stubs.ReceiveMessage(opened[0].context, receive_buffer({}, **wanted()))
    found = ask(messages, MessageOpnum.RECEIVE, reading, stubs.ReceivedBuffer)
    assert (found.result, found.buffer.body[: found.buffer.body_needed]) == (0, body)
    again = ask(messages, MessageOpnum.RECEIVE, reading, stubs.ReceivedBuffer)
    assert again.result == 0xC00E001B
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
def test_tshark_understands_every_pdu(farm: ManagerProcess, tmp_path: Path) -> None:
    """Sealed calls of qmcomm, qmcomm2 and qm2qm, whose seals stay closed."""
    calls = {
        QMCOMM: (int(Opnum.GET_OBJECT_SECURITY), stubs.GetSecurity(target(QUOTES), 5, 0)),
        QMCOMM2: (int(MessageOpnum.CREATE_CURSOR), stubs.CreateCursor(NULL_HANDLE, 0, 0, 0)),
        QM2QM: (8, NoArguments()),
    }
    for number, (interface, (opnum, arguments)) in enumerate(calls.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        relay = RecordingRelay(folder, farm.ready["rpc"][1])
        bound = impacket_uuid.uuidtup_to_bin((str(interface.uuid), "1.0"))
        client = impacket_client(relay.port, "privacy", bound, USER)
        with suppress(rpcrt.DCERPCException):  # a handle that is none gets a fault
            impacket_call(client)(opnum, arguments.encode())
        client.disconnect()
        relay.join(60)
        [file] = folder.glob("*.pcap")
        options = ("-d", f"tcp.port=={relay.port},dcerpc")
        shown = (*("-T", "fields"), "-e", "dcerpc.opnum", "-e", "_ws.malformed")
        command = [str(TSHARK), "-n", "-r", str(file), *options, "-Y", "dcerpc", *shown]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert str(opnum) in done.stdout.split(), interface
        assert "alformed" not in done.stdout


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
