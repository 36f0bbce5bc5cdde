"""A service as it is run: real processes, signals, ports and certificates."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

import openmsmq
from openmsmq.access.tokens import Tokens
from openmsmq.app_protocol.calls import Closing, Hello, Welcome
from openmsmq.app_protocol.frames import FROM_SERVER, Frame, Framer, Kind, encode_frame
from openmsmq.errors import ReceiveTimeout, StoreInUse, TransactionTimedOut
from openmsmq.runtime.startup import open_directory
from openmsmq.transports.receipts import RECEIPTS
from tests.certificates import make_certificates

PATIENCE = 30.0


@dataclass
class Running:
    """A service in a process of its own; its logs are in a file."""

    folder: Path
    options: list[str]
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        arguments = ["serve", "--data", str(self.folder / "data"), "--log-format", "json"]
        ports = ["--app-port", "0", "--console-port", "0", "--binary-port", "0"]
        ports += ["--ready-file", str(self.ready_file)]
        environment = {k: v for k, v in os.environ.items() if k != "NOTIFY_SOCKET"}
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "openmsmq", *arguments, *ports, *self.options],
                stderr=log,
                cwd=self.folder,
                env=environment,
            )

    @property
    def ready_file(self) -> Path:
        return self.folder / "ready.json"

    def ready(self) -> dict[str, Any]:
        """What the ready file says, once it is there."""
        self.until(self.ready_file.exists)
        found: dict[str, Any] = json.loads(self.ready_file.read_text())
        return found

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for something that happens while the process runs."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.01)

    def ends(self) -> int:
        """The exit code."""
        return self.process.wait(PATIENCE)

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def events(self, event: str) -> list[dict[str, Any]]:
        """What was logged about such an event so far."""
        lines = [line for line in self.log().splitlines(keepends=True) if line[-1] == "\n"]
        found = [json.loads(line) for line in lines if line.startswith("{")]
        return [members for members in found if members["event"] == event]

    def metrics(self) -> str:
        """What Prometheus is given."""
        host, port = self.ready()["console"]
        with urlopen(f"http://{host}:{port}/metrics", timeout=PATIENCE) as answer:
            return str(answer.read().decode())

    def health(self) -> int:
        """What the console says, also before the manager is ready."""
        self.until(lambda: self.events("listening"))
        [address] = [e["address"] for e in self.events("listening") if e["listener"] == "console"]
        try:
            with urlopen(f"http://{address}/healthz", timeout=PATIENCE) as answer:
                return int(answer.status)
        except HTTPError as error:
            with error:
                return error.code


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Running]:
    """A service, which does not outlive the test."""
    service = Running(folder, list(options))
    try:
        yield service
    finally:
        service.process.kill()
        service.process.wait(PATIENCE)


@dataclass
class Program:
    """Someone who speaks the application protocol."""

    connection: socket.socket

    def __post_init__(self) -> None:
        self.connection.settimeout(PATIENCE)
        self._framer = Framer(FROM_SERVER)

    def frame(self) -> Frame | None:
        """The next frame; None at the end."""
        while True:
            if (found := self._framer.next_frame()) is not None:
                return found
            data = self.connection.recv(65536)
            if not data:
                return None
            self._framer.receive_data(data)

    def hello(self, token: str = "") -> Welcome | Closing | None:
        """How the greeting is answered; None if it is not."""
        self.connection.sendall(encode_frame(Kind.HELLO, 1, Hello("test", token=token).encode()))
        answer = self.frame()
        if answer is None:
            return None
        if answer.kind is Kind.WELCOME:
            return Welcome.decode(answer.payload)
        assert answer.kind is Kind.CLOSING
        return Closing.decode(answer.payload)


@contextmanager
def program(address: list[Any], tls: ssl.SSLContext | None = None) -> Iterator[Program]:
    """A connection."""
    host = "127.0.0.1" if address[0] == "0.0.0.0" else address[0]
    with socket.create_connection((host, address[1]), PATIENCE) as plain:
        if tls is None:
            yield Program(plain)
        else:
            with tls.wrap_socket(plain, server_hostname="shop01") as secure:
                yield Program(secure)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_from_the_start_to_the_end(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path, "--name", "shop01") as service:
        ready = service.ready()
        assert (ready["pid"], ready["name"]) == (service.process.pid, "shop01")
        assert {name for name, place in ready.items() if place is None} == {
            "binary_tls", "ping", "rpc", "rpc_alternate", "endpoint_mapper", "srmp", "multicast",
        }  # fmt: skip
        assert service.health() == 200
        with pytest.raises(StoreInUse):
            openmsmq.open(tmp_path / "data")
        with program(ready["app"]) as client:
            welcome = client.hello()
            assert isinstance(welcome, Welcome)
            assert (str(welcome.manager), welcome.name) == (ready["id"], "shop01")
            call = json.dumps({"call": "create_queue", "name": "orders"}).encode()
            client.connection.sendall(encode_frame(Kind.CALL, 2, call))
            answer = client.frame()
            assert answer is not None
            assert answer.kind is Kind.ANSWER
            service.process.send_signal(number)
            farewell = client.frame()
            assert farewell is not None
            assert farewell.kind is Kind.CLOSING, "programs are notified"
            assert client.frame() is None
        assert service.ends() == 0
        assert not service.ready_file.exists()
        assert [event["reason"] for event in service.events("stopping")] == [number.name]
        assert service.events("stopped")
        with pytest.raises(OSError, match="refused"), program(ready["app"]):
            pass
    with openmsmq.open(tmp_path / "data") as manager:
        assert [queue.name for queue in manager.queues()] == [r".\private$\orders"]


@pytest.mark.slow
def test_a_service_that_was_killed_starts_again(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        first = service.ready()
        service.process.kill()
        service.ends()
    assert service.ready_file.exists()
    with running(tmp_path) as again:
        again.until(lambda: again.events("ready"))
        second = again.ready()
        assert second["pid"] == again.process.pid
        assert second["id"] == first["id"]
        again.process.terminate()
        assert again.ends() == 0


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        service.ready()
        service.process.send_signal(signal.SIGSTOP)  # so that both signals wait together
        service.process.send_signal(signal.SIGINT)
        service.process.send_signal(signal.SIGTERM)
        service.process.send_signal(signal.SIGCONT)
        assert service.ends() in {128 + signal.SIGINT, 128 + signal.SIGTERM}
        assert not service.events("stopped")


@pytest.mark.slow
def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running(tmp_path, "--app-port", str(port)) as service:
            assert service.ends() == 1
    assert "openmsmq: CannotStart (0xC00E000B)" in service.log()
    assert f"cannot listen at 127.0.0.1:{port}: Address already in use. " in service.log()
    assert "Is another queue manager running?" in service.log()
    assert not service.ready_file.exists()


WITHOUT_PRIVILEGE = (
    *("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"),
    sys.executable,
)
"Root that may not open the files of others."


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can give up privileges"
)
@pytest.mark.parametrize("mode", [0o700, 0o755], ids=["unreadable", "read only"])
def test_a_directory_without_permission_ends_the_start(tmp_path: Path, mode: int) -> None:
    """To wait would not help, and a start under systemd would never fail."""
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(mode)
    os.chown(data, 12345, 12345)
    serve = ("-m", "openmsmq", "serve", "--data", str(data), "--app-port", "off")
    listeners = ("--app-socket", "off", "--binary-port", "off", "--console-port", "off")
    done = subprocess.run(
        [*WITHOUT_PRIVILEGE, *serve, *listeners, "--retry"],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 1, done.stderr
    assert "Permission denied" in done.stderr


@pytest.mark.slow
def test_a_store_in_use_ends_the_start_or_is_tried_again_if_asked(tmp_path: Path) -> None:
    other = open_directory(tmp_path / "data", receipts=RECEIPTS)
    with running(tmp_path) as service:
        assert service.ends() == 1
        assert "openmsmq: StoreInUse (0xC00E0009)" in service.log()
        [failure] = service.events("cannot start")
        assert failure["level"] == "error"
    with running(tmp_path, "--retry") as patient:
        patient.until(lambda: patient.events("cannot start yet"))
        [failure] = patient.events("cannot start yet")
        assert failure["retry_after"] == 120
        assert failure["error"].startswith("StoreInUse: ")
        assert patient.health() == 503
        patient.process.terminate()
        assert patient.ends() == 0
    other.store.close()


@pytest.mark.slow
def test_a_bad_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "openmsmq.toml").write_text("[app]\nprot = 1\n")
    with running(tmp_path) as service:
        assert service.ends() == 1
    assert "app.prot: no such key; did you mean port?" in service.log()


def test_sighup_reads_everything_again(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        service.ready()
        file = tmp_path / "data" / "openmsmq.toml"
        file.write_text('[manager]\nname = "other"\n[log]\nlevel = "debug"\n')
        service.process.send_signal(signal.SIGHUP)
        service.until(lambda: service.events("reloaded"))
        [event] = service.events("reloaded")
        assert (event["changed"], event["needs_restart"]) == ("log.level", "manager.name")
        file.write_text("nonsense")
        service.process.send_signal(signal.SIGHUP)
        service.until(lambda: service.events("not reloaded"))
        assert service.health() == 200


@pytest.mark.slow
def test_a_service_listens_on_a_unix_socket_too(tmp_path: Path) -> None:
    path = tmp_path / "app.sock"
    with running(tmp_path, "--app-port", "off", "--app-socket", str(path)) as service:
        assert service.ready()["app"] == str(path)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            assert isinstance(Program(connection).hello(), Welcome)
        service.process.terminate()
        assert service.ends() == 0
    assert not path.exists()


@pytest.mark.slow
def test_other_computers_come_in_with_tls_and_a_token(tmp_path: Path) -> None:
    with running(tmp_path, "--bind", "0.0.0.0", "--console-port", "off") as careless:
        assert careless.ends() == 1
        assert "other computers can reach it" in careless.log()
    make_certificates(tmp_path)
    token = openmsmq_token(tmp_path)
    secure = ["--bind", "0.0.0.0", "--tls-cert", "server.pem", "--tls-key", "server.key"]
    trust = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    with running(tmp_path, *secure, "--ping-port", "0") as service:
        places = service.ready()
        address = places["app"]
        assert address[0] == "0.0.0.0"
        for unprotected in ("binary", "ping"):
            assert places[unprotected][0] == "127.0.0.1", "no login protects it"
        with program(address, trust) as client:
            welcome = client.hello(token)
            assert isinstance(welcome, Welcome)
            assert welcome.role == "send"
        for wrong in ("", token[:-1]):
            with program(address, trust) as stranger:
                assert isinstance(stranger.hello(wrong), Closing)
        blind = ssl.create_default_context()
        with pytest.raises(ssl.SSLCertVerificationError), program(address, blind):
            pass


def roles(answer: Welcome | Closing | None) -> str:
    """What a program may do that was let in."""
    assert isinstance(answer, Welcome)
    return answer.role


@pytest.mark.slow
def test_other_computers_come_in_with_a_certificate(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    secure = [
        "--bind", "0.0.0.0", "--tls-cert", "server.pem", "--tls-key", "server.key",
        "--tls-client-ca", "ca.pem",
    ]  # fmt: skip
    trust = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    token = openmsmq_token(tmp_path)
    file = tmp_path / "data" / "openmsmq.toml"
    with running(tmp_path, *secure) as service:
        address = service.ready()["app"]
        answer: Welcome | Closing | None = None
        with suppress(OSError), program(address, trust) as stranger:
            answer = stranger.hello()
        assert answer is None
        trust.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")
        with program(address, trust) as client:
            refused = client.hello()
        assert isinstance(refused, Closing), "a certificate alone gives no rights"
        assert refused.error == "TokenRefused"
        with program(address, trust) as client:
            assert roles(client.hello(token)) == "send"
        file.write_text('[tls]\nclients = { "CN=web shop" = ["read"] }\n')
        service.process.send_signal(signal.SIGHUP)
        service.until(lambda: service.events("reloaded"))
        with program(address, trust) as client:
            assert roles(client.hello()) == "read"
            file.unlink()
            service.process.send_signal(signal.SIGHUP)
            last = client.frame()
            assert last is not None
            assert Closing.decode(last.payload).error == "TokenRefused"


def test_a_revoked_token_ends_its_connections(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        address = service.ready()["app"]
        token = openmsmq_token(tmp_path)
        with program(address) as client, program(address) as other:
            assert isinstance(client.hello(token), Welcome)
            assert isinstance(other.hello(openmsmq_token(tmp_path)), Welcome)
            begun = time.monotonic()
            Tokens.load(tmp_path / "data").revoke(token.split("_")[1])
            last = client.frame()
            assert last is not None
            assert Closing.decode(last.payload).reason == "the token was revoked"
            assert client.frame() is None
            assert time.monotonic() - begun < 5
            other.connection.sendall(encode_frame(Kind.PING, 2, b"still there"))
            assert other.frame() == (Kind.PONG, 2, b"still there")
        assert 'openmsmq_rejected_total{reason="token revoked"} 1\n' in service.metrics()
        [event] = service.events("token revoked")
        assert event["token"] == token.split("_")[1]


@pytest.mark.slow
def test_transactions_that_no_one_ends_are_aborted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "openmsmq.toml"
    file.write_text("[app]\nidle_transaction_limit = 2\n")
    with running(tmp_path) as service:
        host, port = service.ready()["app"]
        with openmsmq.connect(f"{host}:{port}") as manager:
            queue = manager.create_queue("orders", transactional=True)
            with manager.transaction("later") as transaction:
                queue.send("promised", transaction=transaction)
                transaction.prepare()
            transaction = manager.transaction()
            queue.send("forgotten", transaction=transaction)
            with pytest.raises(ReceiveTimeout):  # to wait is not to forget
                queue.receive(timeout=4, transaction=transaction)
            assert not service.events("transaction aborted")
            service.until(lambda: service.events("transaction aborted"))
            with pytest.raises(TransactionTimedOut):
                queue.send("too late", transaction=transaction)
            transaction.abort()
            assert manager.prepared() == ["later"]
        service.process.terminate()
        assert service.ends() == 0
    file.write_text("[app]\nabandon_prepared_after = 1\n")
    with running(tmp_path) as service:
        service.ready()
        service.until(lambda: service.events("transaction aborted"))
        [event] = service.events("transaction aborted")
        assert (event["reason"], event["name"]) == ("abandoned", "later")
        assert event["seconds"] >= 4
        counted = 'openmsmq_transactions_aborted_total{reason="abandoned"} 1\n'
        assert counted in service.metrics()


def openmsmq_token(folder: Path) -> str:
    """A new token, for sending."""
    command = ["token", "create", "--role", "send", "--data", str(folder / "data")]
    done = subprocess.run(
        [sys.executable, "-m", "openmsmq", *command], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
