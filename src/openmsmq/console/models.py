"""What requests and answers hold; the description of the API is made from these."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from openmsmq.app_server.limits import LABEL_MAX, PATTERNS_MAX
from openmsmq.capture.limits import RECORDING_S_MAX
from openmsmq.console.bodies.trees import TreeNode
from openmsmq.console.limits import APPLY_MAX, FILTER_MAX, NAME_MAX, PLAN_IDS_MAX
from openmsmq.types.caller import RIGHTS

Name = Annotated[str, Meta(min_length=1, max_length=NAME_MAX)]
LookupId = Annotated[str, Meta(pattern="^[0-9]{1,20}$")]
FilterText = Annotated[str, Meta(max_length=FILTER_MAX)]
ROLE_PATTERN = f"^({'|'.join(RIGHTS)})(\\+({'|'.join(RIGHTS)})){{0,5}}$"
Act = Literal["copy", "move", "delete", "restore", "return", "purge"]


class Login(Struct, forbid_unknown_fields=True):
    """A login: with a token, or with the code of a one-time link."""

    token: Annotated[str, Meta(max_length=200)] = ""
    code: Annotated[str, Meta(max_length=200)] = ""


class SessionView(Struct):
    """Who is logged in, and what the console can do."""

    who: str
    role: str
    read_only: bool
    managers: list[str]
    version: str


class ManagerView(Struct):
    """A queue manager."""

    name: str
    state: str
    "ready, away, or denied: the login may not see its queues."
    id: str = ""
    error: str = ""
    queues: int = 0
    messages: int = 0
    bytes: int = 0
    dead_letters: int = 0
    outgoing: int = 0
    "Messages that wait for other managers."
    free: int | None = None
    "Bytes that are free on its disk; null if that is not known here."
    rates: dict[str, float] = {}
    counts: dict[str, int] = {}


class FindingView(Struct):
    """Something that needs attention."""

    level: Literal["problem", "warning"]
    kind: str
    text: str
    remedy: str
    queue: str = ""
    silenced: datetime | None = None
    "Someone knows about it: it is silent until then."


class QueueView(Struct):
    """A queue."""

    name: str
    id: str
    kind: str
    state: str
    transactional: bool
    journal: bool
    messages: int
    bytes: int
    journal_messages: int
    delayed: int
    oldest_age: int | None
    quota: int | None
    journal_quota: int | None
    label: str
    authenticate: bool
    privacy: int
    base_priority: int
    abort_limit: int
    retry_delay: int
    poison: str
    multicast: str
    restricted: bool
    format_name: str
    created: datetime
    modified: datetime
    change: float | None = None
    "By how many messages a second it grows; null if that is not known yet."
    arriving: float | None = None
    "Messages a second that come."
    leaving: float | None = None
    "Messages a second that are received."
    readers: int | None = None
    "Reads that wait for a message; null if that is not known, as of managers elsewhere."
    held: int | None = None
    "Messages that readers and transactions have taken; null if that is not known."
    trend: list[int] = []
    "Its messages over the last hour, if they were asked for."


class QueuePage(Struct):
    """Some queues, and where the next ones begin."""

    queues: list[QueueView]
    total: int
    next: str | None = None


class QueueSettings(Struct, forbid_unknown_fields=True):
    """Properties of a queue to change; those not given stay."""

    journal: bool | UnsetType = UNSET
    quota: Annotated[int, Meta(ge=0, le=4294967295)] | UnsetType | None = UNSET
    journal_quota: Annotated[int, Meta(ge=0, le=4294967295)] | UnsetType | None = UNSET
    label: Annotated[str, Meta(max_length=124)] | UnsetType = UNSET
    authenticate: bool | UnsetType = UNSET
    privacy: Annotated[int, Meta(ge=0, le=2)] | UnsetType = UNSET
    base_priority: Annotated[int, Meta(ge=-32768, le=32767)] | UnsetType = UNSET
    abort_limit: Annotated[int, Meta(ge=0, le=0x7FFFFFFF)] | UnsetType = UNSET
    retry_delay: Annotated[int, Meta(ge=0, le=0x7FFFFFFF)] | UnsetType = UNSET
    poison: Literal["subqueue", "dead-letter"] | UnsetType = UNSET


class NewQueue(QueueSettings, kw_only=True, forbid_unknown_fields=True):
    """A queue to create."""

    name: Name
    transactional: bool = False


class MessageView(Struct):
    """A message, without its body."""

    lookup_id: str
    id: str
    label: str
    size: int
    priority: int
    message_class: int
    reason: str
    "What the class says, in words; empty for a normal message."
    sent: datetime
    arrived: datetime
    destination: str
    source: str
    sender: str
    transactional: bool
    recoverable: bool
    abort_count: int
    move_count: int
    body_type: int
    app_specific: int
    correlation_id: str
    response_queue: str
    admin_queue: str
    time_to_be_received: int | None
    preview: str = ""
    "The beginning of the body as text."
    format: str = ""
    columns: list[str] = []
    "What each column that was asked for has of it."


class MessagePage(Struct):
    """Some messages, and where the next ones begin."""

    messages: list[MessageView]
    looked_at: int
    "How many were looked at to find these."
    next: str | None = None
    "The lookup identifier to go on with, in the same direction; null at the end."


class BodyView(Struct):
    """The body of a message, decoded."""

    format: str
    text: str | None
    hex: str
    size: int
    truncated: bool
    reason: str | None


class MessageDetails(Struct):
    """A message with its body."""

    message: MessageView
    body: BodyView
    properties: dict[str, Any]
    headers: dict[str, str] = {}
    "What a service bus keeps beside the body."
    bus: str = ""
    "Which one: nservicebus or rebus."


class PacketField(Struct):
    """A field of a message as it travels."""

    path: str
    offset: int
    size: int
    value: str
    meaning: str


class DecodedView(Struct):
    """A message taken apart: its body as a tree, and the fields of its packet."""

    format: str
    why: str
    "What it was recognised by."
    tree: TreeNode | None
    "None if the body is a single value, bytes, or too long."
    fields: list[PacketField]


class KnownMessage(Struct, forbid_unknown_fields=True):
    """A message of the same manager."""

    queue: Name
    lookup_id: LookupId


class MessageToSend(Struct, forbid_unknown_fields=True):
    """A message to send."""

    like: KnownMessage | UnsetType = UNSET
    """All that the request does not say is as in this message, but for its lifetime; a text is
    encoded as the body there is.
    """
    text: str | UnsetType = UNSET
    "The body as text; or `body`."
    body: str | UnsetType = UNSET
    "The body in base64."
    label: Annotated[str, Meta(max_length=249)] | UnsetType = UNSET
    priority: Annotated[int, Meta(ge=0, le=7)] | UnsetType = UNSET
    "3, if it is not said."
    recoverable: bool | UnsetType = UNSET
    "True, if it is not said."
    journal: bool | UnsetType = UNSET
    dead_letter: bool | UnsetType = UNSET
    app_specific: Annotated[int, Meta(ge=0, le=0xFFFFFFFF)] | UnsetType = UNSET
    correlation_id: Annotated[str, Meta(pattern="^([0-9a-fA-F]{40})?$")] | UnsetType = UNSET
    time_to_be_received: Annotated[int, Meta(ge=0, le=0x7FFFFFFF)] | None = None


class SentView(Struct):
    """A message that was sent."""

    id: str
    duplicate: bool = False
    "The same idempotency key was used before; this is the id of that message."


class NewPlan(Struct, forbid_unknown_fields=True):
    """What is to be done with which messages."""

    manager: Name
    queue: Name
    act: Act
    ids: Annotated[list[LookupId], Meta(max_length=PLAN_IDS_MAX)] | UnsetType = UNSET
    "These messages; or those that match `filter` now."
    filter: FilterText = ""
    target: Annotated[str, Meta(max_length=NAME_MAX)] = ""
    "The queue that messages are moved or copied to; to restore, a subqueue, or the queue itself."
    lifetime: Annotated[int, Meta(ge=0, le=2147483647)] | Literal["keep"] | None = None
    "Seconds that the new messages have to be received, null for ever, `keep` for the old lifetime."
    rate: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    "Messages a second at most."
    reason: Annotated[str, Meta(max_length=500)] = ""
    "Why, for the audit log."
    for_good: bool = False
    "Delete messages at once, instead of keeping them in the trash of their queue for a day."


class PlanTarget(Struct):
    """Where messages of a plan go."""

    queue: str
    count: int


class PlanView(Struct):
    """A plan: exactly these messages, whatever comes meanwhile."""

    id: str
    manager: str
    queue: str
    act: Act
    state: Literal["ready", "running", "stopped", "interrupted", "done"]
    count: int
    done: int
    gone: int
    "Messages that someone else had taken before it was their turn."
    failed: int
    created: datetime
    who: str
    targets: list[PlanTarget]
    error: str = ""
    command: str = ""
    "The same on the command line."
    new_ids: dict[str, str] = {}
    "Some of the new ids, by old ones."
    trash: str = ""
    "Where deleted messages are kept for a day; empty if they are gone for good."
    newer: int | None = None
    "Messages that match and have come since; null if that was not asked for, or of chosen ones."
    newer_complete: bool = True
    "False if there are more than were looked at."


class PlanRun(Struct, forbid_unknown_fields=True):
    """How far to run a plan."""

    first: Annotated[int, Meta(ge=1)] | None = None
    "At most this many, to try it out; null for all."


class SettingsView(Struct):
    """What is set for a manager."""

    settings: dict[str, Any]


class SessionRow(Struct):
    """A connection of another manager, a program or a dependent client."""

    id: str
    kind: Literal["manager", "program", "dependent"]
    peer: str
    name: str
    who: str
    incoming: bool
    is_open: bool
    age: int
    received: int
    sent: int


class RecordingPart(Struct):
    """A file of a recording."""

    name: str
    size: int


class RecordingView(Struct):
    """A recording of sessions with other managers."""

    id: str
    state: Literal["running", "done"]
    peer: str
    began: datetime
    until: datetime
    by: str
    files: list[RecordingPart]


class NewRecording(Struct, forbid_unknown_fields=True):
    """What is to be recorded."""

    seconds: Annotated[int, Meta(ge=1, le=RECORDING_S_MAX)] = 60
    peer: Annotated[str, Meta(max_length=60)] = ""
    "Only sessions with this IP address."


class TokenView(Struct):
    """A token, without its secret."""

    id: str
    role: str
    queues: list[str]
    label: str
    created: datetime
    expires: datetime | None
    used: datetime | None
    "When it was shown last, since the service began."


class NewToken(Struct, forbid_unknown_fields=True):
    """A token to create."""

    role: Annotated[str, Meta(pattern=ROLE_PATTERN)]
    "Rights: watch, peek, read, send, operate or admin; several with + between them."
    queues: Annotated[list[Name], Meta(max_length=PATTERNS_MAX)] = []
    "Patterns of names of queues; none for all."
    label: Annotated[str, Meta(max_length=LABEL_MAX)] = ""
    expires: Annotated[datetime, Meta(tz=True)] | None = None


class CreatedToken(Struct):
    """A new token; its secret is shown once."""

    token: TokenView
    secret: str
    "Empty if the request was answered before."


class AccessView(Struct):
    """Whether a token gives a right; permissions of a queue may deny what it gives."""

    token: str
    right: str
    queue: str
    allowed: bool


class OptionView(Struct):
    """An option of a service, as it counts now and as its file says it."""

    place: str
    running: str
    file: str
    is_default: bool
    needs_restart: bool
    reloads: bool
    help: str


class ApplyText(Struct, forbid_unknown_fields=True):
    """Queues and settings as they shall be."""

    plan: Annotated[str, Meta(max_length=APPLY_MAX)]
    "In TOML, as for `openmsmq apply`."
    dry_run: bool = True
    prune: bool = False
    "Delete queues that are not in it."
    force: bool = False
    "Even if there are messages in them."


class ApplyStep(Struct):
    """One thing to do, or to leave as it is."""

    action: Literal["create", "change", "delete", "keep"]
    name: str
    "A queue; empty for the settings of the manager."
    changes: dict[str, list[Any]]
    "What each property was, and what it shall be."
    messages: int


class ApplyView(Struct):
    """The steps to what is wanted."""

    steps: list[ApplyStep]
    done: int
    "How many were carried out."


def encode(value: Any) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(value)
