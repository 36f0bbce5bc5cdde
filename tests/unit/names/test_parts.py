"""The parts of names: what they may be made of and how they compare."""

from __future__ import annotations

import pytest

from openmsmq.errors import IllegalFormatName
from openmsmq.limits import QUEUE_NAME_MAX
from openmsmq.names.parts import (
    NOT_IN_COMPUTER,
    NOT_IN_QUEUE,
    Fault,
    QueueParts,
    Suffix,
    check_computer,
    check_part,
    check_queue,
    fold,
    host_key,
    join_queue,
    refused_as,
    show,
    split_queue,
)


@pytest.mark.parametrize("suffix", Suffix)
def test_journals_and_dead_letter_queues_are_read_only(suffix: Suffix) -> None:
    assert suffix.is_read_only == (suffix in {"JOURNAL", "DEADLETTER", "DEADXACT"})


def test_folding_forgets_letter_case_also_beyond_ascii() -> None:
    assert fold("orders") == fold("ORDERS") == "ORDERS"
    assert fold("aufträge") == fold("AUFTRÄGE")
    assert fold("заказы") == fold("ЗАКАЗЫ")


@pytest.mark.parametrize(("a", "b"), [("straße", "STRASSE"), ("adm\u0131n", "admin")])
def test_folding_keeps_letters_apart_that_are_no_case_of_each_other(a: str, b: str) -> None:
    assert fold(a) != fold(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Host", "hOST"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("fe80::A", "FE80::a"),
        ("1host1", "1HOST1"),
        ("a:b", "A:B"),
    ],
)
def test_hosts_are_compared_by_what_they_say(a: str, b: str) -> None:
    assert host_key(a) == host_key(b)


def test_an_ip_address_is_compared_in_its_shortest_form() -> None:
    assert host_key("127.0.0.1") == "127.0.0.1"
    assert host_key("0:0::0:1") == "::1"


def test_shown_text_is_quoted_escaped_and_cut() -> None:
    assert show("a\\b") == r"'a\b'"
    assert show("a\nb\ud800") == r"'a\nb\ud800'"
    assert show("x" * 500) == f"'{'x' * 80}...'"


def test_a_fault_becomes_the_public_error_with_the_whole_name() -> None:
    with pytest.raises(IllegalFormatName) as caught, refused_as(IllegalFormatName, "NAME"):
        raise Fault("it is wrong")
    assert caught.value.detail == "'NAME': it is wrong"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the queue name is empty"),
        ("x" * 125, "the queue name has 125 characters, at most 124 are allowed"),
        ("\U0001f600" * 63, "the queue name has 126 characters, at most 124 are allowed"),
        ("a+b", "the queue name 'a+b' has '+' at position 2, which is not allowed there"),
        (" a", "the queue name ' a' begins or ends with white space"),
        ("a\u3000", "the queue name 'a\\u3000' begins or ends with white space"),
    ],
)
def test_a_part_is_refused_with_what_is_wrong_and_where(text: str, reason: str) -> None:
    with pytest.raises(Fault) as caught:
        check_part("queue name", text, QUEUE_NAME_MAX, NOT_IN_QUEUE)
    assert str(caught.value) == reason


@pytest.mark.parametrize("char", ['"', "+", ",", ";", "\\"])
def test_queue_names_have_no_separators(char: str) -> None:
    """MQQB-145."""
    with pytest.raises(Fault, match="at position 1"):
        check_part("queue name", char + "a", QUEUE_NAME_MAX, NOT_IN_QUEUE)


@pytest.mark.parametrize("char", ["\0", "\n", "\x1f", "\x7f", "\x85", "\u2028", "\ud800"])
def test_no_name_has_control_characters_or_half_pairs(char: str) -> None:
    for pattern in (NOT_IN_COMPUTER, NOT_IN_QUEUE):
        with pytest.raises(Fault, match="position 2"):
            check_part("name", f"a{char}b", QUEUE_NAME_MAX, pattern)


@pytest.mark.parametrize(
    "text", ["x" * 124, "\U0001f600" * 62, "a b", "!#$%&'()*-./:<=>?@[]^_`{|}~"]
)
def test_everything_else_is_a_queue_name(text: str) -> None:
    """MQQB-145."""
    check_part("queue name", text, QUEUE_NAME_MAX, NOT_IN_QUEUE)


@pytest.mark.parametrize(
    "computer", ["", "a" * 257, "a,b", "a\\b", "private$", "System$", "JOURNAL$"]
)
def test_some_texts_are_no_computers(computer: str) -> None:
    with pytest.raises(Fault):
        check_computer(computer)


@pytest.mark.parametrize("computer", [".", "a" * 256, "host.example.org", "fe80::1%eth0"])
def test_other_texts_are_computers(computer: str) -> None:
    check_computer(computer)


CASES = [
    ("q", QueueParts("q", False, "", Suffix.NONE)),
    ("private$\\q", QueueParts("q", True, "", Suffix.NONE)),
    ("private$\\q;retry", QueueParts("q", True, "retry", Suffix.NONE)),
    ("q;JOURNAL", QueueParts("q", False, "", Suffix.JOURNAL)),
    ("SYSTEM$;JOURNAL", QueueParts("", False, "", Suffix.JOURNAL)),
    ("SYSTEM$;DEADLETTER", QueueParts("", False, "", Suffix.DEADLETTER)),
    ("SYSTEM$;DEADXACT", QueueParts("", False, "", Suffix.DEADXACT)),
]


@pytest.mark.parametrize(("text", "parts"), CASES)
def test_queues_split_and_join(text: str, parts: QueueParts) -> None:
    assert split_queue(text) == parts
    assert join_queue(parts) == text
    check_queue(parts)


@pytest.mark.parametrize(("text", "parts"), CASES)
def test_words_of_the_grammar_have_no_case(text: str, parts: QueueParts) -> None:
    swapped = split_queue(text.swapcase())
    assert swapped._replace(queue=parts.queue, subqueue=parts.subqueue) == parts


@pytest.mark.parametrize(
    "text", ["q;", "private$\\q;", "SYSTEM$;", "SYSTEM$;XACTONLY", "system$;q"]
)
def test_a_semicolon_must_be_followed_by_something_known(text: str) -> None:
    with pytest.raises(Fault):
        split_queue(text)


@pytest.mark.parametrize(
    "parts",
    [
        QueueParts("", False, "", Suffix.NONE),
        QueueParts("", True, "", Suffix.JOURNAL),
        QueueParts("", False, "s", Suffix.JOURNAL),
        QueueParts("", False, "", Suffix.XACTONLY),
        QueueParts("q", False, "", Suffix.DEADXACT),
        QueueParts("q", False, "s", Suffix.JOURNAL),
        QueueParts("q", False, "s" * 32, Suffix.NONE),
        QueueParts("q", False, "a;b", Suffix.NONE),
        QueueParts("q", False, "journal", Suffix.NONE),
        QueueParts("Private$", False, "", Suffix.NONE),
        QueueParts("deadletter$", True, "", Suffix.NONE),
    ],
)
def test_parts_that_make_no_queue_are_refused(parts: QueueParts) -> None:
    """MQQB-145: a subqueue of 32 characters would not fit where it is stored."""
    with pytest.raises(Fault):
        check_queue(parts)


def test_a_subqueue_name_has_up_to_31_characters() -> None:
    """MQQB-145."""
    check_queue(QueueParts("q", False, "s" * 31, Suffix.NONE))
