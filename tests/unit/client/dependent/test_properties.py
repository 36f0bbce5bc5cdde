"""Properties of queues as a dependent client gives them."""

from __future__ import annotations

import pytest

from openmsmq.client.dependent.properties import property_values
from openmsmq.errors import UnsupportedOperation
from openmsmq.interfaces.supporting_server.queue_properties import created_properties


def test_properties_are_what_the_server_reads() -> None:
    """MQMP-149, MQMP-201"""
    given = {"label": "quotes", "journal": True, "transactional": False, "quota": 500}
    propids, values = property_values({"name": ".\\private$\\q"} | given)
    assert len(propids) == len(values) == 5
    assert created_properties(propids, values) == (given, ".\\private$\\q")


def test_others_are_refused() -> None:
    with pytest.raises(UnsupportedOperation):
        property_values({"abort_limit": 3})
