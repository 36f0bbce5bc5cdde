"""The columns of a queue as a table, and those that a write takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from openmsmq.errors import InvalidParameter

READ: Final[Mapping[str, str]] = MappingProxyType(
    {
        "lookup_id": "bigint",
        "arrival": "bigint",
        "message_id": "string",
        "label": "string",
        "body": "binary",
        "body_type": "int",
        "body_text": "string",
        "body_format": "string",
        "priority": "int",
        "message_class": "int",
        "delivery": "string",
        "transactional": "boolean",
        "correlation_id": "binary",
        "app_specific": "bigint",
        "sent_time": "timestamp",
        "arrived_time": "timestamp",
        "time_to_reach_queue": "bigint",
        "time_to_be_received": "bigint",
        "destination_queue": "string",
        "response_queue": "string",
        "admin_queue": "string",
        "source_manager": "string",
        "sender_id": "string",
        "extension": "binary",
        "headers": "map<string,string>",
        "acknowledge": "int",
        "journal": "boolean",
        "dead_letter": "boolean",
        "dead_letter_queue": "string",
        "trace": "boolean",
        "abort_count": "int",
        "move_count": "int",
        "from_queue": "string",
        "from_manager": "string",
        "packet": "binary",
    }
)
"What can be read of a message, with the types that Spark calls them by."

ON_DEMAND: Final = frozenset({"body_text", "body_format", "packet"})
"Read only when a schema names them."

PACKET: Final = tuple(
    name
    for name in READ
    if name
    not in {
        *("lookup_id", "arrival", "arrived_time", "abort_count", "move_count"),
        *("from_queue", "from_manager", "packet", "body_text", "body_format"),
        "dead_letter_queue",
    }
)
"What the packet itself says, without a queue."

WRITE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "body": "binary",
        "value": "binary",
        "label": "string",
        "priority": "int",
        "body_type": "int",
        "correlation_id": "binary",
        "app_specific": "bigint",
        "response_queue": "string",
        "admin_queue": "string",
        "extension": "binary",
        "headers": "map<string,string>",
        "time_to_be_received": "bigint",
        "time_to_reach_queue": "bigint",
        "delivery": "string",
        "journal": "boolean",
        "dead_letter": "boolean",
        "dead_letter_queue": "string",
        "acknowledge": "int",
        "trace": "boolean",
        "packet": "binary",
        "queue": "string",
    }
)
"""What a write takes; `value` is another word for `body`, `packet` is a whole message to send
again, of which other columns change what they say, and `queue` is where the row goes."""
GIVEN: Final = frozenset(READ) - frozenset(WRITE)
"What can be read and not written: the queue manager gives it anew, or other columns say it."

_TEXT_OR_BYTES: Final = ("string", "binary")
_WHOLE: Final = ("tinyint", "smallint", "int", "bigint")


def default_schema(*, headers: bool = True) -> str:
    """The schema of a read without one of its own."""
    left_out = ON_DEMAND if headers else ON_DEMAND | {"headers"}
    return ddl(name for name in READ if name not in left_out)


def ddl(names: Iterable[str]) -> str:
    """Columns of a read as Spark writes a schema."""
    return ", ".join(f"{name} {READ[name]}" for name in names)


def check_read(columns: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The names of the columns to read, in any case; `InvalidParameter` for unknown ones."""
    found = tuple(columns)
    for name, kind in found:
        known = READ.get(name.lower())
        if known is None:
            raise InvalidParameter(f"schema: there is no column {name!r}{nearest(name, READ)}")
        if kind != known:
            raise InvalidParameter(f"schema: column {name!r} is {known}, not {kind}")
    return tuple(name for name, _ in found)


def check_write(columns: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The names of the columns to write, in small letters; `InvalidParameter` for unknown ones.

    What can only be read is left out, so that rows that were read can be written as they are.
    """
    given = dict(columns)
    unknown = [name for name in given if name.lower() not in WRITE.keys() | GIVEN]
    if unknown:
        names = ", ".join(map(repr, unknown))
        hint = nearest(unknown[0], WRITE) if len(unknown) == 1 else ""
        raise InvalidParameter(f"a message has no {names}{hint}; leave it out with drop({names})")
    found = {name.lower(): kind for name, kind in given.items() if name.lower() in WRITE}
    for name, kind in found.items():
        if kind not in accepted(name):
            raise InvalidParameter(f"column {name!r} must be {accepted(name)[-1]}, not {kind}")
    bodies = {"body", "value"} & found.keys()
    if len(bodies) > 1 or not (bodies or "packet" in found):
        raise InvalidParameter("a write needs one column `body`, or one column `value`")
    return tuple(found)


def accepted(name: str) -> tuple[str, ...]:
    """The types that a column of a write may have, the best one last."""
    if name in ("body", "value"):
        return _TEXT_OR_BYTES
    return _WHOLE if WRITE[name] in _WHOLE else (WRITE[name],)


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint at the name that was probably meant."""
    names = list(known)
    lower = {one.lower(): one for one in names}
    close = get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    return f"; did you mean {lower[close[0]]!r}?" if close else f"; there are {', '.join(names)}"
