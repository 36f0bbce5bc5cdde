"""`openmsmq decode`."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from struct import pack
from typing import Any, BinaryIO

import pytest
from click.testing import CliRunner, Result
from tests.samples import MESSAGES, SESSION, SOURCE, STORED, TARGET, patch, properties, user_message
from tests.signers import signer
from tests.unit.cli.commands import Cli
from tests.unit.packet.test_signer import signed

from openmsmq.capture.pcap import FILE_HEADER, Conversation, datagram
from openmsmq.cli.main import main
from openmsmq.packet.connection import EstablishConnection, SessionAck
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.message import UserMessage
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket
from openmsmq.packet.view import PacketView

PING = PingPacket(1, PING_SIGNATURE, 0x1234, SOURCE).pack()
PLAIN = MESSAGES["plain"].encode()
ACK = SessionAck(SESSION).encode()
LOCAL, REMOTE = ("2001:db8::1", 1801), ("2001:db8::7", 50_000)


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["decode", *arguments], input=stdin)


def documents(*arguments: str, stdin: bytes | None = None) -> list[dict[str, Any]]:
    result = run("--json", *arguments, stdin=stdin)
    assert result.exit_code == 0
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        PING.hex(),
        PING.hex().upper(),
        "0x" + PING.hex(),
        PING.hex(" "),
        PING.hex(":"),
        PING.hex("-", 2),
        PING.hex(" ", 4).replace(" ", ",\t\r\n "),
    ],
)
def test_digits_may_be_separated_in_many_ways(text: str) -> None:
    [document] = documents(text)
    assert (document["kind"], document["size"]) == ("Ping", 24)


def test_digits_may_be_longer_than_any_file_name() -> None:
    message = user_message(header=properties(bytes(5000))).encode()
    for data in (PLAIN, message):
        [document] = documents(data.hex())
        assert document["size"] == len(data)


@pytest.mark.parametrize(
    "content", [PING, PING.hex().encode(), PING.hex(" ", 2).encode() + b"\r\n"], ids=repr
)
def test_a_file_holds_digits_or_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "packet"
    path.write_bytes(content)
    [document] = documents(str(path))
    assert (document["kind"], document["size"]) == ("Ping", 24)


@pytest.mark.parametrize("content", [PING, PING.hex().encode() + b"\n"], ids=["raw", "hex"])
def test_standard_input_holds_digits_or_bytes(content: bytes) -> None:
    [document] = documents("-", stdin=content)
    assert (document["kind"], document["size"]) == ("Ping", 24)


def test_raw_bytes_may_be_characters() -> None:
    """A packet of letters only is not taken for digits."""
    data = PingPacket(0x3031, PING_SIGNATURE, 0x34333231, TARGET).pack()
    data = patch(data, 8, b"0123456789abcdef")
    assert data.isascii()
    [document] = documents("-", stdin=data)
    assert document["kind"] == "Ping"


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [(("",), None), ((" ",), None), (("-",), b""), (("-",), b" \n"), (("-", "--json"), b"")],
)
def test_empty_input_is_a_mistake_of_the_caller(
    arguments: tuple[str, ...], stdin: bytes | None
) -> None:
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 2
    assert "empty" in result.stderr


@pytest.mark.parametrize("text", ["no-such-file", "0x1", "12 3", "zz", "a\0b", "q" * 5000])
def test_what_is_neither_file_nor_digits_is_a_mistake_of_the_caller(text: str) -> None:
    result = run(text)
    assert result.exit_code == 2
    assert "neither a file nor hexadecimal digits" in result.stderr
    assert len(result.stderr) < 300


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert run(str(tmp_path)).exit_code == 2


def test_an_argument_is_needed() -> None:
    assert run().exit_code == 2


def recorded(*, accepted: bool = True) -> bytes:
    """A capture of a ping and of a session."""
    conversation = Conversation(LOCAL, REMOTE, accepted=accepted)
    return b"".join(
        (
            FILE_HEADER,
            datagram(REMOTE, ("2001:db8::1", 3527), PING, 1_700_000_000.5),
            conversation.opened(1_700_000_001.0),
            conversation.received(PLAIN, 1_700_000_002.25),
            conversation.sent(ACK, 1_700_000_003.0),
            conversation.closed(1_700_000_004.0),
        )
    )


@pytest.mark.parametrize("way", ["file", "pipe"])
def test_a_capture_has_a_document_for_each_packet(tmp_path: Path, way: str) -> None:
    path = tmp_path / "session.pcap"
    path.write_bytes(recorded())
    found = documents(str(path)) if way == "file" else documents("-", stdin=recorded())
    assert [{name: value for name, value in d.items() if name != "fields"} for d in found] == [
        {
            "time": "2023-11-14T22:13:20.500000Z",
            "conversation": 1,
            "protocol": "udp",
            "from": "[2001:db8::7]:50000",
            "to": "[2001:db8::1]:3527",
            "kind": "Ping",
            "offset": 0,
            "size": len(PING),
        },
        {
            "time": "2023-11-14T22:13:22.250000Z",
            "conversation": 2,
            "protocol": "tcp",
            "from": "[2001:db8::7]:50000",
            "to": "[2001:db8::1]:1801",
            "kind": "UserMessage",
            "offset": 0,
            "size": len(PLAIN),
        },
        {
            "time": "2023-11-14T22:13:23.000000Z",
            "conversation": 2,
            "protocol": "tcp",
            "from": "[2001:db8::1]:1801",
            "to": "[2001:db8::7]:50000",
            "kind": "SessionAck",
            "offset": 0,
            "size": len(ACK),
        },
    ]


def test_a_capture_has_a_line_over_each_tree() -> None:
    lines = run("-", stdin=recorded()).stdout.splitlines()
    assert [line for line in lines if line.startswith("2023")] == [
        "2023-11-14T22:13:20.500000Z #1 udp [2001:db8::7]:50000 → [2001:db8::1]:3527",
        "2023-11-14T22:13:22.250000Z #2 tcp [2001:db8::7]:50000 → [2001:db8::1]:1801",
        "2023-11-14T22:13:23.000000Z #2 tcp [2001:db8::1]:1801 → [2001:db8::7]:50000",
    ]
    assert lines[1].startswith("Ping, 24 bytes at offset 0")


def test_of_a_capture_one_port_may_be_shown() -> None:
    assert [d["kind"] for d in documents("--port", "3527", "-", stdin=recorded())] == ["Ping"]


@pytest.mark.parametrize("port", ["0", "65536", "x"])
def test_a_port_is_a_number(port: str) -> None:
    assert run("--port", port, "-", stdin=recorded()).exit_code == 2


def test_a_capture_without_msmq_is_said_to_be_one() -> None:
    result = run("--port", "9", "-", stdin=recorded())
    assert (result.exit_code, result.stdout) == (0, "")
    assert "there is no MSMQ packet in the capture" in result.stderr


def test_a_capture_is_shown_to_the_end_whatever_is_malformed() -> None:
    """MQQB-010."""
    conversation = Conversation(("192.0.2.1", 1801), ("192.0.2.7", 5))
    bad = FILE_HEADER + conversation.opened(1.0) + conversation.sent(ACK + bytes(16), 2.0)
    result = run("--json", "-", stdin=bad + recorded()[24:])
    assert result.exit_code == 1
    kinds = [json.loads(line)["kind"] for line in result.stdout.splitlines()]
    assert kinds == ["SessionAck", "Unknown", "Ping", "UserMessage", "SessionAck"]
    assert (
        f"malformed: BaseHeader.VersionNumber at offset {len(ACK)} from 192.0.2.1:1801:"
        in result.stderr
    )


def test_a_capture_that_is_cut_off_is_shown_as_far_as_it_goes() -> None:
    result = run("--json", "-", stdin=recorded()[:-1])
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 3
    assert "openmsmq: bad capture: record at offset" in result.stderr


@pytest.mark.parametrize("magic", ["d4c3b2a1", "0a0d0d0a"])
def test_a_bad_capture_is_explained(magic: str) -> None:
    result = run("-", stdin=bytes.fromhex(magic) + bytes(5))
    assert result.exit_code == 1
    assert "openmsmq: bad capture: " in result.stderr


def test_a_time_beyond_the_calendar_is_shown_as_a_number() -> None:
    interface = pack("<IIHHIHHBxxxI", 1, 28, 101, 0, 0, 9, 1, 0, 28)
    packet = recorded()[40 : 40 + 40 + 8 + 24]
    size = 32 + len(packet)
    block = pack("<IIIIIII", 6, size, 0, 0xFFFFFFFF, 0, len(packet), len(packet)) + packet
    section = pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    [document] = documents("-", stdin=section + interface + block + pack("<I", size))
    assert document["time"] == "9999-12-31T23:59:59.000000Z"


def test_a_document_lists_fields_in_the_shape_of_the_test_vectors() -> None:
    [document] = documents(PING.hex())
    assert document == {
        "kind": "Ping",
        "offset": 0,
        "size": 24,
        "fields": [
            {
                "path": "Flags",
                "offset": 0,
                "size": 2,
                "type": "u16",
                "value": 1,
                "value_hex": "0x0001",
                "bits": [
                    {"name": "RC", "shift": 0, "width": 1, "value": 1},
                    {"name": "RF", "shift": 1, "width": 1, "value": 0},
                    {"name": "X", "shift": 2, "width": 14, "value": 0},
                ],
                "meaning": "from a client system",
            },
            {
                "path": "Signature",
                "offset": 2,
                "size": 2,
                "type": "u16",
                "value": 0x5548,
                "value_hex": "0x5548",
            },
            {
                "path": "Cookie",
                "offset": 4,
                "size": 4,
                "type": "u32",
                "value": 0x1234,
                "value_hex": "0x00001234",
            },
            {
                "path": "QMGuid",
                "offset": 8,
                "size": 16,
                "type": "guid",
                "value": str(SOURCE).upper(),
            },
        ],
    }


def test_there_is_one_document_for_each_packet() -> None:
    found = documents("-", stdin=ACK + PLAIN + STORED)
    assert [document["kind"] for document in found] == [
        "SessionAck",
        "UserMessage",
        "StoredMessage",
    ]
    assert [document["offset"] for document in found] == [0, len(ACK), len(ACK) + len(PLAIN)]


def test_a_malformed_packet_is_the_last_document() -> None:
    """MQQB-010: its own offset counts from the packet, the message's from the input."""
    bad = patch(PLAIN, 4, b"LIAR")
    result = run("--json", "-", stdin=ACK + bad + ACK)
    assert result.exit_code == 1
    good, last = (json.loads(line) for line in result.stdout.splitlines())
    assert "error" not in good
    assert last["kind"] == "Unknown"
    assert last["error"]["field"] == "BaseHeader.Signature"
    assert last["error"]["offset"] == 4
    assert last["error"]["reason"] in result.stderr
    assert f"malformed: BaseHeader.Signature at offset {len(ACK) + 4}:" in result.stderr


