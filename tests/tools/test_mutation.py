"""Changes that are made to modules to see whether their tests notice."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tools.mutation import Mutant, mutants, mutated
from tools.sandbox import SOURCE

HERE = Path("openmsmq/here.py")


def changes(body: str) -> list[tuple[str, str]]:
    """What is changed in a function, and to what."""
    source = "def f(a, b):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return [(mutant.before, mutant.after) for mutant in mutants(source, HERE)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("g(a < b)", [("a < b", "a <= b"), ("g(a < b)", "pass")]),
        ("return a is None", [("a is None", "a is not None"), ("return a is None", "return")]),
        ("x = a and b", [("a and b", "a or b")]),
        ("x = not a", [("not a", "a")]),
        ("x = a + b", [("a + b", "a - b")]),
        ("x = 7", [("7", "8"), ("7", "6")]),
        ("x = True", [("True", "False")]),
        ("return True", [("True", "False")]),
        ("return 0", [("0", "1"), ("0", "-1"), ("return 0", "return")]),
        ("a.x = b", [("a.x = b", "pass")]),
        ("a[b] += a", [("a[b] += a", "pass")]),
        ("raise a", [("raise a", "pass")]),
        ("x = a if b else a", [("a if b else a", "a if not b else a")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_kind_of_change(body: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(changes(body)) == sorted(expected)


@pytest.mark.parametrize(
    "body",
    [
        "assert a < b",
        '"""Text."""',
        "x: int = a",
        "x = a",
        "x = 'text'",
        "return",
        "return None",
        "y = a.b",
    ],
)
def test_what_no_test_could_notice_is_left_alone(body: str) -> None:
    assert changes(body) == []


def test_nothing_outside_of_functions_is_changed() -> None:
    assert list(mutants("SIZE = 4\nclass A:\n    size = 4\n", HERE)) == []


def test_a_change_has_its_place_and_leaves_the_rest() -> None:
    source = "class A:\n    def f(self, n):\n        n = n + n\n        return n > n\n"
    first, *_ = mutants(source, HERE)
    assert first == Mutant(HERE, "A.f", 3, "n + n", "n - n", 0)
    assert mutated(source, first) == ast.unparse(ast.parse(source.replace("+", "-")))
    assert first.name == "openmsmq/here.py:A.f: n + n -> n - n"


def test_changes_that_look_the_same_are_distinguished() -> None:
    found = [m.name for m in mutants("def f(a):\n    a.x = a + a\n    a.y = a + a\n", HERE)]
    same = "openmsmq/here.py:f: a + a -> a - a"
    assert [name for name in found if name.startswith(same)] == [same, f"{same} (2)"]


def test_conditions_are_negated_and_functions_inside_functions_are_changed_once() -> None:
    source = "def f(a):\n    def g():\n        return a\n    while a:\n        g()\n"
    found = [(m.function, m.before, m.after) for m in mutants(source, HERE)]
    assert found == [
        ("f", "while a:", "while not a:"),
        ("f", "g()", "pass"),
        ("f.g", "return a", "return"),
    ]


def test_every_change_of_a_real_module_is_a_module() -> None:
    module = Path("openmsmq/engine/messages/cursor.py")
    source = (SOURCE / module).read_text()
    found = list(mutants(source, module))
    assert len(found) > 20
    original = ast.unparse(ast.parse(source))
    for mutant in found:
        changed = mutated(source, mutant)
        ast.parse(changed)
        assert changed != original, mutant.name


def test_what_zip_asserts_is_not_changed() -> None:
    assert list(mutants("def f(a, b):\n    g = zip(a, b, strict=True)\n", HERE)) == []
