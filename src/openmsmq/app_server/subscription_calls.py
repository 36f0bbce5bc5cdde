"""Named, durable subscriptions: the CALLs that open, read and drop them."""

from __future__ import annotations

from dataclasses import asdict

from openmsmq.app_protocol.members import Arguments
from openmsmq.app_server.session import AppSession
from openmsmq.engine.authorization import is_allowed
from openmsmq.engine.subscriptions.info import (
    bind_subscription,
    commit_reserved,
    drop_subscription,
    find_subscription,
    mark_reserved,
    open_subscription,
    subscription_infos,
)
from openmsmq.engine.subscriptions.subscription import DurableSubscription
from openmsmq.errors import InvalidParameter, UnsupportedOperation
from openmsmq.limits import U64_MAX
from openmsmq.types.access import Access
from openmsmq.types.queues import QueueKind
from openmsmq.types.subscriptions import Binding


class SubscriptionCalls:
    """The calls about subscriptions."""

    def _call_open_reader(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle", "queue", "name", "copy", "owner")
        name, copy = given.text("name"), given.flag("copy", default=False)
        owner = given.text("owner", "")
        if given.has("handle") == given.has("queue"):
            raise InvalidParameter("either handle or queue is needed")
        if given.has("queue"):
            queue = given.text("queue")
            session.require("read", *session.paths(queue))
            found = session.driver.call(lambda: find_subscription(session.local, name, queue))
            if not found.source.deleted:
                raise InvalidParameter(f"{queue} is there: open it, and name its handle")
            self._opened(session, number, found, owner)
            return
        opened = session.handle(given.integer("handle"))
        opened.mode.require(Access.RECEIVE)
        if opened.queue.kind is QueueKind.OUTGOING:
            raise UnsupportedOperation(f"{opened.name}: only its own manager has subscriptions")
        session.begin(
            number,
            lambda: open_subscription(session.local, opened.queue, name, copy=copy),
            lambda found: self._opened(session, number, found, owner),
        )

    def _opened(
        self, session: AppSession, number: int, found: DurableSubscription, owner: str
    ) -> None:
        reader = session.readers.add(found, owner)
        session.reply(
            number,
            reader=reader,
            committed=found.committed,
            reserved=found.reserved,
            owner=found.owner,
            marked=found.marked,
        )

    def _call_bind(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("reader", "take_over", "read", "run", "begins")
        found, owner = session.readers.get(given.integer("reader"))
        binding = Binding(
            given.flag("take_over", default=False),
            given.integer("read", 0, maximum=U64_MAX),
            given.text("run", ""),
            given.flag("begins", default=False),
        )
        session.begin(
            number,
            lambda: bind_subscription(session.local, found, owner, binding),
            lambda _: session.reply(number),
        )

    def _call_mark_read(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("reader", "after", "last")
        found, owner = session.readers.get(given.integer("reader"))
        after = given.integer("after", maximum=U64_MAX)
        last = given.integer("last", maximum=U64_MAX)
        session.begin(
            number,
            lambda: mark_reserved(session.local, found, owner, after, last),
            lambda _: session.reply(number),
        )

    def _call_reserve(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("reader", "after", "count", "bytes")
        found, _ = session.readers.get(given.integer("reader"))
        after = given.integer("after", maximum=U64_MAX)
        count = given.integer("count", minimum=1)
        size_max = given.integer("bytes", U64_MAX, minimum=1, maximum=U64_MAX)
        session.begin(
            number,
            lambda: session.local.reservations.reserve(found, after, count, size_max),
            lambda reserved: session.reply(number, reserved=reserved),
        )

    def _call_reserved_size(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("reader", "after", "last")
        found, _ = session.readers.get(given.integer("reader"))
        after = given.integer("after", maximum=U64_MAX)
        last = given.integer("last", maximum=U64_MAX)
        size = session.driver.call(lambda: session.local.reservations.size(found, after, last))
        session.reply(number, size=size)

    def _call_commit_position(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("reader", "position", "move_to")
        found, owner = session.readers.get(given.integer("reader"))
        position = given.integer("position", maximum=U64_MAX)
        move_to = given.text("move_to", "")
        session.begin(
            number,
            lambda: commit_reserved(session.local, found, position, move_to, owner, session.caller),
            lambda _: session.reply(number),
        )

    def _call_subscriptions(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("name")
        caller, name = session.caller, given.text("name", "")
        infos = session.driver.call(lambda: subscription_infos(session.local, name))
        seen = [asdict(info) for info in infos if is_allowed(caller, "read", info.queue)]
        session.reply(number, subscriptions=seen)

    def _call_drop_subscription(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("name", "queue", "unread")
        name, queue = given.text("name"), given.text("queue")
        unread = given.flag("unread", default=False)
        session.require("admin", *session.paths(queue))
        found = session.driver.call(lambda: find_subscription(session.local, name, queue))
        session.begin(
            number,
            lambda: drop_subscription(session.local, found, unread=unread, caller=session.caller),
            lambda count: session.reply(number, count=count),
        )
