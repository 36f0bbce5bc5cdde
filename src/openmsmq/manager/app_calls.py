"""What programs can have done by name: the CALLs of the application protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from openmsmq.app.calls import Call
from openmsmq.app.members import Arguments
from openmsmq.errors import InvalidHandle, InvalidParameter, PropertyNotAllowed
from openmsmq.manager.app_session import AppSession, OpenQueue
from openmsmq.manager.info import QueueInfo, path_name, queue_infos, queue_properties
from openmsmq.manager.naming import shown
from openmsmq.model.cursor import Cursor
from openmsmq.model.opening import Access, Mode, Share
from openmsmq.model.queue import Kind, Queue
from openmsmq.names.parse import parse_name

if TYPE_CHECKING:
    from openmsmq.app.members import JsonObject
    from openmsmq.model.pending import Pending

NUMBER_MAX: Final = (1 << 64) - 1
PROPERTIES: Final = (
    "transactional",
    "journal",
    "quota",
    "journal_quota",
    "label",
    "authenticate",
    "privacy",
    "base_priority",
    "type",
)
ACCESS: Final = {"receive": Access.RECEIVE, "send": Access.SEND, "peek": Access.PEEK}
SHARES: Final = {"none": Share.DENY_NONE, "receive": Share.DENY_RECEIVE}

Handler = Callable[[AppSession, int, Arguments], None]


class Calls:
    """The calls there are."""

    def __init__(self) -> None:
        self._handlers: Mapping[str, Handler] = {
            name.removeprefix("_call_"): getattr(self, name)
            for name in dir(self)
            if name.startswith("_call_")
        }

    def call(self, session: AppSession, number: int, call: Call) -> None:
        """Begin a call; the session answers when it is done."""
        handler = self._handlers.get(call.name)
        if handler is None:
            raise InvalidParameter(f"there is no call {call.name[:40]!r}")
        handler(session, number, call.arguments)

    # Queues

    def _call_create_queue(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("name", *PROPERTIES)
        name = given.text("name")
        session.require("admin", _path(session, name))
        properties = _properties(given)
        _begin(session, number, lambda: session.local.create_queue(name, **properties))

    def _call_delete_queue(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("name")
        queue = session.driver.call(lambda: session.local.find_queue(given.text("name")))
        session.require("admin", shown(queue.name))
        _begin(session, number, lambda: session.local.core.queues.delete(queue))

    def _call_open_queue(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("name", "access", "share")
        name = given.text("name")
        asked = Access(0)
        for word in given.texts("access", tuple(ACCESS)):
            if word not in ACCESS:
                raise InvalidParameter(f"access {word[:20]!r}: receive, send and peek are possible")
            asked |= ACCESS[word]
        share = given.text("share", "none")
        if share not in SHARES:
            raise InvalidParameter(f"share {share[:20]!r}: none and receive are possible")
        allowed = self._allowed(session, _path(session, name), asked)
        handle = session.number(session.handles)  # type: ignore[arg-type]
        queue, mode = session.driver.call(
            lambda: session.local.open_queue(name, Mode(allowed, SHARES[share]))
        )
        opened = OpenQueue(queue, mode, path_name(queue))
        session.handles[handle] = opened
        words = [word for word, access in ACCESS.items() if mode.access & access]
        session.reply(number, handle=handle, access=words, name=opened.name)

    def _allowed(self, session: AppSession, path: str, asked: Access) -> Access:
        """What of the access asked for the role allows; to ask for all is to ask for that."""
        grant = session.grant
        assert grant is not None
        readable = grant.allows("read", path)
        allowed = Access(0)
        if readable:
            allowed |= Access.RECEIVE | Access.PEEK
        if grant.allows("send", path):
            allowed |= Access.SEND
        if asked != Access.ALL and asked & ~allowed:
            session.require("read" if asked & ~allowed & ~Access.SEND else "send", path)
        if not asked & allowed:
            session.require("read", path)
        return asked & allowed

    def _call_close_queue(self, session: AppSession, number: int, given: Arguments) -> None:
        handle = given.integer("handle")
        opened = session.handle(handle)
        for key, subscribed in list(session.subscriptions.items()):
            if subscribed.opened is opened:
                session.stop(subscribed)
                session.subscriptions.pop(key, None)
        session.driver.call(lambda: session.close_handle(opened))
        del session.handles[handle]
        session.reply(number)

    def _call_set_queue(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle", *PROPERTIES)
        opened = session.handle(given.integer("handle"))
        session.require("admin", opened.name)
        changes = _properties(given)
        if "transactional" in changes:
            raise PropertyNotAllowed("transactional: a queue stays what it is")
        _begin(session, number, lambda: session.local.change_queue(opened.queue, **changes))

    def _call_queue_info(self, session: AppSession, number: int, given: Arguments) -> None:
        opened = session.handle(given.integer("handle"))
        core = session.local.core
        info = session.driver.call(lambda: QueueInfo.of(opened.queue, core))
        session.reply(number, queue=_info(info))

    def _call_queues(self, session: AppSession, number: int, given: Arguments) -> None:
        everything = given.flag("everything", default=False)
        core = session.local.core
        grant = session.grant
        assert grant is not None
        found = session.driver.call(lambda: queue_infos(core, everything=everything))
        seen = [
            _info(info)
            for info in found
            if grant.allows("read", info.name) or grant.allows("send", info.name)
        ]
        session.reply(number, queues=seen)

    def _call_purge(self, session: AppSession, number: int, given: Arguments) -> None:
        opened = session.handle(given.integer("handle"))
        if opened.queue.kind is Kind.OUTGOING:
            session.require("admin", opened.name)
        else:
            opened.mode.require(Access.RECEIVE)
        session.begin(
            number,
            lambda: session.local.core.queues.purge(opened.queue),  # type: ignore[arg-type,return-value]
            lambda count: session.reply(number, count=count),
        )

    def _call_move(self, session: AppSession, number: int, given: Arguments) -> None:
        opened = session.handle(given.integer("handle"))
        opened.mode.require(Access.RECEIVE)
        lookup = given.integer("lookup_id", maximum=NUMBER_MAX)
        target = given.text("target", "")
        transaction = session.transaction(given.integer("transaction", 0, maximum=NUMBER_MAX))
        _begin(
            session, number, lambda: session.local.move(opened.queue, lookup, target, transaction)
        )

    def _call_pause(self, session: AppSession, number: int, given: Arguments) -> None:
        self._hold_back(session, number, given, session.local.dispatching.pause)

    def _call_resume(self, session: AppSession, number: int, given: Arguments) -> None:
        self._hold_back(session, number, given, session.local.dispatching.resume)

    def _hold_back(
        self, session: AppSession, number: int, given: Arguments, act: Callable[[Queue], None]
    ) -> None:
        opened = session.handle(given.integer("handle"))
        session.require("admin", opened.name)
        session.driver.call(lambda: act(opened.queue))
        session.reply(number)

    def _call_open_cursor(self, session: AppSession, number: int, given: Arguments) -> None:
        opened = session.handle(given.integer("handle"))
        opened.mode.require(Access.PEEK)
        cursor = session.number(session.cursors)  # type: ignore[arg-type]
        session.cursors[cursor] = opened, Cursor()
        session.reply(number, cursor=cursor)

    def _call_close_cursor(self, session: AppSession, number: int, given: Arguments) -> None:
        found = session.cursors.pop(given.integer("cursor"), None)
        if found is None:
            raise InvalidHandle("no such cursor is open")
        opened, cursor = found
        receiving = session.local.receiving
        session.driver.call(lambda: receiving.close_cursor(opened.queue, cursor))
        session.reply(number)

    def _call_unsubscribe(self, session: AppSession, number: int, given: Arguments) -> None:
        subscribed = session.subscriptions.pop(given.integer("subscription"), None)
        if subscribed is not None:
            session.driver.call(lambda: session.stop(subscribed))
        session.reply(number)

    # Transactions

    def _call_begin(self, session: AppSession, number: int, given: Arguments) -> None:
        xid = given.text("xid", "")
        place = session.number(session.transactions)  # type: ignore[arg-type]
        session.transactions[place] = session.driver.call(lambda: session.local.begin(xid))
        session.door.metrics.transaction_began()
        session.reply(number, transaction=place)

    def _call_prepare(self, session: AppSession, number: int, given: Arguments) -> None:
        self._end(session, number, given, "prepare")

    def _call_commit(self, session: AppSession, number: int, given: Arguments) -> None:
        self._end(session, number, given, "commit")

    def _call_abort(self, session: AppSession, number: int, given: Arguments) -> None:
        self._end(session, number, given, "abort")

    def _end(self, session: AppSession, number: int, given: Arguments, how: str) -> None:
        place = given.integer("transaction", minimum=1, maximum=NUMBER_MAX)
        transaction = session.transaction(place)

        def done(_: object) -> None:
            session.transactions.pop(place, None)
            session.door.metrics.transaction_ended()
            session.reply(number)

        session.begin(number, lambda: getattr(session.local, how)(transaction), done)

    def _call_prepared(self, session: AppSession, number: int, given: Arguments) -> None:
        session.require("admin")
        session.reply(number, xids=sorted(session.local.core.prepared))

    def _call_commit_prepared(self, session: AppSession, number: int, given: Arguments) -> None:
        session.require("admin")
        xid = given.text("xid")
        _begin(session, number, lambda: session.local.commit_prepared(xid))

    def _call_abort_prepared(self, session: AppSession, number: int, given: Arguments) -> None:
        session.require("admin")
        xid = given.text("xid")
        _begin(session, number, lambda: session.local.abort_prepared(xid))

    def _call_commit_epoch(self, session: AppSession, number: int, given: Arguments) -> None:
        session.require("admin")
        writer, winners = given.text("query"), given.texts("winners")
        epoch = given.integer("epoch", maximum=NUMBER_MAX)
        session.begin(
            number,
            lambda: session.local.commit_epoch(writer, epoch, winners),  # type: ignore[arg-type,return-value]
            lambda applied: session.reply(number, applied=applied),
        )

    # The manager

    def _call_explain(self, session: AppSession, number: int, given: Arguments) -> None:
        session.require("read")
        message_id = given.text("message_id")
        events = session.driver.call(lambda: session.local.explain(message_id))
        session.reply(
            number, events=[{**asdict(event), "time": event.time.isoformat()} for event in events]
        )

    def _call_statistics(self, session: AppSession, number: int, given: Arguments) -> None:
        session.require("read")
        session.reply(number, counts=session.local.core.statistics.counts)

    def _call_settings(self, session: AppSession, number: int, given: Arguments) -> None:
        session.require("read")
        session.reply(number, settings=asdict(session.local.core.settings))

    def _call_configure(self, session: AppSession, number: int, given: Arguments) -> None:
        session.require("admin")
        changes = dict(given.values)
        _begin(session, number, lambda: session.local.configure(**changes))


def _begin(session: AppSession, number: int, make: Callable[[], Pending[Any]]) -> None:
    """Begin a call that has no more to answer than that it is done."""
    session.begin(number, make, lambda _: session.reply(number))


def _path(session: AppSession, name: str) -> str:
    """What rights are compared with: the path of a queue here, or the name of one elsewhere."""
    parsed = parse_name(name)
    local = session.driver.call(lambda: session.local.naming.local(parsed))
    return str(parsed) if local is None else shown(local)


def _properties(given: Arguments) -> dict[str, Any]:
    found = {name: given.values[name] for name in PROPERTIES if given.has(name)}
    return queue_properties(**found)


def _info(info: QueueInfo) -> JsonObject:
    return {**asdict(info), "id": str(info.id), "type": str(info.type)}
