"""The half of `tools.forked_tests` that runs inside pytest.

All tests are collected once. For each question a child is forked, in which the functions of a
module get the code of another text of it, and which runs the tests asked for until one fails.
"""

from __future__ import annotations

import gc
import importlib
import os
import resource
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from ctypes import c_int
from dataclasses import dataclass, field
from math import inf
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import PurePosixPath
from signal import SIGKILL
from types import CodeType, FunctionType
from typing import Final

import pytest
from hypothesis import Phase, settings

CONNECTION: Final = "FORKED_TESTS_CONNECTION"
"The environment variable with the descriptor that questions come from."
PASSED: Final = 0
FAILED: Final = 1
UNCHANGEABLE: Final = 3
"The functions that run cannot be given the code of the text."
NO_TESTS: Final = 5
TIMEOUT: Final = 6
OVERRUN: Final = 60
"Seconds of the processor that no single test takes: what goes on for longer never ends."
MEMORY_MAX: Final = 3 << 30
"Bytes of a child; a change may fill the memory as well."

_FORKS: Final = get_context("fork")


@dataclass(frozen=True, slots=True)
class Text:
    """Another text of a module."""

    file: str
    "The path that the module was loaded from."
    module: str
    "`openmsmq.engine.queues.queue`"
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """Do these tests fail with that text of a module?"""

    tests: tuple[str, ...]
    timeout: float
    text: Text | None = None
    "None to leave all as it is."
    cpu: float = inf
    "Seconds of the processor after which no further test begins."
    without: frozenset[str] = frozenset()
    "Node ids of tests that are not asked."


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of the tests."""

    code: int
    test: str = ""
    "The one that ran last: that which failed or did not end."


@dataclass(slots=True)
class Collected:
    """The tests of a session by node id, with and without parameters, by file and by folder."""

    items: Iterable[pytest.Item]
    by_id: dict[str, list[pytest.Item]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for item in self.items:
            bare = item.nodeid.partition("[")[0]
            file = bare.partition("::")[0]
            folders = map(str, PurePosixPath(file).parents)
            for name in {item.nodeid, bare, file, *folders}:
                self.by_id[name].append(item)

    def chosen(self, question: Question) -> list[pytest.Item]:
        """The tests that are asked for, in the order in which they are."""
        found = (item for test in question.tests for item in self.by_id.get(test, ()))
        return [item for item in dict.fromkeys(found) if item.nodeid not in question.without]


class UnchangeableError(Exception):
    """A function that runs has no counterpart in the other text, or other free variables."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """That a test fails is enough: its example need not be made small."""
    phases = (Phase.explicit, Phase.reuse, Phase.generate)
    parent = settings.get_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
    settings.register_profile("noticing", parent, phases=phases)
    settings.load_profile("noticing")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Answer questions until there are no more."""
    gc.unfreeze()  # what a conftest froze is not among the objects that are found
    collected, functions = Collected(session.items), functions_by_file()
    gc.collect()
    gc.freeze()  # what is not looked at stays shared with the children
    connection = Connection(int(os.environ[CONNECTION]))
    connection.send(len(session.items))
    with suppress(EOFError):
        while True:
            question: Question = connection.recv()
            connection.send(_answer(session, collected.chosen(question), functions, question))
    return True


def _answer(
    session: pytest.Session,
    items: list[pytest.Item],
    functions: Mapping[str, list[FunctionType]],
    question: Question,
) -> Answer:
    if not items:
        return Answer(NO_TESTS)
    place = _FORKS.RawValue(c_int, 0)
    args = (session, items, functions, question, place)
    child = _FORKS.Process(target=_run, args=args, daemon=True)
    child.start()
    child.join(question.timeout)
    late = child.is_alive()
    assert child.pid is not None
    with suppress(ProcessLookupError):
        os.killpg(child.pid, SIGKILL)  # those that it started, too
    child.join()
    killed = child.exitcode is None or child.exitcode < 0
    code = TIMEOUT if late else FAILED if killed else child.exitcode
    assert code is not None
    return Answer(code, items[place.value].nodeid)


def _run(
    session: pytest.Session,
    items: list[pytest.Item],
    functions: Mapping[str, list[FunctionType]],
    question: Question,
    place: c_int,
) -> None:
    """Run the tests in the child, which ends here."""
    os.setsid()
    _limit(resource.RLIMIT_DATA, MEMORY_MAX)
    if question.cpu < inf:
        _limit(resource.RLIMIT_CPU, int(question.cpu) + OVERRUN)
    if question.text is not None:
        try:
            change(functions, question.text)
        except (UnchangeableError, SyntaxError):
            os._exit(UNCHANGEABLE)
    for at, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
        if time.process_time() > question.cpu:
            os._exit(PASSED)
        place.value = at
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            os._exit(FAILED)
    os._exit(PASSED)


def _limit(what: int, most: int) -> None:
    resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


def change(functions: Mapping[str, list[FunctionType]], other: Text) -> None:
    """Give the functions of a module the code that they have in the other text."""
    codes: dict[str, list[CodeType]] = defaultdict(list)
    for code in _codes(compile(other.text, other.file, "exec")):
        codes[code.co_qualname].append(code)
    loaded = functions.get(other.file)
    if loaded is None:
        importlib.import_module(other.module)
        loaded = functions_by_file().get(other.file, [])
    if not loaded:  # all tests would pass, whatever the text says
        raise UnchangeableError(other.module)
    by_name: dict[str, list[FunctionType]] = defaultdict(list)
    for function in sorted(loaded, key=lambda function: function.__code__.co_firstlineno):
        by_name[function.__code__.co_qualname].append(function)
    for name, same in by_name.items():
        if len(same) != len(codes[name]):
            raise UnchangeableError(name)
        for function, code in zip(same, codes[name], strict=True):
            if function.__code__.co_freevars != code.co_freevars:
                raise UnchangeableError(name)
            function.__code__ = code


def functions_by_file() -> dict[str, list[FunctionType]]:
    """The functions and methods that exist, by file; not those inside of others."""
    found: dict[str, list[FunctionType]] = defaultdict(list)
    for thing in gc.get_objects():
        if type(thing) is FunctionType and "<" not in thing.__code__.co_qualname:
            found[thing.__code__.co_filename].append(thing)
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of functions and methods in that of a module or class, first to last."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and not constant.co_name.startswith("<"):
            if constant.co_flags & _OPTIMIZED:
                yield constant
            else:  # the body of a class
                yield from _codes(constant)


_OPTIMIZED: Final = 0x01
"The flag of code with local variables: that of functions (`inspect.CO_OPTIMIZED`)."
