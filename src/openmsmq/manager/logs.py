"""Logs: events with fields, as lines for people or as JSON for programs."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from traceback import format_exception
from typing import Final, TextIO

from openmsmq.errors import MQError

_OWN: Final = frozenset({"time", "level", "event", "logger", "error", "trace"})
"What every line may say; the fields of an event have other names."
_PLAIN: Final = re.compile(r"[^\s\"'=\\]+", re.ASCII)
"Text that needs no quotes."


def log_event(
    logger: logging.Logger,
    event: str,
    /,
    *,
    level: int = logging.INFO,
    error: BaseException | None = None,
    **fields: object,
) -> None:
    """Log what happened, in the same few words each time; what differs is in the fields."""
    assert _OWN.isdisjoint(fields), "a field has the name of something else"
    logger.log(level, "%s", event, exc_info=error, extra={"fields": fields})


def set_up_logs(format: str, level: str, stream: TextIO) -> None:
    """Write what is logged anywhere in this process to `stream`, and nowhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


class JsonLines(logging.Formatter):
    """One object on each line: time, level, event, the fields, the error if there is one.

    An error that nobody expected comes with the way to it (`trace`).
    """

    def format(self, record: logging.LogRecord) -> str:
        """The line of an event."""
        return json.dumps(_members(record), default=str)


class TextLines(logging.Formatter):
    """Time, level and event, then `name=value` for each field; always one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of an event."""
        members = _members(record)
        del members["logger"]
        start = f"{members.pop('time')} {members.pop('level'):7} {_one_line(members.pop('event'))}"
        return " ".join([start, *(f"{name}={_value(value)}" for name, value in members.items())])


def _members(record: logging.LogRecord) -> dict[str, object]:
    moment = datetime.fromtimestamp(record.created, UTC)
    members: dict[str, object] = {
        "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "event": record.getMessage(),
        "logger": record.name,
        **getattr(record, "fields", {}),
    }
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        members["error"] = f"{type(error).__name__}: {error}"
        if not isinstance(error, MQError | OSError):
            members["trace"] = "".join(format_exception(error))
    return members


def _one_line(value: object) -> str:
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in str(value))


def _value(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.isprintable() else json.dumps(text)
