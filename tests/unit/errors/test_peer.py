"""What a peer did wrong."""

from __future__ import annotations

import pickle

from openmsmq.errors import Malformed, MQError, PeerViolation


def test_malformed_says_where_and_why() -> None:
    assert str(Malformed("UserHeader.Flags", 12, "bad")) == "UserHeader.Flags at offset 12: bad"


def test_malformed_is_a_violation_but_not_a_refusal() -> None:
    assert issubclass(Malformed, PeerViolation)
    assert not issubclass(PeerViolation, MQError)


def test_malformed_survives_pickling() -> None:
    twin = pickle.loads(pickle.dumps(Malformed("a", 1, "b")))
    assert (twin.field, twin.offset, twin.reason) == ("a", 1, "b")
