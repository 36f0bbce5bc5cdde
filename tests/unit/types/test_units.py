"""Names of units."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.types.units import TOKEN_SIZE, decider_of, unit_name

ME = UUID(int=7)


def test_a_name_says_who_decides_and_fits_the_identifiers_of_databases() -> None:
    name = unit_name(ME, "0" * TOKEN_SIZE)
    assert decider_of(name) == ME
    assert len(name) <= 64


@pytest.mark.parametrize(
    "name",
    ["", "unit:", "unit:7:0", f"unit:{ME}:{'0' * 24}", f"unit:{ME.hex}:{'0' * 23}", "w/1/a"],
)
def test_other_names_are_no_units(name: str) -> None:
    assert decider_of(name) is None


def test_a_token_that_is_none_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError):
        unit_name(ME, "guess")
