"""Hypothesis strategies for messages to send, and for values of callers who got it wrong."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from openmsmq.names.base import FormatName
from openmsmq.names.format import Suffix
from openmsmq.properties.message import Acknowledge
from openmsmq.types.message import Message
from tests.strategies.names import direct_names, path_names, private_names, public_names, u32

labels = st.text(st.characters(exclude_characters="\0"), max_size=60)
"Half surrogate pairs among them."
lifetimes = st.one_of(st.none(), u32, st.floats(0, 0xFFFFFFFF))


def carried_names() -> st.SearchStrategy[FormatName]:
    """Names that a message has room for."""
    plain = st.one_of(public_names(), private_names()).filter(lambda n: n.suffix is Suffix.NONE)
    return st.one_of(direct_names(), plain)


def fields() -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of a `Message`, each there or left out."""
    queues = st.one_of(st.none(), carried_names(), carried_names().map(str), path_names())
    return st.fixed_dictionaries(
        {},
        optional={
            "body": st.one_of(st.binary(max_size=40), st.text(max_size=20)),
            "label": labels,
            "priority": st.integers(0, 7),
            "recoverable": st.booleans(),
            "journal": st.booleans(),
            "dead_letter": st.booleans(),
            "acknowledge": st.integers(0, 15).map(Acknowledge),
            "admin_queue": queues,
            "response_queue": queues,
            "correlation_id": st.binary(max_size=20),
            "app_specific": u32,
            "extension": st.binary(max_size=40),
            "time_to_be_received": lifetimes,
            "time_to_reach_queue": lifetimes,
            "trace": st.booleans(),
        },
    )


def messages() -> st.SearchStrategy[Message]:
    """Messages of every kind, some with a body type of their own."""
    typed = st.builds(Message, st.binary(max_size=40), body_type=u32)
    return st.one_of(fields().map(lambda given: Message(**given)), typed)


def anything() -> st.SearchStrategy[Any]:
    """Values of every simple type, as callers and JSON documents may give them."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(min_value=1 << 20_000, max_value=1 << 20_001),
        st.floats(),
        st.text(max_size=300),
        st.binary(max_size=30),
        st.lists(st.integers(), max_size=2),
        st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    )
