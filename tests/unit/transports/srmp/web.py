"""Managers that reach each other over HTTP, in a time of their own; requests may go wrong."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from tests.simulation.events import Event, Scheduler
from tests.unit.engine.office import Manager
from tests.unit.engine.world import NOW, commit, commit_all
from tests.unit.transports.wires import StationClock

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import Malformed
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.soap.addresses import destination_at
from openmsmq.soap.mime import split_content
from openmsmq.soap.packets import SoapMessage, read_message
from openmsmq.soap.request import Request
from openmsmq.store.memory import Disk, MemoryStore
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.transports.srmp.exchange import PostResult, PostSource, read_post, status_of
from openmsmq.transports.srmp.outcomes import SrmpOutcome
from openmsmq.transports.srmp.receipt_sender import ReceiptSender
from openmsmq.transports.srmp.reception import SrmpReception
from openmsmq.transports.srmp.redirection import Redirections
from openmsmq.transports.srmp.transport import SrmpTransport
from openmsmq.types.message import Message

DELAY: Final = 0.01
"Seconds that a request takes, and its answer."


class Fault(Enum):
    """What the network does to a request."""

    NONE = auto()
    LOST = auto()
    UNANSWERED = auto()
    "It arrives, but its answer does not."
    REPEATED = auto()
    LATE = auto()
    "Its sender has given it up when it arrives."


class Web:
    """The network, and the time."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.sites: dict[str, WebSite] = {}
        self.fault: Callable[[Request], Fault] = lambda request: Fault.NONE
        self.requests: list[Request] = []
        "All that were posted."
        self.source: Callable[[WebSite], PostSource] = lambda site: PostSource(site.address)

    @property
    def now(self) -> float:
        """The time."""
        return self.scheduler.now

    def wait(self, seconds: float) -> None:
        """Let time pass, and everything happen meanwhile."""
        end = self.now + seconds
        while self.scheduler.step(end):
            pass
        self.scheduler.now = end
        for site in self.sites.values():
            site.enter(lambda: None)

    def carry(self, sender: WebSite, request: Request, done: Callable[[PostResult], None]) -> Event:
        """Bring a request to its host; the event of its answer, which may be cancelled."""
        self.requests.append(request)
        fault = self.fault(request)

        def give_up() -> None:
            answer.cancel()  # what comes now comes too late
            sender.enter(lambda: done(PostResult(None, "")))

        answer = self.scheduler.after(1.0, give_up)

        def answered(status: int) -> None:
            if answer.call is not None and fault in (Fault.NONE, Fault.REPEATED):
                answer.cancel()
                self.scheduler.after(DELAY, lambda: sender.enter(lambda: done(PostResult(status))))

        def arrive() -> None:
            site = self.sites.get(request.host)
            if site is not None and site.is_up:
                site.answer(request, self.source(sender), answered)

        waits = {Fault.LOST: (), Fault.REPEATED: (DELAY, 40.0), Fault.LATE: (3.0,)}
        for wait in waits.get(fault, (DELAY,)):
            self.scheduler.after(wait, arrive)
        return answer


