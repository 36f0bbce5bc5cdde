"""Errors of the store."""

from __future__ import annotations

import copy
import pickle

import pytest

import openmsmq.errors as errors
from openmsmq.errors import (
    BackupDamaged,
    HResult,
    MessageStorageFailed,
    MQError,
    SharingViolation,
    StorageError,
    StorageFailed,
    StorageFull,
    StoreDamaged,
    StoreExists,
    StoreForeign,
    StoreInUse,
    StoreMissing,
    StoreTooNew,
)

KINDS = [
    StorageError,
    StorageFull,
    StorageFailed,
    StoreMissing,
    StoreInUse,
    StoreDamaged,
    StoreForeign,
    StoreTooNew,
    StoreExists,
    BackupDamaged,
]
ALL = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


@ALL
def test_a_caller_far_away_hears_that_storage_failed(kind: type[StorageError]) -> None:
    assert issubclass(kind, StorageError)
    assert issubclass(kind, MessageStorageFailed)
    if kind is not StoreInUse:
        assert kind().hresult == HResult.MQ_ERROR_MESSAGE_STORAGE_FAILED


def test_a_store_in_use_is_a_sharing_violation() -> None:
    assert issubclass(StoreInUse, SharingViolation)
    assert StoreInUse().hresult == HResult.MQ_ERROR_SHARING_VIOLATION


def test_the_codes_still_stand_for_the_general_classes() -> None:
    storage = MQError.from_hresult(HResult.MQ_ERROR_MESSAGE_STORAGE_FAILED)
    assert type(storage) is MessageStorageFailed
    assert type(MQError.from_hresult(HResult.MQ_ERROR_SHARING_VIOLATION)) is SharingViolation


@ALL
def test_the_text_explains_and_names_what_it_is_about(kind: type[StorageError]) -> None:
    error = kind("/data")
    assert ": /data" in str(error)
    assert error.explanation[0].isupper()
    assert error.explanation.endswith(".")


def test_every_explanation_is_different() -> None:
    texts = {kind().explanation for kind in [*KINDS, MessageStorageFailed, SharingViolation]}
    assert len(texts) == len(KINDS) + 2


@ALL
def test_they_are_exported_and_survive_pickling_and_copying(kind: type[StorageError]) -> None:
    assert getattr(errors, kind.__name__) is kind
    assert kind.__name__ in errors.__all__
    for twin in (pickle.loads(pickle.dumps(kind("x"))), copy.copy(kind("x"))):
        assert type(twin) is kind
        assert str(twin) == str(kind("x"))
