"""The words of R_QMMgmtAction."""

from __future__ import annotations

import pytest

from openmsmq.errors import InvalidParameter
from openmsmq.interfaces.management.actions import OF_MACHINE, ManagementAction, checked_action
from openmsmq.interfaces.management.stubs import ObjectType


@pytest.mark.parametrize("action", ManagementAction)
def test_a_word_goes_with_one_kind_of_object(action: ManagementAction) -> None:
    """MQMR-185, MQMR-186, MQMR-193, MQMR-194"""
    fits = ObjectType.MACHINE if action in OF_MACHINE else ObjectType.QUEUE
    for kind in ObjectType:
        for word in (action.value, action.value.lower(), action.value.title()):
            if kind is fits:
                assert checked_action(kind, word) is action
            else:
                with pytest.raises(InvalidParameter):
                    checked_action(kind, word)
