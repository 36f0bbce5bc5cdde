from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.directories import FOLDER

from openmsmq.directory.limits import NOTIFICATION_SIZE_MAX
from openmsmq.directory.notification import ChangeEvent, Notification, read_notification

CASES = json.loads((FOLDER / "notifications.json").read_text())["cases"]
GUID = UUID("00112233-4455-6677-8899-aabbccddeeff")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_vectors(case: dict[str, Any]) -> None:
    """MQDS-219, MQDS-214, MQDS-226, MQDS-227, MQDS-234, MQDS-235"""
    body = bytes.fromhex(case["body"])
    found = read_notification(body)
    if not case.get("accept", case["send"]):
        assert found is None
        return
    said = Notification(ChangeEvent(case["event"]), UUID(case["guid"]), case["domain_controller"])
    assert found == said
    if case["send"]:
        assert said.encode() == body


def test_a_body_is_version_2_with_one_text() -> None:
    """MQDS-212, MQDS-213, MQDS-215"""
    body = Notification(ChangeEvent.QUEUE_CHANGED, GUID, "DC1").encode()
    assert body[:2] == b"\x02\x01"
    assert body[2:-1].decode("utf-16-le") == (
        "<Notification><Event>2</Event><ObjectGuid>00112233-4455-6677-8899-AABBCCDDEEFF"
        "</ObjectGuid><DomainController>DC1</DomainController></Notification>"
    )
    assert len(body[2:]) % 2 == 1


CONTROLLERS = st.from_regex(r"[A-Za-z0-9.-]{0,60}", fullmatch=True)


@given(st.sampled_from(ChangeEvent), st.uuids(), CONTROLLERS)
def test_what_is_written_is_read(event: ChangeEvent, guid: UUID, controller: str) -> None:
    """MQDS-213"""
    said = Notification(event, guid, controller)
    assert read_notification(said.encode()) == said


@given(st.binary(max_size=200))
def test_garbage_is_ignored(data: bytes) -> None:
    """MQDS-235"""
    assert read_notification(b"\x02\x01" + data) is None


def test_a_long_body_is_ignored() -> None:
    body = Notification(ChangeEvent.QUEUE_CREATED, GUID).encode()
    assert read_notification(body + bytes(NOTIFICATION_SIZE_MAX)) is None
