"""The lower bounds of the dependencies as requirements, for `make lowest`."""

from __future__ import annotations

import pytest
from tools.generate_docs import ROOT
from tools.lowest import lowest

PROJECT = """
[project]
dependencies = ["click>=8.4", "uvloop>=0.19; sys_platform == 'linux'"]
"""


def test_requirements_are_pinned_to_their_lower_bounds() -> None:
    assert lowest(PROJECT) == ["click==8.4", "uvloop==0.19; sys_platform == 'linux'"]


def test_a_requirement_without_one_lower_bound_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="one lower bound"):
        lowest(PROJECT.replace(">=8.4", ""))


def test_every_dependency_of_the_package_has_a_lower_bound() -> None:
    assert all("==" in one for one in lowest((ROOT / "pyproject.toml").read_text()))
