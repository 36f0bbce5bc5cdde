"""Files and functions stay small, documented, finished, and each module has its test module."""

from __future__ import annotations

import ast
import re

import pytest

from tests.tidy.source import ROOT, Source, sources

MODULE_LINES_MAX = 490
"Without its imports."
FUNCTION_LINES_MAX = 70
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
SECTION = re.compile(r"\[M[SC]-[A-Z]+\] \d")

ALL = pytest.mark.parametrize("source", sources(), ids=lambda source: source.name or "openmsmq")


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


@ALL
def test_modules_and_functions_are_small(source: Source) -> None:
    assert source.text.count("\n") - import_lines(source) <= MODULE_LINES_MAX
    for function in functions(source):
        assert body_lines(function) <= FUNCTION_LINES_MAX, function.name


@ALL
def test_nothing_is_left_unfinished(source: Source) -> None:
    assert not UNFINISHED.search(source.text)


@ALL
def test_modules_and_public_definitions_say_what_they_are(source: Source) -> None:
    assert ast.get_docstring(source.tree)
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{source.name}.{node.name} has no docstring"


@pytest.mark.parametrize(
    "source", [s for s in sources() if s.part == "packet"], ids=lambda s: s.name
)
def test_every_structure_cites_its_section(source: Source) -> None:
    for node in source.tree.body:
        if isinstance(node, ast.ClassDef) and _is_structure(node):
            assert SECTION.search(ast.get_docstring(node) or ""), node.name


def _is_structure(node: ast.ClassDef) -> bool:
    bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
    return not node.name.startswith("_") and any(
        b in {"Fixed", "Bits"} or b.endswith("Start") for b in bases
    )


@pytest.mark.parametrize("source", [s for s in sources() if s.part], ids=lambda s: s.name)
def test_every_module_has_its_test_module(source: Source) -> None:
    if source.name == "__main__" or _is_package(source) or _is_generated(source):
        return  # what is written from another module is tested with it (client.sync)
    if source.name.endswith(".limits"):
        return  # constants; tests of those who use them reach them
    *folders, module = source.name.split(".")
    path = ROOT.joinpath("tests", "unit", *folders, f"test_{module}.py")
    assert path.is_file(), f"write {path.relative_to(ROOT)}"


def _is_generated(source: Source) -> bool:
    return source.text.startswith("# @generated ")


def _is_package(source: Source) -> bool:
    return ROOT.joinpath("src", "openmsmq", *source.name.split("."), "__init__.py").is_file()


def test_every_test_module_has_its_source() -> None:
    known = {source.name for source in sources()}
    for path in (ROOT / "tests" / "unit").rglob("test_*.py"):
        folders = path.relative_to(ROOT / "tests" / "unit").parent.parts
        name = ".".join((*folders, path.stem.removeprefix("test_")))
        assert name in known, f"{path.relative_to(ROOT)} tests nothing"
