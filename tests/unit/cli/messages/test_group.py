"""`openmsmq message`."""

from __future__ import annotations

from openmsmq.cli.messages.group import message


def test_all_that_can_be_done_with_messages_is_there() -> None:
    assert sorted(message.commands) == [
        *("delete", "export", "find", "import", "move", "peek", "receive"),
        *("redirect", "return", "send"),
    ]
