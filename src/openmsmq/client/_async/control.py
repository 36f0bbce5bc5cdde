"""What administrators do with a service: sessions, recordings, tokens, its configuration."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator, Iterable
from typing import Any

from openmsmq.app_protocol.topology import TopologyInfo
from openmsmq.client import payloads as remote
from openmsmq.client import session_payloads as sessions
from openmsmq.client._async.backend import Backend
from openmsmq.types.caller import TokenInfo
from openmsmq.types.peers import DependentInfo, RecordingInfo, SessionDetails, SessionInfo
from openmsmq.types.settings import ConfigurationEntry


class ServiceControl:
    """The service behind a connection; a directory that is opened has none."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def sessions(self) -> list[SessionInfo]:
        """Connections of other managers and of programs, and those to other managers."""
        answer = await self._backend.control("sessions")
        return [sessions.session_info(item) for item in answer.objects("sessions")]

    async def session(self, session: str) -> SessionDetails:
        """All that is known of one: its window and last packets, or the queues it has open."""
        answer = await self._backend.control("session", session=session)
        return sessions.session_details(answer.object("details"))

    async def dependents(self) -> list[DependentInfo]:
        """Clients that have no queue manager and use this one, what they have open and wait for."""
        answer = await self._backend.control("dependents")
        return [sessions.dependent_info(item) for item in answer.objects("dependents")]

    async def topology(self) -> TopologyInfo:
        """The sites, links and managers that messages are routed by, and the directory's state."""
        answer = await self._backend.control("topology")
        return remote.topology_info(answer.object("topology"))

    async def end_session(self, session: str) -> None:
        """End one; who was connected may connect again."""
        await self._backend.control("end_session", session=session)

    async def recordings(self) -> list[RecordingInfo]:
        """Recordings of sessions with other managers, the oldest first."""
        answer = await self._backend.control("recordings")
        return [sessions.recording_info(item) for item in answer.objects("recordings")]

    async def start_recording(self, seconds: int = 60, *, peer: str = "") -> RecordingInfo:
        """Record what is said with the managers at an address, or with all, for some seconds."""
        answer = await self._backend.control("start_recording", seconds=seconds, peer=peer)
        return sessions.recording_info(answer.object("recording"))

    async def stop_recording(self, recording: str) -> RecordingInfo:
        """End one before its time."""
        answer = await self._backend.control("stop_recording", recording=recording)
        return sessions.recording_info(answer.object("recording"))

    async def remove_recording(self, recording: str) -> None:
        """Remove one that is over."""
        await self._backend.control("remove_recording", recording=recording)

    async def read_recording(self, recording: str, file: str) -> AsyncIterator[bytes]:
        """The bytes of a file, part by part."""
        offset = 0
        while True:
            given = {"recording": recording, "file": file, "offset": offset}
            answer = await self._backend.control("read_recording", **given)
            part = b64decode(answer.text("data"))
            if not part:
                return
            offset += len(part)
            yield part

    async def tokens(self) -> list[TokenInfo]:
        """All tokens, the oldest first."""
        answer = await self._backend.control("tokens")
        return [remote.token_info(item) for item in answer.objects("tokens")]

    async def create_token(
        self,
        role: str,
        queues: Iterable[str] = (),
        *,
        label: str = "",
        expires: int | None = None,
    ) -> tuple[TokenInfo, str]:
        """A new token, and the text its holder shows, which is kept nowhere.

        `expires` are seconds since 1970 UTC.
        """
        given: dict[str, Any] = {"role": role, "queues": list(queues), "label": label}
        if expires is not None:
            given["expires"] = expires
        answer = await self._backend.control("create_token", **given)
        return remote.token_info(answer.object("token")), answer.text("secret")

    async def revoke_token(self, token: str) -> TokenInfo:
        """Accept a token no longer."""
        answer = await self._backend.control("revoke_token", token=token)
        return remote.token_info(answer.object("token"))

    async def check_access(self, token: str, right: str, queue: str = "") -> bool:
        """Whether a token gives a right on a queue, or on the manager itself.

        Permissions of queues may deny what it gives.
        """
        given = {"token": token, "right": right, "queue": queue}
        return (await self._backend.control("check_access", **given)).flag("allowed")

    async def configuration(self) -> list[ConfigurationEntry]:
        """How the service is configured, and what its file says."""
        answer = await self._backend.control("configuration")
        return [remote.configuration_entry(item) for item in answer.objects("entries")]
