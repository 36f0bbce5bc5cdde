"""Other implementations call every operation of a real service: impacket, and Samba's client.

What goes over the wire is recorded on its way, and read by tshark.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

import openmsmq
from openmsmq.access.users import ANONYMOUS, Users
from openmsmq.capture.recorder import Recorder
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

pytestmark = pytest.mark.slow

transport = pytest.importorskip("impacket.dcerpc.v5.transport")
rpcrt = pytest.importorskip("impacket.dcerpc.v5.rpcrt")
impacket_uuid = pytest.importorskip("impacket.uuid")
mgmt = pytest.importorskip("impacket.dcerpc.v5.mgmt")

SYSTEM_PYTHON = "/usr/bin/python3"
OFFERED = (REMOTE_READ, COORDINATOR, QMMGMT, QM2QM, QMCOMM, QMCOMM2, MANAGEMENT)
"The interfaces of the service, in their order."
TSHARK = shutil.which("tshark")
USER, PASSWORD = "alice", "secret"
LEVELS = {"none": 1, "connect": 2, "integrity": 5, "privacy": 6}
SAMBA = {"none": "", "connect": "connect", "integrity": "sign", "privacy": "seal"}
CLIENT = UUID(int=7)
Call = Callable[[int, bytes], bytes]
"Makes a call with some arguments; their results."


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


def impacket_client(port: int, level: str, interface: bytes | None = None, user: str = USER) -> Any:
    """A client of impacket that is bound to RemoteRead, or another interface."""
    way = transport.DCERPCTransportFactory(f"ncacn_ip_tcp:127.0.0.1[{port}]")
    if level != "none":
        way.set_credentials(user, PASSWORD, "WORKGROUP")
    client = way.get_dce_rpc()
    if level != "none":
        client.set_auth_type(rpcrt.RPC_C_AUTHN_WINNT)
        client.set_auth_level(LEVELS[level])
    client.connect()
    remote_read = impacket_uuid.uuidtup_to_bin((str(REMOTE_READ.uuid), "1.0"))
    client.bind(interface or remote_read)
    return client


def impacket_call(client: Any) -> Call:
    def call(opnum: int, stub: bytes) -> bytes:
        client.call(opnum, stub)
        answer: bytes = client.recv()
        return answer

    return call


@pytest.mark.parametrize("level", LEVELS)
def test_impacket_calls_every_operation(shop: ManagerProcess, level: str) -> None:
    client = impacket_client(shop.ready["rpc"][1], level)
    assert every_operation(shop, impacket_call(client)) == set(ReadOpnum)
    client.disconnect()


@pytest.fixture(scope="module")
def _samba() -> None:
    """Samba's client, which Debian's own Python has."""
    if not Path(SYSTEM_PYTHON).exists():
        pytest.skip(f"no {SYSTEM_PYTHON}, which would have Samba's Python bindings")
    asked = subprocess.run([SYSTEM_PYTHON, "-c", "import samba.dcerpc.mgmt"], capture_output=True)
    if asked.returncode:
        pytest.skip("Samba's Python bindings are not installed: apt-get install python3-samba")


@pytest.mark.usefixtures("_samba")
@pytest.mark.parametrize("level", LEVELS)
def test_samba_calls_every_operation(shop: ManagerProcess, level: str) -> None:
    script = Path(__file__).with_name("samba_caller.py")
    login = [] if level == "none" else [USER, PASSWORD]
    place = [str(shop.ready["rpc"][1]), SAMBA[level], str(REMOTE_READ.uuid), *login]
    process = subprocess.Popen(
        [SYSTEM_PYTHON, str(script), *place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    with process:
        known = process.stdout.readline().split()
        assert known == [str(one.uuid) for one in OFFERED]

        def call(opnum: int, stub: bytes) -> bytes:
            assert process.stdin
            assert process.stdout
            process.stdin.write(f"{opnum} {stub.hex()}\n")
            process.stdin.flush()
            return bytes.fromhex(process.stdout.readline())

        called = every_operation(shop, call)
        process.stdin.close()
        assert process.wait(20) == 0
    assert called == set(ReadOpnum)


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
    client = impacket_client(shop.ready["rpc"][1], "none", mgmt.MSRPC_UUID_MGMT)
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


class RecordingRelay(threading.Thread):
    """Carries one connection to a port, and records it."""

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._target = port
        self._recorder = Recorder(folder)
        self.start()

    def run(self) -> None:
        """Until both sides have closed."""
        near, place = self._listener.accept()
        far = socket.create_connection(("127.0.0.1", self._target))
        session = self._recorder.session(("127.0.0.1", self.port), place, time.time())
        lock = threading.Lock()

        def carry(source: socket.socket, target: socket.socket, note: Any) -> None:
            while data := source.recv(1 << 16):
                with lock:
                    note(data, time.time())
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

        back = threading.Thread(target=carry, args=(far, near, session.sent))
        back.start()
        carry(near, far, session.received)
        back.join()
        session.closed(time.time())
        for one in (near, far, self._listener):
            one.close()


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
@pytest.mark.parametrize("level", LEVELS)
def test_tshark_understands_every_pdu(shop: ManagerProcess, level: str, tmp_path: Path) -> None:
    """Sealed calls too, with the password."""
    relay = RecordingRelay(tmp_path, shop.ready["rpc"][1])
    client = impacket_client(relay.port, level)
    every_operation(shop, impacket_call(client))
    client.disconnect()
    relay.join(20)
    [file] = tmp_path.glob("*.pcap")

    def tshark(*options: str) -> str:
        assert TSHARK is not None
        ports = ("-d", f"tcp.port=={relay.port},dcerpc", "-o", f"ntlmssp.nt_password:{PASSWORD}")
        command = [TSHARK, "-n", "-r", str(file), *ports, *options]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    # tshark 4.0 finds fault with a sealed request without arguments, which impacket has written.
    is_empty = f"dcerpc.pkt_type == 0 && dcerpc.opnum == {ReadOpnum.GET_SERVER_PORT:d}"
    complaints = f"(_ws.malformed || dcerpc.fragment.error) && !({is_empty})"
    assert tshark("-Y", complaints) == ""
    requests = tshark("-Y", "dcerpc.pkt_type == 0", "-T", "fields", "-e", "dcerpc.opnum").split()
    assert {int(opnum) for opnum in requests} == set(ReadOpnum)
    assert not tshark("-Y", "dcerpc.pkt_type == 3"), "no call ended in a fault"
    if level == "privacy":
        shown = tshark("-V", "-Y", "dcerpc.pkt_type == 0")
        assert shown.count("Decrypted stub data") >= len(ReadOpnum)
