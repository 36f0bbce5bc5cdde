"""Interfaces that a server offers: operations by number, and the calls of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from openmsmq.rpc.association import Association
from openmsmq.rpc.limits import REQUEST_STUB_MAX
from openmsmq.rpc.ndr.structure import Structure
from openmsmq.rpc.syntax import SyntaxId


@dataclass(frozen=True, slots=True)
class RpcMethod:
    """One operation."""

    name: str
    arguments: type[Structure]
    handle: Callable[[RpcCall], None]
    "Answers the call now or later; a `RpcFault` that it raises is the answer."
    needs_authentication: bool = True
    "Whether the server's least level applies."


@dataclass(frozen=True, slots=True)
class RpcInterface:
    """Operations by number, under a UUID and a version."""

    name: str
    syntax: SyntaxId
    methods: Mapping[int, RpcMethod]
    request_max: int = REQUEST_STUB_MAX
    "Bytes of arguments that are taken."


@dataclass(frozen=True, slots=True)
class RpcClient:
    """Who calls, as far as the connection proves it."""

    principal: str
    "`DOMAIN\\user`, empty without authentication."
    level: int
    address: str


ArgumentsT = TypeVar("ArgumentsT", bound=Structure)


class RpcCall:
    """One call, to be answered exactly once, now or later."""

    def __init__(
        self,
        arguments: Structure,
        association: Association,
        client: RpcClient,
        answer: Callable[[bytes], None],
        refuse: Callable[[int], None],
        object_uuid: UUID | None = None,
    ) -> None:
        self.arguments = arguments
        self.association = association
        self.client = client
        self.object_uuid = object_uuid
        self.on_cancel: Callable[[], object] | None = None
        "What to do when the client does not want the answer any more: end the call soon."
        self.is_open = True
        self._answer, self._refuse = answer, refuse

    def args(self, kind: type[ArgumentsT]) -> ArgumentsT:
        """The arguments, which are of this kind."""
        assert isinstance(self.arguments, kind)
        return self.arguments

    def respond(self, results: Structure) -> None:
        """End the call with its results; nothing happens if it has ended."""
        if self.is_open:
            self.is_open = False
            self._answer(results.encode())

    def fault(self, status: int) -> None:
        """End the call without results; nothing happens if it has ended."""
        if self.is_open:
            self.is_open = False
            self._refuse(status)

    def cancel(self) -> None:
        """The client would like the call to end."""
        if self.is_open and self.on_cancel is not None:
            self.on_cancel()

    def abandon(self) -> None:
        """The client takes no answer any more."""
        if self.is_open:
            self.is_open = False
            if self.on_cancel is not None:
                self.on_cancel()
