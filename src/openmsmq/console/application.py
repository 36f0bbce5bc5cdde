"""The console as a part of a web application: who is let in, and what is answered.

Every answer forbids browsers to run or load anything but the console's own files. A request must
name the console by a name of its own (against DNS rebinding); one with a cookie that changes
something must come from a page of the console itself (against cross-site requests).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from http import HTTPStatus
from importlib.resources import files
from ipaddress import ip_address
from typing import Any, Final

import msgspec
from aiohttp import web

from openmsmq import __version__
from openmsmq.console.limits import REQUEST_MAX
from openmsmq.console.models import Login, SessionView
from openmsmq.console.problems import RequestRefused, response_of
from openmsmq.console.rest.apply_calls import APPLY_ROUTES
from openmsmq.console.rest.calls import ApiCall, ApiReply, ApiRoute
from openmsmq.console.rest.history_calls import HISTORY_ROUTES
from openmsmq.console.rest.inspection_calls import INSPECTION_ROUTES
from openmsmq.console.rest.letter_calls import LETTER_ROUTES
from openmsmq.console.rest.manager_calls import MANAGER_ROUTES
from openmsmq.console.rest.message_calls import MESSAGE_ROUTES
from openmsmq.console.rest.openapi import describe
from openmsmq.console.rest.pipeline_calls import PIPELINE_ROUTES
from openmsmq.console.rest.plan_calls import PLAN_ROUTES
from openmsmq.console.rest.queue_calls import QUEUE_ROUTES
from openmsmq.console.rest.service_calls import SERVICE_ROUTES
from openmsmq.console.rest.topology_calls import TOPOLOGY_ROUTES
from openmsmq.console.sessions import BrowserSession
from openmsmq.console.state import ConsoleState
from openmsmq.errors import AccessDenied, MQError
from openmsmq.runtime.logs import log_event

API: Final = "/api/v1"
COOKIE: Final = "openmsmq-console"
OWN_HEADER: Final = "X-OpenMSMQ"
"A header that pages of other sites cannot send without being asked first."
IDLE_HEADER: Final = "X-OpenMSMQ-Idle"
"A header of requests that a page makes by itself while no one touches it."
CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
    " font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
SAFE: Final = ("GET", "HEAD")
TYPES: Final = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".html": "text/html",
}
ROUTES: Final = (
    *QUEUE_ROUTES,
    *INSPECTION_ROUTES,
    *MESSAGE_ROUTES,
    *PLAN_ROUTES,
    *LETTER_ROUTES,
    *HISTORY_ROUTES,
    *MANAGER_ROUTES,
    *SERVICE_ROUTES,
    *TOPOLOGY_ROUTES,
    *APPLY_ROUTES,
    *PIPELINE_ROUTES,
)
"All that the API can do once someone is logged in."
_log: Final = logging.getLogger(__name__)


class ConsoleApplication:
    """The pages and the API."""

    def __init__(self, state: ConsoleState) -> None:
        self.state = state
        self._files = load_files()

    def add_to(self, app: web.Application) -> None:
        """Answer what the console is asked in a web application."""
        app._client_max_size = REQUEST_MAX
        router = app.router
        for route in ROUTES:
            router.add_route(route.method, API + route.path, self._answering(route))
        router.add_post(f"{API}/session", self._plain(self._log_in))
        router.add_get(f"{API}/session", self._answering(SESSION_ROUTE))
        router.add_delete(f"{API}/session", self._plain(self._log_out))
        router.add_get(f"{API}/openapi.json", self._plain(self._describe))
        router.add_route("*", API + "/{rest:.*}", self._plain(_not_there))
        router.add_get("/assets/{name}", self._plain(self._asset))
        router.add_get("/{page:.*}", self._plain(self._page))
        app.on_cleanup.append(self._close)

    async def _close(self, app: web.Application) -> None:
        await self.state.close()

    # Who is let in

    def _answering(self, route: ApiRoute) -> Any:
        async def answer(request: web.Request) -> web.StreamResponse:
            login, by_cookie = await self._login_of(request)
            self._check_origin(request, by_cookie=by_cookie)
            self._check_writes(request)
            call = ApiCall(self.state, request, login)
            return _response(await self._once(call, route), route)

        return self._plain(answer)

    def _plain(self, handler: Any) -> Any:
        """A handler whose errors are problems, of a console that is called by its name."""

        async def answer(request: web.Request) -> web.StreamResponse:
            try:
                self._check_host(request)
                response: web.StreamResponse = await handler(request)
            except (
                RequestRefused,
                MQError,
                OSError,
                msgspec.MsgspecError,
                UnicodeDecodeError,
            ) as error:
                response = response_of(error)
            except web.HTTPException as error:
                response = response_of(error)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # our own mistake: one request fails, and the log knows
                log_event(_log, "request failed", level=logging.ERROR, error=error)
                response = response_of(error)
            if not response.prepared:
                for name, value in HEADERS.items():
                    response.headers.setdefault(name, value)
                if self.state.settings.is_secure:
                    response.headers["Strict-Transport-Security"] = "max-age=31536000"
            return response

        return answer

    def _check_host(self, request: web.Request) -> None:
        host = request.headers.get("Host", "").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        if name in self.state.settings.hosts:
            return
        try:
            if ip_address(name).is_loopback:
                return
        except ValueError:
            pass
        raise RequestRefused(
            421, f"{name[:60]!r} is not a name of this console", "add it to console.hosts"
        )

    async def _login_of(self, request: web.Request) -> tuple[BrowserSession, bool]:
        """Who asks, and whether a cookie says so."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self._bearer(token.strip(), request.remote or ""), False
        proxy = self.state.settings.proxy
        if proxy is not None and (person := proxy.person(request)) is not None:
            known = await self._bearer(proxy.token_of(person), request.remote or "")
            # A browser shows what the proxy knows it by without being asked, as it does cookies.
            return replace(known, who=f"{person}, {known.who}", person=person), True
        is_use = IDLE_HEADER not in request.headers and request.path != f"{API}/events"
        secret = request.cookies.get(self._cookie, "")
        session = self.state.sessions.find(secret, is_use=is_use)
        if session is None or not self.state.is_current(session):
            raise RequestRefused(
                401, "no one is logged in", "log in with a token or a one-time link"
            )
        return session, True

    async def _bearer(self, token: str, place: str) -> BrowserSession:
        known = self.state.bearers.get(token)
        if known is not None and self.state.is_good(token):
            return known
        self.state.sessions.check_rate(place)
        role = await self._role(token, place)
        login = BrowserSession("", token, who_of(token), role, 0.0, 0.0)
        self.state.remember_bearer(token, login)
        return login

    async def _role(self, token: str, place: str) -> str:
        """What a token is for; `RequestRefused` if no manager knows it."""
        if self.state.grant_of is not None:
            grant = self.state.grant_of(token)
            if grant is None:
                self.state.sessions.failed(place)
                raise RequestRefused(401, "the token is not valid")
            return grant.role
        reasons = []
        for name in self.state.entries:
            try:
                await self.state.links.find(name, token).manager()
            except (AccessDenied, MQError, OSError) as error:
                reasons.append(f"{name}: {error}")
            else:
                return ""
        self.state.sessions.failed(place)
        raise RequestRefused(401, "; ".join(reasons)[:500])

    def _check_origin(self, request: web.Request, *, by_cookie: bool) -> None:
        """A request that a browser makes comes from a page of the console itself.

        That counts with a token, too: a proxy may add one for who has logged in at it. Such a proxy
        may be the one that speaks TLS.
        """
        if request.method in SAFE:
            return
        site = request.headers.get("Sec-Fetch-Site", "same-origin")
        origin = request.headers.get("Origin")
        own = {f"https://{request.host}"}
        if not self.state.settings.is_secure:
            own.add(f"http://{request.host}")
        if site not in ("same-origin", "none") or origin not in (None, *own):
            raise RequestRefused(403, "the request comes from another site")
        if by_cookie and request.headers.get(OWN_HEADER) != "1":
            raise RequestRefused(403, f"the header {OWN_HEADER}: 1 is missing")

    def _check_writes(self, request: web.Request) -> None:
        if self.state.settings.read_only and request.method not in SAFE:
            raise RequestRefused(403, "this console is read-only")

    async def _once(self, call: ApiCall, route: ApiRoute) -> Any:
        """Answer; a request with an idempotency key that was answered before, as then."""
        key = call.request.headers.get("Idempotency-Key", "")
        if not key or call.request.method != "POST":
            return await route.handler(call)
        if len(key) > 128 or not key.isprintable():
            raise RequestRefused(400, "Idempotency-Key: 1 to 128 printable characters")
        place = f"{call.login.token}\0{call.request.path}\0{key}"
        known = self.state.keys.get(place)
        if known is not None:
            status, body = known
            return ApiReply(msgspec.Raw(body), {"Idempotent-Replay": "true"}, status)
        if place in self.state.answering:
            raise RequestRefused(
                409, "a request with this Idempotency-Key is being answered", "ask again later"
            )
        self.state.answering.add(place)
        try:
            reply = await route.handler(call)
        finally:
            self.state.answering.discard(place)
        value = reply.repeated if isinstance(reply, ApiReply) else reply
        status = reply.status if isinstance(reply, ApiReply) else route.status
        self.state.remember(place, status, msgspec.json.encode(value))
        return reply

    # Logging in and out

    @property
    def _cookie(self) -> str:
        return f"__Host-{COOKIE}" if self.state.settings.is_secure else COOKIE

    async def _log_in(self, request: web.Request) -> web.Response:
        self._check_origin(request, by_cookie=True)
        place = request.remote or ""
        self.state.sessions.check_rate(place)
        asked = msgspec.json.decode(await request.read(), type=Login)
        if asked.code:
            if not (self.state.settings.is_open and self.state.sessions.redeem(asked.code)):
                self.state.sessions.failed(place)
                raise RequestRefused(
                    401,
                    "the link was used or is too old",
                    "`openmsmq console login --data DIR` prints a new one",
                )
            session = self.state.sessions.begin("", "this computer", self.state.settings.link_role)
        elif asked.token:
            role = await self._role(asked.token, place)
            session = self.state.sessions.begin(asked.token, who_of(asked.token), role)
        else:
            raise RequestRefused(400, "a token or a code is needed")
        log_event(_log, "login", who=session.who, place=place)
        response = web.json_response(body=msgspec.json.encode(self._session(session)))
        response.set_cookie(
            self._cookie,
            session.secret,
            httponly=True,
            samesite="Strict",
            secure=self.state.settings.is_secure,
            path="/",
        )
        return response

    async def _log_out(self, request: web.Request) -> web.Response:
        self._check_origin(request, by_cookie=True)
        session = self.state.sessions.find(request.cookies.get(self._cookie, ""))
        if session is not None:
            self.state.sessions.end(session)
        response = web.Response(status=HTTPStatus.NO_CONTENT)
        response.del_cookie(self._cookie, path="/")
        return response

    def _session(self, session: BrowserSession) -> SessionView:
        return session_view(self.state, session)

    # Files

    async def _describe(self, request: web.Request) -> web.Response:
        return web.json_response(body=msgspec.json.encode(describe((*ROUTES, SESSION_ROUTE))))

    async def _asset(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        content = self._files.get(name)
        if content is None:
            raise web.HTTPNotFound
        kind = TYPES["." + name.rpartition(".")[2]]
        return web.Response(body=content, content_type=kind, charset="utf-8")

    async def _page(self, request: web.Request) -> web.Response:
        page = self._files.get("index.html")
        if page is None:
            raise RequestRefused(
                503,
                "the pages of the console are not built",
                "`make setup` builds them in a checkout; the API works without",
            )
        return web.Response(body=page, content_type="text/html", charset="utf-8")


def load_files() -> Mapping[str, bytes]:
    """The built files of the console, which a checkout has after `make setup`."""
    folder = files("openmsmq.console").joinpath("static")
    if not folder.is_dir():
        return {}
    return {
        one.name: one.read_bytes()
        for one in folder.iterdir()
        if "." + one.name.rpartition(".")[2] in TYPES
    }


def who_of(token: str) -> str:
    """What a log calls the holder of a token: its identifier, without the secret."""
    parts = token.split("_")
    return f"token {parts[1][:16]}" if len(parts) > 2 else "a token"


def session_view(state: ConsoleState, session: BrowserSession) -> SessionView:
    """What a page knows of its login."""
    return SessionView(
        session.who, session.role, state.settings.read_only, list(state.entries), __version__
    )


async def _show_session(call: ApiCall) -> SessionView:
    return session_view(call.state, call.login)


SESSION_ROUTE: Final = ApiRoute(
    "GET", "/session", "watch", "Who is logged in", _show_session, SessionView
)


async def _not_there(request: web.Request) -> web.Response:
    raise RequestRefused(404, f"the API has no {request.method} {request.path[:100]}")


def _response(reply: Any, route: ApiRoute) -> web.StreamResponse:
    """An answer as bytes."""
    if isinstance(reply, web.StreamResponse):
        return reply
    headers: Mapping[str, str] = {}
    status = route.status
    if isinstance(reply, ApiReply):
        reply, headers, status = reply.value, reply.headers, reply.status
    if reply is None or status == HTTPStatus.NO_CONTENT:
        return web.Response(status=HTTPStatus.NO_CONTENT, headers=dict(headers))
    return web.Response(
        body=msgspec.json.encode(reply),
        status=status,
        content_type="application/json",
        headers=dict(headers),
    )
