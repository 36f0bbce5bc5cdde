"""Transactions of programs: the CALLs that begin, prepare and end them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from openmsmq.app_protocol.members import Arguments
from openmsmq.app_server.session import AppSession
from openmsmq.engine.commit.future import Future
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.engine.transactions.units import unit_infos
from openmsmq.errors import UnsupportedOperation
from openmsmq.limits import U64_MAX
from openmsmq.types.caller import Caller
from openmsmq.types.units import decider_of


class TransactionCalls:
    """The calls about transactions."""

    def _call_begin(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("xid", "stage")
        xid, stages = given.text("xid", ""), given.flag("stage", default=False)
        place = session.number(session.transactions)
        begun = session.driver.call(lambda: session.local.begin(xid, stages=stages))
        session.transactions[place] = begun
        begun.token = session.caller.grant.holder
        begun.used = session.now
        session.server.metrics.transactions += 1
        session.reply(number, transaction=place)

    def _call_prepare(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("transaction")

        def done(place: int, transaction: ManagedTransaction) -> None:
            is_prepared = session.local.is_prepared
            session.prepared = {
                at: known for at, known in session.prepared.items() if is_prepared(known)
            }
            session.prepared[place] = transaction

        def prepare(transaction: ManagedTransaction) -> Future[None]:
            if session.proxy_of(transaction):
                raise UnsupportedOperation(
                    "a transaction with messages of another manager cannot be prepared"
                )
            return session.local.prepare(transaction)

        self._end(session, number, given, prepare, done)

    def _call_commit(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("transaction", "participants")
        participants = given.texts("participants", ())

        def done(place: int, transaction: ManagedTransaction) -> None:
            if participants:
                session.units.add(transaction.xid)

        def commit(transaction: ManagedTransaction) -> Future[None]:
            if proxy := session.proxy_of(transaction):
                if participants:
                    raise UnsupportedOperation("remote read takes no part in units")
                return proxy.commit(transaction)
            return session.local.commit(transaction, participants, session.caller)

        self._end(session, number, given, commit, done)

    def _call_abort(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("transaction")
        place = given.integer("transaction", minimum=1, maximum=U64_MAX)
        if place in session.timed_out:  # it is aborted
            session.timed_out.remove(place)
            session.reply(number)
        else:

            def abort(transaction: ManagedTransaction) -> Future[None]:
                if proxy := session.proxy_of(transaction):
                    return proxy.abort(transaction)
                return session.local.abort(transaction, session.caller)

            self._end(session, number, given, abort)

    def _end(
        self,
        session: AppSession,
        number: int,
        given: Arguments,
        end: Callable[[ManagedTransaction], Future[None]],
        done: Callable[[int, ManagedTransaction], None] | None = None,
    ) -> None:
        place = given.integer("transaction", minimum=1, maximum=U64_MAX)
        transaction = session.transaction(place)
        assert transaction is not None

        def answered(pending: Future[None]) -> None:
            if pending.error is not None:
                session.fail(number, pending.error)
                if session.is_over:
                    session.abandon(transaction)
                return
            session.prepared.pop(place, None)
            if session.transactions.pop(place, None) is not None:
                session.server.metrics.transactions -= 1
            if done is not None:
                done(place, transaction)
            if transaction.is_undecided:  # it ended elsewhere, and is empty here
                session.abandon(transaction)
            session.reply(number)

        session.driver.begin(lambda: end(transaction), answered)

    def _call_prepared(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require_somewhere("send")
        ages = session.driver.call(lambda: session.local.prepared_ages(session.caller))
        session.reply(number, xids=list(ages), ages=ages)

    def _call_commit_prepared(self, session: AppSession, number: int, given: Arguments) -> None:
        self._decide(session, number, given, session.local.commit_prepared)

    def _call_abort_prepared(self, session: AppSession, number: int, given: Arguments) -> None:
        self._decide(session, number, given, session.local.abort_prepared)

    def _decide(
        self,
        session: AppSession,
        number: int,
        given: Arguments,
        decide: Callable[[str, Caller], Future[None]],
    ) -> None:
        """The program that prepared a transaction may end it, an administrator may end any.

        The name of a unit cannot be guessed: to know it is to have a part in it.
        """
        given.only("xid")
        xid = given.text("xid")
        is_own = session.local.may_end_prepared(xid, session.caller)
        is_here = any(known.xid == xid for known in session.prepared.values())
        if not (is_own or is_here) and decider_of(xid) is None:
            session.require("admin")
        session.begin(number, lambda: decide(xid, session.caller), lambda _: session.reply(number))

    def _call_commit_epoch(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("query", "epoch", "winners", "owner", "final")
        session.require_somewhere("send")
        writer, winners = given.text("query"), given.texts("winners")
        epoch, owner = given.integer("epoch", maximum=U64_MAX), given.text("owner", "")
        final, caller, local = given.flag("final", default=False), session.caller, session.local
        session.begin(
            number,
            lambda: local.commit_epoch(writer, epoch, winners, owner, final=final, caller=caller),
            lambda applied: session.reply(number, applied=applied),
        )

    # Units

    def _call_unit_states(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("xids")
        xids = given.texts("xids")
        units = session.local.units
        states = session.driver.call(lambda: {xid: units.state(xid) for xid in xids})
        session.reply(number, states=states)

    def _call_finish_unit(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("xid", "confirmed")
        xid, confirmed = given.text("xid"), given.texts("confirmed")
        session.units.discard(xid)
        session.begin(
            number,
            lambda: session.local.units.finish(xid, confirmed),
            lambda _: session.reply(number),
        )

    def _call_units(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("admin")
        found = session.driver.call(lambda: unit_infos(session.local))
        session.reply(number, units=[asdict(info) for info in found])
