"""Remote calls: what is written is read again; garbage ends in a fault or a closed connection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.rpc_targets import rpc_client, rpc_server, rpc_stub, rpc_token
from tests.strategies.rpc import ECHO, Pair, data, make_channel, make_server
from tests.strategies.rpc_stubs import Everything, everything

from openmsmq.errors import Malformed
from openmsmq.rpc.auth.context import AuthLevel, AuthType

LEVELS = st.sampled_from(AuthLevel)
TYPES = st.sampled_from([AuthType.NTLM, AuthType.SPNEGO])


@given(everything())
def test_arguments_are_read_as_they_were_written(value: Everything) -> None:
    assert Everything.decode(value.encode()) == value


@given(everything(), st.data())
def test_arguments_that_are_cut_short_are_malformed(value: Everything, cuts: st.DataObject) -> None:
    """MQRR-022"""
    stub = value.encode()
    with pytest.raises(Malformed):
        Everything.decode(stub[: cuts.draw(st.integers(0, len(stub) - 1))])


@given(everything(), st.data())
def test_a_changed_byte_is_read_or_malformed(value: Everything, changes: st.DataObject) -> None:
    stub = bytearray(value.encode())
    for _ in range(3):
        stub[changes.draw(st.integers(0, len(stub) - 1))] = changes.draw(st.integers(0, 255))
    rpc_stub(bytes(stub))


@given(st.binary(max_size=300))
def test_garbage_breaks_no_promise(garbage: bytes) -> None:
    rpc_stub(garbage)
    rpc_token(garbage)
    rpc_server(garbage)
    rpc_client(garbage)


@given(LEVELS, TYPES, st.lists(st.integers(0, 20_000), max_size=4), st.data())
def test_calls_are_answered_however_the_stream_is_cut(
    level: int, auth_type: int, sizes: list[int], cuts: st.DataObject
) -> None:
    server, _ = make_server(level)
    pair = Pair(server, make_channel(level, auth_type))
    for size in sizes:
        pair.call(ECHO, data(size))
    while (sent := pair.client_wire.take()) or pair.server_wire.out:
        at = cuts.draw(st.integers(0, len(sent)))
        pair.server.receive_data(sent[:at], 0)
        pair.server.receive_data(sent[at:], 0)
        answered = pair.server_wire.take()
        at = cuts.draw(st.integers(0, len(answered)))
        pair.client.receive_data(answered[:at], 0)
        pair.client.receive_data(answered[at:], 0)
    assert pair.answers == [data(size) for size in sizes]


@given(st.data())
def test_a_conversation_with_changed_bytes_is_answered_or_closed(changes: st.DataObject) -> None:
    """Whatever a peer in between changes, neither machine raises, and every call ends once."""
    level = changes.draw(LEVELS)
    pair = Pair(make_server(level)[0], make_channel(level))
    for size in (3, 6000):
        pair.call(ECHO, data(size))
    for _ in range(8):
        sent = bytearray(pair.client_wire.take())
        if sent and changes.draw(st.booleans()):
            sent[changes.draw(st.integers(0, len(sent) - 1))] ^= changes.draw(st.integers(1, 255))
        pair.server.receive_data(bytes(sent), 0)
        answered = bytearray(pair.server_wire.take())
        if answered and changes.draw(st.booleans()):
            at = changes.draw(st.integers(0, len(answered) - 1))
            answered[at] ^= changes.draw(st.integers(1, 255))
        pair.client.receive_data(bytes(answered), 0)
    pair.client.lost()
    assert len(pair.answers) == 2
