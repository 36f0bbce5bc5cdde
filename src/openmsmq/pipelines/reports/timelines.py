r"""What happened to each message, put together from queues that know some of it.

| Found in | Tells |
|---|---|
| `.\Journal$` | sent, and delivered: the sender's manager knows that it arrived |
| a queue's `Journal$` | sent, and received |
| dead letters | sent, and failed, with the reason |
| another queue | sent, and arrived: it waits there |
| an administration queue | arrived, received or failed, by acknowledgements |
| a report queue | passed on or seen on its way, by reports about traced messages |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openmsmq.properties.message import NEGATIVE, MessageClass

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MESSAGES: Final = (
    *("message_id", "label", "message_class", "destination_queue", "sent_time"),
    *("arrived_time", "from_queue", "from_manager"),
)
ACKNOWLEDGEMENTS: Final = (
    *("correlation_id", "label", "message_class", "sent_time", "from_queue", "from_manager"),
)
REPORTS: Final = ("label", "body_text", "sent_time", "from_queue", "from_manager")
"The columns that each kind of queue is read with."

EVENTS: Final = ("sent", "passed on", "seen", "arrived", "received", "delivered", "failed")
"In the order in which they stand within a second."

_JOURNAL: Final = r"lower(from_queue) = '.\\journal$'"
_QUEUE_JOURNAL: Final = r"endswith(lower(from_queue), '\\journal$')"
_DEAD: Final = r"lower(from_queue) in ('.\\deadletter$', '.\\xactdeadletter$')"
_REPORT: Final = r"^[0-9a-f]{4}:([0-9a-f]{8}):([0-9a-f]{2}) received by ([0-9a-f-]{36}) "
_HOP: Final = "<NEXT HOP>([^<]*)</NEXT HOP>"
_SOURCE: Final = "concat(from_manager, ': ', from_queue)"


def of_messages(frame: DataFrame) -> DataFrame:
    """Two events of each message: it was sent, and it came to be where it is."""
    kind = (
        f"case when {_JOURNAL} then 'delivered' when {_QUEUE_JOURNAL} then 'received'"
        f" when {_DEAD} then 'failed' else 'arrived' end"
    )
    pair = (
        "explode(array("
        "named_struct('event', 'sent', 'time', sent_time, 'code', 0),"
        f"named_struct('event', {kind}, 'time', arrived_time, 'code',"
        f" if({_DEAD}, message_class, 0)))) as happened"
    )
    return frame.selectExpr(
        *("message_id", "label", "destination_queue as queue", pair, f"{_SOURCE} as source")
    ).selectExpr(
        *("message_id", "label", "queue", "happened.event", "happened.time", "happened.code"),
        *("'' as hop", "source"),
    )


def of_acknowledgements(frame: DataFrame) -> DataFrame:
    """What acknowledgements say about the messages they are for."""
    kind = (
        f"case when message_class = {MessageClass.ACK_REACH_QUEUE:d} then 'arrived'"
        f" when message_class = {MessageClass.ACK_RECEIVE:d} then 'received'"
        f" when message_class & {NEGATIVE:d} != 0 then 'failed' end"
    )
    return frame.selectExpr(
        *(f"{_message_id('correlation_id')} as message_id", "label"),
        *("cast(null as string) as queue", f"{kind} as event", "sent_time as time"),
        f"if(message_class & {NEGATIVE:d} != 0, message_class, 0) as code",
        *("'' as hop", f"{_SOURCE} as source"),
    ).where("event is not null and message_id is not null")


def of_reports(frame: DataFrame) -> DataFrame:
    """What reports say about the way of traced messages ([MS-MQQB] 3.1.5.8.9, 3.1.7.1.7)."""
    number = f"conv(regexp_extract(label, '{_REPORT}', 1), 16, 10)"
    return (
        frame.where(f"label rlike '{_REPORT}'")
        .selectExpr(
            rf"concat(regexp_extract(label, '{_REPORT}', 3), '\\', {number}) as message_id",
            f"coalesce(regexp_extract(body_text, '{_HOP}', 1), '') as hop",
            *("sent_time as time", f"{_SOURCE} as source"),
        )
        .selectExpr(
            *("message_id", "cast(null as string) as label", "cast(null as string) as queue"),
            "if(hop = '', 'seen', 'passed on') as event",
            *("time", "0 as code", "hop", "source"),
        )
    )


def timelines(events: DataFrame) -> DataFrame:
    """One row for each message: when it was where, how it ended, and all events in their order."""
    from pyspark.sql.functions import expr

    rank = "array_position(array({}), event)".format(", ".join(f"'{name}'" for name in EVENTS))
    grouped = events.selectExpr("*", f"cast({rank} as int) as rank").groupBy("message_id")
    happened = "struct(time, rank, event, code, hop, source)"
    return grouped.agg(
        expr("max(nullif(label, '')) as label"),
        expr("max(queue) as queue"),
        *(expr(f"min(time) filter (where event = '{name}') as {name}") for name in _MOMENTS),
        expr("max(code) as code"),
        expr(f"array_sort(collect_list({happened})) as timeline"),
    ).selectExpr(
        *("message_id", "label", "queue", *_MOMENTS, "code"),
        "case when received is not null then 'received' when failed is not null then 'failed'"
        " when coalesce(arrived, delivered) is not null then 'arrived' else 'unknown' end"
        " as outcome",
        "unix_timestamp(coalesce(arrived, received)) - unix_timestamp(sent) as seconds_to_arrive",
        "unix_timestamp(received) - unix_timestamp(sent) as seconds_to_receive",
        "timeline",
    )


_MOMENTS: Final = ("sent", "arrived", "received", "delivered", "failed")


def _message_id(column: str) -> str:
    r"""The 20 bytes of a message identifier as `guid\number`, in SQL; its integers are reversed."""

    def byte(place: int) -> str:
        return f"substr(hex({column}), {2 * place + 1}, 2)"

    groups = ((3, 2, 1, 0), (5, 4), (7, 6), (8, 9), tuple(range(10, 16)))
    guid = ", '-', ".join(", ".join(map(byte, group)) for group in groups)
    number = ", ".join(map(byte, (19, 18, 17, 16)))
    return rf"lower(concat({guid}, '\\', conv(concat({number}), 16, 10)))"
