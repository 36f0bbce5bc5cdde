"""Errors know their code, explain themselves and survive a trip between processes."""

from __future__ import annotations

import copy
import pickle

import pytest

import openmsmq.errors as errors
from openmsmq.errors import (
    HResult,
    MQError,
    MQInformation,
    QueueNotFound,
    ReceiveTimeout,
    TokenRefused,
    UnknownHResult,
)

CODES = [code for code in HResult if code != HResult.MQ_OK]
CLASSES = [
    found
    for found in vars(errors).values()
    if isinstance(found, type) and issubclass(found, MQError) and "hresult" in vars(found)
]
CONCRETE = [found for found in CLASSES if found not in (MQError, TokenRefused)]
"Those that a code stands for: `TokenRefused` has that of another class."


def test_every_code_has_exactly_one_class() -> None:
    """MQQB-361."""
    assert sorted(found.hresult for found in CONCRETE) == sorted(CODES)
    assert len(CONCRETE) == len(CODES) == 145


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_a_code_becomes_an_error_with_name_and_text(code: HResult) -> None:
    """MQQB-361."""
    error = MQError.from_hresult(code, "here")
    assert type(error).hresult == error.hresult == code
    assert error.name == code.name
    assert error.detail == "here"
    assert error.explanation.endswith(".")
    assert error.explanation[0].isupper()
    assert "\n" not in error.explanation


def all_kinds(root: type[MQError] = MQError) -> list[type[MQError]]:
    """Every class of error, those without a code of their own too."""
    return [root, *(kind for child in root.__subclasses__() for kind in all_kinds(child))]


def test_no_error_has_a_code_of_our_own_without_the_customer_bit() -> None:
    """DMPR-006."""
    assert len(all_kinds()) > len(CLASSES)
    for kind in all_kinds():
        assert kind.hresult in list(HResult) or kind.hresult & 0x20000000, kind.__name__


@pytest.mark.parametrize("code", [0x80070005, 0x80070057, 0xC0000225, 5])
def test_a_code_of_windows_is_passed_on_and_never_given_another_meaning(code: int) -> None:
    """DMPR-007: access denied, wrong parameter, not found."""
    error = MQError.from_hresult(code)
    assert (type(error), error.hresult) == (UnknownHResult, code)
    assert code not in {kind.hresult for kind in all_kinds()}


def test_every_explanation_is_different() -> None:
    assert len({found().explanation for found in CONCRETE}) == len(CONCRETE)


def test_a_code_read_as_a_signed_number_gives_the_same_class() -> None:
    assert type(MQError.from_hresult(0xC00E001B)) is ReceiveTimeout
    assert type(MQError.from_hresult(0xC00E001B - 2**32)) is ReceiveTimeout


def test_success_is_not_an_error() -> None:
    with pytest.raises(AssertionError):
        MQError.from_hresult(0)


def test_text_says_what_happened_to_what_and_the_code() -> None:
    assert str(QueueNotFound(r"private$\orders")) == (
        "The queue does not exist, or you have no permission to see it: "
        r"private$\orders (MQ_ERROR_QUEUE_NOT_FOUND, 0xC00E0003)"
    )


def test_text_without_detail_has_no_gap() -> None:
    assert str(QueueNotFound()) == (
        "The queue does not exist, or you have no permission to see it."
        " (MQ_ERROR_QUEUE_NOT_FOUND, 0xC00E0003)"
    )


def test_the_root_counts_as_the_generic_error() -> None:
    assert str(MQError("x")).endswith(": x (MQ_ERROR, 0xC00E0001)")


def test_an_unknown_code_is_kept() -> None:
    error = MQError.from_hresult(0x80070005, "the other side")
    assert isinstance(error, UnknownHResult)
    assert error.hresult == 0x80070005
    assert str(error).endswith(": the other side (unknown HRESULT, 0x80070005)")


def test_an_unknown_negative_code_is_kept_unsigned() -> None:
    assert UnknownHResult(-1).hresult == 0xFFFFFFFF


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_errors_survive_pickling_and_copying(kind: type[MQError]) -> None:
    for error in (kind("some detail"), kind()):
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(twin) is kind
            assert (twin.hresult, twin.detail, twin.args) == (
                error.hresult,
                error.detail,
                error.args,
            )
            assert str(twin) == str(error)


def test_an_unknown_code_survives_pickling() -> None:
    twin = pickle.loads(pickle.dumps(UnknownHResult(0x80004005, "x")))
    assert (twin.hresult, twin.detail) == (0x80004005, "x")


def test_a_code_cannot_have_two_classes() -> None:
    with pytest.raises(AssertionError, match="Twice"):
        type("Twice", (MQError,), {"hresult": HResult.MQ_ERROR_QUEUE_NOT_FOUND})
    assert type(MQError.from_hresult(HResult.MQ_ERROR_QUEUE_NOT_FOUND)) is QueueNotFound


def test_a_subclass_without_code_keeps_that_of_its_parent() -> None:
    kind = type("OrdersNotFound", (QueueNotFound,), {})
    assert kind("x").hresult == HResult.MQ_ERROR_QUEUE_NOT_FOUND
    assert type(MQError.from_hresult(HResult.MQ_ERROR_QUEUE_NOT_FOUND)) is QueueNotFound


def test_a_class_without_docstring_explains_itself_by_its_name() -> None:
    kind = type("Silent", (QueueNotFound,), {})
    assert kind().explanation == "MQ_ERROR_QUEUE_NOT_FOUND"


def test_all_classes_are_exported() -> None:
    exported = {getattr(errors, name) for name in errors.__all__}
    assert exported >= {*CLASSES, MQError, MQInformation, UnknownHResult, HResult}
    assert sorted(errors.__all__) == sorted(set(errors.__all__))