class WebSite(Manager):
    """A manager with an HTTP port."""

    def __init__(
        self,
        web: Web,
        name: str,
        disk: Disk | None = None,
        run: int = 1,
        redirections: Redirections | None = None,
    ) -> None:
        self.web = web
        self.redirections = redirections or Redirections()
        self.name = name
        self.run = run
        number = "abcdefgh".index(name) + 1
        self.address = f"10.0.0.{number}"
        self.is_up = True
        self.is_slow = False
        "Nothing is committed, for now."
        self.store = MemoryStore(disk)
        self.station_clock = StationClock(web, number << 8 | run)  # type: ignore[arg-type] # it has the time
        self.local = local = QueueManager(
            self.store, self.station_clock, name=name, receipts=RECEIPTS
        )
        local.resolver.http_port = 80
        web.sites[name] = self
        self.receipts = ReceiptSender(local, self.station_clock, self)
        url = f"http://{name}/msmq/private$/order_queue$"
        self.transport = SrmpTransport(
            local,
            local.dispatcher,
            local.confirmations,
            self.station_clock,
            self,
            receipts_to=url,
            redirections=self.redirections,
        )
        self.reception = SrmpReception(
            local,
            self.station_clock,
            self.receipts,
            self.transport.received_receipts,
            self.redirections.is_forwarded,
        )
        self.receipts.resume()
        self._commit()

    # `openmsmq.transports.srmp.exchange.Poster`

    def post(
        self, request: Request, done: Callable[[PostResult], None], *, is_secure: bool
    ) -> Event:
        return self.web.carry(self, request, done)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Event:
        return self.web.scheduler.after(seconds, lambda: self.enter(call))

    # What a driver does

    def enter(self, call: Callable[[], object]) -> None:
        """Let something happen in this manager, if it runs."""
        if self.is_up:
            self.local.advance(self.local.clock.now(), self.local.clock.elapsed())
            call()
            self._commit()

    def _commit(self) -> None:
        if not self.is_slow:
            commit_all(self.local)

    def commit_fails(self) -> None:
        """What was asked for comes to nothing."""
        commit(self.local, OSError("no disk"))

    def answer(self, request: Request, source: PostSource, answered: Callable[[int], None]) -> None:
        """Take a request, as the listener does."""

        def done(outcome: SrmpOutcome) -> None:
            if self.is_up:
                answered(status_of(outcome))

        try:
            post = read_post(
                request.content_type,
                request.content,
                arrived=int(NOW + self.web.now),
                redirect=self._redirected,
            )
        except Malformed:
            done(SrmpOutcome.MALFORMED)
            return
        self.enter(lambda: self.reception.take(post, source, done))

    def _redirected(self, to: str) -> FormatName | None:
        name = destination_at(to)
        is_here = isinstance(name, DirectName) and self.local.resolver.local(name) is not None
        return self.redirections.destination(name) if is_here else None  # type: ignore[arg-type]

    def die(self) -> None:
        """The process is gone."""
        self.is_up = False

    def restart_here(self) -> WebSite:
        """The next process, with what the last one left on its disk."""
        self.die()
        rules = self.redirections
        return WebSite(self.web, self.name, self.store.committed, self.run + 1, rules)

    # What tests look at

    def out(self, host: str = "b", queue: str = "q") -> ManagedQueue:
        """The outgoing queue for a queue of another manager."""
        return self.open(f"DIRECT=HTTP://{host}/msmq/private$/{queue}")

    def texts(self, name: str = "q") -> list[str]:
        """What is in a queue here."""
        return [body.decode() for body in self.bodies(self.local.find_queue(name))]

    def count(self, name: str) -> int:
        """What the statistics say."""
        return self.local.statistics.counts.get(name, 0)


def web_pair(*, transactional: bool = True, **given: int) -> tuple[Web, WebSite, WebSite]:
    """Two managers, and a queue `q` at the second."""
    web = Web()
    one, two = WebSite(web, "a"), WebSite(web, "b")
    two.create(".\\private$\\q", transactional=transactional, **given)
    return web, one, two


def messages(web: Web) -> list[SoapMessage]:
    """All messages that were posted, receipts aside."""
    found = [read_message(split_content(one.content_type, one.content)) for one in web.requests]
    return [message for message in found if not message.envelope.is_receipt]


def places(web: Web) -> list[tuple[int, int | None, bool]]:
    """Number, previous and whether it opens the stream, of all that were posted."""
    streams = [message.envelope.stream for message in messages(web)]
    return [
        (one.current, one.previous, bool(one.send_receipts_to))
        for one in streams
        if one is not None
    ]


def is_receipt(request: Request) -> bool:
    return request.content_type == "text/xml"


def lose_receipts(request: Request) -> Fault:
    return Fault.LOST if is_receipt(request) else Fault.NONE


def send(site: WebSite, *bodies: str, **given: object) -> None:
    for body in bodies:
        site.send_in(site.out(), Message(body.encode(), **given))  # type: ignore[arg-type]
