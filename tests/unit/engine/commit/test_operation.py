"""What a commit is made of, and operations that cannot be written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import FrozenInstanceError
from typing import cast

import pytest
from tests.unit.engine import world

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.operation import Operation, Operations, joined
from openmsmq.errors import StorageFailed, StorageFull

BATCH = cast(Batch, None)
"Nothing is written to it here."


class Fault(Exception):
    """What an operation raises."""


class Log:
    """Operations that write down what is done with them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def operation(self, name: str, *, grows: bool = False) -> Operation:
        """One that raises if its name is in capitals."""

        def apply(batch: Batch) -> None:
            self.lines.append(name)
            if name.isupper():
                raise Fault(name)

        return Operation(
            apply,
            lambda: self.lines.append(f"{name} committed"),
            lambda error: self.lines.append(f"{name} failed"),
            grows,
        )

    def operations(self, names: str) -> Operations:
        """Several that wait."""
        made = Operations()
        for name in names:
            made.add(self.operation(name))
        return made

    def taken(self) -> str:
        """What was done since the last time."""
        lines, self.lines = self.lines, []
        return " ".join(lines)


@pytest.fixture
def log() -> Log:
    return Log()


def test_an_operation_needs_no_more_room_unless_it_says_so() -> None:
    operation = Operation(lambda batch: None, lambda: None, lambda error: None)
    assert not operation.grows
    with pytest.raises(FrozenInstanceError):
        operation.grows = True  # type: ignore[misc]


def test_operations_that_are_joined_are_one(log: Log) -> None:
    both = joined([log.operation("a"), log.operation("b", grows=True)])
    assert both.grows
    both.apply(BATCH)
    both.committed()
    both.failed(Fault())
    assert log.taken() == "a b a committed b committed a failed b failed"


def work(operations: Operations, is_written: Callable[[int], bool] = lambda count: True) -> str:
    """Commit until nothing waits; the fates of all: commits in brackets, faults behind an x."""
    fates: list[str] = []
    for _ in range(100):
        if not len(operations.waiting):
            return " ".join(fates)
        taken = operations.take()
        names = "".join(apply_name(operation) for operation in taken)
        with suppress(Fault):
            operations.apply(BATCH)
            if is_written(len(taken)):
                fates.append(f"[{names}]")
                continue
        faulty = operations.put_back(is_fault=True)
        fates += [] if faulty is None else [f"x{apply_name(faulty)}"]
    raise AssertionError("it never ends")


def apply_name(operation: Operation) -> str:
    found = operation.apply.__closure__
    assert found is not None
    return next(cell.cell_contents for cell in found if isinstance(cell.cell_contents, str))


@pytest.mark.parametrize(
    ("names", "fates"),
    [
        ("abc", "[abc]"),
        ("A", "xA"),
        ("Abc", "xA [bc]"),
        ("aBc", "xB [a] [c]"),
        ("abC", "xC [ab]"),
        ("ABC", "xA xB xC"),
        ("aBcDe", "xB [a] xD [c] [e]"),
    ],
)
def test_one_that_raises_is_left_out_and_the_order_stays(log: Log, names: str, fates: str) -> None:
    assert work(log.operations(names)) == fates


def test_none_is_applied_more_than_twice_for_the_faults_of_others(log: Log) -> None:
    """However many raise: the work grows with their number only."""
    names = "aBc" * 20
    work(log.operations(names))
    assert log.lines.count("a") <= 2 * 20
    assert len(log.lines) <= 2 * len(names)


def test_if_no_one_knows_whose_fault_it_is_fewer_are_written(log: Log) -> None:
    """The rows of one of them cannot be written, and only the writing of all shows it."""
    operations = log.operations("abcdefgh")

    def is_written(count: int) -> bool:
        return log.lines[-count:] != list("abcdefgh"[:count]) or count < 3

    assert work(operations, is_written) == "[ab] [cdefgh]"


def test_one_whose_rows_cannot_be_written_is_found(log: Log) -> None:
    assert work(log.operations("abc"), lambda count: "b" not in log.lines[-count:]) == "[a] xb [c]"


def test_an_interruption_is_nobodys_fault(log: Log) -> None:
    operations = log.operations("ab")
    operations.take()
    operations.apply(BATCH)
    assert operations.put_back(is_fault=False) is None
    operations.add(log.operation("c"))
    assert work(operations) == "[ab] [c]"


def test_on_a_full_disk_those_that_need_room_fail_and_the_others_wait(log: Log) -> None:
    operations = Operations()
    for name, grows in (("a", False), ("b", True), ("c", False)):
        operations.add(log.operation(name, grows=grows))
    operations.take()
    operations.fail(StorageFull("disk"))
    assert (log.taken(), len(operations.waiting)) == ("b failed", 2)
    operations.refuse(StorageFull("disk"))
    assert (log.taken(), len(operations.waiting)) == ("a failed c failed", 0)


def test_if_room_was_made_those_that_need_none_are_tried_again(log: Log) -> None:
    operations = log.operations("ab")
    operations.take()
    operations.fail(StorageFull("disk"), has_room=True)
    assert (log.taken(), len(operations.waiting)) == ("", 2)


def test_if_the_store_fails_all_fail(log: Log) -> None:
    operations = log.operations("ab")
    operations.take()
    operations.add(log.operation("c"))
    operations.fail(StorageFailed("disk"))
    assert (log.taken(), len(operations.waiting)) == ("a failed b failed", 1)


@pytest.mark.parametrize("way", ["before", "committed", "failed"])
def test_when_all_is_over_no_one_waits_for_ever(log: Log, way: str) -> None:
    """Whatever raised, and whatever is asked for by those who fail."""
    operations = log.operations("a")

    def raises(*_: object) -> None:
        raise Fault

    operations.add(Operation(lambda batch: None, raises, raises))
    operations.add(log.operation("c"))
    operations.take()
    operations.apply(BATCH)
    log.taken()
    if way != "before":
        with pytest.raises(Fault):
            operations.answer() if way == "committed" else operations.fail(StorageFailed("disk"))
        log.taken()
    again = Operation(lambda batch: None, raises, lambda error: operations.add(log.operation("d")))
    operations.add(again)
    operations.abandon(StorageFailed("disk"))
    before = "a failed " if way == "before" else ""
    assert log.taken() == f"{before}c failed d failed"
    assert len(operations.waiting) == 0


def test_what_is_waiting_behind_others_can_be_joined(log: Log) -> None:
    operations = log.operations("abc")
    operations.join(3)
    operations.join(2)
    assert len(operations.waiting) == 3
    operations.join(1)
    first, rest = operations.take()
    first.apply(BATCH)
    rest.failed(Fault())
    assert log.taken() == "a b failed c failed"


def test_nothing_is_added_to_an_operation_that_was_joined_with_others(log: Log) -> None:
    """A later send would fail with what it has nothing to do with."""
    operations = log.operations("ab")
    before = operations.turn
    operations.join(0)
    assert operations.turn != before


def test_commits_of_this_folder_begin_a_first_time_in_vain() -> None:
    assert world.begins_twice


def test_each_fails_once_when_a_full_disk_is_followed_by_the_end(log: Log) -> None:
    operations = Operations()
    operations.add(log.operation("a", grows=True))
    operations.add(log.operation("b"))
    operations.take()
    operations.fail(StorageFull("disk"))
    assert log.taken() == "a failed"
    operations.abandon(StorageFailed("EIO"))
    assert log.taken() == "b failed"
