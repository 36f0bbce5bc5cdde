"""Recordings that clients ask for: one at a time, for some time, and only the last ones are kept.

Each has a folder of its own with the files of a `Recorder` and a note of who asked for it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from openmsmq.capture.limits import ASKED_FILES_MAX, RECORDING_S_MAX, RECORDINGS_MAX
from openmsmq.capture.recorder import Recorder, Recording
from openmsmq.clock import Clock
from openmsmq.errors import InvalidParameter
from openmsmq.types.peers import RecordingFile, RecordingInfo

FOLDER: Final = "recordings"
"In the directory of a manager."
NOTE: Final = "recording.json"
_ID: Final = re.compile(r"\d{8}T\d{6}Z-\d{1,9}")
_FILE: Final = re.compile(r"[0-9A-Za-z._-]{1,200}\.pcap")


class NoSuchRecording(InvalidParameter):
    """There is no recording with this name."""


class RecordingRuns(InvalidParameter):
    """A recording runs already: stop it before another one is begun."""


@dataclass(frozen=True, slots=True)
class RunningRecording:
    """The recording that runs."""

    info: RecordingInfo
    recorder: Recorder

    def is_about(self, address: str) -> bool:
        """Whether sessions with an address are recorded."""
        return self.info.peer in ("", address)


class Tap:
    """Writes down what one session says, from its beginning or from a whole packet on."""

    def __init__(
        self, recording: Recording, clock: Clock, *, from_start: bool, is_asked: bool
    ) -> None:
        """`is_asked`: a client has asked for it."""
        self.is_asked = is_asked
        self._recording = recording
        self._clock = clock
        self._hears = from_start

    def sent(self, data: bytes) -> None:
        """This side sends bytes, which are whole packets."""
        self._recording.sent(data, self._clock.now())

    def received(self, data: bytes, *, is_whole: bool) -> None:
        """Bytes came; `is_whole` says that no packet was unfinished before them."""
        self._hears = self._hears or is_whole
        if self._hears:
            self._recording.received(data, self._clock.now())

    def close(self) -> None:
        """The session is over, or what it says is no longer wanted."""
        self._recording.closed(self._clock.now())


class Recordings:
    """All recordings in the directory of a manager."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._folder = directory / FOLDER
        self._clock = clock
        self.running: RunningRecording | None = None

    def start(self, seconds: int, peer: str, by: str) -> RunningRecording:
        """Begin one, for some seconds, of the sessions with an address or of all."""
        if self.running is not None:
            raise RecordingRuns(self.running.info.id)
        if not 1 <= seconds <= RECORDING_S_MAX:
            raise InvalidParameter(f"seconds: from 1 to {RECORDING_S_MAX}, not {seconds}")
        kept = sorted(self._names())
        for name in kept[: max(0, len(kept) - RECORDINGS_MAX + 1)]:
            shutil.rmtree(self._folder / name, ignore_errors=True)
        now = int(self._clock.now())
        number = max((int(name.rpartition("-")[2]) for name in kept), default=0) + 1
        name = f"{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}-{number}"
        info = RecordingInfo(name, "running", peer, now, now + seconds, by)
        recorder = Recorder(self._folder / name, files_max=ASKED_FILES_MAX)
        note = {"peer": peer, "began": now, "until": now + seconds, "by": by}
        try:
            (self._folder / name / NOTE).write_text(json.dumps(note))
        except OSError as error:
            raise InvalidParameter(f"{self._folder}: {error.strerror}") from error
        self.running = RunningRecording(info, recorder)
        return self.running

    def stop(self, name: str) -> None:
        """End the one that runs; one that is over stays as it is."""
        self._checked(name)
        if self.running is not None and self.running.info.id == name:
            self.running.recorder.flush(self._clock.now())
            self.running = None

    def remove(self, name: str) -> None:
        """Remove one that is over, with its files."""
        folder = self._checked(name)
        if self.running is not None and self.running.info.id == name:
            raise RecordingRuns(name)
        shutil.rmtree(folder, ignore_errors=True)

    def read(self, name: str, file: str, offset: int, size: int) -> bytes:
        """A part of a file."""
        path = self._checked(name) / file
        if not _FILE.fullmatch(file) or not path.is_file():
            raise NoSuchRecording(f"{name}: no file {file[:60]!r}")
        with path.open("rb") as source:
            source.seek(offset)
            return source.read(size)

    def all(self) -> list[RecordingInfo]:
        """All of them, the oldest first."""
        return [self.show(name) for name in sorted(self._names())]

    def show(self, name: str) -> RecordingInfo:
        """One of them."""
        folder = self._checked(name)
        is_running = self.running is not None and self.running.info.id == name
        note: dict[str, Any] = {"peer": "", "began": 0, "until": 0, "by": ""}
        with suppress(OSError, ValueError):  # someone may have cleared up
            note |= json.loads((folder / NOTE).read_text())
        found = sorted(folder.glob("*.pcap"))
        files = tuple(RecordingFile(one.name, one.stat().st_size) for one in found)
        state = "running" if is_running else "done"
        times = int(note["began"]), int(note["until"])
        return RecordingInfo(name, state, str(note["peer"]), *times, str(note["by"]), files)

    def _names(self) -> Iterator[str]:
        if self._folder.is_dir():
            yield from (one.name for one in self._folder.iterdir() if _ID.fullmatch(one.name))

    def _checked(self, name: str) -> Path:
        if not _ID.fullmatch(name) or not (self._folder / name).is_dir():
            raise NoSuchRecording(name[:60])
        return self._folder / name
