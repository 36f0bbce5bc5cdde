"""Properties of queues, as dependent clients set and see them."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.strategies.dependent import propids, text, value

from openmsmq.errors import IllegalPropertyValue, MQError
from openmsmq.interfaces.supporting_server.queue_properties import (
    changed_properties,
    created_properties,
)
from openmsmq.interfaces.variants import VariantArgument
from openmsmq.properties.propid import Q
from openmsmq.properties.vartype import VarType

CREATE = {102, 103, 104, 105, 106, 107, 108, 111, 112, 113, 125}
SET = CREATE - {103, 113}


def sample(item: Q) -> VariantArgument:
    """A value of the type of a property."""
    if item.vartype == VarType.VT_CLSID:
        return value(item, UUID(int=5))
    return value(item, "x" if item.vartype == VarType.VT_LPWSTR else 0)


@pytest.mark.parametrize("item", [item for item in Q if item.value < 1000 and item.value != 117])
def test_properties_go_with_their_calls(item: Q) -> None:
    """MQMP-150, MQMP-198"""
    values = (sample(item),)
    for work, allowed in ((created_properties, CREATE), (changed_properties, SET)):
        if item.value in allowed:
            work((item.value,), values)
        else:
            with pytest.raises(MQError) as error:
                work((item.value,), values)
            assert error.value.hresult == 0xC00E003E


def test_the_manager_has_other_names_for_them() -> None:
    """MQMP-155, MQMP-196"""
    given = {Q.LABEL: text("quotes"), Q.JOURNAL: value(Q.JOURNAL, 1), Q.PATHNAME: text("p")}
    found, path = created_properties(propids(dict(given)), tuple(given.values()))
    assert (found, path) == ({"label": "quotes", "journal": True}, "p")


def test_a_text_that_is_null_is_no_value() -> None:
    nothing = VariantArgument(VarType.VT_LPWSTR, 0, 0, 0, None)
    with pytest.raises(IllegalPropertyValue):
        changed_properties((Q.LABEL.value,), (nothing,))
