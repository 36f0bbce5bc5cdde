"""Kerberos for remote calls, through GSS-API ([MS-RPCE] 3.3.1.5.2, RFC 4121); extra `kerberos`.

DCE style: three tokens, and signatures that lie apart from what they protect.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from openmsmq.errors import InvalidParameter, Malformed
from openmsmq.rpc.auth.context import (
    AuthenticationFailed,
    AuthLevel,
    AuthType,
    SecurityContext,
)
from openmsmq.rpc.auth.spnego import SpnegoToken

KERBEROS_OID: Final = "1.2.840.113554.1.2.2"
SPNEGO_OID: Final = "1.3.6.1.5.5.2"
_KERBEROS_NAMES: Final = (
    bytes.fromhex("06092a864886f712010202"),  # 1.2.840.113554.1.2.2
    bytes.fromhex("06092a864882f712010202"),  # 1.2.840.48018.1.2.2
)
SERVICE: Final = "host"
"The service class of queue managers: tickets are for `host/COMPUTER`."
SEAL_EXTRA: Final = 64
"Bytes of a sealing token beside its checksum: two headers, confounder and filler (RFC 4121 4.2)."
SIGN_EXTRA: Final = 16
"Bytes of a signature beside its checksum."
MISSING: Final = "Kerberos needs the package gssapi: pip install 'openmsmq[kerberos]'"


def load() -> Any:
    """The package `gssapi`; an `InvalidParameter` says how to get it."""
    try:
        return import_module("gssapi")
    except ImportError as error:
        raise InvalidParameter(MISSING) from error


class Keytab:
    """The keys of this computer, with which the tickets of callers are read."""

    def __init__(self, path: Path) -> None:
        """`InvalidParameter` if it cannot be used."""
        self._api = api = load()
        store = {"keytab": f"FILE:{path}"}
        try:
            self._credentials = {
                auth_type: api.Credentials(
                    usage="accept", store=store, mechs=[api.OID.from_int_seq(oid)]
                )
                for auth_type, oid in (
                    (AuthType.KERBEROS, KERBEROS_OID),
                    (AuthType.SPNEGO, SPNEGO_OID),
                )
            }
            self.realm = _realm(str(self._credentials[AuthType.KERBEROS].name))
        except api.exceptions.GSSError as error:
            raise InvalidParameter(f"rpc.keytab: {path} cannot be used: {error}") from error

    def acceptor(self, auth_type: int) -> KerberosContext:
        """The server's side of a new authentication."""
        credentials = self._credentials[AuthType(auth_type)]
        made = self._api.SecurityContext(creds=credentials, usage="accept")
        return KerberosContext(self._api, made, self.realm)


def initiator(computer: str) -> KerberosContext:
    """The client's side, for the user whose ticket is in the cache (`kinit`)."""
    api = load()
    flag = api.RequirementFlag
    flags = flag.dce_style | flag.integrity | flag.confidentiality | flag.mutual_authentication
    name = api.Name(f"{SERVICE}@{computer}", api.NameType.hostbased_service)
    mech = api.OID.from_int_seq(KERBEROS_OID)
    try:
        made = api.SecurityContext(name=name, usage="initiate", mech=mech, flags=flags)
    except api.exceptions.GSSError as error:
        raise AuthenticationFailed(f"Kerberos: {error}") from error
    return KerberosContext(api, made)


class NegotiatedContext:
    """The server's side of SPNEGO, which is Kerberos if the client prefers that, else NTLM.

    ([MS-SPNG] 3.2.5: the first token says it.)
    """

    def __init__(self, keytab: Keytab, ntlm: SecurityContext) -> None:
        self._keytab = keytab
        self._chosen = ntlm
        self._is_begun = False

    @property
    def is_complete(self) -> bool:
        """Both sides know what they need."""
        return self._chosen.is_complete

    @property
    def principal(self) -> str:
        """Who is on the other side."""
        return self._chosen.principal

    def step(self, token: bytes) -> bytes:
        """Take the other side's token; the one to send, or nothing."""
        if not self._is_begun and _prefers_kerberos(token):
            self._chosen = self._keytab.acceptor(AuthType.SPNEGO)
        self._is_begun = True
        return self._chosen.step(token)

    def signature_size(self, level: int) -> int:
        """Bytes of a signature at an authentication level."""
        return self._chosen.signature_size(level)

    def sign(self, message: bytes) -> bytes:
        """The signature of a message."""
        return self._chosen.sign(message)

    def verify(self, message: bytes, signature: bytes) -> None:
        """Refuse a message that its signature does not belong to."""
        self._chosen.verify(message, signature)

    def seal(self, message: bytes, start: int, end: int) -> tuple[bytes, bytes]:
        """Encrypt a part of a message, sign all of it."""
        return self._chosen.seal(message, start, end)

    def unseal(self, message: bytes, start: int, end: int, signature: bytes) -> bytes:
        """Decrypt a part of a message, check its signature."""
        return self._chosen.unseal(message, start, end, signature)


