"""Path names: parsing, printing, comparing."""

from __future__ import annotations

import pytest

from openmsmq.errors import IllegalQueuePathName
from openmsmq.names.parts import Suffix
from openmsmq.names.path import PathName, parse_path_name

JOURNAL, DEADLETTER, DEADXACT = Suffix.JOURNAL, Suffix.DEADLETTER, Suffix.DEADXACT


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (r".\private$\orders", PathName(".", "orders", private=True)),
        (r"HOST\orders", PathName("HOST", "orders")),
        (r"HOST\private$\orders;retry", PathName("HOST", "orders", True, "retry")),
        (r"HOST\orders;retry", PathName("HOST", "orders", subqueue="retry")),
        (r"HOST\private$\orders\Journal$", PathName("HOST", "orders", True, suffix=JOURNAL)),
        (r"HOST\orders\Journal$", PathName("HOST", "orders", suffix=JOURNAL)),
        (r".\Journal$", PathName(".", suffix=JOURNAL)),
        (r".\DeadLetter$", PathName(".", suffix=DEADLETTER)),
        (r".\XactDeadLetter$", PathName(".", suffix=DEADXACT)),
    ],
)
def test_path_names_parse_and_print(text: str, name: PathName) -> None:
    """MQQB-144."""
    assert repr(parse_path_name(text)) == repr(name)
    assert str(name) == text
    assert parse_path_name(text.swapcase()) == name


@pytest.mark.parametrize(
    ("text", "usual"),
    [
        (r"HOST\system$;JOURNAL", r"HOST\Journal$"),
        (r"HOST\SYSTEM$;deadletter", r"HOST\DeadLetter$"),
        (r"HOST\System$;DeadXact", r"HOST\XactDeadLetter$"),
        (r"HOST\orders;journal", r"HOST\orders\Journal$"),
        (r"HOST\PRIVATE$\orders", r"HOST\private$\orders"),
    ],
)
def test_other_spellings_print_the_usual_way(text: str, usual: str) -> None:
    """MQQB-144."""
    assert str(parse_path_name(text)) == usual


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a path name is a computer, a backslash and a queue"),
        ("orders", "a path name is a computer, a backslash and a queue"),
        ("\\orders", "the computer name is empty"),
        ("h\\", "the queue name is empty"),
        (r"h\private$", "private$ is a reserved word and no queue's name"),
        ("h\\private$\\", "the queue name is empty"),
        (r"h\private$\Journal$", "private$ is a reserved word and no queue's name"),
        (r"private$\orders", "private$ stands where a computer name should be"),
        (r"h\private$\a\b", r"the queue name 'a\b' has '\' at position 2"),
        (r"h\a,b", "the queue name 'a,b' has ',' at position 2"),
        (r"h\q;a;b", "the subqueue name 'a;b' has ';' at position 2"),
        (r"h\q;s\Journal$", "a subqueue has no journal"),
        (r"h\q;JOURNAL\Journal$", "a journal has no journal"),
        (r"h\system$;q", "after SYSTEM$; comes JOURNAL, DEADLETTER or DEADXACT, not 'Q'"),
        ("h\\" + "q" * 125, "the queue name has 125 characters"),
        ("h" * 257 + "\\q", "the computer name has 257 characters"),
        ("h\\q;" + "s" * 32, "the subqueue name has 32 characters, at most 31 are allowed"),
    ],
)
def test_what_is_no_path_name_is_refused_with_the_reason(text: str, reason: str) -> None:
    """MQQB-144, MQQB-145."""
    with pytest.raises(IllegalQueuePathName) as caught:
        parse_path_name(text)
    assert reason in caught.value.detail


def test_the_whole_name_is_part_of_the_reason() -> None:
    with pytest.raises(IllegalQueuePathName) as caught:
        parse_path_name(r"HOST\a+b")
    assert caught.value.detail.startswith(r"'HOST\a+b': ")


def test_path_names_that_differ_in_more_than_case_are_not_equal() -> None:
    name = PathName("h", "q")
    others = [
        PathName(".", "q"),
        PathName("h", "r"),
        PathName("h", "q", private=True),
        PathName("h", "q", subqueue="s"),
        PathName("h", "q", suffix=JOURNAL),
    ]
    assert all(name != other for other in others)
    assert name != r"h\q"


def test_equal_path_names_have_one_hash() -> None:
    assert len({PathName("Host", "Q", True), PathName("hOST", "q", True)}) == 1
    assert PathName("127.0.0.1", "q") == PathName("127.0.0.1", "Q")
    assert PathName("::1", "q") == PathName("0::1", "q")


def test_journals_and_dead_letter_queues_are_read_only() -> None:
    assert not PathName("h", "q").is_read_only
    assert PathName("h", "q", suffix=JOURNAL).is_read_only
    assert PathName("h", suffix=DEADXACT).is_read_only


def test_a_path_name_becomes_a_direct_name() -> None:
    assert str(PathName(".", "q", True, "s").to_direct()) == r"DIRECT=OS:.\private$\q;s"
    assert str(PathName("h", "q", suffix=JOURNAL).to_direct()) == r"DIRECT=OS:h\q;JOURNAL"
    assert str(PathName("h", suffix=DEADXACT).to_direct()) == r"DIRECT=OS:h\SYSTEM$;DEADXACT"
