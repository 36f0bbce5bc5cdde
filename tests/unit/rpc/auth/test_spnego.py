"""SPNEGO around NTLM."""

from __future__ import annotations

import pytest

from openmsmq.errors import Malformed
from openmsmq.rpc.auth.context import AuthenticationFailed
from openmsmq.rpc.auth.ntlm import NtlmAcceptor, NtlmCredentials, NtlmInitiator, NtlmTarget
from openmsmq.rpc.auth.spnego import (
    NTLM_OID,
    SpnegoAcceptor,
    SpnegoInitiator,
    SpnegoToken,
    der,
    read_der,
)
from openmsmq.security.nt_hash import nt_hash
from openmsmq.wire.reader import Reader

NOW = 1_790_000_000.0
KERBEROS_OID = bytes.fromhex("06092a864886f712010202")
MESSAGE = b"header--" + b"stub" * 8 + b"trailer-"


def ntlm_acceptor() -> NtlmAcceptor:
    return NtlmAcceptor(lambda *_: nt_hash("secret"), NtlmTarget("MQ1", "WORK"), b"chalenge", NOW)


def ntlm_initiator() -> NtlmInitiator:
    credentials = NtlmCredentials("alice", nt_hash("secret"), "WORK")
    return NtlmInitiator(credentials, b"clientch", b"sessionkeysessio", NOW)


def pair() -> tuple[SpnegoInitiator, SpnegoAcceptor]:
    return SpnegoInitiator(ntlm_initiator()), SpnegoAcceptor(ntlm_acceptor())


def test_four_tokens_authenticate_and_protect() -> None:
    client, server = pair()
    second = client.step(server.step(client.step(b"")))
    assert not server.is_complete
    assert client.step(server.step(second)) == b""
    assert server.is_complete
    assert client.is_complete
    assert server.principal == "WORK\\alice"
    sealed, signature = client.seal(MESSAGE, 8, 40)
    assert server.unseal(sealed, 8, 40, signature) == MESSAGE
    client.verify(MESSAGE, server.sign(MESSAGE))


def test_a_changed_list_of_mechanisms_is_refused() -> None:
    client, server = pair()
    first = SpnegoToken.decode(client.step(b""))
    offered = der(0x30, NTLM_OID + KERBEROS_OID)
    challenge = server.step(SpnegoToken(offered, first.inner).encode_init())
    with pytest.raises(AuthenticationFailed, match="signature"):
        server.step(client.step(challenge))
    assert not server.is_complete
    assert server.principal == ""


def test_ntlm_may_stand_behind_other_mechanisms() -> None:
    server = SpnegoAcceptor(ntlm_acceptor())
    client = ntlm_initiator()
    offered = der(0x30, KERBEROS_OID + NTLM_OID)
    answer = SpnegoToken.decode(server.step(SpnegoToken(offered, b"a ticket").encode_init()))
    assert answer.inner == b""
    answer = SpnegoToken.decode(server.step(SpnegoToken(inner=client.step(b"")).encode_response()))
    server.step(SpnegoToken(inner=client.step(answer.inner)).encode_response())
    assert server.is_complete


def test_without_ntlm_there_is_nothing_to_agree_on() -> None:
    offer = SpnegoToken(der(0x30, KERBEROS_OID), b"")
    with pytest.raises(AuthenticationFailed, match="NTLM is not among"):
        SpnegoAcceptor(ntlm_acceptor()).step(offer.encode_init())


def test_ntlm_without_spnego_around_it_is_taken() -> None:
    server, client = SpnegoAcceptor(ntlm_acceptor()), ntlm_initiator()
    assert server.step(client.step(server.step(client.step(b"")))) == b""
    assert server.is_complete


def test_no_token_is_taken_when_it_is_over() -> None:
    client, server = pair()
    client.step(server.step(client.step(server.step(client.step(b"")))))
    for side in (client, server):
        with pytest.raises(AuthenticationFailed, match="over"):
            side.step(b"more")


@pytest.mark.parametrize("token", [b"", b"\x60", b"\x60\x84\xff\xff\xff\xff", b"\xa1\x02\x30\x05"])
def test_malformed_tokens_are_refused(token: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match="malformed"):
        SpnegoAcceptor(ntlm_acceptor()).step(token)


@pytest.mark.parametrize("size", [0, 127, 128, 255, 256, 70_000])
def test_values_of_any_length_are_written_and_read(size: int) -> None:
    reader = Reader(der(0x04, bytes(size)))
    assert read_der(reader, 0x04).remaining == size
    with pytest.raises(Malformed):
        read_der(Reader(der(0x04, bytes(size))), 0x05)


def test_an_independent_client_is_accepted() -> None:
    spnego = pytest.importorskip("spnego")
    flags = spnego.ContextReq.integrity | spnego.ContextReq.confidentiality
    client = spnego.client(
        "WORK\\alice",
        "secret",
        protocol="negotiate",
        context_req=flags,
        options=spnego.NegotiateOptions.use_negotiate,
    )
    server = SpnegoAcceptor(ntlm_acceptor())
    token = client.step()
    while not client.complete:
        token = client.step(server.step(token))
    server.verify(MESSAGE, client.sign(MESSAGE))
    client.verify(MESSAGE, server.sign(MESSAGE))
