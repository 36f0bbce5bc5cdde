"""Messages over HTTP between managers in processes of their own, and from curl."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest

from openmsmq import Acknowledge, Manager, Message, ReceiveTimeout
from openmsmq.properties.message import MessageClass, SignatureType
from tests.e2e.managers import PATIENCE, ManagerProcess, free_port, running, until
from tests.soap import envelope, msmq

pytestmark = pytest.mark.slow

BOTH = Acknowledge.POS_ARRIVAL | Acknowledge.POS_RECEIVE


@dataclass
class HttpPair:
    """Two managers with HTTP ports, and a program at each."""

    near: ManagerProcess
    far: ManagerProcess
    a: Manager
    b: Manager

    def url(self, queue: str, process: ManagerProcess | None = None) -> str:
        host, port = (process or self.far).ready["srmp"]
        return f"http://{host}:{port}/msmq/private$/{queue}"

    def state(self, url: str) -> tuple[str, str]:
        """State and last error of the outgoing queue to an address."""
        infos = self.a.outgoing()
        [info] = [info for info in infos if info.name.lower() == f"direct={url}".lower()]
        return info.state, info.last_error


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpPair]:
    folder = tmp_path_factory.mktemp("http")
    near, far = (
        ManagerProcess(folder, name, options=["--srmp-port", str(free_port())])
        for name in ("a", "b")
    )
    with running(near, far), near.connect() as a, far.connect() as b:
        for manager in (a, b):
            manager.create_queue("plain")
            manager.create_queue("ordered", transactional=True)
            manager.create_queue("reports")
        yield HttpPair(near, far, a, b)


@pytest.mark.parametrize("recoverable", [True, False])
def test_a_message_arrives_over_http_with_all_it_says(pair: HttpPair, recoverable: bool) -> None:
    """SRMP-001 to SRMP-003, SRMP-155 to SRMP-159, SRMP-142 to SRMP-148, SRMP-193."""
    queue = pair.a.open_queue(f"DIRECT={pair.url('plain')}")
    answers = f"DIRECT={pair.url('reports', pair.near)}"
    identifier = queue.send(
        Message(
            b"<order/>",
            label="order <1> & \u00e9",
            recoverable=recoverable,
            priority=5,
            app_specific=36,
            extension=b"more",
            response_queue=answers,
            correlation_id=bytes(range(20)),
        )
    )
    found = pair.b.open_queue("plain").receive(timeout=PATIENCE)
    assert (found.id, found.body, found.label) == (identifier, b"<order/>", "order <1> & \u00e9")
    assert (found.priority, found.recoverable, found.app_specific) == (5, recoverable, 36)
    assert (found.extension, found.correlation_id) == (b"more", bytes(range(20)))
    assert str(found.response_queue).lower() == answers.lower()


def test_many_messages_arrive(pair: HttpPair) -> None:
    """SRMP-009, SRMP-232: in any order, for they are posted several at a time."""
    queue = pair.a.open_queue(f"DIRECT={pair.url('plain')}")
    queue.send_many([str(number) for number in range(200)])
    with pair.b.open_queue("plain").stream(timeout=5) as stream:
        found = [int(message.text or "") for message in stream]
    assert sorted(found) == list(range(200))


def test_receipts_come_back_over_http(pair: HttpPair) -> None:
    """SRMP-087, SRMP-089, SRMP-110, SRMP-112, SRMP-182, SRMP-183: on arrival, and when received."""
    queue = pair.a.open_queue(f"DIRECT={pair.url('plain')}")
    reports = f"DIRECT={pair.url('reports', pair.near)}"
    identifier = queue.send(Message(b"1", admin_queue=reports, acknowledge=BOTH))
    arrived = pair.a.open_queue("reports").receive(timeout=PATIENCE)
    assert pair.b.open_queue("plain").receive(timeout=PATIENCE).id == identifier
    received = pair.a.open_queue("reports").receive(timeout=PATIENCE)
    manager, _, number = identifier.partition("\\")
    correlation = UUID(manager).bytes_le + int(number).to_bytes(4, "little")
    classes = (arrived.message_class, received.message_class)
    assert classes == (MessageClass.ACK_REACH_QUEUE, MessageClass.ACK_RECEIVE)
    assert arrived.correlation_id == received.correlation_id == correlation


def test_a_message_for_no_queue_is_a_dead_letter_at_its_sender(pair: HttpPair) -> None:
    """SRMP-170, SRMP-172, SRMP-235, SRMP-236: unknown queues, and plain ones for ordered queues."""
    dead = pair.a.open_queue(r".\DeadLetter$")
    for name in ("nowhere", "ordered"):
        url = pair.url(name)
        pair.a.open_queue(f"DIRECT={url}").send(Message(name, dead_letter=True))
        found = dead.receive(timeout=PATIENCE)
        assert found.text == name
        assert pair.state(url)[1].endswith("answered 400")


def test_transactional_messages_arrive_in_order_and_leave_with_their_receipt(
    pair: HttpPair,
) -> None:
    """SRMP-002, SRMP-233, SRMP-241, SRMP-252: receipts come to the port of the sender."""
    url = pair.url("ordered")
    for start in (0, 50):
        with pair.a.transaction() as transaction:
            for number in range(start, start + 50):
                pair.a.open_queue(f"DIRECT={url}").send(str(number), transaction=transaction)
    with pair.b.open_queue("ordered").stream(timeout=5) as stream:
        assert [message.text for message in stream] == [str(number) for number in range(100)]
    name = f"direct={url}".lower()
    until(
        lambda: (
            not any(
                one.messages or one.unacknowledged
                for one in pair.a.outgoing()
                if one.name.lower() == name
            )
        )
    )


def test_messages_wait_for_a_manager_that_is_away(pair: HttpPair) -> None:
    """SRMP-238, SRMP-266, SRMP-268: also over a restart of their own."""
    url = pair.url("plain")
    pair.far.kill()
    pair.a.open_queue(f"DIRECT={url}").send_many(["1", "2", "3"])
    until(lambda: pair.state(url)[1] != "")
    pair.near.kill()
    pair.near.start()
    pair.far.start()
    with pair.b.open_queue("plain").stream(timeout=30) as stream:
        found = {next(stream).text for _ in range(3)}
    assert found == {"1", "2", "3"}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_posts_a_message_that_a_program_receives(pair: HttpPair, tmp_path: Path) -> None:
    """SRMP-014, SRMP-052, SRMP-120, SRMP-186, SRMP-187: identified ones once, others each time."""

    def post(content: bytes) -> bytes:
        host, port = pair.far.ready["srmp"]
        content = content.replace(b"http://machine2/", f"http://{host}:{port}/".encode())
        path = tmp_path / "message"
        path.write_bytes(content)
        command = ["curl", "-s", "-w", "%{http_code}", "-H", "Content-Type: text/xml"]
        done = subprocess.run(
            [*command, "--data-binary", f"@{path}", pair.url("plain")],
            capture_output=True,
            check=True,
        )
        return done.stdout

    target = pair.b.open_queue("plain")
    known = envelope(msmq()).replace(b"private$/orders", b"private$/plain")
    known = known.replace(b"20070719T031140", b"20370719T031140")
    known = known.replace(b"20070723T031140", b"20380119T031407")
    unknown = known.replace(msmq().replace("20070723T031140", "20380119T031407").encode(), b"")
    assert [post(known), post(known)] == [b"200", b"200"]
    assert [post(unknown), post(unknown)] == [b"200", b"200"]
    assert post(b"<nonsense/>") == b"400"
    assert post(known.replace(b"machine2", b"elsewhere")) == b"400"
    found = [target.receive(timeout=PATIENCE).label for _ in range(3)]
    assert found == ["order 1"] * 3
    with target.stream(timeout=0) as rest:
        assert list(rest) == []


def test_signatures_are_made_and_checked(tmp_path: Path) -> None:
    """SRMP-299 to SRMP-308, SRMP-316: the status of a message; a wrong one is dropped."""
    script = "openssl req -x509 -newkey rsa:2048 -noenc -subj /CN={0} -keyout {0}.key -out {0}.pem"
    for name in ("supplier", "other"):
        command = script.format(name).split()
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    near = ManagerProcess(
        tmp_path,
        "a",
        options=["--srmp-port", "0", "--srmp-signing-key", str(tmp_path / "supplier.key")],
    )
    config = tmp_path / "b.toml"
    far = ManagerProcess(
        tmp_path, "b", options=["--srmp-port", "0", "--config", str(config), "--log-level", "info"]
    )
    with running(near), near.connect() as a:
        config.write_text(f'[srmp.senders]\n"{near.id}" = "{tmp_path / "supplier.pem"}"\n')
        with running(far), far.connect() as b:
            queue = b.create_queue("q")
            host, port = far.ready["srmp"]
            way = a.open_queue(f"DIRECT=HTTP://{host}:{port}/msmq/private$/q")
            way.send("1")
            found = queue.receive(timeout=PATIENCE)
            assert (found.text, found.signature_type) == ("1", SignatureType.XML)
            assert found.sender_certificate
            shutil.copy(tmp_path / "other.pem", tmp_path / "supplier.pem")
            os.kill(far.pid, signal.SIGHUP)
            until(lambda: "reloaded" in (far.folder / "log").read_text())
            way.send("2")
            until(lambda: "bad signature" in (far.folder / "log").read_text())
            with pytest.raises(ReceiveTimeout):
                queue.receive(timeout=0.1)
