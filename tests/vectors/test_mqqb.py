"""The example frames of [MS-MQQB] 4.1 and the project's own derived frames, both ways.

`mqqb-f*` are the specification's frames, with the disagreements between its bytes and its text
noted in each file; `derived-mqqb-d*` were built by hand from the rules for packets that no
specification shows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openmsmq.packet.describe import Description, describe
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.ping import PingPacket
from openmsmq.wire.reader import Reader

FOLDER = Path(__file__).parent / "mqqb"
VECTORS = sorted(FOLDER.glob("*.json"))
TRUNCATED = "mqqb-f7-user-message-asprinted"


def load(path: Path) -> tuple[dict[str, Any], bytes]:
    vector: dict[str, Any] = json.loads(path.read_text())
    return vector, bytes.fromhex((FOLDER / vector["hex_file"]).read_text())


def expected_value(field: dict[str, Any]) -> Any:
    """The value a vector states, with its shorthands for long runs of bytes written out."""
    match field["type"]:
        case "fill":
            return bytes([field["value"]["byte"]] * field["value"]["count"]).hex()
        case "repeat2":
            return str(field["value"]["pattern"]) * field["value"]["count"]
        case _:
            return field["value"]


def fields_of(description: Description) -> list[tuple[str, int, int, Any]]:
    return [(f.path.casefold(), f.offset, f.size, f.value) for f in description.fields]


def fields_expected(vector: dict[str, Any]) -> list[tuple[str, int, int, Any]]:
    return [
        (f["path"].casefold(), f["offset"], f["size"], expected_value(f)) for f in vector["fields"]
    ]


def test_there_are_fifteen_vectors() -> None:
    assert len(VECTORS) == 15


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_field_is_decoded(path: Path) -> None:
    """MQQB-041, MQQB-077, MQQB-116, MQQB-143: value, place and size of each field."""
    vector, data = load(path)
    [description] = describe(data)
    expected = fields_expected(vector)
    if path.stem == TRUNCATED:
        assert description.error is not None
        assert description.error.field == "MessagePropertiesHeader.MessageBody"
        assert description.error.offset == expected[-1][1]
        expected.pop()
    else:
        assert description.error is None
    assert fields_of(description) == expected


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_group_of_bits_is_named_and_read(path: Path) -> None:
    """MQQB-018, MQQB-029, MQQB-061: reserved groups are shown and change nothing."""
    vector, data = load(path)
    [description] = describe(data)
    found = {f.path: f for f in description.fields}
    for field in vector["fields"]:
        if "bits" in field:
            bits = found[field["path"]].bits
            assert bits is not None
            stated = [(b["name"], b["shift"], b["width"]) for b in field["bits"]]
            assert list(bits.GROUPS) == stated
            assert bits.split(field["value"]) == {b["name"]: b["value"] for b in field["bits"]}


@pytest.mark.parametrize("path", [p for p in VECTORS if p.stem != TRUNCATED], ids=lambda p: p.stem)
def test_the_encoder_gives_the_same_bytes(path: Path) -> None:
    """MQQB-041, MQQB-077, MQQB-116, MQQB-143: the decoded packet encodes to what it came from."""
    vector, data = load(path)
    if vector["transport"] == "UDP":
        assert PingPacket.read(Reader(data)).pack() == data
    else:
        assert decode_packet(data).encode() == data
