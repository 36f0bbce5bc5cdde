"""A message as people read it."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from tests.samples import MESSAGES

from openmsmq import Acknowledge, Message, ReceivedMessage
from openmsmq.cli.messages.view import BYTES_SHOWN, TEXT_SHOWN, print_message
from openmsmq.names.format import parse_format_name
from openmsmq.names.parse import parse_name
from openmsmq.names.path import PathName
from openmsmq.packet.builder import PacketBuilder
from openmsmq.properties.message import MessageClass
from openmsmq.types.pack import Packer


def received(message: Message, *, transactional: bool = False, **facts: int) -> ReceivedMessage:
    """The message in a queue."""
    path = parse_name(r"server\private$\orders")
    assert isinstance(path, PathName)
    [packet] = Packer(UUID(int=1), computer="server").pack_many(
        [message], path.to_direct(), first_id=7, sent_time=0, transactional=transactional
    )
    return ReceivedMessage(packet, lookup_id=99, **facts)


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """What is printed of a message."""
    return Show(capsys)


class Show:
    """Prints messages."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def text(self, message: ReceivedMessage) -> str:
        """All of it."""
        print_message(message)
        return self._capsys.readouterr().out

    def facts(self, message: ReceivedMessage) -> dict[str, str]:
        """The lines with a name."""
        lines = [line for line in self.text(message).splitlines() if line[:1] not in (" ", "")]
        return {line[:16].strip(): line[16:] for line in lines}

    def body(self, message: ReceivedMessage) -> list[str]:
        """The lines of the body."""
        return [line[4:] for line in self.text(message).splitlines() if line.startswith("    ")]


def test_a_plain_message_has_few_lines(show: Show) -> None:
    assert show.facts(received(Message(b"hello", label="greeting"))) == {
        "id": f"{UUID(int=1)}\\7",
        "label": "greeting",
        "sent": "1970-01-01 00:00:00 UTC",
        "arrived": "1970-01-01 00:00:00 UTC",
        "delivery": "recoverable, priority 3",
        "lookup id": "99",
        "sent to": r"DIRECT=OS:server\private$\orders",
        "body": "5 B, text",
    }


def test_everything_that_was_asked_for_is_said(show: Show) -> None:
    message = Message(
        b"{}",
        recoverable=False,
        priority=5,
        journal=True,
        dead_letter=True,
        trace=True,
        acknowledge=Acknowledge.FULL_RECEIVE,
        admin_queue="admin",
        response_queue="answers",
        dead_letter_queue="dead",
        correlation_id=UUID(int=5).bytes_le + b"\2\1\0\0",
        app_specific=42,
        extension=b"\0\1\2",
        time_to_be_received=60,
        time_to_reach_queue=0,
    )
    facts = show.facts(received(message, abort_count=1, move_count=2))
    assert facts["delivery"] == (
        "express, priority 5, copy to the sender's journal, dead letter on failure, traced,"
        " 0 s to arrive, 60 s to be received"
    )
    assert facts["reports"] == "receive, failure to arrive, failure to be received"
    assert facts["admin queue"].endswith(r"private$\admin")
    assert facts["response queue"].endswith(r"private$\answers")
    assert facts["dead letters"].endswith(r"private$\dead")
    assert facts["correlation id"].startswith(f"{UUID(int=5)}\\258 (")
    assert facts["app specific"] == "42"
    assert facts["extension"] == "3 B"
    assert (facts["aborted"], facts["moved"]) == ("1 time", "2 times")
    assert facts["body"] == "2 B, json"


def test_a_transactional_message_says_so(show: Show) -> None:
    facts = show.facts(received(Message(b""), transactional=True))
    assert facts["delivery"] == "recoverable, transactional"


def test_headers_of_frameworks_are_listed(show: Show) -> None:
    raw = json.dumps({"rbs2-msg-id": "5"}).encode()
    facts = show.facts(received(Message(b"", extension=raw)))
    assert "rbs2-msg-id=5" in facts["extension"]


@pytest.mark.parametrize(
    ("message", "summary", "body"),
    [
        (Message("grün\nblau"), "18 B, activex:VT_LPWSTR", ["grün", "blau"]),
        (Message(b"<a>1</a>"), "8 B, xml", ["<a>1</a>"]),
        (Message(b""), "0 B, empty", []),
        (Message(b"\x1b[2Jb"), "5 B, text", ["�[2Jb"]),
        (Message(b"\xff\0A", body_type=0x4711), "3 B, binary, VT_0x4711", ["0000  ff 00 41"]),
        (Message(b"12", body_type=3), "2 B, binary, VT_I4", ["0000  31 32"]),
    ],
    ids=["text", "xml", "empty", "escape", "unknown type", "wrong size"],
)
def test_bodies_are_decoded(show: Show, message: Message, summary: str, body: list[str]) -> None:
    seen = received(message)
    assert show.facts(seen)["body"].startswith(summary)
    shown = show.body(seen)
    assert len(shown) == len(body)
    for line, start in zip(shown, body, strict=True):
        assert line.startswith(start)


def test_long_bodies_are_cut(show: Show) -> None:
    lines = show.body(received(Message(b"a" * (TEXT_SHOWN + 5))))
    assert lines == ["a" * TEXT_SHOWN, "… 5 characters more; --json has all"]
    lines = show.body(received(Message(b"\xff" * (BYTES_SHOWN + 7))))
    assert len(lines) == BYTES_SHOWN // 16 + 1
    assert lines[-1] == "… 7 bytes more; --json has all"


def test_nothing_in_a_message_commands_the_terminal(show: Show) -> None:
    message = Message("a\x1b[2J\x9b\rb", label="\x1b[31m\ud800", extension=b'{"a": "\x1b"}')
    text = show.text(received(message))
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert "\r" not in text


def test_what_a_message_reports_is_said_in_words(show: Show) -> None:
    builder = PacketBuilder(UUID(int=1), parse_format_name(r"DIRECT=OS:server\private$\orders"))
    packet = builder.build(b"", message_id=1, message_class=MessageClass.NACK_RECEIVE_TIMEOUT)
    facts = show.facts(ReceivedMessage(packet))
    assert facts["class"] == "0xC002, the message was not received in time"


def test_the_sender_is_named(show: Show) -> None:
    facts = show.facts(ReceivedMessage(MESSAGES["security"].encode()))
    assert facts["sender"].startswith("S-1-")
