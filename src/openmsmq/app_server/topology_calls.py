"""What a manager routes messages by, and whether its directory answers."""

from __future__ import annotations

from dataclasses import asdict
from uuid import UUID

from openmsmq.app_protocol.members import Arguments
from openmsmq.app_protocol.topology import topology_info
from openmsmq.app_server.session import AppSession


class TopologyCalls:
    """The call about sites, links and managers."""

    def _call_topology(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("watch")
        local = session.local
        directory = "none"
        if local.directory.is_used:
            directory = "offline" if local.directory.is_offline else "online"
        source = "file" if local.visible_settings(session.caller).topology else "directory"
        found = topology_info(local.routes.topology, source, directory, local.directory.problems)
        session.reply(number, topology=_plain(asdict(found)))


def _plain(value: object) -> object:
    """Values as JSON has them: identifiers are texts."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, UUID) else value
