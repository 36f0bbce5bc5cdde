"""Scenarios of dependent clients, with real processes: nothing is there but a supporting server.

Queues are created and watched from a computer without a queue manager ([MS-MQSO] 6.1.4), and a farm
of analysts answers quotes in transactions, of whom one is killed ([MS-MQSO] 6.1.7).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import openmsmq
from openmsmq import Access, Share
from openmsmq.access.users import Users
from openmsmq.errors import FailVerifySignatureEx, MessageNotAuthenticated, SharingViolation
from openmsmq.properties.message import SignatureType
from tests.e2e.managers import free_port, until

pytestmark = pytest.mark.slow

PATIENCE = float(os.environ.get("OPENMSMQ_TEST_PATIENCE", "120"))
QUOTES = 60
ANALYST = """
import sys, time, openmsmq
port, name = int(sys.argv[1]), sys.argv[2]
signer = openmsmq.MessageSigner.from_pem(open(sys.argv[3], "rb").read())
with openmsmq.connect_dependent("127.0.0.1", port=port, user="analyst", password="secret",
                                computer="farm") as manager:
    quotes, answers = manager.open_queue("quotes"), manager.open_queue("answers")
    print("ready", flush=True)
    while True:
        with manager.transaction() as transaction:
            try:
                quote = quotes.receive(transaction=transaction, timeout=2)
            except openmsmq.ReceiveTimeout:
                break
            if name == "doomed":
                print("received", flush=True)
                time.sleep(60)
            answer = quote.body + b" by " + name.encode()
            answers.send(openmsmq.Message(answer, signer=signer), transaction=transaction)
"""
STEPS = ("opened", "begun", "waiting", "received", "sent", "committed")
ROUNDS = pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=pytest.mark.torture)])
"How often a client is killed at each step: with all steps 30 times in `make torture`."
STEP = """
import sys, time, openmsmq
port, step = int(sys.argv[1]), sys.argv[2]
def stop(here):
    if here == step:
        print("there", flush=True)
        time.sleep(60)
with openmsmq.connect_dependent("127.0.0.1", port=port, user="analyst", password="secret",
                                computer="farm") as manager:
    quotes, answers = manager.open_queue("quotes"), manager.open_queue("answers")
    stop("opened")
    transaction = manager.transaction()
    transaction.__enter__()
    stop("begun")
    if step == "waiting":
        print("there", flush=True)
    quote = quotes.receive(transaction=transaction, timeout=60)
    stop("received")
    answers.send(quote.body, transaction=transaction)
    stop("sent")
    transaction.commit()
    stop("committed")
"""


class Farm:
    """A supporting server in a process of its own, at a port and an address if they are given."""

    def __init__(
        self, directory: Path, *options: str, port: int = 0, bind: str = "127.0.0.1"
    ) -> None:
        users = Users(directory / "data")
        users.add("analyst", "secret", "read+send")
        users.add("boss", "secret", "admin")
        ready = directory / "ready.json"
        command = (sys.executable, "-m", "openmsmq", "serve", "--data", directory / "data")
        off = (
            *("--app-port", "off", "--console-port", "off", "--binary-port", "off"),
            *("--log-level", "error", "--name", "farm", "--supporting-server"),
            *("--rpc-port", port, "--rpc-bind", bind, *options),
        )
        self._socket = directory / "app"
        sockets = ("--app-socket", self._socket, "--ready-file", ready)
        self.process = subprocess.Popen(list(map(str, (*command, *off, *sockets))))
        end = time.monotonic() + PATIENCE
        while not ready.exists():
            assert self.process.poll() is None, "the service ended"
            assert time.monotonic() < end, "the service did not start"
            time.sleep(0.02)
        self.port = json.loads(ready.read_text())["rpc"][1]

    def local(self) -> openmsmq.Manager:
        """As programs on the same computer see it."""
        return openmsmq.connect(f"unix:{self._socket}")

    def boss(self) -> openmsmq.Manager:
        """As an administrator elsewhere does."""
        return openmsmq.connect_dependent(
            "127.0.0.1", port=self.port, user="boss", password="secret", computer="farm"
        )

    def run(self, script: str, *words: str) -> subprocess.Popen[str]:
        """A client in a process of its own."""
        command = [sys.executable, "-c", script, str(self.port), *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def count(self, queue: str) -> int:
        """How many messages a queue has, also those that are held."""
        with self.local() as manager, manager.open_queue(queue) as found:
            return found.info().messages


@pytest.fixture
def farm(tmp_path: Path) -> Iterator[Farm]:
    made = Farm(tmp_path)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait(PATIENCE)


def said(process: subprocess.Popen[str], word: str) -> None:
    """Wait until a client says something."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == word:
            return
    raise AssertionError(f"it ended without {word!r}")