class KerberosContext:
    """One side of an authentication (`openmsmq.rpc.auth.context.SecurityContext`)."""

    def __init__(self, api: Any, context: Any, realm: str = "") -> None:
        """`realm` is the one that callers have to be of."""
        self._api = api
        self._context = context
        self._realm = realm
        self._checksum_size = 0

    @property
    def is_complete(self) -> bool:
        """Both sides know what they need."""
        return bool(self._context.complete)

    @property
    def principal(self) -> str:
        """Who is on the other side, as `REALM\\user`; empty until that is known."""
        if not self.is_complete:
            return ""
        is_client = self._context.locally_initiated
        name = str(self._context.target_name if is_client else self._context.initiator_name)
        return f"{_realm(name)}\\{name.rpartition('@')[0]}"

    def step(self, token: bytes) -> bytes:
        """Take the other side's token; the one to send, or nothing."""
        if self.is_complete:
            raise AuthenticationFailed("the authentication is over")
        try:
            answer = self._context.step(token or None)
        except self._api.exceptions.GSSError as error:
            raise AuthenticationFailed(f"Kerberos: {error}") from error
        if self.is_complete:
            self._accept()
        return bytes(answer or b"")

    def _accept(self) -> None:
        """Refuse users of other realms, and ciphers whose signatures have another form."""
        flags, needed = self._context.actual_flags, self._api.RequirementFlag.dce_style
        if not flags & needed:
            raise AuthenticationFailed("Kerberos that is not in DCE style")
        realm = self.principal.partition("\\")[0]
        if self._realm and realm != self._realm:
            raise AuthenticationFailed(f"a user of realm {realm}, not {self._realm}")
        self._checksum_size = self._sealed_size() - SEAL_EXTRA
        if self._checksum_size not in (12, 16, 24):  # AES with SHA-1, and those of RFC 8009
            raise AuthenticationFailed("a cipher of Kerberos that is not AES")

    def _sealed_size(self) -> int:
        raw = self._api.raw
        iov = raw.IOV(raw.IOVBufferType.header, b"", std_layout=False)
        raw.wrap_iov_length(self._context, iov)
        return len(iov[0].value or b"")

    def signature_size(self, level: int) -> int:
        """Bytes of a signature at an authentication level."""
        extra = SEAL_EXTRA if level == AuthLevel.PRIVACY else SIGN_EXTRA
        return extra + self._checksum_size

    def sign(self, message: bytes) -> bytes:
        """The signature of a message."""
        return bytes(self._context.get_signature(message))

    def verify(self, message: bytes, signature: bytes) -> None:
        """Refuse a message that its signature does not belong to."""
        try:
            self._context.verify_signature(message, signature)
        except self._api.exceptions.GSSError as error:
            raise AuthenticationFailed(f"Kerberos: {error}") from error

    def seal(self, message: bytes, start: int, end: int) -> tuple[bytes, bytes]:
        """The message with its part from `start` to `end` encrypted, and its signature."""
        raw = self._api.raw
        iov = self._buffers(message, start, end, raw.IOVBufferType.header)
        raw.wrap_iov(self._context, iov, confidential=True)
        return message[:start] + bytes(iov[1].value) + message[end:], bytes(iov[3].value)

    def unseal(self, message: bytes, start: int, end: int, signature: bytes) -> bytes:
        """The message with its part from `start` to `end` decrypted."""
        raw = self._api.raw
        header = (raw.IOVBufferType.header, False, signature)
        iov = self._buffers(message, start, end, header)
        try:
            result = raw.unwrap_iov(self._context, iov)
        except (self._api.exceptions.GSSError, ValueError) as error:
            raise AuthenticationFailed(f"Kerberos: {error}") from error
        if not result.encrypted:
            raise AuthenticationFailed("a message that is not encrypted")
        return message[:start] + bytes(iov[1].value) + message[end:]

    def _buffers(self, message: bytes, start: int, end: int, header: Any) -> Any:
        """The parts of a PDU: only the stub is encrypted, all of it is signed."""
        raw = self._api.raw
        kind = raw.IOVBufferType
        signed = (kind.sign_only, False, message[:start]), (kind.sign_only, False, message[end:])
        data = (kind.data, False, message[start:end])
        return raw.IOV(signed[0], data, signed[1], header, std_layout=False)


def _prefers_kerberos(token: bytes) -> bool:
    """Whether the first mechanism that a client offers is Kerberos, or Windows' name for it."""
    try:
        offered = SpnegoToken.decode(token).mechanisms
    except Malformed:
        return False
    return any(oid in offered[: len(oid) + 4] for oid in _KERBEROS_NAMES)


def _realm(principal: str) -> str:
    return principal.rpartition("@")[2]
