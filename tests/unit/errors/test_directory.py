"""Errors about the directory."""

from __future__ import annotations

import pytest

from openmsmq.errors import HResult, MQError

OLD = (
    HResult.MQ_ERROR_DS_IS_FULL,
    HResult.MQ_ERROR_DELETE_CN_IN_USE,
    HResult.MQ_ERROR_MQIS_SERVER_EMPTY,
    HResult.MQ_ERROR_MQIS_READONLY_MODE,
    HResult.MQ_ERROR_CANNOT_LOAD_MSMQOCM,
    HResult.MQ_ERROR_GUID_NOT_MATCHING,
    HResult.MQ_ERROR_CANNOT_GET_DN,
)


@pytest.mark.parametrize("code", [code for code in HResult if code], ids=lambda code: code.name)
def test_errors_of_old_versions_only_say_so(code: HResult) -> None:
    says_so = "(MSMQ 1.0 and 2.0 only)" in MQError.from_hresult(code).explanation
    assert says_so == (code in OLD)
