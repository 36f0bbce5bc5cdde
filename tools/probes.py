"""Which tests run the statements that mutants change, and how long each takes.

Each statement gets a probe, a call in front of it that says which test comes by, and the tests run
once with all probes in place. That takes hardly longer than to run them, while coverage of every
line by every test takes several times as long.
"""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tools.fork_plugin import Text
from tools.mutation import Mutant, changed_nodes
from tools.probe_plugin import FOLDER, FOUND, PROBE, TEXTS, Found
from tools.sandbox import ROOT, SOURCE

PACKAGES: Final = ("engine", "transports", "store")
"What is changed: the engine, the sessions, the store."
TESTS: Final = (
    *(f"tests/unit/{package}" for package in (*PACKAGES, "runtime", "app_server")),
    "tests/hostile",
)
"Their own tests and those of what calls them; models take longer than all of these."
QUICK: Final = "not slow and not torture and not acceptance and not extra"
"The marks of tests that are asked."


@dataclass(slots=True)
class Known:
    """The tests that run what mutants change."""

    tests: dict[Mutant, set[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    "How long each test took."

    def of(self, mutant: Mutant) -> list[str]:
        """Those of a mutant, in the order to ask them."""
        return ordered(self.tests.get(mutant, ()), mutant.module, self.seconds)


def measured(drawn: Sequence[Mutant], jobs: int, tests: Sequence[str] = TESTS) -> Known:
    """Run tests once, and find which of them run what mutants change."""
    known = Known()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / TEXTS).write_bytes(pickle.dumps(list(_texts(drawn))))
        _run(folder, jobs, tests)
        for file in folder.glob(f"{FOUND}*"):
            found: Found = pickle.loads(file.read_bytes())  # noqa: S301  # ours
            known.seconds |= found.seconds
            for number, ids in found.tests.items():
                known.tests.setdefault(drawn[number], set()).update(ids)
    return known


def _run(folder: Path, jobs: int, tests: Sequence[str]) -> None:
    options = ("-q", "-m", QUICK, "-n", str(jobs), "--tb=no", "-p", "tools.probe_plugin")
    # A test that fails is no reason to stop: the others are there.
    subprocess.run(  # noqa: S603  # our own interpreter
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=ROOT,
        env={**os.environ, FOLDER: str(folder), "HYPOTHESIS_PROFILE": "quick"},
        check=False,
    )


def _texts(drawn: Sequence[Mutant]) -> Iterator[Text]:
    """The modules with probes in them, whose numbers are the places of mutants."""
    by_module: dict[Path, dict[int, Mutant]] = defaultdict(dict)
    for number, mutant in enumerate(drawn):
        by_module[mutant.module][number] = mutant
    for module, there in by_module.items():
        file = SOURCE / module
        name = ".".join(module.with_suffix("").parts)
        yield Text(str(file), name, probed(file.read_text(), there))


def probed(text: str, there: Mapping[int, Mutant]) -> str:
    """The text of a module with a probe in front of every statement that a mutant changes."""
    tree = ast.parse(text)
    nodes, statements = list(changed_nodes(tree)), _statements(tree)
    probes: dict[ast.stmt, list[ast.stmt]] = defaultdict(list)
    for number, mutant in there.items():
        call = ast.Call(ast.Name(PROBE), [ast.Constant(number)], [])
        probes[statements[nodes[mutant.number]]].append(ast.Expr(call))

    class Add(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
            self.generic_visit(node)
            return [*probes[node], node] if isinstance(node, ast.stmt) else node

    Add().generic_visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree))


def _statements(tree: ast.Module) -> dict[ast.AST, ast.stmt]:
    """The innermost statement around each node of a module."""
    # Outer ones come first: what is inside of an inner one is set again.
    around = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    return {inside: statement for statement in around for inside in ast.walk(statement)}


def ordered(tests: Iterable[str], module: Path, seconds: Mapping[str, float]) -> list[str]:
    """Tests in the order to ask them: those of the module, of its folder, others; quick ones first.

    Quick ones of others come before those of the folder that take long.
    """
    own, near = tests_of(module), tests_of(module).rpartition("test_")[0]

    def cost(test: str) -> tuple[float, str]:
        farther = 1 if test.startswith(own) else 4 if test.startswith(near) else 16
        return farther * (seconds.get(test, 0.0) + 0.002), test

    return sorted(tests, key=cost)


def tests_of(module: Path) -> str:
    """What the node ids of a module's own tests begin with."""
    *folders, name = module.parts[1:]
    return "/".join(("tests/unit", *folders, f"test_{name}::"))
