"""Sessions recorded in files."""

from __future__ import annotations

import errno
import logging
import os
import stat
from pathlib import Path

import pytest

from openmsmq.capture.capture import read_frames
from openmsmq.capture.ip import Datagram, Segment, read_frame
from openmsmq.capture.limits import BUFFER_SIZE
from openmsmq.capture.pcap import FILE_HEADER
from openmsmq.capture.recorder import Recorder

NOW = 1_700_000_000.25
LOCAL, REMOTE = ("192.0.2.1", 1801), ("192.0.2.7", 50_123)


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def carried(path: Path) -> list[Segment | Datagram]:
    found = [read_frame(frame.link, frame.data) for frame in read_frames([path.read_bytes()])]
    assert None not in found
    return [part for part in found if part is not None]


def said(path: Path) -> list[tuple[str, bytes]]:
    return [(part.source[0], part.data) for part in carried(path) if part.data]


def record(recorder: Recorder, *data: bytes, now: float = NOW) -> None:
    """A session that receives what is given."""
    recording = recorder.session(LOCAL, REMOTE, now)
    for part in data:
        recording.received(part, now)
    recording.closed(now)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def test_a_session_is_a_file_from_the_first_byte_to_the_last(tmp_path: Path) -> None:
    recording = Recorder(tmp_path).session(LOCAL, REMOTE, NOW)
    recording.received(b"question", NOW + 1)
    recording.sent(b"answer", NOW + 2)
    recording.closed(NOW + 3)
    [path] = files(tmp_path)
    assert path.name == "20231114T221320.250Z-192.0.2.7_50123-000001.pcap"
    assert said(path) == [("192.0.2.7", b"question"), ("192.0.2.1", b"answer")]
    flags = [part.flags for part in carried(path) if isinstance(part, Segment)]
    assert (flags[:3], flags[-3:]) == ([0x02, 0x12, 0x10], [0x11, 0x11, 0x10])


def test_a_recording_shows_which_side_connected(tmp_path: Path) -> None:
    Recorder(tmp_path).session(LOCAL, REMOTE, NOW, accepted=False).closed(NOW)
    first = carried(files(tmp_path)[0])[0]
    assert first.source == LOCAL


