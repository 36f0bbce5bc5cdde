from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.engine.queues.directory_view import DirectoryView
from openmsmq.errors import NoDs, QueueNotFound, UnsupportedFormatNameOperation
from openmsmq.names.format import DistributionListName, PublicName, parse_format_name
from openmsmq.names.path import parse_path_name

QUEUE, LIST = PublicName(UUID(int=1)), DistributionListName(UUID(int=2))


def test_in_a_workgroup_there_is_nothing_to_ask() -> None:
    """DMPR-022: no name waits for a controller, whatever `is_offline` says."""
    view = DirectoryView()
    path = parse_path_name("office\\orders")
    for view.is_offline in (True, False):
        assert view.format_name(path) == path.to_direct()
        with pytest.raises(UnsupportedFormatNameOperation):
            view.path(QUEUE)
    with pytest.raises(UnsupportedFormatNameOperation, match="--directory"):
        view.owner(QUEUE)
    with pytest.raises(UnsupportedFormatNameOperation):
        view.members(LIST)


def test_without_a_controller_it_is_not_known_whether_there_is_a_queue() -> None:
    """MQDS-026, MQDS-197"""
    view = DirectoryView()
    view.is_used = True
    with pytest.raises(NoDs):
        view.owner(QUEUE)
    with pytest.raises(NoDs):
        view.members(LIST)
    view.owners[QUEUE.guid] = UUID(int=3)
    assert view.owner(QUEUE) == UUID(int=3)


def test_what_the_directory_said() -> None:
    view = DirectoryView()
    view.is_used, view.is_offline = True, False
    with pytest.raises(QueueNotFound):
        view.owner(QUEUE)
    with pytest.raises(QueueNotFound):
        view.members(LIST)
    view.lists[LIST.guid] = (parse_format_name("DIRECT=OS:a\\q"),)
    assert len(view.members(LIST)) == 1
