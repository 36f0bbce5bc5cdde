"""Associations and their context handles."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from uuid import UUID

import pytest

from openmsmq.rpc.association import Association, Associations
from openmsmq.rpc.limits import CONNECTIONS_MAX, HANDLES_MAX
from openmsmq.rpc.status import RpcFault, RpcStatus

HOME = "192.0.2.1"


def numbers() -> Callable[[int], bytes]:
    """Different bytes with every call."""
    counter = count(1)
    return lambda size: next(counter).to_bytes(size, "little")


class Context:
    """Counts how often it was run down."""

    def __init__(self, ended: list[Context] | None = None) -> None:
        self.ended = [] if ended is None else ended

    def run_down(self) -> None:
        self.ended.append(self)


class OtherContext(Context):
    """Another kind."""


def test_group_0_makes_an_association_and_its_number_joins_it() -> None:
    """MQRR-417"""
    associations = Associations(numbers())
    first = associations.join(0, HOME)
    assert first is not None
    assert associations.join(first.group, HOME) is first
    assert associations.join(0, HOME) is not first
    assert len(associations) == 2


def test_another_computer_cannot_join() -> None:
    """MQRR-416"""
    associations = Associations(numbers())
    first = associations.join(0, HOME)
    assert first is not None
    assert associations.join(first.group, "192.0.2.2") is None
    assert associations.join(first.group + 1, HOME) is None


def test_an_association_has_a_bounded_number_of_connections() -> None:
    associations = Associations(numbers())
    first = associations.join(0, HOME)
    assert first is not None
    for _ in range(CONNECTIONS_MAX - 1):
        assert associations.join(first.group, HOME) is first
    assert associations.join(first.group, HOME) is None


def test_handles_are_run_down_with_the_last_connection_only() -> None:
    """MQRR-291"""
    associations = Associations(numbers())
    first = associations.join(0, HOME)
    assert first is not None
    associations.join(first.group, HOME)
    ended: list[Context] = []
    contexts = [Context(ended), Context(ended)]
    for context in contexts:
        first.add(context)
    associations.leave(first)
    assert ended == []
    associations.leave(first)
    assert ended == contexts[::-1]
    assert len(associations) == 0


def test_a_handle_is_found_by_its_association_only() -> None:
    """MQRR-049, MQRR-051"""
    one, two = Association(1, HOME, numbers()), Association(2, HOME, numbers())
    context = Context()
    handle = one.add(context)
    assert one.find(handle, Context) is context
    with pytest.raises(RpcFault) as raised:
        two.find(handle, Context)
    assert raised.value.status == RpcStatus.CONTEXT_MISMATCH


def test_a_handle_of_another_kind_is_refused() -> None:
    """MQRR-045"""
    association = Association(1, HOME, numbers())
    handle = association.add(Context())
    with pytest.raises(RpcFault):
        association.find(handle, OtherContext)


def test_a_removed_handle_is_not_found_and_not_run_down() -> None:
    association = Association(1, HOME, numbers())
    context = Context()
    handle = association.add(context)
    association.remove(handle)
    association.run_down()
    assert context.ended == []
    with pytest.raises(RpcFault):
        association.find(handle, Context)
    with pytest.raises(RpcFault):
        association.find(UUID(int=0), Context)


def test_an_association_has_a_bounded_number_of_handles() -> None:
    association = Association(1, HOME, numbers())
    for _ in range(HANDLES_MAX):
        association.add(Context())
    with pytest.raises(RpcFault) as raised:
        association.add(Context())
    assert raised.value.status == RpcStatus.SERVER_TOO_BUSY
    assert association.handle_count == HANDLES_MAX


def test_group_numbers_are_not_0_and_not_in_use() -> None:
    drawn = iter([0, 5, 5, 6])
    associations = Associations(lambda size: next(drawn).to_bytes(size, "little"))
    made = [associations.join(0, HOME) for _ in range(2)]
    assert [one.group for one in made if one] == [5, 6]
