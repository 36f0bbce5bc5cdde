"""Errors as problem details."""

from __future__ import annotations

import msgspec
import pytest
from aiohttp import web

from openmsmq.console.filters import FilterError
from openmsmq.console.problems import TYPE, RequestRefused, problem_of, response_of
from openmsmq.errors import AccessDenied, InvalidParameter, QueueNotFound, ServiceNotAvailable


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (QueueNotFound("x"), 404),
        (AccessDenied("x"), 403),
        (FilterError("x"), 400),
        (InvalidParameter("x"), 422),
        (ServiceNotAvailable("x"), 503),
        (ConnectionResetError("x"), 503),
        (RequestRefused(429, "x", headers={"Retry-After": "5"}), 429),
        (msgspec.ValidationError("x"), 400),
        (web.HTTPNotFound(), 404),
        (RuntimeError("secret"), 500),
    ],
)
def test_every_error_has_its_status(error: Exception, status: int) -> None:
    problem, _ = problem_of(error)
    assert problem.status == status
    assert problem.title
    response = response_of(error)
    assert (response.status, response.content_type) == (status, TYPE)


def test_an_error_of_msmq_is_named() -> None:
    problem, _ = problem_of(QueueNotFound("orders"))
    assert (problem.code, problem.hresult) == ("QueueNotFound", "0xC00E0003")
    assert "orders" in problem.detail


def test_our_own_mistakes_give_nothing_away() -> None:
    assert "secret" not in str(problem_of(RuntimeError("secret"))[0])


def test_a_refusal_says_when_to_come_again() -> None:
    assert (
        response_of(RequestRefused(429, "x", headers={"Retry-After": "5"})).headers["Retry-After"]
        == "5"
    )
    assert "Retry-After" in response_of(RequestRefused(429, "4 searches are running")).headers
    assert "Retry-After" not in response_of(RequestRefused(409, "x")).headers
