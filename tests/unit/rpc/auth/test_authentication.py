"""The server's part in an authentication."""

from __future__ import annotations

import pytest
from tests.strategies.rpc import make_acceptor, make_channel

from openmsmq.rpc.auth.authentication import Authentication, UnknownType
from openmsmq.rpc.auth.context import AuthenticationFailed, AuthLevel, AuthType
from openmsmq.rpc.limits import LEGS_MAX, TOKEN_SIZE_MAX
from openmsmq.rpc.pdu import WHOLE, Pdu, PduType, Verifier, encode_pdu


def pdu(token: bytes, auth_type: int = AuthType.NTLM, level: int = 6, context_id: int = 79) -> Pdu:
    verifier = Verifier(auth_type, level, context_id, token)
    return Pdu.parse(encode_pdu(PduType.AUTH3, WHOLE, 1, bytes(4), verifier))


def test_the_channel_is_protected_when_both_sides_agree() -> None:
    authentication, client = Authentication(make_acceptor), make_channel(AuthLevel.PRIVACY).context
    assert client is not None
    answer = authentication.take(pdu(client.step(b"")))
    assert answer is not None
    assert authentication.is_unfinished
    assert authentication.channel.level == AuthLevel.NONE
    assert authentication.take(pdu(client.step(answer.token))) is None
    assert not authentication.is_unfinished
    assert authentication.channel.level == AuthLevel.PRIVACY


def test_a_token_that_is_repeated_afterwards_is_ignored() -> None:
    authentication, client = Authentication(make_acceptor), make_channel(AuthLevel.CONNECT).context
    assert client is not None
    answer = authentication.take(pdu(client.step(b""), level=2))
    assert answer is not None
    last = pdu(client.step(answer.token), level=2)
    authentication.take(last)
    assert authentication.take(last) is None
    assert not authentication.has_failed


def test_a_second_security_context_is_refused_and_the_first_goes_on() -> None:
    """Multiplexing was not negotiated."""
    authentication, client = Authentication(make_acceptor), make_channel(AuthLevel.CONNECT).context
    assert client is not None
    answer = authentication.take(pdu(client.step(b""), level=2))
    assert answer is not None
    authentication.take(pdu(client.step(answer.token), level=2))
    other = make_channel(AuthLevel.CONNECT).context
    assert other is not None
    with pytest.raises(AuthenticationFailed, match="second"):
        authentication.take(pdu(other.step(b""), level=2, context_id=80))
    assert not authentication.has_failed
    assert (authentication.channel.context_id, authentication.is_unfinished) == (79, False)


def test_a_pdu_without_a_token_asks_for_nothing() -> None:
    authentication = Authentication(make_acceptor)
    assert authentication.take(Pdu.parse(encode_pdu(PduType.BIND, WHOLE, 1, b""))) is None
    assert not authentication.is_unfinished


@pytest.mark.parametrize(("auth_type", "level"), [(0x44, 6), (AuthType.NTLM, 1), (10, 7)])
def test_unknown_types_and_levels_are_refused(auth_type: int, level: int) -> None:
    authentication = Authentication(make_acceptor)
    with pytest.raises(UnknownType):
        authentication.take(pdu(b"token", auth_type, level))
    assert authentication.has_failed


def test_a_token_of_another_context_is_refused() -> None:
    authentication, client = Authentication(make_acceptor), make_channel(AuthLevel.PRIVACY).context
    assert client is not None
    answer = authentication.take(pdu(client.step(b"")))
    assert answer is not None
    with pytest.raises(AuthenticationFailed, match="another security context"):
        authentication.take(pdu(client.step(answer.token), context_id=80))


def test_a_token_that_is_too_long_is_refused() -> None:
    with pytest.raises(AuthenticationFailed, match="too long"):
        Authentication(make_acceptor).take(pdu(bytes(TOKEN_SIZE_MAX + 1)))


def test_passwords_cannot_be_tried_without_end_on_one_connection() -> None:
    authentication = Authentication(make_acceptor)
    for _ in range(LEGS_MAX + 1):
        with pytest.raises(AuthenticationFailed) as raised:
            authentication.take(pdu(b"wrong"))
    assert "too many" in str(raised.value)
    assert authentication.has_failed
