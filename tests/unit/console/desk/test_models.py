"""What the desk is asked for."""

from __future__ import annotations

import msgspec
import pytest

from openmsmq.console.desk.models import NewSearch, NewSilence
from openmsmq.console.limits import PAGE_MAX, SILENCE_HOURS_MAX


def test_a_search_has_bounds() -> None:
    asked = msgspec.json.decode(b'{"filter": "label:x"}', type=NewSearch)
    assert (asked.limit, asked.managers, asked.queues) == (PAGE_MAX, [], "*")
    for wrong in ('{"filter": "x", "limit": 0}', '{"filter": "x", "limit": 1001}', "{}"):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(wrong, type=NewSearch)


def test_a_finding_is_not_silent_for_ever() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(f'{{"kind": "old", "hours": {SILENCE_HOURS_MAX + 1}}}', type=NewSilence)
