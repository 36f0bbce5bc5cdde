"""Threads that help an event loop with work during which other threads can run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from openmsmq.runtime.limits import HELPERS_MAX

WORTH_IT: Final = 8
"Questions for which others are asked at all."


class Helpers:
    """Answers many questions at once; its threads are there from the first that are worth it.

    Who asks answers most of them itself if the processor has no time for the others: no more than
    one question is ever waited for.
    """

    def __init__(self, count: int) -> None:
        """`count` threads; with none all questions are answered by who asks."""
        self._count = count
        self._pool = ThreadPoolExecutor(max(1, count), "openmsmq-helper")

    def ask(self, questions: Sequence[Callable[[], bool]]) -> list[bool]:
        """The answers; a question must not depend on another."""
        if not self._count or len(questions) < WORTH_IT:
            return [question() for question in questions]
        answers = [False] * len(questions)
        places = iter(range(len(questions)))

        def answer() -> None:
            for place in places:
                answers[place] = questions[place]()

        others = [self._pool.submit(answer) for _ in range(self._count)]
        answer()
        for other in others:
            if not other.cancel():
                other.result()
        return answers

    def close(self) -> None:
        """Wait for the end of the threads."""
        self._pool.shutdown()


def spare_processors() -> int:
    """How many helpers can work beside the event loop."""
    return min(len(os.sched_getaffinity(0)) - 1, HELPERS_MAX)
