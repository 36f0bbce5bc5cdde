"""Kerberos for remote calls, as far as it needs no realm (tests/e2e/test_kerberos.py has one)."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.strategies.rpc import make_acceptor, make_channel

from openmsmq.errors import InvalidParameter
from openmsmq.interfaces import kerberos
from openmsmq.interfaces.kerberos import KerberosContext, Keytab, NegotiatedContext
from openmsmq.rpc.auth.context import AuthenticationFailed, AuthLevel, AuthType


class Failure(Exception):
    """An error of GSS-API."""


class FakeContext:
    """A context of GSS-API that is complete with its second token."""

    def __init__(self, user: str = "alice@REALM", flags: int = 1, sealed: int = 76) -> None:
        self.complete = False
        self.locally_initiated = False
        self.initiator_name = user
        self.actual_flags = flags
        self.sealed = sealed
        self.tokens: list[bytes | None] = []

    def step(self, token: bytes | None) -> bytes | None:
        if token == b"wrong":
            raise Failure("a ticket that is not for us")
        self.tokens.append(token)
        self.complete = len(self.tokens) == 2
        return None if self.complete else b"answer"

    def get_signature(self, message: bytes) -> bytes:
        return message[::-1]

    def verify_signature(self, message: bytes, signature: bytes) -> None:
        if signature != message[::-1]:
            raise Failure("bad signature")


def fake_api(context: FakeContext) -> Any:
    """What is used of the package."""

    def make_iov(*buffers: Any, std_layout: bool) -> list[Any]:
        return [SimpleNamespace(value=b"") for _ in buffers]

    def measure(_: Any, iov: list[Any]) -> None:
        iov[0].value = bytes(context.sealed)

    raw = SimpleNamespace(
        IOV=make_iov, IOVBufferType=SimpleNamespace(header=2), wrap_iov_length=measure
    )
    exceptions = SimpleNamespace(GSSError=Failure)
    flag = SimpleNamespace(dce_style=1)
    return SimpleNamespace(raw=raw, exceptions=exceptions, RequirementFlag=flag)


def complete(context: FakeContext, realm: str = "REALM") -> KerberosContext:
    made = KerberosContext(fake_api(context), context, realm)
    assert made.step(b"first") == b"answer"
    assert made.principal == ""
    assert made.step(b"second") == b""
    return made


def test_a_user_of_the_realm_is_accepted() -> None:
    """MQRR-033"""
    made = complete(FakeContext())
    assert made.is_complete
    assert made.principal == "REALM\\alice"
    assert made.signature_size(AuthLevel.PRIVACY) == 76
    assert made.signature_size(AuthLevel.INTEGRITY) == 28
    made.verify(b"abc", made.sign(b"abc"))
    with pytest.raises(AuthenticationFailed):
        made.verify(b"abc", b"abc")
    with pytest.raises(AuthenticationFailed, match="over"):
        made.step(b"third")


@pytest.mark.parametrize(
    ("context", "why"),
    [
        (FakeContext(user="alice@OTHER"), "realm OTHER"),
        (FakeContext(flags=0), "DCE style"),
        (FakeContext(sealed=45), "not AES"),
    ],
)
def test_others_are_refused(context: FakeContext, why: str) -> None:
    with pytest.raises(AuthenticationFailed, match=why):
        complete(context)


def test_a_token_that_is_wrong_is_refused() -> None:
    made = KerberosContext(fake_api(FakeContext()), FakeContext())
    with pytest.raises(AuthenticationFailed, match="not for us"):
        made.step(b"wrong")


class OneKeytab(Keytab):
    """Gives contexts that never ask a realm."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def acceptor(self, auth_type: int) -> KerberosContext:
        self.asked.append(auth_type)
        return KerberosContext(fake_api(FakeContext()), FakeContext(), "REALM")


def offer(*mechanisms: str) -> bytes:
    """A NegTokenInit that offers mechanisms, in DER."""
    listed = bytes.fromhex("".join(mechanisms))
    inner = b"\xa0" + bytes([len(listed) + 2]) + b"\x30" + bytes([len(listed)]) + listed
    sequence = b"\x30" + bytes([len(inner)]) + inner
    init = b"\xa0" + bytes([len(sequence)]) + sequence
    body = bytes.fromhex("06062b0601050502") + init
    return b"\x60" + bytes([len(body)]) + body


KERBEROS, WINDOWS = "06092a864886f712010202", "06092a864882f712010202"
NTLM = "060a2b06010401823702020a"


@pytest.mark.parametrize(
    ("token", "is_kerberos"),
    [
        (offer(KERBEROS, NTLM), True),
        (offer(WINDOWS, KERBEROS, NTLM), True),
        (offer(NTLM, KERBEROS), False),
        (offer(NTLM), False),
        (b"\x60\x00", False),
    ],
)
def test_kerberos_is_taken_if_a_client_prefers_it(token: bytes, is_kerberos: bool) -> None:
    keytab, ntlm = OneKeytab(), make_acceptor(AuthType.SPNEGO)
    assert ntlm is not None
    made = NegotiatedContext(keytab, ntlm)
    try:
        made.step(token)
    except AuthenticationFailed:
        assert not is_kerberos
    assert keytab.asked == ([AuthType.SPNEGO] if is_kerberos else [])
    assert not made.is_complete
    assert made.principal == ""


def test_ntlm_within_spnego_works_as_before() -> None:
    ntlm = make_acceptor(AuthType.SPNEGO)
    client = make_channel(AuthLevel.PRIVACY, AuthType.SPNEGO).context
    assert ntlm is not None
    assert client is not None
    made = NegotiatedContext(OneKeytab(), ntlm)
    token = client.step(b"")
    while not (made.is_complete and client.is_complete):
        token = client.step(made.step(token))
    assert made.principal == "WORK\\alice"
    size = made.signature_size(AuthLevel.PRIVACY)
    sealed, signature = client.seal(b"head and stub and tail", 5, 13)
    assert len(signature) == size
    assert made.unseal(sealed, 5, 13, signature) == b"head and stub and tail"
    made.verify(b"abc", client.sign(b"abc"))
    client.verify(b"abc", made.sign(b"abc"))
    answer, signature = made.seal(b"head and stub and tail", 5, 13)
    assert client.unseal(answer, 5, 13, signature) == b"head and stub and tail"


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(kerberos, "import_module", missing)
    with pytest.raises(InvalidParameter, match=r"openmsmq\[kerberos\]"):
        kerberos.load()


def test_a_keytab_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    pytest.importorskip("gssapi", reason="the extra kerberos is not installed")
    with pytest.raises(InvalidParameter, match=r"no\.keytab"):
        Keytab(tmp_path / "no.keytab")
