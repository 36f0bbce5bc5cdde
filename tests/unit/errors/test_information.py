"""Remarks on calls that succeeded."""

from __future__ import annotations

import pytest

from openmsmq.errors import HResult, MQError, MQInformation


@pytest.mark.parametrize("code", [code for code in HResult if code], ids=lambda code: code.name)
def test_exactly_the_informational_codes_are_information(code: HResult) -> None:
    informational = code >> 30 == 1
    assert isinstance(MQError.from_hresult(code), MQInformation) == informational
