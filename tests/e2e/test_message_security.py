"""Signed and encrypted messages between two managers, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from openmsmq import Manager, Message, MessageSigner
from openmsmq.access.senders import make_certificate
from openmsmq.properties.message import MessageClass
from tests.e2e.managers import PATIENCE, ManagerProcess, running, until

pytest.importorskip("cryptography")
pytestmark = pytest.mark.slow
ORDERS = r"DIRECT=OS:far\private$\orders"
SEALED = r"DIRECT=OS:far\private$\sealed"
FLOOD = 600
"Signed messages that arrive together: each costs its receiver more than a plain one costs anyone."
MEMORY_MAX = 48 << 20
"Bytes that the receiver may grow by meanwhile; the flood itself has less than one MiB."


def openmsmq(directory: Path, *arguments: str) -> str:
    """Run a command."""
    command = [sys.executable, "-m", "openmsmq", *arguments, "--data", str(directory)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@dataclass
class SecurePair:
    """Two managers, the second of which trusts anna and has keys."""

    a: Manager
    b: Manager
    anna: MessageSigner
    far: ManagerProcess
    near: ManagerProcess
    pem: Path

    def send(self, to: str, message: Message, *, transactional: bool = False) -> None:
        queue = self.a.open_queue(to)
        if transactional:
            with self.a.transaction() as transaction:
                queue.send(message, transaction=transaction)
        else:
            queue.send(message)

    def refused(self) -> list[tuple[bytes, int]]:
        """What the second has refused, and why."""
        with self.b.open_queue(r".\Refused$") as queue:
            return [(one.body, one.message_class) for one in queue.peek_many(1000, timeout=0)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecurePair]:
    folder = tmp_path_factory.mktemp("secure")
    pem = folder / "anna.pem"
    far = ManagerProcess(folder, "far")
    data = far.folder / "data"
    openmsmq(data, "certificate", "create", "anna", "--out", str(pem), "--register")
    openmsmq(data, "key", "create")
    assert (data / "keys.json").stat().st_mode & 0o777 == 0o600
    assert pem.stat().st_mode & 0o777 == 0o600
    with running(far):
        configuration = folder / "near.toml"
        configuration.write_text("[security]\nencrypt_direct = true\n")
        place = ("127.0.0.1", far.ready["binary"][1])
        near = ManagerProcess(
            folder, "near", peers={"far": place}, options=["--config", str(configuration)]
        )
        keys = openmsmq(data, "key", "export", "--id", far.ready["id"], "--name", "far")
        (folder / "far.keys").write_text(keys)
        openmsmq(near.folder / "data", "key", "import", str(folder / "far.keys"))
        with running(near), near.connect() as a, far.connect() as b:
            b.create_queue("orders", authenticate=True)
            b.create_queue("sealed", privacy=2, transactional=True)
            yield SecurePair(a, b, MessageSigner.from_pem(pem.read_bytes()), far, near, pem)


def test_a_signed_message_arrives_and_says_who_sent_it(pair: SecurePair) -> None:
    "MSEC-063, MSEC-074, MSEC-079"
    pair.send(ORDERS, Message(b"unsigned"))
    pair.send(ORDERS, Message(b"signed", signer=pair.anna, priority=6, label="an order"))
    found = pair.b.open_queue("orders").receive(timeout=PATIENCE)
    assert (found.body, found.signature_type) == (b"signed", 3)
    assert found.sender_id == str(pair.anna.sender)
    assert found.sender_certificate == pair.anna.certificate
    until(lambda: (b"unsigned", MessageClass.NACK_BAD_SIGNATURE) in pair.refused())


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
def test_a_message_to_several_queues_has_one_signature(
    pair: SecurePair, transactional: bool
) -> None:
    "MSEC-018, MSEC-019: the program signs the list that its manager writes."
    names = [f"copies-{number}-{transactional}" for number in range(2)]
    copies = [
        pair.b.create_queue(name, authenticate=True, transactional=transactional) for name in names
    ]
    both = ",".join(rf"DIRECT=OS:far\private$\{name}" for name in names)
    message = Message(b"for both", signer=pair.anna, label="an order", encrypt=not transactional)
    pair.send(both, message, transactional=transactional)
    for copy in copies:
        found = copy.receive(timeout=PATIENCE)
        assert (found.body, found.signature_type) == (b"for both", 5)
        assert found.sender_id == str(pair.anna.sender)


def test_a_command_signs_for_several_queues(pair: SecurePair) -> None:
    names = ["from-commands-1", "from-commands-2"]
    copies = [pair.b.create_queue(name, authenticate=True) for name in names]
    both = ",".join(rf"DIRECT=OS:far\private$\{name}" for name in names)
    pem = str(pair.pem)
    command = [sys.executable, "-m", "openmsmq", "message", "send", both, "--body", "signed"]
    subprocess.run([*command, "--sign", pem, "--manager", pair.near.app], check=True)
    for copy in copies:
        found = copy.receive(timeout=PATIENCE)
        assert (found.text, found.signature_type) == ("signed", 5)


def test_an_encrypted_message_is_clear_where_it_arrives(pair: SecurePair) -> None:
    "MSEC-089, MSEC-135"
    message = Message(b"a secret", signer=pair.anna, encrypt=True)
    pair.send(SEALED, message, transactional=True)
    found = pair.b.open_queue("sealed").receive(timeout=PATIENCE)
    assert (found.body, found.encrypt, found.transactional) == (b"a secret", True, True)
    assert (found.signature_type, found.sender_id) == (3, str(pair.anna.sender))


def test_the_sender_learns_what_was_refused(pair: SecurePair) -> None:
    "MSEC-084, MSEC-086: a transactional message is its sender's dead letter, with the reason."
    pair.send(SEALED, Message(b"clear", dead_letter=True), transactional=True)
    letter = pair.a.open_queue(r".\XactDeadLetter$").receive(timeout=PATIENCE)
    assert (letter.body, letter.message_class) == (b"clear", MessageClass.NACK_BAD_ENCRYPTION)


def test_a_certificate_that_is_removed_counts_no_longer(pair: SecurePair, tmp_path: Path) -> None:
    "MSEC-065: a service sees the change without a restart."
    data, pem = pair.far.folder / "data", tmp_path / "bob.pem"
    openmsmq(data, "certificate", "create", "bob", "--out", str(pem), "--register")
    bob = MessageSigner.from_pem(pem.read_bytes())
    late = pair.b.create_queue("late", authenticate=True)

    def has_come(body: bytes) -> bool:
        pair.send(r"DIRECT=OS:far\private$\late", Message(body, signer=bob))
        return late.info().messages > 0

    until(lambda: has_come(b"early"))
    [line] = [one for one in openmsmq(data, "certificate", "list").splitlines() if "bob" in one]
    openmsmq(data, "certificate", "remove", line.split()[0])

    def is_refused() -> bool:
        pair.send(r"DIRECT=OS:far\private$\late", Message(b"late", signer=bob))
        return (b"late", MessageClass.NACK_BAD_SIGNATURE) in pair.refused()

    until(is_refused)


def memory_of(process: ManagerProcess) -> int:
    """Bytes that a process has allocated."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    [line] = [line for line in text.splitlines() if line.startswith("RssAnon:")]
    return int(line.split()[1]) << 10


