"""What a manager remembers of its partners."""

from __future__ import annotations

import gc
from unittest.mock import patch

from openmsmq.client import partners
from openmsmq.client.partners import Partners


class Thing:
    """Something that can be remembered."""


def test_a_partner_is_known_as_long_as_it_is_there() -> None:
    known, thing = Partners(), Thing()
    known.get(thing).name = "manager 7"
    assert known.get(thing).name == "manager 7"
    del thing
    gc.collect()
    assert len(known._known) == 0


def test_what_cannot_be_remembered_is_new_each_time() -> None:
    known = Partners()
    known.get(7).name = "manager 7"
    assert known.get(7).name == ""


def test_units_are_looked_for_at_first_and_after_a_while() -> None:
    partner = Partners().get(Thing())
    assert partner.is_due
    with patch.object(partners, "monotonic", lambda: 1000.0):
        partner.recovered = 990.0
        assert not partner.is_due
        partner.recovered = 900.0
        assert partner.is_due
