"""Business to business across a firewall ([MS-MQSO] 6.1.6), as docs/http.md shows it.

An employee's desktop orders at a supplier over HTTPS; acknowledgements and answers go to a server
of the manufacturer, where the desktop reads them over remote calls. A proxy stands before the
supplier and drops, delays, truncates and repeats requests.
"""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

import openmsmq
from openmsmq import Acknowledge, Manager, Message, ReceiveTimeout
from openmsmq.properties.message import INFINITE, MessageClass, SignatureType
from tests.certificates import make_certificates
from tests.e2e.fault_proxy import FaultProxy, Gate
from tests.e2e.managers import PATIENCE, ManagerProcess, free_port, running, until

pytestmark = pytest.mark.slow
ALL = Acknowledge.POS_ARRIVAL | Acknowledge.POS_RECEIVE | Acknowledge.NEG_RECEIVE
RECEIVED = (MessageClass.ACK_REACH_QUEUE, MessageClass.ACK_RECEIVE)
ORDERS = 12
PASSWORD = "correct horse"


class Trade:
    """Three computers, the proxy before the supplier, and what connects them."""

    def __init__(self, folder: Path) -> None:
        make_certificates(folder)
        sign = "openssl req -x509 -newkey rsa:2048 -noenc -subj /CN=employee"
        command = [*sign.split(), "-keyout", "employee.key", "-out", "employee.pem"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        self._folder = folder
        ports = free_port(), free_port(), free_port(), free_port()
        self.gate_port = ports[3]
        gate_url = f"https://localhost:{self.gate_port}"
        senders = folder / "senders.toml"
        signing = ["--srmp-signing-key", str(folder / "employee.key")]
        self.desk = self._manager("desk", ports[0], ports[0], *signing)
        self.supplier = self._manager(
            "supplier", ports[1], self.gate_port, "--config", str(senders)
        )
        self.office = self._manager("office", ports[2], ports[2], "--rpc-port", "0")
        self.orders = f"DIRECT={gate_url}/msmq/private$/order"
        self.acks, self.answers = (
            f"DIRECT=https://localhost:{ports[2]}/msmq/private$/{name}"
            for name in ("acknowledgments", "response")
        )
        shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        shown.load_cert_chain(folder / "server.pem", folder / "server.key")
        trusted = ssl.create_default_context(cafile=folder / "ca.pem")
        self.proxy = FaultProxy(6, fault_rate=0.3, gate=Gate("localhost", ports[1], shown, trusted))
        self.proxy.port = self.gate_port
        self._senders = senders

    def _manager(self, name: str, port: int, reached_at: int, *options: str) -> ManagerProcess:
        """A manager that takes HTTPS at a port, and is reached at this or another one."""
        folder = self._folder
        tls = ["--tls-cert", str(folder / "server.pem"), "--tls-key", str(folder / "server.key")]
        trust = ["--srmp-ca", str(folder / "ca.pem")]
        place = ["--srmp-port", str(port), "--srmp-url", f"https://localhost:{reached_at}"]
        return ManagerProcess(folder, name, options=[*tls, *trust, *place, *options])

    def start(self) -> None:
        """Start all, the supplier last: it checks signatures with the employee's certificate."""
        self.desk.start()
        self.office.start()
        certificate = self._folder / "employee.pem"
        self._senders.write_text(f'[srmp.senders]\n"{self.desk.id}" = "{certificate}"\n')
        self.supplier.start()
        data = self.office.folder / "data"
        add = ["user", "add", "desk", "--role", "read", "--data", str(data), "--password-stdin"]
        command = [sys.executable, "-m", "openmsmq", *add]
        subprocess.run(command, input=PASSWORD.encode(), check=True, capture_output=True)
        self.proxy.start()

    def remote(self) -> Manager:
        """The office as the desktop reads it, over remote calls."""
        host, port = self.office.ready["rpc"]
        return openmsmq.connect_remote(
            host, port=port, user="desk", password=PASSWORD, computer="office"
        )


@pytest.fixture
def trade(tmp_path: Path) -> Iterator[Trade]:
    found = Trade(tmp_path)
    with running():
        try:
            found.start()
            yield found
        finally:
            for manager in (found.desk, found.supplier, found.office):
                manager.kill()
            found.proxy.stop()


def order(trade: Trade, desk: Manager, number: str, seconds: int = INFINITE) -> str:
    """Order something; the identifier of the message."""
    message = Message(
        f'<order number="{number}"/>',
        label=number,
        recoverable=True,
        admin_queue=trade.acks,
        response_queue=trade.answers,
        acknowledge=ALL,
        dead_letter=True,
        time_to_be_received=seconds,
    )
    return desk.open_queue(trade.orders).send(message)


def process(trade: Trade, supplier: Manager, known: dict[str, int]) -> str:
    """What the supplier's program does: check who signed, process an order once, answer."""
    found = supplier.open_queue("order").receive(timeout=PATIENCE)
    assert found.signature_type == SignatureType.XML
    known[found.label] = known.get(found.label, 0) + 1
    if known[found.label] == 1:
        answer = Message(f"confirmed {found.label}", correlation_id=found.identifier)
        supplier.open_queue(str(found.response_queue)).send(answer)
    return found.id


def correlation(identifier: str) -> bytes:
    manager, _, number = identifier.partition("\\")
    return UUID(manager).bytes_le + int(number).to_bytes(4, "little")


def test_orders_cross_the_firewall_and_answers_are_read_at_a_third_computer(trade: Trade) -> None:
    """SYS-013, SYS-073, SYS-102, SRMP-318: HTTPS only; resent on a negative acknowledgement."""
    with (
        trade.desk.connect() as desk,
        trade.supplier.connect() as supplier,
        trade.office.connect() as office,
    ):
        supplier.create_queue("order")
        for name in ("acknowledgments", "response"):
            office.create_queue(name)
        sent = [order(trade, desk, str(number)) for number in range(ORDERS)]
        known: dict[str, int] = {}
        received = [process(trade, supplier, known) for _ in sent]
        assert sorted(received) == sorted(sent)
        with pytest.raises(ReceiveTimeout):
            supplier.open_queue("order").receive(timeout=0.5)
        late = order(trade, desk, "late", 1)
        until(lambda: supplier.open_queue("order").info().messages == 0 and is_over(desk))
        with trade.remote() as remote:
            acks = remote.open_queue("acknowledgments")
            missing = {(correlation(one), kind) for one in sent for kind in RECEIVED}
            missing.add((correlation(late), MessageClass.NACK_RECEIVE_TIMEOUT))
            while missing:
                ack = acks.receive(timeout=PATIENCE)
                missing.discard((ack.correlation_id, ack.message_class))
            again = order(trade, desk, "late")
            assert process(trade, supplier, known) == again
            answers = {
                remote.open_queue("response").receive(timeout=PATIENCE).text
                for _ in range(ORDERS + 1)
            }
        assert answers == {f"confirmed {label}" for label in known}
        assert set(known.values()) == {1}
        until(lambda: is_over(desk))
    assert trade.proxy.faults.total() > trade.proxy.faults["none"] > 0


def is_over(desk: Manager) -> bool:
    """Whether nothing waits to be sent."""
    return not any(one.messages for one in desk.outgoing())