def test_a_flood_of_signed_messages_leaves_room_for_others(pair: SecurePair) -> None:
    """Half of them come from a stranger. Programs of the receiver are answered all the while."""
    stranger = MessageSigner.from_pem(make_certificate("mallory"))
    flooded = pair.b.create_queue("flooded", authenticate=True)
    local = pair.b.create_queue("local")
    before, refused = memory_of(pair.far), pair.b.open_queue(r".\Refused$").info().messages
    outgoing = pair.a.open_queue(r"DIRECT=OS:far\private$\flooded")
    outgoing.pause()
    for start in range(0, FLOOD, 100):
        outgoing.send_many(
            [Message(f"{start + n}", signer=pair.anna if n % 2 else stranger) for n in range(100)]
        )
    outgoing.resume()
    sent, most, arrived = 0, 0, 0
    during = 0
    while arrived < FLOOD // 2:
        local.send(f"{sent}")
        sent += 1
        before_this, arrived = arrived, flooded.info().messages
        during += 0 < before_this < FLOOD // 2
        most = max(most, memory_of(pair.far) - before)
    assert during >= 5, f"{during} sends were answered while {FLOOD} signed messages arrived"
    assert most < MEMORY_MAX
    assert [one.text for one in local.receive_many(sent, timeout=0)] == [
        str(n) for n in range(sent)
    ]
    bodies = [int(one.text or 0) for one in flooded.receive_many(FLOOD, timeout=0)]
    assert bodies == [n for n in range(FLOOD) if n % 2], (
        "in their order, and none of the stranger's"
    )
    until(lambda: pair.b.open_queue(r".\Refused$").info().messages > refused)
