"""Sessions with other managers as administrators see them: listed, ended, recorded for a while."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from openmsmq.capture.recorder import FLUSH_AFTER
from openmsmq.capture.recordings import Recordings, RunningRecording
from openmsmq.clock import Clock
from openmsmq.transports.timer import Timer
from openmsmq.types.peers import RecordingInfo, SessionDetails, SessionInfo


class ControlledSession(Protocol):
    """A connection, from either side."""

    number: int

    def info(self) -> SessionInfo:
        """What is known of it."""
        ...

    def details(self) -> SessionDetails:
        """The same with its window and its last packets."""
        ...

    def end(self) -> None:
        """End it at once."""
        ...

    def record(self, running: RunningRecording, clock: Clock) -> None:
        """Write down what is said from now on, if the recording is about it."""
        ...

    def record_no_more(self) -> None:
        """The recording is over."""
        ...


class SessionControl:
    """All connections of a listener, by numbers that count up."""

    def __init__(
        self,
        directory: Path,
        clock: Clock,
        call_later: Callable[[float, Callable[[], None]], Any],
    ) -> None:
        """`call_later` has something done some seconds later."""
        self.recordings = Recordings(directory, clock)
        self._clock = clock
        self._call_later = call_later
        self._timer: Timer | None = None
        self._sessions: dict[int, ControlledSession] = {}
        self._number = 0

    def next_number(self) -> int:
        """The number of one more connection."""
        self._number += 1
        return self._number

    def add(self, session: ControlledSession) -> None:
        """A connection was made."""
        self._sessions[session.number] = session

    def forget(self, session: ControlledSession) -> None:
        """A connection is over."""
        self._sessions.pop(session.number, None)

    def sessions(self) -> list[SessionInfo]:
        """All of them, the oldest first."""
        return [one.info() for one in self._sessions.values()]

    def details(self, number: int) -> SessionDetails | None:
        """All that is known of one; None if there is none with this number."""
        session = self._sessions.get(number)
        return None if session is None else session.details()

    def end_session(self, number: int) -> bool:
        """End one; whether there was one. Another takes its place if there is more to send."""
        session = self._sessions.get(number)
        if session is not None:
            session.end()
        return session is not None

    def start_recording(self, seconds: int, peer: str, by: str) -> RecordingInfo:
        """Record the sessions with an address, or all: those that are open, and those to come."""
        running = self.recordings.start(seconds, peer, by)
        for session in self._sessions.values():
            session.record(running, self._clock)
        self._go_on()
        return running.info

    def _go_on(self) -> None:
        """Write what was recorded, and end what has taken its time."""
        running = self.recordings.running
        if running is None:
            return
        now = self._clock.now()
        running.recorder.flush(now)
        if now >= running.info.until or not running.recorder.is_on:
            self.stop_recording(running.info.id)
        else:
            self._timer = self._call_later(FLUSH_AFTER, self._go_on)

    def stop_recording(self, name: str) -> None:
        """End a recording, if it runs."""
        running = self.recordings.running
        if running is not None and running.info.id == name:
            for session in self._sessions.values():
                session.record_no_more()
            if self._timer is not None:
                self._timer.cancel()
        self.recordings.stop(name)

    def close(self) -> None:
        """End the recording that runs."""
        if self.recordings.running is not None:
            self.stop_recording(self.recordings.running.info.id)
