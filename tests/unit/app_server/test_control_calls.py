"""What administrators ask of a service; a listener and its recordings are in `tests/e2e`."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from tests.unit.app_server.machines import Client, Desk
from tests.unit.engine.world import HandClock

from openmsmq.app_protocol.frames import Kind
from openmsmq.app_protocol.members import Members
from openmsmq.capture.recordings import RunningRecording
from openmsmq.client.session_payloads import session_details
from openmsmq.clock import Clock
from openmsmq.transports.peers.control import SessionControl
from openmsmq.types.peers import (
    DependentInfo,
    DependentQueueInfo,
    SessionDetails,
    SessionInfo,
    SessionPacket,
)
from openmsmq.types.settings import ConfigurationEntry

WAITS = DependentQueueInfo("DIRECT=OS:here\\private$\\orders", "receive", 2, 7)
CLIENT = DependentInfo("d5", "10.0.0.9", "user:anna", 60, 2, 300, 400, 1, 2, 1, (WAITS,))
PEER = SessionInfo("m3", "manager", "10.0.0.7:1801", "", "bank", True, True, 5, 10, 20)
PACKET = SessionPacket(1_700_000_000_000, True, "SessionAck: 7 came, window 64", 36)
DETAILS = SessionDetails(PEER, "open", 64, 32, 52, 12, 3, 120, (PACKET,))
CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("sessions", {}, "watch"),
    ("session", {"session": "m3"}, "watch"),
    ("dependents", {}, "watch"),
    ("topology", {}, "watch"),
    ("recordings", {}, "watch"),
    ("end_session", {"session": "m3"}, "admin"),
    ("start_recording", {}, "admin"),
    ("stop_recording", {"recording": "x"}, "admin"),
    ("remove_recording", {"recording": "x"}, "admin"),
    ("read_recording", {"recording": "x", "file": "y"}, "admin"),
    ("tokens", {}, "admin"),
    ("create_token", {"role": "watch"}, "admin"),
    ("revoke_token", {"token": "x"}, "admin"),
    ("check_access", {"token": "x", "right": "send"}, "admin"),
    ("configuration", {}, "admin"),
)


class Peer:
    """A session with another manager, without it (`ControlledSession`)."""

    number = 3

    def __init__(self) -> None:
        self.is_ended = self.is_recorded = False

    def info(self) -> SessionInfo:
        return PEER

    def details(self) -> SessionDetails:
        return DETAILS

    def end(self) -> None:
        self.is_ended = True

    def record(self, running: RunningRecording, clock: Clock) -> None:
        self.is_recorded = True

    def record_no_more(self) -> None:
        self.is_recorded = False


class Dependents:
    """One dependent client (`DependentClients`)."""

    def __init__(self) -> None:
        self.clients = [CLIENT]

    def all(self) -> list[DependentInfo]:
        return self.clients

    def end(self, number: int) -> bool:
        known = [one for one in self.clients if one.id == f"d{number}"]
        self.clients = [one for one in self.clients if one not in known]
        return bool(known)


def sessions(folder: Path) -> tuple[SessionControl, Peer]:
    """One session with another manager."""
    control, peer = SessionControl(folder, HandClock(), lambda seconds, call: None), Peer()
    control.add(peer)
    return control, peer


def refusal(client: Client, call: str, /, **arguments: Any) -> str:
    """Why a call was refused."""
    client.tell(Kind.CALL, Members({"call": call, **arguments}).encode())
    [found] = client.wire.frames()
    assert found.kind is Kind.ERROR, found
    return str(Members.decode(found.payload).values)


def test_sessions_are_listed_and_ended(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.server.control, peer = sessions(tmp_path)
    anna, ben = desk.welcome(), desk.welcome()
    desk.now += 7
    ben.tell(Kind.PING)
    ben.wire.frames()
    found = {one["id"]: one for one in anna.call("sessions")["sessions"]}
    assert found.keys() == {"m3", "p1", "p2"}
    assert (found["p2"]["kind"], found["p2"]["name"][:4]) == ("program", "test")
    anna.call("end_session", session="p2")
    assert "ended" in ben.closing()["reason"]
    anna.call("end_session", session="m3")
    assert peer.is_ended
    for wrong in ("m4", "p2", "p1", "x", "", "m", "p" + "9" * 30, "m²"):
        assert "session" in refusal(anna, "end_session", session=wrong)


def test_all_that_is_known_of_a_session_is_shown(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    anna, ben = desk.welcome(), desk.welcome()
    assert "no session" in refusal(anna, "session", session="m3")
    desk.server.control = sessions(tmp_path)[0]
    desk.server.dependents = Dependents()
    assert session_details(Members(anna.call("session", session="m3")).object("details")) == DETAILS
    for name in ("orders", "jobs"):
        ben.call("create_queue", name=name)
        ben.call("open_queue", name=name)
    shown = anna.call("session", session="p2")["details"]
    assert (shown["state"], shown["window"], shown["packets"]) == ("open", None, [])
    assert shown["queues"] == [r".\private$\jobs", r".\private$\orders"]
    (name,) = anna.call("session", session="d5")["details"]["queues"]
    assert name == WAITS.name
    for wrong in ("m4", "p9", "d4", "x", "", "m²"):
        assert "no session" in refusal(anna, "session", session=wrong)


def test_dependent_clients_are_listed_and_ended(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    anna = desk.welcome()
    assert anna.call("dependents")["dependents"] == []
    assert "session" in refusal(anna, "end_session", session="d5")
    desk.server.dependents = Dependents()
    (shown,) = anna.call("dependents")["dependents"]
    assert (shown["id"], shown["waiting"], shown["queues"][0]["longest"]) == ("d5", 2, 7)
    found = {one["id"]: one for one in anna.call("sessions")["sessions"]}
    assert found.keys() == {"d5", "p1"}
    assert (found["d5"]["kind"], found["d5"]["who"]) == ("dependent", "user:anna")
    assert (found["d5"]["received"], found["d5"]["sent"]) == (300, 400)
    assert "session" in refusal(anna, "end_session", session="d4")
    anna.call("end_session", session="d5")
    assert anna.call("dependents")["dependents"] == []
    entries = anna.call("audit")["entries"]
    assert [(entry["act"], entry["target"]) for entry in entries] == [("end session", "d5")]


def test_recordings_are_begun_read_and_removed(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    anna = desk.welcome()
    assert anna.call("recordings")["recordings"] == []
    assert "binary.port" in refusal(anna, "start_recording")
    desk.server.control = control = sessions(tmp_path)[0]
    begun = anna.call("start_recording", seconds=9, peer="10.0.0.7")["recording"]
    assert (begun["state"], begun["peer"]) == ("running", "10.0.0.7")
    running = control.recordings.running
    assert running is not None
    running.recorder.session(("10.0.0.1", 1801), ("10.0.0.7", 99), 5.0).sent(b"hello", 5.0)
    (file,) = anna.call("stop_recording", recording=begun["id"])["recording"]["files"]
    given = {"recording": begun["id"], "file": file["name"]}
    data = b64decode(anna.call("read_recording", **given)["data"])
    assert (len(data), b"hello" in data) == (file["size"], True)
    assert anna.call("read_recording", **given, offset=file["size"])["data"] == ""
    anna.call("remove_recording", recording=begun["id"])
    assert anna.call("recordings")["recordings"] == []


def test_tokens_are_created_used_and_revoked(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    anna = desk.welcome()
    made = anna.call("create_token", role="peek+send", queues=["orders*"], label="shop")
    identifier = made["token"]["id"]
    assert made["secret"].startswith(f"omq_{identifier}_")
    (shown,) = anna.call("tokens")["tokens"]
    assert (shown["role"], shown["queues"]) == ("peek+send", [r"private$\orders*"])
    assert (shown["used"], "hash" in shown, "salt" in shown) == (None, False, False)
    assert desk.tokens.check(made["secret"]) is not None
    assert anna.call("tokens")["tokens"][0]["used"] is not None
    for right, queue, allowed in (
        ("send", "orders1", True),
        ("peek", "orders1", True),
        ("read", "orders1", False),
        ("send", "jobs", False),
        ("send", "", False),
    ):
        given = {"token": identifier, "right": right, "queue": queue}
        assert anna.call("check_access", **given)["allowed"] is allowed, given
    anna.call("revoke_token", token=identifier)
    assert anna.call("tokens")["tokens"] == []
    assert "NoSuchToken" in refusal(anna, "revoke_token", token=identifier)
    assert "NoSuchToken" in refusal(anna, "check_access", token=identifier, right="send")


@pytest.mark.parametrize(
    "given",
    [
        {"role": "king"},
        {"role": ""},
        {"role": "send", "label": "x" * 201},
        {"role": "send", "queues": ["x"] * 101},
        {"role": "send", "queues": [""]},
        {"role": "send", "expires": -1},
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(tmp_path: Path, given: dict[str, Any]) -> None:
    desk = Desk(tmp_path)
    refusal(desk.welcome(), "create_token", **given)
    assert list(desk.tokens) == []


def test_the_configuration_is_shown(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    entry = ConfigurationEntry("app.port", "1811", "1812", True, True, False, "A port.")
    desk.server.configured = lambda: [entry]
    (shown,) = desk.welcome().call("configuration")["entries"]
    assert (shown["place"], shown["needs_restart"]) == ("app.port", True)


@pytest.mark.parametrize("right", ["send", "watch", "operate", "read"])
def test_each_call_needs_its_right(tmp_path: Path, right: str) -> None:
    desk = Desk(tmp_path)
    desk.server.control = sessions(tmp_path)[0]
    _, text = desk.tokens.create(right)
    client = desk.connect(is_trusted=False)
    client.hello(text)
    client.wire.frames()
    for call, given, needed in CALLS:
        if needed == "watch" and right != "send":
            client.call(call, **given)
        else:
            assert f"'{needed}'" in refusal(client, call, **given)
    assert len(list(desk.tokens)) == 1
