"""NTLM version 2, both sides of it, and the protection of messages ([MS-NLMP] 3).

Chance comes from outside: the server's challenge, the client's challenge and session key.
NTLM version 1 and anonymous logons are refused.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Final

from openmsmq.errors import Malformed
from openmsmq.rpc.auth.context import AuthenticationFailed
from openmsmq.rpc.auth.crypto import Rc4, direction_key, hmac_md5, response_key
from openmsmq.rpc.auth.ntlm_messages import (
    AV_FLAG_MIC,
    OFFERED,
    Authenticate,
    AvId,
    Challenge,
    Negotiate,
    NtlmFlags,
    decode_target_info,
    encode_target_info,
    split_mic,
)

SIGNATURE_SIZE: Final = 16
_SIGNATURE: Final = Struct("<I8sI")
_VERSION_1: Final = 24
"Bytes of a response of NTLM version 1; one of version 2 is longer."
_FILETIME_1970: Final = 116_444_736_000_000_000
_NO_ACCOUNT: Final = bytes(16)
_NEEDED: Final = NtlmFlags.EXTENDED_SESSIONSECURITY | NtlmFlags.KEY_128 | NtlmFlags.UNICODE

FindAccount = Callable[[str, str], bytes | None]
"The NT hash of a domain's user; both names as the client sent them."


class Protection:
    """Signs and seals with the keys of both directions ([MS-NLMP] 3.4)."""

    def __init__(self, session_key: bytes, *, is_client: bool, encrypts_checksum: bool) -> None:
        ours, theirs = "client-to-server", "server-to-client"
        if not is_client:
            ours, theirs = theirs, ours
        self._out = _Direction(session_key, ours, encrypts_checksum)
        self._in = _Direction(session_key, theirs, encrypts_checksum)

    def reset(self) -> None:
        """Start the ciphers again; sequence numbers go on ([MS-SPNG] 3.2.5.1, 3.3.5.1)."""
        self._out.reset()
        self._in.reset()

    def sign(self, message: bytes) -> bytes:
        """The signature of the next message ([MS-NLMP] 3.4.4.2)."""
        return self._out.signature(message)

    def verify(self, message: bytes, signature: bytes) -> None:
        """Check the signature of the next message that came ([MS-NLMP] 3.4.4.2)."""
        if not hmac.compare_digest(self._in.signature(message), signature):
            raise AuthenticationFailed("the signature does not belong to the message")

    def seal(self, message: bytes, start: int, end: int) -> tuple[bytes, bytes]:
        """Encrypt a part of a message, sign all of it ([MS-NLMP] 3.4.3)."""
        sealed = self._out.cipher.crypt(message[start:end])
        return message[:start] + sealed + message[end:], self._out.signature(message)

    def unseal(self, message: bytes, start: int, end: int, signature: bytes) -> bytes:
        """Decrypt a part of a message, then check its signature ([MS-NLMP] 3.4.3)."""
        opened = message[:start] + self._in.cipher.crypt(message[start:end]) + message[end:]
        self.verify(opened, signature)
        return opened


class _Direction:
    """Keys and sequence number of one direction."""

    def __init__(self, session_key: bytes, direction: str, encrypts_checksum: bool) -> None:
        self._key = direction_key(session_key, direction, "signing")
        self._seal_key = direction_key(session_key, direction, "sealing")
        self._encrypts_checksum = encrypts_checksum
        self._sequence = 0
        self.reset()

    def reset(self) -> None:
        self.cipher = Rc4(self._seal_key)

    def signature(self, message: bytes) -> bytes:
        sequence = self._sequence
        self._sequence = sequence + 1 & 0xFFFFFFFF
        checksum = hmac_md5(self._key, sequence.to_bytes(4, "little") + message)[:8]
        if self._encrypts_checksum:
            checksum = self.cipher.crypt(checksum)
        return _SIGNATURE.pack(1, checksum, sequence)


class _Side:
    """What both sides have in common."""

    def __init__(self) -> None:
        self._messages: list[bytes] = []
        "What was said, for the MIC."
        self._protection: Protection | None = None
        self.principal = ""

    def signature_size(self, level: int) -> int:
        """Bytes of a signature, the same at every level."""
        return SIGNATURE_SIZE

    @property
    def is_complete(self) -> bool:
        """Both sides know what they need."""
        return self._protection is not None

    def _establish(self, key: bytes, flags: int) -> None:
        encrypts = bool(flags & NtlmFlags.KEY_EXCH)
        is_client = isinstance(self, NtlmInitiator)
        self._protection = Protection(key, is_client=is_client, encrypts_checksum=encrypts)

    def reset(self) -> None:
        """Begin with fresh ciphers, as SPNEGO does after its own signatures."""
        self._protected.reset()

    @property
    def _protected(self) -> Protection:
        if self._protection is None:
            raise AuthenticationFailed("the authentication is not complete")
        return self._protection

    def sign(self, message: bytes) -> bytes:
        """The signature of the next message."""
        return self._protected.sign(message)

    def verify(self, message: bytes, signature: bytes) -> None:
        """Check the signature of the next message that came."""
        self._protected.verify(message, signature)

    def seal(self, message: bytes, start: int, end: int) -> tuple[bytes, bytes]:
        """Encrypt a part of the next message, sign all of it."""
        return self._protected.seal(message, start, end)

    def unseal(self, message: bytes, start: int, end: int, signature: bytes) -> bytes:
        """Decrypt a part of the next message that came, check its signature."""
        return self._protected.unseal(message, start, end, signature)


@dataclass(frozen=True, slots=True)
class NtlmTarget:
    """Who this server says it is ([MS-NLMP] 2.2.1.2)."""

    computer: str
    domain: str

    def info(self, now: float) -> bytes:
        """The target information of a challenge ([MS-NLMP] 2.2.2.1)."""
        filetime = int(now * 10_000_000) + _FILETIME_1970
        return encode_target_info(
            {
                AvId.NB_DOMAIN_NAME: self.domain.encode("utf-16-le"),
                AvId.NB_COMPUTER_NAME: self.computer.encode("utf-16-le"),
                AvId.DNS_DOMAIN_NAME: self.domain.lower().encode("utf-16-le"),
                AvId.DNS_COMPUTER_NAME: self.computer.lower().encode("utf-16-le"),
                AvId.TIMESTAMP: filetime.to_bytes(8, "little"),
            }
        )


class NtlmAcceptor(_Side):
    """The server's side ([MS-NLMP] 3.2.5.1)."""

    def __init__(
        self, find_account: FindAccount, target: NtlmTarget, challenge: bytes, now: float
    ) -> None:
        """`challenge` is 8 random bytes, new for every acceptor."""
        super().__init__()
        self._find_account = find_account
        self._target = target
        self._challenge = challenge
        self._now = now

    def step(self, token: bytes) -> bytes:
        """Answer a NEGOTIATE with the challenge, or check an AUTHENTICATE."""
        try:
            if self._messages:
                self._check(token)
                return b""
            return self._offer(token)
        except Malformed as error:
            raise AuthenticationFailed(f"malformed NTLM message: {error}") from error

    def _offer(self, token: bytes) -> bytes:
        """CHALLENGE_MESSAGE ([MS-NLMP] 3.2.5.1.1)."""
        flags = Negotiate.decode(token).flags & OFFERED
        flags |= NtlmFlags.TARGET_TYPE_SERVER | NtlmFlags.TARGET_INFO | NtlmFlags.REQUEST_TARGET
        info = self._target.info(self._now)
        answer = Challenge(flags, self._challenge, self._target.computer, info).encode()
        self._messages = [token, answer]
        return answer

    def _check(self, token: bytes) -> None:
        """Verify the client's response ([MS-NLMP] 3.2.5.1.2)."""
        if self.is_complete or len(self._messages) > 2:
            raise AuthenticationFailed("the authentication is over")
        message = Authenticate.decode(token)
        self._messages.append(token)
        response = message.nt_response
        if len(response) <= _VERSION_1:
            raise AuthenticationFailed("NTLM version 1 or an anonymous logon")
        if message.flags & _NEEDED != _NEEDED:
            raise AuthenticationFailed(f"flags 0x{message.flags:08X} are too weak")
        found = self._find_account(message.domain, message.user)
        key = response_key(found or _NO_ACCOUNT, message.user, message.domain)
        # The rest of the response as it came: clients differ in its last bytes.
        proof = hmac_md5(key, self._challenge + response[16:])
        if not hmac.compare_digest(proof, response[:16]) or found is None:
            raise AuthenticationFailed(f"wrong user or password: {message.domain}\\{message.user}")
        session_key = hmac_md5(key, proof)
        if message.flags & NtlmFlags.KEY_EXCH:
            if len(message.session_key) != 16:
                raise AuthenticationFailed("a session key that has not 16 bytes")
            session_key = Rc4(session_key).crypt(message.session_key)
        self._check_mic(session_key, response, token)
        self.principal = f"{message.domain}\\{message.user}" if message.domain else message.user
        self._establish(session_key, message.flags)

    def _check_mic(self, session_key: bytes, response: bytes, token: bytes) -> None:
        """All three messages are as they were sent ([MS-NLMP] 3.2.5.1.2)."""
        items = decode_target_info(response[44:])
        flags = int.from_bytes(items.get(AvId.FLAGS, b""), "little")
        if not flags & AV_FLAG_MIC:
            return
        mic, without = split_mic(token)
        said = b"".join(self._messages[:2]) + without
        if not hmac.compare_digest(hmac_md5(session_key, said), mic):
            raise AuthenticationFailed("the MIC does not belong to the messages")


