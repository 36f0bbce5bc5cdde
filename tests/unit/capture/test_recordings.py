"""Recordings that clients ask for: one at a time, bounded, and for administrators to fetch."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.engine.world import HandClock

from openmsmq.capture.limits import RECORDING_S_MAX, RECORDINGS_MAX
from openmsmq.capture.recordings import (
    FOLDER,
    NOTE,
    NoSuchRecording,
    RecordingRuns,
    Recordings,
    Tap,
)
from openmsmq.errors import InvalidParameter

ENDS = ("10.0.0.1", 1801), ("10.0.0.7", 5000)


def test_one_runs_at_a_time_and_is_kept(tmp_path: Path) -> None:
    clock = HandClock()
    recordings = Recordings(tmp_path, clock)
    assert recordings.all() == []
    running = recordings.start(60, "10.0.0.7", "token:aa")
    assert running.is_about("10.0.0.7")
    assert not running.is_about("10.0.0.8")
    with pytest.raises(RecordingRuns):
        recordings.start(60, "", "token:aa")
    with pytest.raises(RecordingRuns):
        recordings.remove(running.info.id)
    tap = Tap(running.recorder.session(*ENDS, clock.now()), clock, from_start=False, is_asked=True)
    tap.sent(b"hello out")
    tap.received(b"the rest of something", is_whole=False)
    tap.received(b"hello in", is_whole=True)
    tap.received(b"go on", is_whole=False)
    tap.close()
    recordings.stop(running.info.id)
    (found,) = Recordings(tmp_path, clock).all()
    assert (found.state, found.peer, found.by) == ("done", "10.0.0.7", "token:aa")
    assert found.until - found.began == 60
    (file,) = found.files
    data = recordings.read(found.id, file.name, 0, 1 << 20)
    assert len(data) == file.size
    assert b"hello out" in data
    assert b"hello in" in data
    assert b"go on" in data
    assert b"the rest of something" not in data
    assert recordings.read(found.id, file.name, file.size, 100) == b""
    recordings.remove(found.id)
    assert recordings.all() == []


def test_the_oldest_make_room(tmp_path: Path) -> None:
    clock = HandClock()
    recordings = Recordings(tmp_path, clock)
    names = []
    for _ in range(RECORDINGS_MAX + 2):
        names.append(recordings.start(1, "", "me").info.id)
        recordings.stop(names[-1])
        clock.wait(1)
    assert [one.id for one in recordings.all()] == names[2:]


@pytest.mark.parametrize("seconds", [0, -1, RECORDING_S_MAX + 1])
def test_its_time_is_bounded(tmp_path: Path, seconds: int) -> None:
    with pytest.raises(InvalidParameter):
        Recordings(tmp_path, HandClock()).start(seconds, "", "me")


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path, HandClock())
    name = recordings.start(1, "", "me").info.id
    recordings.stop(name)
    (tmp_path / "secret.pcap").write_text("secret")
    for recording, file in (
        ("..", "secret.pcap"),
        (name, "../../secret.pcap"),
        (name, NOTE),
        (name, "missing.pcap"),
        ("", ""),
        (f"{name}/..", "x.pcap"),
    ):
        with pytest.raises(NoSuchRecording):
            recordings.read(recording, file, 0, 10)
    for act in (recordings.stop, recordings.remove, recordings.show):
        with pytest.raises(NoSuchRecording):
            act("../" + FOLDER)


def test_a_note_that_is_gone_harms_nothing(tmp_path: Path) -> None:
    recordings = Recordings(tmp_path, HandClock())
    name = recordings.start(1, "", "me").info.id
    (tmp_path / FOLDER / name / NOTE).write_text("{")
    assert recordings.show(name).by == ""
