"""Small changes to a module that its tests should notice.

A change is made in the syntax tree: a comparison is swapped, a condition negated, a number one off,
arithmetic reversed, a statement left out. Only what runs inside functions is changed; assertions,
annotations and docstrings are not, nor is `strict=True` of `zip`, which asserts as well.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy, deepcopy
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

SHOWN_MAX: Final = 90
"Characters of code in the name of a mutant."

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_REMOVABLE: Final = (
    ast.AugAssign,
    ast.Break,
    ast.Continue,
    ast.Delete,
    ast.Raise,
)
_UNTOUCHED: Final = (ast.Assert, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

Change = Callable[[ast.AST], ast.AST]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module."""

    module: Path
    "`openmsmq/engine/queues/queue.py`"
    function: str
    "`Queue.open`"
    line: int
    before: str
    after: str
    number: int
    "Its place among the mutants of the module."
    copy: int = 1
    "Its place among those of the function that look the same."

    @property
    def name(self) -> str:
        """What it is called in the list of equivalent ones: without a line, which moves."""
        copy = f" ({self.copy})" if self.copy > 1 else ""
        return f"{self.module}:{self.function}: {self.before} -> {self.after}{copy}"


def mutants(source: str, module: Path) -> Iterator[Mutant]:
    """Every change of a module."""
    alike: Counter[tuple[str, str, str]] = Counter()
    for number, (function, node, change) in enumerate(_all_changes(ast.parse(source))):
        line: int = getattr(node, "lineno", 0)
        kind = function, _shown(node), _shown(change(deepcopy(node)))
        alike[kind] += 1
        yield Mutant(module, function, line, *kind[1:], number, alike[kind])


def mutated(source: str, mutant: Mutant) -> str:
    """The text of a module with the change in it."""
    tree = ast.parse(source)
    _, node, change = next(islice(_all_changes(tree), mutant.number, None))

    class Replace(ast.NodeTransformer):
        def visit(self, found: ast.AST) -> ast.AST:
            return change(node) if found is node else self.generic_visit(found)

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree)))


def changed_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """What each mutant of a module changes, by their numbers."""
    return (node for _, node, _ in _all_changes(tree))


def _all_changes(tree: ast.Module) -> Iterator[tuple[str, ast.AST, Change]]:
    for function, inside in _functions(tree):
        for node in inside:
            for change in _changes(node):
                yield function, node, change


def _functions(node: ast.AST, before: str = "") -> Iterator[tuple[str, list[ast.AST]]]:
    """Functions by name, with the nodes that belong to each."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            name = before + child.name
            yield name, [part for statement in _body(child) for part in _own(statement)]
            yield from _functions(child, f"{name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{before}{child.name}.")
        elif not isinstance(child, ast.expr):
            yield from _functions(child, before)


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is below it, without what is never changed."""
    if isinstance(node, _UNTOUCHED) or _asserts_length(node):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name != "annotation":
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _own(child)


def _asserts_length(node: ast.AST) -> bool:
    """`strict=True`, which only our own mistake can break."""
    match node:
        case ast.keyword(arg="strict", value=ast.Constant(value=True)):
            return True
    return False


def _changes(node: ast.AST) -> Iterator[Change]:
    if _can_be_left_out(node):
        yield _leave_out
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            yield _swap_comparison
        case ast.BoolOp():
            yield _swap_and_or
        case ast.UnaryOp(op=ast.Not()):
            yield _without_not
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC:
            yield _swap_arithmetic
        case ast.If() | ast.While() | ast.IfExp():
            yield _negate
        case ast.Constant(value=bool()):
            yield _other_truth
        case ast.Constant(value=int()):
            yield _one_more
            yield _one_less
        case ast.Return(value=ast.expr() as value) if not _is_none_or_truth(value):
            yield _return_nothing


def _is_none_or_truth(value: ast.expr) -> bool:
    """Nothing instead of False is as false, and instead of True the same as its `_other_truth`."""
    return isinstance(value, ast.Constant) and isinstance(value.value, bool | None)


def _can_be_left_out(node: ast.AST) -> bool:
    """Without a local variable the rest would not run: that says nothing about the tests."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call | ast.Await)
    return isinstance(node, _REMOVABLE)


def _swap_comparison(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Compare)
    node.ops = [_COMPARISONS[type(node.ops[0])]()]
    return node


def _swap_and_or(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BoolOp)
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return node


def _without_not(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.UnaryOp)
    return node.operand


def _swap_arithmetic(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BinOp)
    node.op = _ARITHMETIC[type(node.op)]()
    return node


def _negate(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.If | ast.While | ast.IfExp)
    node.test = ast.UnaryOp(ast.Not(), node.test)
    return node


def _other_truth(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Constant)
    return ast.Constant(not node.value)


def _one_more(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int)
    return ast.Constant(node.value + 1)


def _one_less(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int)
    return ast.Constant(node.value - 1)


def _return_nothing(node: ast.AST) -> ast.AST:
    return ast.Return(None)


def _leave_out(node: ast.AST) -> ast.AST:
    return ast.Pass()


def _shown(node: ast.AST) -> str:
    """A node on one line: of a statement with a body only its head."""
    head = copy(node)
    for field in ("body", "orelse"):
        if isinstance(getattr(head, field, None), list):
            setattr(head, field, [ast.Pass()] if field == "body" else [])
    text = ast.unparse(ast.fix_missing_locations(head)).partition("\n")[0]
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "..."