@dataclass(frozen=True, slots=True)
class NtlmCredentials:
    """A user, and what stands for the password: `nt_hash(password)`."""

    user: str
    password_hash: bytes
    domain: str = ""
    workstation: str = ""

    def __repr__(self) -> str:
        return f"NtlmCredentials({self.domain}\\{self.user})"


class NtlmInitiator(_Side):
    """The client's side ([MS-NLMP] 3.1.5.1)."""

    def __init__(
        self, credentials: NtlmCredentials, challenge: bytes, session_key: bytes, now: float
    ) -> None:
        """`challenge` is 8 random bytes, `session_key` 16, new for every initiator."""
        super().__init__()
        self._credentials = credentials
        self._challenge = challenge
        self._session_key = session_key
        self._now = now

    def step(self, token: bytes) -> bytes:
        """The NEGOTIATE for no token, the AUTHENTICATE for a CHALLENGE."""
        if self.is_complete:
            raise AuthenticationFailed("the authentication is over")
        if not self._messages:
            self._messages = [Negotiate(OFFERED).encode()]
            return self._messages[0]
        try:
            return self._respond(token)
        except Malformed as error:
            raise AuthenticationFailed(f"malformed NTLM message: {error}") from error

    def _respond(self, token: bytes) -> bytes:
        """AUTHENTICATE_MESSAGE ([MS-NLMP] 3.1.5.1.2, 3.3.2)."""
        offer = Challenge.decode(token)
        if offer.flags & _NEEDED != _NEEDED:
            raise AuthenticationFailed(f"flags 0x{offer.flags:08X} are too weak")
        items = decode_target_info(offer.target_info)
        time = items.get(AvId.TIMESTAMP)
        if time is not None:
            av_flags = int.from_bytes(items.get(AvId.FLAGS, b"")[:4], "little") | AV_FLAG_MIC
            items[AvId.FLAGS] = av_flags.to_bytes(4, "little")
        filetime = int(self._now * 10_000_000) + _FILETIME_1970
        user, domain = self._credentials.user, self._credentials.domain
        key = response_key(self._credentials.password_hash, user, domain)
        blob = b"".join(
            (
                b"\x01\x01\0\0\0\0\0\0",
                time or filetime.to_bytes(8, "little"),
                self._challenge,
                bytes(4),
                encode_target_info(items),
                bytes(4),
            )
        )
        proof = hmac_md5(key, offer.challenge + blob)
        session_key, sent_key = hmac_md5(key, proof), b""
        if offer.flags & NtlmFlags.KEY_EXCH:
            sent_key = Rc4(session_key).crypt(self._session_key)
            session_key = self._session_key
        message = Authenticate(
            offer.flags & OFFERED,
            domain,
            user,
            self._credentials.workstation,
            proof + blob,
            sent_key,
        )
        said = self._messages[0] + token + message.encode()
        mic = hmac_md5(session_key, said) if time is not None else bytes(16)
        self._messages.append(token)
        self.principal = offer.target_name
        self._establish(session_key, offer.flags)
        return message.encode(mic)
