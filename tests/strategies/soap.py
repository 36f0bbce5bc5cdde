"""Hypothesis strategies for SRMP envelopes of every shape."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import strategies as st

from openmsmq.soap.envelope import (
    CommitmentReceipt,
    CommitmentRequest,
    DeliveryReceipt,
    Envelope,
    Eod,
    Msmq,
    Path,
    Properties,
    Provider,
    Reference,
    Services,
    Signature,
    StreamHeader,
    StreamReceipt,
)
from openmsmq.soap.packets import SoapMessage
from openmsmq.soap.scalars import NEVER, SoapMessageId, StreamId
from openmsmq.soap.signature import write_signed_info
from tests.strategies.names import guids, u16, u32
from tests.strategies.packets import exactly

T = TypeVar("T")
u64 = st.integers(0, 2**64 - 1)
dates = st.integers(0, NEVER)
flags = st.booleans()
queues = st.sampled_from(["orders", "private$/orders", "private$/a%20b", "private$/order_queue$"])
hosts = st.sampled_from(["machine1", "m.example:8080", "[::1]:81", "192.0.2.7"])
urls = st.builds("{}://{}/msmq/{}".format, st.sampled_from(["http", "HTTPS"]), hosts, queues)
_NOT_IN_XML = "".join(chr(code) for code in range(0x20) if code not in (9, 10, 13)) + "\ufffe\uffff"


def texts(limit: int = 60) -> st.SearchStrategy[str]:
    """Text that XML can hold, markup and white space more often than elsewhere."""
    likely = st.sampled_from("ab <>&\"'\r\n\t]")
    unlikely = st.characters(
        categories=("L", "M", "N", "P", "S", "Z", "Cc", "Cf", "Co"), exclude_characters=_NOT_IN_XML
    )
    return st.text(st.one_of(likely, unlikely), max_size=limit)


def maybe(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """The value or nothing."""
    return st.one_of(st.none(), strategy)


def stream_ids() -> st.SearchStrategy[StreamId]:
    """Any identifier of a stream."""
    return st.builds(StreamId, guids(), u64)


def message_ids() -> st.SearchStrategy[str]:
    """Any identifier of a message, as text."""
    return st.builds(SoapMessageId, u32, guids()).map(str)


@st.composite
def streams(draw: st.DrawFn) -> StreamHeader:
    """A place in a stream: start in the first message, previous in others."""
    current = draw(st.one_of(st.just(1), st.integers(2, 2**32 - 1)))
    if current == 1:
        return StreamHeader(draw(stream_ids()), 1, None, draw(urls))
    previous = draw(maybe(st.integers(1, current - 1)))
    return StreamHeader(draw(stream_ids()), current, previous)


def services() -> st.SearchStrategy[Services]:
    """What a sender may ask for."""
    commitment = st.builds(CommitmentRequest, urls, flags, flags)
    return st.builds(Services, flags, st.one_of(st.just(""), urls), maybe(commitment))


def msmq_entries() -> st.SearchStrategy[Msmq]:
    """An Msmq entry with any value in every element."""
    lists = st.lists(urls, max_size=2).map(tuple)
    return st.builds(
        Msmq,
        source=guids(),
        reach_queue_by=dates,
        message_class=u16,
        priority=st.integers(0, 7),
        journal=flags,
        dead_letter=flags,
        correlation=exactly(20),
        trace=flags,
        connector_type=maybe(guids()),
        app=u32,
        body_type=u32,
        hash_algorithm=u32,
        eod=maybe(st.builds(Eod, flags, flags, maybe(guids()))),
        provider=maybe(st.builds(Provider, u32, texts().map(lambda t: t.strip(" \t\r\n")))),
        destinations=lists,
        administrations=lists,
        responses=lists,
    )


@st.composite
def signatures(draw: st.DrawFn) -> Signature:
    """A signature with all its elements."""
    sha1 = st.builds(Reference, st.just("cid:body@x"), st.just("sha1"), exactly(20))
    md5 = st.builds(Reference, st.just("cid:extension@x"), st.just("md5"), exactly(16))
    references = tuple(draw(st.lists(st.one_of(sha1, md5), min_size=1, max_size=2)))
    value = draw(st.binary(min_size=1, max_size=64))
    return Signature(write_signed_info(references), references, value)


@st.composite
def envelopes(draw: st.DrawFn) -> Envelope:
    """An envelope with any of its entries; a stream comes with Msmq."""
    stream = draw(maybe(streams()))
    msmq = draw(msmq_entries()) if stream is not None else draw(maybe(msmq_entries()))
    multicast = st.just("MSMQ:MULTICAST=234.1.1.1:8001")
    via = st.one_of(st.just(""), urls, st.just("MSMQ:DIRECT=OS:m\\private$\\q"))
    return Envelope(
        Path(draw(st.one_of(urls, multicast)), draw(message_ids()), draw(texts()), draw(via)),
        Properties(draw(dates), draw(maybe(dates))),
        draw(maybe(services())),
        stream,
        draw(maybe(st.builds(DeliveryReceipt, dates, message_ids()))),
        draw(maybe(st.builds(CommitmentReceipt, dates, flags, message_ids()))),
        draw(maybe(st.builds(StreamReceipt, stream_ids(), u32))),
        msmq,
        draw(maybe(signatures())),
    )


@st.composite
def user_messages(draw: st.DrawFn) -> SoapMessage:
    """A message as `from_packet` makes them: all that it says fits into a packet."""
    source, number, sent = draw(guids()), draw(u32), draw(st.integers(0, NEVER - 1))
    stream = None
    if draw(flags):
        sequence = StreamId(source, draw(st.integers(1, 2**64 - 1)))
        current = draw(st.integers(2, 2**32 - 1))
        stream = StreamHeader(sequence, current, draw(st.integers(1, current - 1)))
    asked = draw(services())
    admin = draw(urls)
    commitment = None
    if asked.commitment is not None and (asked.commitment.positive or asked.commitment.negative):
        commitment = CommitmentRequest(admin, asked.commitment.positive, asked.commitment.negative)
    durable = asked.durable or stream is not None
    made = Services(durable, admin if asked.delivery_to else "", commitment)
    eod = draw(st.sampled_from([None, Eod(first=True), Eod(last=True)])) if stream else None
    entry = Msmq(
        source,
        draw(st.integers(sent, NEVER)),
        priority=0 if stream else draw(st.integers(0, 7)),
        journal=draw(flags),
        dead_letter=draw(flags),
        correlation=draw(exactly(20)),
        trace=draw(flags),
        connector_type=draw(maybe(guids())),
        app=draw(u32),
        body_type=draw(u32),
        hash_algorithm=draw(u32),
        eod=eod,
        destinations=tuple(draw(st.lists(urls, max_size=2))),
        responses=tuple(draw(st.lists(urls, max_size=2))),
    )
    envelope = Envelope(
        Path(draw(urls), str(SoapMessageId(number, source)), draw(texts()), draw(urls)),
        Properties(draw(st.integers(sent, NEVER)), sent),
        made if made != Services() else None,
        stream,
        msmq=entry,
    )
    return SoapMessage(envelope, draw(st.binary(max_size=40)), draw(st.binary(max_size=9)))
