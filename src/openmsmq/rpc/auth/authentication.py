"""The server's part in the authentication of a connection ([MS-RPCE] 3.3.1.5.2.1)."""

from __future__ import annotations

from collections.abc import Callable

from openmsmq.rpc.auth.channel import SecureChannel
from openmsmq.rpc.auth.context import AuthenticationFailed, AuthLevel, SecurityContext
from openmsmq.rpc.limits import LEGS_MAX, TOKEN_SIZE_MAX
from openmsmq.rpc.pdu import Pdu, Verifier

MakeContext = Callable[[int], SecurityContext | None]
"A fresh acceptor for an authentication type, if that type is known."


class UnknownType(Exception):
    """An authentication type or level that is not offered."""


class Authentication:
    """Tokens of a client, one after the other, until its channel is protected."""

    def __init__(self, make_context: MakeContext) -> None:
        self._make_context = make_context
        self._offered: SecureChannel | None = None
        "What the client asked for; `channel` is this when both sides agree."
        self._legs = 0
        self.channel = SecureChannel()
        self.has_failed = False
        "No call is answered any more."

    @property
    def is_unfinished(self) -> bool:
        """A token is awaited."""
        return self._offered is not None and self._offered is not self.channel

    def take(self, pdu: Pdu) -> Verifier | None:
        """Take the token of a bind, alter_context or auth3; the one to answer with.

        `UnknownType` or `AuthenticationFailed`. A token after the last one is ignored: clients may
        repeat theirs in an alter_context. One of another security context is refused, and the
        first goes on: no client may begin a second before both sides have said that they can
        ([MS-RPCE] 3.3.1.5.4), which is not said here.
        """
        verifier = pdu.verifier
        is_done = self._offered is not None and not self.is_unfinished
        if verifier is not None and is_done and verifier.context_id != self.channel.context_id:
            raise AuthenticationFailed("a second security context on the connection")
        if verifier is None or (self._offered is not None and not self.is_unfinished):
            return None
        try:
            return self._step(verifier)
        except (UnknownType, AuthenticationFailed):
            self.has_failed = True
            self._offered = None
            raise

    def _step(self, verifier: Verifier) -> Verifier | None:
        if self._offered is None:
            self._offered = self._offer(verifier)
        offered = self._offered
        self._legs += 1
        if (verifier.auth_type, verifier.context_id) != (offered.auth_type, offered.context_id):
            raise AuthenticationFailed("a token of another security context")
        if len(verifier.token) > TOKEN_SIZE_MAX or self._legs > LEGS_MAX:
            raise AuthenticationFailed("too long a token, or too many")
        assert offered.context is not None
        token = offered.context.step(verifier.token)
        if offered.context.is_complete:
            self.channel = offered
        if not token:
            return None
        return Verifier(offered.auth_type, offered.level, offered.context_id, token)

    def _offer(self, verifier: Verifier) -> SecureChannel:
        context = self._make_context(verifier.auth_type)
        if context is None or not AuthLevel.CONNECT <= verifier.auth_level <= AuthLevel.PRIVACY:
            raise UnknownType(verifier.auth_type, verifier.auth_level)
        level = verifier.auth_level
        return SecureChannel(level, verifier.auth_type, verifier.context_id, context)
