"""Bounds of the remote-call runtime."""

from __future__ import annotations

from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.rpc import limits


def test_a_whole_packet_with_its_extra_headers_fits_a_response() -> None:
    assert limits.RESPONSE_STUB_MAX > PACKET_SIZE_MAX + 64 * 1024


def test_a_request_may_have_4_mebibytes() -> None:
    assert limits.REQUEST_STUB_MAX == 4 * 1024 * 1024


def test_the_fragments_offered_are_not_smaller_than_every_peer_has_to_take() -> None:
    assert limits.FRAGMENT_SIZE >= limits.FRAGMENT_SIZE_LEAST == 1432
