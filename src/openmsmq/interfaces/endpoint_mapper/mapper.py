"""The endpoint mapper: tells clients the ports of the interfaces of this server.

Nothing can be registered from outside, and only TCP over IPv4 is known: what ept_map returns has
no room for more ([MS-RPCE] 3.1.3.5.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Final

from openmsmq.errors import Malformed
from openmsmq.interfaces.endpoint_mapper.stubs import (
    ENDPOINT_MAPPER,
    NOT_FOUND,
    FreeArguments,
    FreeResults,
    InterfaceId,
    Listed,
    LookupArguments,
    LookupResults,
    MapArguments,
    MapEntry,
    MapperOpnum,
    MapResults,
)
from openmsmq.interfaces.endpoint_mapper.tower import Tower
from openmsmq.rpc.interface import RpcCall, RpcInterface, RpcMethod
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure, structure
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.rpc.syntax import NDR, SyntaxId

NO_OBJECT: Final = NULL_HANDLE
ALL_ENTRIES, BY_INTERFACE, BY_OBJECT, BY_BOTH = range(4)
"How ept_lookup chooses (C706 appendix O)."


@dataclass(frozen=True, slots=True)
class Registration:
    """An interface and the port that serves it."""

    interface: SyntaxId
    name: str
    address: IPv4Address
    port: int

    def tower(self) -> bytes:
        """How to reach it."""
        return Tower(self.interface, NDR, self.port, self.address).encode()


@structure
class Anything(Structure):
    """Arguments that are not looked at."""


class _Rest:
    """Entries of a lookup that did not fit its answer."""

    def __init__(self, entries: list[MapEntry]) -> None:
        self.entries = entries

    def run_down(self) -> None:
        """There is nothing to undo."""


class EndpointMapper:
    """Answers where interfaces are."""

    def __init__(self, registrations: Iterable[Registration]) -> None:
        self.registrations = list(registrations)
        methods = {
            MapperOpnum.INSERT: ("ept_insert", Anything, self._refuse),
            MapperOpnum.DELETE: ("ept_delete", Anything, self._refuse),
            MapperOpnum.LOOKUP: ("ept_lookup", LookupArguments, self._lookup),
            MapperOpnum.MAP: ("ept_map", MapArguments, self._map),
            MapperOpnum.LOOKUP_HANDLE_FREE: ("ept_lookup_handle_free", FreeArguments, self._free),
        }
        self.interface = RpcInterface(
            "endpoint mapper",
            ENDPOINT_MAPPER,
            {
                opnum: RpcMethod(name, arguments, handle, needs_authentication=False)
                for opnum, (name, arguments, handle) in methods.items()
            },
        )

    def _refuse(self, call: RpcCall) -> None:
        """Others cannot register interfaces here."""
        raise RpcFault(RpcStatus.CANNOT_PERFORM)

    def _map(self, call: RpcCall) -> None:
        """ept_map ([MS-RPCE] 2.2.1.2.5, 3.1.3.5.3): the address in the question is ignored."""
        asked = call.args(MapArguments)
        towers: list[bytes] = []
        try:
            wanted = Tower.decode(asked.tower or b"")
        except Malformed:
            pass
        else:
            if asked.object_uuid in (None, NO_OBJECT) and wanted.transfer == NDR:
                towers = [one.tower() for one in self.registrations if _serves(one, wanted)]
        found = tuple(towers[: asked.towers_max])
        listed = Listed(asked.towers_max, found)
        status = 0 if found else NOT_FOUND
        call.respond(MapResults(NULL_HANDLE, len(found), listed, status))

    def _lookup(self, call: RpcCall) -> None:
        """ept_lookup ([MS-RPCE] 2.2.1.2.4), with a handle for what does not fit the answer."""
        asked = call.args(LookupArguments)
        if asked.handle == NULL_HANDLE:
            entries = self._entries(asked)
        else:
            entries = call.association.find(asked.handle, _Rest).entries
            call.association.remove(asked.handle)
        now, later = entries[: asked.entries_max], entries[asked.entries_max :]
        handle = call.association.add(_Rest(later)) if later and now else NULL_HANDLE
        status = 0 if now else NOT_FOUND
        listed = Listed(asked.entries_max, tuple(now))
        call.respond(LookupResults(handle, len(now), listed, status))

    def _entries(self, asked: LookupArguments) -> list[MapEntry]:
        if asked.inquiry not in (ALL_ENTRIES, BY_INTERFACE):
            return []  # nothing is registered for an object
        wanted = asked.interface if asked.inquiry == BY_INTERFACE else None
        return [
            MapEntry(NO_OBJECT, one.tower(), one.name.encode("ascii"))
            for one in self.registrations
            if wanted is None or _is_named(one, wanted)
        ]

    def _free(self, call: RpcCall) -> None:
        handle = call.args(FreeArguments).handle
        if handle != NULL_HANDLE:
            call.association.find(handle, _Rest)
            call.association.remove(handle)
        call.respond(FreeResults(NULL_HANDLE, 0))


def _serves(one: Registration, wanted: Tower) -> bool:
    """Whether an interface is the one that a tower asks for, or a newer minor version of it."""
    asked, known = wanted.interface, one.interface
    return (known.uuid, known.major) == (asked.uuid, asked.major) and known.minor >= asked.minor


def _is_named(one: Registration, wanted: InterfaceId) -> bool:
    return one.interface.uuid == wanted.uuid
