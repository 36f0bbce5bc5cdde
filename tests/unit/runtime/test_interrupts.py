"""Ctrl-C that is kept back for a while."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from openmsmq.runtime.interrupts import Shield

needs_main_thread = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="only the main thread is interrupted",
)


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    """Python's own handler of Ctrl-C: a Spark session in the same process replaces it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def nothing() -> None:
    """No one waits."""


@needs_main_thread
def test_an_interruption_comes_at_the_end() -> None:
    done = []
    woken = threading.Event()

    def work() -> None:
        with Shield(woken.set):
            signal.raise_signal(signal.SIGINT)
            assert woken.wait(20)
            done.append("worked")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["worked"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@needs_main_thread
def test_or_where_it_does_no_damage() -> None:
    done = []

    def work() -> None:
        with Shield(nothing) as shield:
            shield.give()
            signal.raise_signal(signal.SIGINT)
            done.append("worked")
            shield.give()
            done.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["worked"]


@needs_main_thread
def test_one_within_another_hands_it_on() -> None:
    done = []

    def work() -> None:
        with Shield(nothing):
            with Shield(nothing):
                signal.raise_signal(signal.SIGINT)
                done.append("inside")
            done.append("outside")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inside", "outside"]


@needs_main_thread
def test_a_process_that_ignores_it_goes_on_doing_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Shield(nothing) as shield:
            signal.raise_signal(signal.SIGINT)
            shield.give()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_have_no_signals() -> None:
    found = []

    def work() -> None:
        with Shield(nothing) as shield:
            found.append(signal.getsignal(signal.SIGINT))
            shield.give()

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before]
