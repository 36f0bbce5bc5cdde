"""Every bound is in the `limits.py` of its folder and says what happens when it is reached."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.generate_limits import bounds, modules

from tests.tidy.exceptions import MAX_ELSEWHERE
from tests.tidy.source import Source, sources


def maxima_elsewhere(found: Iterable[Source]) -> set[str]:
    """Constants named `..._MAX` outside the modules of limits."""
    names = set()
    for source in found:
        if source.name.rpartition(".")[2] == "limits":
            continue
        if source.name.startswith("client._sync"):
            continue
        for node in source.tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name) and target.id.endswith("_MAX"):
                    names.add(f"{source.name}.{target.id}")
    return names


def test_bounds_are_in_modules_of_limits() -> None:
    found = maxima_elsewhere(sources())
    assert found - set(MAX_ELSEWHERE) == set(), "move it to the limits.py of its folder"
    assert set(MAX_ELSEWHERE) - found == set(), "remove from MAX_ELSEWHERE"


def test_every_bound_says_its_unit_and_what_happens_at_the_limit() -> None:
    for module in modules():
        for bound in bounds(module):
            assert bound.unit.endswith("s"), f"{bound.name}: begin with what it counts, in plural"
            assert bound.consequence.endswith("."), bound.name


def test_a_bound_elsewhere_is_found() -> None:
    text = "A_MAX: Final = 3\n_B_MAX = 4\nC = 5"
    assert maxima_elsewhere([Source("x.y", text)]) == {"x.y.A_MAX", "x.y._B_MAX"}
    assert maxima_elsewhere([Source("x.limits", text)]) == set()
