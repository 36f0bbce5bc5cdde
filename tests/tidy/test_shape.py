"""Files and functions stay small, documented, finished, and each module has its test module."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.tidy.source import ROOT, Source, sources

MODULE_LINES_MAX = 490
"Without its imports."
FUNCTION_LINES_MAX = 70
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
SECTION = re.compile(r"\[M[SC]-[A-Z]+\] \d")


def functions(source: Source) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(source.tree) if isinstance(node, kinds)]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its signature and docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def import_lines(source: Source) -> int:
    """Lines of a module that import others."""
    imports = (n for n in source.tree.body if isinstance(n, ast.Import | ast.ImportFrom))
    return sum((node.end_lineno or 0) - node.lineno + 1 for node in imports)


def test_modules_and_functions_are_small() -> None:
    large = [
        source.name
        for source in sources()
        if source.text.count("\n") - import_lines(source) > MODULE_LINES_MAX
    ]
    long = [
        f"{source.name}.{function.name}"
        for source in sources()
        for function in functions(source)
        if body_lines(function) > FUNCTION_LINES_MAX
    ]
    assert (large, long) == ([], [])


def test_nothing_is_left_unfinished() -> None:
    assert [source.name for source in sources() if UNFINISHED.search(source.text)] == []


def test_modules_and_public_definitions_say_what_they_are() -> None:
    silent = [source.name for source in sources() if not ast.get_docstring(source.tree)]
    silent += [
        f"{source.name}.{node.name}"
        for source in sources()
        for node in source.tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert silent == [], "write docstrings"


def test_every_structure_cites_its_section() -> None:
    structures = [
        node
        for source in sources()
        if source.part == "packet"
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and _is_structure(node)
    ]
    assert len(structures) > 20
    silent = [n.name for n in structures if not SECTION.search(ast.get_docstring(n) or "")]
    assert silent == []


def _is_structure(node: ast.ClassDef) -> bool:
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    return not node.name.startswith("_") and any(
        b in {"Fixed", "Bits"} or b.endswith("Start") for b in bases
    )


def test_every_module_has_its_test_module() -> None:
    missing = [path for path in map(_test_module, sources()) if path and not path.is_file()]
    assert [str(path.relative_to(ROOT)) for path in missing] == [], "write these"


def _test_module(source: Source) -> Path | None:
    """Where the tests of a module are; None if it needs none."""
    if source.name in ("", "__main__") or source.is_package or _is_generated(source):
        return None  # what is written from another module is tested with it (client.sync)
    if source.name.endswith(".limits"):
        return None  # constants; tests of those who use them reach them
    *folders, module = source.name.split(".")
    return ROOT.joinpath("tests", "unit", *folders, f"test_{module}.py")


def _is_generated(source: Source) -> bool:
    return source.text.startswith("# @generated ")


def test_every_test_module_has_its_source() -> None:
    known = {source.name for source in sources()}
    for path in (ROOT / "tests" / "unit").rglob("test_*.py"):
        folders = path.relative_to(ROOT / "tests" / "unit").parent.parts
        name = ".".join((*folders, path.stem.removeprefix("test_")))
        assert name in known, f"{path.relative_to(ROOT)} tests nothing"
