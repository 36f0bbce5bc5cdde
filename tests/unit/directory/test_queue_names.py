from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.directories import LONG_NAME

from openmsmq.directory.queue_names import (
    check_label,
    check_name,
    join_name,
    name_hash,
    split_name,
)
from openmsmq.errors import IllegalPropertyValue, IllegalQueuePathName


def test_the_hashes_of_the_specification() -> None:
    """MQDS-099, MQDS-100"""
    assert name_hash("a") == "3f590a6e"
    assert name_hash("orders") == name_hash("Orders") == "2fa7868f"
    assert name_hash("x" * 64) == "c2f8c3d4"
    assert name_hash(LONG_NAME) == "7e04b721"
    assert name_hash(LONG_NAME[:-1] + "2") == "cfe695a9"
    assert name_hash("ÄÖ") == "d9d73da6"


def test_a_name_of_63_characters_is_kept_as_it_is() -> None:
    """MQDS-097"""
    assert split_name("x" * 63) == ("x" * 63, "")


def test_a_longer_name_is_cut_and_hashed() -> None:
    """MQDS-098"""
    cut = "Orders.of.the.northern.region.sorted.by.customer.number-7e04b721"
    assert split_name(LONG_NAME) == (cut, ".and.date.01")
    assert len(split_name("x" * 64)[0]) == 64
    assert split_name("x" * 64)[1] == "x" * 9


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=124))
def test_every_name_is_put_together_again(name: str) -> None:
    """MQDS-101"""
    assert join_name(*split_name(name)) == name


def test_a_short_name_ignores_an_extension() -> None:
    """MQDS-101"""
    assert join_name("orders", "x") == "orders"


def test_names_that_no_public_queue_has() -> None:
    """MQDS-103, MQDS-105"""
    check_name("x" * 124)
    for wrong in ("x" * 125, "", "private$\\orders", ";journal", "orders;retry"):
        with pytest.raises(IllegalQueuePathName):
            check_name(wrong)


def test_labels_have_at_most_124_characters() -> None:
    """MQDS-104"""
    check_label("x" * 124)
    with pytest.raises(IllegalPropertyValue, match="124"):
        check_label("x" * 125)
