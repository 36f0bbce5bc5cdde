"""What the functions do with arrays; `tests/spark` calls them in SQL."""

from __future__ import annotations

import json

import pyarrow as pa
from tests.samples import MESSAGES

from openmsmq.spark.functions import _FUNCTIONS
from openmsmq.types.received import ReceivedMessage

PACKETS = [message.encode() for message in MESSAGES.values()]


def call(name: str, *columns: pa.Array) -> list[object]:
    found: list[object] = _FUNCTIONS[name][0](*columns).to_pylist()  # type: ignore[operator]
    return found


def test_bodies_by_their_type_or_their_looks() -> None:
    bodies = pa.array(["tx".encode("utf-16-le"), b"<a><b>1</b></a>", b"\x05\0\0\0", None])
    kinds = pa.array([31, None, 3, 0], pa.int32())
    assert call("body_text", bodies, kinds) == ["tx", "<a><b>1</b></a>", "5", None]
    assert call("body_format", bodies, kinds) == [
        *("activex:VT_LPWSTR", "xml", "activex:VT_I4", None),
    ]
    found = call("body_json", bodies, kinds)
    assert [json.loads(str(one)) for one in found[:3]] == ["tx", {"a": {"b": "1"}}, 5]


def test_a_type_beyond_the_sign_is_no_type() -> None:
    assert call("body_format", pa.array([b"\xff\0"]), pa.array([-1], pa.int32())) == ["binary"]
    assert call("body_json", pa.array([b"\xff\0"]), pa.array([0], pa.int32())) == ['"ff00"']


def test_headers_of_a_bus() -> None:
    extensions = pa.array([b'{"rbs2-msg-id":"1"}', b"", None])
    assert call("bus_headers", extensions) == [[("rbs2-msg-id", "1")], None, None]


def test_packets_become_structs() -> None:
    packets = pa.array([*PACKETS, None, b"no packet", PACKETS[0]], pa.binary())
    *found, none, neither, last = call("from_packet", packets)
    assert none is neither is None
    assert found[0] == last
    for packet, one in zip(PACKETS, found, strict=True):
        assert isinstance(one, dict)
        assert (one["body"], one["label"]) == (
            ReceivedMessage(packet).body,
            ReceivedMessage(packet).label,
        )
    assert call("from_packet", pa.array(PACKETS, pa.binary())) == found
