"""Clients of others for remote calls, impacket's and Samba's, and a relay that records them."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openmsmq.capture.recorder import Recorder
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ
from openmsmq.rpc.syntax import SyntaxId

transport = pytest.importorskip("impacket.dcerpc.v5.transport")
rpcrt = pytest.importorskip("impacket.dcerpc.v5.rpcrt")
impacket_uuid = pytest.importorskip("impacket.uuid")

SYSTEM_PYTHON = "/usr/bin/python3"
TSHARK = shutil.which("tshark")
USER, PASSWORD = "alice", "secret"
LEVELS = {"none": 1, "connect": 2, "integrity": 5, "privacy": 6}
SAMBA = {"none": "", "connect": "connect", "integrity": "sign", "privacy": "seal"}
FAULTS = "(_ws.malformed || dcerpc.fragment.error)"
SHORT_SEALED = "(dcerpc.pkt_type == 0 && dcerpc.auth_level == 6 && dcerpc.cn_frag_len < 64)"
"""Sealed requests with less than 16 bytes of arguments and padding, beside 24 bytes of header, 8 of
verifier and 16 of signature: tshark 4.0 calls them all malformed when it can decrypt them.

impacket pads to 4 bytes and writes them, Samba's client and ours pad to 16 and do not.
"""
Call = Callable[[int, bytes], bytes]
"Makes a call with some arguments; their results."


def impacket_client(
    port: int, level: str, interface: SyntaxId = REMOTE_READ, user: str = USER
) -> Any:
    """A client of impacket that is bound to an interface."""
    way = transport.DCERPCTransportFactory(f"ncacn_ip_tcp:127.0.0.1[{port}]")
    if level != "none":
        way.set_credentials(user, PASSWORD, "WORKGROUP")
    client = way.get_dce_rpc()
    if level != "none":
        client.set_auth_type(rpcrt.RPC_C_AUTHN_WINNT)
        client.set_auth_level(LEVELS[level])
    client.connect()
    client.bind(impacket_uuid.uuidtup_to_bin((str(interface.uuid), "1.0")))
    return client


def impacket_call(client: Any) -> Call:
    """Calls of impacket on one connection."""

    def call(opnum: int, stub: bytes) -> bytes:
        client.call(opnum, stub)
        answer: bytes = client.recv()
        return answer

    return call


class SambaClient:
    """Samba's Python bindings, which Debian's own Python runs: all interfaces on one connection."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.offered = self._line().split()

    def call(self, interface: SyntaxId) -> Call:
        """Calls of one interface."""

        def call(opnum: int, stub: bytes) -> bytes:
            stdin = self._process.stdin
            assert stdin
            stdin.write(f"{interface.uuid} {opnum} {stub.hex()}\n")
            stdin.flush()
            answer = self._line()
            if answer.startswith("!"):
                raise rpcrt.DCERPCException(answer)
            return bytes.fromhex(answer)

        return call

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()


@contextmanager
def samba_client(port: int, level: str) -> Iterator[SambaClient]:
    """It, logged on unless the level is none; the test is skipped where it is not installed."""
    if not Path(SYSTEM_PYTHON).exists():
        pytest.skip(f"no {SYSTEM_PYTHON}, which would have Samba's Python bindings")
    asked = subprocess.run([SYSTEM_PYTHON, "-c", "import samba.dcerpc.mgmt"], capture_output=True)
    if asked.returncode:
        pytest.skip("Samba's Python bindings are not installed: apt-get install python3-samba")
    script = Path(__file__).with_name("samba_caller.py")
    login = [] if level == "none" else [USER, PASSWORD]
    command = [SYSTEM_PYTHON, str(script), str(port), SAMBA[level], *login]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield SambaClient(process)
        assert process.stdin
        process.stdin.close()
        assert process.wait(20) == 0


class RecordingRelay(threading.Thread):
    """Carries one connection to a port, and records it."""

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._target = port
        self._folder = folder
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

    def tshark(self, *options: str, password: str = PASSWORD) -> str:
        """What tshark says of the recording, whose seals it opens with the password."""
        self.join(60)
        assert TSHARK is not None
        [file] = self._folder.glob("*.pcap")
        ports = ("-d", f"tcp.port=={self.port},dcerpc", "-o", f"ntlmssp.nt_password:{password}")
        command = [TSHARK, "-n", "-r", str(file), *ports, *options]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def opnums(self) -> set[int]:
        """The operations that tshark has seen in a recording that it finds no fault with."""
        assert self.tshark("-Y", f"{FAULTS} && !{SHORT_SEALED}") == ""
        requests = ("-Y", "dcerpc.pkt_type == 0", "-T", "fields", "-e", "dcerpc.opnum")
        return {int(opnum) for opnum in self.tshark(*requests).split()}
