"""Which functions and which tests answer for each number of the checklists.

A rule's functions are those whose docstrings cite its section; its tests are the functions that
cite its number. That a test cites a number says little; `noticed` asks more: that a test fails when
a function of the rule does nothing.

    python -m tools.rules             asks about every number that was not asked about yet
    python -m tools.rules MQQB-013    asks about some numbers, again

What was noticed is written into `tests/tools/seen_rules.txt`, which `make test` draws from.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tempfile
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final, Self

from tools.forked_tests import ForkedTests
from tools.generate_docs import (
    CHECKLISTS,
    ROOT,
    checklist,
    cited,
    citing_tests,
    numbers,
    reasons,
    sections_of,
)
from tools.sandbox import SOURCE, Outcome, Sandbox, without_effect

SLOW: Final = ("tests/e2e/", "tests/spark/", "tests/docs/", "tests/property/", "tests/simulation/")
"Where tests take long, or say little about a single function."
TIMEOUT: Final = 60.0
"Seconds for the tests of a rule, which may wait for ever for what does not come."
SEEN: Final = ROOT / "tests" / "tools" / "seen_rules.txt"
"Numbers that a test was seen to notice."
UNSEEN: Final = SEEN.with_name("unseen_rules.txt")
"Numbers that no test was seen to notice, or that were not asked about yet."
UNHURT: Final = SEEN.with_name("unhurt_rules.txt")
"Numbers that hold if nothing is done, each with the reason."


@dataclass(frozen=True, slots=True)
class Function:
    """A function, or a class all of whose methods are meant."""

    module: Path
    "`openmsmq/engine/queues/queue.py`"
    name: str
    "`Queue.open`"

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A number that is called done, with what can be asked of it."""

    number: str
    functions: tuple[Function, ...]
    tests: tuple[str, ...]
    "Node ids of tests, the most special first."


@cache
def rules() -> tuple[Rule, ...]:
    """Every number that has both functions to break and quick tests to notice it."""
    functions, tests = _functions(), _tests()
    found = []
    for name in CHECKLISTS:
        open_ones = reasons(name)
        for number, _, sections, _ in checklist(name):
            of_rule = [f for section in sections_of(sections) for f in functions.get(section, ())]
            if of_rule and number in tests and number not in open_ones:
                near = sorted(dict.fromkeys(of_rule), key=_distance(tests[number]))
                found.append(Rule(number, tuple(near), tests[number]))
    return tuple(found)


class Witnesses:
    """The tests of some rules, ready to be asked about them."""

    def __init__(self, asked: Iterable[Rule], folder: Path) -> None:
        self._forked = ForkedTests(sorted({f for rule in asked for f in _files(rule.tests)}))
        self._folder = folder
        self._sandbox: Sandbox | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._forked.close()

    def noticed(self, rule: Rule) -> Function | None:
        """The first function of a rule without whose effect its tests fail; None if they never do.

        What forked tests do not notice is asked once more of a package that was broken before it
        was imported.
        """
        passes = self._forked.passes(rule.tests, timeout=TIMEOUT)
        assert passes, f"{rule.number}: tests fail without any change: {rule.tests}"
        return self._first(rule, self._forked) or self._first(rule, self._broken())

    def _broken(self) -> Sandbox:
        self._sandbox = self._sandbox or Sandbox(self._folder)
        return self._sandbox

    def _first(self, rule: Rule, asked: ForkedTests | Sandbox) -> Function | None:
        for function in rule.functions:
            text = without_effect((SOURCE / function.module).read_text(), function.name)
            if asked.ask(function.module, text, rule.tests, timeout=TIMEOUT) is Outcome.FAILED:
                return function
        return None


def listed(path: Path) -> frozenset[str]:
    """The numbers in one of these files, without its comments."""
    return frozenset(numbers(re.sub(r"(?m)^#.*", "", path.read_text())))


