"""Payloads in JSON."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import pytest
from tests.samples import SOURCE

from openmsmq import errors
from openmsmq.app_protocol.calls import (
    PROTOCOL,
    Call,
    Closing,
    Hello,
    RemoteError,
    Welcome,
    decode_error,
    encode_error,
)
from openmsmq.app_protocol.members import Arguments
from openmsmq.errors import (
    HResult,
    InvalidParameter,
    Malformed,
    MessageStorageFailed,
    MQError,
    QueueNotFound,
    StorageFull,
    UnknownHResult,
)

WELCOME = Welcome(
    "openmsmq 0.1", SOURCE, "HOST", 8 << 20, 1024, 16 << 20, "admin", ("subscribe", "epochs")
)
CLASSES = sorted(
    (
        found
        for found in vars(errors).values()
        if isinstance(found, type) and issubclass(found, MQError) and found is not UnknownHResult
    ),
    key=lambda found: found.__name__,
)


def payload(**members: object) -> bytes:
    return json.dumps(members).encode()


def test_a_hello_says_who_calls() -> None:
    hello = Hello("example", token="secret")
    expected = {"protocol": PROTOCOL, "client": "example", "token": "secret"}
    assert json.loads(hello.encode()) == expected
    assert Hello.decode(hello.encode()) == hello
    assert "secret" not in repr(hello)


def test_a_hello_without_a_token_has_no_such_member() -> None:
    assert Hello("example").encode() == b'{"protocol":1,"client":"example"}'
    assert Hello.decode(b'{"protocol":9,"client":"x","later":[]}') == Hello("x", 9)


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"protocol": 1},
        {"client": "x"},
        {"protocol": 0, "client": "x"},
        {"protocol": "1", "client": "x"},
        {"protocol": 1, "client": "x", "token": 5},
    ],
)
def test_a_hello_of_another_shape_is_refused(members: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        Hello.decode(payload(**members))


def test_a_welcome_says_who_answers() -> None:
    found = json.loads(WELCOME.encode())
    assert found == {
        "protocol": 1,
        "server": "openmsmq 0.1",
        "manager": str(SOURCE),
        "name": "HOST",
        "max_frame": 8388608,
        "requests": 1024,
        "bytes": 16777216,
        "role": "admin",
        "capabilities": ["subscribe", "epochs"],
    }
    assert Welcome.decode(WELCOME.encode()) == WELCOME
    del found["capabilities"]
    assert Welcome.decode(payload(**found)) == replace(WELCOME, capabilities=())


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("protocol", 0),
        ("manager", "no GUID"),
        ("max_frame", 65535),
        ("max_frame", 1 << 32),
        ("requests", 0),
        ("bytes", 0),
        ("capabilities", "subscribe"),
        ("name", None),
        ("server", 1),
        ("role", []),
    ],
)
def test_a_welcome_of_another_shape_is_refused(member: str, value: object) -> None:
    with pytest.raises(Malformed) as caught:
        Welcome.decode(payload(**{**json.loads(WELCOME.encode()), member: value}))
    assert caught.value.field == member


def test_a_call_is_its_name_and_arguments() -> None:
    call = Call("open_queue", Arguments({"name": "orders", "access": ["send"]}))
    assert call.encode() == b'{"call":"open_queue","name":"orders","access":["send"]}'
    assert Call.decode(call.encode()) == call
    assert Call.decode(b'{"call":"prepared"}') == Call("prepared", Arguments({}))


def test_a_call_without_a_name_is_malformed_but_a_wrong_argument_is_only_refused() -> None:
    with pytest.raises(Malformed):
        Call.decode(b'{"name":"orders"}')
    with pytest.raises(InvalidParameter, match="handle is not a whole number"):
        Call.decode(b'{"call":"purge","handle":"1"}').arguments.integer("handle")


def test_a_closing_has_a_reason() -> None:
    assert Closing("wrong token").encode() == b'{"reason":"wrong token"}'
    assert Closing.decode(b'{"reason":"wrong token"}') == Closing("wrong token")
    refused = Closing("wrong token", "TokenRefused")
    assert refused.encode() == b'{"reason":"wrong token","error":"TokenRefused"}'
    assert Closing.decode(refused.encode()) == refused
    with pytest.raises(Malformed):
        Closing.decode(b"{}")


def test_an_error_has_name_code_and_detail() -> None:
    assert json.loads(encode_error(QueueNotFound("orders"))) == {
        "error": "QueueNotFound",
        "hresult": 0xC00E0003,
        "detail": "orders",
    }


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_arrives_as_itself(kind: type[MQError]) -> None:
    found = decode_error(encode_error(kind("why")))
    assert (type(found), found.detail, str(found)) == (kind, "why", str(kind("why")))


def test_an_error_without_detail_has_an_empty_one() -> None:
    assert decode_error(payload(error="QueueNotFound", hresult=0xC00E0003)).detail == ""


def test_an_error_of_a_later_version_becomes_the_class_of_its_code() -> None:
    code = int(HResult.MQ_ERROR_MESSAGE_STORAGE_FAILED)
    found = decode_error(payload(error="StorageOnStrike", hresult=code, detail="why"))
    assert type(found) is MessageStorageFailed
    assert found.detail == "why"


def test_a_name_whose_code_is_another_is_not_believed() -> None:
    code = int(QueueNotFound.hresult)
    assert type(decode_error(payload(error="StorageFull", hresult=code))) is QueueNotFound
    assert StorageFull.hresult != code


def test_an_error_that_no_one_knows_keeps_all_it_has() -> None:
    found = decode_error(payload(error="Novelty", hresult=0xC0DE0001, detail="why"))
    assert isinstance(found, RemoteError)
    assert (found.error, found.hresult, found.detail) == ("Novelty", 0xC0DE0001, "why")
    assert str(found).endswith("why (Novelty, 0xC0DE0001)")
    twin = pickle.loads(pickle.dumps(found))
    assert (type(twin), str(twin)) == (RemoteError, str(found))
    again = decode_error(encode_error(found))
    assert (type(again), str(again)) == (RemoteError, str(found))


def test_a_code_that_no_class_stands_for_arrives() -> None:
    found = decode_error(encode_error(UnknownHResult(0x80070005, "why")))
    assert isinstance(found, UnknownHResult)
    assert (found.hresult, found.detail) == (0x80070005, "why")


@pytest.mark.parametrize(
    "members",
    [
        {"error": "QueueNotFound"},
        {"hresult": 1},
        {"error": "MQError", "hresult": 0},
        {"error": "MQError", "hresult": 1 << 32},
        {"error": "MQError", "hresult": 1, "detail": 5},
        {"error": 5, "hresult": 1},
    ],
)
def test_an_error_of_another_shape_is_refused(members: dict[str, object]) -> None:
    """Success is none either."""
    with pytest.raises(Malformed):
        decode_error(payload(**members))


def test_what_a_client_understands_is_said() -> None:
    hello = Hello("test", capabilities=("runs", "units"))
    assert json.loads(hello.encode())["capabilities"] == ["runs", "units"]
    assert Hello.decode(hello.encode()) == hello
    assert "capabilities" not in json.loads(Hello("test").encode())
