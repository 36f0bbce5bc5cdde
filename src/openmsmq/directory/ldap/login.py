"""How the service logs on to a domain controller, and protects what follows ([MS-MQDSSM] 5.1)."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

from openmsmq.errors import InvalidParameter
from openmsmq.rpc.auth.context import AuthenticationFailed
from openmsmq.rpc.auth.ntlm import NtlmCredentials, NtlmInitiator
from openmsmq.rpc.auth.spnego import SpnegoInitiator
from openmsmq.security.nt_hash import nt_hash

MECHANISM: Final = "GSS-SPNEGO"
"The SASL mechanism ([MS-MQDSSM] 5.1)."
SIGNATURE_SIZE: Final = 16


@dataclass(frozen=True, slots=True)
class LdapLogin:
    """Who logs on, and how: by password over TLS, or by NTLM or Kerberos, which encrypt."""

    kind: str = "kerberos"
    user: str = ""
    password: str = ""
    keytab: Path | None = None

    def __repr__(self) -> str:
        return f"LdapLogin({self.kind}, {self.user})"

    @property
    def uses_tls(self) -> bool:
        """The password itself is sent: the connection is encrypted first ([MS-MQDSSM] 5.1)."""
        return self.kind == "password"


class Seal(Protocol):
    """A login that is under way, and then encrypts messages (SASL, RFC 4422 3.7)."""

    @property
    def is_complete(self) -> bool:
        """Both sides know what they need."""
        ...

    def step(self, token: bytes) -> bytes:
        """Take the server's token; the one to send; `AuthenticationFailed`."""
        ...

    def wrap(self, data: bytes) -> bytes:
        """Encrypt and sign."""
        ...

    def unwrap(self, data: bytes) -> bytes:
        """Decrypt and check; `AuthenticationFailed`."""
        ...


def begin(login: LdapLogin, host: str) -> Seal:
    """Begin to log on to a controller with GSS-SPNEGO ([MS-MQDSSM] 5.1)."""
    return NtlmSeal(login) if login.kind == "ntlm" else KerberosSeal(login, host)


class NtlmSeal:
    """NTLM within SPNEGO."""

    def __init__(self, login: LdapLogin) -> None:
        domain, separator, user = login.user.rpartition("\\")
        if not separator and "@" in login.user:
            user, _, domain = login.user.partition("@")
        credentials = NtlmCredentials(user, nt_hash(login.password), domain)
        challenge, key = secrets.token_bytes(8), secrets.token_bytes(16)
        self._context = SpnegoInitiator(NtlmInitiator(credentials, challenge, key, time.time()))

    @property
    def is_complete(self) -> bool:
        """Both sides know what they need."""
        return self._context.is_complete

    def step(self, token: bytes) -> bytes:
        """Take the server's token; the one to send; `AuthenticationFailed`."""
        return self._context.step(token)

    def wrap(self, data: bytes) -> bytes:
        """Encrypt and sign."""
        sealed, signature = self._context.seal(data, 0, len(data))
        return signature + sealed

    def unwrap(self, data: bytes) -> bytes:
        """Decrypt and check; `AuthenticationFailed`."""
        signature, sealed = data[:SIGNATURE_SIZE], data[SIGNATURE_SIZE:]
        return self._context.unseal(sealed, 0, len(sealed), signature)


class KerberosSeal:
    """Kerberos within SPNEGO, by the library of the system."""

    def __init__(self, login: LdapLogin, host: str) -> None:
        gssapi = _gssapi()
        self._errors: type[Exception] = gssapi.exceptions.GSSError
        try:
            self._context = self._begin(gssapi, login, host)
        except self._errors as error:
            raise AuthenticationFailed(f"Kerberos: {error}") from error

    def _begin(self, gssapi: Any, login: LdapLogin, host: str) -> Any:
        flags = gssapi.RequirementFlag
        given: dict[str, Any] = {}
        if login.keytab is not None:
            name = (
                gssapi.Name(login.user, gssapi.NameType.kerberos_principal) if login.user else None
            )
            store = {"client_keytab": str(login.keytab), "ccache": "MEMORY:openmsmq-directory"}
            given["creds"] = gssapi.Credentials(name=name, usage="initiate", store=store)
        return gssapi.SecurityContext(
            name=gssapi.Name(f"ldap@{host}", gssapi.NameType.hostbased_service),
            mech=gssapi.OID.from_int_seq("1.3.6.1.5.5.2"),
            flags=flags.mutual_authentication
            | flags.integrity
            | flags.confidentiality
            | flags.replay_detection
            | flags.out_of_sequence_detection,
            usage="initiate",
            **given,
        )

    @property
    def is_complete(self) -> bool:
        """Both sides know what they need."""
        return bool(self._context.complete)

    def step(self, token: bytes) -> bytes:
        """Take the server's token; the one to send; `AuthenticationFailed`."""
        return self._call(self._context.step, token or None) or b""

    def wrap(self, data: bytes) -> bytes:
        """Encrypt and sign."""
        wrapped = self._call(self._context.wrap, data, True)
        return bytes(wrapped.message)

    def unwrap(self, data: bytes) -> bytes:
        """Decrypt and check; `AuthenticationFailed`."""
        found = self._call(self._context.unwrap, data)
        if not found.encrypted:
            raise AuthenticationFailed("an answer that is not encrypted")
        return bytes(found.message)

    def _call(self, function: Any, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except self._errors as error:
            raise AuthenticationFailed(f"Kerberos: {error}") from error


def _gssapi() -> Any:
    try:
        return import_module("gssapi")
    except ImportError as error:
        raise InvalidParameter(
            "Kerberos needs the package gssapi: pip install 'openmsmq[kerberos]'"
        ) from error
