"""The options of the format."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmsmq.errors import InvalidParameter
from openmsmq.spark.options import BATCH, SINK, STREAM, WRITE, parse


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENMSMQ_MANAGER", "OPENMSMQ_TOKEN", "OPENMSMQ_TLS_CA"):
        monkeypatch.delenv(name, raising=False)


def test_options_have_defaults_and_any_case() -> None:
    found = parse({"QUEUE": "orders, bills ,", "messagesperpartition": "7"}, BATCH)
    assert found.managers == ("127.0.0.1:1811",)
    assert found.queues == ("orders", "bills")
    assert found.messages_per_partition == 7
    assert parse({"managers": "a:1,b:2,a:1"}, BATCH).managers == ("a:1", "b:2")


def test_what_a_stream_does_with_messages() -> None:
    assert parse({}, STREAM).on_commit == "remove"
    kept, moved = parse({"onCommit": "keep"}, STREAM), parse({"onCommit": "move:old"}, STREAM)
    assert (kept.copies, kept.moves_to) == (True, "")
    assert (moved.copies, moved.moves_to) == (False, "old")
    assert parse({"maxBytesPerTrigger": "9"}, STREAM).bytes_per_trigger == 9
    assert [parse(given, STREAM).resume for given in ({"resume": "True"}, {})] == [True, False]


def test_a_sink_is_known_by_its_checkpoints_or_its_name() -> None:
    assert parse({"checkpointlocation": "/c"}, SINK).sink == "/c"
    assert parse({"checkpointlocation": "/c", "sinkId": "s"}, SINK).sink == "s"
    assert parse({"writeId": "w"}, WRITE).write_id == "w"
    assert parse({"writeOwner": "o"}, WRITE).write_owner == "o"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"quue": "x"}, "did you mean 'queue'?"),
        ({"path": "orders"}, "no option 'path' here"),
        ({"manager": "a", "managers": "b"}, "not both"),
        ({"manager": " , "}, "option manager is empty"),
        ({"timeout": "soon"}, "option timeout is 'soon'"),
        ({"onCommit": "remov"}, "did you mean 'remove'?"),
        ({"onCommit": "move:"}, "option onCommit is 'move:'"),
        ({"resume": "yes"}, "option resume is 'yes', not true or false"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        parse(given, STREAM)
    assert reason in caught.value.detail


def test_a_token_is_given_in_a_file_or_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("omq_file\n")
    assert parse({}, BATCH).secret() == ""
    monkeypatch.setenv("OPENMSMQ_TOKEN", "omq_environment")
    assert parse({}, BATCH).secret() == "omq_environment"
    assert parse({"tokenFile": str(tmp_path / "token")}, BATCH).secret() == "omq_file"
    given = parse({"token": "omq_given"}, BATCH)
    assert given.secret() == "omq_given"
    assert "omq_given" not in repr(given)
    with pytest.raises(InvalidParameter, match="option tokenFile"):
        parse({"tokenFile": str(tmp_path / "none")}, BATCH).secret()
