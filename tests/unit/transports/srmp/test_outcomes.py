"""What metrics call the outcomes of posts."""

from __future__ import annotations

from openmsmq.transports.srmp.outcomes import SrmpOutcome, outcome_word


def test_every_outcome_has_words_of_its_own() -> None:
    assert outcome_word(SrmpOutcome.OUT_OF_ORDER) == "out of order"
    assert len({*map(outcome_word, SrmpOutcome)}) == len(SrmpOutcome)
