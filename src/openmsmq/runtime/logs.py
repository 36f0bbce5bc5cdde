"""Logs: events with fields, as lines for people or as JSON for programs."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from time import monotonic
from traceback import format_exception
from typing import Final, TextIO

from openmsmq.errors import MQError
from openmsmq.runtime.limits import LOG_KINDS_MAX, LOG_LINES_MAX

_OWN: Final = frozenset({"time", "level", "event", "logger", "error", "trace"})
"What every line may say; the fields of an event have other names."
WINDOW: Final = 60.0
"Seconds."
_WORDS_MAX: Final = 200
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
    handler.addFilter(Throttle())
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


class Throttle(logging.Filter):
    """Limits the lines of one kind: others must not be able to fill a disk.

    The next line of the kind says how many were left out (`left_out`); metrics count them all.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        # The words of an event are always the same; of other lines only their pattern is.
        words = record.getMessage() if hasattr(record, "fields") else str(record.msg)
        key = (record.name, words[:_WORDS_MAX])
        if key not in self._kinds and len(self._kinds) >= LOG_KINDS_MAX:
            key = ("", "")
        kind = self._kinds.setdefault(key, _Kind())
        now = self._clock()
        if now - kind.since >= WINDOW:
            kind.since, kind.lines = now, 0
        if kind.lines >= LOG_LINES_MAX:
            kind.left_out += 1
            return False
        kind.lines += 1
        if kind.left_out:
            record.fields = {**getattr(record, "fields", {}), "left_out": kind.left_out}
            kind.left_out = 0
        return True


@dataclass(slots=True)
class _Kind:
    """Lines of one kind."""

    since: float = -inf
    lines: int = 0
    "Since then."
    left_out: int = 0


class JsonLines(logging.Formatter):
    """One object on each line: time, level, event, the fields, the error if there is one.

    An unexpected error comes with its traceback (`trace`).
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