def killed(process: subprocess.Popen[str]) -> None:
    """End a client without a chance to say anything."""
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    assert process.stdout is not None
    process.stdout.close()


def test_a_queue_is_created_and_watched_without_a_queue_manager(farm: Farm) -> None:
    """SYS-071: created by a dependent client, watched by management, without a directory."""
    with farm.boss() as manager:
        manager.create_queue("quotes", journal=True, label="quotes of the day").send("one")
        with openmsmq.connect_management(
            "127.0.0.1", port=farm.port, user="boss", password="secret"
        ) as management:
            assert "farm\\private$\\quotes" in [
                name.lower() for name in management.machine().private_queues
            ]
            seen = management.queue("DIRECT=OS:farm\\private$\\quotes")
            assert seen.messages == 1
        manager.delete_queue("quotes")


def test_a_farm_of_analysts_answers_every_quote_once_though_one_is_killed(
    farm: Farm, tmp_path: Path
) -> None:
    """SYS-074: transactional receives and answers through one supporting server ([MS-MQSO] 6.1.7).

    The queue for answers takes authenticated messages only.
    """
    pem = str(tmp_path / "analyst.pem")
    making = ("certificate", "create", "analyst", "--out", pem, "--register")
    place = ("--data", str(tmp_path / "data"))
    subprocess.run([sys.executable, "-m", "openmsmq", *making, *place], check=True)
    with farm.boss() as manager:
        quotes = manager.create_queue("quotes", transactional=True)
        answers = manager.create_queue("answers", transactional=True, authenticate=True)
        with manager.transaction() as transaction:
            for number in range(QUOTES):
                quotes.send(f"{number}".encode(), transaction=transaction)
        refused = manager.transaction()
        refused.__enter__()
        with pytest.raises(MessageNotAuthenticated):
            answers.send(b"unsigned", transaction=refused)
        refused.abort()
        signer = openmsmq.MessageSigner.from_pem(Path(pem).read_bytes())

        def is_known() -> bool:
            """The service looks every other second what is registered."""
            trial = manager.transaction()
            trial.__enter__()
            try:
                answers.send(openmsmq.Message(b"trial", signer=signer), transaction=trial)
            except FailVerifySignatureEx:
                return False
            finally:
                trial.abort()
            return True

        until(is_known)
    doomed = farm.run(ANALYST, "doomed", pem)
    said(doomed, "received")
    others = [farm.run(ANALYST, name, pem) for name in ("anna", "bert", "carl")]
    for one in others:
        said(one, "ready")
    killed(doomed)
    for one in others:
        assert one.wait(PATIENCE) == 0
        assert one.stdout is not None
        one.stdout.close()
    with farm.local() as manager, manager.open_queue("answers") as answers:
        letters = [answers.receive(timeout=0) for _ in range(answers.info().messages)]
    assert {letter.signature_type for letter in letters} == {SignatureType.MSMQ_2_0}
    found = [letter.body for letter in letters]
    numbers = Counter(int(body.split()[0]) for body in found)
    assert numbers == Counter(range(QUOTES))
    assert not any(body.endswith(b"doomed") for body in found)
    assert farm.count("quotes") == 0


