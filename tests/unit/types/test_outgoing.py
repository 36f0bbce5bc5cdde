"""Outgoing queues as values."""

from __future__ import annotations

from openmsmq.types.outgoing import OFFLINE, STATUS_WORDS, ConnectionStatus, TransferState


def test_states_and_outcomes_have_the_values_of_the_specification() -> None:
    """DMPR-048."""
    assert [status.value for status in ConnectionStatus] == list(range(17))


def test_every_status_has_words_of_its_own() -> None:
    assert STATUS_WORDS.keys() == set(ConnectionStatus)
    assert len(set(STATUS_WORDS.values())) == len(STATUS_WORDS)
    assert OFFLINE not in set(TransferState)