def test_what_was_readable_is_shown_before_the_error() -> None:
    """MQQB-010."""
    result = run(patch(PLAIN, 64, pack("<H", 53)).hex())
    assert result.exit_code == 1
    assert "SourceQueueManager" in result.stdout
    assert "MessagePropertiesHeader" not in result.stdout
    assert "✗ UserHeader.DestinationQueue.Count at offset 64" in result.stdout
    assert "openmsmq: malformed: UserHeader.DestinationQueue.Count at offset 64" in result.stderr


def test_a_tree_has_a_branch_for_each_structure() -> None:
    lines = run(PLAIN.hex()).stdout.splitlines()
    assert lines[0] == f"UserMessage, {len(PLAIN)} bytes at offset 0"
    branches = [line[4:] for line in lines if line.startswith(("├── ", "└── "))]
    assert branches == ["BaseHeader", "UserHeader", "MessagePropertiesHeader"]
    assert sum(line.endswith(" DestinationQueue") for line in lines) == 1


@pytest.mark.parametrize(
    "line",
    [
        "0 VersionNumber 16 (0x10)",
        "1 Reserved 0",
        "2 Flags 3  priority 3",
        f"16 SourceQueueManager {str(SOURCE).upper()}",
        "52 SentTime 1694498816 (0x65000000)  2023-09-12T06:06:56Z",
        r'66 DirectFormatName "OS:server1\\private$\\orders"',
        '176 Label "L"',
        "180 MessageBody 68656c6c6f  text: hello",
    ],
)
def test_a_tree_shows_place_name_value_and_meaning(line: str) -> None:
    lines = [line.lstrip("│├└─ ") for line in run(PLAIN.hex()).stdout.splitlines()]
    assert line in lines


