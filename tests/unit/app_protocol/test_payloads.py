"""Payloads about messages."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack

import pytest
from tests.samples import MESSAGES

from openmsmq.app_protocol.payloads import (
    FOLLOWING,
    PEEK,
    SEEK_CODES,
    TAKE,
    Action,
    Cancel,
    Credit,
    End,
    Fetch,
    Messages,
    Post,
    Posted,
    PostedMessage,
    QueuedMessage,
    ReadRequest,
    Send,
    Sent,
    Subscribe,
)
from openmsmq.errors import Malformed
from openmsmq.types.read import Seek

PLAIN, TRACED = MESSAGES["plain"].encode(), MESSAGES["debug"].encode()
SEND = Send(1, 2, (PLAIN, TRACED, PLAIN))
FOUND = Messages(
    (QueuedMessage(7, 1700000000, 1, 2, 0xC002, PLAIN), QueuedMessage(8, 0, 0, 0, 0, TRACED))
)


def refusal(decode: Callable[[bytes], object], payload: bytes) -> tuple[str, int]:
    with pytest.raises(Malformed) as caught:
        decode(payload)
    return caught.value.field, caught.value.offset


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Sent(0x2A, 1), "2a00000000000000 01000000"),
        (
            ReadRequest(1, 2, 3, 4, 5, 6, PEEK, FOLLOWING),
            "01000000 0200000000000000 03000000 0400000000000000 05000000 06000000 00 06",
        ),
        (
            ReadRequest(9),
            "09000000 0000000000000000 00000000 0000000000000000 01000000 ffffffff 01 00",
        ),
        (Subscribe(1, 100), "01000000 64000000"),
        (Credit(9, 50), "09000000 32000000"),
        (Cancel(0x0102), "02010000"),
        (Fetch(1, 2, 0x0304), "01000000 0200000000000000 0403000000000000"),
    ],
    ids=lambda item: type(item).__name__,
)
def test_payloads_of_fixed_size(
    value: Sent | ReadRequest | Subscribe | Credit | Cancel | Fetch, written: str
) -> None:
    payload = bytes.fromhex(written)
    assert value.encode() == payload
    assert type(value).decode(payload) == value
    assert refusal(type(value).decode, payload + b"\0") == ("end", len(payload))
    with pytest.raises(Malformed):
        type(value).decode(payload[:-1])


def test_what_is_cut_short_is_named() -> None:
    assert refusal(Credit.decode, b"\0\0\0\0\0") == ("More", 4)


def test_a_mode_or_seek_that_there_is_not_is_refused() -> None:
    payload = ReadRequest(1).encode()
    assert refusal(ReadRequest.decode, payload[:-2] + b"\x02\x00") == ("Mode", 32)
    assert refusal(ReadRequest.decode, payload[:-2] + b"\x00\x09") == ("Seek", 33)


def test_an_end_lists_lookup_identifiers() -> None:
    end = End(1, 0, Action.REMOVE, (5, 1 << 63))
    payload = bytes.fromhex(
        "01000000 0000000000000000 01 02000000 0500000000000000 0000000000000080"
    )
    assert end.encode() == payload
    assert End.decode(payload) == end
    assert End.decode(End(1, 0, Action.RETURN, ()).encode()).lookups == ()


def test_an_end_whose_count_is_not_that_of_its_list_is_refused() -> None:
    payload = End(1, 0, Action.REMOVE, (5, 6)).encode()
    assert refusal(End.decode, payload[:-1]) == ("lookups", 17)
    assert refusal(End.decode, payload + b"\0") == ("end", len(payload))
    assert refusal(End.decode, payload[:13] + b"\xff" * 4 + payload[17:]) == ("lookups", 17)
    assert refusal(End.decode, payload[:12] + b"\x02" + payload[13:]) == ("action", 12)
    assert refusal(End.decode, payload[:6]) == ("transaction", 4)


def test_a_send_is_a_list_of_packets() -> None:
    start = bytes.fromhex("01000000 0200000000000000 03000000")
    packets = [pack("<I", len(packet)) + packet for packet in SEND.packets]
    assert SEND.encode() == start + b"".join(packets)
    assert Send.decode(SEND.encode()) == SEND
    assert Send.decode(Send(1, 0, ()).encode()) == Send(1, 0, ())


def test_messages_are_packets_with_what_the_queue_knows() -> None:
    start = bytes.fromhex("02000000 0700000000000000 00f15365 01000000 02000000 02c0")
    assert FOUND.encode().startswith(start + pack("<I", len(PLAIN)) + PLAIN)
    assert Messages.decode(FOUND.encode()) == FOUND
    assert Messages.decode(bytes(4)) == Messages(())


@pytest.mark.parametrize(
    ("decode", "payload"),
    [(Send.decode, SEND.encode()), (Messages.decode, FOUND.encode())],
    ids=["SEND", "MESSAGES"],
)
def test_a_list_cut_short_is_refused_wherever_it_ends(
    decode: Callable[[bytes], object], payload: bytes
) -> None:
    for size in range(len(payload)):
        _, offset = refusal(decode, payload[:size])
        assert offset <= size


def test_the_message_at_fault_is_named() -> None:
    found = (QueuedMessage(7, 0, 0, 0, 0, PLAIN + bytes(300)), FOUND.messages[1])
    payload = Messages(found).encode()
    second = 4 + 26 + len(PLAIN) + 300
    assert refusal(Messages.decode, payload[: second + 20]) == ("messages[1].class", second + 20)
    assert refusal(Messages.decode, payload[: second + 22]) == ("messages[1].size", second + 22)
    assert refusal(Messages.decode, payload[:-1]) == ("messages[1].packet", second + 26)
    assert refusal(Messages.decode, payload + b"x") == ("end", len(payload))
    payload = SEND.encode()
    assert refusal(Send.decode, payload[:11]) == ("transaction", 4)
    assert refusal(Send.decode, payload[: 16 + 4 + 100]) == ("count", 12)
    assert refusal(Send.decode, payload[:-1])[0] == "messages[2].packet"
    assert refusal(Send.decode, payload + b"x") == ("end", len(payload))


def test_a_count_beyond_what_has_come_is_refused() -> None:
    """No list of millions of empty packets: a packet has at least 120 bytes."""
    assert refusal(Send.decode, bytes(12) + pack("<I", 34) + bytes(4096)) == ("count", 12)
    assert refusal(Send.decode, bytes(12) + b"\xff" * 4 + bytes(4096)) == ("count", 12)
    assert refusal(Messages.decode, pack("<I", 29) + bytes(4096)) == ("count", 0)
    assert refusal(Send.decode, Send(1, 0, (b"",) * 9).encode()) == ("count", 12)
    empty = QueuedMessage(1, 0, 0, 0, 0, b"")
    assert refusal(Messages.decode, Messages((empty,) * 9).encode()) == ("count", 0)


def test_a_size_beyond_the_payload_is_refused() -> None:
    payload = Send(1, 0, (PLAIN, PLAIN)).encode()
    huge = payload[:16] + b"\xff" * 4 + payload[20:]
    assert refusal(Send.decode, huge) == ("messages[0].packet", 20)


# Later, and once

POST = Post(1, 2, 3, 4, (PLAIN, TRACED), ("a", "\u00fc"))


def test_messages_are_posted_with_their_ids() -> None:
    start = "01000000 0200000000000000 0300000000000000 0400000000000000 02000000"
    payload = b"".join(
        (
            bytes.fromhex(start),
            *(b"\1\0a", pack("<I", len(PLAIN)), PLAIN),
            *(b"\2\0\xc3\xbc", pack("<I", len(TRACED)), TRACED),
        )
    )
    assert POST.encode() == b"".join(POST.parts()) == payload
    assert Post.decode(payload) == POST


def test_or_without_ids() -> None:
    post = Post(1, 0, 0, 5000, (PLAIN,), ())
    assert Post.decode(post.encode()) == post
    assert Post.decode(Post(1, 0, 0, 0, (), ()).encode()).packets == ()


def test_all_have_ids_or_none() -> None:
    assert refusal(Post.decode, Post(1, 2, 3, 4, (PLAIN, PLAIN), ("a", "")).encode())[0] == "id"


def test_ids_are_texts() -> None:
    payload = POST.encode().replace(b"\xc3\xbc", b"\xff\xff")
    place = payload.index(b"\2\0\xff\xff") + 2
    assert refusal(Post.decode, payload) == ("messages[1].id", place)


def test_more_messages_than_there_can_be_are_refused_at_once() -> None:
    payload = POST.encode()
    assert refusal(Post.decode, payload[:28] + b"\xff" * 4 + payload[32:]) == ("count", 28)


@pytest.mark.parametrize("size", [0, 10, 40, 150])
def test_a_post_that_is_cut_short_is_refused(size: int) -> None:
    with pytest.raises(Malformed):
        Post.decode(POST.encode()[:size])


def test_the_answer_says_what_was_known() -> None:
    posted = Posted((PostedMessage(7, False), PostedMessage(1 << 40, True)))
    payload = bytes.fromhex("02000000 0700000000000000 00 0000000000010000 01")
    assert posted.encode() == payload
    assert Posted.decode(payload) == posted
    with pytest.raises(Malformed):
        Posted.decode(payload + b"\0")
    assert refusal(Posted.decode, payload[:-1] + b"\2") == ("duplicate", len(payload) - 1)


@pytest.mark.parametrize("seek", Seek)
def test_a_read_by_lookup_identifier_says_which_message_is_sought(seek: Seek) -> None:
    found = ReadRequest.decode(ReadRequest(1, lookup=5, seek=SEEK_CODES[seek]).encode())
    assert (found.sought, found.following) == (seek, False)


@pytest.mark.parametrize(("mode", "take"), [(PEEK, False), (TAKE, True)])
def test_a_read_at_a_cursor_seeks_no_lookup_identifier(mode: int, take: bool) -> None:
    found = ReadRequest.decode(ReadRequest(1, cursor=2, mode=mode, seek=FOLLOWING).encode())
    assert (found.sought, found.following, found.take) == (None, True, take)
    assert ReadRequest(1).sought is None
