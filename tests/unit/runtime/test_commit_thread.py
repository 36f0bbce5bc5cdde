"""The thread beside an event loop: what it is given to do, and what becomes of it."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

from openmsmq.runtime.commit_thread import CommitThread


def fail(error: BaseException) -> None:
    raise error


def test_work_is_done_elsewhere_and_gone_on_with_here() -> None:
    async def test() -> None:
        thread, here = CommitThread("worker"), threading.get_ident()
        done = asyncio.get_running_loop().create_future()

        def then(name: str) -> None:
            done.set_result((name, threading.get_ident()))

        thread.do(lambda: threading.current_thread().name, then, fail)
        assert await done == ("worker", here)
        thread.close()

    asyncio.run(test())


def numbered(number: int) -> tuple[int, int]:
    return number, threading.get_ident()


def test_work_is_done_in_its_order_by_one_thread() -> None:
    async def test() -> None:
        thread = CommitThread("worker")
        found: list[tuple[int, int]] = []
        done = asyncio.Event()
        for number in range(20):
            thread.do(partial(numbered, number), found.append, fail)
        thread.do(lambda: None, lambda _: done.set(), fail)
        await done.wait()
        thread.close()
        numbers, threads = zip(*found, strict=True)
        assert list(numbers) == list(range(20))
        assert len(set(threads)) == 1

    asyncio.run(test())


def test_what_goes_wrong_is_reported_to_the_event_loop() -> None:
    async def test() -> None:
        thread, here = CommitThread("worker"), threading.get_ident()
        heard = asyncio.get_running_loop().create_future()

        def failed(error: BaseException) -> None:
            heard.set_result((type(error), threading.get_ident()))

        thread.do(lambda: 1 / 0, lambda _: None, failed)
        assert await heard == (ZeroDivisionError, here)
        thread.close()

    asyncio.run(test())


def test_the_thread_ends_with_the_close() -> None:
    async def test() -> None:
        thread = CommitThread("a worker of its own")
        done = asyncio.Event()
        thread.do(lambda: None, lambda _: done.set(), fail)
        await done.wait()
        thread.close()
        assert "a worker of its own" not in {one.name for one in threading.enumerate()}

    asyncio.run(test())


def test_without_work_there_is_no_thread() -> None:
    before = {*threading.enumerate()}
    CommitThread("worker").close()
    assert {*threading.enumerate()} <= before
