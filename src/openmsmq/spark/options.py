"""The options of the format `msmq`: checked on the driver, before any job starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from openmsmq.errors import InvalidParameter
from openmsmq.spark.columns import nearest

READ: Final = (
    *("manager", "managers", "queue", "token", "tokenFile", "tlsCa", "timeout"),
    *("protocol", "user", "password", "passwordFile", "auth", "level", "computer"),
)
BATCH: Final = (*READ, "messagesPerPartition", "minPartitions", "includeHeaders")
STREAM: Final = (
    *(*BATCH, "subscription", "onCommit", "maxMessagesPerTrigger", "maxBytesPerTrigger"),
    *("resume", "failOnDataLoss", "onManagerAway", "startingPosition"),
)
WRITE: Final = (
    "manager",
    "queue",
    "token",
    "tokenFile",
    "tlsCa",
    "timeout",
    "includeHeaders",
    "headerFormat",
    "writeId",
    "writeOwner",
)
SINK: Final = (*WRITE[:-2], "sinkId", "checkpointLocation")
_SPARK: Final = frozenset({"checkpointlocation", "queryname", "path", "outputmode"})
"What Spark itself may pass on."

KEEP: Final = "keep"
REMOVE: Final = "remove"
MOVE: Final = "move:"
ACTIONS: Final = (REMOVE, KEEP, "move:SUBQUEUE")
FAIL: Final = "fail"
SKIP: Final = "skip"
FORMATS: Final = ("nservicebus", "rebus")
RPC: Final = "rpc"
PROTOCOLS: Final = ("app", RPC)
AUTHS: Final = ("ntlm", "kerberos")
LEVELS: Final = ("privacy", "integrity", "connect", "none")
EARLIEST: Final = "earliest"
LATEST: Final = "latest"


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a reader or a writer."""

    managers: tuple[str, ...]
    queues: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    token_file: str = ""
    tls_ca: str = ""
    timeout: float = 30.0
    protocol: str = PROTOCOLS[0]
    "How managers are reached: `rpc` is remote read, for those of Windows, too."
    user: str = ""
    "Who logs on there; `level` says how calls are protected, `computer` what names call it."
    password: str = field(default="", repr=False)
    password_file: str = ""
    auth: str = AUTHS[0]
    level: str = LEVELS[0]
    computer: str = ""
    messages_per_partition: int = 50_000
    min_partitions: int = 1
    include_headers: bool = True
    header_format: str = FORMATS[0]
    subscription: str = ""
    "Empty for one of its own: see `offsets`."
    on_commit: str = REMOVE
    messages_per_trigger: int = 500_000
    bytes_per_trigger: int | None = None
    resume: bool = False
    "A stream with a new checkpoint takes over from the one that its subscription belongs to."
    fail_on_data_loss: bool = True
    skips_away: bool = False
    "A stream goes on without managers that cannot be reached."
    starting: str | int = EARLIEST
    "What a new stream begins with: all, what comes, or what arrived at this time or later."
    sink: str = ""
    "What a sink is known by: `sinkId`, or where its checkpoints are."
    write_id: str = ""
    write_owner: str = ""
    "Who alone may do the write with this name again."

    @property
    def copies(self) -> bool:
        """A stream leaves messages in their queues."""
        return self.on_commit == KEEP

    @property
    def moves_to(self) -> str:
        """The subqueue that a stream moves messages to; empty for none."""
        return self.on_commit.removeprefix(MOVE) if self.on_commit.startswith(MOVE) else ""

    def secret(self) -> str:
        """The token to show: given, in a file, or in the environment of the process."""
        if self.token:
            return self.token
        if not self.token_file:
            return os.environ.get("OPENMSMQ_TOKEN", "")
        return _text_of("tokenFile", self.token_file)

    def login_secret(self) -> str:
        """The password of the user, given or in a file."""
        if not self.password_file:
            return self.password
        return _text_of("passwordFile", self.password_file)


def _text_of(option: str, file: str) -> str:
    try:
        return Path(file).read_text().strip()
    except OSError as error:
        raise InvalidParameter(f"option {option}: {error}") from None


