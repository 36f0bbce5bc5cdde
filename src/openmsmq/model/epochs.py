"""Epochs: many prepared transactions of one writer that commit together, once.

A writer that works in tasks, each prepared under a name of its own, decides in one step which of
them count: these commit, all others of the same writer up to this epoch are aborted, and the epoch
is remembered, so that to decide it again does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from openmsmq.errors import InvalidParameter, TransactionSequence
from openmsmq.model.committing import Batch
from openmsmq.model.core import Core
from openmsmq.model.pending import Pending
from openmsmq.model.storage import Table
from openmsmq.model.transacting import Transacting
from openmsmq.model.transaction import State, Transaction

_PREFIX: Final = b"epoch:"
_NAME_MAX: Final = 400
_epoch = Struct("<Q")


class Epochs:
    """The epochs of the writers of a queue manager."""

    def __init__(self, core: Core, transacting: Transacting) -> None:
        self._core = core
        self._transacting = transacting
        self._deciding: set[str] = set()

    def last(self, writer: str) -> int | None:
        """The last epoch that a writer has decided."""
        raw = self._core.snapshot.get(Table.META, _key(writer))
        return None if raw is None else int(_epoch.unpack_from(raw)[0])

    def owner(self, writer: str) -> str:
        """Who has decided it; empty if nobody said so."""
        raw = self._core.snapshot.get(Table.META, _key(writer)) or b""
        return raw[_epoch.size :].decode()

    def commit(
        self, writer: str, epoch: int, winners: Sequence[str], owner: str = ""
    ) -> Pending[bool]:
        """Commit those that count, abort the others; False if the epoch was decided before.

        Transactions of a writer are those whose names begin with its own and a slash, then the
        epoch and a slash: `writer/12/...`. All of it is one commit of the store. A writer that
        has an `owner` is refused to others, who number their epochs anew.
        """
        pending: Pending[bool] = Pending()
        last, before = self.last(writer), self.owner(writer)
        if before and before != owner:
            raise TransactionSequence(f"{writer} is of {before}, not of {owner or 'nobody'}")
        row = _epoch.pack(epoch) + _encoded("owner", owner)
        if last is not None and epoch <= last:
            pending.succeed(False)
            return pending
        if writer in self._deciding:
            raise TransactionSequence(f"an epoch of {writer} is being decided")
        prepared = self._core.prepared
        chosen = [self._prepared(xid) for xid in dict.fromkeys(winners)]
        names = {transaction.xid for transaction in chosen}
        others = [
            transaction
            for xid, transaction in prepared.items()
            if xid not in names and _is_up_to(xid, writer, epoch)
            if transaction.state is State.PREPARED
        ]
        self._deciding.add(writer)

        def apply(batch: Batch) -> None:
            batch.writer.put(Table.META, _key(writer), row)

        def committed() -> None:
            self._deciding.discard(writer)
            pending.succeed(True)

        def failed(error: BaseException) -> None:
            self._deciding.discard(writer)
            pending.fail(error)

        # Those that belong together are written by one commit, and by the next if that fails:
        # they were gathered in one go, and none of them can fail on its own.
        for transaction in chosen:
            self._transacting.commit(transaction)
        for transaction in others:
            self._transacting.abort(transaction)
        self._core.submit(apply, committed, failed, grows=True)
        return pending

    def _prepared(self, xid: str) -> Transaction:
        transaction = self._core.prepared.get(xid)
        if transaction is None or transaction.state is not State.PREPARED:
            raise TransactionSequence(f"{xid} is not prepared")
        return transaction


def _is_up_to(xid: str, writer: str, epoch: int) -> bool:
    """Whether a name is one of a writer's, of this epoch or an earlier one."""
    if not xid.startswith(f"{writer}/"):
        return False
    number = xid[len(writer) + 1 :].partition("/")[0]
    return number.isdecimal() and int(number) <= epoch


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
    if len(raw) > _NAME_MAX:
        raise InvalidParameter(f"the name of a {what} has up to {_NAME_MAX} bytes")
    return raw
