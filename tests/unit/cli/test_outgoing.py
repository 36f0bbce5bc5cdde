"""`openmsmq outgoing`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.cli.commands import Cli, ServiceCli

from openmsmq.cli.options import ManagerLocation
from openmsmq.cli.outgoing import notes
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.outgoing.info import ONLY_A_SERVICE
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.types.caller import Caller
from openmsmq.types.outgoing import OutgoingAttempt, OutgoingInfo

OFFICE = r"DIRECT=OS:office\private$\orders"
STORE = r"DIRECT=OS:store\private$\stock"
CONNECTED = OutgoingInfo(
    name=OFFICE,
    state="connected",
    messages=1200,
    unacknowledged=3,
    unprocessed=2,
    bytes=2048,
    oldest_age=90,
    next_hop="10.0.0.2:1801",
    connected_since=1_000_000_000,
    failures=0,
    next_retry=None,
    last_error="",
    resends=0,
    attempts=(OutgoingAttempt(1_000_000_000, "connected", "10.0.0.2:1801"),),
)
FAILED = replace(
    CONNECTED,
    name=STORE,
    state="waiting",
    unacknowledged=0,
    unprocessed=0,
    connected_since=None,
    failures=2,
    next_retry=3,
    last_error="10.0.0.3:1801: Connection refused",
    resends=1,
    attempts=(
        OutgoingAttempt(1_000_000_000, "name not found", "store:1801"),
        OutgoingAttempt(1_000_000_001, "cannot connect", "10.0.0.3:1801"),
    ),
)


class Manager:
    """A queue manager as it would be."""

    def __enter__(self) -> Manager:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def outgoing(self) -> list[OutgoingInfo]:
        return [CONNECTED, FAILED]


@pytest.fixture
def busy(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Commands on a manager with one queue that sends and one that cannot."""
    monkeypatch.setattr(ManagerLocation, "open", lambda *_, **__: Manager())
    return cli


def wait(cli: Cli) -> None:
    """Messages for two other computers."""
    if not isinstance(cli, ServiceCli):
        cli("queue", "create", "own")
    with cli.open() as manager:
        for name, count in ((OFFICE, 2), (STORE, 1)):
            with manager.open_queue(name) as queue:
                queue.send_many(["x"] * count)


def states(cli: Cli) -> list[str]:
    return [found["state"] for found in cli.objects("outgoing", "list")]


# Looking


@pytest.mark.parametrize("kind", ["embedded", "served"])
def test_outgoing_queues_are_listed_with_their_backlog_and_its_reason(
    kind: str, request: pytest.FixtureRequest
) -> None:
    cli: Cli = request.getfixturevalue(kind)
    wait(cli)
    lines = cli.lines("outgoing", "list")
    assert lines[0].split()[:4] == ["NAME", "STATE", "WAITING", "UNACKNOWLEDGED"]
    assert [line.split()[:3] for line in lines[1:]] == [
        [OFFICE, "offline", "2"],
        [STORE, "offline", "1"],
    ]
    assert all(ONLY_A_SERVICE in line for line in lines[1:])
    found = cli.objects("outgoing", "list", "*stock")
    assert [(one["name"], one["messages"]) for one in found] == [(STORE, 1)]
    assert "waiting         2 messages" in cli.lines("outgoing", "show", OFFICE)


def test_nothing_on_its_way_is_an_empty_table(served: ServiceCli) -> None:
    assert len(served.lines("outgoing", "list")) == 1
    assert served.objects("outgoing", "list") == []


def test_the_list_tells_the_next_attempt_and_the_error(busy: Cli) -> None:
    header, connected, failed = busy.lines("outgoing", "list")
    assert header.endswith("NOTES")
    assert connected.split()[1:] == [
        *("connected", "1,200", "3", "2", "2.0", "KiB", "90", "s", "10.0.0.2:1801")
    ]
    assert failed.endswith(
        "10.0.0.3:1801: Connection refused; sent again 1 time without an acknowledgement;"
        " next try in 3 s"
    )


