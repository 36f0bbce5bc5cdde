"""Worked stubs of interfaces beside RemoteRead, to the byte: what the codec has to be good for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.strategies.rpc_qmcomm import STUBS

from openmsmq.errors import Malformed
from openmsmq.interfaces.management.stubs import GetInfo, GetInfoResults
from openmsmq.interfaces.qm2qm.stubs import StartReadResult
from openmsmq.interfaces.variants import NULL
from openmsmq.rpc.ndr.kinds import NdrKind
from openmsmq.rpc.ndr.structure import Structure

VECTORS = json.loads((Path(__file__).parent / "rpc" / "neighbours.json").read_text())["vectors"]


def declared(name: str) -> tuple[type[Structure], bytes]:
    found = VECTORS[name]
    return STUBS[found["method"], found["direction"]], bytes.fromhex(found["stub"])


@pytest.mark.parametrize("name", VECTORS)
def test_a_stub_is_read_and_written_to_the_byte(name: str) -> None:
    kind, stub = declared(name)
    assert kind.decode(stub).encode() == stub


@pytest.mark.parametrize("name", VECTORS)
def test_a_stub_that_is_cut_is_malformed(name: str) -> None:
    kind, stub = declared(name)
    for size in range(len(stub)):
        with pytest.raises(Malformed):
            kind.decode(stub[:size])


def test_the_values_are_those_of_the_example() -> None:
    kind, stub = declared("qmmgmt-02")
    values = kind.decode(stub)
    assert isinstance(values, GetInfoResults)
    queues, private, server, connected, machine, size = values.values
    assert queues.value.elements == (
        "DIRECT=OS:farm-i\\private$\\quotes",
        "DIRECT=OS:agent-7\\private$\\answers",
    )
    assert private.value.elements == ("farm-i\\private$\\quotes",)
    assert server == NULL
    assert (connected.value, machine.value, size.value) == ("CONNECTED", "", 0x100002468)
    kind, stub = declared("qm2qm-08")
    read = kind.decode(stub)
    assert isinstance(read, StartReadResult)
    assert len(read.description.data or b"") == read.description.size == 0x90


def test_vectors_within_vectors_are_read() -> None:
    """CONNECTION_HISTORY: the last of four vectors is one of variants."""
    kind, stub = declared("qmmgmt-12")
    values = kind.decode(stub)
    assert isinstance(values, GetInfoResults)
    history = [value for value in values.values if value.vartype == 0x100C]
    assert history
    assert history[0].value.elements[-1].vartype == 0x100C


@pytest.mark.parametrize(
    ("offset", "wrong"), [(2, 2), (0, 4), (8, 0), (8, 129), (12, 5), (0x38, 2)]
)
def test_what_contradicts_itself_is_malformed(offset: int, wrong: int) -> None:
    """Tags, counts and ranges of R_QMMgmtGetInfo."""
    _, stub = declared("qmmgmt-01")
    broken = stub[:offset] + bytes([wrong]) + stub[offset + 1 :]
    with pytest.raises(Malformed):
        GetInfo.decode(broken)


def test_every_declaration_has_an_example() -> None:
    used = {(found["method"], found["direction"]) for found in VECTORS.values()}
    assert used == STUBS.keys()
    assert all(issubclass(kind, Structure) for kind in STUBS.values())
    assert not any(isinstance(kind, NdrKind) for kind in STUBS.values())
