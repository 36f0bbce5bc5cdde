"""What of a queue manager can be set and lasts."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from openmsmq.engine.commit.future import Future
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.types.settings import Settings

if TYPE_CHECKING:
    from openmsmq.engine.commit.batch import Batch
    from openmsmq.engine.core import Core

SETTINGS_KEY: Final = b"settings"


def settings_row(settings: Settings) -> bytes:
    """The bytes that a store keeps of settings."""
    return json.dumps(asdict(settings)).encode()


def load_settings(snapshot: Snapshot) -> Settings:
    """The settings of a store; what a newer version added is left out."""
    raw = snapshot.get(Table.META, SETTINGS_KEY)
    values = json.loads(raw) if raw else {}
    fields = Settings.__dataclass_fields__
    return Settings(**{name: values[name] for name in fields if name in values})


def configure(core: Core, changes: dict[str, Any]) -> Future[None]:
    """Change settings of a manager."""
    pending: Future[None] = Future()
    core.settings.changed(**changes)  # refused now, if ever

    def apply(batch: Batch) -> None:
        # What was set for this run only does not last, and changes made together all do.
        stored = load_settings(batch.writer).changed(**changes)
        batch.writer.put(Table.META, SETTINGS_KEY, settings_row(stored))

    def committed() -> None:
        core.settings = core.settings.changed(**changes)
        core.history.limit = core.settings.history << 20
        pending.succeed(None)

    core.submit(apply, committed, pending.fail, grows=True)
    return pending
