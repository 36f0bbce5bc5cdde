"""The endpoint mapper, called over the machines of both sides."""

from __future__ import annotations

from ipaddress import IPv4Address
from uuid import UUID

import pytest
from tests.strategies.rpc import Pair, make_acceptor, numbers

from openmsmq.interfaces.endpoint_mapper.mapper import EndpointMapper, Registration
from openmsmq.interfaces.endpoint_mapper.stubs import (
    ENDPOINT_MAPPER,
    NOT_FOUND,
    FreeArguments,
    FreeResults,
    InterfaceId,
    LookupArguments,
    LookupResults,
    MapArguments,
    MapperOpnum,
    MapResults,
)
from openmsmq.interfaces.endpoint_mapper.tower import Tower, query
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.server import RpcServer
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.rpc.syntax import NDR, NDR64, SyntaxId

ADDRESS = IPv4Address("192.0.2.7")
OTHER = SyntaxId.of("41208ee0-e970-11d1-9b9e-00e02c064c39", 1)
REGISTERED = [
    Registration(REMOTE_READ, "RemoteRead", ADDRESS, 2105),
    Registration(REMOTE_READ, "RemoteRead", ADDRESS, 2103),
    Registration(OTHER, "qmmgmt", ADDRESS, 2105),
]


@pytest.fixture
def mapper() -> Pair:
    """A client of a mapper that would ask for privacy."""
    interface = EndpointMapper(REGISTERED).interface
    server = RpcServer([interface], numbers(), make_acceptor, lambda _: AuthLevel.PRIVACY)
    return Pair(server, syntax=ENDPOINT_MAPPER)


def call(pair: Pair, opnum: int, arguments: Structure) -> bytes | Exception:
    pair.call(opnum, arguments.encode())
    return pair.run()[-1]


def map_towers(pair: Pair, tower: bytes | None, most: int = 4) -> MapResults:
    answer = call(pair, MapperOpnum.MAP, MapArguments(None, tower, NULL_HANDLE, most))
    assert isinstance(answer, bytes)
    return MapResults.decode(answer)


def look_up(
    pair: Pair, inquiry: int = 0, most: int = 500, handle: UUID = NULL_HANDLE
) -> LookupResults:
    interface = InterfaceId(OTHER.uuid, 1, 0)
    asked = LookupArguments(inquiry, None, interface, 1, handle, most)
    answer = call(pair, MapperOpnum.LOOKUP, asked)
    assert isinstance(answer, bytes)
    return LookupResults.decode(answer)


def test_an_interface_is_found_without_authentication(mapper: Pair) -> None:
    """MQRR-005, MQRR-439, MQRR-440"""
    results = map_towers(mapper, query(REMOTE_READ).encode())
    towers = [Tower.decode(tower) for tower in results.towers.items]
    assert [(tower.port, tower.address) for tower in towers] == [(2105, ADDRESS), (2103, ADDRESS)]
    assert (results.count, results.status, results.handle) == (2, 0, NULL_HANDLE)


def test_no_more_towers_are_returned_than_were_asked_for(mapper: Pair) -> None:
    assert map_towers(mapper, query(REMOTE_READ).encode(), 1).count == 1
    assert map_towers(mapper, query(REMOTE_READ).encode(), 0).status == NOT_FOUND


@pytest.mark.parametrize(
    "tower",
    [
        None,
        b"",
        b"no tower at all",
        query(SyntaxId.of("00000000-0000-0000-0000-000000000001", 1)).encode(),
        query(SyntaxId.of(str(REMOTE_READ.uuid), 2)).encode(),
        query(SyntaxId.of(str(REMOTE_READ.uuid), 1, 1)).encode(),
        Tower(REMOTE_READ, NDR64, 0, ADDRESS).encode(),
    ],
)
def test_what_is_not_there_is_not_found(mapper: Pair, tower: bytes | None) -> None:
    """MQRR-439"""
    results = map_towers(mapper, tower)
    assert (results.count, results.status) == (0, NOT_FOUND)


def test_nothing_is_registered_for_an_object(mapper: Pair) -> None:
    tower = query(REMOTE_READ).encode()
    for object_uuid, count in ((UUID(int=5), 0), (UUID(int=0), 2)):
        asked = MapArguments(object_uuid, tower, NULL_HANDLE, 4)
        answer = call(mapper, MapperOpnum.MAP, asked)
        assert isinstance(answer, bytes)
        assert MapResults.decode(answer).count == count
    assert look_up(mapper, inquiry=2).status == NOT_FOUND


def test_all_entries_are_listed_or_those_of_an_interface(mapper: Pair) -> None:
    names = [entry.annotation for entry in look_up(mapper).entries.items]
    assert names == [b"RemoteRead", b"RemoteRead", b"qmmgmt"]
    [entry] = look_up(mapper, inquiry=1).entries.items
    assert Tower.decode(entry.tower) == Tower(OTHER, NDR, 2105, ADDRESS)


def test_a_handle_goes_on_where_an_answer_ended(mapper: Pair) -> None:
    first = look_up(mapper, most=2)
    assert (first.count, first.status) == (2, 0)
    assert first.handle != NULL_HANDLE
    second = look_up(mapper, most=2, handle=first.handle)
    assert (second.count, second.handle) == (1, NULL_HANDLE)
    mapper.call(MapperOpnum.LOOKUP, LookupArguments(0, None, None, 1, first.handle, 2).encode())
    fault = mapper.run()[-1]
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.CONTEXT_MISMATCH


def test_a_handle_can_be_freed(mapper: Pair) -> None:
    handle = look_up(mapper, most=1).handle
    for one in (handle, NULL_HANDLE):
        answer = call(mapper, MapperOpnum.LOOKUP_HANDLE_FREE, FreeArguments(one))
        assert isinstance(answer, bytes)
        assert FreeResults.decode(answer) == FreeResults(NULL_HANDLE, 0)
    assert isinstance(call(mapper, MapperOpnum.LOOKUP_HANDLE_FREE, FreeArguments(handle)), RpcFault)


@pytest.mark.parametrize("opnum", [MapperOpnum.INSERT, MapperOpnum.DELETE])
def test_no_one_registers_anything(mapper: Pair, opnum: int) -> None:
    fault = call(mapper, opnum, FreeArguments(NULL_HANDLE))
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.CANNOT_PERFORM
