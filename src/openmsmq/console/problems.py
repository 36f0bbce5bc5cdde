"""What goes wrong, as the API says it: problem details for HTTP (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from openmsmq.console.bodies.contents import ContentError
from openmsmq.console.filters import FilterError
from openmsmq.errors import (
    AccessDenied,
    IllegalFormatName,
    IllegalQueuePathName,
    InsufficientResources,
    MessageNotFound,
    MQError,
    QueueExists,
    QueueNotFound,
    ReceiveTimeout,
    ServiceNotAvailable,
    TokenRefused,
    UnsupportedOperation,
)

TYPE: Final = "application/problem+json"


class Problem(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Why a request was not done."""

    title: str
    status: int
    detail: str = ""
    code: str = ""
    "The class of the error."
    hresult: str = ""
    "The error of MSMQ, where it is one."
    advice: str = ""
    "What to do about it."


class RequestRefused(Exception):
    """The console itself refuses a request."""

    def __init__(
        self, status: int, detail: str, advice: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.advice = advice
        self.headers = headers or {}


_STATUS: Final[Mapping[type[MQError], int]] = {
    FilterError: 400,
    ContentError: 400,
    AccessDenied: 403,
    TokenRefused: 403,
    QueueNotFound: 404,
    MessageNotFound: 404,
    ReceiveTimeout: 404,
    IllegalFormatName: 400,
    IllegalQueuePathName: 400,
    QueueExists: 409,
    UnsupportedOperation: 422,
    InsufficientResources: 507,
    ServiceNotAvailable: 503,
}
RETRY_S: Final = 5
"When to ask again for what others have the place of, unless the refusal says it."
_TITLES: Final[Mapping[int, str]] = {
    400: "The request makes no sense",
    401: "A login is needed",
    403: "Not allowed",
    404: "Not found",
    405: "No such method",
    409: "It conflicts with what is there",
    412: "It was changed meanwhile",
    413: "Too much at once",
    415: "Another content type is needed",
    421: "Not a name of this console",
    422: "It cannot be done",
    428: "A condition is needed",
    416: "The body is shorter",
    429: "Too much at once",
    500: "A mistake of the console",
    503: "The queue manager cannot be reached",
    507: "There is no room",
}


def problem_of(error: Exception) -> tuple[Problem, Mapping[str, str]]:
    """What to answer instead, and further headers."""
    if isinstance(error, RequestRefused):
        later = {"Retry-After": str(RETRY_S)} if error.status == 429 else {}
        return _problem(error.status, error.detail, advice=error.advice), later | {**error.headers}
    if isinstance(error, MQError):
        status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 422)
        return _problem(
            status,
            error.text,
            code=type(error).__name__,
            hresult=f"0x{error.hresult:08X}",
        ), {}
    if isinstance(error, web.HTTPException):
        return _problem(error.status, error.reason), {
            name: value for name, value in error.headers.items() if name in ("Allow",)
        }
    if isinstance(error, msgspec.MsgspecError | UnicodeDecodeError):
        return _problem(400, f"the body of the request: {error}"), {}
    if isinstance(error, OSError):
        return _problem(503, str(error)), {}
    return _problem(500, type(error).__name__), {}


def _problem(status: int, detail: str, **more: Any) -> Problem:
    return Problem(title=_TITLES.get(status, "Refused"), status=status, detail=detail, **more)


def response_of(error: Exception) -> web.Response:
    """The answer to a request that failed."""
    problem, headers = problem_of(error)
    return web.Response(
        body=msgspec.json.encode(problem),
        status=problem.status,
        content_type=TYPE,
        headers=dict(headers),
    )
