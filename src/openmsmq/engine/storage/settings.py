"""The persistent settings of a queue manager."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.operation import Submit
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.types.settings import Settings

SETTINGS_KEY: Final = b"settings"
_RENAMED: Final = {"once_count": "dedup_count", "once_time": "dedup_time"}
"Names of settings in stores that older versions wrote."


def settings_row(settings: Settings) -> bytes:
    """The bytes that a store keeps of settings."""
    return json.dumps(asdict(settings)).encode()


def load_settings(snapshot: Snapshot) -> Settings:
    """The settings of a store; those that only a newer version knows are ignored."""
    raw = snapshot.get(Table.META, SETTINGS_KEY)
    stored = json.loads(raw) if raw else {}
    values = {_RENAMED.get(name, name): value for name, value in stored.items()}
    fields = Settings.__dataclass_fields__
    return Settings(**{name: values[name] for name in fields if name in values})


def write_settings(
    changes: dict[str, Any], submit: Submit, committed: Callable[[], None]
) -> Future[None]:
    """Write down changes of settings.

    What was set for this run only does not last, and changes made together all do.
    """
    pending: Future[None] = Future()

    def apply(batch: Batch) -> None:
        stored = load_settings(batch.writer).changed(**changes)
        batch.writer.put(Table.META, SETTINGS_KEY, settings_row(stored))

    def done() -> None:
        committed()
        pending.succeed(None)

    submit(apply, done, pending.fail, grows=True)
    return pending
