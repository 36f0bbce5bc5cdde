"""Numbers that were presented and are none."""

from __future__ import annotations

from openmsmq.interfaces.limits import GUESSES_MAX
from openmsmq.interfaces.qm2qm.guesses import PERIOD, Guesses


def test_an_address_guesses_so_often_in_a_minute() -> None:
    """MQQP-028: another address is not held up."""
    now = [100.0]
    guesses = Guesses(lambda: now[0])
    for _ in range(GUESSES_MAX):
        assert not guesses.is_exhausted("192.0.2.1")
        guesses.add("192.0.2.1")
    assert guesses.is_exhausted("192.0.2.1")
    assert not guesses.is_exhausted("192.0.2.2")
    now[0] += PERIOD
    assert not guesses.is_exhausted("192.0.2.1")
