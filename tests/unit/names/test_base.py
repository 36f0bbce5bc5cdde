"""What every format name can do."""

from __future__ import annotations

from openmsmq.names.base import FormatName


class Named(FormatName):
    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def test_names_are_equal_whatever_the_letter_case() -> None:
    assert Named("KIND=abc") == Named("kind=ABC")
    assert len({Named("KIND=abc"), Named("kind=ABC")}) == 1
    assert Named("KIND=abc") != Named("KIND=abd")


def test_a_name_does_not_equal_its_text() -> None:
    assert Named("KIND=abc") != "KIND=ABC"


def test_a_name_can_be_sent_to_unless_its_kind_says_otherwise() -> None:
    assert not Named("KIND=abc").is_read_only
