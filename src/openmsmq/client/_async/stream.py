"""Streams of messages."""

from __future__ import annotations

import time
from contextlib import suppress
from math import inf
from types import TracebackType
from typing import Final, Self

from openmsmq.client._async.backend import Backend, Completion, StreamBackend
from openmsmq.client._async.transaction import Transaction, work_of
from openmsmq.client.backend import Handle
from openmsmq.errors import InvalidHandle, InvalidParameter, MQError, ReceiveTimeout
from openmsmq.types.received import ReceivedMessage

MOMENT_S: Final = 0.005
"Seconds in which a pipelined stream begins one removal."


class Stream:
    """The messages of a queue one after the other, taken ahead of the loop that reads them."""

    def __init__(
        self,
        backend: Backend,
        handle: Handle,
        prefetch: int,
        timeout: float | None,
        *,
        explicit: bool,
        pipelined: bool,
    ) -> None:
        if prefetch < 1:
            raise InvalidParameter(f"prefetch {prefetch}: at least 1 message must be allowed")
        if explicit and pipelined:
            raise InvalidParameter("pipelined: with explicit, the program decides when it waits")
        self._backend = backend
        self._handle = handle
        self._prefetch = prefetch
        self._timeout = timeout
        self._explicit = explicit
        self._pipelined = pipelined
        self._stream: StreamBackend | None = None
        self._ahead: list[ReceivedMessage] = []
        "What came and was not asked for yet, the next one last."
        self._given: dict[int, None] = {}
        "What the loop got and is not acknowledged, by lookup identifier."
        self._under_way: tuple[list[int], Completion] | None = None
        "What is being removed, with its completion."
        self._removed_at = -inf
        "When that was begun."

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ReceivedMessage:
        if not self._ahead:
            if self._pipelined:
                await self._remove_together()
            elif not self._explicit:
                await self.acknowledge()
            if not self._ahead:
                await self._fetch()
        message = self._ahead.pop()
        self._given[message.lookup_id] = None
        return message

    async def _fetch(self) -> None:
        if self._stream is None:
            self._stream = await self._backend.open_stream(self._handle, self._prefetch)
        try:
            self._ahead = (await self._stream.next(self._timeout))[::-1]
        except ReceiveTimeout:
            raise StopAsyncIteration from None

    async def _remove_together(self) -> None:
        """Have what the loop got removed, while it goes on; what was begun before is over first.

        What comes within a moment is removed with it: each removal is a commit of the manager.
        """
        if self._stream is not None and 0 < len(self._given) < self._prefetch / 2:
            left = self._removed_at + MOMENT_S - time.monotonic()
            if left > 0:
                self._ahead = (await self._stream.come_within(left))[::-1]
                if self._ahead:
                    return
        await self._complete()
        if self._given and self._stream is not None:
            self._removed_at = time.monotonic()
            lookups, self._given = list(self._given), {}
            try:
                self._under_way = lookups, await self._stream.begin_removal(lookups)
            except Exception:
                self._given = dict.fromkeys(lookups)
                raise

    async def _complete(self) -> None:
        """Wait for the removal that is under way."""
        if self._under_way is not None:
            (lookups, complete), self._under_way = self._under_way, None
            try:
                await complete()
            except Exception:
                self._given = dict.fromkeys(lookups) | self._given
                raise

    async def acknowledge(
        self, *messages: ReceivedMessage, transaction: Transaction | None = None
    ) -> None:
        """Remove messages that the loop got, all of them if none is named.

        With a transaction they are removed when it commits, and back if it is aborted. If the
        caller is interrupted while this waits, they are removed nevertheless.
        """
        await self._complete()
        lookups = [message.lookup_id for message in messages] or list(self._given)
        if lookups:
            if self._stream is None:
                raise InvalidHandle("the stream is closed, and its messages are returned")
            work = await work_of(transaction)
            for lookup in lookups:
                self._given.pop(lookup, None)
            try:
                await self._stream.end(lookups, work, remove=True)
            except Exception:
                self._given |= dict.fromkeys(lookups)
                raise

    async def close(self) -> None:
        """Return to their places all messages that were not acknowledged."""
        with suppress(MQError):  # then these are returned, too
            await self._complete()
        lookups = [*self._given, *(message.lookup_id for message in self._ahead)]
        self._given.clear()
        self._ahead.clear()
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()
            if lookups:
                await stream.end(lookups, None, remove=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None and not self._explicit:
            await self.acknowledge()
        await self.close()
