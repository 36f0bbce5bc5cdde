"""The protection of requests and responses."""

from __future__ import annotations

import pytest
from tests.strategies.rpc import make_acceptor, make_channel

from openmsmq.rpc.auth.channel import SecureChannel
from openmsmq.rpc.auth.context import AuthenticationFailed, AuthLevel, AuthType
from openmsmq.rpc.limits import FRAGMENT_SIZE, FRAGMENT_SIZE_LEAST
from openmsmq.rpc.pdu import Pdu, PduType, RequestHeader

LEVELS = [AuthLevel.NONE, AuthLevel.CONNECT, AuthLevel.PACKET, AuthLevel.INTEGRITY]
ALL_LEVELS = pytest.mark.parametrize("level", [*LEVELS, AuthLevel.PRIVACY])


def pair(level: int) -> tuple[SecureChannel, SecureChannel]:
    """Both ends of a channel."""
    client = make_channel(level)
    if client.context is None:
        return client, SecureChannel()
    server = make_acceptor(AuthType.NTLM)
    assert server is not None
    server.step(client.context.step(server.step(client.context.step(b""))))
    return client, SecureChannel(level, client.auth_type, client.context_id, server)


def opened(channel: SecureChannel, fragments: list[bytes]) -> list[bytes]:
    pdus = [Pdu.parse(fragment) for fragment in fragments]
    return [channel.open(pdu, RequestHeader.read(pdu).stub_offset) for pdu in pdus]


@ALL_LEVELS
@pytest.mark.parametrize("size", [0, 1, 15, 16, 5000, 100_000])
def test_fragments_carry_the_stub_to_the_other_side(level: int, size: int) -> None:
    """MQRR-430"""
    client, server = pair(level)
    stub = bytes(at & 0xFF for at in range(size))
    fragments = client.fragments(PduType.REQUEST, 4, 0, 7, stub, FRAGMENT_SIZE_LEAST)
    assert all(len(fragment) <= FRAGMENT_SIZE_LEAST for fragment in fragments)
    assert b"".join(opened(server, fragments)) == stub


@ALL_LEVELS
def test_every_fragment_says_where_it_belongs(level: int) -> None:
    """MQRR-426, MQRR-431"""
    client, _ = pair(level)
    fragments = client.fragments(PduType.REQUEST, 4, 0, 7, bytes(5000), FRAGMENT_SIZE_LEAST)
    pdus = [Pdu.parse(fragment) for fragment in fragments]
    assert [pdu.is_first for pdu in pdus] == [True, *[False] * (len(pdus) - 1)]
    assert [pdu.is_last for pdu in pdus] == [*[False] * (len(pdus) - 1), True]
    requests = [RequestHeader.read(pdu) for pdu in pdus]
    assert {(r.context_id, r.opnum) for r in requests} == {(0, 7)}
    assert requests[0].alloc_hint == 5000
    if level >= AuthLevel.PACKET:
        found = {
            (pdu.verifier.auth_type, pdu.verifier.auth_level, pdu.verifier.context_id)
            for pdu in pdus
            if pdu.verifier
        }
        assert found == {(AuthType.NTLM, level, 79)}
        assert all(pdu.verifier for pdu in pdus)


def test_a_fragment_has_room_for_as_much_as_the_protection_leaves() -> None:
    assert SecureChannel().stub_size(FRAGMENT_SIZE) == 5816
    assert pair(AuthLevel.PRIVACY)[0].stub_size(FRAGMENT_SIZE) == 5792


def test_only_privacy_hides_the_stub() -> None:
    secret = b"the stub of a request"
    for level in (AuthLevel.CONNECT, AuthLevel.PACKET, AuthLevel.INTEGRITY, AuthLevel.PRIVACY):
        [fragment] = pair(level)[0].fragments(PduType.REQUEST, 4, 0, 7, secret, FRAGMENT_SIZE)
        assert (secret in fragment) == (level != AuthLevel.PRIVACY)


@pytest.mark.parametrize("level", [AuthLevel.PACKET, AuthLevel.INTEGRITY, AuthLevel.PRIVACY])
@pytest.mark.parametrize("at", [12, 22, 30, -17, -1])
def test_a_changed_bit_is_refused_wherever_it_is(level: int, at: int) -> None:
    """MQRR-424"""
    client, server = pair(level)
    [fragment] = client.fragments(PduType.REQUEST, 4, 0, 7, bytes(32), FRAGMENT_SIZE)
    changed = bytearray(fragment)
    changed[at] ^= 1
    with pytest.raises(AuthenticationFailed):
        opened(server, [bytes(changed)])


def test_a_fragment_without_protection_is_refused() -> None:
    _, server = pair(AuthLevel.PRIVACY)
    plain = SecureChannel().fragments(PduType.REQUEST, 4, 0, 7, bytes(32), FRAGMENT_SIZE)
    with pytest.raises(AuthenticationFailed, match="without a verifier"):
        opened(server, plain)


def test_a_fragment_of_a_lower_level_is_refused() -> None:
    client, server = pair(AuthLevel.PRIVACY)
    client.level = AuthLevel.INTEGRITY
    fragments = client.fragments(PduType.REQUEST, 4, 0, 7, bytes(32), FRAGMENT_SIZE)
    with pytest.raises(AuthenticationFailed, match="level"):
        opened(server, fragments)


def test_more_padding_than_stub_is_refused() -> None:
    client, server = pair(AuthLevel.PACKET)
    [fragment] = client.fragments(PduType.REQUEST, 4, 0, 7, b"", FRAGMENT_SIZE)
    pdu = Pdu.parse(fragment)
    assert pdu.verifier is not None
    wrong = fragment[: pdu.end + 2] + b"\x04" + fragment[pdu.end + 3 :]
    with pytest.raises(AuthenticationFailed):
        opened(server, [wrong])
    with pytest.raises(AuthenticationFailed, match="more padding"):
        opened(SecureChannel(), [wrong])