def parse(given: Mapping[str, str], known: tuple[str, ...]) -> Options:
    """The options given, of which only those that are `known` here are allowed."""
    names = {name.lower(): name for name in known}
    values: dict[str, str] = {}
    for key, value in given.items():
        lower = key.lower()
        if lower in names:
            values[names[lower]] = value
        elif lower not in _SPARK or (lower == "path" and value):
            raise InvalidParameter(f"there is no option {key!r} here{nearest(key, known)}")
    return Options(
        managers=_managers(values),
        queues=tuple(_list(values.get("queue", ""))),
        token=values.get("token", ""),
        token_file=values.get("tokenFile", ""),
        tls_ca=values.get("tlsCa", os.environ.get("OPENMSMQ_TLS_CA", "")),
        timeout=float(_number(values, "timeout", 30)),
        protocol=_choice(values, "protocol", PROTOCOLS),
        user=values.get("user", ""),
        password=values.get("password", ""),
        password_file=values.get("passwordFile", ""),
        auth=_choice(values, "auth", AUTHS),
        level=_choice(values, "level", LEVELS),
        computer=values.get("computer", ""),
        messages_per_partition=_number(values, "messagesPerPartition", 50_000),
        min_partitions=_number(values, "minPartitions", 1),
        include_headers=_flag(values, "includeHeaders", default=True),
        header_format=_choice(values, "headerFormat", FORMATS),
        subscription=values.get("subscription", ""),
        on_commit=_action(values.get("onCommit", REMOVE)),
        messages_per_trigger=_number(values, "maxMessagesPerTrigger", 500_000),
        bytes_per_trigger=(
            _number(values, "maxBytesPerTrigger", 1) if "maxBytesPerTrigger" in values else None
        ),
        resume=_flag(values, "resume", default=False),
        fail_on_data_loss=_flag(values, "failOnDataLoss", default=True),
        skips_away=_choice(values, "onManagerAway", (FAIL, SKIP)) == SKIP,
        starting=_starting(values),
        sink=values.get("sinkId") or values.get("checkpointLocation", ""),
        write_id=values.get("writeId", ""),
        write_owner=values.get("writeOwner", ""),
    )


def _managers(values: Mapping[str, str]) -> tuple[str, ...]:
    if "manager" in values and "managers" in values:
        raise InvalidParameter("option manager or option managers, not both")
    default = os.environ.get("OPENMSMQ_MANAGER", "127.0.0.1:1811")
    found = _list(values.get("managers", values.get("manager", default)))
    if not found:
        raise InvalidParameter("option manager is empty: give HOST:PORT or unix:PATH")
    return tuple(dict.fromkeys(found))


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(values: Mapping[str, str], name: str, default: int) -> int:
    text = values.get(name, str(default)).strip()
    if not text.isdecimal() or not int(text):
        raise InvalidParameter(f"option {name} is {text!r}, not a number from 1 on")
    return int(text)


def _choice(values: Mapping[str, str], name: str, known: tuple[str, ...]) -> str:
    text = values.get(name, known[0]).strip().lower()
    if text not in known:
        raise InvalidParameter(f"option {name} is {text!r}, not {' or '.join(known)}")
    return text


def _flag(values: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = values.get(name, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise InvalidParameter(f"option {name} is {text!r}, not true or false")
    return text == "true"


def _starting(values: Mapping[str, str]) -> str | int:
    """Where a new stream begins; what it leaves out must stay in the queue."""
    text = values.get("startingPosition", EARLIEST).strip()
    if text.lower() == EARLIEST:
        return EARLIEST
    if values.get("onCommit", REMOVE) != KEEP:
        raise InvalidParameter(
            f"option startingPosition is {text!r}, and onCommit is not {KEEP}: messages that are"
            " left out would be removed"
        )
    if text.lower() == LATEST:
        return LATEST
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParameter(
            f"option startingPosition is {text!r}, not {EARLIEST}, {LATEST} or a time such as"
            " 2026-07-01T12:00:00+00:00"
        ) from None
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())


def _action(text: str) -> str:
    if text in (REMOVE, KEEP) or (text.startswith(MOVE) and text != MOVE):
        return text
    raise InvalidParameter(f"option onCommit is {text!r}{nearest(text, ACTIONS)}")
