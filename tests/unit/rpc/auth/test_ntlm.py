"""NTLM, both sides, with each other and with another implementation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openmsmq.rpc.auth.context import AuthenticationFailed, SecurityContext
from openmsmq.rpc.auth.ntlm import (
    NtlmAcceptor,
    NtlmCredentials,
    NtlmInitiator,
    NtlmTarget,
    Protection,
)
from openmsmq.rpc.auth.ntlm_messages import (
    MIC_OFFSET,
    OFFERED,
    Authenticate,
    AvId,
    Challenge,
    Negotiate,
    encode_target_info,
)
from openmsmq.security.nt_hash import nt_hash

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "rpc" / "pdus.json").read_text())[
    "vectors"
]
NOW = 1_790_000_000.0
MESSAGE = b"header--" + b"stub" * 8 + b"trailer-"


def find_account(domain: str, user: str) -> bytes | None:
    return nt_hash("secret") if user.lower() == "alice" else None


def acceptor() -> NtlmAcceptor:
    return NtlmAcceptor(find_account, NtlmTarget("MQ1", "WORK"), b"chalenge", NOW)


def initiator(password: str = "secret", user: str = "Alice", domain: str = "WORK") -> NtlmInitiator:
    credentials = NtlmCredentials(user, nt_hash(password), domain, "CLIENT")
    return NtlmInitiator(credentials, b"clientch", b"sessionkeysessio", NOW)


def converse(client: SecurityContext, server: SecurityContext) -> None:
    token = client.step(b"")
    while not server.is_complete:
        answer = server.step(token)
        token = client.step(answer) if answer else b""


def test_a_user_with_the_right_password_is_accepted() -> None:
    """MQRR-032"""
    client, server = initiator(), acceptor()
    converse(client, server)
    assert server.principal == "WORK\\Alice"
    assert client.is_complete


def test_both_directions_are_sealed_and_signed() -> None:
    """MQRR-421, MQRR-423"""
    client, server = initiator(), acceptor()
    converse(client, server)
    for _ in range(3):
        sealed, signature = client.seal(MESSAGE, 8, 40)
        assert sealed[:8] + sealed[40:] == MESSAGE[:8] + MESSAGE[40:]
        assert sealed[8:40] != MESSAGE[8:40]
        assert server.unseal(sealed, 8, 40, signature) == MESSAGE
        server.verify(MESSAGE, client.sign(MESSAGE))
        sealed, signature = server.seal(MESSAGE, 8, 40)
        assert client.unseal(sealed, 8, 40, signature) == MESSAGE


def test_a_changed_or_repeated_message_is_refused() -> None:
    """MQRR-424"""
    client, server = initiator(), acceptor()
    converse(client, server)
    signature = client.sign(MESSAGE)
    server.verify(MESSAGE, signature)
    with pytest.raises(AuthenticationFailed):
        server.verify(MESSAGE, signature)
    client, server = initiator(), acceptor()
    converse(client, server)
    with pytest.raises(AuthenticationFailed):
        server.verify(MESSAGE + b"!", client.sign(MESSAGE))


@pytest.mark.parametrize("wrong", [initiator("wrong"), initiator(user="bob")])
def test_a_wrong_password_and_an_unknown_user_are_refused_alike(wrong: NtlmInitiator) -> None:
    server = acceptor()
    with pytest.raises(AuthenticationFailed, match="wrong user or password"):
        converse(wrong, server)
    assert not server.is_complete
    assert server.principal == ""


def test_nothing_is_protected_before_the_end() -> None:
    with pytest.raises(AuthenticationFailed, match="not complete"):
        acceptor().sign(b"")


def test_a_changed_mic_is_refused() -> None:
    client, server = initiator(), acceptor()
    last = client.step(server.step(client.step(b"")))
    with pytest.raises(AuthenticationFailed, match="MIC"):
        server.step(last[:MIC_OFFSET] + bytes(16) + last[MIC_OFFSET + 16 :])


def test_an_answer_to_another_challenge_is_refused() -> None:
    client, server = initiator(), acceptor()
    last = client.step(server.step(client.step(b"")))
    replayed = NtlmAcceptor(find_account, NtlmTarget("MQ1", "WORK"), b"another!", NOW)
    replayed.step(Negotiate(0).encode())
    with pytest.raises(AuthenticationFailed):
        replayed.step(last)


@pytest.mark.parametrize("response", [b"", bytes(24)])
def test_anonymous_logons_and_version_1_are_refused(response: bytes) -> None:
    server = acceptor()
    offer = Challenge.decode(server.step(initiator().step(b"")))
    message = Authenticate(offer.flags, "", "alice", "", response, b"")
    with pytest.raises(AuthenticationFailed, match="version 1 or an anonymous logon"):
        server.step(message.encode())


def test_an_acceptor_takes_one_answer_only() -> None:
    client, server = initiator("wrong"), acceptor()
    last = client.step(server.step(client.step(b"")))
    for _ in range(2):
        with pytest.raises(AuthenticationFailed):
            server.step(last)


@pytest.mark.parametrize("token", [b"", b"garbage", b"NTLMSSP\0\x01\0\0\0"])
def test_malformed_tokens_are_refused(token: bytes) -> None:
    with pytest.raises(AuthenticationFailed, match="malformed"):
        acceptor().step(token)
    client = initiator()
    client.step(b"")
    with pytest.raises(AuthenticationFailed, match="malformed"):
        client.step(token)


def test_a_weak_session_is_refused_by_both_sides() -> None:
    client = initiator()
    client.step(b"")
    with pytest.raises(AuthenticationFailed, match="too weak"):
        client.step(Challenge(0x1, bytes(8), "", bytes(4)).encode())
    server = acceptor()
    server.step(Negotiate(0x1).encode())
    message = Authenticate(0x1, "", "alice", "", bytes(60), b"")
    with pytest.raises(AuthenticationFailed, match="too weak"):
        server.step(message.encode())


def test_target_information_with_too_long_flags_changes_nothing() -> None:
    items: dict[int, bytes] = {AvId.FLAGS: b"\xff" * 9, AvId.TIMESTAMP: bytes(8)}
    offer = Challenge(OFFERED, bytes(8), "", encode_target_info(items))
    client = initiator()
    client.step(b"")
    assert Authenticate.decode(client.step(offer.encode())).user == "Alice"


def test_credentials_do_not_show_their_secret() -> None:
    assert (
        repr(NtlmCredentials("alice", nt_hash("secret"), "WORK")) == "NtlmCredentials(WORK\\alice)"
    )


@pytest.mark.parametrize(
    ("name", "is_client"), [("sealed-request", True), ("sealed-response", False)]
)
def test_the_sealed_fragments_are_those_of_the_worked_example(name: str, is_client: bool) -> None:
    plain = bytes.fromhex(VECTORS[f"{name}-plain"])
    protection = Protection(b"\x55" * 16, is_client=is_client, encrypts_checksum=True)
    sealed, signature = protection.seal(plain, 24, len(plain) - 8)
    assert (sealed + signature).hex() == VECTORS[name]


@pytest.mark.parametrize("protocol", ["ntlm"])
def test_an_independent_client_is_accepted(protocol: str) -> None:
    """MQRR-032, MQRR-423"""
    spnego = pytest.importorskip("spnego")
    flags = spnego.ContextReq.integrity | spnego.ContextReq.confidentiality
    client = spnego.client("WORK\\alice", "secret", protocol=protocol, context_req=flags)
    server = acceptor()
    server.step(client.step(server.step(client.step())))
    assert server.principal == "WORK\\alice"
    server.verify(MESSAGE, client.sign(MESSAGE))
    client.verify(MESSAGE, server.sign(MESSAGE))
