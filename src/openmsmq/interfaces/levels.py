"""Which authentication level callers have to use ([MS-MQRR] 3.1.4.2, notes 19, 26, 38)."""

from __future__ import annotations

from dataclasses import dataclass

from openmsmq.net.addresses import is_loopback
from openmsmq.rpc.auth.context import AuthLevel


@dataclass(frozen=True, slots=True)
class LevelPolicy:
    """The switches for old peers; none of them is set by default."""

    allow_unauthenticated: bool = False
    "AllowNonauthenticatedRpc: no login is needed; but see `deny_workgroup_clients`."
    deny_workgroup_clients: bool = False
    "NewRemoteReadServerDenyWorkgroupClient: only clients outside of a domain need no login."
    allow_anonymous: bool = False
    "NewRemoteReadServerAllowNoneSecurityClient: no login for what the anonymous user may read."
    accept_integrity: bool = False
    "DebugRpc: signed calls are enough, they need not be encrypted."

    def least(self, address: str) -> AuthLevel:
        """The lowest level of any call from an address ([MS-MQRR] 3.1.4.2, note 19)."""
        if self.allow_unauthenticated or self.allow_anonymous:
            return AuthLevel.NONE
        return self._usual(address)

    def least_to_open(self, address: str, *, workgroup: bool, anonymous_reads: bool) -> AuthLevel:
        """The lowest level that a queue can be opened with ([MS-MQRR] 3.1.4.2, 3.1.4.11).

        The first rule counts. `workgroup` is what the client says of itself, `anonymous_reads`
        whether the anonymous user may read the queue.
        """
        if self.allow_unauthenticated and (workgroup or not self.deny_workgroup_clients):
            return AuthLevel.NONE
        if self.allow_anonymous and anonymous_reads:
            return AuthLevel.NONE
        return self._usual(address)

    def least_to_manage(self, address: str) -> AuthLevel:
        """The lowest level of calls to management ([MS-MQMR] 5.1; MG-02): signed, at least."""
        if self.allow_unauthenticated:
            return AuthLevel.NONE
        return max(self._usual(address), AuthLevel.INTEGRITY)

    def _usual(self, address: str) -> AuthLevel:
        """Encryption but on loopback, where a login is enough ([MS-MQRR] 3.1.4.2, note 19)."""
        if is_loopback(address):
            return AuthLevel.CONNECT
        return AuthLevel.INTEGRITY if self.accept_integrity else AuthLevel.PRIVACY
