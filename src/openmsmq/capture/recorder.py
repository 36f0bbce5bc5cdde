"""Recording: what sessions say to each other, in files that `openmsmq decode` and Wireshark read.

The newest is kept: a file that is full is followed by another, and the oldest files are removed.
Recording must never do harm: whatever goes wrong with the files ends it, with one line in the log.
"""

from __future__ import annotations

import logging
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from openmsmq.capture.limits import BUFFER_SIZE, FILE_SIZE_MAX, FILES_MAX
from openmsmq.capture.pcap import FILE_HEADER, Conversation, Endpoint, datagram
from openmsmq.runtime.logs import log_event

FLUSH_AFTER: Final = 1.0
"Seconds that they wait."
_NAME: Final = re.compile(r"\d{8}T\d{6}\.\d{3}Z-.+-(\d{6,})\.pcap")
_logger: Final = logging.getLogger(__name__)


class Recorder:
    """Writes each session to a file of its own in `folder`, and all datagrams to another.

    For one thread or event loop. Files are named by time, peer and a number, and open only while
    they are written to, for no longer than `FLUSH_AFTER` if `flush` is called that often.
    They hold messages: no other user may read them.
    """

    def __init__(
        self, folder: Path, *, file_size_max: int = FILE_SIZE_MAX, files_max: int = FILES_MAX
    ) -> None:
        self._folder = folder
        self._files_max = files_max
        self.file_size_max = file_size_max
        self._is_on = True
        self._waiting: dict[Recording, None] = {}
        "Recordings that have something to write."
        self._flushed = 0.0
        self._files: dict[str, Recording | None] = {}
        "The files in the folder, the oldest first, and who still writes to them."
        self._number = 0
        self._datagrams: Recording | None = None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._find_files()
        except OSError as error:
            self._give_up(error)

    @property
    def is_on(self) -> bool:
        """Whether anything is recorded; not any more after an error."""
        return self._is_on

    def session(
        self, local: Endpoint, remote: Endpoint, now: float, *, accepted: bool = True
    ) -> Recording:
        """Record a session that has begun; `accepted` says that the other side connected."""
        recording = Recording(self, Conversation(local, remote, accepted=accepted), remote)
        recording.opened(now)
        return recording

    def datagram(self, source: Endpoint, target: Endpoint, data: bytes, now: float) -> None:
        """Record a datagram, as a ping."""
        if self._datagrams is None:
            self._datagrams = Recording(self, Conversation(source, target), ("pings", 0))
        self._datagrams.add(datagram(source, target, data, now), now)

    def flush(self, now: float) -> None:
        """Write what is buffered; to be called about every second, and at the end."""
        self._flushed = now
        waiting, self._waiting = self._waiting, {}
        for recording in waiting:
            recording.write(now)

    def wait(self, recording: Recording, now: float) -> None:
        """Have something written with the next flush, which may be due."""
        self._waiting[recording] = None
        if not 0 <= now - self._flushed < FLUSH_AFTER:
            self.flush(now)

    def start_file(self, recording: Recording, peer: Endpoint, now: float) -> str:
        """The name of a new file; the oldest beyond the limit are removed."""
        self._number += 1
        moment = datetime.fromtimestamp(now, UTC)
        time = f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z"
        address = re.sub(r"[^0-9A-Za-z.]", "-", peer[0])
        name = f"{time}-{address}_{peer[1]}-{self._number:06d}.pcap"
        while len(self._files) >= self._files_max:
            self._remove_oldest()
        self._files[name] = recording
        return name

    def has_file(self, name: str) -> bool:
        """Whether a file is there; people clear up."""
        return name in self._files and (self._folder / name).exists()

    def end_file(self, name: str) -> None:
        """Close the file of a connection."""
        if name in self._files:
            self._files[name] = None

    def append(self, name: str, data: bytes) -> None:
        """Write to a file, if that is still possible."""
        if not self._is_on:
            return
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
            with open(os.open(self._folder / name, flags, 0o600), "ab", buffering=0) as file:
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
        except OSError as error:
            self._give_up(error)

    def _remove_oldest(self) -> None:
        name = next(iter(self._files))
        recording = self._files.pop(name)
        if recording is not None:
            recording.forget_file()
        try:
            (self._folder / name).unlink(missing_ok=True)
        except OSError as error:
            self._give_up(error)

    def _find_files(self) -> None:
        """Take over what was recorded before."""
        found = [
            (entry.name, int(match[1]))
            for entry in self._folder.iterdir()
            if (match := _NAME.fullmatch(entry.name))
        ]
        self._files = {name: None for name, _ in sorted(found)}
        self._number = max((number for _, number in found), default=0)

    def _give_up(self, error: OSError) -> None:
        if self._is_on:
            self._is_on = False
            self._waiting.clear()
            log_event(
                _logger,
                "recording stopped",
                level=logging.WARNING,
                error=error,
                folder=str(self._folder),
            )


class Recording:
    """What one session says."""

    def __init__(self, recorder: Recorder, conversation: Conversation, peer: Endpoint) -> None:
        self._recorder = recorder
        self._conversation = conversation
        self._peer = peer
        self._name = ""
        "The file; none before anything is written."
        self._written = 0
        self._buffer = bytearray()

    def opened(self, now: float) -> None:
        """It begins."""
        self.add(self._conversation.opened(now), now)

    def sent(self, data: bytes, now: float) -> None:
        """This side sent bytes."""
        if self._recorder.is_on:
            self.add(self._conversation.sent(data, now), now)

    def received(self, data: bytes, now: float) -> None:
        """The other side sent bytes."""
        if self._recorder.is_on:
            self.add(self._conversation.received(data, now), now)

    def closed(self, now: float) -> None:
        """It is over."""
        self.add(self._conversation.closed(now), now)
        self.write(now)
        self._recorder.end_file(self._name)

    def add(self, records: bytes, now: float) -> None:
        """Add to what is to be written."""
        if not self._recorder.is_on:
            return
        self._buffer += records
        self._recorder.wait(self, now)
        if len(self._buffer) >= BUFFER_SIZE:
            self.write(now)

    def write(self, now: float) -> None:
        """Write what is buffered, to a new file if there is none or it is full."""
        data, self._buffer = bytes(self._buffer), bytearray()
        if not (data and self._recorder.is_on):
            return
        if self._written + len(data) > self._recorder.file_size_max:
            self._recorder.end_file(self._name)
            self.forget_file()
        if not self._recorder.has_file(self._name):
            self.forget_file()
            self._name = self._recorder.start_file(self, self._peer, now)
            data = FILE_HEADER + data
        self._recorder.append(self._name, data)
        self._written += len(data)

    def forget_file(self) -> None:
        """Go on in another file."""
        self._name = ""
        self._written = 0