def test_long_bytes_are_cut_in_a_tree_but_not_in_a_document() -> None:
    data = EstablishConnection(EstablishConnectionHeader(SOURCE, TARGET, 1)).encode()
    assert f"Padding {'5a' * 32}… (512 bytes)  512 times 0x5A" in run(data.hex()).stdout
    [document] = documents(data.hex())
    assert document["fields"][-1]["value"] == "5a" * 512


@pytest.mark.parametrize(("size", "shown"), [(32, "62" * 32), (33, "62" * 32 + "… (33 bytes)")])
def test_32_bytes_are_not_long(size: int, shown: str) -> None:
    data = user_message(header=properties(b"b" * size)).encode()
    assert f"MessageBody {shown}  text" in run(data.hex()).stdout


@pytest.mark.parametrize(("cookie", "shown"), [(0, "0"), (9, "9"), (10, "10 (0xA)")])
def test_numbers_are_shown_in_hexadecimal_where_that_differs(cookie: int, shown: str) -> None:
    data = PingPacket(0, PING_SIGNATURE, cookie, SOURCE).pack()
    lines = [line.lstrip("│├└─ ") for line in run(data.hex()).stdout.splitlines()]
    assert f"4 Cookie {shown}" in lines


def test_text_cannot_disturb_the_terminal() -> None:
    data = user_message(header=properties(label="[bold]\x1b[31m\ud83d")).encode()
    result = run(data.hex())
    assert r'Label "[bold]\u001b[31m\ud83d"' in result.stdout
    assert "\x1b" not in result.stdout


