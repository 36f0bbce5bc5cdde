"""A service over REST: sessions, recordings of them, tokens, and its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from aiohttp import web

from openmsmq.console.models import (
    AccessView,
    CreatedToken,
    NewRecording,
    NewToken,
    OptionView,
    RecordingView,
    SessionRow,
    TokenView,
)
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiReply, ApiRoute
from openmsmq.types.caller import RIGHTS, TokenInfo
from openmsmq.types.peers import DependentInfo, RecordingInfo, SessionDetails, SessionInfo


async def sessions(call: ApiCall) -> list[SessionRow]:
    """Connections of other managers and of programs, and those to other managers."""
    found = await (await call.manager()).control.sessions()
    return [SessionRow(**asdict(one)) for one in found]


async def show_session(call: ApiCall) -> SessionDetails:
    """A connection: its window and last packets without their content, or the open queues."""
    name = call.part("session")
    control = (await call.manager()).control
    _require(name, "session", await control.sessions())
    return await control.session(name)


async def dependents(call: ApiCall) -> list[DependentInfo]:
    """Clients without a queue manager: what they have open, and the receives that wait."""
    return await (await call.manager()).control.dependents()


async def end_session(call: ApiCall) -> None:
    """End a connection; who was connected may connect again."""
    name = call.part("session")
    control = (await call.manager()).control
    _require(name, "session", await control.sessions())
    await control.end_session(name)
    call.log("end session", name)


async def recordings(call: ApiCall) -> list[RecordingView]:
    """Recordings that someone asked for, the oldest first."""
    return [_recording(one) for one in await (await call.manager()).control.recordings()]


async def start_recording(call: ApiCall) -> RecordingView:
    """Record what is said with other managers, for some seconds; one runs at a time."""
    asked = await call.body(NewRecording)
    control = (await call.manager()).control
    running = [one.id for one in await control.recordings() if one.state == "running"]
    if running:
        raise RequestRefused(409, f"the recording {running[0]} runs", "stop it first")
    begun = await control.start_recording(asked.seconds, peer=asked.peer)
    call.log("start recording", begun.id)
    return _recording(begun)


async def stop_recording(call: ApiCall) -> RecordingView:
    """End a recording before its time."""
    found = await _found(call)
    ended = await (await call.manager()).control.stop_recording(found.id)
    call.log("stop recording", found.id)
    return _recording(ended)


async def remove_recording(call: ApiCall) -> None:
    """Remove a recording that is over, with its files."""
    found = await _found(call)
    if found.state == "running":
        raise RequestRefused(409, f"the recording {found.id} runs", "stop it first")
    await (await call.manager()).control.remove_recording(found.id)
    call.log("remove recording", found.id)


async def read_recording(call: ApiCall) -> web.StreamResponse:
    """A file of a recording, for `openmsmq decode` and Wireshark."""
    found, name = await _found(call), call.part("file")
    if name not in {file.name for file in found.files}:
        raise RequestRefused(404, f"{found.id} has no file {name[:60]!r}")
    parts = (await call.manager()).control.read_recording(found.id, name)
    first = await anext(parts, b"")  # who may not have it gets no beginning of an answer
    disposition = f'attachment; filename="{name}"'
    response = web.StreamResponse(
        headers={
            "Content-Type": "application/vnd.tcpdump.pcap",
            "Content-Disposition": disposition,
            "X-Content-Type-Options": "nosniff",
        }
    )
    await response.prepare(call.request)
    await response.write(first)
    async for part in parts:
        await response.write(part)
    await response.write_eof()
    call.log("read recording", found.id, name)
    return response


async def _found(call: ApiCall) -> RecordingInfo:
    """The recording of the path."""
    name = call.part("recording")
    for one in await (await call.manager()).control.recordings():
        if one.id == name:
            return one
    raise RequestRefused(404, f"there is no recording {name[:40]!r}")


def _recording(one: RecordingInfo) -> RecordingView:
    times = {"began": _time(one.began), "until": _time(one.until)}
    return RecordingView(**{**asdict(one), **times})


# Tokens


async def tokens(call: ApiCall) -> list[TokenView]:
    """All tokens, without their secrets."""
    return [_token(one) for one in await (await call.manager()).control.tokens()]


async def create_token(call: ApiCall) -> ApiReply:
    """Create a token; its secret is in this answer only, not even in one that is repeated."""
    asked = await call.body(NewToken)
    expires = None if asked.expires is None else int(asked.expires.timestamp())
    if expires is not None and expires < call.state.wall():
        raise RequestRefused(400, "expires: this time is over")
    control = (await call.manager()).control
    made, secret = await control.create_token(
        asked.role, asked.queues, label=asked.label, expires=expires
    )
    call.log("create token", made.id)
    shown = _token(made)
    return ApiReply(CreatedToken(shown, secret), {}, 201, repeated=CreatedToken(shown, ""))


async def revoke_token(call: ApiCall) -> None:
    """Accept a token no longer; connections of programs that use it are closed."""
    name = call.part("token")
    control = (await call.manager()).control
    _require(name, "token", await control.tokens())
    await control.revoke_token(name)
    call.log("revoke token", name)


async def check_access(call: ApiCall) -> AccessView:
    """Whether a token gives a right on a queue, or on the manager itself."""
    token, right, queue = call.text("token"), call.text("right"), call.text("queue")
    if right not in RIGHTS:
        raise RequestRefused(400, f"right: one of {', '.join(RIGHTS)}")
    control = (await call.manager()).control
    _require(token, "token", await control.tokens())
    return AccessView(token, right, queue, await control.check_access(token, right, queue))


def _require(name: str, what: str, known: Sequence[SessionInfo | TokenInfo]) -> None:
    """404 for something that is not there."""
    if name not in {one.id for one in known}:
        raise RequestRefused(404, f"there is no {what} {name[:20]!r}")


def _token(one: TokenInfo) -> TokenView:
    times: dict[str, Any] = {
        name: None if at is None else _time(at)
        for name, at in (("created", one.created), ("expires", one.expires), ("used", one.used))
    }
    return TokenView(**{**asdict(one), **times})


def _time(seconds: int) -> datetime:
    """A time; one that no calendar has is the last one."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.max.replace(tzinfo=UTC)


