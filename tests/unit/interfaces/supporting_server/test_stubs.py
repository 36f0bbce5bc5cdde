"""Arguments and results of qmcomm and qmcomm2."""

from __future__ import annotations

import pytest
from tests.strategies.dependent import target
from tests.strategies.remote_reader import ORDERS
from tests.strategies.rpc_qmcomm import STUBS
from tests.vectors.test_rpc_neighbours import VECTORS

from openmsmq.errors import Malformed
from openmsmq.interfaces.qm2qm import stubs as old
from openmsmq.interfaces.qm2qm.transfer_buffer import receive_buffer, send_buffer
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.names.format import parse_format_name
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure


def vector(name: str) -> Structure:
    """The arguments or results of a worked example."""
    found = VECTORS[name]
    return STUBS[found["method"], found["direction"]].decode(bytes.fromhex(found["stub"]))


def test_worked_requests_decode_to_their_arguments() -> None:
    """MQMP-123, MQMP-517, MQMP-520"""
    there = vector("qmcomm-03")
    assert isinstance(there, old.OpenedRemoteQueue)
    assert there.context == there.pointer == there.queue == 0x3B9C41
    assert there.encode()[:4] == bytes(4) != there.encode()[4:20]
    sent = vector("qmcomm2-01")
    assert isinstance(sent, stubs.SendMessage)
    assert (sent.buffer.body, sent.buffer.body_size) == (b"hello farm", 10)
    assert sent.buffer.relative_time_to_live == 0xFFFFFFFF
    received = vector("qmcomm2-06")
    assert isinstance(received, stubs.ReceivedBuffer)
    got = received.buffer
    assert (got.body[: got.body_needed], got.body_size, got.title_size) == (b"risk?", 16, 4)
    assert (got.part.response_size, got.part.response_needed) == (35, 35)
    opened = vector("qmcomm-32")
    assert isinstance(opened, stubs.OpenedQueue)
    assert opened.remote_name == stubs.NamePlace("agent-7\\private$\\answers")
    assert (opened.handle, opened.context) == (NULL_HANDLE, 0)


@pytest.mark.parametrize("name", [name for name in VECTORS if name.startswith("qmcomm")])
def test_worked_stubs_are_written_to_the_byte(name: str) -> None:
    """MQMP-518, MQMP-519"""
    assert vector(name).encode() == bytes.fromhex(VECTORS[name]["stub"])


@pytest.mark.parametrize(
    ("kind", "name", "at", "wrong"),
    [
        (stubs.CreateObject, "qmcomm-09", 0x40, 524289),
        (stubs.CreateObject, "qmcomm-09", 0x8C, 0),
        (stubs.CreateObject, "qmcomm-09", 0x8C, 129),
        (stubs.CreateObject, "qmcomm-09", 0x48, 63),
        (stubs.CreateObject, "qmcomm-09", 0x90, 3),
        (stubs.GetSecurity, "qmcomm-13", 0x2C, 524289),
        (stubs.GetProperties, "qmcomm-17", 0x58, 129),
        (stubs.NameOfHandle, "qmcomm-38", 0x14, 524289),
    ],
)
def test_numbers_out_of_range_are_malformed(
    kind: type[Structure], name: str, at: int, wrong: int
) -> None:
    """MQMP-067, MQMP-069, MQMP-070, MQMP-072"""
    stub = bytes.fromhex(VECTORS[name]["stub"])
    kind.decode(stub)
    with pytest.raises(Malformed):
        kind.decode(stub[:at] + wrong.to_bytes(4, "little") + stub[at + 4 :])


def test_buffers_for_tokens_are_bounded() -> None:
    """MQMP-071"""
    stubs.GetWhereabouts.decode((131072).to_bytes(4, "little"))
    with pytest.raises(Malformed):
        stubs.GetWhereabouts.decode((131073).to_bytes(4, "little"))
    with pytest.raises(Malformed):
        stubs.Enlist.decode(bytes(16) + (131073).to_bytes(4, "little") * 2 + bytes(131073))


def test_texts_end_with_a_null() -> None:
    """MQMP-068"""
    stub = stubs.PathToFormat("ab", target(ORDERS)).encode()
    with pytest.raises(Malformed):
        stubs.PathToFormat.decode(stub[:16] + b"x" + stub[17:])


def test_pointers_are_where_the_declaration_has_them() -> None:
    """MQMP-080, MQMP-081, MQMP-083, MQMP-085, MQMP-086, MQMP-087"""
    name = QueueFormatArgument.of(parse_format_name(ORDERS))
    place = stubs.NamePlace(None)
    guid = NULL_HANDLE
    open_here = stubs.OpenInternal(name, 1, 0, 0, place, 0, guid, "C", 0, 0).encode()
    open_there = old.OpenRemoteQueue(name, 0, 1, 0, guid, 0).encode()
    assert open_here[0] == 3, "m_qft comes first"
    assert (open_there[:4] != bytes(4), open_there[4]) == (True, 3)
    empty = stubs.OpenedQueue(place, 0, guid, 0).encode()
    assert (empty[:4] != bytes(4), empty[4:8]) == (True, bytes(4))
    assert stubs.OpenedQueue(None, 0, guid, 0).encode()[:4] == bytes(4)
    full = stubs.OpenedQueue(stubs.NamePlace("a"), 0, guid, 0).encode()
    assert full[:4] != full[4:8] != bytes(4)
    assert len(stubs.RegistryResult("a", 0).encode()) == 4 + 12 + 4 + 4
    assert len(old.HandleArgument(guid).encode()) == 20, "no result follows"
    assert stubs.Enlist(bytes(range(16)), 0, b"").encode()[:16] == bytes(range(16))
    change = stubs.SetProperties(target(ORDERS), 1, None, None).encode()
    assert change[-8:] == bytes(8)


def test_buffers_have_their_fixed_parts() -> None:
    """MQMP-088, MQMP-092: what pointers lead to follows in the order of the fields."""
    assert len(stubs.ReceivedBuffer(send_buffer(), 0).encode()) == 240 + 4
    assert len(stubs.ReceivedBuffer(receive_buffer({}), 0).encode()) == 296 + 4
    given = receive_buffer({}, title=(1,), title_size=1, correlation_id=bytes(20), trace=1)
    stub = stubs.ReceivedBuffer(given, 0).encode()
    behind = stub[296:]
    assert behind[4:8] == (20).to_bytes(4, "little"), "an inner pointer, then the array"
    assert behind[36 + 4 : 36 + 8] == (1).to_bytes(4, "little")


def test_an_inner_null_is_null() -> None:
    """MQMP-090"""
    stub = bytearray(stubs.ReceivedBuffer(send_buffer(title=(1,), title_size=1), 0).encode())
    assert stub[240:244] != bytes(4)
    cut = bytes(stub[:240]) + bytes(4) + bytes(4)
    found = stubs.ReceivedBuffer.decode(cut)
    assert (found.buffer.title, found.buffer.title_size) == (None, 1)