def test_sessions_have_files_of_their_own(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    one, two = (recorder.session(LOCAL, REMOTE, NOW) for _ in range(2))
    one.sent(b"one", NOW)
    two.sent(b"two", NOW)
    recorder.flush(NOW)
    assert [said(path) for path in files(tmp_path)] == [
        [("192.0.2.1", b"one")],
        [("192.0.2.1", b"two")],
    ]


@pytest.mark.parametrize(
    ("address", "shown"),
    [("2001:db8::7", "2001-db8--7"), ("fe80::1%eth0", "fe80--1-eth0"), ("../x", "..-x")],
)
def test_any_address_makes_a_name(tmp_path: Path, address: str, shown: str) -> None:
    recorder = Recorder(tmp_path / "made" / "for it")
    recorder.session(LOCAL, (address, 5), NOW).closed(NOW)
    [path] = files(tmp_path / "made" / "for it")
    assert path.name == f"20231114T221320.250Z-{shown}_5-000001.pcap"


def test_recordings_are_readable_for_their_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "recorded"
    record(Recorder(folder), b"secret")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(files(folder)[0].stat().st_mode) == 0o600


def test_writing_waits_for_a_second(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recording = recorder.session(LOCAL, REMOTE, NOW)
    recording.sent(b"a", NOW + 0.5)
    [path] = files(tmp_path)
    assert said(path) == []
    recording.sent(b"b", NOW + 1.0)
    assert len(said(path)) == 2


def test_any_session_has_all_written(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    quiet = recorder.session(LOCAL, REMOTE, NOW)
    quiet.sent(b"last words", NOW + 0.1)
    recorder.session(LOCAL, REMOTE, NOW + 1.2)
    assert said(files(tmp_path)[0]) == [("192.0.2.1", b"last words")]


def test_buffered_packets_can_be_flushed_at_any_time(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recording = recorder.session(LOCAL, REMOTE, NOW)
    recording.sent(b"a", NOW + 0.1)
    recorder.flush(NOW + 0.1)
    assert said(files(tmp_path)[0]) == [("192.0.2.1", b"a")]
    size = files(tmp_path)[0].stat().st_size
    recorder.flush(NOW + 0.2)
    assert files(tmp_path)[0].stat().st_size == size


def test_much_does_not_wait(tmp_path: Path) -> None:
    recording = Recorder(tmp_path).session(LOCAL, REMOTE, NOW)
    recording.sent(bytes(BUFFER_SIZE), NOW)
    assert files(tmp_path)[0].stat().st_size > BUFFER_SIZE


def test_a_clock_that_is_set_back_does_not_stop_writing(tmp_path: Path) -> None:
    recording = Recorder(tmp_path).session(LOCAL, REMOTE, NOW)
    recording.sent(b"a", NOW - 3600)
    assert said(files(tmp_path)[0]) == [("192.0.2.1", b"a")]


def test_no_file_stays_open(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    kept = [recorder.session(LOCAL, REMOTE, NOW) for _ in range(50)]
    recorder.flush(NOW)
    assert len(os.listdir("/proc/self/fd")) == before
    assert len(files(tmp_path)) == len(kept)


def test_a_full_file_is_followed_by_another(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, file_size_max=5000)
    recording = recorder.session(LOCAL, REMOTE, NOW)
    for number in range(20):
        recording.sent(bytes([number]) * 1000, NOW + number)
    recording.closed(NOW + 20)
    paths = files(tmp_path)
    assert len(paths) == 5
    assert all(path.stat().st_size <= 5000 for path in paths)
    whole = [data[0] for path in paths for _, data in said(path)]
    assert whole == list(range(20))


def test_numbers_go_on_from_file_to_file(tmp_path: Path) -> None:
    recording = Recorder(tmp_path, file_size_max=2000).session(LOCAL, REMOTE, NOW)
    recording.sent(bytes(1500), NOW + 1)
    recording.sent(bytes(1500), NOW + 2)
    parts = [part for path in files(tmp_path) for part in carried(path)]
    numbers = [part.sequence for part in parts if isinstance(part, Segment) and part.data]
    assert numbers == [1, 1501]


def test_what_is_larger_than_a_file_has_one_of_its_own(tmp_path: Path) -> None:
    record(Recorder(tmp_path, file_size_max=100), b"x" * 1000)
    assert [len(said(path)) for path in files(tmp_path)] == [0, 1]


def test_the_oldest_files_are_removed(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, files_max=3)
    for number in range(5):
        record(recorder, b"%d" % number, now=NOW + number)
    assert [said(path)[0][1] for path in files(tmp_path)] == [b"2", b"3", b"4"]


def test_files_of_an_earlier_run_count_and_others_do_not(tmp_path: Path) -> None:
    (tmp_path / "notes.pcap").write_text("mine")
    first = Recorder(tmp_path, files_max=3)
    for number in range(3):
        record(first, b"%d" % number, now=NOW + number)
    second = Recorder(tmp_path, files_max=3)
    record(second, b"3", now=NOW + 3)
    *recorded, notes = files(tmp_path)
    assert [said(path)[0][1] for path in recorded] == [b"1", b"2", b"3"]
    assert recorded[-1].name.endswith("-000004.pcap")
    assert notes.read_text() == "mine"


def test_a_session_whose_file_was_removed_goes_on_in_another(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, files_max=2)
    long = recorder.session(LOCAL, REMOTE, NOW)
    long.sent(b"before", NOW)
    recorder.flush(NOW)
    for number in range(2):
        record(recorder, b"%d" % number, now=NOW + 2 + number)
    long.sent(b"after", NOW + 5)
    long.closed(NOW + 6)
    assert [said(path)[0][1] for path in files(tmp_path)] == [b"1", b"after"]


def test_a_recording_that_was_removed_is_begun_again(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recording = recorder.session(LOCAL, REMOTE, NOW)
    files(tmp_path)[0].unlink()
    recording.sent(b"after", NOW + 5)
    [path] = files(tmp_path)
    assert path.read_bytes().startswith(FILE_HEADER)
    assert said(path) == [("192.0.2.1", b"after")]


def test_datagrams_share_a_file(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    recorder.datagram(REMOTE, ("192.0.2.1", 3527), b"ping", NOW)
    recorder.datagram(("192.0.2.1", 3527), REMOTE, b"pong", NOW)
    recorder.flush(NOW)
    [path] = files(tmp_path)
    assert path.name == "20231114T221320.250Z-pings_0-000001.pcap"
    assert carried(path) == [
        Datagram(REMOTE, ("192.0.2.1", 3527), b"ping"),
        Datagram(("192.0.2.1", 3527), REMOTE, b"pong"),
    ]


def test_a_folder_that_cannot_be_made_stops_recording(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    recorder = Recorder(tmp_path / "file")
    assert not recorder.is_on
    record(recorder, b"x")
    recorder.datagram(LOCAL, REMOTE, b"x", NOW)
    recorder.flush(NOW)
    assert warnings(caplog) == ["recording stopped"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EMFILE])
def test_an_error_stops_recording_with_one_warning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    code: int,
) -> None:
    recorder = Recorder(tmp_path)
    recording, other = (recorder.session(LOCAL, REMOTE, NOW) for _ in range(2))

    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "open", refuse)
    for number in range(5):
        recording.sent(b"x", NOW + number)
        recording.received(b"x", NOW + number)
        other.sent(b"x", NOW + number)
    recording.closed(NOW + 9)
    record(recorder, b"x", now=NOW + 10)
    assert not recorder.is_on
    assert warnings(caplog) == ["recording stopped"]
    assert caplog.records[0].fields == {"folder": str(tmp_path)}  # type: ignore[attr-defined] # of log_event


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_stops_recording_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = Recorder(tmp_path)
    recording = recorder.session(LOCAL, REMOTE, NOW)
    [path] = files(tmp_path)
    path.unlink()
    path.symlink_to("/dev/full")
    for number in range(3):
        recording.sent(b"x", NOW + 5 * number)
    assert warnings(caplog) == ["recording stopped"]
    assert "No space left" in str(caplog.records[0].exc_info)


def test_a_file_that_cannot_be_removed_stops_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    earlier = Recorder(tmp_path)
    for number in range(3):
        record(earlier, b"x", now=NOW + number)
    recorder = Recorder(tmp_path, files_max=1)

    def refuse(self: Path, *, missing_ok: bool) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    record(recorder, b"x", now=NOW + 5)
    assert warnings(caplog) == ["recording stopped"]


def test_a_write_that_takes_only_a_part_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import openmsmq.capture.recorder as module

    class Slow:
        """Takes ten bytes at a time."""

        def __init__(self, descriptor: int, *_: object, **__: object) -> None:
            self._descriptor = descriptor

        def __enter__(self) -> Slow:
            return self

        def __exit__(self, *_: object) -> None:
            os.close(self._descriptor)

        def write(self, data: bytes) -> int:
            return os.write(self._descriptor, data[:10])

    monkeypatch.setattr(module, "open", Slow, raising=False)
    record(Recorder(tmp_path), b"x" * 100)
    assert said(files(tmp_path)[0]) == [("192.0.2.7", b"x" * 100)]
