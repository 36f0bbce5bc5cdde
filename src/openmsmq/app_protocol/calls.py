"""Payloads in JSON: the greeting, calls, errors and the farewell.

An ANSWER is any object: `Members` reads and writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self
from uuid import UUID

from openmsmq import errors
from openmsmq.app_protocol.frames import FRAME_SIZE_FIRST
from openmsmq.app_protocol.members import Arguments, Members
from openmsmq.errors import Malformed, MQError, UnknownHResult

PROTOCOL: Final = 1
"The version of the application protocol."

RUNS: Final = "runs"
"The capability of both sides to deliver and end slices of runs."
SEND_RUNS: Final = "send-runs"
"The capability of a server to take messages in one piece."
PEEKED_RUNS: Final = "peeked-runs"
"The capability of a client to take slices of runs that it only looks at."
RESERVED_RUNS: Final = "reserved-runs"
"The capability of a client to take slices of messages that a subscription was given."

_ERRORS: Final[Mapping[str, type[MQError]]] = {
    name: found
    for name, found in vars(errors).items()
    if isinstance(found, type) and issubclass(found, MQError) and found is not UnknownHResult
}


@dataclass(frozen=True, slots=True)
class Hello:
    """HELLO: who calls, and the highest version it speaks."""

    client: str
    protocol: int = PROTOCOL
    token: str = field(default="", repr=False)
    "Empty: none."
    capabilities: tuple[str, ...] = ()
    "What the client understands beyond version 1."

    def encode(self) -> bytes:
        """The bytes of the payload."""
        more: dict[str, Any] = {"token": self.token} if self.token else {}
        if self.capabilities:
            more["capabilities"] = self.capabilities
        return Members({"protocol": self.protocol, "client": self.client, **more}).encode()

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload."""
        members = Members.decode(payload)
        return cls(
            members.text("client"),
            members.integer("protocol", minimum=1),
            members.text("token", ""),
            members.texts("capabilities", ()),
        )


@dataclass(frozen=True, slots=True)
class Welcome:
    """WELCOME: who answers, and what the client may do."""

    server: str
    manager: UUID
    name: str
    "The computer that the manager runs on, as others know it."
    max_frame: int
    requests: int
    "How many requests may be unanswered."
    request_bytes: int
    "What their payloads may have together."
    role: str
    capabilities: tuple[str, ...] = ()
    protocol: int = PROTOCOL

    def encode(self) -> bytes:
        """The bytes of the payload."""
        return Members(
            {
                "protocol": self.protocol,
                "server": self.server,
                "manager": str(self.manager),
                "name": self.name,
                "max_frame": self.max_frame,
                "requests": self.requests,
                "bytes": self.request_bytes,
                "role": self.role,
                "capabilities": self.capabilities,
            }
        ).encode()

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload."""
        members = Members.decode(payload)
        return cls(
            members.text("server"),
            _guid(members.text("manager")),
            members.text("name"),
            members.integer("max_frame", minimum=FRAME_SIZE_FIRST),
            members.integer("requests", minimum=1),
            members.integer("bytes", minimum=1),
            members.text("role"),
            members.texts("capabilities", ()),
            members.integer("protocol", minimum=1),
        )


@dataclass(frozen=True, slots=True)
class Call:
    """CALL: what is to be done, and the arguments for it."""

    name: str
    arguments: Arguments

    def encode(self) -> bytes:
        """The bytes of the payload."""
        return Members({"call": self.name, **self.arguments.values}).encode()

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload; its arguments are not looked into."""
        members = Members.decode(payload)
        name = members.text("call")
        given = {key: value for key, value in members.values.items() if key != "call"}
        return cls(name, Arguments(given))


@dataclass(frozen=True, slots=True)
class Closing:
    """CLOSING: the server ends this connection."""

    reason: str
    error: str = ""
    "The name of the error that this is; empty for a connection that is lost and no more."

    def encode(self) -> bytes:
        """The bytes of the payload."""
        error = {"error": self.error} if self.error else {}
        return Members({"reason": self.reason, **error}).encode()

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """The value of a payload."""
        members = Members.decode(payload)
        return cls(members.text("reason"), members.text("error", ""))


class RemoteError(UnknownHResult):
    """The queue manager refused for a reason that this version has no class for."""

    def __init__(self, error: str, code: int, detail: str = "") -> None:
        super().__init__(code, detail)
        self.args = (error, code, detail)
        self.error = error
        "What the queue manager calls it."

    @property
    def name(self) -> str:
        return self.error


def encode_error(error: MQError) -> bytes:
    """The payload of an ERROR."""
    name = error.error if isinstance(error, RemoteError) else type(error).__name__
    return Members({"error": name, "hresult": int(error.hresult), "detail": error.detail}).encode()


def decode_error(payload: bytes) -> MQError:
    """The error that an ERROR stands for, to be raised.

    Its name decides, since several errors share one code; a name that is not known here becomes
    the class of its code.
    """
    members = Members.decode(payload)
    name, detail = members.text("error"), members.text("detail", "")
    code = members.integer("hresult", minimum=1)
    known = _ERRORS.get(name)
    if known is not None and known.hresult == code:
        return known(detail)
    error = MQError.from_hresult(code, detail)
    return RemoteError(name, code, detail) if isinstance(error, UnknownHResult) else error


def _guid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Malformed("manager", 0, "is not a GUID") from None
