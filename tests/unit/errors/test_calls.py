"""Errors about how a call was made."""

from __future__ import annotations

from openmsmq.errors import GenericError, HResult, MQError, PropertyError


def test_the_names_that_would_be_too_general_are_lengthened() -> None:
    assert GenericError.hresult == HResult.MQ_ERROR
    assert PropertyError.hresult == HResult.MQ_ERROR_PROPERTY


def test_the_code_of_the_root_becomes_the_generic_error() -> None:
    assert type(MQError.from_hresult(HResult.MQ_ERROR)) is GenericError
