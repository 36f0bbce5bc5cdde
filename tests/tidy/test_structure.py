"""Folders stay small, names mean one thing, and no module needs one that needs it.

The list of exceptions may only shrink: an entry that is not needed any more fails its test.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from tests.tidy.exceptions import GERUNDS
from tests.tidy.source import PACKAGE, Source, sources

FOLDER_MODULES_MAX = 20
GENERATED = "_sync"
"Folders with modules that are generated from those of `_async`, with the same names."


def overfull(found: Iterable[Source]) -> dict[str, int]:
    """Folders with more modules than a reader can take in, and how many they have."""
    counts = Counter(source.folder for source in found)
    return {folder: count for folder, count in counts.items() if count > FOLDER_MODULES_MAX}


def doubled_classes(found: Iterable[Source]) -> dict[str, list[str]]:
    """Names of public classes that are defined more than once, and where."""
    places = defaultdict(list)
    for source in found:
        if GENERATED not in source.name.split("."):
            for node in source.tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(source.name)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def gerunds(found: Iterable[Source]) -> set[str]:
    return {s.name for s in found if s.name.endswith("ing") and s.name not in GERUNDS}


def imports(found: Iterable[Source]) -> dict[str, set[str]]:
    """What each module imports of the package: at its top, for types only, or in a function."""
    known = {source.name: source for source in found}
    return {name: set(_needed(source, known)) - {name} for name, source in known.items()}


def _needed(source: Source, known: Mapping[str, Source]) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            named = [_below(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            inside = [_below(f"{module}.{alias.name}") for alias in node.names]
            named = [name if name in known else _below(module) for name in inside]
        else:
            continue
        yield from (name for name in named if name is not None and name in known)


def _below(module: str) -> str | None:
    """A dotted name as `Source.name` has it: below the package; None for a module of others."""
    top, _, below = module.partition(".")
    return below if top == PACKAGE else None


def cycles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of modules that need each other: strongly connected components, by Tarjan."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_ones: list[str] = []
    found = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        open_ones.append(module)
        for needed in graph[module]:
            if needed not in order:
                visit(needed)
            if needed in open_ones:
                lowest[module] = min(lowest[module], lowest[needed])
        if lowest[module] == order[module]:
            at = open_ones.index(module)
            group = set(open_ones[at:])
            del open_ones[at:]
            if len(group) > 1:
                found.append(group)

    for module in graph:
        if module not in order:
            visit(module)
    return found


def test_no_folder_has_more_modules_than_a_reader_can_take_in() -> None:
    assert overfull(sources()) == {}


def test_every_public_class_name_is_defined_once() -> None:
    assert doubled_classes(sources()) == {}, "rename one"


def test_modules_are_nouns() -> None:
    assert gerunds(sources()) == set(), "name the module after what it holds"
    assert set(GERUNDS) - {source.name for source in sources()} == set(), "remove from GERUNDS"


def test_no_module_needs_one_that_needs_it() -> None:
    """Imports for types only and imports inside functions count: they only hide a cycle."""
    found = cycles(imports(sources()))
    assert [sorted(group) for group in found] == [], "an import cycle"


def test_a_overfull_folder_is_found() -> None:
    many = [Source(f"names.m{number}", "") for number in range(FOLDER_MODULES_MAX + 1)]
    assert overfull(many) == {"names": FOLDER_MODULES_MAX + 1}
    assert overfull(many[1:]) == {}


def test_a_doubled_class_is_found() -> None:
    a, b = Source("a.x", "class Queue: ..."), Source("b.x", "class Queue: ...\nclass _P: ...")
    assert doubled_classes([a, b]) == {"Queue": ["a.x", "b.x"]}
    assert doubled_classes([a, Source("client._sync.x", "class Queue: ...")]) == {}


def test_a_cycle_is_found_even_if_it_is_hidden() -> None:
    a = Source("a", "if TYPE_CHECKING:\n    from openmsmq.b import B")
    b = Source("b", "def f():\n    from openmsmq import c")
    c = Source("c", "import openmsmq.a")
    assert cycles(imports([a, b, c])) == [{"a", "b", "c"}]
    assert cycles(imports([a, b])) == []


def test_a_gerund_is_found() -> None:
    assert gerunds([Source("a.sending", ""), Source("a.send", "")]) == {"a.sending"}
