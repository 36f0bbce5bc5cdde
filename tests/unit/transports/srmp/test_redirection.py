"""Addresses that stand for others."""

from __future__ import annotations

import pytest
from tests.unit.transports.srmp.web import Fault, Web, WebSite, messages

from openmsmq.engine.queues.queue import Purpose
from openmsmq.names.direct import DirectName
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import Acknowledge
from openmsmq.transports.srmp.exchange import PostSource
from openmsmq.transports.srmp.redirection import Redirections, matches, replacement
from openmsmq.types.message import Message

ORDERS = "http://shop02/msmq/private$/orders"
RULES = Redirections(
    outgoing=(("http://shop02/*", "https://gateway:8443/ignored"), ("*", "http://other")),
    exceptions=("http://shop02/msmq/private$/urgent", "http://bank*"),
    incoming=(("http://shop01/msmq/in*", "http://shop01/msmq/private$/orders"),),
    receipts=(("https://*", "https://me/msmq/private$/order_queue$"),),
)


@pytest.mark.parametrize(
    ("rule", "is_match"),
    [
        (ORDERS, True),
        (ORDERS.upper(), True),
        ("http://shop02/msmq/private$/*", True),
        ("http://shop02/msmq/private$/orders*", True),
        ("*", True),
        ("http://shop02/msmq/private$/order", False),
        ("http://shop02/msmq/private$/orders2*", False),
        ("http://*/msmq/private$/orders", False),
    ],
)
def test_an_asterisk_at_the_end_is_any_rest(rule: str, is_match: bool) -> None:
    """SRMP-289: and nowhere else."""
    assert matches(rule, ORDERS) is is_match


def test_the_first_rule_that_matches_counts() -> None:
    assert replacement(RULES.outgoing, ORDERS) == "https://gateway:8443/ignored"
    assert replacement(RULES.outgoing, "http://shop03/msmq/q") == "http://other"
    assert replacement((), ORDERS) == ""


def test_outgoing_messages_go_to_another_host_unless_there_is_an_exception() -> None:
    """SRMP-294, SRMP-295."""
    assert RULES.next_hop(ORDERS) == ("gateway:8443", True)
    assert RULES.next_hop("http://shop03/msmq/q") == ("other", False)
    assert RULES.next_hop("http://shop02/msmq/private$/urgent") is None
    assert RULES.next_hop("http://bank.example/msmq/q") is None
    assert Redirections().next_hop(ORDERS) is None


def test_receipts_go_where_a_rule_says_else_to_the_own_address() -> None:
    """SRMP-107."""
    own = "http://me:8080/msmq/private$/order_queue$"
    assert RULES.receipts_to("https://there/msmq/q", own) == RULES.receipts[0][1]
    assert RULES.receipts_to(ORDERS, own) == own


def test_incoming_messages_are_for_the_queue_of_a_rule() -> None:
    """SRMP-168."""
    assert RULES.destination(_name("http://shop01/msmq/incoming")) == _name(
        "http://shop01/msmq/private$/orders"
    )
    assert RULES.destination(_name(ORDERS)) == _name(ORDERS)


def _name(url: str) -> DirectName:
    found = parse_format_name(f"DIRECT={url}")
    assert isinstance(found, DirectName)
    return found


def gateway(rules: Redirections) -> tuple[Web, WebSite, WebSite, WebSite]:
    """A sender, whose messages go through a gateway with these rules, and the receiver."""
    web = Web()
    a = WebSite(web, "a", redirections=Redirections(outgoing=(("http://c/*", "http://b"),)))
    b, c = WebSite(web, "b", redirections=rules), WebSite(web, "c")
    a.create(".\\private$\\admin")
    c.create(".\\private$\\q")
    return web, a, b, c


FORWARD = Redirections(forwarded=("http://c/*",))


