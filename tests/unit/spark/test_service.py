"""Managers and their queues, as readers and writers find them."""

from __future__ import annotations

import time

import pytest

import openmsmq
from openmsmq import Manager
from openmsmq.errors import (
    AccessDenied,
    InvalidParameter,
    QueueNotFound,
    ServiceNotAvailable,
    TokenRefused,
)
from openmsmq.spark.options import BATCH, parse
from openmsmq.spark.service import connect, open_queue, queue_names
from openmsmq.types.access import Access

NOWHERE = parse({"manager": "127.0.0.1:1", "timeout": "1"}, BATCH)


def test_patterns_stand_for_the_queues_there_are(manager: Manager) -> None:
    for name in ("orders", "orders-old", "bills"):
        manager.create_queue(name)
    both = [r".\private$\orders", r".\private$\orders-old"]
    assert queue_names(manager, ("orders*",)) == both
    assert queue_names(manager, (r"PRIVATE$\orders*",)) == both
    assert queue_names(manager, (r".\private$\bill?", "x", "x")) == [r".\private$\bills", "x"]
    with pytest.raises(QueueNotFound, match="fits no queue"):
        queue_names(manager, ("zz*",))
    with pytest.raises(InvalidParameter, match="option queue is missing"):
        queue_names(manager, ())


def test_the_nearest_queue_is_named(manager: Manager) -> None:
    with pytest.raises(QueueNotFound, match="the manager has none"):
        open_queue(manager, "ordrs", Access.PEEK)
    manager.create_queue("orders")
    with pytest.raises(QueueNotFound, match=r"did you mean .*orders'"):
        open_queue(manager, "ordrs", Access.PEEK)
    assert open_queue(manager, "orders", Access.PEEK).name == r".\private$\orders"


def test_a_manager_that_is_not_there_is_reported_at_once() -> None:
    with pytest.raises(ServiceNotAvailable, match="option manager"):
        connect(NOWHERE, "127.0.0.1:1", patient=False)


def test_who_is_patient_waits_for_a_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(ServiceNotAvailable):
        connect(NOWHERE, "127.0.0.1:1", patient=True)


def test_a_refusal_names_the_option(monkeypatch: pytest.MonkeyPatch, manager: Manager) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AccessDenied("no")

    def turn_away(*_: object, **__: object) -> None:
        raise TokenRefused("a:1: the token is missing, wrong or has expired")

    monkeypatch.setattr(openmsmq, "connect", turn_away)
    with pytest.raises(TokenRefused, match="option token or tokenFile: a:1: the token is"):
        connect(NOWHERE, "a:1", patient=True)
    monkeypatch.setattr(Manager, "open_queue", refuse)
    with pytest.raises(AccessDenied, match="option token"):
        open_queue(manager, "orders", Access.SEND)
