"""What administrators can ask of a service: sessions, recordings, tokens, its configuration."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict
from typing import Final

from openmsmq.app_protocol.limits import FILE_PART_MAX
from openmsmq.app_protocol.members import Arguments
from openmsmq.app_server.limits import LABEL_MAX, PATTERNS_MAX, SESSION_QUEUES_MAX
from openmsmq.app_server.session import AppSession
from openmsmq.engine.authorization import is_allowed
from openmsmq.errors import InvalidParameter, UnsupportedOperation
from openmsmq.limits import U64_MAX
from openmsmq.transports.peers.control import SessionControl
from openmsmq.types.caller import RIGHTS, Caller, Right, rights_of, role_of
from openmsmq.types.peers import DependentInfo, SessionDetails, SessionInfo

_ENDED: Final = "an administrator has ended the session"


class ControlCalls:
    """The calls about a service itself; to look needs `watch`, all else `admin`."""

    # Sessions

    def _call_sessions(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("watch")
        control = session.server.control
        found = [] if control is None else control.sessions()
        found += [_program(one, session.now) for one in _programs(session)]
        found += [one.session() for one in _dependents(session)]
        session.reply(number, sessions=list(map(asdict, found)))

    def _call_session(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("session")
        session.require("watch")
        name = given.text("session")
        found = _details(session, name)
        if found is None:
            raise InvalidParameter(f"there is no session {name[:20]!r}")
        seen = [one for one in found.queues if is_allowed(session.caller, "watch", one)]
        session.reply(number, details={**asdict(found), "queues": seen})

    def _call_dependents(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("watch")
        session.reply(number, dependents=list(map(asdict, _dependents(session))))

    def _call_end_session(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("session")
        session.require("admin")
        name = given.text("session")
        kind, serial = _serial(name)
        control = session.server.control
        dependents = session.server.dependents
        programs = [one for one in _programs(session) if one.serial == serial]
        if kind == "p" and programs:
            if programs[0] is session:
                raise InvalidParameter(f"{name} is the session that asks")
            _note(session, "end session", name, programs[0].wire.peer)
            programs[0].close(_ENDED)
        elif (kind == "m" and control is not None and control.end_session(serial)) or (
            kind == "d" and dependents is not None and dependents.end(serial)
        ):
            _note(session, "end session", name)
        else:
            raise InvalidParameter(f"there is no session {name[:20]!r}")
        session.reply(number)

    # Recordings

    def _call_recordings(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("watch")
        control = session.server.control
        found = [] if control is None else control.recordings.all()
        session.reply(number, recordings=list(map(asdict, found)))

    def _call_start_recording(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("seconds", "peer")
        control = _control(session)
        seconds, peer = given.integer("seconds", 60), given.text("peer", "")
        info = control.start_recording(seconds, peer, session.caller.principal)
        _note(session, "start recording", info.id, f"{seconds} s, {peer or 'all sessions'}")
        session.reply(number, recording=asdict(control.recordings.show(info.id)))

    def _call_stop_recording(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("recording")
        control, name = _control(session), given.text("recording")
        control.stop_recording(name)
        _note(session, "stop recording", name)
        session.reply(number, recording=asdict(control.recordings.show(name)))

    def _call_remove_recording(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("recording")
        control, name = _control(session), given.text("recording")
        control.recordings.remove(name)
        _note(session, "remove recording", name)
        session.reply(number)

    def _call_read_recording(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("recording", "file", "offset")
        control, name = _control(session), given.text("recording")
        file, offset = given.text("file"), given.integer("offset", 0, maximum=U64_MAX >> 1)
        data = control.recordings.read(name, file, offset, FILE_PART_MAX)
        if not offset:
            _note(session, "read recording", name, file)
        session.reply(number, data=b64encode(data).decode())

    # Tokens

    def _call_tokens(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("admin")
        tokens = session.server.tokens
        session.reply(number, tokens=[asdict(tokens.info(one)) for one in tokens])

    def _call_create_token(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("role", "queues", "label", "expires")
        session.require("admin")
        rights = _rights(given.text("role"))
        queues, label = given.texts("queues", ()), given.text("label", "")
        if len(label) > LABEL_MAX:
            raise InvalidParameter(f"label: at most {LABEL_MAX} characters")
        if len(queues) > PATTERNS_MAX:
            raise InvalidParameter(f"queues: at most {PATTERNS_MAX} patterns")
        expires = given.integer("expires", maximum=U64_MAX >> 1) if given.has("expires") else None
        tokens = session.server.tokens
        made, text = tokens.create(
            role_of(rights), queues, label=label, expires=expires, caller=session.caller
        )
        session.reply(number, token=asdict(tokens.info(made)), secret=text)

    def _call_revoke_token(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("token")
        session.require("admin")
        tokens = session.server.tokens
        gone = tokens.revoke(given.text("token"), session.caller)
        session.reply(number, token=asdict(tokens.info(gone)))

    def _call_check_access(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only("token", "right", "queue")
        session.require("admin")
        name, (right, *_) = given.text("token"), _rights(given.text("right"))
        queue = given.text("queue", "")
        grant = session.server.tokens.grant_of(name)
        paths = session.paths(queue) if queue else ()
        allowed = grant is not None and is_allowed(Caller(name, grant), right, *paths)
        session.reply(number, allowed=allowed)

    # Configuration

    def _call_configuration(self, session: AppSession, number: int, given: Arguments) -> None:
        given.only()
        session.require("admin")
        session.reply(number, entries=list(map(asdict, session.server.configured())))


def _serial(name: str) -> tuple[str, int]:
    """The kind of a session, and its number among them; 0 for none."""
    kind, digits = name[:1], name[1:12]
    return kind, int(digits) if digits.isascii() and digits.isdecimal() else 0


def _details(session: AppSession, name: str) -> SessionDetails | None:
    """All that is known of a session."""
    kind, serial = _serial(name)
    control = session.server.control
    if kind == "m" and control is not None:
        return control.details(serial)
    if kind == "p":
        for one in _programs(session):
            if one.serial == serial:
                state = "not logged in" if one.grant is None else "open"
                names = sorted({opened.name for opened in one.handles.values()})
                queues = tuple(names[:SESSION_QUEUES_MAX])
                return SessionDetails(_program(one, session.now), state, queues=queues)
    for client in _dependents(session):
        if client.id == name:
            queues = tuple(queue.name for queue in client.queues)[:SESSION_QUEUES_MAX]
            return SessionDetails(client.session(), "open", queues=queues)
    return None


def _programs(session: AppSession) -> list[AppSession]:
    """The sessions of programs that are not over."""
    return [one for one in session.server.sessions if not one.is_over]


def _dependents(session: AppSession) -> list[DependentInfo]:
    """The clients whose supporting server this manager is."""
    dependents = session.server.dependents
    return [] if dependents is None else dependents.all()


def _program(one: AppSession, now: float) -> SessionInfo:
    """The session of a program."""
    return SessionInfo(
        id=f"p{one.serial}",
        kind="program",
        peer=one.wire.peer,
        name=one.caller.name,
        who=one.caller.principal if one.grant is not None else "",
        incoming=True,
        is_open=one.grant is not None,
        age=max(0, int(now - one.began)),
        received=one.wire.received,
        sent=one.wire.sent,
    )


def _control(session: AppSession) -> SessionControl:
    """The listener for other managers, for administrators."""
    session.require("admin")
    control = session.server.control
    if control is None:
        raise UnsupportedOperation("binary.port is off: there are no sessions to record")
    return control


def _note(session: AppSession, act: str, target: str, reason: str = "") -> None:
    """Write something down in the audit log."""
    audit = session.local.audit
    session.driver.call(lambda: audit.acted(session.caller, act, target, reason))


def _rights(role: str) -> list[Right]:
    if not rights_of(role):
        raise InvalidParameter(f"{role[:40]!r}: one of {', '.join(RIGHTS)}, or several with +")
    words = role.split("+")
    return [right for right in RIGHTS if right in words]
