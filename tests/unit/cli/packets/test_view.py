"""Packets for people and for programs; `test_decode.py` shows many more of them."""

from __future__ import annotations

import pytest
from tests.samples import MESSAGES, SOURCE

from openmsmq.cli.packets.view import packet_json, print_packet
from openmsmq.packet.describe import describe
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket

PING = PingPacket(0, PING_SIGNATURE, 7, SOURCE).pack()


def test_a_tree_shows_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    [description] = describe(PING)
    print_packet(description)
    assert capsys.readouterr().out.splitlines() == [
        "Ping, 24 bytes at offset 0",
        "├──     0 Flags 0  from a server system",
        "├──     2 Signature 21832 (0x5548)",
        "├──     4 Cookie 7",
        f"└──     8 QMGuid {str(SOURCE).upper()}",
    ]


def test_a_document_has_every_field() -> None:
    [description] = describe(MESSAGES["all"].encode())
    document = packet_json(description)
    assert [field["path"] for field in document["fields"]] == [f.path for f in description.fields]
    assert "error" not in document


def test_what_is_wrong_stands_below_what_was_readable(capsys: pytest.CaptureFixture[str]) -> None:
    [description] = describe(PING[:20])
    print_packet(description)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "└── ✗ QMGuid at offset 8: needs 16 bytes, 12 are left"
    assert packet_json(description)["error"] == {
        "field": "QMGuid",
        "offset": 8,
        "reason": "needs 16 bytes, 12 are left",
    }
