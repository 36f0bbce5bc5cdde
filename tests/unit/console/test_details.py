"""What pages about one queue or pipeline show, as JSON."""

from __future__ import annotations

import msgspec

from openmsmq.console.details import PermissionsView, RightView, WhoMay


def test_what_is_shown_is_json_and_reads_back() -> None:
    may = WhoMay("everyone", "", "", [RightView("send", True, 2, "entry 2 decides")])
    view = PermissionsView("q", "user:anna", None, "", [may])
    text = msgspec.json.encode(view)
    assert b'"entries":null' in text
    assert msgspec.json.decode(text, type=PermissionsView) == view