@pytest.mark.parametrize("recoverable", [True, False])
def test_a_gateway_passes_messages_on(recoverable: bool) -> None:
    """SRMP-167: the message is what it was, and its sender gets its receipt from where it went."""
    web, a, b, c = gateway(FORWARD)
    admin = parse_format_name("DIRECT=HTTP://a/msmq/private$/admin")
    given = Message(
        b"order",
        label="first & only",
        recoverable=recoverable,
        acknowledge=Acknowledge.POS_ARRIVAL,
        admin_queue=admin,
    )
    [sent] = a.send(a.out("c"), given)
    web.wait(5)
    assert [request.host for request in web.requests][:2] == ["b", "c"]
    first, second = messages(web)[:2]
    assert second.envelope == first.envelope
    assert second.envelope.path.to.lower() == "http://c/msmq/private$/q"
    [found] = c.peek(c.local.find_queue("q"))
    assert (found.id, found.body, found.label) == (sent, b"order", "first & only")
    assert len(a.peek(a.local.find_queue("admin"))) == 1
    assert a.out("c").messages == 0
    assert b.local.statistics.counts.get("rejected", 0) == 0


def test_what_is_passed_on_waits_for_its_host_and_outlives_the_gateway() -> None:
    """SRMP-167, SRMP-286: one queue for the host holds what is for any of its queues."""
    web, a, b, c = gateway(FORWARD)
    c.create(".\\private$\\other")
    web.fault = lambda request: Fault.LOST if request.host == "c" else Fault.NONE
    for queue in ("q", "other"):
        a.send(a.out("c", queue), Message(b"order", recoverable=True))
    web.wait(5)
    assert (a.out("c").messages, a.out("c", "other").messages) == (0, 0)
    [waiting] = [
        one for one in b.local.queues.everything if one.properties.purpose is Purpose.FORWARD
    ]
    assert (waiting.name.lower(), waiting.messages) == ("direct=http://c/msmq/*", 2)
    b.restart_here()
    web.fault = lambda request: Fault.NONE
    web.wait(30)
    assert (c.texts(), c.texts("other")) == (["order"], ["order"])


def test_a_message_that_comes_again_is_passed_on_once() -> None:
    """SRMP-167: so that what two gateways send to each other ends."""
    web, a, b, c = gateway(FORWARD)
    a.send(a.out("c"), Message(b"order", recoverable=True))
    web.wait(5)
    answers: list[int] = []
    b.answer(web.requests[0], PostSource(a.address), answers.append)
    web.wait(5)
    assert answers == [200]
    assert [request.host for request in web.requests].count("c") == 1
    assert c.texts() == ["order"]


def test_a_rule_for_queues_here_may_lead_elsewhere() -> None:
    """SRMP-169: the envelope names the new queue, all else is as it was."""
    rules = Redirections(incoming=(("http://b/msmq/in*", "http://c/msmq/private$/q"),))
    web, a, b, c = gateway(rules)
    a.send(a.open("DIRECT=HTTP://b/msmq/in"), Message(b"order", label="first"))
    web.wait(5)
    assert c.texts() == ["order"]
    first, second = messages(web)[:2]
    assert second.envelope.path.to.lower() == "http://c/msmq/private$/q"
    assert second.envelope.path.id == first.envelope.path.id
    assert b.local.queues.find_outgoing(parse_format_name("DIRECT=HTTP://c/msmq/in")) is None


@pytest.mark.parametrize("rules", [Redirections(), Redirections(forwarded=("http://d/*",))])
def test_messages_for_other_computers_are_refused_unless_a_rule_names_them(
    rules: Redirections,
) -> None:
    """SRMP-166: nothing is passed on by default."""
    web, a, _, c = gateway(rules)
    a.send(a.out("c"), Message(b"order", dead_letter=True))
    web.wait(5)
    assert c.texts() == []
    assert a.bodies(a.local.queues.dead_letter) == [b"order"]
    assert [request.host for request in web.requests] == ["b"]


def test_streams_are_not_passed_on() -> None:
    """HTTP-57: the gateway takes no part in a stream, and would change its order."""
    web, a, *_ = gateway(FORWARD)
    a.send_in(a.out("c"), Message(b"order", dead_letter=True))
    web.wait(5)
    assert [request.host for request in web.requests] == ["b"]
    assert a.bodies(a.local.queues.transactional_dead_letter) == [b"order"]
