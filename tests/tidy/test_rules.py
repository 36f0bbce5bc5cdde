"""Every rule was asked about: does a test fail when the function of the rule does nothing?"""

from __future__ import annotations

from tools.rules import SEEN, UNHURT, UNSEEN, listed, not_asked


def test_every_rule_was_asked_about() -> None:
    """`python -m tools.rules` asks and writes down what was noticed."""
    missing = [rule.number for rule in not_asked()]
    assert missing == [], f"run `python -m tools.rules {' '.join(missing)}`: they were never asked"


def test_a_rule_is_listed_once() -> None:
    seen, unseen, unhurt = listed(SEEN), listed(UNSEEN), listed(UNHURT)
    assert not seen & unseen
    assert not seen & unhurt
    assert not unseen & unhurt