# Configuration


async def configuration(call: ApiCall) -> list[OptionView]:
    """How the service is configured, and what its file would change."""
    found = await (await call.manager()).control.configuration()
    return [OptionView(**asdict(one)) for one in found]


_MANAGER: Final = "/managers/{manager}"
_RECORDING: Final = f"{_MANAGER}/recordings/{{recording}}"
SERVICE_ROUTES: Final = (
    ApiRoute("GET", f"{_MANAGER}/sessions", "watch", "Sessions", sessions, list[SessionRow]),
    ApiRoute(
        "GET",
        f"{_MANAGER}/sessions/{{session}}",
        "watch",
        "A session: its window and last packets, or the queues that it has open",
        show_session,
        SessionDetails,
    ),
    ApiRoute(
        "GET",
        f"{_MANAGER}/dependents",
        "watch",
        "Dependent clients, and their receives that wait",
        dependents,
        list[DependentInfo],
    ),
    ApiRoute(
        "DELETE",
        f"{_MANAGER}/sessions/{{session}}",
        "admin",
        "End a session",
        end_session,
        status=204,
    ),
    ApiRoute(
        "GET",
        f"{_MANAGER}/recordings",
        "watch",
        "Recordings of sessions with other managers",
        recordings,
        list[RecordingView],
    ),
    ApiRoute(
        "POST",
        f"{_MANAGER}/recordings",
        "admin",
        "Record sessions with other managers for some seconds",
        start_recording,
        RecordingView,
        NewRecording,
        status=201,
    ),
    ApiRoute(
        "POST", f"{_RECORDING}/stop", "admin", "Stop a recording", stop_recording, RecordingView
    ),
    ApiRoute("DELETE", _RECORDING, "admin", "Remove a recording", remove_recording, status=204),
    ApiRoute(
        "GET", f"{_RECORDING}/{{file}}", "admin", "A file of a recording, in pcap", read_recording
    ),
    ApiRoute("GET", f"{_MANAGER}/tokens", "admin", "Tokens", tokens, list[TokenView]),
    ApiRoute(
        "POST",
        f"{_MANAGER}/tokens",
        "admin",
        "Create a token; the secret is in this answer only",
        create_token,
        CreatedToken,
        NewToken,
        status=201,
    ),
    ApiRoute(
        "DELETE",
        f"{_MANAGER}/tokens/{{token}}",
        "admin",
        "Revoke a token",
        revoke_token,
        status=204,
    ),
    ApiRoute(
        "GET",
        f"{_MANAGER}/access-check",
        "admin",
        "Whether a token gives a right",
        check_access,
        AccessView,
        query={
            "token": "the identifier of a token",
            "right": "watch, peek, read, send, operate or admin",
            "queue": "on this queue; else on the manager itself",
        },
    ),
    ApiRoute(
        "GET",
        f"{_MANAGER}/configuration",
        "admin",
        "The configuration as it counts, and as the file says it",
        configuration,
        list[OptionView],
    ),
)
