"""Epochs: many prepared transactions of one writer that commit together, once.

A writer that works in tasks, each prepared under a name of its own, decides in one step which of
them count: these commit, all others of the same writer up to this epoch are aborted, and the epoch
is remembered, so that to decide it again does nothing. A task that is late is not prepared any
more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

from openmsmq.engine.authorization import is_allowed, may_end
from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions.lifecycle import Transactions
from openmsmq.engine.transactions.limits import EPOCH_NAME_MAX
from openmsmq.engine.transactions.outcomes import Decisions
from openmsmq.engine.transactions.transaction import ManagedTransaction, TransactionState
from openmsmq.errors import AccessDenied, EpochDecided, InvalidParameter, TransactionSequence
from openmsmq.types.caller import INTERNAL, Caller

_PREFIX: Final = b"epoch:"
_FINAL: Final = b"once:"
_BETWEEN: Final = b"\0"
_SHOWN: Final = 8
_epoch = Struct("<Q")


@dataclass(frozen=True, slots=True)
class Epoch:
    """The last epoch that a writer has decided."""

    number: int
    owner: str = ""
    "Who numbers the epochs; empty if that was not said."
    token: str = ""
    "Of the program that has decided it."

    def pack(self) -> bytes:
        """The bytes to store."""
        names = _encoded("owner", self.owner), _encoded("token", self.token)
        return _epoch.pack(self.number) + _BETWEEN.join(names)

    @classmethod
    def unpack(cls, raw: bytes) -> Epoch:
        """The reverse of `pack`."""
        owner, _, token = raw[_epoch.size :].partition(_BETWEEN)
        return cls(_epoch.unpack_from(raw)[0], owner.decode(), token.decode())


class Epochs:
    """The epochs of the writers of a queue manager."""

    def __init__(self, core: Core, transacting: Transactions) -> None:
        self._core = core
        self._transactions = transacting
        self._final = Decisions(core.snapshot, _FINAL)
        "Epochs of writers that have no other one: the latest of them."
        self._deciding: dict[str, int] = {}

    def last(self, writer: str) -> Epoch | None:
        """The last epoch that a writer has decided."""
        raw = self._core.snapshot.get(Table.META, _key(writer))
        return None if raw is None else Epoch.unpack(raw)

    def prepare(self, transaction: ManagedTransaction) -> Future[None]:
        """Prepare a transaction, unless its name is one of an epoch that is decided."""
        writer, _, rest = transaction.xid.partition("/")
        number = rest.partition("/")[0]
        if number.isdecimal() and self._is_late(writer, int(number), transaction.token):
            raise EpochDecided(f"epoch {number} of {writer} is decided")
        return self._transactions.prepare(transaction)

    def _is_late(self, writer: str, epoch: int, token: str) -> bool:
        try:
            last = self.last(writer)
        except InvalidParameter:  # this is the name of no writer
            return False
        return (
            epoch <= self._deciding.get(writer, -1)
            or (last is not None and epoch <= last.number)
            or self._final.get(_final_name(writer, epoch, token)) is not None
        )

    def commit(
        self,
        writer: str,
        epoch: int,
        winners: Sequence[str],
        owner: str = "",
        *,
        final: bool = False,
        caller: Caller = INTERNAL,
    ) -> Future[bool]:
        """Commit those that count, abort the others; False if the epoch was decided before.

        Transactions of a writer are those whose names begin with its own and a slash, then the
        epoch and a slash: `writer/12/...`. All of it is one commit of the store. A writer that
        has an `owner` is refused to others, who number their epochs anew. With `final` the name
        of the writer is used for this epoch only, and need not be remembered for ever.
        """
        pending: Future[bool] = Future()
        row = Epoch(epoch, owner, caller.grant.holder)
        packed = row.pack()
        before = self.last(writer)
        is_its_own = _is_of(writer, before, row, caller)
        name = _final_name(writer, epoch, caller.grant.holder)
        if writer in self._deciding:
            raise TransactionSequence(f"an epoch of {writer} is being decided")
        if self._final.get(name) is not None or (before is not None and epoch <= before.number):
            self._drop(writer, epoch, caller, is_its_own=is_its_own)
            self._core.submit(lambda _: None, lambda: pending.succeed(False), pending.fail)
            return pending
        chosen = [
            self._prepared(xid, caller, is_its_own=is_its_own and _is_up_to(xid, writer, epoch))
            for xid in dict.fromkeys(winners)
        ]
        self._deciding[writer] = epoch

        def apply(batch: Batch) -> None:
            if final:
                self._final.write(batch.writer, name, committed=True)
            else:
                batch.writer.put(Table.META, _key(writer), packed)

        def committed() -> None:
            del self._deciding[writer]
            if final:
                self._final.note(name, committed=True)
            # Those that were being prepared when it was decided.
            self._drop(writer, epoch, caller, is_its_own=is_its_own)
            pending.succeed(True)

        def failed(error: BaseException) -> None:
            del self._deciding[writer]
            pending.fail(error)

        with self._core.together():
            for transaction in chosen:
                self._transactions.commit(transaction, caller=caller)
            self._drop(writer, epoch, caller, is_its_own=is_its_own)
            self._core.submit(apply, committed, failed, grows=True)
        return pending

    def _prepared(self, xid: str, caller: Caller, *, is_its_own: bool) -> ManagedTransaction:
        transaction = self._core.prepared.get(xid)
        if transaction is None or transaction.state is not TransactionState.PREPARED:
            raise TransactionSequence(f"{xid} is not prepared")
        if not (is_its_own or may_end(caller, transaction)):
            raise AccessDenied(f"{xid} was prepared with another token")
        return transaction

    def _drop(self, writer: str, epoch: int, caller: Caller, *, is_its_own: bool) -> None:
        """Abort what a writer has prepared up to an epoch, and is not being committed."""
        for transaction in list(self._core.prepared.values()):
            if (
                transaction.state is TransactionState.PREPARED
                and _is_up_to(transaction.xid, writer, epoch)
                and (is_its_own or may_end(caller, transaction))
            ):
                self._transactions.abort(transaction, caller)


def _is_of(writer: str, before: Epoch | None, now: Epoch, caller: Caller) -> bool:
    """Whether it is proven that the writer is the same as before; refuse one that is not.

    The owner is a secret: a program that can name it may use another token than before.
    """
    if before is None:
        return False
    if before.owner:
        if before.owner != now.owner:
            shown = f"{before.owner[:_SHOWN]}..., not to {now.owner or 'a writer without owner'}"
            raise TransactionSequence(f"{writer} belongs to {shown}")
        return True
    if not is_allowed(caller, "admin") and before.token != caller.grant.holder:
        raise AccessDenied(f"{writer} was used with another token")
    return True


def _is_up_to(xid: str, writer: str, epoch: int) -> bool:
    """Whether a name is one of a writer's, of this epoch or an earlier one."""
    if not xid.startswith(f"{writer}/"):
        return False
    number = xid[len(writer) + 1 :].partition("/")[0]
    return number.isdecimal() and int(number) <= epoch


def _final_name(writer: str, epoch: int, token: str) -> str:
    """What one epoch is known by; another token cannot decide it in advance."""
    return f"{token}/{epoch}/{writer}"


def _key(writer: str) -> bytes:
    raw = _encoded("writer", writer)
    if not raw:
        raise InvalidParameter("a writer has a name")
    return _PREFIX + raw


def _encoded(what: str, name: str) -> bytes:
    try:
        raw = name.encode()
    except UnicodeEncodeError:
        raise InvalidParameter(f"the {what} {name!r} has half of a surrogate pair") from None
    if len(raw) > EPOCH_NAME_MAX:
        raise InvalidParameter(f"the name of a {what} has up to {EPOCH_NAME_MAX} bytes")
    if _BETWEEN in raw:
        raise InvalidParameter(f"the {what} {name!r} has a NUL")
    return raw
