"""What programs can have done by name: the CALLs of the application protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from openmsmq.app_protocol.calls import Call
from openmsmq.app_protocol.limits import REDIRECT_MAX
from openmsmq.app_protocol.members import Arguments, JsonObject
from openmsmq.app_server.control_calls import ControlCalls
from openmsmq.app_server.limits import PAGE_MAX
from openmsmq.app_server.session import AppSession
from openmsmq.app_server.subscription_calls import SubscriptionCalls
from openmsmq.app_server.topology_calls import TopologyCalls
from openmsmq.app_server.transactions import TransactionCalls
from openmsmq.engine.authorization import is_allowed
from openmsmq.engine.commit.future import Future
from openmsmq.engine.explanation import queue_history
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.outgoing.info import outgoing_infos
from openmsmq.engine.queues.info import BEFORE_ALL, queue_infos, queue_page
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import (
    InvalidHandle,
    InvalidParameter,
    MQError,
    PropertyNotAllowed,
    UnsupportedOperation,
)
from openmsmq.limits import U32_MAX, U64_MAX
from openmsmq.transports.peers.info import multicast_infos, peer_infos
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.caller import Caller
from openmsmq.types.delivery import RedirectOptions
from openmsmq.types.queues import QueueInfo, QueueKind, queue_properties
from openmsmq.types.settings import Settings

FLAGS: Final = ("transactional", "journal", "authenticate")
NUMBERS: Final = (
    "quota",
    "journal_quota",
    "privacy",
    "base_priority",
    "abort_limit",
    "retry_delay",
)
TEXTS: Final = ("label", "type", "poison", "multicast")
PROPERTIES: Final = (*FLAGS, *NUMBERS, *TEXTS)
"The properties that a program can set."
ACCESS: Final = {
    "receive": Access.RECEIVE,
    "send": Access.SEND,
    "peek": Access.PEEK,
    "operate": Access.OPERATE,
}
_ALL: Final = ("receive", "send", "peek")
SHARES: Final = {"none": Share.DENY_NONE, "receive": Share.DENY_RECEIVE}

Handler = Callable[[AppSession, int, Arguments], None]


class Calls(ControlCalls, SubscriptionCalls, TopologyCalls, TransactionCalls):
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
        session.require("admin", *session.paths(name))
        properties = _properties(given)
        caller, directory = session.caller, session.server.directory
        if directory is not None and directory.is_public(name):
            _begin(session, number, lambda: directory.create_queue(name, caller, properties))
            return
        _begin(session, number, lambda: session.local.create_queue(name, caller, **properties))

    def _call_delete_queue(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("name")
        name = given.text("name")
        session.require("admin", *session.paths(name))
        local, caller, directory = session.local, session.caller, session.server.directory
        if directory is not None and directory.is_public(name):
            _begin(session, number, lambda: directory.delete_queue(name, caller))
            return
        _begin(session, number, lambda: local.delete_queue(name, caller))

    def _call_open_queue(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("name", "access", "share")
        name = given.text("name")
        asked = Access(0)
        for word in given.texts("access", _ALL):
            if word not in ACCESS:
                raise InvalidParameter(f"access {word[:20]!r} is not one of {', '.join(ACCESS)}")
            asked |= ACCESS[word]
        if not asked:
            raise InvalidParameter(f"access must name at least one of {', '.join(ACCESS)}")
        share = given.text("share", "none")
        if share not in SHARES:
            raise InvalidParameter(f"share {share[:20]!r} is not one of none, receive")
        allowed = session.allowed_access(asked, *session.paths(name))
        mode = Mode(allowed, SHARES[share])
        directory = session.server.directory
        if directory is None or not directory.needs_lookup(name):
            self._open(session, number, name, mode)
            return

        def found(_: None) -> None:
            try:
                if not session.is_over:
                    self._open(session, number, name, mode)
            except MQError as error:
                session.fail(number, error)

        session.begin(number, lambda: directory.look_up(name), found)

    def _open(self, session: AppSession, number: int, name: str, mode: Mode) -> None:
        handle = session.number(session.handles)
        opened = session.driver.call(lambda: session.open_queue(name, mode))
        session.handles[handle] = opened
        words = [word for word, access in ACCESS.items() if opened.mode.access & access]
        session.reply(number, handle=handle, access=words, name=opened.name)

    def _call_close_queue(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle")
        handle = given.integer("handle")
        session.driver.call(lambda: session.close_queue(handle))
        session.reply(number)

    def _call_set_queue(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle", *PROPERTIES)
        opened = session.handle(given.integer("handle"))
        session.require("admin", opened.name)
        changes = _properties(given)
        if "transactional" in changes:
            raise PropertyNotAllowed("transactional: a queue stays what it is")
        local, caller, directory = session.local, session.caller, session.server.directory
        if directory is not None and directory.is_public(opened.name):
            queue = opened.queue
            _begin(session, number, lambda: directory.change_queue(queue, caller, changes))
            return
        _begin(session, number, lambda: local.change_queue(opened.queue, caller, **changes))

    def _call_permissions(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle")
        opened = session.handle(given.integer("handle"))
        local, caller = session.local, session.caller
        sddl = session.driver.call(lambda: local.permissions(opened.queue, caller))
        session.reply(number, permissions=sddl)

    def _call_set_permissions(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle", "permissions")
        opened = session.handle(given.integer("handle"))
        session.require("admin", opened.name)
        sddl = given.text("permissions")
        local, caller, directory = session.local, session.caller, session.server.directory
        queue = opened.queue
        if directory is not None and queue.kind is QueueKind.PUBLIC:
            _begin(session, number, lambda: directory.set_permissions(queue, sddl, caller))
            return
        _begin(session, number, lambda: local.set_permissions(opened.queue, sddl, caller))

    def _call_queue_info(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle")
        opened = session.handle(given.integer("handle"))
        session.reply(number, queue=_info(session.driver.call(opened.info)))

    def _call_queues(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("everything", "limit", "after")
        session.require_somewhere("watch")
        everything = given.flag("everything", default=False)
        limit = given.integer("limit", minimum=1) if given.has("limit") else None
        after = given.integer("after") if given.has("after") else BEFORE_ALL
        core, caller = session.local, session.caller

        def look() -> tuple[list[QueueInfo], int | None]:
            if limit is None:  # a client that knows no pages
                return queue_infos(core, everything=everything), None
            count = min(limit, PAGE_MAX)
            return queue_page(core, everything=everything, after=after, count=count)

        found, following = session.driver.call(look)
        seen = [_info(info) for info in found if is_allowed(caller, "watch", info.name)]
        session.reply(number, queues=seen, **({} if following is None else {"next": following}))

    def _call_outgoing(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require_somewhere("watch")
        caller = session.caller
        found = session.driver.call(lambda: outgoing_infos(session.local))
        seen = [asdict(info) for info in found if is_allowed(caller, "watch", info.name)]
        session.reply(number, queues=seen)

    def _call_peers(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("admin")
        found = session.driver.call(lambda: peer_infos(session.local))
        peers = [{**asdict(info), "id": str(info.id)} for info in found]
        session.reply(number, peers=peers)

    def _call_multicast(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("admin")
        found = session.driver.call(lambda: multicast_infos(session.local))
        session.reply(number, sessions=list(map(asdict, found)))

    def _call_purge(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle")
        opened = session.handle(given.integer("handle"))
        if Access.SEND in opened.mode.access and opened.queue.kind is QueueKind.OUTGOING:
            session.require("admin", opened.name)
        session.begin(number, opened.purge, lambda count: session.reply(number, count=count))

    def _call_move(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle", "lookup_id", "target", "transaction")
        opened = session.handle(given.integer("handle"))
        lookup = given.integer("lookup_id", maximum=U64_MAX)
        target = given.text("target", "")
        transaction = session.transaction(given.integer("transaction", 0, maximum=U64_MAX))
        _begin(session, number, lambda: opened.move(lookup, target, transaction))

    def _call_reject(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle", "lookup_id", "transaction")
        opened = session.handle(given.integer("handle"))
        lookup = given.integer("lookup_id", maximum=U64_MAX)
        transaction = session.transaction(given.integer("transaction", 0, maximum=U64_MAX))
        _begin(session, number, lambda: opened.reject(lookup, transaction))

    def _call_redirect(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle", "lookup_ids", "target", "copy", "time_to_be_received")
        source = session.handle(given.integer("handle"))
        target = session.handle(given.integer("target"))
        if not (isinstance(source, QueueHandle) and isinstance(target, QueueHandle)):
            raise UnsupportedOperation("redirect: from queues of this manager only")
        texts = given.texts("lookup_ids", ())
        if len(texts) > REDIRECT_MAX:
            raise InvalidParameter(f"lookup_ids: at most {REDIRECT_MAX} at once")
        lookups = [_lookup(text) for text in texts]
        copy = given.flag("copy", default=False)
        seconds = given.integer("time_to_be_received", U32_MAX, maximum=U32_MAX)
        keeps = not given.has("time_to_be_received")
        options = RedirectOptions(copy, keeps, None if seconds == U32_MAX else seconds)
        session.begin(
            number,
            lambda: session.local.redirect(source, lookups, target, options),
            lambda ids: session.reply(number, ids={str(at): one for at, one in ids.items()}),
        )

    def _call_pause(self, session: AppSession, number: int, given: Arguments) -> None:
        self._hold_back(session, number, given, session.local.pause)

    def _call_resume(self, session: AppSession, number: int, given: Arguments) -> None:
        self._hold_back(session, number, given, session.local.resume)

    def _call_retry(self, session: AppSession, number: int, given: Arguments) -> None:
        self._hold_back(session, number, given, session.local.retry)

    def _hold_back(
        self,
        session: AppSession,
        number: int,
        given: Arguments,
        act: Callable[[ManagedQueue, Caller], None],
    ) -> None:
        given.only("handle")
        opened = session.handle(given.integer("handle"))
        session.require("operate", opened.name)
        session.driver.call(lambda: act(opened.queue, session.caller))
        session.reply(number)

    def _call_open_cursor(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("handle")
        opened = session.handle(given.integer("handle"))
        place = session.number(session.cursors)
        cursor = session.driver.call(opened.open_cursor)
        session.cursors[place] = opened, cursor
        session.reply(number, cursor=place)

    def _call_close_cursor(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("cursor")
        place = given.integer("cursor")
        found = session.cursors.pop(place, None)
        if found is None:
            raise InvalidHandle(f"unknown cursor {place}")
        opened, cursor = found
        session.driver.call(lambda: opened.close_cursor(cursor))
        session.reply(number)

    def _call_unsubscribe(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("subscription")
        subscription = given.integer("subscription")
        session.driver.call(lambda: session.streams.end(subscription))
        session.reply(number)

    # The manager

    def _call_explain(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("message_id")
        session.require("watch")
        message_id = given.text("message_id")
        events = session.driver.call(lambda: session.local.explain(message_id))
        session.reply(
            number, events=[{**asdict(event), "time": event.time.isoformat()} for event in events]
        )

    def _call_queue_history(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("name", "before", "limit")
        name = given.text("name")
        session.require("watch", *session.paths(name))
        before = given.integer("before", 0, maximum=U64_MAX)
        count = min(given.integer("limit", PAGE_MAX, minimum=1), PAGE_MAX)
        found = session.driver.call(lambda: queue_history(session.local, name, before, count))
        events = [{**asdict(event), "time": event.time.isoformat()} for event in found.events]
        session.reply(number, events=events, next=found.next)

    def _call_statistics(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("watch")
        session.reply(number, counts=session.local.counts())

    def _call_settings(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("watch")
        local, caller = session.local, session.caller
        found = session.driver.call(lambda: local.visible_settings(caller))
        session.reply(number, settings=asdict(found))

    def _call_audit(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("after", "limit")
        session.require("admin")
        after = given.integer("after", 0, maximum=U64_MAX)
        count = min(given.integer("limit", PAGE_MAX, minimum=1), PAGE_MAX)
        found = session.driver.call(lambda: session.local.audit_entries(after, count))
        session.reply(
            number, entries=[{**asdict(entry), "time": entry.time.isoformat()} for entry in found]
        )

    def _call_configure(self, session: AppSession, number: int, given: Arguments) -> None:
        session.require("admin")
        changes = dict(given.values)
        for name in changes.keys() - Settings.__dataclass_fields__.keys():
            raise PropertyNotAllowed(f"there is no setting {name[:40]}")
        _begin(session, number, lambda: session.local.configure(session.caller, **changes))


def _lookup(text: str) -> int:
    """A lookup identifier; as text, since not every language has integers of 64 bits in JSON."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(U64_MAX))):
        raise InvalidParameter(f"lookup_ids: {text[:24]!r} is not one")
    return int(text)


def _begin(session: AppSession, number: int, make: Callable[[], Future[Any]]) -> None:
    """Begin a call that has no more to answer than that it is done."""
    session.begin(number, make, lambda _: session.reply(number))


def _properties(given: Arguments) -> dict[str, Any]:
    """The properties among the arguments; what values they may have is for the manager to say."""
    found: dict[str, Any] = {name: given.flag(name) for name in FLAGS if given.has(name)}
    for name in NUMBERS:
        if given.has(name):
            found[name] = given.integer(name, minimum=-U64_MAX, maximum=U64_MAX)
    for name in TEXTS:
        if given.has(name):
            found[name] = given.text(name)
    return queue_properties(**found)


def _info(info: QueueInfo) -> JsonObject:
    values = {name: getattr(info, name) for name in QueueInfo.__dataclass_fields__}
    return {**values, "id": str(info.id), "type": str(info.type)}
