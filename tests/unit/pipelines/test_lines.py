"""Files of lines that only grow."""

from __future__ import annotations

from pathlib import Path

from openmsmq.pipelines.lines import JsonLinesFile


def test_lines_are_read_in_their_order(tmp_path: Path) -> None:
    lines = JsonLinesFile(tmp_path / "x" / "lines")
    assert (list(lines), lines.last()) == ([], None)
    for number in range(3):
        lines.append({"n": number})
    assert [line["n"] for line in lines] == [0, 1, 2]
    assert lines.last() == {"n": 2}


def test_a_torn_line_does_not_count(tmp_path: Path) -> None:
    lines = JsonLinesFile(tmp_path / "lines")
    lines.mend()
    lines.append({"n": 0})
    whole = lines.path.read_bytes()
    for torn in (b"{", b'{"n": 1}'):
        lines.path.write_bytes(whole + torn)
        assert [line["n"] for line in lines] == [0]
        assert lines.last() == {"n": 0}
        lines.mend()
        assert lines.path.read_bytes() == whole
    lines.path.write_bytes(b"{")
    lines.mend()
    assert (lines.path.read_bytes(), lines.last()) == (b"", None)


def test_the_last_line_may_be_long(tmp_path: Path) -> None:
    lines = JsonLinesFile(tmp_path / "lines")
    for number in range(3):
        lines.append({"n": number, "text": "x" * 300_000})
    with lines.path.open("ab") as file:
        file.write(b"y" * 100_000)
    last = lines.last()
    assert last is not None
    assert last["n"] == 2
    lines.mend()
    assert [line["n"] for line in lines] == [0, 1, 2]