def is_waiting(farm: Farm) -> bool:
    """Whether a dependent client waits for a message."""
    with farm.local() as manager:
        return any(client.waiting for client in manager.control.dependents())


@ROUNDS
@pytest.mark.parametrize("step", STEPS)
def test_a_client_that_is_killed_leaves_its_message_once(
    farm: Farm, step: str, rounds: int
) -> None:
    """At each step of a receive and of a transaction: the quote is there, or its answer, once, and
    nothing is locked.
    """
    with farm.boss() as manager:
        manager.create_queue("quotes", transactional=True).close()
        manager.create_queue("answers", transactional=True).close()

    def ask() -> None:
        with farm.local() as manager, manager.transaction() as transaction:
            manager.open_queue("quotes").send(b"risk?", transaction=transaction)

    for _ in range(rounds):
        if step != "waiting":
            ask()
        client = farm.run(STEP, step)
        said(client, "there")
        if step == "waiting":
            until(lambda: is_waiting(farm), "the client never waits")
        killed(client)
        if step == "waiting":
            ask()
        place = "answers" if step == "committed" else "quotes"
        with farm.local() as manager, manager.open_queue(place) as found:
            assert found.receive(timeout=PATIENCE).body == b"risk?"
        assert farm.count("quotes") == farm.count("answers") == 0
    with farm.local() as manager:
        until(lambda: is_free(manager, "quotes"), "the queue is still open for a client")


THIRD = """
import sys, time, openmsmq
port, step = int(sys.argv[1]), sys.argv[2]
with openmsmq.connect_dependent("127.0.0.1", port=port, user="analyst", password="secret",
                                computer="farm") as manager:
    name = "DIRECT=TCP:127.0.0.2\\\\private$\\\\news"
    with manager.open_queue(name) as news:
        print("opened", flush=True)
        while True:
            print(news.receive(timeout=None).body.decode(), flush=True)
"""


def is_free(manager: openmsmq.Manager, name: str) -> bool:
    """Whether no one has a queue open for receiving."""
    try:
        manager.open_queue(name, access=Access.RECEIVE, share=Share.DENY_RECEIVE).close()
    except SharingViolation:
        return False
    return True


def test_a_queue_of_a_third_computer_is_read_through_the_supporting_server(tmp_path: Path) -> None:
    """MQQP-220, MQMP-265, MQMP-490: client, server and the other manager are processes, at two
    addresses. A client that is killed while it waits takes nothing along.
    """
    port = free_port("127.0.0.2")
    for name in ("farm", "office"):
        (tmp_path / name).mkdir()
    office = Farm(tmp_path / "office", "--bind", "127.0.0.2", port=port, bind="127.0.0.2")
    (tmp_path / "farm" / "data").mkdir(mode=0o700)
    password = tmp_path / "farm" / "data" / "password"
    password.write_text("secret")
    password.chmod(0o600)
    (tmp_path / "farm" / "data" / "openmsmq.toml").write_text(
        '[rpc.managers."127.0.0.2"]\nuser = "analyst"\npassword_file = "password"\n'
        f'address = "127.0.0.2:{port}"\n'
    )
    farm = Farm(tmp_path / "farm", port=port)
    try:
        with office.local() as manager:
            news = manager.create_queue("news")
            client = farm.run(THIRD, "")
            said(client, "opened")
            for word in ("one", "two"):
                news.send(word.encode())
                said(client, word)
            assert office.count("news") == 0
            news.close()
            killed(client)
            until(lambda: is_free(manager, "news"), "the queue is still open for the client")
            with manager.open_queue("news") as news:
                news.send(b"three")
                assert news.receive(timeout=PATIENCE).body == b"three"
    finally:
        for one in (farm, office):
            one.process.kill()
            one.process.wait(PATIENCE)
