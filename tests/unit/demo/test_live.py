"""Orders that go on after the demonstration, and the console that shows them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest

from openmsmq.demo import live
from openmsmq.demo.live import LiveShow, go_on
from openmsmq.demo.managers import Managers
from openmsmq.errors import ServiceNotAvailable


def until(is_so: Callable[[], bool], what: str) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.05)
    pytest.fail(what)


@pytest.mark.slow
def test_orders_go_on_and_a_console_shows_them(tmp_path: Path) -> None:
    managers = Managers(tmp_path)
    managers.start()
    show = LiveShow(tmp_path, managers)
    try:
        with managers.office.connect() as office:
            orders = office.create_queue("orders", transactional=True)
            link = show.start()
            assert len(show.pids) == 2
            page, _, code = link.partition("#")
            assert code
            with urlopen(page) as answer:
                assert b"<script" in answer.read()
            until(lambda: orders.info().arrived > 20, "no orders came")
            until(lambda: orders.info().received > 20, "no orders were received")
    finally:
        show.stop()
        managers.stop()


def test_a_console_that_does_not_start_is_reported_in_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    show = LiveShow(tmp_path, Managers(tmp_path))
    with pytest.raises(ServiceNotAvailable, match="the console: it did not start"):
        show.start()
    show.stop()


@pytest.mark.slow
def test_what_no_one_reads_is_dead_after_a_while(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(live, "_LIFETIME", 0)
    managers = Managers(tmp_path)
    managers.start()
    try:
        with managers.shop.connect() as shop, managers.office.connect() as office:
            office.create_queue("orders", transactional=True)
            go_on(shop, office, turns=2)
            letters = [manager.open_queue(r".\DeadLetter$") for manager in (shop, office)]
            until(lambda: any(queue.info().messages for queue in letters), "no letter is dead")
    finally:
        managers.stop()