def test_lines_for_programs_are_not_wrapped() -> None:
    data = user_message(header=properties(label="x" * 249)).encode()
    assert f'"{"x" * 249}"' in run(data.hex()).stdout


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_every_message_can_be_shown_both_ways(message: UserMessage) -> None:
    data = message.encode()
    assert run(data.hex()).exit_code == 0
    [document] = documents(data.hex())
    assert sum(field["size"] for field in document["fields"]) == len(data)


def test_a_file_that_cannot_be_read_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"00")

    def refuse(self: Path, mode: str) -> BinaryIO:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    result = CliRunner().invoke(main, ["decode", str(path)])
    assert result.exit_code == 2
    assert "cannot be read: Permission denied" in result.output


def test_a_file_that_breaks_off_is_a_usage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    path = tmp_path / "broken"
    path.write_bytes(b"00")
    monkeypatch.setattr(Path, "open", lambda self, mode: Broken())
    result = CliRunner().invoke(main, ["decode", str(path)])
    assert result.exit_code == 2
    assert "cannot be read: Input/output error" in result.output


def test_signatures_are_verified(cli: Cli) -> None:
    packet = signed(signer())
    done = cli("decode", "--verify", packet.hex())
    assert "signature 2.0 with SHA512 is right: by 'alice'" in " ".join(done.stdout.split())
    [found] = cli.objects("decode", "--verify", "--json", packet.hex())
    assert found["verdict"]["is_right"]
    at = PacketView(packet).body_offset
    wrong = packet[:at] + b"X" + packet[at + 1 :]
    assert "of other bytes" in " ".join(
        cli("decode", "--verify", wrong.hex(), code=1).stdout.split()
    )
    assert "verdict" not in cli.objects("decode", "--json", packet.hex())[0]