def test_notes_say_only_what_there_is_to_say() -> None:
    assert notes(CONNECTED) == []
    assert notes(replace(CONNECTED, next_retry=0)) == ["next try in 0 s"]
    assert notes(replace(CONNECTED, resends=2)) == ["sent again 2 times without an acknowledgement"]


def test_a_queue_is_shown_with_the_last_attempts(busy: Cli) -> None:
    shown = busy.lines("outgoing", "show", r"STORE\private$\stock")
    facts = dict(line.split(maxsplit=1) for line in shown if line[0] != " ")
    assert facts["state"] == "waiting"
    assert facts["failures"] == "2"
    assert facts["attempts"] == "2001-09-09 01:46:40 UTC  name not found  store:1801"
    assert shown[-1].strip() == "2001-09-09 01:46:41 UTC  cannot connect  10.0.0.3:1801"
    shown = busy.lines("outgoing", "show", OFFICE)
    assert "connected since  2001-09-09 01:46:40 UTC" in shown
    assert not [line for line in shown if line.startswith(("failures", "notes"))]


def test_times_in_json_are_those_of_other_commands(busy: Cli) -> None:
    [connected] = busy.objects("outgoing", "show", OFFICE)
    [failed] = busy.objects("outgoing", "show", STORE)
    assert connected["connected_since"] == "2001-09-09T01:46:40Z"
    assert failed["connected_since"] is None
    assert failed["attempts"][0]["time"] == "2001-09-09T01:46:40Z"
    assert failed["next_retry"] == 3


def test_a_queue_that_is_not_there_is_refused(busy: Cli) -> None:
    found = busy("outgoing", "show", r"DIRECT=OS:other\private$\q", code=1)
    assert "there is no outgoing queue" in found.stderr


# Acting


def test_sending_is_paused_and_resumed(served: ServiceCli) -> None:
    wait(served)
    assert served.lines("outgoing", "pause", r"office\private$\orders") == [f"paused {OFFICE}"]
    assert states(served) == ["on hold", "offline"]
    assert served.lines("outgoing", "pause", "--all") == [f"paused {STORE}"]
    assert states(served) == ["on hold", "on hold"]
    [found] = served.objects("outgoing", "resume", OFFICE)
    assert (found["name"], found["state"]) == (OFFICE, "offline")
    assert served.lines("outgoing", "resume", "--all") == [f"resumed {STORE}"]
    assert states(served) == ["offline", "offline"]


def test_the_next_attempt_can_be_now(served: ServiceCli, monkeypatch: pytest.MonkeyPatch) -> None:
    wait(served)
    tried: list[str] = []

    def retry(_: QueueManager, queue: ManagedQueue, caller: Caller) -> None:
        tried.append(queue.name)

    monkeypatch.setattr(QueueManager, "retry", retry)
    assert served.lines("outgoing", "retry", OFFICE) == [f"trying {OFFICE}"]
    served("outgoing", "pause", STORE)
    assert served.lines("outgoing", "retry", "--all") == [f"trying {OFFICE}"]
    assert tried == [OFFICE, OFFICE]


def test_a_service_that_sends_nothing_refuses_to_try(served: ServiceCli) -> None:
    wait(served)
    assert "only a service sends" in served("outgoing", "retry", OFFICE, code=1).stderr


@pytest.mark.parametrize("command", ["pause", "resume", "retry"])
def test_a_queue_or_all_must_be_named(served: ServiceCli, command: str) -> None:
    for arguments in ((), (OFFICE, "--all")):
        assert "Give NAME or --all" in served("outgoing", command, *arguments, code=2).stderr


@pytest.mark.parametrize("command", ["pause", "resume", "retry"])
def test_a_directory_sends_nothing(embedded: Cli, command: str) -> None:
    wait(embedded)
    assert "Only a service sends" in embedded("outgoing", command, "--all", code=2).stderr
