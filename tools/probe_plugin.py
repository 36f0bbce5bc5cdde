"""The half of `tools.probes` that runs inside pytest: which test comes by which probe."""

from __future__ import annotations

import builtins
import gc
import os
import pickle
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from tools.fork_plugin import Text, UnchangeableError, change, functions_by_file

FOLDER: Final = "PROBES_FOLDER"
"The environment variable with the folder of what follows."
TEXTS: Final = "texts"
"The file with the texts of modules that have probes."
FOUND: Final = "found-"
"What the files begin with that each worker writes."
PROBE: Final = "__probe__"
"What is called; its only argument is a number."


@dataclass(slots=True)
class Found:
    """What a worker has found."""

    tests: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    "By the number of a probe."
    seconds: dict[str, float] = field(default_factory=dict)


_found: Final = Found()
_running: Final = [""]


def _come_by(number: int) -> None:
    _found.tests[number].add(_running[0])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Give functions their probes, once all modules are loaded."""
    setattr(builtins, PROBE, _come_by)
    if session.items:
        gc.unfreeze()  # what a conftest froze is not among the objects that are found
        texts: list[Text] = pickle.loads((_folder() / TEXTS).read_bytes())  # noqa: S301  # ours
        functions = functions_by_file()
        for text in texts:
            with suppress(UnchangeableError):
                change(functions, text)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Remember which test runs."""
    _running[0] = item.nodeid
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count how long a test took, with what it needs."""
    _found.seconds[report.nodeid] = _found.seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """Write down what was found."""
    if _found.tests:
        found = Found(dict(_found.tests), _found.seconds)
        (_folder() / f"{FOUND}{os.getpid()}").write_bytes(pickle.dumps(found))


def _folder() -> Path:
    return Path(os.environ[FOLDER])
