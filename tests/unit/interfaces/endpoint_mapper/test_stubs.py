"""Arguments and results of the endpoint mapper."""

from __future__ import annotations

import json
from ipaddress import IPv4Address
from pathlib import Path
from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.interfaces.endpoint_mapper.stubs import (
    NOT_FOUND,
    InterfaceId,
    Listed,
    LookupArguments,
    LookupResults,
    MapArguments,
    MapEntry,
    MapResults,
)
from openmsmq.interfaces.endpoint_mapper.tower import Tower, query
from openmsmq.interfaces.limits import TOWER_SIZE_MAX
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.syntax import NDR

VECTORS = json.loads(
    (Path(__file__).parents[3] / "vectors" / "rpc" / "endpoint-mapper.json").read_text()
)["vectors"]
NIL = UUID(int=0)
TOWER = Tower(REMOTE_READ, NDR, 2103, IPv4Address("10.0.0.5")).encode()
STUBS: dict[str, Structure] = {
    "map-request": MapArguments(NIL, query(REMOTE_READ).encode(), NULL_HANDLE, 4),
    "map-reply": MapResults(NULL_HANDLE, 1, Listed(4, (TOWER,)), 0),
    "map-reply-none": MapResults(NULL_HANDLE, 0, Listed(4, ()), NOT_FOUND),
}
REFERENTS = {"map-request": [0, 20], "map-reply": [36], "map-reply-none": []}


@pytest.mark.parametrize("name", STUBS)
def test_the_worked_stubs_are_read_and_written_except_for_the_numbers_of_pointers(
    name: str,
) -> None:
    expected = bytes.fromhex(VECTORS[name])
    assert type(STUBS[name]).decode(expected) == STUBS[name]
    written, masked = bytearray(STUBS[name].encode()), bytearray(expected)
    for at in REFERENTS[name]:
        assert written[at : at + 4] != bytes(4)
        written[at : at + 4] = masked[at : at + 4] = bytes(4)
    assert written.hex() == masked.hex()


def test_a_lookup_and_its_entries_travel() -> None:
    interface = InterfaceId(REMOTE_READ.uuid, 1, 0)
    for asked in (
        LookupArguments(0, None, None, 1, NULL_HANDLE, 500),
        LookupArguments(1, NIL, interface, 1, UUID(int=5), 1),
    ):
        assert LookupArguments.decode(asked.encode()) == asked
    entries = (MapEntry(NIL, TOWER, b"RemoteRead"), MapEntry(NIL, TOWER, b""))
    results = LookupResults(UUID(int=7), 2, Listed(10, entries), 0)
    assert LookupResults.decode(results.encode()) == results


@pytest.mark.parametrize("wanted", [501, 0xFFFFFFFF])
def test_no_one_gets_more_than_500_at_once(wanted: int) -> None:
    stub = MapArguments(None, None, NULL_HANDLE, wanted).encode()
    with pytest.raises(Malformed, match="is more than 500"):
        MapArguments.decode(stub)


def test_a_tower_that_is_too_long_is_malformed() -> None:
    stub = MapArguments(None, bytes(TOWER_SIZE_MAX + 1), NULL_HANDLE, 4).encode()
    with pytest.raises(Malformed, match="a tower cannot have 2001 bytes"):
        MapArguments.decode(stub)


def test_an_annotation_has_at_most_64_characters() -> None:
    entry = MapEntry(NIL, None, b"x" * 64)
    with pytest.raises(Malformed, match="65 characters"):
        LookupResults.decode(LookupResults(NIL, 1, Listed(1, (entry,)), 0).encode())
