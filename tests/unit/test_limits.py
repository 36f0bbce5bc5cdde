"""The bounds, as the specifications state them."""

from __future__ import annotations

from openmsmq import limits


def test_a_packet_is_at_most_four_mebibytes() -> None:
    """MQQB-008."""
    assert limits.PACKET_SIZE_MAX == 0x00400000


def test_a_label_is_at_most_249_characters_and_a_null() -> None:
    """MQQB-063, MQQB-064."""
    assert limits.LABEL_UNITS_MAX == 250


def test_a_certificate_is_at_most_65535_bytes() -> None:
    """MQQB-093."""
    assert limits.SENDER_CERTIFICATE_SIZE_MAX == 65535


def test_a_message_passes_at_most_29_routing_servers() -> None:
    """MQQB-046."""
    assert limits.HOP_COUNT_MAX == 29


def test_a_window_has_64_messages_by_default() -> None:
    """MQQB-112."""
    assert limits.WINDOW_SIZE == 64


def test_time_outs_have_a_least_and_a_most() -> None:
    """MQQB-039, MQQB-040."""
    assert limits.RECOVERABLE_ACK_TIMEOUT_MS == (500, 120_000)
    assert limits.ACK_TIMEOUT_MS == (20_000, 120_000)


def test_a_list_of_queues_is_bounded() -> None:
    """No specification says how many names a list may have."""
    assert limits.MULTI_QUEUE_ELEMENTS_MAX == 4096
