"""JSON objects read by name and type."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openmsmq.app_protocol.limits import DEPTH_MAX
from openmsmq.app_protocol.members import Arguments, Members
from openmsmq.errors import InvalidParameter, Malformed

GIVEN = Members.decode(
    b'{"text": "caf\xc3\xa9", "number": 7, "flag": false, "texts": ["a", "b"], "nothing": null,'
    b' "object": {"number": 1}, "objects": [{"number": 2}, {}], "half": 0.5, "negative": -1}'
)


def refusal(payload: bytes) -> tuple[str, int]:
    with pytest.raises(Malformed) as caught:
        Members.decode(payload)
    assert caught.value.field == "JSON"
    return caught.value.reason, caught.value.offset


def test_members_have_their_types() -> None:
    assert GIVEN.text("text") == "café"
    assert GIVEN.integer("number") == 7
    assert GIVEN.flag("flag") is False
    assert GIVEN.texts("texts") == ("a", "b")
    assert GIVEN.object("object").integer("number") == 1
    assert [item.has("number") for item in GIVEN.objects("objects")] == [True, False]


def test_a_default_stands_for_what_is_missing_or_null() -> None:
    for name in ("other", "nothing"):
        assert GIVEN.text(name, "x") == "x"
        assert GIVEN.integer(name, 5) == 5
        assert GIVEN.flag(name, True) is True
        assert GIVEN.texts(name, ()) == ()
        assert not GIVEN.has(name)
    assert GIVEN.flag("flag", True) is False
    assert GIVEN.has("flag")


@pytest.mark.parametrize(
    ("read", "field"),
    [
        (lambda m: m.text("number"), "number"),
        (lambda m: m.text("other"), "other"),
        (lambda m: m.text("nothing"), "nothing"),
        (lambda m: m.integer("text", 1), "text"),
        (lambda m: m.integer("flag"), "flag"),
        (lambda m: m.integer("half"), "half"),
        (lambda m: m.integer("negative"), "negative"),
        (lambda m: m.integer("number", maximum=6), "number"),
        (lambda m: m.integer("number", minimum=8), "number"),
        (lambda m: m.flag("number"), "number"),
        (lambda m: m.texts("text"), "text"),
        (lambda m: m.texts("objects"), "objects"),
        (lambda m: m.object("texts"), "texts"),
        (lambda m: m.objects("object"), "object"),
        (lambda m: m.objects("texts"), "texts"),
        (lambda m: m.object("other"), "other"),
        (lambda m: m.only("text", "number"), "flag"),
    ],
)
def test_a_member_of_another_shape_is_refused(
    read: Callable[[Members], object], field: str
) -> None:
    with pytest.raises(Malformed) as caught:
        read(GIVEN)
    assert caught.value.field == field
    with pytest.raises(InvalidParameter, match=field):
        read(Arguments(GIVEN.values))


def test_known_members_only() -> None:
    Members({"a": 1, "b": 2}).only("a", "b", "c")


def test_a_long_name_is_not_repeated_in_full() -> None:
    with pytest.raises(Malformed) as caught:
        Members({"x" * 10_000: 1}).only()
    assert len(str(caught.value)) < 200


def test_objects_are_written_in_ascii_without_spaces() -> None:
    assert (
        Members({"a": [1, True, None], "b": "é"}).encode() == b'{"a":[1,true,null],"b":"\\u00e9"}'
    )


def test_half_a_surrogate_pair_survives() -> None:
    members = Members({"label": "\ud800"})
    assert Members.decode(members.encode()) == members


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        (b"", 0),
        (b"{", 1),
        (b"[]", 0),
        (b"1", 0),
        (b'{"a":1}x', 7),
        (b'{"a":\xff}', 5),
        (b"\xff\xfe{\0}\0", 0),
        (b"\xef\xbb\xbf{}", 0),
        (b'{"a":NaN}', 0),
        (b'{"a":-Infinity}', 0),
        (b'{"a":1e999}', 0),
        (b'{"a":' + b"9" * 5000 + b"}", 0),
    ],
)
def test_what_is_no_object_is_refused(payload: bytes, place: int) -> None:
    assert refusal(payload)[1] == place


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def test_depth_is_bounded() -> None:
    assert Members.decode(nested(DEPTH_MAX)).has("a")
    for payload in (nested(DEPTH_MAX + 1), b'{"a":' + b"[" * DEPTH_MAX, b"[" * 1_000_000):
        assert "deeper" in refusal(payload)[0]


def test_brackets_in_texts_are_not_depth() -> None:
    text = '[{"\\' * 100
    assert Members.decode(Members({"a": text}).encode()).text("a") == text


def test_a_text_without_end_is_refused_quickly() -> None:
    """Neither quotes nor backslashes make the search for texts start again and again."""
    for filler in (b'\\"', b"\\", b'"', b"[x"):
        assert refusal(b'{"a":"' + filler * 1_000_001)