def not_asked() -> list[Rule]:
    """The rules that are in none of the files."""
    known = listed(SEEN) | listed(UNSEEN) | listed(UNHURT)
    return [rule for rule in rules() if rule.number not in known]


def write_seen(seen: Iterable[str]) -> None:
    """Write the numbers that were noticed, as ranges, those of each checklist for themselves."""
    text = SEEN.read_text()
    comment = "".join(line for line in text.splitlines(keepends=True) if line.startswith("#"))
    parts = [comment]
    for _, same in groupby(sorted(seen), key=lambda number: number.partition("-")[0]):
        ranges = ", ".join(_ranges(same))
        parts.append("\n".join(textwrap.wrap(ranges, 100, break_on_hyphens=False)) + "\n")
    SEEN.write_text("\n".join(parts))


def _ranges(same: Iterable[str]) -> Iterator[str]:
    """`MQQB-012..014` of three numbers that follow each other."""
    found: list[list[int]] = []
    name = ""
    for number in same:
        name, _, digits = number.partition("-")
        value = int(digits)
        if found and found[-1][1] + 1 == value:
            found[-1][1] = value
        else:
            found.append([value, value])
    for first, last in found:
        yield f"{name}-{first:03}" + (f"..{last:03}" if last > first else "")


def _files(tests: Iterable[str]) -> set[str]:
    return {test.partition("::")[0] for test in tests}


def _distance(tests: tuple[str, ...]) -> Callable[[Function], bool]:
    """Functions of the modules that the tests are about come first."""
    files = _files(tests)

    def is_elsewhere(function: Function) -> bool:
        *folders, name = function.module.parts[1:]
        return "/".join(("tests/unit", *folders, f"test_{name}")) not in files

    return is_elsewhere


@cache
def _functions() -> dict[str, list[Function]]:
    """The functions of each section, and then the classes that have methods."""
    plain: dict[str, list[Function]] = defaultdict(list)
    classes: dict[str, list[Function]] = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        module = path.relative_to(ROOT / "src")
        for name, node in _definitions(ast.parse(path.read_text())):
            for section in cited(ast.get_docstring(node) or ""):
                if not isinstance(node, ast.ClassDef):
                    plain[section].append(Function(module, name))
                elif any(isinstance(part, ast.FunctionDef) for part in node.body):
                    classes[section].append(Function(module, name))
    sections = {*plain, *classes}
    return {section: plain[section] + classes[section] for section in sections}


def _definitions(
    node: ast.AST, before: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield before + child.name, child
            if isinstance(child, ast.ClassDef):
                yield from _definitions(child, f"{before}{child.name}.")


@cache
def _tests() -> dict[str, tuple[str, ...]]:
    """The quick tests that cite each number; first those that cite few others."""
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for module, name, given in citing_tests():
        if not str(module).startswith(SLOW):
            for number in given:
                found[number].append((len(given), f"{module}::{name}"))
    return {number: tuple(test for _, test in sorted(tests)) for number, tests in found.items()}


def main() -> int:
    """Ask about rules and keep what was noticed; 1 if some were not."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "number",
        nargs="*",
        help="such as MQQB-013; all that were not asked about yet if none is given",
    )
    given = parser.parse_args().number
    asked = [rule for rule in rules() if rule.number in given] if given else not_asked()
    for number in sorted({*given} - {rule.number for rule in asked}):
        print(f"{number}: nothing to ask: no function cites its section, or no quick test cites it")
    if not asked:
        print("all rules were asked about")
        return 0
    seen: dict[str, Function | None] = {}
    with tempfile.TemporaryDirectory() as folder, Witnesses(asked, Path(folder)) as witnesses:
        for rule in asked:
            found = seen[rule.number] = witnesses.noticed(rule)
            print(f"{rule.number}: {found or 'NOT NOTICED'}", flush=True)
    noticed = {number for number, found in seen.items() if found is not None}
    write_seen((listed(SEEN) - seen.keys()) | noticed)
    return 0 if len(noticed) == len(seen) else 1


if __name__ == "__main__":
    sys.exit(main())
