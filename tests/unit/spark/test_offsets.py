"""Offsets as Spark has them."""

from __future__ import annotations

import pytest

from openmsmq.errors import InvalidParameter
from openmsmq.spark.offsets import Offset, QueueAddress, key, manager_of, refusal

ORDERS = r".\private$\orders"
PLACES = {
    "m1/q1": QueueAddress("shop01:1811", ORDERS),
    "m2/q1": QueueAddress("shop02:1811", ORDERS),
}


def test_an_offset_is_read_as_it_was_written() -> None:
    made = Offset("me", {key("m1", "q1"): 5})
    assert made.written() == {"owner": "me", "positions": {"m1/q1": 5}}
    assert Offset.of(made.written(), PLACES) == made
    assert manager_of("m1/q1") == "m1"
    assert Offset.of({"positions": {}}, PLACES) == Offset()


def test_an_older_offset_goes_by_addresses_and_names() -> None:
    found = Offset.of({f"shop02:1811 {ORDERS}": 5, r"shop02:1811 .\private$\gone": 7}, PLACES)
    assert found.positions == {"m2/q1": 5, r"shop02:1811 .\private$\gone": 7}
    assert (found.owner, found.is_adopted) == ("", True)


def test_an_older_address_that_was_written_in_another_way() -> None:
    written = {f"10.0.0.1:1811 {ORDERS}": 5}
    one = {"m1/q1": PLACES["m1/q1"]}
    assert Offset.of(written, one).positions == {"m1/q1": 5}
    with pytest.raises(InvalidParameter, match="write its address as before"):
        Offset.of(written, PLACES)


def test_a_refusal_says_what_to_do() -> None:
    text = refusal("spark", ORDERS, "0b9c").detail
    assert r"'spark' of .\private$\orders belongs to another stream (owner 0b9c)" in text
    assert "resume=true" in text
    assert r"openmsmq subscription drop 'spark' '.\private$\orders'" in text
    assert "another stream, which" in refusal("spark", ORDERS, "").detail
