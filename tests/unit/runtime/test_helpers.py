"""Threads that help an event loop: all questions are answered, each once and in its place."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from openmsmq.runtime.helpers import WORTH_IT, Helpers, spare_processors
from openmsmq.runtime.limits import HELPERS_MAX

MANY = 200


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_every_question_is_answered_once_and_in_its_place(threads: int) -> None:
    helpers, asked = Helpers(threads), Counter[int]()

    def question(number: int) -> Callable[[], bool]:
        def answer() -> bool:
            asked[number] += 1
            return number % 3 == 0

        return answer

    for _ in range(20):
        found = helpers.ask([question(number) for number in range(MANY)])
        assert found == [number % 3 == 0 for number in range(MANY)]
    assert asked == dict.fromkeys(range(MANY), 20)
    helpers.close()


def test_others_answer_while_one_takes_long() -> None:
    helpers, begun = Helpers(1), threading.Event()
    threads = set()

    def waiting() -> bool:
        """Ends when another thread has begun with a question, too."""
        threads.add(threading.get_ident())
        if len(threads) == 2:
            begun.set()
        return begun.wait(60)

    assert helpers.ask([waiting] * WORTH_IT) == [True] * WORTH_IT
    helpers.close()


def test_few_questions_are_answered_by_who_asks() -> None:
    helpers = Helpers(2)
    threads: list[int] = []

    def question() -> bool:
        threads.append(threading.get_ident())
        return True

    helpers.ask([question] * (WORTH_IT - 1))
    assert set(threads) == {threading.get_ident()}
    helpers.close()


def test_what_goes_wrong_with_a_question_is_not_lost() -> None:
    helpers = Helpers(1)

    def question() -> bool:
        raise ValueError("it cannot be answered")

    with pytest.raises(ValueError, match="cannot be answered"):
        helpers.ask([question] * WORTH_IT)
    helpers.close()


def test_one_processor_is_left_to_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, expected in ((1, 0), (2, 1), (64, HELPERS_MAX)):
        monkeypatch.setattr("os.sched_getaffinity", lambda pid, n=processors: range(n))
        assert spare_processors() == expected
